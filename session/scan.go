package session

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
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
	br   *bufio.Reader
	long []byte // the current line, where it is longer than br's buffer
	// visit gets each record and its input, and says whether to go on; may be nil. What the record holds is valid until
	// visit returns.
	visit    func(*record, loop.Input) bool
	from     int // visit gets the records from this number on
	blobs    func(sum string) ([]byte, error)
	named    map[string]bool   // where it is not nil: all blobs that are named anywhere
	limit    int               // how long a line may be
	raw      []byte            // the line of the record that visit gets, where it has the line to itself
	head     []byte            // the header, where it was found
	inline   map[string][]byte // blobs that the records brought along
	outlines bool              // redacted records are decoded as their outlines
	verify   bool              // each hash is checked, not only those on which it depends what is a record

	id       string
	info     Info
	headed   bool // the header was found
	last     chain
	rec      record // of the last line that was quick
	unknown  bool   // what the next record's hash should follow from was lost
	forks    forks
	line     int
	off      int64 // where the current line begins
	keep     int64 // where the last thing worth keeping ends
	open     bool  // what ends at keep lacks its newline
	stopped  bool
	heads    map[int]string // the hashes of the records whose numbers are in it
	problems []Problem
	more     int // problems beyond maxWarnings
}

// maxWarnings bounds what a wholly damaged file can say.
const maxWarnings = 50

// readSize is how much is read at once: little enough for who wants the first records only.
const readSize = 32 << 10

// maxTries bounds the search for records in one damaged line.
const maxTries = 64

// recordStart is how a record begins when this package wrote it.
var recordStart = regexp.MustCompile(`\{"n":[0-9]+,"at":"`)

// maxLine is how long a line may be. The longest record that this package writes is far below it.
const maxLine = 256 << 20

func newScanner(id string, r io.Reader) *scanner {
	s := &scanner{br: bufio.NewReaderSize(r, readSize), id: id, info: Info{ID: id}, limit: maxLine}
	s.forks.file, _ = r.(io.ReaderAt)
	return s
}

func (s *scanner) warn(format string, args ...any) {
	if len(s.problems) == maxWarnings {
		s.more++
		return
	}
	s.problems = append(s.problems, Problem{Line: s.line, Text: fmt.Sprintf(format, args...)})
}

// findings are the problems, and how many more there were.
func (s *scanner) findings() []Problem {
	if s.more == 0 {
		return s.problems
	}
	return append(slices.Clip(s.problems), Problem{Line: s.line, Text: fmt.Sprintf("and %d more problems of the kind", s.more)})
}

// warnings are the findings as sentences.
func (s *scanner) warnings() []string {
	var out []string
	for _, p := range s.findings() {
		out = append(out, fmt.Sprintf("session %s: %s", s.id, p))
	}
	return out
}

// run reads to the end, or until visit returns false. Only what cannot be read at all is an error.
func (s *scanner) run() error {
	for !s.stopped {
		line, over, whole, err := s.next()
		if err != nil {
			return storage("reading session "+s.id, err)
		}
		if len(line) == 0 && !whole {
			break
		}
		s.line++
		if over > 0 {
			s.tooLong(int64(len(line))+over, whole)
		} else if err := s.take(line, whole); err != nil {
			return err
		}
		s.off += int64(len(line)) + over
		if whole {
			s.off++
		}
	}
	if s.line == 0 {
		s.warn("the file is empty; the session starts anew, without its folder")
	}
	return nil
}

// tooLong passes over a line that was not read.
func (s *scanner) tooLong(n int64, whole bool) {
	if !whole {
		s.warn("the end of the file is torn; its last %d bytes are dropped", n)
		return
	}
	s.warn("a line of %d bytes is damaged: it is too long for a record; it is left out, the rest is kept", n)
	s.unknown = true
	s.kept(n, true)
}

// next reads a line. whole says that it ended with a newline, which is not part of it. Of a line that is too long, over
// bytes are left out.
func (s *scanner) next() (line []byte, over int64, whole bool, err error) {
	s.long = s.long[:0]
	for {
		part, err := s.br.ReadSlice('\n')
		if err == nil {
			part, whole = part[:len(part)-1], true
		}
		switch {
		case whole && len(s.long) == 0:
			return part, 0, true, nil
		case len(s.long)+len(part) > s.limit:
			over += int64(len(part))
		default:
			s.long = append(s.long, part...)
		}
		switch {
		case whole, errors.Is(err, io.EOF):
			return s.long, over, whole, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, 0, false, err
		}
	}
}

// take handles one line.
func (s *scanner) take(line []byte, whole bool) error {
	if s.named != nil {
		named(line, func(sum string) { s.named[sum] = true })
	}
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
			s.warn("there is something behind the header on its line")
			s.kept(int64(n), false)
		}
	}
	if len(bytes.TrimSpace(rest)) == 0 && whole {
		s.kept(int64(len(line)), true)
		return nil
	}
	s.raw = rest
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
	s.raw = nil
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
		s.warn("the header is damaged or missing; the session's folder is not known")
		return 0, nil //nolint:nilerr // a damaged header is a warning, the records behind it are read
	}
	n := int(d.InputOffset())
	text := line
	if len(bytes.TrimSpace(line[n:])) > 0 {
		text = line[:n]
	}
	sum := sha256.Sum256(text)
	s.headed, s.last.hash = true, hex.EncodeToString(sum[:])
	s.head = bytes.Clone(text)
	s.forks.add(s.last)
	s.info.Cwd = h.Cwd
	created, err := time.Parse(time.RFC3339Nano, h.Created)
	if err != nil {
		s.warn("the time %q in the header is none", h.Created)
	}
	s.info.Created = created
	if s.id == "" && validID(h.Session) { // a file of its own
		s.id, s.info.ID = h.Session, h.Session
	}
	if h.Session != s.id {
		s.warn("the header names another session, %.60q", h.Session)
	}
	if h.Version > format {
		return 0, fmt.Errorf("session %s has format %d, this version reads up to %d: %w; upgrade to open it",
			s.id, h.Version, format, ErrVersion)
	}
	return n, nil
}

// quick takes a line that is one record of the usual look, and says whether it was. It decodes the body only.
func (s *scanner) quick(line []byte) bool {
	r := &s.rec
	if !r.plain(line) || bytes.Contains(r.Body, []byte(mark)) {
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
		s.hand(r, in)
	}
	return true
}

// accept checks a record and hands it on.
func (s *scanner) accept(r *record) {
	for sum, text := range r.Blobs {
		if data, err := base64.StdEncoding.DecodeString(text); err == nil && fitsSum(data, sum) {
			if s.inline == nil {
				s.inline = map[string][]byte{}
			}
			s.inline[sum] = data
		} else {
			s.warn("record %d: the blob %.64q that it brings is damaged", r.N, sum)
		}
	}
	if !s.follow(r) || r.N < s.from && !s.verify {
		return
	}
	in, err := s.input(r)
	if err != nil {
		s.warn("record %d: %v; it is kept and has no effect", r.N, err)
	}
	if r.N >= s.from {
		s.hand(r, in)
	}
}

// input decodes a record, with its payloads in place.
func (s *scanner) input(r *record) (loop.Input, error) {
	if r.redacted() && s.outlines && r.Outline != nil {
		if in, err := loop.DecodeInput(r.Kind, r.Outline); err == nil {
			return in, nil
		}
	}
	body := []byte(r.Body)
	if bytes.Contains(body, []byte(mark)) {
		whole, problems := restore(body, s.blob)
		for _, p := range problems {
			s.warn("record %d: %s", r.N, p)
		}
		body = whole
	}
	return r.input(body)
}

func (s *scanner) blob(sum string) ([]byte, error) {
	if data, ok := s.inline[sum]; ok {
		return data, nil
	}
	if s.blobs == nil {
		return nil, fmt.Errorf("the blob %s is missing", sum)
	}
	return s.blobs(sum)
}

func (s *scanner) hand(r *record, in loop.Input) {
	if s.visit != nil && !s.visit(r, in) {
		s.stopped = true
	}
}

// follow checks how a record follows the one before, and moves on to it. It takes nothing twice.
func (s *scanner) follow(r *record) bool {
	if s.stale(r) {
		s.warn("record %d is there from two writers; this one had lost the session, and is left out", r.N)
		return false
	}
	next := r.N == s.last.n+1
	fits := next && !s.verify || r.fits(s.last.hash)
	switch {
	case fits && next:
	case s.seen(r):
		s.warn("record %d is there twice; the second is left out", r.N)
		return false
	case s.unknown && r.N > s.last.n:
		// Damage before this record, which was reported, took what its hash follows from.
	case r.N > s.last.n+1:
		s.warn("record %d follows record %d; those between are missing", r.N, s.last.n)
	case !next:
		s.warn("record %d follows record %d", r.N, s.last.n)
	default:
		s.warn("record %d was changed, or something before it: its hash does not fit", r.N)
	}
	s.last, s.unknown = chain{n: r.N, hash: r.Hash}, false
	s.forks.add(s.last)
	if _, wanted := s.heads[r.N]; wanted {
		s.heads[r.N] = r.Hash
	}
	return true
}

// seen says whether the record is among those that were read, as far as these are still known.
func (s *scanner) seen(r *record) bool {
	c, known := s.forks.at(r.N)
	return known && c.hash == r.Hash
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
		s.warn("%d records and %d other bytes share this line", found, len(bytes.TrimSpace(junk)))
	case found == 0 && !whole && !blank:
		s.warn("the end of the file is torn; its last %d bytes are dropped", len(junk))
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
	s.warn("%d bytes are damaged: %s; they are left out, the rest is kept", len(junk), what)
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
