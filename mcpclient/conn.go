package mcpclient

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
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
	methodCall       = "tools/call"
	methodRead       = "resources/read"
	methodPrompt     = "prompts/get"
)

// ticketKey is where the SDK's results carry the ticket for the bytes that conn kept.
const ticketKey = "dev.cartagent/ticket"

// emptyCursor stands for the cursor "" in requests of the SDK, which takes that for none.
const emptyCursor = "dev.cartagent/empty-cursor"

// message is one message on its way to a server.
type message struct {
	data   []byte
	id     string // of a request, as JSON
	method string // of a request or a notification
	params json.RawMessage
}

// wire is how messages reach a server. What comes back goes to conn.incoming, and the end of it all to conn.end.
type wire interface {
	// send passes a message on. It returns early where the answer may take long.
	send(ctx context.Context, m message) error
	// abandon gives up the wait for an answer and says whether a message must tell the server.
	abandon(id string) bool
	// learn sees the result of each request, and may change it.
	learn(method string, result json.RawMessage) json.RawMessage
	// stop ends the connection and returns when nothing is left of it.
	stop()
	// lastWords are what the server has said at last, for the text of an error; empty when there are none.
	lastWords() string
}

// conn is an mcp.Connection to a server. Beyond what its wire does it
//   - skips what is no message, and answers to requests that nobody waits for;
//   - takes the progress of requests, what servers log, and the end of pages, in the order in which they come;
//   - keeps the results of data-bearing methods as they came, and the errors that are no server's (see settle);
//   - answers the SDK's server/discover itself from the probe that was made before, and lets no initialize through to
//     a modern server, nor a modern server's request through to the SDK.
type conn struct {
	name string
	log  *log.Logger
	wire wire

	frames chan jsonrpc.Message // from the wire to Read
	inject chan jsonrpc.Message // our own answers to the SDK
	probed chan *answer         // the server's answer to the probe
	ended  chan struct{}        // closed when there is no more output, after endErr was set
	endErr error
	ending sync.Once
	closed chan struct{} // closed when shutting down begins
	gone   chan struct{} // closed when nothing is left of the wire
	once   sync.Once

	modern   atomic.Bool
	asking   *asking
	discover json.RawMessage // what the SDK is told of a modern server; set before the SDK has the conn

	mu      sync.Mutex
	pending map[string]*call // requests without an answer, by their id as JSON
	kept    map[string]json.RawMessage
	cache   cache
	failed  map[string]error // by ticket
	secret  string           // in the tickets of failed
	retries map[string]retry
	junkAt  time.Time
	junked  int
	tokens  int64            // how many tokens for progress were given out
	watches map[int64]*watch // by their tokens

	subscriptions []*subscription

	silence silence
	saying  saying

	opened  openPages
	conceal func(string) string // takes the server's secrets from a text
	heard   atomic.Int64        // how many messages have come
	mute    chan struct{}       // has something once the server may hang
}

// call is a request without an answer.
type call struct {
	method string
	own    chan *answer // where the answer goes if the request is not the SDK's
}

var _ mcp.Connection = (*conn)(nil)

// transport hands the SDK a conn that is open already.
type transport struct{ c *conn }

func (t transport) Connect(context.Context) (mcp.Connection, error) { return t.c, nil }

func newConn(s Server, o Options) *conn {
	if o.asking == nil {
		o.asking = &asking{}
	}
	return &conn{
		name: s.Name, log: o.Log, asking: o.asking, conceal: s.Conceal,
		frames: make(chan jsonrpc.Message), inject: make(chan jsonrpc.Message, 1), probed: make(chan *answer, 1),
		ended: make(chan struct{}), closed: make(chan struct{}), gone: make(chan struct{}),
		pending: map[string]*call{}, kept: map[string]json.RawMessage{}, failed: map[string]error{},
		retries: map[string]retry{}, secret: rand.Text(), watches: map[int64]*watch{}, mute: make(chan struct{}, 1),
		opened: openPages{completed: o.Completed},
	}
}

// end says that nothing more comes from the server. The first reason counts.
func (c *conn) end(err error) {
	c.ending.Do(func() {
		c.endErr = err
		close(c.ended)
	})
}

func (c *conn) wasClosed() error { return fmt.Errorf("server %s was closed: %w", c.name, ErrClosed) }

// cause is why the connection is of no more use, or nil.
func (c *conn) cause() error {
	select {
	case <-c.ended:
		return c.endErr
	default:
	}
	select {
	case <-c.closed:
		return c.wasClosed()
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
	var m message
	if isReq && req.IsCall() {
		id, ok := req.ID.Raw().(int64)
		if !ok {
			return fmt.Errorf("a request to server %s has the id %v, which is no number", c.name, req.ID.Raw())
		}
		m.id = strconv.FormatInt(id, 10)
		params, err := c.amend(req.Params)
		if err != nil {
			return err
		}
		req = &jsonrpc.Request{ID: req.ID, Method: req.Method, Params: params}
		msg = req
	}
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return fmt.Errorf("encoding a message to server %s: %w", c.name, err)
	}
	m.data = data
	if isReq {
		m.method, m.params = req.Method, req.Params
	}
	if m.id == "" {
		return c.wire.send(ctx, m)
	}
	switch m.method {
	case methodCall, methodRead, methodPrompt:
		c.bind(m.id, m.params)
	case methodListen:
		c.bindSubscription(m.id, m.params)
	}
	c.expect(m.id, &call{method: m.method})
	if err := c.wire.send(ctx, m); err != nil {
		c.drop(m.id)
		return err
	}
	return nil
}

// expect begins the wait for an answer.
func (c *conn) expect(id string, w *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending[id] = w
}

// drop ends the wait for an answer.
func (c *conn) drop(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pending, id)
}

// waiting says whether an answer is still waited for.
func (c *conn) waiting(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.pending[id]
	return ok
}

// forget ends the wait for a cancelled request and says whether the server should hear of it.
func (c *conn) forget(params json.RawMessage) bool {
	var p struct {
		ID int64 `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return false
	}
	id := strconv.FormatInt(p.ID, 10)
	c.mu.Lock()
	w, waiting := c.pending[id]
	delete(c.pending, id)
	delete(c.kept, id)
	delete(c.failed, id+"/"+c.secret)
	c.mu.Unlock()
	return c.wire.abandon(id) && waiting && w.method != methodInitialize
}

// redeem gives the bytes behind a ticket, once.
func (c *conn) redeem(ticket string) (json.RawMessage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	raw, ok := c.kept[ticket]
	delete(c.kept, ticket)
	return raw, ok
}

// failure gives the error behind the data of an error that the SDK has passed on, if it was ours.
func (c *conn) failure(data json.RawMessage) error {
	var d map[string]string
	if json.Unmarshal(data, &d) != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.failed[d[ticketKey]]
	delete(c.failed, d[ticketKey])
	return err
}

// Close is mcp.Connection's. It begins the shutdown and returns at once; gone is closed when it is done.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		go func() {
			c.wire.stop()
			c.mu.Lock()
			clear(c.pending)
			c.mu.Unlock()
			close(c.gone)
		}()
	})
	return nil
}

// SessionID is mcp.Connection's. What there is of sessions is the wire's business.
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
