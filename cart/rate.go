package cart

import (
	"sync"
	"time"
)

// A limiter lets each caller have so many calls a minute: as many at once, and then again as the minute goes by.
type limiter struct {
	every time.Duration // one call's share of a minute; 0 for no limit
	mu    sync.Mutex
	used  map[string]time.Time // when a caller's minute is all there again, by caller: of whom there are no more than tokens
}

func newLimiter(perMinute int) *limiter {
	l := &limiter{used: map[string]time.Time{}}
	if perMinute > 0 {
		l.every = max(1, time.Minute/time.Duration(perMinute))
	}
	return l
}

// take counts a call and returns 0, or how long the caller must wait for it.
func (l *limiter) take(caller string, now time.Time) time.Duration {
	if l.every == 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	until := l.used[caller]
	if until.Before(now) {
		until = now
	}
	if most := now.Add(time.Minute); until.After(most) { // the clock was set back
		until = most
	}
	next := until.Add(l.every)
	wait := next.Sub(now) - time.Minute
	if wait <= 0 {
		until, wait = next, 0
	}
	l.used[caller] = until
	return wait
}

// seconds is d in whole seconds, rounded up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
