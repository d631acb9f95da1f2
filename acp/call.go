package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/sourcegraph/jsonrpc2"
)

// notify writes a notification and returns when its bytes are written: a peer that does not read holds it up. It does
// not go through jsonrpc2, which would encode it three times.
func (c *conn) notify(method string, params any) error {
	if c.base.Err() != nil {
		return ErrClosed
	}
	line := make([]byte, 0, 512) // enough for a piece of text
	line = append(line, `{"jsonrpc":"2.0","method":"`...)
	line = append(line, method...)
	line = append(line, `","params":`...)
	line, err := encode(line, params)
	if err != nil {
		return err
	}
	return c.stream.writeLine(append(line, '}', '\n'))
}

// call asks the peer and waits for its answer, or for ctx: then the peer is told, unless the call is to last, its answer
// will be ignored, and the error is that of ctx.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	body, err := encode(nil, params)
	if err != nil {
		return err
	}
	asking, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	defer context.AfterFunc(c.hearing, func() { giveUp(ErrClosed) })() //nolint:contextcheck // the connection's own, which may end before ctx
	id := c.nextID.Add(1)
	c.stream.calls.begin(id)
	sent := make(chan error, 1)
	if !c.spawn(func() { sent <- c.ask(asking, id, method, body) }) {
		c.stream.calls.end(id)
		return ErrClosed
	}
	select { // a peer that does not read must not hold up one who does not want to know any more
	case err = <-sent:
	case <-asking.Done():
		err = asking.Err()
	}
	answer := c.stream.calls.end(id)
	switch {
	case answer != nil: // though the connection may have ended right behind it
		raw, err := answer.outcome()
		if err != nil {
			return err
		}
		return decodeInto(raw, result)
	case ctx.Err() != nil:
		return ctx.Err()
	case asking.Err() != nil, errors.Is(err, jsonrpc2.ErrClosed):
		return ErrClosed
	case c.stream.isBroken(): // the peer is gone, whether or not its input has ended yet
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return err
}

// lasting says whether a call stands also when nobody waits for it any more: what a terminal was made for must end.
func lasting(method string) bool { return method == "terminal/kill" || method == "terminal/release" }

// ask sends a call and waits for it. One that is given up is taken back, unless it is to last.
func (c *conn) ask(ctx context.Context, id uint64, method string, params json.RawMessage) error {
	waiter, err := c.rpc.DispatchCall(ctx, method, params, jsonrpc2.PickID(jsonrpc2.ID{Num: id}))
	if err != nil {
		return err
	}
	if err = waiter.Wait(ctx, nil); ctx.Err() == nil || err == nil {
		return err
	}
	c.stream.calls.abandon(id)
	if lasting(method) {
		return err
	}
	if failed := c.notify("$/cancel_request", CancelRequestNotification{RequestID: NumberID(int64(id))}); failed != nil {
		c.log.Debug("cancelling a request", "method", method, "err", failed)
	}
	return err
}

// encode appends a value as JSON, on one line and without escaping what only HTML would mind.
func encode(to []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case appender:
		return v.appendTo(to)
	case json.RawMessage:
		return appendRaw(to, v)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding a message: %w", err)
	}
	return append(to, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...), nil
}

// appender is what encodes itself, into one line of JSON. It is for what is sent often.
type appender interface {
	appendTo(to []byte) ([]byte, error)
}

// calls are those that wait for the peer's answer. The answers stay here, as they came, while jsonrpc2 sees only that
// there is one. It also forgets a call only when there is an answer to it, so for calls that nobody waits for any more
// one is made up here.
type calls struct {
	mu        sync.Mutex
	waiting   map[uint64]*envelope // nil until the answer is there
	abandoned []uint64
	ready     chan struct{} // has a value while there are abandoned calls
}

func newCalls() *calls {
	return &calls{waiting: make(map[uint64]*envelope), ready: make(chan struct{}, 1)}
}

// begin says that an answer to the call will be welcome.
func (c *calls) begin(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[id] = nil
}

// welcome reports whether the call waits for an answer still.
func (c *calls) welcome(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer, waits := c.waiting[id]
	return waits && answer == nil
}

// deliver keeps an answer, and says whether it was welcome.
func (c *calls) deliver(id uint64, e envelope) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer, waits := c.waiting[id]; !waits || answer != nil {
		return false
	}
	c.waiting[id] = &e
	return true
}

// end forgets the call, and returns its answer if there was one.
func (c *calls) end(id uint64) *envelope {
	c.mu.Lock()
	defer c.mu.Unlock()
	answer := c.waiting[id]
	delete(c.waiting, id)
	return answer
}

// abandon has jsonrpc2 forget the call.
func (c *calls) abandon(id uint64) {
	c.mu.Lock()
	c.abandoned = append(c.abandoned, id)
	c.mu.Unlock()
	select {
	case c.ready <- struct{}{}:
	default:
	}
}

// next takes one abandoned call. After ready it is called until there is none.
func (c *calls) next() (id uint64, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.abandoned) == 0 {
		return 0, false
	}
	id, c.abandoned = c.abandoned[0], c.abandoned[1:]
	return id, true
}
