package mcpclient

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// asking counts what a person is being asked for, and has been, and for how long.
type asking struct {
	mu        sync.Mutex
	now, done int
	since     time.Time     // when the first of those that are asked now began
	spent     time.Duration // while somebody was asked, up to since
}

// ask runs f, which asks a person.
func (a *asking) ask(f func() error) error {
	a.mu.Lock()
	if a.now++; a.now == 1 {
		a.since = time.Now()
	}
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.done++
		if a.now--; a.now == 0 {
			a.spent += time.Since(a.since)
		}
	}()
	return f()
}

// state says whether somebody is asked now, how often somebody has been, and how long that took so far.
func (a *asking) state() (now bool, done int, spent time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	spent = a.spent
	if a.now > 0 {
		spent += time.Since(a.since)
	}
	return a.now > 0, a.done, spent
}

// limit is how long a request may take. It does not run out while a person is asked, and is there whole once more when
// one has been. Progress gives it whole once more too, up to the ceiling, in which the person's time does not count.
type limit struct {
	timeout time.Duration
	ceiling time.Duration // from the start; zero where nothing but a person extends it
	cause   func(waited) error
	cancel  context.CancelCauseFunc
	asking  *asking
	begun   time.Time
	spent   time.Duration // by the person before begun

	mu    sync.Mutex
	over  bool
	timer *time.Timer
	until time.Time
	asked int // how often the person had been when until was set
	grown bool
}

// waited is how a limit has run out.
type waited struct {
	whole time.Duration // the server's time, without the person's
	grown bool          // there was progress
	over  bool          // and so much that the ceiling was reached
}

// limited is ctx with a limit on its time, which nothing but a person extends.
func limited(ctx context.Context, d time.Duration, cause error, a *asking) (context.Context, context.CancelFunc) {
	l := &limit{timeout: d, cause: func(waited) error { return cause }, asking: a}
	return l.start(ctx)
}

// start begins to count. The limit ends with the function that it gives.
func (l *limit) start(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, l.cancel = context.WithCancelCause(ctx)
	l.begun = time.Now()
	_, l.asked, l.spent = l.asking.state()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = l.begun.Add(l.timeout)
	l.timer = time.AfterFunc(l.timeout, l.fire)
	return ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.over = true
		l.timer.Stop()
		l.cancel(nil)
	}
}

// fire is called when the time is over, or was before it was extended.
func (l *limit) fire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	now, done, _ := l.asking.state()
	left := time.Until(l.until)
	if left <= 0 && (now || done != l.asked) {
		l.asked = done
		if left = l.timeout; !now {
			left = l.room(left)
		}
		l.until = time.Now().Add(left)
	}
	if left > 0 {
		l.timer.Reset(left)
		return
	}
	l.over = true
	l.cancel(l.cause(waited{whole: l.taken(), grown: l.grown, over: l.grown && l.room(time.Nanosecond) <= 0}))
}

// grow gives the request its timeout once more, as far as the ceiling lets it.
func (l *limit) grow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.ceiling <= 0 {
		return
	}
	l.grown = true
	if until := time.Now().Add(l.room(l.timeout)); until.After(l.until) {
		l.until = until
	}
}

// taken is the server's time so far.
func (l *limit) taken() time.Duration {
	_, _, spent := l.asking.state()
	return time.Since(l.begun) - (spent - l.spent)
}

// room is d, or what is left up to the ceiling if that is less.
func (l *limit) room(d time.Duration) time.Duration {
	if l.ceiling <= 0 {
		return d
	}
	return min(d, l.ceiling-l.taken())
}

// The ceiling where none is set: so many times the timeout, and this at least.
const (
	ceilingTimes = 10
	leastCeiling = 10 * time.Minute
)

// withTimes is the server with the times that hold where it has none. A ceiling below the timeout would end what has had
// no time yet, so it is the timeout then.
func (s Server) withTimes() Server {
	if s.Timeout <= 0 {
		s.Timeout = DefaultTimeout
	}
	if s.Ceiling <= 0 {
		s.Ceiling = max(ceilingTimes*s.Timeout, leastCeiling)
	}
	s.Ceiling = max(s.Ceiling, s.Timeout)
	return s
}

// limit is the limit of a request to the server.
func (s Server) limit(a *asking) *limit {
	return &limit{timeout: s.Timeout, ceiling: s.Ceiling, asking: a, cause: func(w waited) error {
		whole := brief(w.whole)
		switch {
		case w.over:
			return fmt.Errorf(`%w: it was at work for %s, and progress extends a request no further; "ceiling" of the server `+
				`in the configuration lets it take longer`, ErrTimeout, whole)
		case w.grown:
			return fmt.Errorf(`%w: it was waited for %s, the last %s of it without progress; "timeout" of the server in the `+
				`configuration makes that longer`, ErrTimeout, whole, brief(s.Timeout))
		}
		return fmt.Errorf(`%w: it was waited for %s; "timeout" of the server in the configuration makes that longer`,
			ErrTimeout, whole)
	}}
}

// brief is a duration as people say it.
func brief(d time.Duration) time.Duration {
	if d >= 10*time.Second {
		return d.Round(time.Second)
	}
	return d.Round(10 * time.Millisecond)
}
