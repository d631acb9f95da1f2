package session

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// index remembers where each session comes from, so that List need not open each log. It is a file beside the logs
// that all processes add lines to, and only a cache: what it lacks is read from the logs and added, what is gone from
// the folder is forgotten, and no error about it is anyone else's. A line is one of
//
//   - ID CREATED "CWD" CRC    the session was made
//     ? ID CREATED "CWD" CRC    its log was found; says nothing where something is known already
//   - ID CRC                  the session was deleted
//
// where the cwd is a Go string and CRC is eight hex digits, the CRC-32 (IEEE) of the line before it. A line whose CRC
// does not fit is passed over. Every write begins with a newline, so that one that was torn spoils no other.
type index struct {
	root *os.Root

	mu    sync.Mutex
	known map[string]origin
	head  []byte // how the file began: where it begins otherwise now, it is another
	off   int64  // up to where it was read
	waste int64  // about how much of that is of no more use
	blind bool   // the file could not be read
}

// origin is what a header says and never changes.
type origin struct {
	cwd     string
	created time.Time
}

const (
	indexName = ".index"
	headLen   = 64        // how much of the file's beginning tells it from another
	maxIndex  = 256 << 20 // a file that is longer is not read but made anew
	minWaste  = 64 << 10  // less than this is never worth a rewrite
	lineCost  = 48        // what a line has beyond its id and its cwd, about
)

func newIndex(root *os.Root) *index { return &index{root: root, known: map[string]origin{}} }

// created adds a session that was made.
func (x *index) created(info Info) {
	_ = x.add(appendEntry([]byte{'\n'}, '+', info.ID, infoOrigin(info)))
}

// correct replaces what proved wrong about sessions.
func (x *index) correct(infos []Info) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, info := range infos {
		x.created(info)
		x.known[info.ID] = infoOrigin(info) // also where it cannot be written
	}
}

// deleted takes a session out.
func (x *index) deleted(id string) { _ = x.add(sealed([]byte{'\n'}, "- "+id+" ")) }

func infoOrigin(info Info) origin { return origin{cwd: info.Cwd, created: info.Created} }

// add writes lines at the end of the file.
func (x *index) add(lines []byte) error {
	f, err := x.root.OpenFile(indexName, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(lines)
	return errors.Join(err, f.Close())
}

// refresh reads what was added to the file.
func (x *index) refresh() {
	f, err := x.root.Open(indexName)
	if errors.Is(err, fs.ErrNotExist) {
		x.forget() // so that all is written down again
		x.blind = false
		return
	}
	if x.blind = err != nil; x.blind {
		return
	}
	x.blind = !x.read(f)
	_ = f.Close() // it was only read
}

// read is refresh with the file open, and says whether it could be read.
func (x *index) read(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil || !fi.Mode().IsRegular() {
		return false
	}
	size := fi.Size()
	head := make([]byte, min(headLen, size))
	if _, err := f.ReadAt(head, 0); err != nil {
		return false
	}
	if size < x.off || !bytes.HasPrefix(head, x.head) {
		x.forget()
	}
	if x.off == 0 {
		x.head = head
	}
	if size-x.off > maxIndex {
		x.forget()
		x.off, x.waste = size, size
		return true
	}
	text := make([]byte, size-x.off)
	n, err := f.ReadAt(text, x.off)
	if err != nil && !errors.Is(err, io.EOF) {
		return false
	}
	end := bytes.LastIndexByte(text[:n], '\n') + 1
	x.off += int64(end)
	if len(x.known) == 0 {
		x.known = make(map[string]origin, end/(2*lineCost))
	}
	for line := range bytes.Lines(text[:end]) {
		x.take(line)
	}
	return true
}

func (x *index) forget() {
	clear(x.known)
	x.head, x.off, x.waste = nil, 0, 0
}

// take reads a line.
func (x *index) take(line []byte) {
	if len(line) <= 1 {
		return
	}
	op, id, o, ok := parseEntry(line[:len(line)-1])
	was, there := x.known[id]
	switch {
	case !ok, op == '?' && there, op == '-' && !there:
		x.waste += int64(len(line))
	case op == '-':
		x.waste += int64(len(line)) + cost(id, was)
		delete(x.known, id)
	default:
		if there {
			x.waste += cost(id, was)
		}
		x.known[id] = o
	}
}

func cost(id string, o origin) int64 { return int64(len(id) + len(o.cwd) + lineCost) }

// keep forgets all but these.
func (x *index) keep(ids []string) {
	there := make(map[string]bool, len(ids))
	for _, id := range ids {
		there[id] = true
	}
	for id, o := range x.known {
		if !there[id] {
			x.waste += cost(id, o)
			delete(x.known, id)
		}
	}
}

// learn adds sessions whose logs were found, and writes the file anew where most of it is of no more use.
func (x *index) learn(found []Info) {
	full := x.waste > minWaste && x.waste > x.off/2
	if len(found) == 0 && !full {
		return
	}
	if !full && !x.blind {
		lines := []byte{'\n'}
		for _, info := range found {
			lines = appendEntry(lines, '?', info.ID, infoOrigin(info))
		}
		if x.add(lines) == nil {
			return // the next refresh reads them
		}
	}
	for _, info := range found {
		x.known[info.ID] = infoOrigin(info)
	}
	if full {
		_ = x.rewrite() // else the next List tries again
	}
}

// rewrite leaves in the file only what is known. It stays the same file, so that no other writer adds to one that is
// gone. What others add meanwhile may be lost, and is then found again.
func (x *index) rewrite() error {
	text := fmt.Appendf(nil, "%s\n", rand.Text()+rand.Text()+rand.Text())
	for id, o := range x.known {
		text = appendEntry(text, '+', id, o)
	}
	f, err := x.root.OpenFile(indexName, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	got, err := tryLock(f)
	if err != nil || !got {
		return errors.Join(err, f.Close())
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.Write(text)
	}
	if err = errors.Join(err, unlock(f), f.Close()); err == nil {
		x.head, x.off, x.waste = text[:headLen:headLen], int64(len(text)), 0
	}
	return err
}

// appendEntry adds a line about a session. A cwd that is no text would not come back as it was: its log's header,
// where it was made text, has to be read.
func appendEntry(dst []byte, op byte, id string, o origin) []byte {
	if !utf8.ValidString(o.cwd) {
		return dst
	}
	line := make([]byte, 0, 256)
	line = append(line, op, ' ')
	line = append(append(line, id...), ' ')
	line = append(o.created.AppendFormat(line, time.RFC3339Nano), ' ')
	return sealed(dst, string(append(strconv.AppendQuote(line, o.cwd), ' ')))
}

// sealed adds text, its CRC and a newline.
func sealed(dst []byte, text string) []byte {
	dst = append(dst, text...)
	return fmt.Appendf(dst, "%08x\n", crc32.ChecksumIEEE(dst[len(dst)-len(text):]))
}

// crcLen is the length of a CRC in hex.
const crcLen = 8

// parseEntry reads a line without its newline.
func parseEntry(line []byte) (op byte, id string, o origin, ok bool) {
	i := len(line) - crcLen
	if i < 4 || line[1] != ' ' || line[i-1] != ' ' {
		return 0, "", o, false
	}
	sum, err := strconv.ParseUint(string(line[i:]), 16, 32)
	if err != nil || crc32.ChecksumIEEE(line[:i]) != uint32(sum) {
		return 0, "", o, false
	}
	op = line[0]
	text := string(line[2 : i-1])
	if op == '-' {
		return op, text, o, true
	}
	id, text, _ = strings.Cut(text, " ")
	created, quoted, _ := strings.Cut(text, " ")
	if o.created, err = time.Parse(time.RFC3339Nano, created); err != nil {
		return 0, "", o, false
	}
	if o.cwd, err = strconv.Unquote(quoted); err != nil {
		return 0, "", o, false
	}
	return op, id, o, op == '+' || op == '?'
}
