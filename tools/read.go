package tools

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/cartagent/cartagent/loop"
)

// The limits of one read.
const (
	readLines  = 2000
	readBytes  = 64 << 10
	maxPicture = 5 << 20
)

type readArgs struct {
	Path  string `json:"path"`
	Line  *int   `json:"line,omitempty" jsonschema:"first line, from 1"`
	Limit *int   `json:"limit,omitempty" jsonschema:"number of lines"`
}

func (k *kit) readTool() loop.Tool {
	return Define(loop.Spec{
		Name: "read", Title: "Read", Description: describe("read"),
		Kind: loop.KindRead, ReadOnly: true, Parallel: true, Default: loop.Allow,
	}, k.previewRead, k.runRead)
}

func (k *kit) previewRead(_ context.Context, in readArgs) (loop.Preview, error) {
	if n := optional(in.Line, 1); n < 1 {
		return loop.Preview{}, fmt.Errorf("%w: \"line\" is %d; lines count from 1", ErrArguments, n)
	}
	if n := optional(in.Limit, 1); n < 1 {
		return loop.Preview{}, fmt.Errorf("%w: \"limit\" is %d; ask for at least 1 line, or leave it out", ErrArguments, n)
	}
	p, err := k.ws.locate(in.Path)
	if err != nil {
		return loop.Preview{}, err
	}
	return loop.Preview{
		Title:     "Read " + k.shown(p),
		Locations: []loop.Location{{Path: p.abs(), Line: optional(in.Line, 0)}},
		Subjects:  []loop.Subject{k.subject(p)},
	}, nil
}

func (k *kit) runRead(ctx context.Context, in readArgs, j loop.Job, _ func(loop.Block)) (loop.Result, error) {
	if _, err := k.previewRead(ctx, in); err != nil {
		return loop.Result{}, err
	}
	p, err := k.ws.locate(in.Path)
	if err != nil {
		return loop.Result{}, err
	}
	if err := sameTarget(in.Path, p, j.Preview); err != nil {
		return loop.Result{}, err
	}
	if p.info != nil && p.info.IsDir() {
		return loop.Result{}, fmt.Errorf("%s is a folder; use list to see what is in it", in.Path)
	}
	src, err := k.source(ctx, in.Path, p)
	if err != nil {
		return loop.Result{}, err
	}
	if src.done != nil {
		return *src.done, nil
	}
	defer src.Close() //nolint:errcheck // it was only read
	w, err := readWindow(ctx, src, optional(in.Line, 1), min(optional(in.Limit, readLines), readLines))
	if err != nil {
		return loop.Result{}, fmt.Errorf("reading %s: %w", in.Path, plain(err))
	}
	if w.sum != "" {
		k.seen.saw(p, w.sum)
	}
	return w.result(), nil
}

// sameTarget refuses when a path leads elsewhere than it did when the call was shown.
func sameTarget(name string, p place, shown loop.Preview) error {
	for _, l := range shown.Locations {
		if l.Path != p.abs() {
			return fmt.Errorf("%s led to %s when this call was shown and leads to %s now: nothing was done; try again",
				name, l.Path, p.abs())
		}
	}
	return nil
}

// source is a file's text as it streams in; done is the whole result where the file is no text.
type source struct {
	io.ReadCloser
	done *loop.Result
}

// source opens the file: pictures and other binary files on this disk, text through the FS.
func (k *kit) source(ctx context.Context, name string, p place) (source, error) {
	f, err := p.open()
	switch {
	case errors.Is(err, fs.ErrNotExist) && k.local:
		return source{}, k.missing(name, p)
	case errors.Is(err, fs.ErrNotExist): // the client may have it unsaved
		f = nil
	case err != nil:
		return source{}, fmt.Errorf("reading %s: %w", name, err)
	default:
		head := make([]byte, 8<<10)
		n, err := io.ReadFull(f, head)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return source{}, errors.Join(fmt.Errorf("reading %s: %w", name, plain(err)), f.Close())
		}
		if isBinary(head[:n]) || isPicture(http.DetectContentType(head[:n])) {
			defer f.Close() //nolint:errcheck // it was only read
			res, err := describeBinary(name, f, head[:n])
			return source{done: res}, err
		}
		if k.local {
			return source{ReadCloser: struct {
				io.Reader
				io.Closer
			}{io.MultiReader(bytes.NewReader(head[:n]), f), f}}, nil
		}
		if err := f.Close(); err != nil {
			return source{}, fmt.Errorf("reading %s: %w", name, plain(err))
		}
	}
	data, err := k.fs.ReadFile(ctx, p.abs())
	if err != nil {
		if f == nil {
			return source{}, k.missing(name, p)
		}
		return source{}, fmt.Errorf("reading %s: %w", name, err)
	}
	return source{ReadCloser: io.NopCloser(bytes.NewReader(data))}, nil
}

func isPicture(mime string) bool {
	switch mime {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// describeBinary is the result for a file that is no text: the picture, or what is known of it.
func describeBinary(name string, f *os.File, head []byte) (*loop.Result, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, plain(err))
	}
	mime := http.DetectContentType(head)
	if isPicture(mime) && info.Size() <= maxPicture {
		rest, err := io.ReadAll(io.LimitReader(f, maxPicture))
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, plain(err))
		}
		return &loop.Result{Content: loop.Blocks{loop.Image{Data: append(head, rest...), MIME: mime}}}, nil
	}
	size, what := bytesText(info.Size()), mime
	switch {
	case isPicture(mime):
		return &loop.Result{Content: text(fmt.Sprintf("[%s is a picture (%s) of %s; pictures above %s are not shown]",
			name, mime, size, bytesText(maxPicture)))}, nil
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}) || bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		return &loop.Result{Content: text(fmt.Sprintf("[%s is UTF-16 text of %s; see it with: iconv -f UTF-16 -t UTF-8]",
			name, size))}, nil
	}
	return &loop.Result{Content: text(fmt.Sprintf("[%s is a binary file (%s) of %s and is not shown]", name, what, size))}, nil
}

// window is a part of a text: lines from first on, as they are in the file.
type window struct {
	text  []byte
	first int    // the line it begins with
	lines int    // how many lines it has
	total int    // lines of the file, as far as it was read
	whole bool   // the file was read to its end
	sum   string // of the whole file, where it was
	long  int    // bytes of the first line, where it had to be cut
	full  bool   // cut by bytes, not by lines
}

// readWindow takes limit lines from line on, within readBytes, and counts the rest.
func readWindow(ctx context.Context, src io.Reader, line, limit int) (window, error) {
	w := window{first: line}
	h := sha256.New()
	r := bufio.NewReaderSize(io.TeeReader(src, h), 64<<10)
	n, size, read := 1, 0, 0 // the line being read, its bytes so far, all bytes
	taking := true
	for read < maxFile {
		part, err := r.ReadSlice('\n')
		read += len(part)
		inside := taking && n >= line && n < line+limit
		switch {
		case !inside || w.full:
		case len(w.text)+len(part) <= readBytes:
			w.text = append(w.text, part...)
		case w.lines == 0: // its first line is too long: keep its beginning
			w.text = append(w.text, part[:readBytes-len(w.text)]...)
			w.full = true
		default: // take back what this line gave so far
			w.text, w.full = w.text[:len(w.text)-size], true
		}
		size += len(part)
		if ended := err == nil; ended || errors.Is(err, io.EOF) && size > 0 {
			w.total = n
			if inside && (!w.full || w.lines == 0) {
				if w.full {
					w.long = size
				}
				w.lines++
			}
			n, size = n+1, 0
			taking = taking && !w.full
		}
		switch {
		case errors.Is(err, io.EOF):
			w.whole, w.sum = true, hexOf(h)
			return w, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return w, err
		case ctx.Err() != nil:
			return w, ctx.Err()
		}
	}
	if w.full && w.lines == 0 {
		w.lines, w.long, w.total = 1, size, max(w.total, n)
	}
	return w, nil
}

// result is the window's exact text, and a note in a block of its own where that is not the whole file.
func (w window) result() loop.Result {
	var notes []string
	body := string(w.text)
	total := fmt.Sprint(w.total)
	if !w.whole {
		total = "more than " + total
	}
	last := w.first + w.lines - 1
	switch {
	case w.total == 0 && w.whole:
		notes = append(notes, "the file is empty")
	case w.lines == 0:
		notes = append(notes, fmt.Sprintf("line %d is past the end: the file has %s lines", w.first, total))
	case w.long > 0:
		body = body[:cutPartialRune(body)]
		notes = append(notes, fmt.Sprintf("line %d of %s is cut: %d of its %d bytes; search shows other parts of it",
			w.first, total, len(body), w.long))
		if w.first < w.total {
			notes = append(notes, fmt.Sprintf("next: line=%d", w.first+1))
		}
	case last < w.total || !w.whole:
		notes = append(notes, fmt.Sprintf("lines %d-%d of %s; next: line=%d", w.first, last, total, last+1))
	}
	if !utf8.ValidString(body) {
		body = strings.ToValidUTF8(body, "\uFFFD")
		notes = append(notes, "not valid UTF-8: U+FFFD stands for other bytes")
	}
	var out loop.Blocks
	if body != "" {
		out = append(out, loop.Text{Text: body})
	}
	if len(notes) > 0 {
		out = append(out, loop.Text{Text: "[" + strings.Join(notes, "; ") + "]"})
	}
	return loop.Result{Content: out}
}

// cutPartialRune is where the rune begins that s breaks off in.
func cutPartialRune(s string) int {
	for back := 1; back <= utf8.UTFMax && back <= len(s); back++ {
		if utf8.RuneStart(s[len(s)-back]) {
			if !utf8.FullRuneInString(s[len(s)-back:]) {
				return len(s) - back
			}
			break
		}
	}
	return len(s)
}
