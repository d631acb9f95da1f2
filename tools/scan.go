package tools

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	scanBlock   = 256 << 10 // read at a time
	scanLine    = 4 << 20   // the longest line that is held as a whole
	scanOverlap = 64 << 10  // what parts of a longer line have in common
	scanWidth   = 300       // bytes of a line shown whole
	scanAround  = 80        // bytes shown around a hit in a longer line
	scanWindows = 3         // hits shown in one line
)

// foundLine is one line of output.
type foundLine struct {
	n    int
	text string
	hit  bool
}

// fileHits is what was found in one file.
type fileHits struct {
	at    place
	lines []foundLine
	hits  int // lines with a hit, also those that are not kept
}

// scan goes through one file. It holds a block of lines, or a line of up to scanLine bytes, at a time.
type scan struct {
	finder
	out    *fileHits
	keep   int // hits to keep
	n      int // number of the line that comes next
	before [][]byte
	after  int // lines of context still to come
}

// run reads all of f. It returns errBinary as soon as that shows in the first block.
func (s *scan) run(ctx context.Context, f *os.File, buf []byte) ([]byte, error) {
	s.n = 1
	have, first, ended := 0, true, false
	for !ended {
		if err := ctx.Err(); err != nil {
			return buf, err
		}
		if have == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
		got, err := io.ReadFull(f, buf[have:])
		ended = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return buf, err
		}
		have += got
		if first && isBinary(buf[:min(have, 8<<10)]) {
			return buf, errBinary
		}
		first = false
		end := have
		if !ended {
			end = bytes.LastIndexByte(buf[:have], '\n') + 1
		}
		if end > 0 {
			s.block(buf[:end])
			have = copy(buf, buf[end:have])
			if len(buf) > scanBlock && have < scanBlock {
				buf = buf[:scanBlock]
			}
			continue
		}
		if have < scanLine {
			continue
		}
		if have, ended, err = s.giant(ctx, f, buf[:have]); err != nil {
			return buf, err
		}
		if ended {
			s.block(buf[:have])
		}
	}
	return buf, nil
}

var errBinary = errors.New("binary")

// block looks at whole lines; only the last of the file may lack its newline.
func (s *scan) block(b []byte) {
	for pos := 0; pos < len(b); {
		next := pos + s.candidate(b[pos:])
		for pos < next && s.after > 0 {
			pos += s.miss(b[pos:])
		}
		if pos < next {
			s.n += bytes.Count(b[pos:next], []byte{'\n'})
			if next == len(b) && b[next-1] != '\n' {
				s.n++
			}
			s.remember(b[pos:next])
			pos = next
		}
		if pos < len(b) {
			pos += s.line(b[pos:])
		}
	}
}

// candidate is where the first line of b begins that may match. Those before it do not.
func (s *scan) candidate(b []byte) int {
	at := 0
	switch {
	case s.needle.text != "":
		at = s.needle.index(b)
	case s.blocks:
		at = -1
		if m := s.re.FindIndex(b); m != nil {
			at = m[0]
		}
	}
	if at < 0 {
		return len(b)
	}
	return bytes.LastIndexByte(b[:at], '\n') + 1
}

// firstLine is the line that b begins with, without its ending, and how long it is with it.
func firstLine(b []byte) (line []byte, size int) {
	size = len(b)
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		size = i + 1
	}
	line = bytes.TrimSuffix(b[:size], []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'}), size
}

// line tries the first line of b.
func (s *scan) line(b []byte) int {
	line, size := firstLine(b)
	if s.out.hits >= s.keep {
		if !s.re.Match(line) {
			return s.miss(b)
		}
		s.after = 0
		s.out.hits++
		s.n++
		return size
	}
	at := s.re.FindAllIndex(line, 1000)
	if at == nil {
		return s.miss(b)
	}
	s.hit(excerpt(line, at))
	if s.context > 0 {
		s.remember(b[:size])
	}
	return size
}

// hit keeps a line that matches, with the lines before it.
func (s *scan) hit(text string) {
	last := 0
	if k := len(s.out.lines); k > 0 {
		last = s.out.lines[k-1].n
	}
	for i, l := range s.before {
		if n := s.n - len(s.before) + i; n > last {
			s.out.lines = append(s.out.lines, foundLine{n: n, text: shorten(l)})
		}
	}
	s.before = nil
	s.out.lines = append(s.out.lines, foundLine{n: s.n, text: text, hit: true})
	s.out.hits++
	s.after = s.context
	s.n++
}

// miss passes the first line of b, which is context where a hit is near.
func (s *scan) miss(b []byte) int {
	line, size := firstLine(b)
	if s.after > 0 {
		s.out.lines = append(s.out.lines, foundLine{n: s.n, text: shorten(line)})
		s.after--
	}
	s.remember(b[:size])
	s.n++
	return size
}

// remember keeps the last lines of b for the context of a hit to come.
func (s *scan) remember(b []byte) {
	if s.context == 0 || s.out.hits >= s.keep {
		return
	}
	from := len(b)
	for range s.context {
		if from == 0 {
			break
		}
		from = bytes.LastIndexByte(b[:from-1], '\n') + 1
	}
	for from < len(b) {
		line, size := firstLine(b[from:])
		s.before = append(s.before, bytes.Clone(line[:min(len(line), scanWidth+1)]))
		from += size
	}
	s.before = s.before[max(0, len(s.before)-s.context):]
}

// giant goes through a line longer than scanLine in parts, of which part is the first. It leaves in the buffer what
// was read behind the line, and says how much that is and whether the file has ended. A match that touches the border
// of a part is not counted: it is seen whole in the next part, or too long to be seen.
func (s *scan) giant(ctx context.Context, f io.Reader, part []byte) (rest int, ended bool, err error) {
	var shown []string
	base, seen, have, last := int64(0), int64(-1), len(part), false
	for {
		end := have
		if i := bytes.IndexByte(part[:have], '\n'); i >= 0 {
			end, last = i, true
		}
		last = last || ended
		line := part[:end]
		if last {
			line = bytes.TrimSuffix(line, []byte{'\r'})
		}
		for _, at := range s.matches(line) {
			whole := (at[0] > 0 || base == 0) && (at[1] < len(line) || last)
			if whole && base+int64(at[0]) > seen {
				seen = base + int64(max(at[0], at[1]-1))
				if len(shown) < scanWindows {
					shown = append(shown, around(line, at, base))
				}
			}
		}
		if last {
			if len(shown) > 0 && s.out.hits < s.keep {
				s.hit(strings.Join(shown, " "))
			} else {
				if len(shown) > 0 {
					s.out.hits++
				}
				s.n++
			}
			s.before = nil
			return copy(part, part[min(end+1, have):have]), ended, nil
		}
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		base += int64(have - scanOverlap)
		have = copy(part, part[have-scanOverlap:have])
		got, err := io.ReadFull(f, part[have:])
		have += got
		ended = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !ended {
			return 0, false, err
		}
	}
}

// matches are the places where a part of a line matches.
func (s *scan) matches(part []byte) [][]int {
	if s.needle.text != "" && s.needle.index(part) < 0 {
		return nil
	}
	return s.re.FindAllIndex(part, 1000)
}

// excerpt is a line that matches: the whole, or windows around the first hits.
func excerpt(line []byte, at [][]int) string {
	if len(line) <= scanWidth {
		return safeText(line)
	}
	var parts []string
	done := -1
	for _, a := range at {
		if a[0] <= done {
			continue
		}
		if len(parts) == scanWindows {
			parts = append(parts, "[more hits in this line]")
			break
		}
		parts = append(parts, around(line, a, 0))
		done = min(a[1], a[0]+scanWidth) + scanAround
	}
	return strings.Join(parts, " ")
}

// around is a window around one match, with the offset in its line where it begins.
func around(line []byte, at []int, base int64) string {
	str := line
	from := max(0, at[0]-scanAround)
	to := min(len(str), min(at[1], at[0]+scanWidth)+scanAround)
	for from > 0 && from < len(str) && str[from]&0xC0 == 0x80 && at[0]-from < scanAround+4 {
		from--
	}
	for to < len(str) && to > at[0] && str[to]&0xC0 == 0x80 {
		to--
	}
	head, tail := "", ""
	if from > 0 || base > 0 {
		head = "…"
	}
	if to < len(str) {
		tail = "…"
	}
	return fmt.Sprintf("[byte %d]%s%s%s", base+int64(from), head, safeText(str[from:to]), tail)
}

// shorten is a line of context.
func shorten(line []byte) string {
	if len(line) <= scanWidth {
		return safeText(line)
	}
	s := string(line[:scanWidth])
	return safeText([]byte(s[:cutPartialRune(s)])) + "…"
}
