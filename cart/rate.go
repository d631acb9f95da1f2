package cart

import (
	"math"
	"sync"
	"time"
)

// A limiter lets each caller have so many calls a minute: as many at once, and then as the minute goes by.
type limiter struct {
	perMinute float64
	mu        sync.Mutex
	left      map[string]bucket // by caller, of whom there are no more than tokens
}

type bucket struct {
	calls float64
	at    time.Time
}

func newLimiter(perMinute int) *limiter {
	return &limiter{perMinute: float64(perMinute), left: map[string]bucket{}}
}

// take counts a call and returns 0, or how long the caller must wait for it.
func (l *limiter) take(caller string, now time.Time) time.Duration {
	if l.perMinute <= 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	b, known := l.left[caller]
	if !known {
		b = bucket{calls: l.perMinute, at: now}
	}
	b.calls = min(l.perMinute, b.calls+max(0, now.Sub(b.at).Minutes())*l.perMinute)
	b.at = now
	var wait time.Duration
	if b.calls >= 1 {
		b.calls--
	} else {
		wait = time.Duration(math.Ceil((1 - b.calls) / l.perMinute * float64(time.Minute)))
	}
	l.left[caller] = b
	return wait
}

// seconds is d in whole seconds, of which there is one at least.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }
