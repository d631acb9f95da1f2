package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How streams of legacy servers are taken up again where the server does not say otherwise.
const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
	maxResumes   = 5 // in a row without anything new
)

// spot is where in a stream this client is.
type spot struct {
	last  string // the id of the last event; empty when there was none
	pause time.Duration
}

// stream reads the answer to a request as events.
func (r *remote) stream(ctx context.Context, resp *http.Response, m message) error {
	var at spot
	_, err := r.events(ctx, resp.Body, m.id, &at)
	if !r.conn.waiting(m.id) {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if at.last != "" && !r.conn.modern.Load() {
		return r.resume(ctx, m, &at)
	}
	return r.broken(ctx, err)
}

// linger is how long the end of a stream is waited for once its answer is there, so that the connection can be used again.
const linger = time.Second

// events reads events until the answer to a request has come, or the stream ends. It gives how many events there were,
// and an error unless the answer is there.
func (r *remote) events(ctx context.Context, body io.ReadCloser, id string, at *spot) (n int, err error) {
	in := newEvents(body, maxLine)
	for {
		ev, err := in.next()
		var long *tooLong
		if err != nil && !errors.As(err, &long) {
			return n, err
		}
		n++
		if ev.id != nil {
			at.last = *ev.id
		}
		if ev.retry > 0 {
			at.pause = min(ev.retry, longestPause)
		}
		switch {
		case long != nil:
			r.conn.overlong(long, id)
		case len(ev.data) > 0 && !r.conn.incoming(ev.data, id):
			return n, r.conn.wasClosed()
		}
		if id != "" && !r.conn.waiting(id) {
			stop := time.AfterFunc(linger, func() { _ = body.Close() })
			_, _ = io.CopyN(io.Discard, body, 64<<10)
			stop.Stop()
			return n, nil
		}
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
	}
}

// resume takes up a stream that has ended before the answer: it was the server's choice, or the network's.
func (r *remote) resume(ctx context.Context, m message, at *spot) error {
	var err error
	for try := 0; try < maxResumes; try++ {
		pause := at.pause
		if pause == 0 {
			pause = firstPause << try
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		var n int
		n, err = r.open(ctx, m.id, at, func() {})
		if !r.conn.waiting(m.id) {
			return nil
		}
		if errors.Is(err, errNoStream) || errors.Is(err, ErrAuth) {
			break
		}
		if n > 0 {
			try = -1
		}
	}
	return r.broken(ctx, err)
}

// errNoStream means that the server has no stream to read, or none to go on with.
var errNoStream = errors.New("the server has no such stream")

// open reads a stream by GET, from where it was left, until the answer to the request comes that it is for. It calls opened
// when the server has begun to answer.
func (r *remote) open(ctx context.Context, id string, at *spot, opened func()) (int, error) {
	l := letter{method: http.MethodGet, header: map[string]string{"Accept": typeEvent}}
	r.addSession(l.header)
	if at.last != "" {
		l.header[headerLastEvent] = at.last
	}
	resp, err := r.do(ctx, l)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read as far as it counts
	opened()
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests:
		return 0, &StatusError{Server: r.name, Status: resp.StatusCode}
	case resp.StatusCode != http.StatusOK || kind != typeEvent:
		return 0, fmt.Errorf("%w (HTTP %d)", errNoStream, resp.StatusCode)
	}
	return r.events(ctx, resp.Body, id, at)
}

// patience is how long the stream of a legacy server may take to open before it is used all the same.
const patience = time.Second

// listen keeps a stream open for what a legacy server says unasked. It returns when the stream is open, so that a server
// can ask something in its first call, or when it takes long.
func (r *remote) listen(ctx context.Context) {
	if r.paired || r.conn.modern.Load() {
		return
	}
	opened := make(chan struct{})
	open := sync.OnceFunc(func() { close(opened) })
	if !r.run(ctx, "listen", func(ctx context.Context) {
		defer open()
		r.keepListening(ctx, open)
	}) {
		return
	}
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-opened:
	case <-t.C:
	case <-ctx.Done():
	}
}

// keepListening opens the stream again and again, until the server has none or it is of no use.
func (r *remote) keepListening(ctx context.Context, opened func()) {
	var at spot
	for try := 0; try < maxResumes; try++ {
		n, err := r.open(ctx, "", &at, opened)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errNoStream) || errors.Is(err, ErrAuth) {
			r.log.Debug("no stream of what the server says unasked", "server", r.name, "err", err)
			return
		}
		opened()
		if n > 0 {
			try = 0
		}
		pause := at.pause
		if pause == 0 {
			pause = firstPause << try
		}
		if sleep(ctx, pause) != nil {
			return
		}
	}
	r.log.Warn("stream of what the server says unasked is given up", "server", r.name)
}

func (r *remote) setSession(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session = id
}

// addSession adds the headers of a legacy session, if there is one.
func (r *remote) addSession(header map[string]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conn.modern.Load() {
		return
	}
	if r.session != "" {
		header[headerSession] = r.session
	}
	if r.version >= "2025-06-18" { // older ones do not know it
		header[headerVersion] = r.version
	}
}

// agreed notes the version in the result of an initialize, and says whether there is one that this client has.
func (r *remote) agreed(result json.RawMessage) bool {
	var p mcp.InitializeResult
	if json.Unmarshal(result, &p) != nil || !common([]string{p.ProtocolVersion}) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.version = p.ProtocolVersion
	return true
}

// renewID is the id of the initialize that begins a session anew.
const renewID = `"renew"`

// renew begins a new session by the initialize that has begun the old one.
func (r *remote) renew(ctx context.Context) (err error) {
	r.log.Info("server has forgotten the session; a new one is begun", "server", r.name)
	r.mu.Lock()
	first, before := r.first, r.session
	r.mu.Unlock()
	defer func() {
		if err != nil {
			r.setSession(before) // so that the next call tries again
		}
	}()
	got := make(chan *answer, 1)
	r.conn.expect(renewID, &call{method: methodInitialize, own: got})
	defer r.conn.drop(renewID)
	if err := r.post(ctx, ownRequest(renewID, methodInitialize, first.params)); err != nil {
		return err
	}
	var a *answer
	select {
	case a = <-got:
	default:
		return fmt.Errorf("%w: initialize has no answer", ErrInvalid)
	}
	if a.err != nil {
		err := &RPCError{Server: r.name, Code: a.err.Code, Message: a.err.Message, Data: a.err.Data}
		if a.err.Code == mcp.CodeUnsupportedProtocolVersion {
			return fmt.Errorf("%w: %w", errChanged, err)
		}
		return err
	}
	if !r.agreed(a.result) {
		return ErrVersion
	}
	note := message{data: []byte(`{"jsonrpc":"2.0","method":"` + methodInitialized + `"}`), method: methodInitialized}
	if err := r.post(ctx, note); err != nil {
		return err
	}
	r.listen(ctx)
	return nil
}
