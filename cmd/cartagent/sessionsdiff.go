package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

// diffLine is a line of a diff for people. Op is '+', '-', ' ' or '@', which says where it goes on.
type diffLine struct {
	Op   byte
	Text string
}

const (
	diffContext = 3       // lines around a change
	maxDiff     = 4 << 20 // cells of the table; what needs more is shown as wholly replaced
)

// diffLines is a diff by lines, with a few unchanged ones around each change.
func diffLines(d loop.Diff) []diffLine {
	var before []string
	if d.Old != nil {
		before = linesOf(*d.Old)
	}
	return around(compared(before, linesOf(d.New)))
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// compared is every line of both, once where they agree.
func compared(a, b []string) []diffLine {
	var head, tail []diffLine
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		head = append(head, diffLine{' ', a[0]})
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		tail = append(tail, diffLine{' ', a[len(a)-1]})
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	out := append(head, middle(a, b)...)
	slices.Reverse(tail)
	return append(out, tail...)
}

// middle finds the longest run of lines that both have, in order.
func middle(a, b []string) []diffLine {
	width := len(b) + 1
	if len(a)*width > maxDiff {
		return replaced(a, b)
	}
	longest := make([]int, (len(a)+1)*width) // of the rest, from line i of a and line j of b on
	for i, x := range slices.Backward(a) {
		for j, y := range slices.Backward(b) {
			if x == y {
				longest[i*width+j] = longest[(i+1)*width+j+1] + 1
			} else {
				longest[i*width+j] = max(longest[(i+1)*width+j], longest[i*width+j+1])
			}
		}
	}
	var out []diffLine
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = append(out, diffLine{' ', a[i]})
			i, j = i+1, j+1
		case i < len(a) && (j == len(b) || longest[(i+1)*width+j] >= longest[i*width+j+1]):
			out = append(out, diffLine{'-', a[i]})
			i++
		default:
			out = append(out, diffLine{'+', b[j]})
			j++
		}
	}
	return out
}

func replaced(a, b []string) []diffLine {
	out := make([]diffLine, 0, len(a)+len(b))
	for _, l := range a {
		out = append(out, diffLine{'-', l})
	}
	for _, l := range b {
		out = append(out, diffLine{'+', l})
	}
	return out
}

// around leaves out what is far from any change, and says so.
func around(all []diffLine) []diffLine {
	keep := make([]bool, len(all))
	for i, l := range all {
		if l.Op == ' ' {
			continue
		}
		for k := max(i-diffContext, 0); k <= min(i+diffContext, len(all)-1); k++ {
			keep[k] = true
		}
	}
	var out []diffLine
	before, after := 1, 1
	for i, l := range all {
		if keep[i] {
			if i > 0 && !keep[i-1] {
				out = append(out, diffLine{'@', fmt.Sprintf("@@ line %d, now %d @@", before, after)})
			}
			out = append(out, l)
		}
		if l.Op != '+' {
			before++
		}
		if l.Op != '-' {
			after++
		}
	}
	return out
}

// counts are the lines added and taken away.
func counts(lines []diffLine) (added, removed int) {
	for _, l := range lines {
		switch l.Op {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}
