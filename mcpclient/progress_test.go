//go:build unix

package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// kept is what was reported, and when.
type kept struct {
	mu   sync.Mutex
	list []string
	at   []time.Time
}

func (l *kept) report(b loop.Block) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t, _ := b.(loop.Text)
	l.list, l.at = append(l.list, t.Text), append(l.at, time.Now())
}

func (l *kept) all() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.list...)
}

// late answers a call after that time, whether or not somebody waits for it.
func late(w *memory, r *request, d time.Duration) {
	_ = sleep(context.Background(), d)
	w.done(r)
}

// TestC027SlowCalls: a call without an answer ends in time and holds up no other; one that tells of its progress goes on.
func TestC027SlowCalls(t *testing.T) {
	t.Parallel()
	for _, era := range []string{EraModern, EraLegacy} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, logs := logged()
				w, c, all := inMemory(t, era, Server{Timeout: 20 * time.Second}, o, func(w *memory, r *request) {
					switch r.Params.Name {
					case "never":
						late(w, r, 30*time.Second)
					case "quick":
						w.done(r)
					case "slow":
						for i := range 36 {
							_ = sleep(context.Background(), 5*time.Second)
							w.progress(r, fmt.Sprintf(`"progress":%d,"total":36,"message":"brewing"`, i+1))
						}
						w.done(r)
					}
				})
				begun := time.Now()
				var group sync.WaitGroup
				var shown kept
				var slowErr, neverErr error
				group.Go(func() {
					var r loop.Result
					r, slowErr = all["slow"].Run(t.Context(), job(`{}`), shown.report)
					assert.Equal(t, "done", text(r))
					assert.Equal(t, 3*time.Minute, time.Since(begun))
				})
				group.Go(func() {
					_, neverErr = all["never"].Run(t.Context(), job(`{}`), nil)
					assert.Equal(t, 20*time.Second, time.Since(begun))
				})
				synctest.Wait()
				assert.Equal(t, "done", text(run(t, all["quick"], `{}`)))
				assert.Equal(t, begun, time.Now(), "nobody waits for others")
				group.Wait()
				require.NoError(t, slowErr)
				require.ErrorIs(t, neverErr, ErrTimeout)
				require.EqualError(t, neverErr, `calling never: server shop: no answer in time: it was waited for 20s; "timeout" of the `+
					`server in the configuration makes that longer; the request was cancelled, and whether it took effect is not known`)
				assert.Equal(t, "done", text(run(t, all["quick"], `{}`)))

				assert.Len(t, shown.all(), 36)
				assert.Equal(t, "36 of 36: brewing", shown.all()[35])
				assert.Equal(t, 1, strings.Count(logs.String(), "it answers no request of ours"), "the late answer")
				var never string
				tokens := map[string]bool{}
				cancelled := 0
				for _, m := range w.messages() {
					var r request
					require.NoError(t, json.Unmarshal([]byte(m), &r))
					switch r.Method {
					case methodCall:
						tokens[tokenOf(r.Params.Meta)] = true
						if r.Params.Name == "never" {
							never = string(r.ID)
						}
					case methodCancelled:
						cancelled++
						assert.Contains(t, m, `"requestId":`+never)
					}
				}
				assert.Len(t, tokens, 4, "each call has its own")
				assert.Equal(t, 1, cancelled)
				assert.Empty(t, c.conn.watches)
				assert.Empty(t, c.conn.kept)
				assert.Empty(t, c.conn.pending)
			})
		})
	}
}

// Progress extends a call no further than the ceiling, and only while it grows.
func TestTheCeiling(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ceiling  time.Duration
		progress func(i int) string
		takes    time.Duration
		err      string
	}{
		"for ever": {
			2 * time.Minute, func(i int) string { return fmt.Sprint(i) }, 2 * time.Minute,
			`it was at work for 2m0s, and progress extends a request no further; "ceiling" of the server`,
		},
		"for ever, by default": {
			0, func(i int) string { return fmt.Sprint(i) }, 10 * time.Minute, `it was at work for 10m0s`,
		},
		"a ceiling below the timeout": {
			time.Second, func(i int) string { return fmt.Sprint(i) }, 20 * time.Second, `it was at work for 20s`,
		},
		"the same again": {0, func(int) string { return "7" }, 25 * time.Second, `it was waited for 25s, the last 20s of it without progress; "timeout"`},
		"less and less":  {0, func(i int) string { return fmt.Sprint(-i) }, 25 * time.Second, "without progress"},
		"until it stops": {0, func(i int) string { return fmt.Sprint(min(i, 10)) }, 75 * time.Second, "waited for 1m15s"},
		"no numbers":     {0, func(int) string { return `"many"` }, 20 * time.Second, "it was waited for 20s; "},
		"nothing":        {0, func(int) string { return `null` }, 20 * time.Second, "it was waited for 20s; "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := Server{Timeout: 20 * time.Second, Ceiling: c.ceiling}
				_, _, all := inMemory(t, EraModern, s, Options{}, func(w *memory, r *request) {
					for i := range 200 {
						_ = sleep(context.Background(), 5*time.Second)
						w.progress(r, `"progress":`+c.progress(i))
					}
				})
				begun := time.Now()
				var shown kept
				_, err := all["slow"].Run(t.Context(), job(`{}`), shown.report)
				assert.Equal(t, c.takes, time.Since(begun))
				require.ErrorIs(t, err, ErrTimeout)
				require.ErrorContains(t, err, c.err)
				require.ErrorContains(t, err, "whether it took effect is not known")
				before := len(shown.all())
				_ = sleep(t.Context(), time.Minute)
				assert.Len(t, shown.all(), before, "a cancelled call has no progress")
			})
		})
	}
}

// Nothing is shown that belongs to no call under way, and nothing after the result.
func TestProgressOutOfPlace(t *testing.T) {
	t.Parallel()
	for _, era := range []string{EraModern, EraLegacy} {
		synctest.Test(t, func(t *testing.T) {
			_, _, all := inMemory(t, era, Server{}, Options{}, func(w *memory, r *request) {
				for _, token := range []string{"99", `"1"`, "null", "1.5", "{}", `""`} {
					w.says(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + token + `,"progress":1,"message":"not mine"}}`)
				}
				for _, params := range []string{"7", "[]", `{"progress":1}`, `{"progressToken":1}`, `{"progressToken":1,"progress":1e999}`} {
					w.says(`{"jsonrpc":"2.0","method":"notifications/progress","params":` + params + `}`)
				}
				w.says(`{"jsonrpc":"2.0","method":"notifications/progress"}`)
				w.progress(r, `"progress":1,"message":"mine"`)
				w.done(r)
				w.progress(r, `"progress":2,"message":"too late"`)
			})
			for range 20 {
				var shown kept
				_, err := all["quick"].Run(t.Context(), job(`{}`), shown.report)
				require.NoError(t, err)
				n := len(shown.all())
				synctest.Wait()
				assert.Len(t, shown.all(), n, "nothing comes after the result")
				assert.Equal(t, []string{"1: mine"}, shown.all())
			}
		})
	}
}

func TestProgressInWords(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		`{"progress":3,"total":10,"message":"brewing"}`: "3 of 10: brewing",
		`{"progress":0.30000000000000004,"total":1}`:    "0.3 of 1",
		`{"progress":3}`:             "3",
		`{"progress":12,"total":10}`: "12 of 10",
		`{"progress":3,"total":0,"message":"a\u0007\u001b[31mb\n c"}`:  "3: a[31mb  c",
		`{"progress":1e300,"total":-1}`:                                "1e+300",
		`{"progress":1,"message":"` + strings.Repeat("x", 9999) + `"}`: "1: " + strings.Repeat("x", 200) + "…",
	} {
		var p progress
		require.NoError(t, json.Unmarshal([]byte(params), &p))
		assert.Equal(t, want, p.line())
	}
}

// An hour of progress is shown some hundred times, soon at first, and the last of it always.
func TestProgressIsShownInMeasure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var shown kept
		r := newReporter(shown.report)
		for i := range 72000 {
			r.show(fmt.Sprint(i))
			if i == 20 {
				assert.LessOrEqual(t, len(shown.all()), 5, "in the first second")
				assert.GreaterOrEqual(t, len(shown.all()), 4)
			}
			_ = sleep(t.Context(), 50*time.Millisecond)
		}
		n := len(shown.all())
		assert.Less(t, n, 1000)
		assert.Greater(t, n, 700)
		r.show("end")
		r.stop()
		assert.Equal(t, "end", shown.all()[n])
		r.show("after")
		synctest.Wait()
		assert.Len(t, shown.all(), n+1)
		for i := range n - 1 {
			require.GreaterOrEqual(t, shown.at[i+1].Sub(shown.at[i]), leastGap)
		}

		r = newReporter(shown.report) // what is last is shown without another to follow
		r.show("a")
		r.show("a")
		synctest.Wait()
		r.show("b")
		_ = sleep(t.Context(), 2*leastGap)
		assert.Equal(t, []string{"a", "b"}, shown.all()[n+1:])
		r.stop()
		assert.Len(t, shown.all(), n+3)

		r = newReporter(nil)
		r.show("nobody")
		r.stop()
	})
}

// A client that is slow to show progress holds up its own call and nobody who reads.
func TestASlowClientHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, _, all := inMemory(t, EraModern, Server{}, Options{}, func(w *memory, r *request) {
			if r.Params.Name == "slow" {
				for i := range 1000 {
					w.progress(r, fmt.Sprintf(`"progress":%d`, i))
				}
			}
			w.done(r)
		})
		blocked, over := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(over)
			_, err := all["slow"].Run(t.Context(), job(`{}`), func(loop.Block) { <-blocked })
			assert.NoError(t, err)
		}()
		synctest.Wait()
		assert.Equal(t, "done", text(run(t, all["quick"], `{}`)))
		close(blocked)
		<-over
	})
}

// The time that a person takes counts neither for the timeout nor for the ceiling, with progress as without.
func TestAPersonsTimeDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := func(context.Context, Question) (Answer, error) {
			_ = sleep(t.Context(), time.Hour)
			return Answer{Action: ActionDecline}, nil
		}
		s := Server{Timeout: 20 * time.Second, Ceiling: time.Minute}
		_, _, all := inMemory(t, EraLegacy, s, Options{Elicit: answer}, func(w *memory, r *request) {
			w.progress(r, `"progress":1`)
			w.says(`{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"size?"}}`)
			_ = sleep(context.Background(), 30*time.Minute)
			w.progress(r, `"progress":2`)
			_ = sleep(context.Background(), 30*time.Minute+time.Second) // the answer is there
			for i := range 100 {
				w.progress(r, fmt.Sprintf(`"progress":%d`, i+3))
				_ = sleep(context.Background(), 5*time.Second)
			}
		})
		begun := time.Now()
		_, err := all["slow"].Run(t.Context(), job(`{}`), nil)
		require.ErrorIs(t, err, ErrTimeout)
		require.ErrorContains(t, err, "it was at work for 1m0s")
		assert.Equal(t, time.Hour+time.Minute, time.Since(begun).Round(time.Second))
	})
}

// What servers log is there for who looks for faults, without their secrets, and not all of it.
func TestServersLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o, logs := logged()
		w, _, all := inMemory(t, EraModern, Server{Secrets: []string{"hunter2"}}, o, func(w *memory, r *request) {
			for range 500 {
				w.says(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","logger":"db","data":"pass\u0007 hunter2"}}`)
			}
			w.done(r)
		})
		run(t, all["quick"], `{}`)
		_ = sleep(t.Context(), time.Second)
		w.says(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":{"a":1}}}`)
		w.says(`{"jsonrpc":"2.0","method":"notifications/message","params":7}`)
		got := logs.String()
		assert.Equal(t, 11, strings.Count(got, `msg="server message"`)+strings.Count(got, "server message server=shop"), got)
		assert.Contains(t, got, "messages=490")
		assert.Contains(t, got, "pass …")
		assert.NotContains(t, got, "hunter2")
		assert.NotContains(t, got, "\a")
	})
}
