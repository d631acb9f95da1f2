package tools

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
)

// What is kept of a command's output.
const (
	tailHead  = 16 << 10
	tailEnd   = 16 << 10
	lastLines = 20
	lastBytes = 2 << 10
)

// tail is a writer that keeps the beginning and the end of what is written, in fixed memory.
type tail struct {
	news chan struct{} // has an element when something was written since it was last taken out
	mu   sync.Mutex
	head []byte
	ring []byte // the last tailEnd bytes after head; at is where the oldest is once it is full
	at   int
	size int64
}

func newTail() *tail { return &tail{news: make(chan struct{}, 1)} }

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	t.size += int64(n)
	if room := tailHead - len(t.head); room > 0 {
		k := min(room, len(p))
		t.head = append(t.head, p[:k]...)
		p = p[k:]
	}
	if len(p) > tailEnd {
		p = p[len(p)-tailEnd:]
	}
	if room := tailEnd - len(t.ring); room > 0 {
		k := min(room, len(p))
		t.ring = append(t.ring, p[:k]...)
		p = p[k:]
	}
	for len(p) > 0 {
		k := copy(t.ring[t.at:], p)
		t.at = (t.at + k) % tailEnd
		p = p[k:]
	}
	select {
	case t.news <- struct{}{}:
	default:
	}
	return n, nil
}

// end is the ring in order. Callers hold the lock.
func (t *tail) end() []byte {
	return append(bytes.Clone(t.ring[t.at:]), t.ring[:t.at]...)
}

func (t *tail) leftOut() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.size - int64(len(t.head)+len(t.ring))
}

// String is what was kept, fit for JSON. Where something is missing the two parts are cut at lines, if those are not
// too long, and a line between them says how much is missing.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	head, end := t.head, t.end()
	if t.size == int64(len(head)+len(end)) {
		return safeText(append(bytes.Clone(head), end...))
	}
	if i := bytes.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i+1]
	} else {
		head = head[:cutPartialRune(string(head))]
	}
	if i := bytes.IndexByte(end, '\n'); i >= 0 && i < len(end)/2 {
		end = end[i+1:]
	} else {
		for i := 0; i < 3 && len(end) > 0 && end[0]&0xC0 == 0x80; i++ {
			end = end[1:]
		}
	}
	gap := t.size - int64(len(head)+len(end))
	sep := ""
	if !bytes.HasSuffix(head, []byte{'\n'}) {
		sep = "\n"
	}
	return safeText(head) + sep + fmt.Sprintf("[%d bytes left out; to see them send the output to a file and read that]\n", gap) +
		safeText(end)
}

// last is the last lines, for progress.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.end()
	if len(end) < lastBytes {
		end = append(bytes.Clone(t.head), end...)
	}
	cut := len(end) > lastBytes
	if cut {
		end = end[len(end)-lastBytes:]
	}
	s := safeText(end)
	if i := strings.IndexByte(s, '\n'); cut && i >= 0 {
		s = s[i+1:]
	}
	at := len(strings.TrimSuffix(s, "\n"))
	for range lastLines {
		if at = strings.LastIndexByte(s[:at], '\n'); at < 0 {
			return s
		}
	}
	return s[at+1:]
}
