package acp

import (
	"errors"
	"io"
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
// be closed.
func Stdio(r io.Reader, w io.Writer) io.ReadWriteCloser { return &stdio{r, w} }

type stdio struct {
	io.Reader
	io.Writer
}

func (s *stdio) Close() error {
	var errs []error
	for _, end := range []any{s.Reader, s.Writer} {
		if c, ok := end.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
