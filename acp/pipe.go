package acp

import (
	"errors"
	"io"
	"sync"
	"time"
)

// Pipe is an in-memory connection: what one end writes the other reads. Writes block until they are read. Closing an
// end makes the other read EOF, and ends its writes with io.ErrClosedPipe.
func Pipe() (agent, client io.ReadWriteCloser) {
	toAgent, fromClient := io.Pipe()
	toClient, fromAgent := io.Pipe()
	return &pipeEnd{toAgent, fromAgent}, &pipeEnd{toClient, fromClient}
}

type pipeEnd struct {
	*io.PipeReader
	*io.PipeWriter
}

func (p *pipeEnd) Close() error {
	return errors.Join(p.PipeReader.Close(), p.PipeWriter.Close())
}

// Stdio joins a reader and a writer, such as the standard streams, into a connection. Close closes both where they can
// be closed, and ends a Write that nobody reads: what is left of it goes with the process.
func Stdio(r io.Reader, w io.Writer) io.ReadWriteCloser {
	return &stdio{Reader: r, out: w, lines: make(chan []byte), wrote: make(chan written, 1), closed: make(chan struct{})}
}

type stdio struct {
	io.Reader
	out    io.Writer
	mu     sync.Mutex // held by the Write under way
	start  sync.Once
	end    sync.Once
	lines  chan []byte
	wrote  chan written
	closed chan struct{}
}

type written struct {
	n   int
	err error
}

// lastWord is how long Close leaves a Write that is under way.
const lastWord = 200 * time.Millisecond

// Write is for a line that its caller does not touch again if the connection is closed meanwhile.
func (s *stdio) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start.Do(func() { go s.write() })
	select {
	case s.lines <- line:
	case <-s.closed:
		return 0, ErrClosed
	}
	select {
	case w := <-s.wrote:
		return w.n, w.err
	case <-s.closed:
	}
	select {
	case w := <-s.wrote:
		return w.n, w.err
	case <-time.After(lastWord):
		return 0, ErrClosed
	}
}

// write is where a Write may be stuck: the kernel ends one to a pipe that is full only with the process.
func (s *stdio) write() {
	for {
		select {
		case line := <-s.lines:
			n, err := s.out.Write(line)
			s.wrote <- written{n, err}
		case <-s.closed:
			return
		}
	}
}

func (s *stdio) Close() error {
	s.end.Do(func() { close(s.closed) })
	var errs []error
	for _, end := range []any{s.Reader, s.out} {
		if c, ok := end.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
