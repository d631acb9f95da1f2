package llm_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/llm"
	"github.com/cartagent/cartagent/loop"
)

// words is a decoder whose events are words; "." ends the reply, "!" is an error of the provider's.
type words struct {
	text string
	done bool
}

func (w *words) Event(data []byte) ([]loop.Chunk, bool, error) {
	switch string(data) {
	case ".":
		w.done = true
		return nil, true, nil
	case "!":
		return nil, false, provider().Fault(llm.Trouble{Type: "overloaded_error"})
	case "?":
		return nil, false, llm.Unreadable(errors.New("odd"))
	}
	w.text += string(data)
	return []loop.Chunk{{Kind: loop.ChunkText, Text: string(data)}}, false, nil
}

func (w *words) Whole(body []byte) ([]loop.Chunk, error) {
	w.done, w.text = true, string(body)
	return []loop.Chunk{{Kind: loop.ChunkText, Text: w.text}}, nil
}

func (w *words) Reply() (*loop.Reply, bool) {
	return &loop.Reply{Message: says(w.text), Stop: loop.StopEndTurn}, w.done
}

func events2(list ...string) io.Reader {
	var b strings.Builder
	for _, e := range list {
		b.WriteString("data: " + e + "\n\n")
	}
	return strings.NewReader(b.String())
}

func body(r io.Reader) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(r), Header: http.Header{}}
}

// harness plays one answer for each try, and records the waits in between.
type harness struct {
	answers []func(context.Context) (*http.Response, error)
	tries   int
	waits   []time.Duration
	stall   time.Duration
}

func (h *harness) stream(ctx context.Context) ([]string, error) {
	s := llm.Shell{Provider: provider(), Stall: h.stall, Retry: llm.Retry{
		Jitter: func() float64 { return 0 },
		Wait: func(ctx context.Context, d time.Duration) error {
			h.waits = append(h.waits, d)
			return ctx.Err()
		},
	}}
	work := llm.Work{
		Fresh: func() llm.Decoder { return &words{} },
		Send: func(ctx context.Context) (*http.Response, error) {
			h.tries++
			return h.answers[min(h.tries, len(h.answers))-1](ctx)
		},
	}
	var out []string
	for c, err := range s.Stream(ctx, work) {
		if err != nil {
			return out, err
		}
		if c.Reply != nil {
			out = append(out, "="+loop.TextOf(c.Reply.Message.Content))
			continue
		}
		out = append(out, c.Text)
	}
	return out, nil
}

func answers(list ...any) *harness {
	h := &harness{}
	for _, a := range list {
		h.answers = append(h.answers, func(context.Context) (*http.Response, error) { //nolint:bodyclose // the shell, which is tested here, closes it
			switch a := a.(type) {
			case error:
				return nil, a
			case io.Reader:
				return body(a), nil
			}
			return nil, errors.New("no answer")
		})
	}
	return h
}

func TestShellRetriesOnlyBeforeTheFirstChunk(t *testing.T) {
	t.Parallel()
	busy := provider().Fault(llm.Trouble{Status: 529})
	later := provider().Fault(llm.Trouble{Status: 429, After: 7 * time.Second})
	never := provider().Fault(llm.Trouble{Status: 429, After: time.Hour})
	bad := provider().Fault(llm.Trouble{Status: 400})
	for name, c := range map[string]struct {
		h     *harness
		want  []string
		fails loop.FailureKind
		tries int
		waits []time.Duration
	}{
		"well": {answers(events2("a", "b", ".")), []string{"a", "b", "=ab"}, "", 1, nil},
		"busy twice": {
			answers(busy, busy, events2("a", ".")),
			[]string{"a", "=a"},
			"", 3,
			[]time.Duration{500 * time.Millisecond, time.Second},
		},
		"busy for ever": {
			answers(busy), nil, loop.FailOverload, 4,
			[]time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second},
		},
		"Retry-After":          {answers(later, events2("a", ".")), []string{"a", "=a"}, "", 2, []time.Duration{7 * time.Second}},
		"Retry-After too long": {answers(never), nil, loop.FailLimit, 1, nil},
		"refused":              {answers(bad), nil, loop.FailRequest, 1, nil},
		"reset, then well":     {answers(io.ErrUnexpectedEOF, events2("a", ".")), []string{"a", "=a"}, "", 2, []time.Duration{500 * time.Millisecond}},
		"C046 error after text": {
			answers(events2("a", "!")), []string{"a"}, loop.FailOverload, 1, nil,
		},
		"C046 error before text": {
			answers(events2("!"), events2("a", ".")), []string{"a", "=a"}, "", 2, []time.Duration{500 * time.Millisecond},
		},
		"C046 end without its mark": {answers(events2("a")), []string{"a"}, loop.FailIncomplete, 1, nil},
		"C046 empty body, then well": {
			answers(events2(), events2("a", ".")), []string{"a", "=a"}, "", 2, []time.Duration{500 * time.Millisecond},
		},
		"C046 web page":           {answers(strings.NewReader("\n<html>")), nil, loop.FailRequest, 1, nil},
		"C046 plain JSON":         {answers(strings.NewReader("\xEF\xBB\xBF {}")), []string{"{}", "={}"}, "", 1, nil},
		"unreadable":              {answers(events2("?")), nil, loop.FailIncomplete, 4, []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second}},
		"broken while it is read": {answers(io.MultiReader(events2("a"), iotest.ErrReader(errors.New("reset")))), []string{"a"}, loop.FailIncomplete, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := c.h.stream(t.Context())
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.tries, c.h.tries)
			assert.Equal(t, c.waits, c.h.waits)
			if c.fails == "" {
				require.NoError(t, err)
				return
			}
			var f *loop.Failure
			require.ErrorAs(t, err, &f)
			assert.Equal(t, c.fails, f.Kind, f.Message)
		})
	}
}

func TestC007CancelInBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("cancelled by the person")
		ctx, cancel := context.WithCancelCause(t.Context())
		s := llm.Shell{Provider: provider()}
		tries := 0
		work := llm.Work{
			Fresh: func() llm.Decoder { return &words{} },
			Send: func(context.Context) (*http.Response, error) {
				tries++
				return nil, provider().Fault(llm.Trouble{Status: 503})
			},
		}
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			for _, e := range s.Stream(ctx, work) {
				err = e
			}
		}()
		synctest.Wait() // it waits for the second try
		start := time.Now()
		cancel(why)
		<-done
		assert.Zero(t, time.Since(start), "at once")
		assert.Equal(t, 1, tries)
		require.ErrorIs(t, err, why)
		var f *loop.Failure
		assert.NotErrorAs(t, err, &f, "a cancel is no failure")
	})
}

// silent is a body that says something and then nothing until its request ends.
type silent struct {
	first io.Reader
	ctx   context.Context // as a response body of net/http has it
}

func (s *silent) Read(p []byte) (int, error) {
	if n, _ := s.first.Read(p); n > 0 {
		return n, nil
	}
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

func TestStallIsAFailureAndNoCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &harness{stall: 30 * time.Second, answers: []func(context.Context) (*http.Response, error){
			func(ctx context.Context) (*http.Response, error) {
				return body(&silent{first: events2("a"), ctx: ctx}), nil
			},
		}}
		start := time.Now()
		got, err := h.stream(t.Context())
		assert.Equal(t, []string{"a"}, got)
		assert.Equal(t, &loop.Failure{
			Kind: loop.FailNetwork, Message: "Acme has sent nothing for 30s, so the request was given up.",
		}, err)
		assert.Equal(t, 30*time.Second, time.Since(start))
		h = &harness{answers: []func(context.Context) (*http.Response, error){
			func(ctx context.Context) (*http.Response, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		}}
		_, err = h.stream(t.Context())
		assert.EqualError(t, err, "Acme has sent nothing for 2m0s, so the request was given up.")
	})
}

func TestSlowConsumerIsNoStall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := llm.Shell{Provider: provider(), Stall: time.Second}
		var got []string
		for c, err := range s.Stream(t.Context(), llm.Work{
			Fresh: func() llm.Decoder { return &words{} },
			Send: func(ctx context.Context) (*http.Response, error) {
				return body(io.MultiReader(events2("a"), iotest.OneByteReader(events2("b", ".")))), ctx.Err()
			},
		}) {
			require.NoError(t, err)
			got = append(got, c.Text)
			time.Sleep(time.Hour) //nolint:forbidigo // fake time: the consumer is slow by the bubble's clock only
		}
		assert.Equal(t, []string{"a", "b", ""}, got)
	})
}

func TestServerThatStaysOpenBehindTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &harness{answers: []func(context.Context) (*http.Response, error){
			func(ctx context.Context) (*http.Response, error) {
				return body(&silent{first: events2("a", "."), ctx: ctx}), nil
			},
		}}
		start := time.Now()
		got, err := h.stream(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "=a"}, got)
		assert.Less(t, time.Since(start), 100*time.Millisecond) // fake time
	})
}

type closer struct {
	io.Reader
	closed bool
}

func (c *closer) Close() error {
	c.closed = true
	return nil
}

func TestConsumerThatStopsClosesTheBody(t *testing.T) {
	t.Parallel()
	s := llm.Shell{Provider: provider()}
	b := &closer{Reader: events2("a", "b", ".")}
	var ended func() error
	for c, err := range s.Stream(t.Context(), llm.Work{
		Fresh: func() llm.Decoder { return &words{} },
		Send: func(ctx context.Context) (*http.Response, error) {
			ended = ctx.Err
			return &http.Response{StatusCode: http.StatusOK, Body: b}, nil
		},
	}) {
		require.NoError(t, err)
		assert.Equal(t, "a", c.Text)
		break
	}
	assert.True(t, b.closed)
	assert.Error(t, ended(), "the request is given up")
}
