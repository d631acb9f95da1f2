package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
)

func ask(texts ...string) loop.Request {
	var r loop.Request
	for _, t := range texts {
		r.Messages = append(r.Messages, loop.Message{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: t}}})
	}
	return r
}

func play(ctx context.Context, m loop.Model, r loop.Request) ([]loop.Chunk, error) {
	var out []loop.Chunk
	for c, err := range m.Stream(ctx, r) {
		if err != nil {
			return out, err
		}
		out = append(out, c)
	}
	return out, nil
}

func TestPlaysRepliesInOrder(t *testing.T) {
	t.Parallel()
	call := loop.NewCall("c1", "add_item", `{"item": "latte"}`)
	m := scripted.New(
		scripted.Reply{
			Thought: []string{"Hm."}, Text: []string{"One ", "latte."}, Calls: []loop.Call{call},
			Usage: loop.Usage{Input: 3, Output: 2},
		},
		scripted.Reply{Text: []string{"cut"}, Stop: loop.StopMaxTokens},
	)
	got, err := play(t.Context(), m, ask("a latte"))
	require.NoError(t, err)
	assert.Equal(t, []loop.Chunk{
		{Kind: loop.ChunkThought, Text: "Hm."},
		{Kind: loop.ChunkText, Text: "One "},
		{Kind: loop.ChunkText, Text: "latte."},
		{Kind: loop.ChunkReply, Reply: &loop.Reply{
			Message: loop.Message{
				Role:    loop.RoleAssistant,
				Content: loop.Blocks{loop.Thought{Text: "Hm."}, loop.Text{Text: "One latte."}},
				Calls:   []loop.Call{call},
			},
			Stop:  loop.StopEndTurn,
			Usage: loop.Usage{Input: 3, Output: 2},
		}},
	}, got)
	assert.Equal(t, 1, m.Left())

	got, err = play(t.Context(), m, ask("a latte", "more"))
	require.NoError(t, err)
	assert.Equal(t, loop.StopMaxTokens, got[len(got)-1].Reply.Stop)
	assert.Equal(t, []loop.Request{ask("a latte"), ask("a latte", "more")}, m.Requests())

	_, err = play(t.Context(), m, ask("again"))
	assert.Equal(t, &loop.Failure{
		Kind: loop.FailInternal, Message: "The scripted model has 2 replies and was asked for number 3.",
	}, err)
	m.Add(scripted.Say("there"))
	got, err = play(t.Context(), m, ask("again"))
	require.NoError(t, err)
	assert.Equal(t, "there", got[0].Text)
}

func TestFailsAfterChunks(t *testing.T) {
	t.Parallel()
	fail := &loop.Failure{Kind: loop.FailOverload, Message: "busy"}
	got, err := play(t.Context(), scripted.New(scripted.Reply{Text: []string{"half"}, Fail: fail}), ask("x"))
	assert.Equal(t, []loop.Chunk{{Kind: loop.ChunkText, Text: "half"}}, got)
	assert.Equal(t, fail, err)
}

func TestHangEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		m := scripted.New(scripted.Reply{Text: []string{"half"}, Hang: true})
		var got []loop.Chunk
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			got, err = play(ctx, m, ask("x"))
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Fatal("it did not wait")
		default:
		}
		cancel(why)
		<-done
		assert.Equal(t, []loop.Chunk{{Kind: loop.ChunkText, Text: "half"}}, got)
		assert.ErrorIs(t, err, why)
	})
}

func TestConsumerMayStop(t *testing.T) {
	t.Parallel()
	m := scripted.New(scripted.Reply{Text: []string{"a", "b"}, Hang: true})
	for c, err := range m.Stream(t.Context(), ask("x")) {
		require.NoError(t, err)
		assert.Equal(t, "a", c.Text)
		break
	}
}

func TestExpectAndCheck(t *testing.T) {
	t.Parallel()
	m := scripted.New(
		scripted.Reply{Expect: "latte", Text: []string{"ok"}},
		scripted.Reply{Expect: "latte", Text: []string{"ok"}},
		scripted.Reply{Expect: "sold out", Text: []string{"ok"}},
		scripted.Reply{Check: func(r loop.Request) error { return fmt.Errorf("%d tools", len(r.Tools)) }},
	)
	_, err := play(t.Context(), m, ask("a latte"))
	require.NoError(t, err)
	got, err := play(t.Context(), m, ask("a latte", "a bun"))
	assert.Empty(t, got)
	require.EqualError(t, err, `Reply 2 of the scripted model expects "latte" in the last message, which is "a bun".`)
	_, err = play(t.Context(), m, loop.Request{Messages: []loop.Message{{
		Role: loop.RoleTool, Results: []loop.Result{loop.Failed("call_1_1", "latte is sold out")},
	}}})
	require.NoError(t, err)
	_, err = play(t.Context(), m, ask("x"))
	assert.EqualError(t, err, "Request 4 of the scripted model is not the one expected: 0 tools.")
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	const n = 50
	m := scripted.New()
	for i := range n {
		m.Add(scripted.Say(fmt.Sprint(i)))
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[string]bool{}
	for range n {
		wg.Go(func() {
			got, err := play(t.Context(), m, ask("x"))
			mu.Lock()
			defer mu.Unlock()
			if assert.NoError(t, err) {
				seen[got[0].Text] = true
			}
		})
	}
	wg.Wait()
	assert.Len(t, seen, n)
	assert.Len(t, m.Requests(), n)
	assert.Zero(t, m.Left())
}

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := scripted.Parse(strings.NewReader(strings.Join([]string{
		`{"text":"hi"}`,
		``,
		`{"thought":["a","b"],"text":["c","d"],"calls":[{"tool":"x","args":{"k":1},"ref":"r"},{"tool":"y"},{"tool":"z","args":[1]}],"stop":"max_tokens","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4}}`,
		`{"expect":"e","text":"half","error":{"kind":"overloaded","message":"busy"}}`,
		`{"hang":true}`,
		`{}`,
	}, "\n")))
	require.NoError(t, err)
	assert.Equal(t, []scripted.Reply{
		{Text: []string{"hi"}},
		{
			Thought: []string{"a", "b"}, Text: []string{"c", "d"},
			Calls: []loop.Call{
				loop.NewCall("r", "x", `{"k":1}`), loop.NewCall("", "y", ""), loop.NewCall("", "z", "[1]"),
			},
			Stop:  loop.StopMaxTokens,
			Usage: loop.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4},
		},
		{Expect: "e", Text: []string{"half"}, Fail: &loop.Failure{Kind: loop.FailOverload, Message: "busy"}},
		{Hang: true},
		{},
	}, got)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, want string }{
		{`{"texts":"x"}`, `unknown key "texts"`},
		{`{"calls":[{"name":"x"}]}`, `unknown key "name"`},
		{`{"usage":{"in":1}}`, `unknown key "in"`},
		{`{"calls":[{"args":{}}]}`, "call 1 names no tool"},
		{`{"text":1}`, "a string or a list of strings"},
		{`not json`, "not one JSON object"},
		{`[]`, "not one JSON object"},
		{`{} {}`, "one JSON object on a line"},
		{`{"stop":"cancelled"}`, "end_turn, max_tokens or refusal"},
		{`{"error":{"kind":"odd","message":"x"}}`, `kind is "odd"`},
		{`{"error":{"kind":"auth"}}`, "no message"},
		{`{"error":{"kind":"auth","message":"x"},"hang":true}`, "both"},
		{`{"hang":true,"stop":"end_turn"}`, "never ends"},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			got, err := scripted.Parse(strings.NewReader("{}\n" + c.line + "\n"))
			assert.Nil(t, got)
			require.ErrorContains(t, err, "model script, line 2: ")
			assert.ErrorContains(t, err, c.want)
		})
	}
}
