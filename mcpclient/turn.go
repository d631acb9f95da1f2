package mcpclient

import (
	"context"
	"sync"
)

// turn lets one do for all what several find missing at the same time.
type turn struct {
	held chan struct{} // full while one works

	mu    sync.Mutex
	tries tries
}

type tries struct {
	done, begun int
	err         error // of the last one
}

func newTurn() *turn { return &turn{held: make(chan struct{}, 1)} }

// now is the state to tell take later what was seen.
func (t *turn) now() tries {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.tries
}

// take runs f, unless somebody has done so since: then that outcome counts. A try that ends because its own ctx does is
// no try.
func (t *turn) take(ctx context.Context, since tries, f func() error) error {
	select {
	case t.held <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-t.held }()
	if err := ctx.Err(); err != nil {
		return err
	}
	switch s := t.now(); {
	case s.done > since.done:
		return nil
	case s.begun > since.begun:
		return s.err
	}
	err := f()
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tries.begun++
	if t.tries.err = err; err == nil {
		t.tries.done++
	}
	return err
}
