package tools

import (
	"bytes"
	"regexp/syntax"
	"strings"
)

// needle is a text that every match of a pattern contains. Looking for it is many times faster than trying a pattern.
type needle struct {
	text string // lower case where fold is set
	fold bool   // letters of either case
}

// needleOf finds the longest needle of a pattern, if it has one of two bytes or more.
func needleOf(r *syntax.Regexp) needle {
	var best needle
	if r.Op == syntax.OpLiteral {
		best = literalNeedle(r)
	}
	if r.Op == syntax.OpCapture || r.Op == syntax.OpPlus || r.Op == syntax.OpConcat {
		for _, sub := range r.Sub {
			if n := needleOf(sub); len(n.text) > len(best.text) {
				best = n
			}
		}
	}
	return best
}

// literalNeedle is the longest part of a literal that is on one line. Where case does not count, letters that have
// partners outside of ASCII (k and s) are left out, and so is all that is not ASCII.
func literalNeedle(r *syntax.Regexp) needle {
	fold := r.Flags&syntax.FoldCase != 0
	parts := strings.FieldsFunc(string(r.Rune), func(c rune) bool {
		return c == '\n' || c == '\r' || c == '\uFFFD' || fold && (c > 127 || strings.ContainsRune("kKsS", c))
	})
	best := ""
	for _, p := range parts {
		if len(p) > len(best) {
			best = p
		}
	}
	if len(best) < 2 {
		return needle{}
	}
	if fold {
		best = strings.ToLower(best)
	}
	return needle{text: best, fold: fold}
}

// index is where the needle is in b, or -1.
func (n needle) index(b []byte) int {
	if !n.fold {
		return bytes.Index(b, []byte(n.text))
	}
	pivot := n.rarest()
	lower, upper := n.text[pivot], bytes.ToUpper([]byte{n.text[pivot]})[0]
	nextLower, nextUpper := -1, -1
	for at := pivot; at < len(b); at++ {
		nextLower = indexFrom(b, at, nextLower, lower)
		nextUpper = indexFrom(b, at, nextUpper, upper)
		at = min(nextLower, nextUpper)
		start := at - pivot
		if start+len(n.text) > len(b) {
			return -1
		}
		if equalFoldASCII(b[start:start+len(n.text)], n.text) {
			return start
		}
	}
	return -1
}

// indexFrom is where c is in b from at on, len(b) if nowhere; known is what it said for an earlier place.
func indexFrom(b []byte, at, known int, c byte) int {
	if known >= at {
		return known
	}
	if i := bytes.IndexByte(b[at:], c); i >= 0 {
		return at + i
	}
	return len(b)
}

// rarest is the byte of the needle that texts have least of.
func (n needle) rarest() int {
	const common = "etaoinrhldcumfpgwybvkxjqz"
	best, rank := 0, -1
	for i := range len(n.text) {
		r := len(common)
		if n.text[i] == ' ' || n.text[i] == '\t' {
			r = 0
		} else if at := strings.IndexByte(common, n.text[i]); at >= 0 {
			r = at
		}
		if r > rank {
			best, rank = i, r
		}
	}
	return best
}

func equalFoldASCII(b []byte, lower string) bool {
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}
