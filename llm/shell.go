package llm

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/charmbracelet/log"

	"github.com/cartagent/cartagent/loop"
)

// Decoder is the pure half of an adapter that reads. It makes chunks of one reply's events. It must take whatever a
// peer sends without a panic.
type Decoder interface {
	// Event takes the data of one event. The chunks are valid until the next call; done says that the reply is
	// whole. A *Fault is the provider's own error; any other means that the event could not be read.
	Event(data []byte) (chunks []loop.Chunk, done bool, err error)
	// Whole takes a reply that came as one JSON value although a stream was asked for.
	Whole(body []byte) ([]loop.Chunk, error)
	// Reply returns what the events added up to. False means that the stream ended before the reply did.
	Reply() (*loop.Reply, bool)
}

// Retry says how often and when a request is sent again; only one that has shown nothing yet is.
type Retry struct {
	Max    int                                        // times after the first; zero means 3, and less than zero never
	Wait   func(context.Context, time.Duration) error // nil: a timer. Its error ends the request
	Jitter func() float64                             // in [0,1); nil: random
	Now    func() time.Time                           // nil: time.Now
}

// The bounds of waiting.
const (
	firstWait  = 500 * time.Millisecond
	longWait   = 8 * time.Second
	mostAfter  = time.Minute // a provider that wants a longer wait gets none
	drainWait  = 20 * time.Millisecond
	mostWhole  = MaxEvent
	mostErrors = 64 << 10
)

// DefaultStall is how long a provider may be silent.
const DefaultStall = 2 * time.Minute

// Shell is the impure half of every adapter: it sends, reads, retries, and gives up.
type Shell struct {
	Provider Provider
	Retry    Retry
	Stall    time.Duration // how long the provider may be silent; zero means DefaultStall
	Log      *log.Logger   // may be nil
}

// Work is one request to a model.
type Work struct {
	// Send sends the request once and returns the response when its header is there. A *Fault is what the provider
	// said; any other error means that there was no answer.
	Send func(ctx context.Context) (*http.Response, error)
	// Fresh makes a decoder for one try.
	Fresh func() Decoder
}

var errStall = errors.New("the provider is silent")

// Stream does the work as loop.Model.Stream says. Where ctx has ended the error is its cause, not a failure.
func (s *Shell) Stream(ctx context.Context, w Work) iter.Seq2[loop.Chunk, error] {
	return func(yield func(loop.Chunk, error) bool) {
		for n := 0; ; n++ {
			t := try{shell: s, yield: yield}
			fault := t.run(ctx, w)
			switch {
			case t.stopped || fault == nil:
				return
			case ctx.Err() != nil:
				yield(loop.Chunk{}, fmt.Errorf("asking %s: %w", s.Provider.Name, context.Cause(ctx)))
				return
			case t.shown || !fault.Retry || n >= s.retries() || fault.After > mostAfter:
				yield(loop.Chunk{}, &fault.Failure)
				return
			}
			wait := s.backoff(n, fault.After)
			if s.Log != nil {
				s.Log.Warn("asking the model again", "try", n+2, "wait", wait, "err", fault.Failure.Message)
			}
			if err := s.wait(ctx, wait); err != nil {
				if ctx.Err() != nil {
					err = context.Cause(ctx)
				}
				yield(loop.Chunk{}, fmt.Errorf("waiting to ask %s again: %w", s.Provider.Name, err))
				return
			}
		}
	}
}

func (s *Shell) retries() int {
	if s.Retry.Max == 0 {
		return 3
	}
	return s.Retry.Max
}

// backoff is the wait before try n+2: twice as long each time, less up to a quarter of it, and never before the
// provider wants it.
func (s *Shell) backoff(n int, after time.Duration) time.Duration {
	jitter := s.Retry.Jitter
	if jitter == nil {
		jitter = rand.Float64
	}
	d := min(firstWait<<min(n, 10), longWait)
	d -= time.Duration(jitter() * float64(d) / 4)
	return max(d, after)
}

func (s *Shell) wait(ctx context.Context, d time.Duration) error {
	if s.Retry.Wait != nil {
		return s.Retry.Wait(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting: %w", context.Cause(ctx))
	}
}

// Now is the time by the shell's clock.
func (s *Shell) Now() time.Time {
	if s.Retry.Now != nil {
		return s.Retry.Now()
	}
	return time.Now()
}

// try is one request and its reply.
type try struct {
	shell   *Shell
	yield   func(loop.Chunk, error) bool
	shown   bool // the consumer has seen a chunk
	stopped bool // the consumer wants no more
}

// run sends and reads once. Nil means that the reply was given, or that nobody wants it.
func (t *try) run(ctx context.Context, w Work) *Fault {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := t.shell.Stall
	if stall == 0 {
		stall = DefaultStall
	}
	timer := time.AfterFunc(stall, func() { cancel(errStall) })
	defer timer.Stop()

	resp, err := w.Send(ctx)
	if err != nil {
		return t.fault(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	timer.Stop()
	dec := w.Fresh()
	body := &patient{in: resp.Body, timer: timer, stall: stall}
	in := bufio.NewReaderSize(body, 16<<10)
	start, err := opening(in)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return t.fault(ctx, err)
	case start == '<':
		p := t.shell.Provider
		return newFault(loop.FailRequest, false, "What answers in place of %s sent a web page: check %s.", p.Name, p.URLVar)
	case start == '{' || start == '[':
		err = t.whole(in, dec)
	default:
		err = t.events(in, dec)
	}
	if t.stopped {
		return nil
	}
	reply, ok := dec.Reply()
	if !ok {
		return t.fault(ctx, err)
	}
	body.drain()
	t.stopped = !t.yield(loop.Chunk{Kind: loop.ChunkReply, Reply: reply}, nil)
	return nil
}

// opening is the first byte of the body that is neither white space nor of a byte order mark.
func opening(in *bufio.Reader) (byte, error) {
	for {
		b, err := in.Peek(1)
		if err != nil {
			return 0, err
		}
		if !bytes.ContainsRune([]byte(" \t\r\n"), rune(b[0])) && bytes.IndexByte([]byte("\xEF\xBB\xBF"), b[0]) < 0 {
			return b[0], nil
		}
		if _, err := in.Discard(1); err != nil {
			return 0, err
		}
	}
}

func (t *try) whole(in io.Reader, dec Decoder) error {
	body, err := io.ReadAll(io.LimitReader(in, mostWhole))
	if err != nil {
		return fmt.Errorf("reading the reply: %w", err)
	}
	chunks, err := dec.Whole(body)
	t.show(chunks)
	return err
}

// events reads until the reply is whole, the stream ends (no error), or something is wrong.
func (t *try) events(in *bufio.Reader, dec Decoder) error {
	events := NewEvents(in)
	for {
		data, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		chunks, done, err := dec.Event(data)
		if t.show(chunks); t.stopped || done || err != nil {
			return err
		}
	}
}

func (t *try) show(chunks []loop.Chunk) {
	for _, c := range chunks {
		if t.stopped || c.Text == "" {
			continue
		}
		t.shown = true
		t.stopped = !t.yield(c, nil)
	}
}

// fault sorts the end of a try that brought no reply. A nil error is a stream that ended too early.
func (t *try) fault(ctx context.Context, err error) *Fault {
	p := t.shell.Provider
	var f *Fault
	switch {
	case errors.Is(context.Cause(ctx), errStall):
		return newFault(loop.FailNetwork, false, "%s has sent nothing for %s, so the request was given up.",
			p.Name, t.shell.stallText())
	case errors.As(err, &f):
		return f
	case err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return newFault(loop.FailIncomplete, true, "The reply of %s broke off before its end.", p.Name)
	case errors.Is(err, errUnreadable):
		return newFault(loop.FailIncomplete, true, "%s sent what is no reply (%s).", p.Name, p.Clean(err.Error()))
	case t.shown:
		f = p.NoAnswer(err)
		return newFault(loop.FailIncomplete, false, "The reply broke off. %s", f.Failure.Message)
	}
	return p.NoAnswer(err)
}

func (s *Shell) stallText() string {
	if s.Stall == 0 {
		return DefaultStall.String()
	}
	return s.Stall.String()
}

var errUnreadable = errors.New("not readable")

// Unreadable is the error of a Decoder for an event that is no JSON.
func Unreadable(err error) error { return fmt.Errorf("%w: %w", errUnreadable, err) }

// patient is a body whose every read may take as long as the stall timeout, and whose reader may take as long as
// it likes in between.
type patient struct {
	in    io.Reader
	timer *time.Timer
	stall time.Duration
	ended bool
}

func (p *patient) Read(buf []byte) (int, error) {
	p.timer.Reset(p.stall)
	n, err := p.in.Read(buf)
	p.timer.Stop()
	p.ended = p.ended || err != nil
	return n, err
}

// drain reads to the end of a body that has no more to say, so its connection can be used again. A server that does
// not end it soon loses the connection.
func (p *patient) drain() {
	p.stall = drainWait
	var buf [512]byte
	for range 8 {
		if p.ended {
			return
		}
		if _, err := p.Read(buf[:]); err != nil {
			return
		}
	}
}

// Client is base (nil: the default client) without redirects: they would carry the key and the conversation elsewhere.
func Client(base *http.Client) *http.Client {
	if base == nil {
		base = http.DefaultClient
	}
	c := *base
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// Read turns the answer to a request into a response or a *Fault. resp may be nil, as may err.
func (s *Shell) Read(resp *http.Response, err error) (*http.Response, error) {
	if resp == nil {
		if err == nil {
			err = errors.New("no response")
		}
		return nil, err
	}
	if resp.StatusCode < http.StatusMultipleChoices {
		if err != nil {
			_ = resp.Body.Close()
			return nil, err
		}
		return resp, nil
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, mostErrors))
	_ = resp.Body.Close()
	return nil, s.Provider.Fault(ParseTrouble(resp.StatusCode, resp.Header, body, s.Now()))
}
