package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// pipe is the wire to a server's process: one message a line.
type pipe struct {
	conn *conn
	proc *process

	wlock chan struct{} // held by the one who writes
	rest  []byte        // the end of a message whose writer gave up; guarded by wlock
}

var _ wire = (*pipe)(nil)

// dial starts a server and reads what it says.
func dial(ctx context.Context, s Server, o Options) (*conn, error) {
	proc, err := start(ctx, s, o)
	if err != nil {
		return nil, err
	}
	c := newConn(s, o)
	p := &pipe{conn: c, proc: proc, wlock: make(chan struct{}, 1)}
	c.wire = p
	go p.pump()
	return c, nil
}

// pump reads the server's output until it ends.
func (p *pipe) pump() {
	in := newLines(p.proc.stdout, maxLine)
	for {
		line, err := in.next()
		var long *tooLong
		switch {
		case errors.As(err, &long):
			p.conn.overlong(long, "")
			continue
		case err != nil:
			p.conn.end(p.explainEnd(err))
			_ = p.conn.Close() // the rest of its group must not stay behind
			return
		}
		if !p.conn.incoming(line, "") {
			p.conn.end(p.conn.wasClosed())
			return
		}
	}
}

// explainEnd says how the server ended, unless it is us who ended it.
func (p *pipe) explainEnd(err error) error {
	if isClosed(p.conn.closed) {
		return p.conn.wasClosed()
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
		p.conn.log.Warn("server output cannot be read", "server", p.conn.name, "err", err)
	}
	return fmt.Errorf("server %s %s: %w", p.conn.name, p.proc.ended(), ErrEnded)
}

// send writes one message. When ctx ends first, what is missing of the message goes out before the next one, so that
// the server never sees half a line.
func (p *pipe) send(ctx context.Context, m message) error {
	select {
	case p.wlock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.conn.closed:
		return p.conn.wasClosed()
	}
	defer func() { <-p.wlock }()
	if err := ctx.Err(); err != nil { // the lock was free, and came first
		return err
	}
	before := len(p.rest)
	out := append(append(p.rest, m.data...), '\n')
	p.rest = nil
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = p.proc.stdin.SetWriteDeadline(time.Unix(1, 0))
		close(fired)
	})
	n, err := p.proc.stdin.Write(out)
	if !stop() {
		<-fired
		_ = p.proc.stdin.SetWriteDeadline(time.Time{})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		if n > before {
			before = len(out) // part of it is out, so all of it must go
		}
		p.rest = bytes.Clone(out[n:before])
		return ctx.Err()
	}
	select {
	case <-p.conn.ended: // that says more
		return p.conn.endErr
	case <-time.After(2 * waitLast):
	}
	return fmt.Errorf("writing to server %s: %w", p.conn.name, err)
}

func (p *pipe) abandon(string) bool { return true }

func (p *pipe) learn(_ string, result json.RawMessage) json.RawMessage { return result }

func (p *pipe) stop() {
	p.proc.stop()
	select {
	case <-p.proc.exited:
		<-p.conn.ended
	default: // the pump goes when the kernel lets the process go
	}
}

func (p *pipe) lastWords() string { return p.proc.lastWords() }
