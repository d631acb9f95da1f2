package oauth

import (
	"context"
	"errors"
)

var errAbandoned = errors.New("nobody waits for it any more")

// flight is an authorization under way, and those who wait for it.
type flight struct {
	store  *Store
	server string
	cancel context.CancelCauseFunc
	done   chan struct{}
	err    error // once done is closed

	waiting int // under the store's lock
}

// board joins the authorization under way for a server, or starts one; mine says which. Who boards must wait. The
// authorization lasts as long as one of them waits, whoever started it.
func (s *Store) board(ctx context.Context, server string, fly func(context.Context) error) (f *flight, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.flights[server]; f != nil {
		f.waiting++
		return f, false
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	f = &flight{store: s, server: server, cancel: cancel, done: make(chan struct{}), waiting: 1}
	s.flights[server] = f
	go func() { // the last one to wait waits for its end
		f.err = fly(ctx)
		cancel(nil)
		s.mu.Lock()
		f.land()
		s.mu.Unlock()
		close(f.done)
	}()
	return f, true
}

// land lets nobody board any more. The caller has the store's lock.
func (f *flight) land() {
	if f.store.flights[f.server] == f {
		delete(f.store.flights, f.server)
	}
}

// wait waits for the end of the authorization, or of ctx.
func (f *flight) wait(ctx context.Context) error {
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
	}
	f.store.mu.Lock()
	f.waiting--
	last := f.waiting == 0
	if last {
		f.land()
	}
	f.store.mu.Unlock()
	if last {
		f.cancel(errAbandoned)
		<-f.done
	}
	return context.Cause(ctx)
}
