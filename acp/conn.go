package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/log"
	"github.com/sourcegraph/jsonrpc2"
)

// Options are settings of a connection. The zero value is fine.
type Options struct {
	// Log hears of bad lines, ignored messages and panics; nil discards. It must not write to the connection.
	Log *log.Logger
	// MaxLine is the length in bytes over which a line is refused; 0 means DefaultMaxLine.
	MaxLine int
	// Grace is how long a connection that ends waits for what is under way; 0 means 4 seconds.
	Grace time.Duration
}

// conn is one end of a connection: one jsonrpc2.Conn, the requests of the peer that are under way, and the calls to it.
//
// Everything of the peer's is first handled in the reader's goroutine, in the order in which it came: notifications
// wholly, requests as far as their acceptance, which decodes the params and reserves what the request needs. Only then
// the work of a request runs, in a goroutine of its own. So a cancel always finds the request that came before it.
type conn struct {
	rpc    *jsonrpc2.Conn
	stream *stream
	log    *log.Logger
	grace  time.Duration

	requests      map[string]accept
	notifications map[string]func(json.RawMessage) error
	fallback      func(method string) accept // for methods that are not in requests; may return nil

	base    context.Context //nolint:containedctx // the connection's own, ended by close
	leaving context.Context //nolint:containedctx // ends once the input has: nobody waits for what follows an answer
	leave   context.CancelCauseFunc
	cancel  context.CancelCauseFunc
	hearing context.Context //nolint:containedctx // ends when nothing more is read
	deafen  context.CancelFunc
	work    sync.WaitGroup // the requests of the peer under way; added to by the reader only
	aside   sync.WaitGroup // the calls to the peer, and what ends the connection
	nextID  atomic.Uint64

	mu       sync.Mutex
	inFlight map[jsonrpc2.ID]*inFlight
	drained  time.Time // by when what is under way at the end of the input is given up
	over     bool      // nothing may be added to aside any more
}

type inFlight struct {
	cancel context.CancelCauseFunc
	ends   bool // ends with the input: a turn, which nobody will see the end of
}

// accept takes a request's params, in the reader's goroutine, and returns the request's work. It must not block.
type accept func(params json.RawMessage) (job, error)

// job is the work of a request.
type job struct {
	run  func(context.Context) (any, error)
	done any  // the result, if there is nothing to run
	ends bool // it may last, and ends when the peer's input does
}

// thener is a result that something must follow on the wire.
type thener interface{ then() func(context.Context) }

func newConn(ctx context.Context, rwc io.ReadWriteCloser, o Options) *conn {
	if o.Log == nil {
		o.Log = log.New(io.Discard)
	}
	if o.Grace <= 0 {
		o.Grace = 4 * time.Second
	}
	base, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	leaving, leave := context.WithCancelCause(base)
	hearing, deafen := context.WithCancel(base)
	c := &conn{
		log: o.Log, grace: o.Grace, base: base, leaving: leaving, leave: leave, cancel: cancel, hearing: hearing, deafen: deafen,
		inFlight: make(map[jsonrpc2.ID]*inFlight),
	}
	c.stream = newStream(ctx, rwc, o)
	c.stream.atEnd = c.drain
	return c
}

// start begins reading. What the connection needs for that must be set by now.
func (c *conn) start(ctx context.Context) {
	// jsonrpc2 closes the connection with its context, which must not happen before the last answers are written.
	c.rpc = jsonrpc2.NewConn(context.WithoutCancel(ctx), c.stream, c, jsonrpc2.SetLogger(debugLog{c.log}))
	go c.stream.read() // not before rpc is set; and not waited for, since it may be left behind in a read
	c.spawn(func() { c.supervise(ctx) })
}

// supervise ends with the connection what depends on it, and the connection some time after ctx if it does not end by
// itself: soon, where its reader is stuck in a write that the peer does not read and so has not even begun to drain.
func (c *conn) supervise(ctx context.Context) {
	defer c.cancel(ErrClosed)
	select {
	case <-c.rpc.DisconnectNotify():
		return
	case <-ctx.Done():
	}
	stuck, late := time.NewTimer(c.grace/4), time.NewTimer(c.grace+c.grace/4)
	defer stuck.Stop()
	defer late.Stop()
	select {
	case <-c.rpc.DisconnectNotify():
		return
	case <-stuck.C:
	}
	if c.draining() {
		select {
		case <-c.rpc.DisconnectNotify():
			return
		case <-late.C:
		}
	}
	c.close()
}

func (c *conn) draining() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.drained.IsZero()
}

func (c *conn) close() {
	if err := c.rpc.Close(); err != nil {
		c.log.Debug("closing", "err", err)
	}
}

// spawn runs f in a goroutine that the end of the connection waits for. After that it does nothing and returns false.
func (c *conn) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.aside.Go(f)
	}
	return !c.over
}

// debugLog takes what jsonrpc2 has to say.
type debugLog struct{ log *log.Logger }

func (d debugLog) Printf(format string, args ...any) {
	d.log.Debug("jsonrpc2", "says", string(bytes.TrimSpace(fmt.Appendf(nil, format, args...))))
}

// drain lets what was asked before the input ended be answered. Turns end at once, and so do calls to the peer, whose
// answers will not be read; everything else may finish.
func (c *conn) drain() {
	c.mu.Lock()
	for _, r := range c.inFlight {
		if r.ends {
			r.cancel(ErrClosed)
		}
	}
	c.leave(ErrClosed)
	c.drained = time.Now().Add(c.grace + c.grace/8)
	c.mu.Unlock()
	c.deafen()
	if !within(c.grace, &c.work, c.stream.broken) {
		c.cancel(ErrClosed)
		within(c.grace/8, &c.work, c.stream.broken)
	}
}

// within waits for a group, for so long at most and no longer than until unless, and says whether it is done.
func within(limit time.Duration, group *sync.WaitGroup, unless <-chan struct{}) bool {
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
	case <-unless:
	}
	return false
}

// wait returns when the connection is over and nothing of it is left but a read that cannot be interrupted, and what
// does not end with its context.
func (c *conn) wait() error {
	<-c.rpc.DisconnectNotify()
	c.cancel(ErrClosed)
	limit := c.grace
	c.mu.Lock()
	if !c.drained.IsZero() {
		limit = c.grace/8 + max(0, time.Until(c.drained))
	}
	c.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.stream.over:
		if !within(limit, &c.work, nil) {
			c.log.Error("requests did not end with the connection", "waited", c.grace)
		}
	case <-timer.C:
		c.log.Error("reading did not end with the connection", "waited", c.grace)
	}
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	within(c.grace/8, &c.aside, nil)
	return c.stream.err()
}

// Handle implements jsonrpc2.Handler. It runs in the reader's goroutine.
func (c *conn) Handle(_ context.Context, _ *jsonrpc2.Conn, req *jsonrpc2.Request) { //nolint:contextcheck // requests end with base; the context given here never does
	params := c.stream.takeParams()
	if req.Notif {
		c.notified(req.Method, params)
		return
	}
	if c.inUse(req.ID) {
		c.reply(req.ID, req.Method, nil, InvalidRequest("this id is in use by a request that has not been answered"))
		return
	}
	work, err := c.accepted(req.Method, params)
	if err != nil {
		c.reply(req.ID, req.Method, nil, err)
		return
	}
	if work.run == nil {
		c.reply(req.ID, req.Method, work.done, nil)
		return
	}
	ctx, cancel := context.WithCancelCause(c.base)
	c.register(req.ID, &inFlight{cancel: cancel, ends: work.ends})
	c.work.Go(func() {
		defer cancel(nil)
		result, err := c.perform(ctx, req.Method, work.run)
		c.unregister(req.ID)
		c.reply(req.ID, req.Method, result, err)
		if t, ok := result.(thener); ok && err == nil {
			c.follow(ctx, req.Method, t.then())
		}
	})
}

// follow does what a result asked for to be done behind it.
func (c *conn) follow(ctx context.Context, method string, then func(context.Context)) {
	if then == nil {
		return
	}
	var err error // logged already; the request has been answered
	defer c.recovered(method, &err)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(c.leaving, func() { cancel(ErrClosed) })() //nolint:contextcheck // the input's end is one more reason to stop
	then(ctx)
}

func (c *conn) accepted(method string, params json.RawMessage) (work job, err error) {
	take := c.requests[method]
	if take == nil && c.fallback != nil {
		take = c.fallback(method)
	}
	if take == nil {
		return job{}, &Error{Code: CodeMethodNotFound, Message: fmt.Sprintf("Method not found: %s", method)}
	}
	defer c.recovered(method, &err)
	return take(params)
}

func (c *conn) perform(ctx context.Context, method string, run func(context.Context) (any, error)) (result any, err error) {
	defer c.recovered(method, &err)
	result, err = run(ctx)
	if err != nil && errors.Is(context.Cause(ctx), ErrCancelled) && errors.Is(err, context.Canceled) {
		err = ErrCancelled
	}
	return result, err
}

// recovered turns a panic of a handler into an internal error of its request. Its callers defer it themselves.
func (c *conn) recovered(method string, err *error) {
	if v := recover(); v != nil {
		c.log.Error("panic", "method", method, "panic", v, "stack", string(debug.Stack()))
		*err = &Failure{Kind: "panic", Message: "Internal error"}
	}
}

func (c *conn) inUse(id jsonrpc2.ID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inFlight[id] != nil
}

func (c *conn) register(id jsonrpc2.ID, r *inFlight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight[id] = r
}

func (c *conn) unregister(id jsonrpc2.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.inFlight, id)
}

func (c *conn) reply(id jsonrpc2.ID, method string, result any, failure error) {
	response := &jsonrpc2.Response{ID: id}
	if failure == nil {
		data, err := c.encoded(method, result)
		if failure = err; err == nil {
			response.Result = (*json.RawMessage)(&data)
		}
	}
	if failure != nil {
		response.Error = wireError(failure)
		c.log.Debug("request refused", "method", method, "code", response.Error.Code, "err", failure)
	}
	if err := c.rpc.SendResponse(c.base, response); err != nil {
		c.log.Debug("answering", "method", method, "err", err)
	}
}

func (c *conn) notified(method string, params json.RawMessage) {
	var err error
	defer func() {
		if err != nil {
			c.log.Debug("notification ignored", "method", method, "err", err)
		}
	}()
	if method == "$/cancel_request" {
		err = c.cancelRequest(params)
		return
	}
	take := c.notifications[method]
	if take == nil {
		err = ErrMethodNotFound
		return
	}
	defer c.recovered(method, &err)
	err = take(params)
}

func (c *conn) cancelRequest(params json.RawMessage) error {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	id, has, err := parseID(p.RequestID)
	if err != nil || !has {
		return InvalidParams("requestId must be the id of a request")
	}
	c.mu.Lock()
	r := c.inFlight[id]
	c.mu.Unlock()
	if r != nil {
		r.cancel(ErrCancelled)
	}
	return nil
}

// encoded encodes a result, which may be a handler's own type.
func (c *conn) encoded(method string, result any) (data []byte, err error) {
	defer c.recovered(method, &err)
	return encode(nil, result)
}
