package loop_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
)

// checker is a tool that can tell what has become of a call.
type checker struct {
	tool
	check func(loop.Job) (loop.Finding, loop.Result, error)
}

func (c checker) Check(_ context.Context, j loop.Job) (loop.Finding, loop.Result, error) {
	return c.check(j)
}

// A call that was running when the turn was interrupted is looked into by its tool, and run again or asked about only
// where that does not say that it is done.
func TestLookingIntoACall(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		check  func(loop.Job) (loop.Finding, loop.Result, error) // nil: the tool cannot tell
		says   loop.Outcome
		asked  bool
		runs   int // all in all
		result string
	}{
		"done":         {check: found(loop.FoundDone), runs: 1, result: "was done"},
		"undone":       {check: found(loop.FoundUndone), runs: 2, result: "done"},
		"unknown":      {check: found(loop.FoundUnknown), says: loop.AllowOnce, asked: true, runs: 2, result: "done"},
		"cannot tell":  {says: loop.AllowOnce, asked: true, runs: 2, result: "done"},
		"leave it":     {says: loop.RejectOnce, asked: true, runs: 1, result: "!Interrupted while it was running, and not run again: whether it took effect is unknown. Check before doing it again."},
		"nobody there": {says: loop.Unavailable, asked: true, runs: 1, result: "!Interrupted while it was running, and not run again: whether it took effect is unknown. Check before doing it again."},
		"fails": {
			check: func(loop.Job) (loop.Finding, loop.Result, error) {
				return loop.FoundDone, loop.Result{}, errors.New("unreadable")
			},
			says: loop.AllowOnce, asked: true, runs: 2, result: "done",
		},
		"panics": {
			check: func(loop.Job) (loop.Finding, loop.Result, error) { panic("boom") },
			says:  loop.AllowOnce, asked: true, runs: 2, result: "done",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			runs, asked := 0, 0
			plain := tool{spec: free("it"), run: func(ctx context.Context, _ loop.Job, _ func(loop.Block)) (loop.Result, error) {
				if runs++; runs == 1 {
					cancel(loop.ErrGone)
					<-ctx.Done()
					return text("too late"), nil
				}
				return text("done"), nil
			}}
			var it loop.Tool = plain
			if row.check != nil {
				it = checker{plain, row.check}
			}
			sc := set(t, []loop.Tool{it}, calling("it"), scripted.Say("ok"))
			sc.runner.Gate = gate(func(context.Context, loop.Call, loop.Preview, []loop.Option) (loop.Outcome, error) {
				asked++
				return row.says, nil
			})
			sc.runner.Key = func(string) string { return "key" }
			reason, err := sc.run(ctx, "hi")
			require.NoError(t, err)
			assert.Equal(t, loop.StopCancelled, reason)
			require.True(t, sc.s.Interrupted())
			assert.IsType(t, loop.Interrupted{}, sc.log.inputs[len(sc.log.inputs)-1], "what comes behind the interruption is not in the log")

			sc.ends(t.Context(), "go on", loop.StopEndTurn)
			assert.Equal(t, row.runs, runs)
			assert.Equal(t, row.asked, asked == 1)
			assert.Equal(t, row.result, sc.results()["call_1_1"])
			intents := slices.DeleteFunc(slices.Clone(sc.log.inputs), func(in loop.Input) bool {
				_, is := in.(loop.Intended)
				return !is
			})
			assert.Len(t, intents, row.runs, "each run has its intent in the log")
			assert.True(t, slices.ContainsFunc(sc.log.inputs, func(in loop.Input) bool {
				_, is := in.(loop.Checked)
				return is
			}))
		})
	}
}

func found(f loop.Finding) func(loop.Job) (loop.Finding, loop.Result, error) {
	return func(j loop.Job) (loop.Finding, loop.Result, error) {
		if j.Key != "key" || j.Call.ID != "call_1_1" {
			return loop.FoundUnknown, loop.Result{}, nil
		}
		return f, text("was done"), nil
	}
}
