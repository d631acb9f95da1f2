package tools

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/cartagent/cartagent/loop"
)

// Edit replaces one text by another.
type Edit struct {
	Old string `json:"old" jsonschema:"exact text to replace; empty only for a file that is new or empty"`
	New string `json:"new"`
	All bool   `json:"all,omitempty" jsonschema:"replace every occurrence"`
}

// ErrNoMatch is matched by Apply's error when an edit's old text is not there, or more than once.
var ErrNoMatch = errors.New("no single match")

type editArgs struct {
	Path  string `json:"path"`
	Edits []Edit `json:"edits"`
}

func (k *kit) editTool() loop.Tool {
	return DefineChecked(loop.Spec{
		Name: "edit", Title: "Edit", Description: describe("edit"), Kind: loop.KindEdit,
	}, k.previewEdit, k.runEdit, k.checkEdit)
}

func (k *kit) previewEdit(ctx context.Context, in editArgs) (loop.Preview, error) {
	d, err := k.document(ctx, in.Path)
	if err != nil {
		return loop.Preview{}, err
	}
	if err := k.seen.stale(in.Path, d); err != nil {
		return loop.Preview{}, err
	}
	after, line, err := k.edited(d, in)
	if err != nil {
		return loop.Preview{}, err
	}
	p := k.changePreview("Edit", d, after)
	p.Locations[0].Line = line
	return p, nil
}

func (k *kit) runEdit(ctx context.Context, in editArgs, j loop.Job, _ func(loop.Block)) (loop.Result, error) {
	return k.change(ctx, in.Path, j, func(d document) (string, string, error) {
		after, line, err := k.edited(d, in)
		said := fmt.Sprintf("Edited %s (%s, from line %d on).", k.shown(d.place), count(len(in.Edits), "edit"), line)
		return after, said, err
	})
}

func (k *kit) checkEdit(ctx context.Context, in editArgs, j loop.Job) (loop.Finding, loop.Result, error) {
	for _, b := range j.Preview.Display {
		if diff, ok := b.(loop.Diff); ok {
			return k.landed(ctx, in.Path, j, diff.New)
		}
	}
	return loop.FoundUnknown, loop.Result{}, nil
}

// edited is the file after the edits, and the first line that differs.
func (k *kit) edited(d document, in editArgs) (string, int, error) {
	if !d.found && (len(in.Edits) == 0 || in.Edits[0].Old != "") {
		return "", 0, k.missing(in.Path, d.place)
	}
	if isBinary(d.data) {
		return "", 0, fmt.Errorf("%s is a binary file; edit changes text only", in.Path)
	}
	before := string(d.data)
	after, err := Apply(before, in.Edits)
	if err != nil {
		return "", 0, fmt.Errorf("%s was not changed: %w", in.Path, err)
	}
	same := commonPrefix(before, after)
	return after, 1 + strings.Count(after[:same], "\n"), nil
}

// Apply makes the edits in order, each in the outcome of those before it, or none of them. Old text is taken
// literally, except that a line ending matches any line ending (LF or CRLF). New text goes in verbatim, except that
// the endings of its lines become those of the place; every byte around what really changes stays as it is. The error
// tells a model how to put the edit right.
func Apply(src string, edits []Edit) (string, error) {
	if len(edits) == 0 {
		return "", errors.New("there are no edits; give at least one {old, new}")
	}
	out := src
	for i, e := range edits {
		next, err := applyOne(out, e)
		if err == nil && len(next) > maxEdit {
			err = tooLong(len(next))
		}
		if err != nil {
			if len(edits) > 1 {
				err = fmt.Errorf("edit %d of %d: %w", i+1, len(edits), err)
			}
			return "", err
		}
		out = next
	}
	if out == src {
		return "", errors.New("the edits change nothing: old and new are the same")
	}
	return out, nil
}

func tooLong(size int) error {
	return fmt.Errorf("the file would have %s after it, and the limit is %s: use a command for that", bytesText(int64(size)), bytesText(maxEdit))
}

func applyOne(src string, e Edit) (string, error) {
	if e.Old == "" {
		if src != "" {
			return "", errors.New("old is empty, which fits a new or empty file only: " +
				"give the text that the new text goes next to, or use write to replace the whole file")
		}
		return e.New, nil
	}
	v := newView(src)
	before, after := unify(e.Old), unify(e.New)
	if before == after {
		return "", errors.New("old and new are the same (line endings aside)")
	}
	at := occurrences(v.flat, before, e.All)
	switch {
	case len(at) == 0:
		return "", fmt.Errorf("%w: old is not in the file%s", ErrNoMatch, hint(v.flat, before, after))
	case len(at) > 1 && !e.All:
		return "", fmt.Errorf("%w: old is in the file %d times, at lines %s: add lines around it so that it is unique, or set all",
			ErrNoMatch, len(at), lineList(v.flat, at))
	}
	// Only what differs is replaced: what old and new have in common keeps its bytes.
	head := commonPrefix(before, after)
	tail := commonSuffix(before[head:], after[head:])
	middle := after[head : len(after)-tail]
	size := len(src) + len(at)*(len(after)-len(before))
	if size > maxEdit+len(v.cr) { // what it takes in line endings is not in it yet
		return "", tooLong(size)
	}
	var out strings.Builder
	out.Grow(max(size, 0))
	done := 0
	for _, p := range at {
		from, to := p+head, p+len(before)-tail
		out.WriteString(src[done:v.raw(from)])
		out.WriteString(v.fit(middle, from, to))
		done = v.raw(to)
	}
	out.WriteString(src[done:])
	return out.String(), nil
}

// unify turns CRLF into LF.
func unify(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// occurrences are the places of old in flat: those that a replacement of all would take, or, to tell whether there is
// just one, overlapping ones too.
func occurrences(flat, old string, all bool) []int {
	step := len(old)
	if !all {
		_, step = utf8.DecodeRuneInString(old)
	}
	var at []int
	for from := 0; from <= len(flat); {
		i := strings.Index(flat[from:], old)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + step
	}
	return at
}

// view is a text with all its line endings made LF, and the way back.
type view struct {
	src, flat string
	cr        []int // places in flat of the LFs that are CRLF in src
}

func newView(src string) view {
	v := view{src: src, flat: unify(src)}
	for i := 0; ; {
		n := strings.Index(src[i:], "\r\n")
		if n < 0 {
			return v
		}
		v.cr = append(v.cr, i+n-len(v.cr))
		i += n + 2
	}
}

// raw is the place in src of a place in flat. At a line ending it is before the whole of it.
func (v view) raw(i int) int { return i + sort.SearchInts(v.cr, i) }

// isCRLF says whether the LF at i in flat is CRLF in src.
func (v view) isCRLF(i int) bool {
	n := sort.SearchInts(v.cr, i)
	return n < len(v.cr) && v.cr[n] == i
}

// fit gives the lines of s the endings of the place that flat[from:to] is: those of the lines they replace, in order,
// then those of the line they stand in, or before.
func (v view) fit(s string, from, to int) string {
	if len(v.cr) == 0 || !strings.Contains(s, "\n") {
		return s
	}
	var out strings.Builder
	crlf, at := v.endingAt(from), from
	for line := range lines(s) {
		body, ended := strings.CutSuffix(line, "\n")
		out.WriteString(body)
		if !ended {
			break
		}
		if i := strings.IndexByte(v.flat[at:to], '\n'); i >= 0 {
			crlf, at = v.isCRLF(at+i), at+i+1
		}
		if crlf {
			out.WriteByte('\r')
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// endingAt says whether the line that holds the place i ends in CRLF; where it has no end, the line before it counts.
func (v view) endingAt(i int) bool {
	if n := strings.IndexByte(v.flat[i:], '\n'); n >= 0 {
		return v.isCRLF(i + n)
	}
	if n := strings.LastIndexByte(v.flat[:i], '\n'); n >= 0 {
		return v.isCRLF(n)
	}
	return false
}

// commonPrefix is how many bytes a and b begin with alike, up to a border of runes.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && (n < len(a) && !utf8.RuneStart(a[n]) || n < len(b) && !utf8.RuneStart(b[n])) {
		n--
	}
	return n
}

// commonSuffix is how many bytes a and b end with alike, from a border of runes on.
func commonSuffix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !utf8.RuneStart(a[len(a)-n]) {
		n--
	}
	return n
}
