package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxEvent is the most bytes that a line, or the data of one event, may have.
const MaxEvent = 64 << 20

// ErrEventTooLong says that a stream has a line or an event of more than MaxEvent bytes.
var ErrEventTooLong = errors.New("an event is longer than 64 MiB")

// Events reads a stream of server-sent events. It keeps only their data: no provider here needs more.
type Events struct {
	in   *bufio.Reader
	data []byte
	long []byte
}

// NewEvents reads events from in.
func NewEvents(in io.Reader) *Events {
	if b, ok := in.(*bufio.Reader); ok {
		return &Events{in: b}
	}
	return &Events{in: bufio.NewReaderSize(in, 16<<10)}
}

// Next returns the data of the next event that has any; it stays valid until Next is called again. At the end of the
// stream the error is io.EOF. An event that the end cut short is left out, unless it is whole as it stands.
func (e *Events) Next() ([]byte, error) {
	e.data = e.data[:0]
	some := false
	for {
		line, err := e.line()
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if value, ok := field(line, "data"); ok {
			if some {
				e.data = append(e.data, '\n')
			}
			if len(e.data)+len(value) > MaxEvent {
				return nil, ErrEventTooLong
			}
			e.data = append(e.data, value...)
			some = true
		}
		switch {
		case err != nil && some && (json.Valid(e.data) || string(bytes.TrimSpace(e.data)) == "[DONE]"):
			return e.data, nil
		case err != nil:
			return nil, io.EOF
		case len(line) == 0 && len(e.data) > 0:
			return e.data, nil
		case len(line) == 0:
			some = false
		}
	}
}

// line returns the next line without its end. With io.EOF it is the rest of the stream, perhaps empty.
func (e *Events) line() ([]byte, error) {
	part, err := e.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		e.long = e.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) {
			if len(e.long)+len(part) > MaxEvent {
				return nil, ErrEventTooLong
			}
			e.long = append(e.long, part...)
			part, err = e.in.ReadSlice('\n')
		}
		e.long = append(e.long, part...)
		part = e.long
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading the stream: %w", err)
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r")), err
}

// field returns the value of a line "name: value".
func field(line []byte, name string) ([]byte, bool) {
	if len(line) < len(name) || string(line[:len(name)]) != name {
		return nil, false
	}
	rest := line[len(name):]
	if len(rest) == 0 {
		return rest, true
	}
	if rest[0] != ':' {
		return nil, false
	}
	rest = rest[1:]
	if len(rest) > 0 && rest[0] == ' ' {
		rest = rest[1:]
	}
	return rest, true
}
