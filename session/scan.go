package session

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"

	"github.com/cartagent/cartagent/loop"
)

// scanner reads a log from its start, whatever state it is in.
type scanner struct {
	br     *bufio.Reader
	long   []byte                // the current line, where it is longer than br's buffer
	visit  func(loop.Input) bool // gets each input and says whether to go on; may be nil
	from   int                   // visit gets the records from this number on
	verify bool                  // each hash is checked, not only those on which it depends what is a record

	id       string
	info     Info
	headed   bool // the header was found
	last     chain
	rec      record // of the last line that was quick
	unknown  bool   // what the next record's hash should follow from was lost
	line     int
	off      int64 // where the current line begins
	keep     int64 // where the last thing worth keeping ends
	open     bool  // what ends at keep lacks its newline
	stopped  bool
	warnings []string
	more     int // warnings beyond maxWarnings
}

// maxWarnings bounds what a wholly damaged file can say.
const maxWarnings = 50

// readSize is how much is read at once: little enough for who wants the first records only.
const readSize = 32 << 10

// maxTries bounds the search for records in one damaged line.
const maxTries = 64

// recordStart is how a record begins when this package wrote it.
var recordStart = regexp.MustCompile(`\{"n":[0-9]+,"at":"`)

func newScanner(id string, r io.Reader) *scanner {
	return &scanner{br: bufio.NewReaderSize(r, readSize), id: id, info: Info{ID: id}}
}

func (s *scanner) warn(format string, args ...any) {
	if len(s.warnings) == maxWarnings {
		s.more++
		return
	}
	s.warnings = append(s.warnings, fmt.Sprintf("session %s: ", s.id)+fmt.Sprintf(format, args...))
}

// findings are the warnings, and how many more there were.
func (s *scanner) findings() []string {
	if s.more == 0 {
		return s.warnings
	}
	return append(slices.Clip(s.warnings),
		fmt.Sprintf("session %s: and %d more problems of the kind", s.id, s.more))
}

// run reads to the end, or until visit returns false. Only what cannot be read at all is an error.
func (s *scanner) run() error {
	for !s.stopped {
		line, whole, err := s.next()
		if err != nil {
			return storage("reading session "+s.id, err)
		}
		if len(line) == 0 && !whole {
			break
		}
		s.line++
		if err := s.take(line, whole); err != nil {
			return err
		}
		s.off += int64(len(line))
		if whole {
			s.off++
		}
	}
	if s.line == 0 {
		s.warn("the file is empty; the session starts anew, without its folder")
	}
	return nil
}

// next reads a line. whole says that it ended with a newline, which is not part of it.
func (s *scanner) next() ([]byte, bool, error) {
	s.long = s.long[:0]
	for {
		part, err := s.br.ReadSlice('\n')
		switch {
		case err == nil && len(s.long) == 0:
			return part[:len(part)-1], true, nil
		case err == nil:
			s.long = append(s.long, part...)
			return s.long[:len(s.long)-1], true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			s.long = append(s.long, part...)
		case errors.Is(err, io.EOF):
			s.long = append(s.long, part...)
			return s.long, false, nil
		default:
			return nil, false, err
		}
	}
}

// take handles one line.
func (s *scanner) take(line []byte, whole bool) error {
	rest := line
	if s.line == 1 {
		n, err := s.header(line)
		if err != nil {
			return err
		}
		rest = line[n:]
		if n > 0 && len(bytes.TrimSpace(rest)) == 0 {
			s.kept(int64(len(line)), whole)
			return nil
		}
		if n > 0 {
			s.warn("line 1: there is something behind the header on its line")
			s.kept(int64(n), false)
		}
	}
	if len(bytes.TrimSpace(rest)) == 0 && whole {
		s.kept(int64(len(line)), true)
		return nil
	}
	if s.quick(rest) {
		s.kept(int64(len(line)), whole)
		return nil
	}
	var r record
	if json.Unmarshal(rest, &r) == nil && r.whole() {
		s.accept(&r)
		s.kept(int64(len(line)), whole)
		return nil
	}
	s.salvage(rest, int64(len(line)-len(rest)), whole)
	return nil
}

// kept marks what ends n bytes into the current line as worth keeping.
func (s *scanner) kept(n int64, newline bool) {
	s.keep, s.open = s.off+n, !newline
	if newline {
		s.keep++
	}
}

// header reads the header at the start of line and says how long it is: zero when there is none.
func (s *scanner) header(line []byte) (int, error) {
	var h header
	d := json.NewDecoder(bytes.NewReader(line))
	if err := d.Decode(&h); err != nil || h.Version == 0 {
		s.unknown = true
		sum := sha256.Sum256(line)
		s.last.hash = hex.EncodeToString(sum[:])
		s.warn("line 1: the header is damaged or missing; the session's folder is not known")
		return 0, nil //nolint:nilerr // a damaged header is a warning, the records behind it are read
	}
	if h.Version > format {
		return 0, fmt.Errorf("session %s has format %d, this version reads up to %d: %w; upgrade to open it",
			s.id, h.Version, format, ErrVersion)
	}
	n := int(d.InputOffset())
	text := line
	if len(bytes.TrimSpace(line[n:])) > 0 {
		text = line[:n]
	}
	sum := sha256.Sum256(text)
	s.headed, s.last.hash = true, hex.EncodeToString(sum[:])
	s.info.Cwd = h.Cwd
	created, err := time.Parse(time.RFC3339Nano, h.Created)
	if err != nil {
		s.warn("line 1: the time %q in the header is none", h.Created)
	}
	s.info.Created = created
	if h.Session != s.id {
		s.warn("line 1: the header names another session, %.60q", h.Session)
	}
	return n, nil
}

// quick takes a line that is one record of the usual look, and says whether it was. It decodes the body only.
func (s *scanner) quick(line []byte) bool {
	r := &s.rec
	if !r.plain(line) {
		return false
	}
	if r.N < s.from {
		if !json.Valid(r.Body) {
			return false
		}
		s.follow(r)
		return true
	}
	in, err := loop.DecodeInput(r.Kind, r.Body)
	if err != nil {
		return false
	}
	if _, unseen := in.(loop.Unknown); unseen && !json.Valid(r.Body) {
		return false
	}
	if s.follow(r) {
		s.hand(in)
	}
	return true
}

// accept checks a record and hands it on.
func (s *scanner) accept(r *record) {
	if !s.follow(r) {
		return
	}
	in, err := r.input()
	if err != nil {
		s.warn("line %d: record %d: %v; it is kept and has no effect", s.line, r.N, err)
	}
	if r.N >= s.from {
		s.hand(in)
	}
}

func (s *scanner) hand(in loop.Input) {
	if s.visit != nil && !s.visit(in) {
		s.stopped = true
	}
}

// follow checks how a record follows the one before, and moves on to it. It takes nothing twice.
func (s *scanner) follow(r *record) bool {
	next := r.N == s.last.n+1
	fits := next && !s.verify || r.fits(s.last.hash)
	switch {
	case fits && next:
	case r.N == s.last.n && r.Hash == s.last.hash:
		s.warn("line %d: record %d is there twice; the second is left out", s.line, r.N)
		return false
	case s.unknown && r.N > s.last.n:
		// Damage before this record, which was reported, took what its hash follows from.
	case r.N > s.last.n+1:
		s.warn("line %d: record %d follows record %d; those between are missing", s.line, r.N, s.last.n)
	case !next:
		s.warn("line %d: record %d follows record %d", s.line, r.N, s.last.n)
	default:
		s.warn("line %d: record %d was changed, or something before it: its hash does not fit", s.line, r.N)
	}
	s.last, s.unknown = chain{n: r.N, hash: r.Hash}, false
	return true
}

// salvage takes the records out of a line that is not one record. base is where text begins in the line.
func (s *scanner) salvage(text []byte, base int64, whole bool) {
	found, end, tries := 0, 0, 0
	for i := 0; i < len(text) && tries < maxTries && !s.stopped; tries++ {
		r, n := recordAt(text[i:])
		inside := i != end // found by search, not where a record was due
		if r != nil && inside && !r.fits(s.last.hash) &&
			(r.N <= s.last.n || len(bytes.TrimSpace(text[i+n:])) > 0) {
			r = nil // it may be a mere part of a damaged record
		}
		if r == nil {
			next := recordStart.FindIndex(text[i+1:])
			if next == nil {
				break
			}
			i += 1 + next[0]
			continue
		}
		if inside {
			s.lost(text[end:i])
		}
		s.accept(r)
		found++
		i += n
		end = i
		s.kept(base+int64(end), false)
	}
	junk := text[end:]
	blank := len(bytes.TrimSpace(junk)) == 0
	switch {
	case found > 0 && (found > 1 || !blank):
		s.warn("line %d: %d records and %d other bytes share this line", s.line, found, len(bytes.TrimSpace(junk)))
	case found == 0 && !whole && !blank:
		s.warn("line %d: the end of the file is torn; its last %d bytes are dropped", s.line, len(junk))
	}
	if !whole {
		return
	}
	if found == 0 {
		s.lost(junk)
	}
	s.unknown = s.unknown || !blank
	s.kept(base+int64(len(text)), true)
}

// lost reports bytes that are no record.
func (s *scanner) lost(junk []byte) {
	what := "no record"
	if len(bytes.Trim(junk, "\x00")) == 0 {
		what = "nothing but NUL bytes"
	}
	s.warn("line %d: %d bytes are damaged: %s; they are left out, the rest is kept", s.line, len(junk), what)
	s.unknown = true
}

// recordAt reads the record that text begins with and says how long it is. Without one it is nil.
func recordAt(text []byte) (*record, int) {
	if text[0] != '{' {
		return nil, 0
	}
	var r record
	d := json.NewDecoder(bytes.NewReader(text))
	if d.Decode(&r) != nil || !r.whole() {
		return nil, 0
	}
	return &r, int(d.InputOffset())
}
