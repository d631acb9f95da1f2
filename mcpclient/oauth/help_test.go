package oauth

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// How long a test waits for what must happen, and how often it looks.
const (
	wait = 20 * time.Second
	tick = 2 * time.Millisecond
)

// browser is one made of a function.
type browser func(ctx context.Context, server, address string) error

func (b browser) Open(ctx context.Context, server, address string) error {
	return b(ctx, server, address)
}

// clock is a clock that moves when it is told to.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Now()} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) forward(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}

func record(h http.Handler, req *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w
}
