package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
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

func TestPromptStreamsAndRemembers(t *testing.T) {
	t.Parallel()
	model := scripted.New(
		scripted.Reply{Thought: []string{"hm"}, Text: []string{"Hel", "lo"}},
		scripted.Reply{Text: []string{"You said hi."}},
	)
	s := newStand(t, kitOf(model), &peer{})
	reason, err := s.prompt("hi")
	require.NoError(t, err)
	assert.Equal(t, acp.StopEndTurn, reason)
	id, thought := acp.MessageID("msg_1_1"), acp.MessageID("msg_1_1_thought")
	assert.Equal(t, []acp.SessionUpdate{
		acp.AgentThoughtChunk{Content: acp.TextContent{Text: "hm"}, MessageID: &thought},
		acp.AgentMessageChunk{Content: acp.TextContent{Text: "Hel"}, MessageID: &id},
		acp.AgentMessageChunk{Content: acp.TextContent{Text: "lo"}, MessageID: &id},
	}, s.peer.all())

	_, err = s.prompt("what did I say?")
	require.NoError(t, err)
	requests := model.Requests()
	require.Len(t, requests, 2)
	assert.Equal(t, "be brief", requests[1].System)
	assert.Equal(t, "hi", loop.TextOf(requests[1].Messages[0].Content))
	assert.Equal(t, requests[0].Messages, requests[1].Messages[:1], "history that the model has seen is never rewritten")
}

// C011: every call is announced, then updated, then settled exactly once, before the answer, whatever becomes of it.
func TestC011EveryCallIsSettledOnce(t *testing.T) {
	t.Parallel()
	free := loop.Spec{Name: "free", Default: loop.Allow, Parallel: true}
	blocking := make(chan struct{})
	tools := []loop.Tool{
		&tool{spec: free},
		&tool{spec: loop.Spec{Name: "broken", Default: loop.Allow}, run: func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) {
			return loop.Result{}, errBroken
		}},
		&tool{spec: loop.Spec{Name: "panics", Default: loop.Allow}, run: func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) {
			var none []int
			return loop.Result{}, fmt.Errorf("unreachable: %d", none[len("x")])
		}},
		&tool{spec: loop.Spec{Name: "asks"}},
		&tool{spec: loop.Spec{Name: "first", Default: loop.Allow, Parallel: true}, run: func(ctx context.Context, _ loop.Job, _ func(loop.Block)) (loop.Result, error) {
			select { // it ends after the second one
			case <-blocking:
			case <-ctx.Done():
			}
			return loop.Result{Content: loop.Blocks{loop.Text{Text: "one"}}}, nil
		}},
		&tool{spec: loop.Spec{Name: "second", Default: loop.Allow, Parallel: true}, run: func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) {
			close(blocking)
			return loop.Result{Content: loop.Blocks{loop.Text{Text: "two"}}}, nil
		}},
	}
	cases := map[string]struct {
		calls  []loop.Call
		permit func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error)
		want   map[acp.ToolCallID]acp.ToolCallStatus
		texts  map[acp.ToolCallID]string
	}{
		"success": {
			calls: []loop.Call{loop.NewCall("", "free", `{}`)},
			want:  map[acp.ToolCallID]acp.ToolCallStatus{"call_1_1": acp.StatusCompleted},
			texts: map[acp.ToolCallID]string{"call_1_1": "done {}"},
		},
		"error": {
			calls: []loop.Call{loop.NewCall("", "broken", ``)},
			want:  map[acp.ToolCallID]acp.ToolCallStatus{"call_1_1": acp.StatusFailed},
			texts: map[acp.ToolCallID]string{"call_1_1": "it broke"},
		},
		"panic": {
			calls: []loop.Call{loop.NewCall("", "panics", ``)},
			want:  map[acp.ToolCallID]acp.ToolCallStatus{"call_1_1": acp.StatusFailed},
			texts: map[acp.ToolCallID]string{"call_1_1": "The tool crashed: runtime error: index out of range [1] with length 0."},
		},
		"bad arguments": {
			calls: []loop.Call{loop.NewCall("", "free", `[1]`)},
			want:  map[acp.ToolCallID]acp.ToolCallStatus{"call_1_1": acp.StatusFailed},
			texts: map[acp.ToolCallID]string{"call_1_1": "Not run: the arguments must be a JSON object, not an array."},
		},
		"unknown tool": {
			calls: []loop.Call{loop.NewCall("", "nope", `{}`)},
			want:  map[acp.ToolCallID]acp.ToolCallStatus{"call_1_1": acp.StatusFailed},
		},
		"rejected": {
			calls: []loop.Call{loop.NewCall("", "asks", `{}`)},
			permit: func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				return choose("reject_once"), nil
			},
			want: map[acp.ToolCallID]acp.ToolCallStatus{"call_1_1": acp.StatusFailed},
		},
		"dismissed": {
			calls: []loop.Call{loop.NewCall("", "asks", `{}`)},
			permit: func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				return &acp.RequestPermissionResponse{Outcome: acp.Cancelled{}}, nil
			},
			want: map[acp.ToolCallID]acp.ToolCallStatus{"call_1_1": acp.StatusFailed},
		},
		"an option that was not offered": {
			calls: []loop.Call{loop.NewCall("", "asks", `{}`)},
			permit: func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				return choose("yes_to_everything"), nil
			},
			want: map[acp.ToolCallID]acp.ToolCallStatus{"call_1_1": acp.StatusFailed},
		},
		"a client that cannot ask": {
			calls: []loop.Call{loop.NewCall("", "asks", `{}`), loop.NewCall("", "asks", `{"n":2}`)},
			permit: func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				return nil, acp.ErrMethodNotFound
			},
			want: map[acp.ToolCallID]acp.ToolCallStatus{"call_1_1": acp.StatusFailed, "call_1_2": acp.StatusFailed},
		},
		"two in reverse order": {
			calls: []loop.Call{loop.NewCall("same", "first", `{}`), loop.NewCall("same", "second", `{}`)},
			want:  map[acp.ToolCallID]acp.ToolCallStatus{"call_1_1": acp.StatusCompleted, "call_1_2": acp.StatusCompleted},
			texts: map[acp.ToolCallID]string{"call_1_1": "one", "call_1_2": "two"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := scripted.New(scripted.Reply{Calls: c.calls}, scripted.Say("ok"))
			s := newStand(t, kitOf(model, tools...), &peer{permit: c.permit})
			reason, err := s.prompt("go")
			require.NoError(t, err)
			assert.Equal(t, acp.StopEndTurn, reason)
			last, texts := settlements(t, s.peer.all())
			assert.Equal(t, c.want, last)
			for id, want := range c.texts {
				assert.Equal(t, want, texts[id], "each call carries its own output")
			}
		})
	}
}

// settlements checks the order of updates of each call and returns each one's last status, and text.
func settlements(t *testing.T, updates []acp.SessionUpdate) (map[acp.ToolCallID]acp.ToolCallStatus, map[acp.ToolCallID]string) {
	t.Helper()
	last, texts := map[acp.ToolCallID]acp.ToolCallStatus{}, map[acp.ToolCallID]string{}
	for _, u := range updates {
		switch v := u.(type) {
		case acp.ToolCall:
			assert.NotContains(t, last, v.ToolCallID, "announced once")
			assert.JSONEq(t, `"`+v.Name+`"`, string(v.Meta["tool_name"]))
			last[v.ToolCallID] = v.Status
		case acp.ToolCallUpdate:
			before, announced := last[v.ToolCallID]
			assert.True(t, announced, "an update comes after the announcement")
			assert.NotContains(t, []acp.ToolCallStatus{acp.StatusCompleted, acp.StatusFailed}, before, "nothing follows the last status")
			if v.Status != nil {
				last[v.ToolCallID] = *v.Status
			}
			for _, c := range v.Content {
				if item, ok := c.(acp.ContentItem); ok {
					if text, ok := item.Content.(acp.TextContent); ok {
						texts[v.ToolCallID] = text.Text
					}
				}
			}
		default: // no update of a call
		}
	}
	return last, texts
}

// C007: a cancel ends the turn as cancelled wherever it lands, and the session lives on.
func TestC007CancelAnywhere(t *testing.T) {
	t.Parallel()
	stuck := &tool{spec: loop.Spec{Name: "stuck", Default: loop.Allow}, run: func(ctx context.Context, _ loop.Job, _ func(loop.Block)) (loop.Result, error) {
		<-ctx.Done()
		return loop.Result{}, ctx.Err()
	}}
	cases := map[string]scripted.Reply{
		"before the first byte":      {Hang: true},
		"in the stream":              {Text: []string{"one ", "two "}, Hang: true},
		"while a tool runs":          scripted.Ask("stuck", `{}`),
		"while permission is waited": scripted.Ask("asks", `{}`),
	}
	for name, first := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				model := scripted.New(first, scripted.Say("You asked for it."))
				p := &peer{permit: func(ctx context.Context, _ *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
					<-ctx.Done() // it is never answered; the agent takes the question back
					return nil, ctx.Err()
				}}
				s := newStand(t, kitOf(model, stuck, &tool{spec: loop.Spec{Name: "asks"}}), p)
				reasons := make(chan acp.StopReason, 1)
				go func() {
					reason, err := s.prompt("first question")
					assert.NoError(t, err)
					reasons <- reason
				}()
				synctest.Wait()
				began := time.Now()
				s.cancel(t)
				assert.Equal(t, acp.StopCancelled, <-reasons)
				assert.Less(t, time.Since(began), time.Second)
				last, _ := settlements(t, p.all())
				for id, status := range last {
					assert.Equal(t, acp.StatusFailed, status, id)
				}

				reason, err := s.prompt("what did I ask first?")
				require.NoError(t, err)
				assert.Equal(t, acp.StopEndTurn, reason)
				requests := model.Requests()
				assert.Equal(t, "first question", loop.TextOf(requests[len(requests)-1].Messages[0].Content))
				s.stop()
			})
		})
	}
}

// C008: a turn that nobody cancelled is never called cancelled.
func TestC008OwnFailuresAreNotCancels(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reply  scripted.Reply
		reason acp.StopReason
		kind   string
	}{
		"text":           {reply: scripted.Say("hi"), reason: acp.StopEndTurn},
		"cut":            {reply: scripted.Reply{Text: []string{"half"}, Stop: loop.StopMaxTokens}, reason: acp.StopMaxTokens},
		"refused":        {reply: scripted.Reply{Text: []string{"no"}, Stop: loop.StopRefusal}, reason: acp.StopRefusal},
		"provider error": {reply: scripted.Reply{Fail: &loop.Failure{Kind: loop.FailOverload, Message: "It is overloaded."}}, kind: "overloaded"},
		"own timeout":    {reply: scripted.Reply{Check: func(loop.Request) error { return context.DeadlineExceeded }}, kind: "internal"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t, kitOf(scripted.New(c.reply, scripted.Say("again"))), &peer{})
			reason, err := s.prompt("go")
			if c.kind == "" {
				require.NoError(t, err)
				assert.Equal(t, c.reason, reason)
			} else {
				var wire *acp.Error
				require.ErrorAs(t, err, &wire)
				assert.EqualValues(t, acp.CodeInternalError, wire.Code)
				var data struct{ Kind string }
				require.NoError(t, json.Unmarshal(wire.Data, &data))
				assert.Equal(t, c.kind, data.Kind)
			}
			reason, err = s.prompt("and now?")
			require.NoError(t, err)
			assert.Equal(t, acp.StopEndTurn, reason)
		})
	}
}

// C009: the answer comes after everything that belongs to the turn, and nothing is lost before it.
func TestC009NothingAfterTheAnswer(t *testing.T) {
	t.Parallel()
	want := ""
	deltas := make([]string, 2000)
	for i := range deltas {
		deltas[i] = fmt.Sprintf("%d ", i)
		want += deltas[i]
	}
	model := scripted.New(
		scripted.Reply{Text: deltas, Calls: []loop.Call{loop.NewCall("", "free", "{}")}},
		scripted.Say("end"),
	)
	s := newStand(t, kitOf(model, &tool{spec: loop.Spec{Name: "free", Default: loop.Allow}}), &peer{})
	_, err := s.prompt("go")
	require.NoError(t, err)
	assert.Equal(t, want+"end", s.peer.text())
	assert.Empty(t, s.peer.all())
}

// C013: while a permission is open, everything else is answered.
func TestC013PermissionHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := &peer{permit: func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
			<-release
			return choose("allow_once"), nil
		}}
		model := scripted.New(scripted.Ask("asks", `{}`), scripted.Say("done"), scripted.Say("beside"))
		s := newStand(t, kitOf(model, &tool{spec: loop.Spec{Name: "asks"}}), p)
		reasons := make(chan acp.StopReason, 1)
		go func() {
			reason, err := s.prompt("go")
			assert.NoError(t, err)
			reasons <- reason
		}()
		synctest.Wait()
		require.Len(t, p.asked, 1)
		assert.Equal(t, acp.ToolCallID("call_1_1"), p.asked[0].ToolCall.ToolCallID)
		other := s.open(t)
		assert.NotEqual(t, s.session, other)
		close(release)
		assert.Equal(t, acp.StopEndTurn, <-reasons)
		s.stop()
	})
}

func TestPromptsWaitTheirTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := scripted.New(scripted.Reply{Text: []string{"first"}, Hang: true}, scripted.Say("third"))
		s := newStand(t, kitOf(model), &peer{})
		results := make(chan string, agent.MaxWaiting+2)
		play := func(name string) {
			go func() {
				reason, err := s.prompt(name)
				if err != nil {
					results <- name + ": " + err.Error()
					return
				}
				results <- name + ": " + string(reason)
			}()
			synctest.Wait()
		}
		play("a")
		for i := range agent.MaxWaiting {
			play(fmt.Sprintf("b%d", i))
		}
		play("too many")
		assert.Contains(t, <-results, "16 prompts wait for this session already")
		s.cancel(t)
		synctest.Wait()
		for range agent.MaxWaiting + 1 {
			assert.Contains(t, <-results, ": cancelled", "a cancel ends the running one and those that wait")
		}
		play("c")
		assert.Equal(t, "c: end_turn", <-results)
		s.stop()
	})
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newStand(t, kitOf(scripted.New()), &peer{})
	_, err := s.conn.Prompt(t.Context(), &acp.PromptRequest{SessionID: "sess_nope", Prompt: acp.ContentBlocks{acp.TextContent{Text: "x"}}})
	require.ErrorIs(t, err, acp.ErrNotFound)
	_, err = s.conn.Prompt(t.Context(), &acp.PromptRequest{SessionID: s.session})
	var wire *acp.Error
	require.ErrorAs(t, err, &wire)
	assert.EqualValues(t, acp.CodeInvalidParams, wire.Code)
	_, err = s.conn.Logout(t.Context(), &acp.LogoutRequest{})
	require.ErrorIs(t, err, acp.ErrMethodNotFound, "what is not advertised is refused")
}

func TestAMissingKeyAsksForALogin(t *testing.T) {
	t.Parallel()
	open := func(context.Context, agent.Setup) (*agent.Kit, error) {
		return nil, &loop.Failure{Kind: loop.FailAuth, Message: "Set ANTHROPIC_API_KEY."}
	}
	s := newStand(t, open, &peer{})
	_, err := s.prompt("hi")
	var wire *acp.Error
	require.ErrorAs(t, err, &wire)
	assert.Equal(t, &acp.Error{Code: acp.CodeAuthRequired, Message: "Set ANTHROPIC_API_KEY."}, wire)

	reason, err := s.prompt("/help")
	require.NoError(t, err, "what can be typed is told without a key")
	assert.Equal(t, acp.StopEndTurn, reason)
	assert.Contains(t, s.peer.text(), "- `/help` What can be typed here")
	_, err = s.prompt("/context")
	require.ErrorAs(t, err, &wire)
	assert.EqualValues(t, acp.CodeAuthRequired, wire.Code)
}

func TestALogThatFailsFailsTheTurn(t *testing.T) {
	t.Parallel()
	s := newStand(t, kitOf(scripted.New(scripted.Say("a"), scripted.Say("b"))), &peer{})
	_, err := s.prompt("one")
	require.NoError(t, err)
	log := s.store.logs[s.session]
	log.mu.Lock()
	log.fail = errBroken
	log.mu.Unlock()
	for range 2 {
		_, err = s.prompt("two")
		var wire *acp.Error
		require.ErrorAs(t, err, &wire)
		assert.Contains(t, string(wire.Data), `"kind":"storage"`)
		assert.NotContains(t, err.Error(), "it broke", "details stay in the log")
	}
}

// What was logged is all there is: folding it again gives the same updates and the same history.
func TestTheLogRebuildsTheSession(t *testing.T) {
	t.Parallel()
	model := scripted.New(
		scripted.Reply{Text: []string{"let me ", "see"}, Calls: []loop.Call{loop.NewCall("", "asks", `{"x":1}`), loop.NewCall("", "nope", "")}},
		scripted.Say("done"),
	)
	s := newStand(t, kitOf(model, &tool{spec: loop.Spec{Name: "asks", Kind: loop.KindEdit}}), &peer{})
	_, err := s.prompt("go")
	require.NoError(t, err)
	live := s.peer.all()
	state, events := loop.Replay(func(yield func(loop.Input) bool) {
		for _, in := range s.store.logs[s.session].inputs {
			if !yield(in) {
				return
			}
		}
	})
	var replayed []acp.SessionUpdate
	for _, e := range events {
		if _, title := e.(loop.TitleChanged); title {
			continue
		}
		if u, ok := agent.UpdateFor(e); ok {
			replayed = append(replayed, u)
		}
	}
	assert.JSONEq(t, toJSON(t, live), toJSON(t, replayed))
	assert.True(t, state.Idle())
	requests := model.Requests()
	assert.Equal(t, toJSON(t, requests[len(requests)-1].Messages), toJSON(t, state.History()[:3]))
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}
