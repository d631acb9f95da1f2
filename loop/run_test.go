package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
)

func TestRunTurn(t *testing.T) {
	t.Parallel()
	sc := set(t, []loop.Tool{
		tool{spec: free("good"), run: func(_ context.Context, j loop.Job, report func(loop.Block)) (loop.Result, error) {
			report(loop.Text{Text: "half"})
			report(loop.Text{Text: "all"})
			return loop.Result{CallID: "forged", Content: loop.Blocks{loop.Text{Text: "good " + string(j.Call.Args)}}}, nil
		}},
		tool{spec: free("bad"), run: func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) {
			return text("ignored"), errors.New("no such order")
		}},
		tool{spec: free("mute"), run: func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) {
			return loop.Result{}, errors.New("")
		}},
		tool{spec: free("crash"), run: func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) { panic("boom") }},
		tool{spec: free("blind"), preview: func(context.Context, loop.Call) (loop.Preview, error) {
			return loop.Preview{}, errors.New("no such file")
		}},
		tool{spec: free("dumb"), preview: func(context.Context, loop.Call) (loop.Preview, error) {
			return loop.Preview{}, errors.New("")
		}},
		tool{spec: free("stumble"), preview: func(context.Context, loop.Call) (loop.Preview, error) { panic(errors.New("boom")) }},
		tool{spec: loop.Spec{Name: "asks"}},
	}, scripted.Reply{
		Thought: []string{"Let me", " see."}, Text: []string{"One", " moment."},
		Calls: calling("good", "bad", "mute", "crash", "blind", "dumb", "stumble", "asks", "nobody").Calls,
	}, scripted.Say("There."))
	sc.runner.Gate = says(loop.AllowOnce)
	var mu sync.Mutex
	var crashes []string
	sc.runner.Crashed = func(what string, value any, stack []byte) {
		mu.Lock()
		defer mu.Unlock()
		crashes = append(crashes, fmt.Sprint(what, ": ", value, " ", strings.Contains(string(stack), "run_test.go")))
	}
	sc.ends(t.Context(), "hi", loop.StopEndTurn)

	assert.Equal(t, map[string]string{
		"call_1_1": "good {}",
		"call_1_2": "!no such order",
		"call_1_3": "!It failed and did not say why.",
		"call_1_4": "!The tool crashed: boom.",
		"call_1_5": "!no such file",
		"call_1_6": "!It failed and did not say why.",
		"call_1_7": "!The tool crashed: boom.",
		"call_1_8": "done",
		"call_1_9": `!There is no tool "nobody". The tools are: good, bad, mute, crash, blind, dumb, stumble, asks.`,
	}, sc.results())
	assert.Equal(t, []string{"tool crash: boom true", "tool stumble: boom true"}, crashes)
	var progress []loop.Event
	for _, e := range sc.events {
		if p, ok := e.(loop.ToolProgress); ok {
			progress = append(progress, p)
		}
	}
	assert.Equal(t, []loop.Event{
		loop.ToolProgress{CallID: "call_1_1", Part: loop.Blocks{loop.Text{Text: "half"}}},
		loop.ToolProgress{CallID: "call_1_1", Part: loop.Blocks{loop.Text{Text: "all"}}},
	}, progress)
	requests := sc.model.Requests()
	require.Len(t, requests, 2)
	assert.Equal(t, sc.s.History()[:3], requests[1].Messages)
	assert.Zero(t, sc.model.Left())
}

func TestRunNeedsAnIdleState(t *testing.T) {
	t.Parallel()
	s, _ := loop.Step(loop.State{}, ask("hi"))
	r := loop.Runner{Model: scripted.New()}
	_, _, err := r.Run(t.Context(), s, ask("again"), func(context.Context, loop.Event) error { return nil })
	assert.ErrorIs(t, err, loop.ErrMidTurn)
}

// What is in the state and not in the runner (a server that went away) fails as a call, not as a turn.
func TestToolsThatWentAway(t *testing.T) {
	t.Parallel()
	sc := set(t, []loop.Tool{tool{spec: free("gone")}}, calling("gone"), scripted.Say("ok"))
	sc.runner.Tools = nil
	sc.ends(t.Context(), "hi", loop.StopEndTurn)
	assert.Equal(t, map[string]string{"call_1_1": "!The tool gone is not available now."}, sc.results())
}

func TestGate(t *testing.T) {
	t.Parallel()
	const nobody = "!Not run: this needs the user's permission, and nobody can be asked here%s. " +
		"Do not try the same in another way; say what you could not do."
	const refused = "!Not run: the user refused it. Do not try the same in another way; ask what they want instead."
	for name, row := range map[string]struct {
		gate loop.Gate
		want string
	}{
		"yes":           {says(loop.AllowOnce), "done"},
		"always":        {says(loop.AllowAlways), "done"},
		"no":            {says(loop.RejectOnce), refused},
		"never":         {says(loop.RejectAlways), refused},
		"nothing":       {says(""), refused},
		"nonsense":      {says("whatever"), refused},
		"there is none": {nil, fmt.Sprintf(nobody, "")},
		"an error, whatever else it says": {gate(func(context.Context, loop.Call, loop.Preview, []loop.Option) (loop.Outcome, error) {
			return loop.AllowOnce, errors.New("the client went away")
		}), fmt.Sprintf(nobody, " (the client went away)")},
		"a crash": {gate(func(context.Context, loop.Call, loop.Preview, []loop.Option) (loop.Outcome, error) {
			panic("boom")
		}), fmt.Sprintf(nobody, " (boom)")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran := false
			sc := set(t, []loop.Tool{tool{spec: loop.Spec{Name: "sell"}, run: func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) {
				ran = true
				return text("done"), nil
			}}}, calling("sell"), scripted.Say("ok"))
			sc.runner.Gate = row.gate
			sc.ends(t.Context(), "hi", loop.StopEndTurn)
			assert.Equal(t, map[string]string{"call_1_1": row.want}, sc.results())
			assert.Equal(t, row.want == "done", ran)
		})
	}
}

// picky asks which size, then whether that is meant, and sells.
func picky() loop.Tool {
	return tool{spec: free("sell"), run: func(_ context.Context, j loop.Job, _ func(loop.Block)) (loop.Result, error) {
		if n := len(j.Answers); n < 2 {
			q := loop.Question{ID: fmt.Sprint("q", n), Message: "Which size?", State: json.RawMessage(fmt.Sprint(n))}
			return loop.Result{}, fmt.Errorf("selling: %w", &loop.NeedsAnswer{Question: q})
		}
		out := j.Key
		for _, a := range j.Answers {
			out += fmt.Sprintf(" %s %s %s %s;", a.ID, a.Action, a.Content, a.State)
		}
		return text(out), nil
	}}
}

func TestAsker(t *testing.T) {
	t.Parallel()
	answers := asker(func(_ context.Context, c loop.Call, q loop.Question) (loop.Answer, error) {
		if q.ID == "q1" {
			return loop.Answer{Action: loop.AnswerDecline}, nil
		}
		return loop.Answer{ID: "forged", Action: loop.AnswerAccept, Content: json.RawMessage(`{"for":"` + c.ID + `"}`)}, nil
	})
	for name, row := range map[string]struct {
		asker loop.Asker
		want  string
	}{
		"answers": {answers, `key of call_1_1 q0 accept {"for":"call_1_1"} 0; q1 decline  1;`},
		"there is none": {nil, "!The tool asks: Which size? Nobody can be asked that way here: ask the user in words, then call again " +
			"with the answer."},
		"an error": {asker(func(context.Context, loop.Call, loop.Question) (loop.Answer, error) {
			return loop.Answer{}, errors.New("no forms here")
		}), "!no forms here"},
		"an error without words": {asker(func(context.Context, loop.Call, loop.Question) (loop.Answer, error) {
			return loop.Answer{Action: loop.AnswerAccept}, errors.New("")
		}), "!It failed and did not say why."},
		"a crash": {asker(func(context.Context, loop.Call, loop.Question) (loop.Answer, error) { panic("boom") }), "!Asking the user crashed: boom."},
		"content that is no JSON": {asker(func(context.Context, loop.Call, loop.Question) (loop.Answer, error) {
			return loop.Answer{Action: loop.AnswerAccept, Content: json.RawMessage("large")}, nil
		}), "!What came back is malformed (encoding a Answered input: json: error calling MarshalJSON for type json.RawMessage: " +
			"invalid character 'l' looking for beginning of value)."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc := set(t, []loop.Tool{picky()}, calling("sell"), scripted.Say("ok"))
			sc.runner.Asker = row.asker
			sc.runner.Key = func(id string) string { return "key of " + id }
			sc.ends(t.Context(), "hi", loop.StopEndTurn)
			assert.Equal(t, map[string]string{"call_1_1": row.want}, sc.results())
		})
	}
}

// What a tool hands over can be no JSON, or no block. That fails the call: neither the log nor the turn.
func TestMalformedResults(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]loop.Result{
		"raw":     {Raw: json.RawMessage("nonsense")},
		"empty":   {Raw: json.RawMessage{}},
		"nil":     {Content: loop.Blocks{nil}},
		"pointer": {Display: loop.Blocks{&loop.Text{Text: "x"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc := set(t, []loop.Tool{tool{spec: free("odd"), run: func(_ context.Context, _ loop.Job, report func(loop.Block)) (loop.Result, error) {
				report(nil)
				report(loop.Other{Raw: json.RawMessage("nonsense")})
				return result, nil
			}}}, calling("odd"), scripted.Say("ok"))
			sc.ends(t.Context(), "hi", loop.StopEndTurn)
			if name == "empty" { // no raw outcome is no fault
				assert.Equal(t, map[string]string{"call_1_1": ""}, sc.results())
				return
			}
			assert.Contains(t, sc.results()["call_1_1"], "!What came back is malformed (encoding a Finished input: ")
		})
	}
}

// stream is a model made of a function.
type stream func(context.Context, func(loop.Chunk, error) bool)

func (f stream) Stream(ctx context.Context, _ loop.Request) iter.Seq2[loop.Chunk, error] {
	return func(yield func(loop.Chunk, error) bool) { f(ctx, yield) }
}

func TestModelThatFails(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		model stream
		want  loop.Failure
	}{
		"a failure": {func(_ context.Context, yield func(loop.Chunk, error) bool) {
			yield(loop.Chunk{}, fmt.Errorf("asking: %w", &loop.Failure{Kind: loop.FailAuth, Message: "Set a key."}))
		}, loop.Failure{Kind: loop.FailAuth, Message: "Set a key."}},
		"another error": {func(_ context.Context, yield func(loop.Chunk, error) bool) {
			yield(loop.Chunk{Kind: loop.ChunkText, Text: "a"}, nil)
			yield(loop.Chunk{}, errors.New("odd"))
		}, loop.Failure{Kind: loop.FailInternal, Message: "odd"}},
		"an error without words": {func(_ context.Context, yield func(loop.Chunk, error) bool) {
			yield(loop.Chunk{}, errors.New(""))
		}, loop.Failure{Kind: loop.FailInternal, Message: "It failed and did not say why."}},
		"its own deadline is no cancel": {func(ctx context.Context, yield func(loop.Chunk, error) bool) {
			ctx, stop := context.WithTimeout(ctx, time.Minute)
			defer stop()
			<-ctx.Done()
			yield(loop.Chunk{}, ctx.Err())
		}, loop.Failure{Kind: loop.FailInternal, Message: "context deadline exceeded"}},
		"its own cancel is none either": {func(_ context.Context, yield func(loop.Chunk, error) bool) {
			yield(loop.Chunk{}, context.Canceled)
		}, loop.Failure{Kind: loop.FailInternal, Message: "context canceled"}},
		"no end": {func(_ context.Context, yield func(loop.Chunk, error) bool) {
			yield(loop.Chunk{Kind: loop.ChunkText, Text: "a"}, nil)
		}, loop.Failure{Kind: loop.FailIncomplete, Message: "The model's answer broke off before its end."}},
		"an end without a reply": {func(_ context.Context, yield func(loop.Chunk, error) bool) {
			yield(loop.Chunk{Kind: loop.ChunkReply}, nil)
		}, loop.Failure{Kind: loop.FailIncomplete, Message: "The model's answer broke off before its end."}},
		"a crash": {func(_ context.Context, yield func(loop.Chunk, error) bool) {
			yield(loop.Chunk{Kind: loop.ChunkText, Text: "a"}, nil)
			panic("boom")
		}, loop.Failure{Kind: loop.FailInternal, Message: "The model's adapter crashed (boom)."}},
		"arguments that are no JSON": {func(_ context.Context, yield func(loop.Chunk, error) bool) {
			m := loop.Message{Calls: []loop.Call{{Tool: "x", Args: json.RawMessage("{")}}}
			yield(loop.Chunk{Kind: loop.ChunkReply, Reply: &loop.Reply{Message: m}}, nil)
		}, loop.Failure{Kind: loop.FailInternal, Message: "What came back is malformed (encoding a Replied input: json: error calling " +
			"MarshalJSON for type json.RawMessage: unexpected end of JSON input)."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				sc := set(t, nil)
				sc.runner.Model = row.model
				reason, err := sc.run(t.Context(), "hi")
				assert.Empty(t, reason)
				var failure *loop.Failure
				require.ErrorAs(t, err, &failure)
				assert.Equal(t, row.want, *failure)
				sc.whole()

				sc.runner.Model = scripted.New(scripted.Reply{Text: []string{"ok"}, Check: func(r loop.Request) error {
					if r.Messages[0].Content[0] != (loop.Text{Text: "hi"}) {
						return errors.New("the first prompt is lost")
					}
					return nil
				}})
				sc.ends(t.Context(), "again", loop.StopEndTurn)
			})
		})
	}
}

// A burst of chunks comes out whole and in order, and nothing comes after the end (C009).
func TestBurst(t *testing.T) {
	t.Parallel()
	var chunks []string
	for n := range 2000 {
		chunks = append(chunks, fmt.Sprint(n, " "))
	}
	sc := set(t, []loop.Tool{tool{spec: free("last")}}, scripted.Reply{Text: chunks, Calls: calling("last").Calls}, scripted.Say("end"))
	var said strings.Builder
	over := false
	sc.on = func(e loop.Event) {
		assert.False(t, over)
		if a, ok := e.(loop.AgentText); ok {
			said.WriteString(a.Text)
		}
	}
	sc.ends(t.Context(), "hi", loop.StopEndTurn)
	over = true
	assert.Equal(t, strings.Join(chunks, "")+"end", said.String())
}

// Each of two parallel calls waits for the other to run.
func TestParallelCallsRunSideBySide(t *testing.T) {
	t.Parallel()
	meet := make(chan string)
	side := func(name string, step func(ctx context.Context) error) loop.Tool {
		spec := free(name)
		spec.Parallel = true
		return tool{spec: spec, run: func(ctx context.Context, _ loop.Job, _ func(loop.Block)) (loop.Result, error) {
			return text("met"), step(ctx)
		}}
	}
	sc := set(t, []loop.Tool{
		side("a", func(ctx context.Context) error {
			select {
			case meet <- "here":
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}),
		side("b", func(ctx context.Context) error {
			select {
			case <-meet:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}),
	}, calling("a", "b"), scripted.Say("ok"))
	sc.ends(t.Context(), "hi", loop.StopEndTurn)
	assert.Equal(t, map[string]string{"call_1_1": "met", "call_1_2": "met"}, sc.results())
}

// Serial calls never overlap, and run in the order of the reply.
func TestSerialCallsRunOneByOne(t *testing.T) {
	t.Parallel()
	var order []string // guarded by there being one at a time; the race detector would see two
	serial := func(name string) loop.Tool {
		return tool{spec: free(name), run: func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) {
			order = append(order, name)
			return text("done"), nil
		}}
	}
	sc := set(t, []loop.Tool{serial("a"), serial("b")}, calling("b", "a", "a", "b"), scripted.Say("ok"))
	sc.ends(t.Context(), "hi", loop.StopEndTurn)
	assert.Equal(t, []string{"b", "a", "a", "b"}, order)
}

// One runner plays several sessions at once.
func TestSessionsShareARunner(t *testing.T) {
	t.Parallel()
	r := &loop.Runner{
		Model: stream(func(_ context.Context, yield func(loop.Chunk, error) bool) {
			m := loop.Message{Content: loop.Blocks{loop.Text{Text: "ok"}}}
			yield(loop.Chunk{Kind: loop.ChunkReply, Reply: &loop.Reply{Message: m, Stop: loop.StopEndTurn}}, nil)
		}),
		Tools: []loop.Tool{tool{spec: free("good")}},
	}
	var group sync.WaitGroup
	for n := range 8 {
		group.Go(func() {
			var s loop.State
			for turn := range 3 {
				var reason loop.StopReason
				var err error
				s, reason, err = r.Run(t.Context(), s, ask(fmt.Sprint(n, turn)), func(context.Context, loop.Event) error { return nil })
				if assert.NoError(t, err) {
					assert.Equal(t, loop.StopEndTurn, reason)
				}
			}
			assert.Len(t, s.History(), 6)
			assert.Equal(t, loop.Text{Text: fmt.Sprint(n, 2)}, s.History()[4].Content[0])
		})
	}
	group.Wait()
}

// Tools that come while a turn runs are offered with the model's next request, behind those that were there.
func TestToolsThatComeLater(t *testing.T) {
	t.Parallel()
	found := false
	late := tool{spec: free("late")}
	find := tool{spec: free("find"), run: func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) {
		found = true
		return text("found"), nil
	}}
	sc := set(t, []loop.Tool{find}, calling("find", "late"), calling("late"), scripted.Say("ok"))
	sc.runner.Later = func() []loop.Tool {
		if found {
			return []loop.Tool{late, find}
		}
		return []loop.Tool{find}
	}
	sc.ends(t.Context(), "hi", loop.StopEndTurn)
	var offered [][]string
	for _, r := range sc.model.Requests() {
		var names []string
		for _, spec := range r.Tools {
			names = append(names, spec.Name)
		}
		offered = append(offered, names)
	}
	assert.Equal(t, [][]string{{"find"}, {"find", "late"}, {"find", "late"}}, offered)
	assert.Equal(t, map[string]string{
		"call_1_1": "found", "call_1_2": `!There is no tool "late". The tools are: find.`, "call_1_3": "done",
	}, sc.results())
}
