package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// findings gathers what a search finds, in bounded memory: the first files keep more hits than later ones, and all
// hits are counted.
type findings struct {
	show    func(place) string
	hidden  nodes
	buf     []byte
	dir     *os.Root // the folder of the file before, and where that is
	at      place
	files   []fileHits // those with hits, of which some lines are kept
	hits    int
	inFiles int // files with hits
	tried   int
	links   int
	binary  unread
	failed  unread
}

func newFindings(show func(place) string, hidden nodes) *findings {
	return &findings{
		show:   show,
		hidden: hidden,
		buf:    make([]byte, scanBlock),
		binary: unread{what: "binary, not searched"},
		failed: unread{what: "not readable"},
	}
}

// keep is how many hits the next file may keep.
func (fd *findings) keep() int {
	switch n := len(fd.files); {
	case n < 20:
		return 200
	case n < 100:
		return 20
	case n < 400:
		return 2
	}
	return 0
}

// file searches one file. What cannot be read is noted; the error is that of ctx.
func (fd *findings) file(ctx context.Context, f finder, p place) error {
	name := fd.show(p)
	h, err := fd.open(p)
	if err != nil {
		fd.failed.add(name + " (" + plain(err).Error() + ")")
		return nil
	}
	defer h.Close() //nolint:errcheck // it was only read
	out := fileHits{at: p}
	s := scan{finder: f, out: &out, keep: fd.keep()}
	fd.buf, err = s.run(ctx, h, fd.buf)
	switch {
	case errors.Is(err, errBinary):
		fd.binary.add(name)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		fd.failed.add(name + " (" + plain(err).Error() + ")")
	}
	fd.tried++
	if out.hits == 0 {
		return nil
	}
	fd.hits += out.hits
	fd.inFiles++
	if len(out.lines) > 0 {
		out.lines = slices.Clip(out.lines)
		fd.files = append(fd.files, out)
	}
	return nil
}

// open opens a file by the handle of its folder, which is kept for the files next to it.
func (fd *findings) open(p place) (*os.File, error) {
	dir, name := filepath.Split(p.rel)
	if dir == "" {
		return fd.hidden.open(p.root.dir.Open(p.rel))
	}
	if fd.dir == nil || fd.at != (place{root: p.root, rel: dir}) {
		d, err := p.root.dir.OpenRoot(filepath.Clean(dir))
		if err != nil {
			return nil, err
		}
		if err := fd.close(); err != nil {
			return nil, errors.Join(err, d.Close())
		}
		fd.dir, fd.at = d, place{root: p.root, rel: dir}
	}
	return fd.hidden.open(fd.dir.Open(name))
}

func (fd *findings) close() error {
	if fd.dir == nil {
		return nil
	}
	d := fd.dir
	fd.dir = nil
	return d.Close()
}

// render makes the output fit into limit bytes: each file gives up hits before any file is left out.
func (fd *findings) render(limit int) (string, []string) {
	var body string
	shown, files := 0, 0
	for _, each := range []int{200, 100, 50, 20, 10, 5, 3, 2, 1} {
		body, shown, files = fd.layout(each, limit)
		if files == len(fd.files) {
			break
		}
	}
	var notes []string
	switch {
	case fd.hits == 0 && fd.tried == 0:
		notes = append(notes, "no text file to search there; list shows what there is")
	case fd.hits == 0:
		notes = append(notes, fmt.Sprintf("no line matches; %s searched", count(fd.tried, "file")))
	case shown < fd.hits:
		notes = append(notes, fmt.Sprintf("%s in %s; shown: %d in %s; narrow pattern, path or glob to see others",
			count(fd.hits, "matching line"), count(fd.inFiles, "file"), shown, count(files, "file")))
	}
	if fd.links > 0 {
		notes = append(notes, count(fd.links, "symbolic link")+" not followed")
	}
	for _, n := range []string{fd.binary.note(), fd.failed.note()} {
		if n != "" {
			notes = append(notes, n)
		}
	}
	return body, notes
}

// layout writes up to each hits of every file, and stops at the file that no longer fits.
func (fd *findings) layout(each, limit int) (body string, shown, files int) {
	var out strings.Builder
	for _, f := range fd.files {
		part, n := f.text(fd.show(f.at), each)
		if out.Len() > 0 {
			part = "\n" + part
		}
		if out.Len()+len(part) > limit {
			if out.Len() > 0 || each > 1 {
				return out.String(), shown, files
			}
			part = part[:runeStart(part, limit)] + "…\n" // long lines of context
		}
		out.WriteString(part)
		shown += n
		files++
	}
	return out.String(), shown, files
}

// text is a heading and lines: "12:" before one that matches, "12-" before context, "--" where lines are left out.
func (f fileHits) text(name string, each int) (string, int) {
	var out strings.Builder
	fmt.Fprintf(&out, "%s\n", safeText([]byte(name)))
	hits, last := 0, 0
	for i, l := range f.lines {
		if l.hit {
			if hits == each {
				break
			}
			hits++
		} else if hits == each && !follows(f.lines[:i], l.n) {
			break
		}
		if last > 0 && l.n > last+1 && !f.alone() {
			out.WriteString("--\n")
		}
		mark := "-"
		if l.hit {
			mark = ":"
		}
		fmt.Fprintf(&out, "%d%s%s\n", l.n, mark, l.text)
		last = l.n
	}
	if hits < f.hits {
		fmt.Fprintf(&out, "[%d more in this file]\n", f.hits-hits)
	}
	return out.String(), hits
}

// follows says whether line n goes on where the lines end.
func follows(before []foundLine, n int) bool {
	return len(before) > 0 && before[len(before)-1].n+1 == n
}

// alone says that there are only hits, no context.
func (f fileHits) alone() bool {
	return !slices.ContainsFunc(f.lines, func(l foundLine) bool { return !l.hit })
}
