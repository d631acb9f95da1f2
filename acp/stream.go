package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/charmbracelet/log"
	"github.com/sourcegraph/jsonrpc2"
)

// DefaultMaxLine is the length of the longest line that is read, in bytes.
const DefaultMaxLine = 64 << 20

// stream frames messages for jsonrpc2: one line, one message. It answers by itself every line that is no message, so
// that a bad line never ends the connection, and it hands jsonrpc2 only what that cannot choke on: of a request just
// the method and the id, while the params wait, as they came, for the handler to take them.
type stream struct {
	rwc     io.ReadWriteCloser
	log     *log.Logger
	maxLine int

	lines  chan inLine
	stop   <-chan struct{} // ends reading, as the end of the input does
	atEnd  func()          // what to finish before the connection may close
	closed chan struct{}
	once   sync.Once
	over   chan struct{}   // closed when reading has ended for good
	ended  bool            // the input has; the reader's own until over
	params json.RawMessage // of the request that was read last; the reader's own
	calls  *calls

	writing sync.Mutex
	failure error
	broken  chan struct{} // closed by the first failure
}

type inLine struct {
	data    []byte
	tooLong bool
	err     error
}

func newStream(ctx context.Context, rwc io.ReadWriteCloser, o Options) *stream {
	s := &stream{
		rwc: rwc, log: o.Log, maxLine: o.MaxLine, stop: ctx.Done(), calls: newCalls(),
		lines: make(chan inLine), closed: make(chan struct{}), over: make(chan struct{}), broken: make(chan struct{}),
	}
	if s.maxLine <= 0 {
		s.maxLine = DefaultMaxLine
	}
	return s
}

// read takes lines off the connection until it ends. It is a goroutine of its own, since a read of a standard stream
// cannot be interrupted and nothing must wait for one.
func (s *stream) read() {
	in := bufio.NewReaderSize(s.rwc, 64<<10)
	for {
		line := s.readLine(in)
		select {
		case s.lines <- line:
		case <-s.closed:
			return
		}
		if line.err != nil {
			return
		}
	}
}

// readLine reads one line without its end. A line over the limit is read to its end and forgotten. A last line without
// a newline counts.
func (s *stream) readLine(in *bufio.Reader) inLine {
	var line []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		if !tooLong {
			line = append(line, part...)
		}
		if len(line) > s.maxLine+1 {
			line, tooLong = nil, true
		}
		switch {
		case err == nil:
			return inLine{data: line, tooLong: tooLong}
		case errors.Is(err, bufio.ErrBufferFull):
		case len(bytes.TrimSpace(line)) > 0 || tooLong:
			return inLine{data: line, tooLong: tooLong} // the error comes again with the next read
		default:
			return inLine{err: err}
		}
	}
}

// ReadObject hands the next message to jsonrpc2. It returns an error only when the connection is over, and at the end
// of the input only when everything that had been asked has been answered.
func (s *stream) ReadObject(v any) error {
	err := s.next(v)
	if err != nil {
		close(s.over) // jsonrpc2 reads no more
	}
	return err
}

func (s *stream) next(v any) error {
	for {
		if id, ok := s.calls.next(); ok {
			if s.hand(v, fmt.Appendf(nil, `{"id":%d,"error":{"code":%d,"message":""}}`, id, CodeCancelled)) {
				return nil
			}
			continue
		}
		select {
		case <-s.calls.ready:
		case <-s.broken:
			return s.failure
		case <-s.closed:
			return io.EOF
		case <-s.stop:
			return s.end(io.EOF)
		case line := <-s.lines:
			if line.err != nil {
				return s.end(line.err)
			}
			if s.accept(line, v) {
				return nil
			}
		}
	}
}

// end finishes what is under way, when nothing more comes.
func (s *stream) end(err error) error {
	s.ended = true
	if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) && !errors.Is(err, os.ErrClosed) {
		s.ended = false
		s.fail(fmt.Errorf("reading from the peer: %w", err))
	}
	s.atEnd()
	return io.EOF
}

// err is what broke the connection, once it is over. That a peer which has said its last does not listen either breaks
// nothing, and neither does the other end of a Pipe by closing it, which is seen first by whoever happens to write.
func (s *stream) err() error {
	select {
	case <-s.over:
		if s.ended {
			return nil
		}
	default:
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if errors.Is(s.failure, io.ErrClosedPipe) {
		return nil
	}
	return s.failure
}

// hand gives jsonrpc2 a message.
func (s *stream) hand(v any, message []byte) bool {
	err := json.Unmarshal(message, v)
	if err != nil {
		s.log.Error("message that cannot be read", "err", err)
	}
	return err == nil
}

// accept decodes a line into v and says whether there was a message in it.
func (s *stream) accept(line inLine, v any) bool {
	if line.tooLong {
		s.refuse(nil, CodeInvalidRequest, fmt.Sprintf("the line is longer than %d bytes and was skipped", s.maxLine))
		return false
	}
	data := bytes.TrimSpace(bytes.TrimPrefix(line.data, []byte("\ufeff")))
	switch {
	case len(data) == 0:
		return false
	case !utf8.Valid(data):
		s.refuse(nil, CodeParseError, "the line is not valid UTF-8")
		return false
	case !json.Valid(data):
		s.refuse(nil, CodeParseError, "the line is not valid JSON")
		return false
	case data[0] == '[':
		s.refuse(nil, CodeInvalidRequest, "batches are not supported: send one message a line")
		return false
	case data[0] != '{':
		s.refuse(nil, CodeInvalidRequest, "a message must be a JSON object")
		return false
	}
	e, err := open(data)
	if err != nil {
		s.refuse(nil, CodeParseError, "the line is not valid JSON")
		return false
	}
	return s.acceptMessage(e, v)
}

func (s *stream) acceptMessage(e envelope, v any) bool {
	id, hasID, err := parseID(e.id)
	switch {
	case err != nil:
		s.refuse(nil, CodeInvalidRequest, err.Error())
	case string(e.jsonrpc) != `"2.0"` && e.answers():
		// Not with its id, which is one of ours. And whoever waits for the answer need not wait longer.
		s.refuse(nil, CodeInvalidRequest, `"jsonrpc" must be "2.0", in a response too`)
		e.result, e.failure = nil, json.RawMessage(`""`)
		return s.acceptResponse(e, v)
	case string(e.jsonrpc) != `"2.0"`:
		s.refuse(e.id, CodeInvalidRequest, `"jsonrpc" must be "2.0"`)
	case e.method != nil:
		return s.acceptRequest(e, id, hasID, v)
	case e.answers() || s.awaited(e.id): // some leave out a result that is empty
		return s.acceptResponse(e, v)
	default:
		s.refuse(e.id, CodeInvalidRequest, "the message is neither a request nor a response: it has no method")
	}
	return false
}

func (s *stream) acceptRequest(e envelope, id jsonrpc2.ID, hasID bool, v any) bool {
	method, err := unquote(e.method)
	if err != nil || method == "" {
		s.refuse(e.id, CodeInvalidRequest, "the method must be a string that is not empty")
		return false
	}
	message := append([]byte(`{"method":`), e.method...)
	if hasID {
		message = append(message, `,"id":`...)
		if id.IsString {
			message = appendString(message, id.Str)
		} else {
			message = strconv.AppendUint(message, id.Num, 10)
		}
	}
	if !s.hand(v, append(message, '}')) {
		s.refuse(e.id, CodeInvalidRequest, "the request cannot be read")
		return false
	}
	s.params = e.params
	return true
}

// awaited reports whether an answer with this id is waited for.
func (s *stream) awaited(id json.RawMessage) bool {
	n, err := strconv.ParseUint(string(id), 10, 64)
	return err == nil && s.calls.welcome(n)
}

// acceptResponse passes a response on. One that nobody waits for is dropped: there is nobody to tell.
func (s *stream) acceptResponse(e envelope, v any) bool {
	n, err := strconv.ParseUint(string(e.id), 10, 64)
	if err != nil || !s.calls.deliver(n, e) {
		s.log.Debug("response that nobody waits for", "id", string(e.id))
		return false
	}
	return s.hand(v, fmt.Appendf(nil, `{"id":%d,"result":null}`, n))
}

// takeParams gives the handler the params of the request that was read last, as they came; nil when there were none.
func (s *stream) takeParams() json.RawMessage {
	p := s.params
	s.params = nil
	return p
}

// WriteObject writes one message of jsonrpc2's, its id as the peer wrote it.
func (s *stream) WriteObject(obj any) error {
	data, err := json.Marshal(obj)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	if bytes.Contains(data, []byte(markJSON)) {
		data = restoreID(data)
	}
	return s.writeLine(append(data, '\n'))
}

// refuse answers a line that is no message. A nil id is written as null.
func (s *stream) refuse(id json.RawMessage, code int64, message string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	line, err := json.Marshal(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc2.Error  `json:"error"`
	}{"2.0", id, jsonrpc2.Error{Code: code, Message: message}})
	if err != nil {
		s.log.Error("encoding a refusal", "err", err)
		return
	}
	s.log.Debug("bad line", "code", code, "why", message)
	if err := s.writeLine(append(line, '\n')); err != nil {
		s.log.Debug("writing a refusal", "err", err)
	}
}

// writeLine writes a whole line with one call. The first failure is final: a peer that cannot be reached, or a line cut
// in its middle, ends the connection.
func (s *stream) writeLine(line []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.failure != nil {
		return s.failure
	}
	if _, err := s.rwc.Write(line); err != nil {
		select {
		case <-s.closed:
			return ErrClosed
		default:
		}
		s.broke(fmt.Errorf("writing to the peer: %w", err))
		return s.failure
	}
	return nil
}

func (s *stream) fail(err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.failure == nil {
		s.broke(err)
	}
}

func (s *stream) isBroken() bool {
	select {
	case <-s.broken:
		return true
	default:
		return false
	}
}

func (s *stream) broke(err error) {
	s.failure = err
	close(s.broken)
}

// Close ends the connection. It is called once by jsonrpc2, and unblocks everything that waits on the stream.
func (s *stream) Close() error {
	var err error
	s.once.Do(func() {
		close(s.closed)
		err = s.rwc.Close()
	})
	return err
}
