package mcpclient

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"time"
)

// maxField bounds the lines of an event stream that are no data. What is longer is no name, id or time.
const maxField = 4 << 10

// event is what a blank line ends. One without data is no message, but its id and retry count.
type event struct {
	name  string
	data  []byte // valid until the following call of next
	id    *string
	retry time.Duration // 0 when none was given
}

// events reads a text/event-stream. Lines end in LF, CRLF or CR. Memory is bounded: of an event whose data has more than
// max bytes only the edges are kept.
type events struct {
	br     *bufio.Reader
	max    int
	begun  bool
	skipLF bool // the last line ended in CR, so that an LF now belongs to it

	line []byte // of a field that is no data
	data []byte
	size int    // of the data, also where it is not kept
	head []byte // of data that is too long
}

func newEvents(r io.Reader, limit int) *events {
	return &events{br: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next gives the next event. An error of type *tooLong concerns one event; any other is the end. Data without a blank
// line behind it counts where the stream has ended in good order: whether it is whole will show.
func (e *events) next() (event, error) {
	if cap(e.data) > 1<<20 {
		e.data = nil
	}
	e.data, e.size, e.head = e.data[:0], 0, nil
	var ev event
	some, lines := false, 0
	for {
		field, blank, err := e.field(lines > 0)
		switch {
		case err != nil && errors.Is(err, io.EOF) && (lines > 0 || field == fieldData):
			return e.finish(ev)
		case err != nil:
			return event{}, err
		case blank && (some || lines > 0):
			return e.finish(ev)
		case blank:
			continue
		case field == fieldData:
			lines++
			continue
		}
		name, value := cutField(e.line)
		switch name {
		case "event":
			ev.name, some = string(value), true
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				id := string(value)
				ev.id, some = &id, true
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				ev.retry, some = time.Duration(ms)*time.Millisecond, true
			}
		}
	}
}

func (e *events) finish(ev event) (event, error) {
	if e.head != nil {
		return ev, &tooLong{size: e.size, head: e.head, tail: bytes.Clone(e.data)}
	}
	ev.data = e.data
	return ev, nil
}

func cutField(line []byte) (name string, value []byte) {
	before, value, _ := bytes.Cut(line, []byte(":"))
	return string(before), bytes.TrimPrefix(value, []byte(" "))
}

// The kinds of lines.
const (
	fieldUnknown = iota
	fieldOther
	fieldData
)

// field reads one line. The value of a data field goes to e.data, behind a newline where there was data before; another
// field stays in e.line, without the end of a long one.
func (e *events) field(more bool) (kind int, blank bool, err error) {
	const enough = len("data: ") // to know what it is
	e.line = e.line[:0]
	size := 0
	for {
		part, end, err := e.part()
		size += len(part)
		if kind == fieldUnknown {
			n := min(len(part), enough-len(e.line))
			e.line = append(e.line, part[:n]...)
			part = part[n:]
			if len(e.line) < enough && !end && err == nil {
				continue
			}
			kind = fieldOther
			if name, value := cutField(e.line); name == "data" {
				kind = fieldData
				if more {
					e.keep([]byte("\n"))
				}
				e.keep(value)
			}
		}
		if kind == fieldData {
			e.keep(part)
		} else {
			e.line = append(e.line, part[:min(len(part), maxField-len(e.line))]...)
		}
		if end || err != nil {
			return kind, end && size == 0, err
		}
	}
}

// keep adds to the data, or to the edges of data that is too long.
func (e *events) keep(part []byte) {
	e.size += len(part)
	e.data = append(e.data, part...)
	switch {
	case e.size <= e.max:
	case e.head == nil:
		e.head = bytes.Clone(e.data[:min(len(e.data), edge)])
		e.data = bytes.Clone(e.data[max(0, len(e.data)-edge):])
	case len(e.data) > edge:
		e.data = append(e.data[:0], e.data[len(e.data)-edge:]...)
	}
}

// part reads what there is of a line. end says that the line ends behind it.
func (e *events) part() (part []byte, end bool, err error) {
	const bom = "\xef\xbb\xbf"
	if !e.begun {
		e.begun = true
		if start, _ := e.br.Peek(len(bom)); string(start) == bom {
			_, _ = e.br.Discard(len(bom))
		}
	}
	if _, err := e.br.Peek(1); err != nil {
		return nil, false, err
	}
	buf, _ := e.br.Peek(e.br.Buffered()) // that much is there
	if e.skipLF && buf[0] == '\n' {
		_, _ = e.br.Discard(1)
		buf = buf[1:]
	}
	e.skipLF = false
	at := bytes.IndexByte(buf, '\n')
	if at < 0 {
		at = len(buf)
	}
	if cr := bytes.IndexByte(buf[:at], '\r'); cr >= 0 {
		at, e.skipLF = cr, true
	}
	_, _ = e.br.Discard(min(at+1, len(buf)))
	return buf[:at], at < len(buf), nil
}
