package tools

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// runeStart is the last place at or before i where a rune of s begins.
func runeStart(s string, i int) int {
	if i >= len(s) {
		return len(s)
	}
	for back := range utf8.UTFMax {
		if i-back <= 0 {
			return 0
		}
		if utf8.RuneStart(s[i-back]) {
			return i - back
		}
	}
	return i // no UTF-8 here: any place is as good
}

// safeText makes bytes fit for JSON and for a model: what is no UTF-8 becomes U+FFFD, and so does NUL.
func safeText(b []byte) string {
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

// bytesText is a size for people.
func bytesText(n int64) string {
	switch {
	case n < 10_000:
		return count(int(n), "byte")
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// count is a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// nearest picks up to n of the names that are most like want, best first, and none that is not alike at all.
func nearest(want string, names []string, n int) []string {
	type scored struct {
		name string
		far  int
	}
	var near []scored
	low := strings.ToLower(want)
	for _, name := range names {
		other := strings.ToLower(name)
		far := distance(low, other)
		if len(low) > 2 && (strings.Contains(other, low) || strings.Contains(low, other) && len(other) > 2) {
			far = min(far, 2)
		}
		if size := max(len(low), len(other)); far <= max(1, min(size/2, 3), size/4) {
			near = append(near, scored{name, far})
		}
	}
	slices.SortFunc(near, func(a, b scored) int { return cmp.Or(cmp.Compare(a.far, b.far), cmp.Compare(a.name, b.name)) })
	out := make([]string, 0, n)
	for _, s := range near[:min(n, len(near))] {
		out = append(out, s.name)
	}
	return out
}

// distance is how many bytes have to be put in, taken out or replaced to make b of a. Long strings are very far.
func distance(a, b string) int {
	if len(a) > 255 || len(b) > 255 {
		return 255
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diag
			if a[i] != b[j] {
				change++
			}
			diag = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
