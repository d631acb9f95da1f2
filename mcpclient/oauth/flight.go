package oauth

import (
	"context"
	"errors"
)

var errAbandoned = errors.New("nobody waits for it any more")

// flight is an authorization under way, and those who wait for it.
type flight struct {
	cancel  context.CancelCauseFunc
	done    chan struct{}
	err     error // once done is closed
	waiting int   // under the handler's lock
}

// board joins the authorization under way, or starts one; mine says which. Who boards must wait. The authorization
// lasts as long as one of them waits, whoever started it.
func (h *Handler) board(ctx context.Context, fly func(context.Context) error) (f *flight, mine bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.flight != nil {
		h.flight.waiting++
		return h.flight, false
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	f = &flight{cancel: cancel, done: make(chan struct{}), waiting: 1}
	h.flight = f
	go func() { // the last one to wait waits for its end
		f.err = fly(ctx)
		cancel(nil)
		h.mu.Lock()
		if h.flight == f {
			h.flight = nil
		}
		h.mu.Unlock()
		close(f.done)
	}()
	return f, true
}

// wait waits for the end of the authorization, or of ctx.
func (f *flight) wait(ctx context.Context, h *Handler) error {
	select {
	case <-f.done:
	case <-ctx.Done():
		h.mu.Lock()
		f.waiting--
		last := f.waiting == 0
		if last && h.flight == f {
			h.flight = nil // nobody boards what is being ended
		}
		h.mu.Unlock()
		if last {
			f.cancel(errAbandoned)
			<-f.done
		}
		return context.Cause(ctx)
	}
	return f.err
}
