package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// C018: three writes in one turn, and nobody who could allow them: one wait at most, none of them runs, and the turn
// goes on to its end.
func TestC018ThreeWritesThatNobodyAllows(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		permit func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error)
		took   time.Duration
		why    string
	}{
		"it never answers": {
			permit: func(ctx context.Context, _ *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
			took: agent.Patience, why: "the user did not answer within 30 minutes",
		},
		"it cannot ask": {
			permit: func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				return nil, acp.ErrMethodNotFound
			},
			why: "the client cannot ask for permission",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				write := &tool{
					spec: loop.Spec{Name: "write", Kind: loop.KindEdit},
					run: func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) {
						return loop.Result{}, errors.New("it ran")
					},
				}
				model := scripted.New(scripted.Reply{Calls: []loop.Call{
					loop.NewCall("", "write", `{"n":1}`), loop.NewCall("", "write", `{"n":2}`), loop.NewCall("", "write", `{"n":3}`),
				}}, scripted.Say("I could not."), scripted.Ask("write", `{"n":4}`), scripted.Say("Still not."))
				p := &peer{permit: c.permit}
				s := newStand(t, kitOf(model, write), p)
				for turn, took := range []time.Duration{c.took, 0} {
					began := time.Now()
					reason, err := s.prompt("write")
					require.NoError(t, err)
					assert.Equal(t, acp.StopEndTurn, reason)
					assert.Equal(t, took, time.Since(began), "turn %d", turn)
				}
				assert.Len(t, p.asked, 1)
				requests := model.Requests()
				results := requests[len(requests)-1].Messages
				told := 0
				for _, m := range results {
					for _, r := range m.Results {
						told++
						assert.True(t, r.Failed)
						assert.Equal(t, "Not run: this needs the user's permission, and nobody can be asked here ("+c.why+
							"). Do not try the same in another way; say what you could not do.", loop.TextOf(r.Content))
					}
				}
				assert.Equal(t, 4, told)
				s.stop()
			})
		})
	}
}

// A tool's question goes to the person and its answer to the tool, which then goes on.
func TestAQuestionIsAnsweredByButtons(t *testing.T) {
	t.Parallel()
	asks := &tool{
		spec: loop.Spec{Name: "asks", Default: loop.Allow},
		run: func(_ context.Context, j loop.Job, _ func(loop.Block)) (loop.Result, error) {
			if len(j.Answers) == 0 {
				return loop.Result{}, &loop.NeedsAnswer{Question: loop.Question{
					ID: "q", Message: "Sure?", Schema: []byte(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`),
				}}
			}
			return loop.Result{Content: loop.Blocks{loop.Text{Text: string(j.Answers[0].Action) + " " + string(j.Answers[0].Content)}}}, nil
		},
	}
	model := scripted.New(scripted.Ask("asks", `{}`), scripted.Say("ok"))
	p := &peer{permit: func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
		return choose("answer_2"), nil
	}}
	s := newStand(t, kitOf(model, asks), p)
	_, err := s.prompt("go")
	require.NoError(t, err)
	last, texts := settlements(t, p.all())
	assert.Equal(t, map[acp.ToolCallID]acp.ToolCallStatus{"call_1_1": acp.StatusCompleted}, last)
	assert.Equal(t, `accept {"ok":false}`, texts["call_1_1"])
}
