package cart

import (
	"context"
	"sync"
)

// A Book keeps a cart's orders from one message to the next: a [Memory] or a [File]. It may be used from many goroutines.
type Book interface {
	// take answers one message with [Handle] from the orders as they are, and keeps what it changed: a reply is given only
	// once what it tells is kept. With an error nothing was kept, and the reply says so to the client. A message whose ctx
	// has ended before its turn comes is not handled.
	take(ctx context.Context, req request, env Env) (Reply, error)
}

// unkept is the reply to a message that could not be handled.
func (r request) unkept(why string) Reply {
	reply := r.reply()
	if !r.silent {
		reply.Error = fail(codeInternal, "%s", why)
	}
	return reply
}

// Memory is a book that ends with the process. The zero value is empty.
type Memory struct {
	mu    sync.Mutex
	store Store
}

func (m *Memory) take(ctx context.Context, req request, env Env) (Reply, error) {
	if req.reach(env).nothing() {
		_, reply := req.handle(Store{}, env)
		return reply, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return req.unkept("The request was cancelled; nothing was done"), err
	}
	var reply Reply
	m.store, reply = req.handle(m.store, env)
	return reply, nil
}
