package tools

import (
	"fmt"
	"iter"
	"strings"
)

// lines gives the lines of s with their newlines; a last one may have none.
func lines(s string) iter.Seq[string] { return strings.Lines(s) }

// lineList names the lines of the places, the first ten of them.
func lineList(flat string, at []int) string {
	const most = 10
	var out []string
	line, done := 1, 0
	for i, p := range at {
		if i == most {
			out = append(out, "…")
			break
		}
		line += strings.Count(flat[done:p], "\n")
		done = p
		out = append(out, fmt.Sprint(line))
	}
	return strings.Join(out, ", ")
}

// The limits of the search for a likely place.
const (
	hintLines = 50_000 // lines of the file looked at
	hintText  = 600    // bytes of it shown
	hintWork  = 30_000_000
)

// hint says where old nearly is, what stands there, and what to do.
func hint(flat, old, next string) string {
	if next != "" && len(strings.TrimSpace(next)) > 8 && strings.Contains(flat, next) {
		return fmt.Sprintf(", but new is, at line %s: the change may have been made already",
			lineList(flat, occurrences(flat, next, true)[:1]))
	}
	want := strings.Split(strings.TrimSuffix(old, "\n"), "\n")
	have := strings.SplitN(flat, "\n", hintLines+1)
	have = have[:min(len(have), hintLines)]
	at, score := likeliest(have, want)
	if score < 0.5 {
		return ": read the file and copy the text from it"
	}
	text := strings.Join(have[at:min(at+len(want), len(have))], "\n")
	more := ""
	if len(text) > hintText {
		text, more = text[:runeStart(text, hintText)], "…"
	}
	why := "the nearest text is"
	if score >= 1 {
		why = "the same text with other spaces is"
	}
	return fmt.Sprintf("; %s at line %d:\n%s%s\nCopy it exactly, indentation too, or read the file again", why, at+1, text, more)
}

// likeliest is the line from which the lines are most like want, and how much: 1 when they differ in spaces only.
func likeliest(have, want []string) (at int, score float64) {
	trimmed := make([]string, len(have))
	byText := map[string][]int{}
	for i, l := range have {
		trimmed[i] = squeeze(l)
		byText[trimmed[i]] = append(byText[trimmed[i]], i)
	}
	total := 0
	keys := make([]string, len(want))
	for i, l := range want {
		keys[i] = squeeze(l)
		total += len(keys[i])
	}
	if total == 0 {
		return 0, 0
	}
	votes := map[int]int{} // bytes of whole lines that agree, by where the text would begin
	for i, key := range keys {
		if key == "" || len(byText[key]) > 1000 {
			continue
		}
		for _, l := range byText[key] {
			if start := l - i; start >= 0 {
				votes[start] += len(key)
			}
		}
	}
	best := -1
	for start, n := range votes {
		if n > best || n == best && start < at {
			at, best = start, n
		}
	}
	score = float64(best) / float64(total)
	if score >= 0.5 {
		return at, score
	}
	return alikeLine(trimmed, keys, at, score)
}

// alikeLine looks for the line most like the longest of those wanted.
func alikeLine(have, keys []string, at int, score float64) (int, float64) {
	longest := 0
	for i, k := range keys {
		if len(k) > len(keys[longest]) {
			longest = i
		}
	}
	key := keys[longest]
	if len(key) > 255 {
		return at, score
	}
	work := hintWork
	for i, l := range have {
		if i < longest || len(l) > 2*len(key) || 2*len(l) < len(key) {
			continue
		}
		if work -= len(key) * len(l); work < 0 {
			break
		}
		s := min(0.99, 1-float64(distance(key, l))/float64(max(len(key), len(l))))
		if s > score {
			at, score = i-longest, s
		}
	}
	return at, score
}

// squeeze takes the spaces of a line together, and those at its ends away.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }
