package mcpclient

import (
	"encoding/json"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/cartagent/cartagent/loop"
)

const methodProgress = "notifications/progress"

// progress is what a server says about a request that it works on.
type progress struct {
	Token    json.RawMessage `json:"progressToken"`
	Progress *float64        `json:"progress"`
	Total    float64         `json:"total"`
	Message  string          `json:"message"`
}

// maxProgress is how many bytes of a server's message are shown.
const maxProgress = 200

// line is the progress in words, such as "3 of 10: brewing".
func (p progress) line() string {
	text := number(*p.Progress)
	if p.Total > 0 {
		text += " of " + number(p.Total)
	}
	if said := printable(p.Message, maxProgress); said != "" {
		text += ": " + said
	}
	return text
}

// number is a number with two decimals at most, and short if it is huge.
func number(v float64) string {
	if math.Abs(v) >= 1e15 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
}

// watch is what becomes of the progress of one request.
type watch struct {
	grow func()            // extends its time
	show func(line string) // nil for nobody
	id   string            // of the request; guarded by conn's mu, empty before it is sent

	mu    sync.Mutex
	begun bool
	last  float64
}

// take takes the next progress. What does not grow counts for nothing: else a server that is stuck would live for as long
// as it says so.
func (w *watch) take(p progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun && *p.Progress <= w.last {
		return
	}
	w.begun, w.last = true, *p.Progress
	w.grow()
	if w.show != nil {
		w.show(p.line())
	}
}

// follow gives the token by which a request has progress, until drop is called or it is answered.
func (c *conn) follow(w *watch) (token int64, drop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tokens++
	token = c.tokens
	c.watches[token] = w
	return token, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watches, token)
	}
}

// bind says which request a token went out with.
func (c *conn) bind(id string, params json.RawMessage) {
	var p struct {
		Meta struct {
			Token int64 `json:"progressToken"`
		} `json:"_meta"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.watches[p.Meta.Token]; w != nil {
		w.id = id
	}
}

// progressed handles a progress notification. The SDK is not asked: it may pass one on when the answer to its request has
// been. What belongs to no request that is waited for is ignored.
func (c *conn) progressed(params json.RawMessage) {
	var p progress
	if json.Unmarshal(params, &p) != nil || p.Progress == nil {
		c.log.Debug("progress that is none", "server", c.name)
		return
	}
	token, err := strconv.ParseInt(string(p.Token), 10, 64)
	if err != nil {
		return
	}
	c.mu.Lock()
	w := c.watches[token]
	waiting := w != nil && c.pending[w.id] != nil
	c.mu.Unlock()
	if waiting {
		w.take(p)
	}
}

// How often progress is shown. Each time is an input in the session's log: the longer a call takes the less often it is, so
// that an hour has fewer than a thousand, of 250 characters at most.
const (
	leastGap = 250 * time.Millisecond
	mostGap  = 5 * time.Second
	gapShare = 60 // of the call's time so far
)

func gapAfter(taken time.Duration) time.Duration {
	return min(max(taken/gapShare, leastGap), mostGap)
}

// reporter shows the progress of a call to who runs it: the latest there is, not too often. It is there so that who reads
// what the server says waits for no client.
type reporter struct {
	report func(loop.Block)
	begun  time.Time
	group  sync.WaitGroup
	news   chan struct{} // has something when there is a new line
	done   chan struct{}

	mu     sync.Mutex
	line   string
	fresh  bool // it was not shown yet
	begins bool
	ended  bool
}

// newReporter makes the reporter of a call that begins now. report may be nil. It must be stopped.
func newReporter(report func(loop.Block)) *reporter {
	return &reporter{report: report, begun: time.Now(), news: make(chan struct{}, 1), done: make(chan struct{})}
}

// show has a line shown, soon.
func (r *reporter) show(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended || r.report == nil || line == r.line {
		return
	}
	r.line, r.fresh = line, true
	if !r.begins {
		r.begins = true
		r.group.Go(r.run)
	}
	select {
	case r.news <- struct{}{}:
	default: // the one before is still to be looked at
	}
}

func (r *reporter) run() {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
		case <-r.done:
			return
		}
		select {
		case <-r.news:
		case <-r.done:
			return
		}
		r.flush()
		pause.Reset(gapAfter(time.Since(r.begun)))
	}
}

// flush shows the latest line, if it was not shown yet.
func (r *reporter) flush() {
	r.mu.Lock()
	line, fresh := r.line, r.fresh
	r.fresh = false
	r.mu.Unlock()
	if fresh {
		r.report(loop.Text{Text: line})
	}
}

// stop shows what was not shown yet. Afterwards nothing is.
func (r *reporter) stop() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	close(r.done)
	r.group.Wait()
	r.flush()
}
