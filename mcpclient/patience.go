package mcpclient

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// asking counts what a person is being asked for, and has been.
type asking struct {
	now, done atomic.Int64
}

// ask runs f, which asks a person.
func (a *asking) ask(f func() error) error {
	a.now.Add(1)
	defer func() {
		a.done.Add(1)
		a.now.Add(-1)
	}()
	return f()
}

// limited is ctx with a limit on its time. It does not run out while a person is asked, and is there whole once more when
// one has been.
func limited(ctx context.Context, d time.Duration, cause error, a *asking) (context.Context, context.CancelFunc) {
	limit, cancel := context.WithCancelCause(ctx)
	var mu sync.Mutex
	var timer *time.Timer
	asked := a.done.Load()
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(d, func() {
		mu.Lock()
		defer mu.Unlock()
		if done := a.done.Load(); (a.now.Load() > 0 || done != asked) && limit.Err() == nil {
			asked = done
			timer.Reset(d)
			return
		}
		cancel(cause)
	})
	return limit, func() {
		mu.Lock()
		defer mu.Unlock()
		timer.Stop()
		cancel(nil)
	}
}
