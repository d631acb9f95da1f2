package loop_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
)

// hang blocks until its context ends.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// A cancel ends the turn as a cancel wherever it lands, within no time, and the session lives on (C007, C011, C013).
func TestCancelRun(t *testing.T) {
	t.Parallel()
	hanging := func(name string, spec loop.Spec) loop.Tool {
		spec.Name = name
		return tool{spec: spec, run: func(ctx context.Context, _ loop.Job, report func(loop.Block)) (loop.Result, error) {
			report(loop.Text{Text: "on it"})
			err := hang(ctx)
			report(loop.Text{Text: "too late"}) // does not block
			return loop.Result{}, err
		}}
	}
	const before, during = "!Cancelled before it ran.",
		"!Cancelled while it was running. It may have taken effect in part or in whole: check before doing it again."
	for name, row := range map[string]struct {
		tools []loop.Tool
		reply scripted.Reply
		want  map[string]string
	}{
		"before the first byte": {nil, scripted.Reply{Hang: true}, map[string]string{}},
		"in the stream":         {nil, scripted.Reply{Thought: []string{"hm"}, Text: []string{"On", "e"}, Hang: true}, map[string]string{}},
		"while it previews": {[]loop.Tool{tool{spec: free("slow"), preview: func(ctx context.Context, _ loop.Call) (loop.Preview, error) {
			return loop.Preview{}, hang(ctx)
		}}}, calling("slow"), map[string]string{"call_1_1": before}},
		"while it asks": {
			[]loop.Tool{tool{spec: loop.Spec{Name: "asks"}}},
			calling("asks", "asks"),
			map[string]string{"call_1_1": before, "call_1_2": before},
		},
		"while it runs": {
			[]loop.Tool{hanging("sleep", loop.Spec{Default: loop.Allow})},
			calling("sleep", "sleep"),
			map[string]string{"call_1_1": during, "call_1_2": before},
		},
		"while two run": {
			[]loop.Tool{hanging("sleep", loop.Spec{Default: loop.Allow, Parallel: true}), tool{spec: loop.Spec{Name: "quick", Default: loop.Allow, Parallel: true}}},
			calling("sleep", "quick", "sleep"),
			map[string]string{"call_1_1": during, "call_1_2": "done", "call_1_3": during},
		},
		"while its question is open": {[]loop.Tool{picky()}, calling("sell"), map[string]string{"call_1_1": during}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sc := set(t, row.tools, row.reply, scripted.Say("You said hi."))
				sc.runner.Gate = gate(func(ctx context.Context, _ loop.Call, _ loop.Preview, _ []loop.Option) (loop.Outcome, error) {
					return loop.AllowOnce, hang(ctx) // an answer that comes with the cancel is none
				})
				sc.runner.Asker = asker(func(ctx context.Context, _ loop.Call, _ loop.Question) (loop.Answer, error) {
					return loop.Answer{}, hang(ctx)
				})
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Minute, cancel)
				start := time.Now()
				sc.ends(ctx, "hi", loop.StopCancelled)
				assert.Equal(t, time.Minute, time.Since(start), "at once")
				assert.Equal(t, row.want, sc.results())

				sc.ends(t.Context(), "what did I ask first?", loop.StopEndTurn)
				requests := sc.model.Requests()
				assert.Equal(t, loop.Blocks{loop.Text{Text: "hi"}}, requests[len(requests)-1].Messages[0].Content)
			})
		})
	}
}

// A model that gives up the moment it is cancelled must not turn the cancel into its failure, however the two race.
func TestCancelBeatsWhatItCauses(t *testing.T) {
	t.Parallel()
	for range 100 {
		sc := set(t, nil, scripted.Reply{Text: []string{"a"}, Hang: true})
		ctx, cancel := context.WithCancel(t.Context())
		sc.on = func(e loop.Event) {
			if _, ok := e.(loop.AgentText); ok {
				go cancel()
			}
		}
		sc.ends(ctx, "hi", loop.StopCancelled)
	}
}

// When Run returns, what it started has come to its end, also what takes its time to clean up.
func TestRunWaitsForItsTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clean := false
		sc := set(t, []loop.Tool{tool{spec: free("slow"), run: func(ctx context.Context, _ loop.Job, _ func(loop.Block)) (loop.Result, error) {
			err := hang(ctx)
			<-time.After(time.Second)
			clean = true
			return loop.Result{}, err
		}}}, calling("slow"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		sc.ends(ctx, "hi", loop.StopCancelled)
		assert.True(t, clean)
	})
}

func TestCancelBeforeTheTurn(t *testing.T) {
	t.Parallel()
	sc := set(t, nil, scripted.Say("unheard"), scripted.Say("ok"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	sc.ends(ctx, "hi", loop.StopCancelled)
	assert.Equal(t, []loop.Event{
		loop.UserText{MessageID: "u", Part: loop.Text{Text: "hi"}}, loop.TitleChanged{Title: "hi"},
	}, sc.events)
}

// A cancel from the sink, at any event of a turn, still ends it in good order.
func TestCancelAtEveryEvent(t *testing.T) {
	t.Parallel()
	for n := range 12 {
		t.Run(fmt.Sprint("event ", n), func(t *testing.T) {
			t.Parallel()
			sc := set(t, []loop.Tool{tool{spec: free("good")}, tool{spec: loop.Spec{Name: "asks"}}},
				scripted.Reply{Text: []string{"a", "b"}, Calls: calling("good", "asks", "nobody").Calls}, scripted.Say("end"), scripted.Say("more"))
			sc.runner.Gate = says(loop.AllowOnce)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			seen := 0
			sc.on = func(loop.Event) {
				if seen == n {
					cancel()
				}
				seen++
			}
			sc.ends(ctx, "hi", loop.StopCancelled)
			sc.on = nil
			reason, err := sc.run(t.Context(), "more")
			require.NoError(t, err)
			assert.Equal(t, loop.StopEndTurn, reason)
			sc.whole()
		})
	}
}

// A cancel that comes after the end does not rewrite it (C008).
func TestCancelAtTheEnd(t *testing.T) {
	t.Parallel()
	sc := set(t, nil, scripted.Reply{Text: []string{"half"}, Stop: loop.StopMaxTokens})
	ctx, cancel := context.WithCancel(t.Context())
	sc.ends(ctx, "hi", loop.StopMaxTokens)
	cancel()
	sc.ends(ctx, "again", loop.StopCancelled)
	assert.Equal(t, loop.Cancelled{}, sc.log.inputs[len(sc.log.inputs)-1])
}

// A tool's own deadline is a failed call, and the turn goes on.
func TestDeadlineOfATool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sc := set(t, []loop.Tool{tool{spec: free("slow"), run: func(ctx context.Context, _ loop.Job, _ func(loop.Block)) (loop.Result, error) {
			ctx, stop := context.WithTimeout(ctx, time.Minute)
			defer stop()
			return loop.Result{}, hang(ctx)
		}}}, calling("slow"), scripted.Say("ok"))
		sc.ends(t.Context(), "hi", loop.StopEndTurn)
		assert.Equal(t, map[string]string{"call_1_1": "!context deadline exceeded"}, sc.results())
	})
}

func TestSinkThatFails(t *testing.T) {
	t.Parallel()
	errGone := errors.New("the client is gone")
	for n := range 10 {
		t.Run(fmt.Sprint("at event ", n), func(t *testing.T) {
			t.Parallel()
			sc := set(t, []loop.Tool{tool{spec: free("good")}}, scripted.Reply{Text: []string{"a"}, Calls: calling("good", "good").Calls}, scripted.Say("end"))
			seen := 0
			s, reason, err := sc.runner.Run(t.Context(), sc.s, ask("hi"), func(context.Context, loop.Event) error {
				seen++
				if seen == n+1 {
					return errGone
				}
				return nil
			})
			require.ErrorIs(t, err, errGone)
			assert.Equal(t, loop.StopCancelled, reason)
			assert.Equal(t, n+1, seen, "nothing is sent after it")
			assert.True(t, s.Idle() || s.Interrupted())
			assert.Equal(t, loop.Interrupted{}, sc.log.inputs[len(sc.log.inputs)-1])
			assert.Empty(t, sc.log.unsynced())
		})
	}
}

// The sink's context outlasts the cancel, so that what a cancel settles can be told.
func TestSinkOutlastsACancel(t *testing.T) {
	t.Parallel()
	sc := set(t, nil, scripted.Reply{Hang: true})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, reason, err := sc.runner.Run(ctx, sc.s, ask("hi"), func(ctx context.Context, _ loop.Event) error { return ctx.Err() })
	require.NoError(t, err)
	assert.Equal(t, loop.StopCancelled, reason)
}

// What changes something runs only when its intent is on disk; what only reads does not wait for the disk.
func TestIntentIsSynced(t *testing.T) {
	t.Parallel()
	for name, readOnly := range map[string]bool{"changes": false, "reads": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sc *scene
			spec := free("it")
			spec.ReadOnly = readOnly
			ran := false
			sc = set(t, []loop.Tool{tool{spec: spec, run: func(_ context.Context, j loop.Job, _ func(loop.Block)) (loop.Result, error) {
				ran = true
				assert.Equal(t, "key", j.Key)
				intent := loop.Intended{CallID: "call_1_1", Key: "key"}
				if readOnly {
					assert.Contains(t, sc.log.unsynced(), intent)
				} else {
					assert.Empty(t, sc.log.unsynced())
				}
				return text("done"), nil
			}}}, calling("it"), scripted.Say("ok"))
			sc.runner.Key = func(string) string { return "key" }
			sc.ends(t.Context(), "hi", loop.StopEndTurn)
			assert.True(t, ran)
			assert.Contains(t, sc.log.inputs, loop.Intended{CallID: "call_1_1", Key: "key"})
		})
	}
}

// A log that cannot be written ends the turn with an error, wherever it happens, and nothing happens that it does not
// hold.
func TestLogThatFails(t *testing.T) {
	t.Parallel()
	failed := 0
	for n := 2; n < 12; n++ {
		runs := 0
		sc := set(t, []loop.Tool{tool{spec: free("sell"), run: func(_ context.Context, _ loop.Job, report func(loop.Block)) (loop.Result, error) {
			runs++
			report(loop.Text{Text: "on it"})
			return text("done"), nil
		}}}, scripted.Reply{Text: []string{"a"}, Calls: calling("sell").Calls}, scripted.Say("ok"))
		sc.log.failAt = n
		_, err := sc.run(t.Context(), "hi")
		intended := false
		for _, in := range sc.log.inputs {
			_, is := in.(loop.Intended)
			intended = intended || is
		}
		assert.Equal(t, intended, runs == 1, "append %d", n)
		if err == nil {
			sc.whole()
			continue
		}
		failed++
		require.ErrorIs(t, err, loop.ErrStorage)
		require.ErrorIs(t, err, errDisk)
		s := loop.State{} // rebuilt from the log, the session lives on
		for _, in := range append(sc.log.inputs, loop.Cancelled{}) {
			s, _ = loop.Step(s, in)
		}
		assert.True(t, s.Idle())
	}
	assert.Equal(t, 9, failed, "Prompted, Streamed, Replied, Previewed, Intended, Progressed, Finished, Streamed, Replied")
}

func TestSyncThatFails(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2} {
		runs := 0
		sc := set(t, []loop.Tool{tool{spec: free("sell"), run: func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) {
			runs++
			return text("done"), nil
		}}}, calling("sell"), scripted.Say("ok"))
		sc.log.failSync = n
		reason, err := sc.run(t.Context(), "hi")
		require.ErrorIs(t, err, loop.ErrStorage)
		assert.Equal(t, n-1, runs, "without a sync of the intent the tool does not run")
		if n == 2 {
			assert.Equal(t, loop.StopEndTurn, reason)
			continue
		}
		replayed, _ := loop.Replay(slices.Values(sc.log.inputs))
		assert.Equal(t, replayed, sc.s, "the intent may be on disk: the state has it")
	}
}

func TestConfigureOfAFailingLog(t *testing.T) {
	t.Parallel()
	log := &memory{failAt: 1}
	r := loop.Runner{Log: log}
	s, err := r.Configure(loop.State{}, loop.Configured{System: "x"})
	require.ErrorIs(t, err, loop.ErrStorage)
	assert.Equal(t, loop.State{}, s)
}

// Without a log a turn is played all the same.
func TestRunWithoutALog(t *testing.T) {
	t.Parallel()
	sc := set(t, []loop.Tool{tool{spec: free("good")}}, calling("good"), scripted.Say("ok"))
	sc.runner.Log = nil
	reason, err := sc.run(t.Context(), "hi")
	require.NoError(t, err)
	assert.Equal(t, loop.StopEndTurn, reason)
}
