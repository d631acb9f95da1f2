package cart

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/charmbracelet/log"
)

// maxLine bounds one message; a longer line is refused and skipped.
const maxLine = 16 << 20

// Options are the shell's settings. The zero value serves the default menu to the caller "local".
type Options struct {
	Caller    string           // whose orders these are where nothing else tells; "" for "local"
	Book      Book             // where the orders are kept; nil for a [Memory] that ends with the shell
	Menu      Menu             // nil for DefaultMenu
	Expire    time.Duration    // how long an order stays open; 0 for DefaultExpire
	Legacy    bool             // also answer clients of the handshake era
	Now       func() time.Time // nil for time.Now
	NewHandle func() string    // makes handles that cannot be guessed; nil for random ones
	Log       *log.Logger      // one line for each message; nil for none
}

func (o Options) withDefaults() Options {
	if o.Caller == "" {
		o.Caller = "local"
	}
	if o.Book == nil {
		o.Book = &Memory{}
	}
	if o.Menu == nil {
		o.Menu = DefaultMenu()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.NewHandle == nil {
		o.NewHandle = func() string { return "ord_" + rand.Text() }
	}
	if o.Log == nil {
		o.Log = log.New(io.Discard)
	}
	return o
}

// env is what the core is told along with a message.
func (o Options) env(caller string, opened bool) Env {
	return Env{
		Caller: caller, Now: o.Now().UnixMilli(), Handle: o.NewHandle(),
		Menu: o.Menu, Expire: o.Expire, Legacy: o.Legacy, Opened: opened,
	}
}

// aheadMost is how many messages are read before the ones in front of them are answered: far enough to hear that the
// client wants one of them no more.
const aheadMost = 16

// Serve is the cart over stdio: one JSON-RPC message a line on in, one reply a line on out. It answers in order, each
// message once what it did is kept, and returns nil at the end of in or of ctx; an error means that in or out failed. What
// the client cancels before its turn comes is not done, and not answered. A read that is under way when ctx ends is left to
// end by itself: close in if it must not linger.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	o = o.withDefaults()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	lines := make(chan line, aheadMost)
	waiting := &waiting{requests: map[string]*ticket{}}
	go readLines(ctx, bufio.NewReaderSize(in, 64<<10), maxLine, waiting, lines)
	var opened bool
	for {
		var l line
		select {
		case <-ctx.Done():
			return nil
		case l = <-lines:
		}
		switch {
		case errors.Is(l.err, io.EOF):
			return nil
		case l.err != nil:
			return fmt.Errorf("reading a message: %w", l.err)
		}
		own, end := waiting.start(ctx, l)
		reply, err := o.Book.take(own, l.req, o.env(o.Caller, opened))
		if cancelled := end(); cancelled {
			o.Log.Info("message", "method", clip(reply.Method), "outcome", "the client cancelled it")
			continue
		}
		if err != nil {
			o.Log.Error("message", "method", clip(reply.Method), "err", err)
		}
		opened = opened || (o.Legacy && reply.Method == "initialize" && reply.Result != nil)
		o.Log.Info("message", "method", clip(reply.Method), "outcome", outcomeOf(reply))
		if err := write(out, reply); err != nil {
			return err
		}
	}
}

func write(out io.Writer, reply Reply) error {
	if reply.Silent() {
		return nil
	}
	b, err := encode(reply)
	if err != nil {
		return err
	}
	if _, err := out.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("writing a reply: %w", err)
	}
	return nil
}

func outcomeOf(r Reply) string {
	switch {
	case r.Error != nil:
		return fmt.Sprintf("error %d", r.Error.Code)
	case r.Result != nil:
		return "result"
	default:
		return "no reply"
	}
}

// waiting are the requests that were read and are not answered yet, by their ids.
type waiting struct {
	mu       sync.Mutex
	requests map[string]*ticket
}

// A ticket says whether the client wants its request no more.
type ticket struct {
	cancelled bool
	stop      context.CancelFunc // nil until the request's turn comes
}

// add gives a message that was read its place among those that wait. If it cancels another one, that is done here.
func (w *waiting) add(req request) line {
	l := line{req: req, ticket: &ticket{}}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case req.fault != nil || req.response:
	case !req.silent:
		w.requests[idKey(req.id)] = l.ticket
	case req.method == "notifications/cancelled":
		if t, ok := w.requests[idKey(req.params["requestId"])]; ok {
			t.cancelled = true
			if t.stop != nil {
				t.stop()
			}
		}
	}
	return l
}

// start gives the context that a message is handled in. The function must be called once it was, and reports whether its
// client wants no answer any more.
func (w *waiting) start(ctx context.Context, l line) (context.Context, func() (cancelled bool)) {
	ctx, stop := context.WithCancel(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	l.ticket.stop = stop
	if l.ticket.cancelled {
		stop()
	}
	return ctx, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		stop()
		if id := idKey(l.req.id); w.requests[id] == l.ticket {
			delete(w.requests, id)
		}
		return l.ticket.cancelled
	}
}

// idKey is the same for ids that mean the same.
func idKey(id json.RawMessage) string {
	if s, ok := asString(id); ok {
		return "string " + s
	}
	return string(id)
}

var errLongLine = errors.New("line too long")

// A line is one message, or the reason why reading has ended.
type line struct {
	req    request
	ticket *ticket
	err    error
}

// readLines sends each line that is not blank until r or ctx ends. A last line needs no newline.
func readLines(ctx context.Context, r *bufio.Reader, most int, w *waiting, to chan<- line) {
	for {
		text, err := readLine(r, most)
		text = bytes.TrimSpace(text)
		var l line
		switch {
		case errors.Is(err, errLongLine):
			l = w.add(request{fault: fail(codeInvalidRequest, "Invalid Request: a message may have at most %d bytes", most)})
		case err == nil && len(text) == 0:
			continue
		case err == nil, errors.Is(err, io.EOF) && len(text) > 0: // the next read ends it
			l = w.add(parse(text))
		default:
			l.err = err
		}
		select {
		case <-ctx.Done():
			return
		case to <- l:
		}
		if l.err != nil {
			return
		}
	}
}

// readLine reads up to and including the next newline. Of a line longer than most it keeps nothing.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var text []byte
	long := false
	for {
		part, err := r.ReadSlice('\n')
		if long = long || len(text)+len(part) > most+len("\r\n"); long {
			text = nil
		} else {
			text = append(text, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLongLine
		default:
			return text, err
		}
	}
}
