package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/llm"
	"github.com/cartagent/cartagent/llm/internal/llmtest"
	"github.com/cartagent/cartagent/loop"
)

func TestStreamsText(t *testing.T) {
	t.Parallel()
	_, m := serve(t, llmtest.File(t, "text.sse"))
	chunks, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("a large latte"))
	require.NoError(t, err)
	assert.Equal(t, "One large latte|, coming up.", chunks)
	assert.Equal(t, &loop.Reply{
		Message: loop.Message{
			Role: loop.RoleAssistant, Content: loop.Blocks{loop.Text{Text: "One large latte, coming up."}},
		},
		Stop:  loop.StopEndTurn,
		Usage: loop.Usage{Input: 2112, Output: 9, CacheRead: 2000, CacheWrite: 100},
	}, reply)
}

func TestStreamsThoughtsAndCalls(t *testing.T) {
	t.Parallel()
	s, m := serve(t, llmtest.File(t, "thinking_tools.sse"), llmtest.File(t, "text.sse"))
	first := llmtest.Ask("two things")
	chunks, reply, err := llmtest.Read(t.Context(), m, first)
	require.NoError(t, err)
	assert.Equal(t, "(Two items)|(, so two calls.)|Looking.|(And the other.)", chunks)
	thought := func(text, state string) loop.Thought {
		return loop.Thought{Text: text, Provider: m.origin, State: json.RawMessage(state)}
	}
	redacted := `{"redacted":"EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpPkNRj2YfWXGmKDxH4mPnZ5sQ7vB9URj2pLmN3kF8dW5hR7xJ0aP1oLs9yTcMnKVf2wRpEGjH9XZaBt4UvDcPrQ"}`
	require.Equal(t, &loop.Reply{
		Message: loop.Message{
			Role: loop.RoleAssistant,
			Content: loop.Blocks{
				thought("Two items, so two calls.", `{"signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds"}`),
				thought("", redacted),
				loop.Text{Text: "Looking."},
				thought("And the other.", `{"signature":"ErUBCkYIBxgCIkDQ","calls":1}`),
			},
			Calls: []loop.Call{
				loop.NewCall("toolu_01A", "stock", `{"sku":"A"}`), loop.NewCall("toolu_01B", "cart_show", ""),
			},
		},
		Stop:  loop.StopEndTurn,
		Usage: loop.Usage{Input: 40, Output: 88},
	}, reply)

	// The next request has it all back in its place, with the loop's own ids.
	said := reply.Message
	said.Calls[0].ID, said.Calls[1].ID = "call_1_1", "call_1_2"
	second := loop.Request{Messages: append(first.Messages, said, loop.Message{
		Role: loop.RoleTool, Results: []loop.Result{
			{CallID: "call_1_1", Content: loop.Blocks{loop.Text{Text: "7"}}}, loop.Failed("call_1_2", "closed"),
		},
	})}
	_, _, err = llmtest.Read(t.Context(), m, second)
	require.NoError(t, err)
	var sent struct {
		Messages []json.RawMessage `json:"messages"`
	}
	require.NoError(t, json.Unmarshal(s.Sent(1), &sent))
	assert.Equal(t, `{"role":"assistant","content":[`+
		`{"type":"thinking","thinking":"Two items, so two calls.","signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds"},`+
		strings.Replace(redacted, `{"redacted"`, `{"type":"redacted_thinking","data"`, 1)+`,`+
		`{"type":"text","text":"Looking."},`+
		`{"type":"tool_use","id":"call_1_1","name":"stock","input":{"sku":"A"}},`+
		`{"type":"thinking","thinking":"And the other.","signature":"ErUBCkYIBxgCIkDQ"},`+
		`{"type":"tool_use","id":"call_1_2","name":"cart_show","input":{}}]}`, string(sent.Messages[1]))
	assert.Equal(t, `{"role":"user","content":[`+ //nolint:testifylint // byte equality is the point: it is part of a prefix that stays the same to the byte
		`{"type":"tool_result","tool_use_id":"call_1_1","content":[{"type":"text","text":"7"}]},`+
		`{"type":"tool_result","tool_use_id":"call_1_2","content":[{"type":"text","text":"closed"}],"is_error":true}]}`,
		string(sent.Messages[2]))
}

const (
	start    = `{"type":"message_start","message":{"usage":{"input_tokens":3}}}`
	textOpen = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	half     = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"half"}}`
	callOpen = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"x","name":"stock","input":{}}}`
	argsHalf = `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"sku\":"}}`
	overload = `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded k-a"}}`
	stop     = `{"type":"message_stop"}`
)

func ends(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":5}}`
}

func TestC046FailuresInTheStream(t *testing.T) {
	t.Parallel()
	well := []string{start, textOpen, half, ends("end_turn"), stop}
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		chunks  string
		fails   loop.FailureKind
		tries   int
	}{
		"1 error after text":        {[]http.HandlerFunc{llmtest.Stream(start, textOpen, half, overload)}, "half", loop.FailOverload, 1},
		"2 error before text":       {[]http.HandlerFunc{llmtest.Stream(start, overload), llmtest.Stream(well...)}, "half", "", 2},
		"4 end after text":          {[]http.HandlerFunc{llmtest.Stream(start, textOpen, half)}, "half", loop.FailIncomplete, 1},
		"4 end before text":         {[]http.HandlerFunc{llmtest.Stream(start), llmtest.Stream(well...)}, "half", "", 2},
		"4 connection cut":          {[]http.HandlerFunc{cutOff(start, textOpen, half)}, "half", loop.FailIncomplete, 1},
		"5 web page":                {[]http.HandlerFunc{llmtest.SSE("<!doctype html><p>hi")}, "", loop.FailRequest, 1},
		"6 plain JSON":              {[]http.HandlerFunc{llmtest.Status(200, `{"type":"message","content":[{"type":"text","text":"half"}],"stop_reason":"end_turn"}`)}, "half", "", 1},
		"6 plain error":             {[]http.HandlerFunc{llmtest.Status(200, overload), llmtest.Stream(well...)}, "half", "", 2},
		"6 other JSON":              {[]http.HandlerFunc{llmtest.Status(200, `{"hello":1}`)}, "", loop.FailIncomplete, 4},
		"7 cut in arguments":        {[]http.HandlerFunc{llmtest.Stream(start, callOpen, argsHalf)}, "", loop.FailIncomplete, 4},
		"7 cut in arguments, shown": {[]http.HandlerFunc{llmtest.Stream(start, textOpen, half, callOpen, argsHalf)}, "half", loop.FailIncomplete, 1},
		"8 all but the last event":  {[]http.HandlerFunc{llmtest.Stream(start, textOpen, half, ends("end_turn"))}, "half", "", 1},
		"bad JSON":                  {[]http.HandlerFunc{llmtest.Stream(start, textOpen, half, `{"type":`)}, "half", loop.FailIncomplete, 1},
		"529, then well":            {[]http.HandlerFunc{llmtest.Status(529, overload), llmtest.Stream(well...)}, "half", "", 2},
		"500 for ever":              {[]http.HandlerFunc{llmtest.Status(500, `{}`)}, "", loop.FailOverload, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, m := serve(t, c.answers...)
			chunks, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
			assert.Equal(t, c.chunks, chunks)
			assert.Equal(t, c.tries, s.Requests())
			if c.fails == "" {
				require.NoError(t, err)
				assert.Equal(t, "half", loop.TextOf(reply.Message.Content))
				assert.Equal(t, loop.StopEndTurn, reply.Stop)
				return
			}
			assert.Nil(t, reply)
			assert.Equal(t, c.fails, failure(t, err).Kind)
		})
	}
}

// cutOff sends events and then breaks the connection in the middle of another.
func cutOff(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		llmtest.Stream(events...)(w, r)
		_, _ = io.WriteString(w, `data: {"type":"content_bl`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestC042EmptyArguments(t *testing.T) {
	t.Parallel()
	delta := func(s string) string {
		return `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":` + s + `}}`
	}
	for name, c := range map[string]struct {
		events []string
		want   loop.Call
	}{
		"no delta":      {nil, loop.NewCall("x", "stock", "")},
		"empty delta":   {[]string{delta(`""`)}, loop.NewCall("x", "stock", "")},
		"null delta":    {[]string{delta(`null`)}, loop.NewCall("x", "stock", "")},
		"array":         {[]string{delta(`"[]"`)}, loop.NewCall("x", "stock", "[]")},
		"double coded":  {[]string{delta(`"\"{}\""`)}, loop.NewCall("x", "stock", "{}")},
		"in two pieces": {[]string{delta(`"{\"a\""`), delta(`":1}"`)}, loop.NewCall("x", "stock", `{"a":1}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events := append([]string{start, callOpen}, c.events...)
			_, m := serve(t, llmtest.Stream(append(events, ends("tool_use"), stop)...))
			_, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
			require.NoError(t, err)
			assert.Equal(t, []loop.Call{c.want}, reply.Message.Calls)
		})
	}
	_, m := serve(t, llmtest.Status(200, `{"type":"message","content":[{"type":"tool_use","id":"x","name":"stock","input":{"a":1}}],"stop_reason":"max_tokens"}`))
	_, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	require.NoError(t, err)
	assert.Equal(t, []loop.Call{loop.NewCall("x", "stock", `{"a":1}`)}, reply.Message.Calls)
}

func TestC043SameIndexTwice(t *testing.T) {
	t.Parallel()
	open := func(id string) string { return strings.Replace(callOpen, `"x"`, `"`+id+`"`, 1) }
	args := func(sku string) string { return strings.Replace(argsHalf, `:"}}`, `:\"`+sku+`\"}"}}`, 1) }
	_, m := serve(t, llmtest.Stream(start, open("same"), args("A"), open("same"), args("B"), ends("tool_use"), stop))
	_, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	require.NoError(t, err)
	assert.Equal(t, []loop.Call{
		loop.NewCall("same", "stock", `{"sku":"A"}`), loop.NewCall("same", "stock", `{"sku":"B"}`),
	}, reply.Message.Calls)
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	refusal := `{"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","explanation":"No."}},"usage":null}`
	cut := loop.Call{
		Ref: "x", Tool: "stock", Args: json.RawMessage("{}"),
		Bad: "the reply reached the token limit before the arguments were complete; send the call again, in smaller pieces",
	}
	for name, c := range map[string]struct {
		events []string
		chunks string
		stop   loop.StopReason
		calls  []loop.Call
	}{
		"max_tokens":       {[]string{textOpen, half, ends("max_tokens")}, "half", loop.StopMaxTokens, nil},
		"window":           {[]string{textOpen, half, ends("model_context_window_exceeded")}, "half", loop.StopMaxTokens, nil},
		"cut in arguments": {[]string{callOpen, argsHalf, ends("max_tokens")}, "", loop.StopMaxTokens, []loop.Call{cut}},
		"cut before them":  {[]string{callOpen, ends("max_tokens")}, "", loop.StopMaxTokens, []loop.Call{cut}},
		"refusal":          {[]string{textOpen, half, refusal}, "half", loop.StopRefusal, nil},
		"silent refusal":   {[]string{refusal}, "No.", loop.StopRefusal, nil},
		"stop_sequence":    {[]string{textOpen, half, ends("stop_sequence")}, "half", loop.StopEndTurn, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, m := serve(t, llmtest.Stream(append(append([]string{start}, c.events...), stop)...))
			chunks, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
			require.NoError(t, err)
			assert.Equal(t, c.chunks, chunks)
			assert.Equal(t, c.chunks, loop.TextOf(reply.Message.Content))
			assert.Equal(t, c.stop, reply.Stop)
			assert.Equal(t, c.calls, reply.Message.Calls)
		})
	}
}

func TestC049OddEvents(t *testing.T) {
	t.Parallel()
	_, m := serve(t, llmtest.Stream(
		`{"type":"message_start","message":null}`,
		`{"type":"message_start","message":{"usage":{"input_tokens":"7","output_tokens":null,"cache_read_input_tokens":{}}}}`,
		`{"type":"never_heard_of","delta":5}`, `[]`, `7`, `null`, `"x"`, `{}`,
		`{"type":"content_block_start","index":null,"content_block":null}`,
		`{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"a"}}`,
		`{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"b"}}`,
		`{"type":"content_block_delta","index":8,"delta":{"type":"input_json_delta","partial_json":"{}"}}`,
		`{"type":"content_block_delta","index":9,"delta":null}`,
		`{"type":"content_block_delta","index":9,"delta":{"type":"odd_delta"}}`,
		`{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":{"x":1}}}`,
		`{"type":"content_block_start","index":10,"content_block":{"type":"server_tool_use","id":"s"}}`,
		`{"type":"content_block_stop","index":77}`,
		`{"type":"message_delta","delta":null,"usage":{"output_tokens":"4"}}`,
		ends("end_turn"), stop,
	))
	chunks, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	require.NoError(t, err)
	assert.Equal(t, "a|b", chunks)
	assert.Equal(t, &loop.Reply{
		Message: loop.Message{Role: loop.RoleAssistant, Content: loop.Blocks{loop.Text{Text: "ab"}}},
		Stop:    loop.StopEndTurn, Usage: loop.Usage{Input: 7, Output: 5},
	}, reply)
}

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"text.sse", "thinking_tools.sse"} {
		data, err := os.ReadFile("testdata/" + name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte(`data: {"type":"content_block_delta","index":-1,"delta":{"type":"thinking_delta","thinking":"x"}}` + "\n\n"))
	f.Add([]byte(strings.Join([]string{"data: " + textOpen, "data: " + argsHalf, "data: " + ends("end_turn"), ""}, "\n\n"))) // arguments for a text
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &decoder{}
		var text strings.Builder
		events := llm.NewEvents(bytes.NewReader(data))
		for {
			event, err := events.Next()
			if err != nil {
				break
			}
			chunks, _, _ := d.Event(event)
			for _, c := range chunks {
				if c.Kind == loop.ChunkText {
					text.WriteString(c.Text)
				}
			}
		}
		if reply, ok := d.Reply(); ok {
			var got strings.Builder
			for _, b := range reply.Message.Content {
				if x, ok := b.(loop.Text); ok {
					got.WriteString(x.Text)
				}
			}
			assert.Equal(t, text.Len(), got.Len(), "the text is what the chunks added up to")
			for _, c := range reply.Message.Calls {
				assert.True(t, json.Valid(c.Args))
			}
		}
		_, _ = (&decoder{}).Whole(data)
	})
}

func TestC007CancelClosesTheStream(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"before the first byte": "", "in the middle": "data: " + start + "\n\ndata: " + half + "\n\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived, gone := make(chan struct{}), make(chan struct{})
			_, m := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if first != "" {
					llmtest.SSE(first)(w, r)
					_ = http.NewResponseController(w).Flush()
				}
				close(arrived)
				<-r.Context().Done()
				close(gone)
			})
			why := errors.New("cancelled by the person")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				<-arrived
				cancel(why)
			}()
			_, reply, err := llmtest.Read(ctx, m, llmtest.Ask("hi"))
			assert.Nil(t, reply)
			require.ErrorIs(t, err, why)
			var f *loop.Failure
			assert.NotErrorAs(t, err, &f)
			<-gone
		})
	}
}

func TestConsumerThatStopsClosesTheStream(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	_, m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		llmtest.Stream(start, textOpen, half)(w, r)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	})
	for c, err := range m.Stream(t.Context(), llmtest.Ask("hi")) {
		require.NoError(t, err)
		assert.Equal(t, "half", c.Text)
		break
	}
	<-gone
}

func TestC024LongEvent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 20<<20)
	_, m := serve(t, llmtest.Stream(start, textOpen, strings.Replace(half, "half", long, 1), ends("end_turn"), stop))
	chunks, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	require.NoError(t, err)
	assert.Len(t, chunks, len(long))
	assert.Equal(t, loop.StopEndTurn, reply.Stop)
}

func BenchmarkDecode(b *testing.B) {
	data := []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"w0001 "}}`)
	d := &decoder{}
	_, _, _ = d.Event([]byte(textOpen))
	b.ReportAllocs()
	for b.Loop() {
		_, _, _ = d.Event(data)
	}
}
