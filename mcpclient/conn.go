package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/log"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the longest message that a server may send.
const maxLine = 64 << 20

const (
	methodDiscover   = "server/discover"
	methodInitialize = "initialize"
	methodCancelled  = "notifications/cancelled"
)

// ticketKey is where the SDK's results carry the ticket for the bytes that conn kept.
const ticketKey = "dev.cartagent/ticket"

// emptyCursor stands for the cursor "" in requests of the SDK, which takes that for none.
const emptyCursor = "dev.cartagent/empty-cursor"

// conn is an mcp.Connection to a server's process. Beyond framing it
//   - skips what is no message, and answers to requests that nobody waits for;
//   - keeps the results of data-bearing methods as they came (see take);
//   - answers the SDK's server/discover itself from the probe that was made before, and lets no initialize through to
//     a modern server, nor a modern server's request through to the SDK.
type conn struct {
	name string
	log  *log.Logger
	proc *process

	frames chan jsonrpc.Message // from the pump to Read
	inject chan jsonrpc.Message // our own answers to the SDK
	probed chan *answer         // the server's answer to the probe
	ended  chan struct{}        // closed when there is no more output, after endErr was set
	endErr error
	closed chan struct{} // closed when shutting down begins
	gone   chan struct{} // closed when nothing is left of the process
	once   sync.Once

	modern   atomic.Bool
	discover json.RawMessage // what the SDK is told of a modern server; set before the SDK has the conn

	wlock chan struct{} // held by the one who writes
	rest  []byte        // the end of a message whose writer gave up; guarded by wlock

	mu      sync.Mutex
	pending map[int64]string // methods of requests without an answer
	kept    map[string]json.RawMessage
	cache   cache
	junkAt  time.Time
	junked  int
}

var _ mcp.Connection = (*conn)(nil)

// transport hands the SDK a conn that is open already.
type transport struct{ c *conn }

func (t transport) Connect(context.Context) (mcp.Connection, error) { return t.c, nil }

// dial starts a server and reads what it says.
func dial(ctx context.Context, s Server, o Options) (*conn, error) {
	p, err := start(ctx, s, o)
	if err != nil {
		return nil, err
	}
	c := &conn{
		name: s.Name, log: o.Log, proc: p,
		frames: make(chan jsonrpc.Message), inject: make(chan jsonrpc.Message, 1), probed: make(chan *answer, 1),
		ended: make(chan struct{}), closed: make(chan struct{}), gone: make(chan struct{}),
		wlock: make(chan struct{}, 1), pending: map[int64]string{}, kept: map[string]json.RawMessage{},
	}
	go c.pump()
	return c, nil
}

// pump reads the server's output until it ends.
func (c *conn) pump() {
	in := newLines(c.proc.stdout, maxLine)
	for {
		line, err := in.next()
		var long *tooLong
		switch {
		case errors.As(err, &long):
			c.overlong(long)
			continue
		case err != nil:
			c.endErr = c.explainEnd(err)
			close(c.ended)
			_ = c.Close() // the rest of its group must not stay behind
			return
		}
		if !c.line(line) {
			c.endErr = fmt.Errorf("server %s was closed: %w", c.name, ErrClosed)
			close(c.ended)
			return
		}
	}
}

// explainEnd says how the server ended, unless it is us who ended it.
func (c *conn) explainEnd(err error) error {
	select {
	case <-c.closed:
		return fmt.Errorf("server %s was closed: %w", c.name, ErrClosed)
	default:
	}
	if !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.log.Warn("server output cannot be read", "server", c.name, "err", err)
	}
	return fmt.Errorf("server %s %s: %w", c.name, c.proc.ended(), ErrEnded)
}

// cause is why the connection is of no more use, or nil.
func (c *conn) cause() error {
	select {
	case <-c.ended:
		return c.endErr
	default:
	}
	select {
	case <-c.closed:
		return fmt.Errorf("server %s was closed: %w", c.name, ErrClosed)
	default:
		return nil
	}
}

// Read is mcp.Connection's.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.frames:
		return m, nil
	case m := <-c.inject:
		return m, nil
	case <-c.ended:
		return nil, c.endErr
	case <-c.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write is mcp.Connection's.
func (c *conn) Write(ctx context.Context, msg jsonrpc.Message) error {
	req, isReq := msg.(*jsonrpc.Request)
	if isReq {
		req = realName(req)
		msg = req
	}
	if isReq && req.Method == methodDiscover && c.modern.Load() {
		c.inject <- &jsonrpc.Response{ID: req.ID, Result: c.discover}
		return nil
	}
	if isReq && req.Method == methodInitialize && c.modern.Load() {
		return fmt.Errorf("server %s is modern and takes no %s", c.name, methodInitialize)
	}
	if isReq && req.Method == methodCancelled && !c.forget(req.Params) {
		return nil
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encoding a message to server %s: %w", c.name, err)
	}
	if isReq && req.IsCall() {
		data = bytes.Replace(data, []byte(`"cursor":"`+emptyCursor+`"`), []byte(`"cursor":""`), 1)
		if id, ok := req.ID.Raw().(int64); ok {
			c.mu.Lock()
			c.pending[id] = req.Method
			c.mu.Unlock()
		}
	}
	return c.send(ctx, data)
}

// forget ends the wait for a cancelled request and says whether the server should hear of it.
func (c *conn) forget(params json.RawMessage) bool {
	var p struct {
		ID int64 `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	method, waiting := c.pending[p.ID]
	delete(c.pending, p.ID)
	delete(c.kept, strconv.FormatInt(p.ID, 10))
	return waiting && method != methodInitialize
}

// send writes one message. When ctx ends first, what is missing of the message goes out before the next one, so that
// the server never sees half a line.
func (c *conn) send(ctx context.Context, data []byte) error {
	select {
	case c.wlock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.closed:
		return fmt.Errorf("server %s was closed: %w", c.name, ErrClosed)
	}
	defer func() { <-c.wlock }()
	before := len(c.rest)
	out := append(append(c.rest, data...), '\n')
	c.rest = nil
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.proc.stdin.SetWriteDeadline(time.Unix(1, 0))
		close(fired)
	})
	n, err := c.proc.stdin.Write(out)
	if !stop() {
		<-fired
		_ = c.proc.stdin.SetWriteDeadline(time.Time{})
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		if n > before {
			before = len(out) // part of it is out, so all of it must go
		}
		c.rest = bytes.Clone(out[n:before])
		return ctx.Err()
	}
	select {
	case <-c.ended: // that says more
		return c.endErr
	case <-time.After(2 * waitLast):
	}
	return fmt.Errorf("writing to server %s: %w", c.name, err)
}

// redeem gives the bytes behind a ticket, once.
func (c *conn) redeem(ticket string) (json.RawMessage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw, ok := c.kept[ticket]
	delete(c.kept, ticket)
	return raw, ok
}

// Close is mcp.Connection's. It begins the shutdown and returns at once; gone is closed when it is done.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		go func() {
			c.proc.stop()
			select {
			case <-c.proc.exited:
				<-c.ended
			default: // the pump goes when the kernel lets the process go
			}
			close(c.gone)
		}()
	})
	return nil
}

// SessionID is mcp.Connection's. stdio has no sessions.
func (c *conn) SessionID() string { return "" }

// junk logs what is skipped, once a second at most.
func (c *conn) junk(why string, line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.junked++
	if now := time.Now(); now.Sub(c.junkAt) >= time.Second {
		c.log.Warn("server output skipped", "server", c.name, "why", why, "lines", c.junked,
			"begins", printable(string(line[:min(len(line), 200)]), 100))
		c.junkAt, c.junked = now, 0
	}
}
