package agent_test

import (
	"context"
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A question that was open when the client went away is put again at the start of the next prompt, to whichever client
// has loaded the session, and its answer completes the call that waited. Nothing goes on by itself before.
func TestAnOpenQuestionOutlivesItsClient(t *testing.T) {
	t.Parallel()
	schema := json.RawMessage(`{"type":"object","properties":{"size":{"type":"string","enum":["small","large"]}},"required":["size"]}`)
	for name, c := range map[string]struct {
		asks  bool // the tool asks; else the harness does, for permission
		forms bool // the second client shows forms
	}{
		"permission": {},
		"form":       {asks: true, forms: true},
		"choice":     {asks: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var jobs []loop.Job
				it := &tool{spec: loop.Spec{Name: "order"}, run: func(_ context.Context, j loop.Job, _ func(loop.Block)) (loop.Result, error) {
					jobs = append(jobs, j)
					if c.asks && len(j.Answers) == 0 {
						return loop.Result{}, &loop.NeedsAnswer{Question: loop.Question{
							ID: "size", Message: "Which size?", Schema: schema, State: json.RawMessage(`{"round":1}`),
						}}
					}
					return loop.Result{Content: loop.Blocks{loop.Text{Text: "ordered"}}}, nil
				}}
				if c.asks {
					it.spec.Default = loop.Allow
				}
				wait := make(chan struct{})
				first := &peer{permit: func(ctx context.Context, _ *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
					select {
					case <-wait:
					case <-ctx.Done():
					}
					return nil, ctx.Err()
				}}
				s := newStand(t, kitOf(scripted.New(scripted.Ask("order", `{"item":"latte"}`)), it), first)
				go func() { _, _ = s.prompt("A latte") }()
				synctest.Wait()
				require.Len(t, first.asked, 1)
				s.stop()
				close(wait)
				if c.asks {
					assert.Len(t, jobs, 1)
				} else {
					assert.Empty(t, jobs)
				}

				second := &peer{permit: func(_ context.Context, r *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
					return choose(r.Options[0].OptionID), nil
				}}
				filled := 0
				if c.forms {
					second.caps.Elicitation = &acp.ElicitationCapabilities{Form: &acp.ElicitationFormCapabilities{}}
					second.fill = func(*acp.CreateElicitationRequest) (acp.ElicitationAction, error) {
						filled++
						return acp.ElicitationAcceptAction{Content: map[string]acp.ElicitationContentValue{"size": acp.StringContent("small")}}, nil
					}
				}
				model := scripted.New(scripted.Say("Done."))
				again := newStandOn(t, kitOf(model, it), second, s.store)
				_, err := load(again, s.session)
				require.NoError(t, err)
				again.session = s.session
				ran := len(jobs)
				synctest.Wait()
				assert.Empty(t, second.asked, "nothing goes on by itself")
				_, err = again.prompt("/mcp")
				require.NoError(t, err, "what needs no model is answered all the same")
				_, err = again.prompt("/compact")
				require.NoError(t, err)
				assert.Contains(t, second.text(), "waits for an answer")
				assert.Empty(t, second.asked)

				reason, err := again.prompt("And a bun")
				require.NoError(t, err)
				assert.Equal(t, acp.StopEndTurn, reason)
				if c.forms {
					assert.Equal(t, 1, filled)
				} else {
					require.Len(t, second.asked, 1)
					assert.Equal(t, acp.ToolCallID("call_1_1"), second.asked[0].ToolCall.ToolCallID)
				}
				require.Len(t, jobs, ran+1)
				last := jobs[ran]
				assert.JSONEq(t, `{"item":"latte"}`, string(last.Call.Args))
				assert.Equal(t, string(s.session)+"/call_1_1", last.Key)
				if c.asks {
					require.Len(t, last.Answers, 1)
					assert.JSONEq(t, `{"round":1}`, string(last.Answers[0].State), "the tool's own state is as it was")
					assert.JSONEq(t, `{"size":"small"}`, string(last.Answers[0].Content))
				}
				sent := model.Requests()[0].Messages
				require.Len(t, sent, 4)
				assert.Equal(t, "ordered", loop.TextOf(sent[2].Results[0].Content))
				assert.Equal(t, "And a bun", loop.TextOf(sent[3].Content))
				again.stop()
			})
		})
	}
}
