package openai

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
		Usage: loop.Usage{Input: 2006, Output: 300, CacheRead: 1920},
	}, reply)
}

func TestStreamsReasoningAndCalls(t *testing.T) {
	t.Parallel()
	_, m := serve(t, llmtest.File(t, "reasoning_tools.sse"))
	chunks, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("two things"))
	require.NoError(t, err)
	assert.Equal(t, "(Two items)|(, two calls.)|Looking.", chunks)
	assert.Equal(t, &loop.Reply{
		Message: loop.Message{
			Role: loop.RoleAssistant,
			Content: loop.Blocks{
				loop.Thought{
					Text: "Two items, two calls.", Provider: m.origin, State: json.RawMessage(`{"field":"reasoning_content"}`),
				},
				loop.Text{Text: "Looking."},
			},
			Calls: []loop.Call{loop.NewCall("call_00_x", "stock", `{"sku":"A"}`)},
		},
		Stop:  loop.StopEndTurn,
		Usage: loop.Usage{Input: 40, Output: 20, CacheRead: 32},
	}, reply)
}

// deltaOf is a chunk with a delta of these fields.
func deltaOf(fields string) string { return `{"choices":[{"index":0,"delta":{` + fields + `}}]}` }

func says(s string) string { return deltaOf(`"content":"` + s + `"`) }

func finish(why string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + why + `"}]}`
}

// oneCall is a delta of one call; empty index, id and name are left out.
func oneCall(index, id, name, args string) string {
	var f []string
	if index != "" {
		f = append(f, `"index":`+index)
	}
	if id != "" {
		f = append(f, `"id":"`+id+`"`)
	}
	fn := `"arguments":` + quote(args)
	if name != "" {
		fn = `"name":"` + name + `",` + fn
	}
	f = append(f, `"function":{`+fn+`}`)
	return `{` + strings.Join(f, ",") + `}`
}

func tools(list ...string) string { return deltaOf(`"tool_calls":[` + strings.Join(list, ",") + `]`) }

func quote(s string) string {
	q, _ := json.Marshal(s)
	return string(q)
}

func TestC043Assembly(t *testing.T) {
	t.Parallel()
	const a, b = `{"sku":"A"}`, `{"sku":"B"}`
	one := func(index, id, name, args string) string { return tools(oneCall(index, id, name, args)) }
	for name, c := range map[string]struct {
		events []string
		refs   [2]string
	}{
		"1 both index 0, different ids": {[]string{
			one("0", "x", "stock", ""), one("0", "x", "", `{"sku":`), one("0", "x", "", `"A"}`),
			one("0", "y", "stock", `{"sku"`), one("0", "", "", `:"B"}`),
		}, [2]string{"x", "y"}},
		"2 no index, ids on each": {[]string{
			one("", "x", "stock", `{"sku":`), one("", "x", "", `"A"}`), one("", "y", "stock", `{"sku":`), one("", "y", "", `"B"}`),
		}, [2]string{"x", "y"}},
		"2 no index, ids on the first": {[]string{
			one("", "x", "stock", `{"sku":`), one("", "", "", `"A"}`), one("", "y", "stock", `{"sku":`), one("", "", "", `"B"}`),
		}, [2]string{"x", "y"}},
		"3 index, no ids": {[]string{
			one("0", "", "stock", `{"sku":`), one("0", "", "", `"A"}`), one("1", "", "stock", `{"sku":`), one("1", "", "", `"B"}`),
		}, [2]string{"", ""}},
		"4 id on the first, then index": {[]string{
			one("0", "x", "stock", ""), one("0", "", "", a), one("1", "y", "stock", ""), one("1", "", "", b),
		}, [2]string{"x", "y"}},
		"5 all of it each time": {[]string{
			one("0", "x", "stock", `{"sku":`), one("0", "x", "stock", `"A"}`),
			one("1", "y", "stock", `{"sku":`), one("1", "y", "stock", `"B"}`),
		}, [2]string{"x", "y"}},
		"6 interleaved": {[]string{
			tools(oneCall("0", "x", "stock", ""), oneCall("1", "y", "stock", "")),
			one("0", "", "", `{"sku":`), one("1", "", "", `{"sku":`), one("0", "", "", `"A"}`), one("1", "", "", `"B"}`),
		}, [2]string{"x", "y"}},
		"7 the same id, by index": {[]string{
			one("0", "x", "stock", `{"sku":`), one("0", "x", "", `"A"}`), one("1", "x", "stock", b),
		}, [2]string{"x", "x"}},
		"7 the same id, no index": {[]string{one("", "x", "stock", a), one("", "x", "stock", b)}, [2]string{"x", "x"}},
		"7 the same id, the same index": {[]string{
			one("0", "x", "stock", a), one("0", "x", "stock", `{"sku":`), one("0", "x", "stock", `"B"}`),
		}, [2]string{"x", "x"}},
		"8 index from 1": {[]string{
			one("1", "x", "stock", `{"sku":`), one("1", "", "", `"A"}`), one("2", "y", "stock", `{"sku":`), one("2", "", "", `"B"}`),
		}, [2]string{"x", "y"}},
		"9 all once more at the end": {[]string{
			one("0", "x", "stock", `{"sku":`), one("0", "", "", `"A"}`), one("1", "y", "stock", `{"sku":`), one("1", "", "", `"B"}`),
			tools(oneCall("0", "x", "stock", `{"sku": "A"}`), oneCall("1", "y", "stock", b)),
		}, [2]string{"x", "y"}},
		"9 once more, each behind its own": {[]string{
			one("0", "x", "stock", `{"sku":"A"`), one("0", "", "", `}`), one("0", "", "", a),
			one("1", "y", "stock", b), one("1", "y", "", b),
		}, [2]string{"x", "y"}},
		"neither index nor id": {[]string{
			tools(oneCall("", "", "stock", a), oneCall("", "", "stock", b)),
		}, [2]string{"", ""}},
		"neither, in pieces": {[]string{
			one("", "", "stock", `{"sku":`), one("", "", "", `"A"}`), one("", "", "stock", `{"sku":`), one("", "", "", `"B"}`),
		}, [2]string{"", ""}},
		"a new id for each delta": {[]string{
			one("0", "x", "stock", `{"sku":`), one("0", "x1", "", `"A"}`), one("1", "y", "stock", `{"sku":`), one("1", "y1", "", `"B"}`),
		}, [2]string{"x", "y"}},
		"arguments as objects": {[]string{deltaOf(`"tool_calls":[` +
			`{"index":0,"id":"x","function":{"name":"stock","arguments":` + a + `}},` +
			`{"index":1,"id":"y","function":{"name":"stock","arguments":` + b + `}}]`)}, [2]string{"x", "y"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, m := serve(t, llmtest.Stream(append(c.events, finish("tool_calls"), "[DONE]")...))
			_, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
			require.NoError(t, err)
			assert.Equal(t, []loop.Call{
				loop.NewCall(c.refs[0], "stock", a), loop.NewCall(c.refs[1], "stock", b),
			}, reply.Message.Calls)
		})
	}
}

func TestC042EmptyArguments(t *testing.T) {
	t.Parallel()
	for name, args := range map[string]string{
		"missing": "", `empty`: `,"arguments":""`, "null": `,"arguments":null`, "blank": `,"arguments":" "`,
		"{}": `,"arguments":"{}"`, "the word null": `,"arguments":"null"`, "double coded": `,"arguments":"\"{}\""`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, m := serve(t, llmtest.Stream(deltaOf(`"tool_calls":[{"index":0,"id":"x","function":{"name":"cart_show"`+args+`}}]`),
				finish("tool_calls"), "[DONE]"))
			_, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
			require.NoError(t, err)
			assert.Equal(t, []loop.Call{loop.NewCall("x", "cart_show", "")}, reply.Message.Calls)
		})
	}
	_, m := serve(t, llmtest.Stream(tools(oneCall("0", "x", "cart_show", "[]")), finish("tool_calls"), "[DONE]"))
	_, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	require.NoError(t, err)
	assert.Equal(t, []loop.Call{loop.NewCall("x", "cart_show", "[]")}, reply.Message.Calls)
	assert.NotEmpty(t, reply.Message.Calls[0].Bad)
}

func TestC046FailuresInTheStream(t *testing.T) {
	t.Parallel()
	well := []string{says("ha"), says("lf"), finish("stop"), "[DONE]"}
	whole := `{"choices":[{"message":{"content":"half"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`
	part := tools(oneCall("0", "x", "stock", `{"sku":`))
	for name, c := range map[string]struct {
		answers []http.HandlerFunc
		chunks  string
		fails   loop.FailureKind
		tries   int
	}{
		"3 error after text":        {[]http.HandlerFunc{llmtest.Stream(says("ha"), says("lf"), `{"error":{"code":502,"message":"up k-o"}}`)}, "ha|lf", loop.FailOverload, 1},
		"3 error before text":       {[]http.HandlerFunc{llmtest.Stream(`{"error":{"code":502,"message":"up"}}`), llmtest.Stream(well...)}, "ha|lf", "", 2},
		"3 error of another form":   {[]http.HandlerFunc{llmtest.Stream(says("ha"), `{"object":"error","message":"bad","code":400}`)}, "ha", loop.FailRequest, 1},
		"3 finish_reason error":     {[]http.HandlerFunc{llmtest.Stream(says("ha"), finish("error"), "[DONE]")}, "ha", loop.FailOverload, 1},
		"4 end after text":          {[]http.HandlerFunc{llmtest.Stream(says("ha"))}, "ha", loop.FailIncomplete, 1},
		"4 end before text":         {[]http.HandlerFunc{llmtest.SSE(""), llmtest.Stream(well...)}, "ha|lf", "", 2},
		"4 connection cut":          {[]http.HandlerFunc{cutOff(says("ha"))}, "ha", loop.FailIncomplete, 1},
		"5 web page":                {[]http.HandlerFunc{llmtest.SSE("\n<!doctype html><p>hi")}, "", loop.FailRequest, 1},
		"6 plain JSON":              {[]http.HandlerFunc{llmtest.Status(200, whole)}, "half", "", 1},
		"6 plain JSON in a list":    {[]http.HandlerFunc{llmtest.Status(200, "["+whole+"]")}, "half", "", 1},
		"6 plain error":             {[]http.HandlerFunc{llmtest.Status(200, `{"error":{"message":"no"}}`), llmtest.Stream(well...)}, "ha|lf", "", 2},
		"7 cut in arguments":        {[]http.HandlerFunc{llmtest.Stream(part)}, "", loop.FailIncomplete, 4},
		"7 cut, with the end mark":  {[]http.HandlerFunc{llmtest.Stream(says("ha"), part, "[DONE]")}, "ha", loop.FailIncomplete, 1},
		"8 no finish_reason":        {[]http.HandlerFunc{llmtest.Stream(says("ha"), says("lf"), "[DONE]")}, "ha|lf", "", 1},
		"8 no end mark":             {[]http.HandlerFunc{llmtest.Stream(says("ha"), says("lf"), finish("stop"))}, "ha|lf", "", 1},
		"nothing but the end mark":  {[]http.HandlerFunc{llmtest.Stream("[DONE]")}, "", loop.FailIncomplete, 4},
		"bad JSON":                  {[]http.HandlerFunc{llmtest.Stream(says("ha"), `{"choices":`)}, "ha", loop.FailIncomplete, 1},
		"C049 no choices in a JSON": {[]http.HandlerFunc{llmtest.Status(200, `{"choices":[]}`)}, "", loop.FailIncomplete, 4},
		"503, then well":            {[]http.HandlerFunc{llmtest.Status(503, `{"error":"busy"}`), llmtest.Stream(well...)}, "ha|lf", "", 2},
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
			assert.Equal(t, c.fails, failure(t, err).Kind, err)
		})
	}
}

// cutOff sends events and then breaks the connection in the middle of another.
func cutOff(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		llmtest.Stream(events...)(w, r)
		_, _ = io.WriteString(w, `data: {"choi`)
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestC049OddChunks(t *testing.T) {
	t.Parallel()
	_, m := serve(t, llmtest.Stream(
		`{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}`, `{"choices":null}`, `[]`, `7`, `null`, `{}`,
		`{"choices":[{"index":0,"delta":null}]}`, `{"choices":[null]}`, `{"choices":{"index":0}}`,
		`{"choices":[{"index":null,"delta":{"content":"a","tool_calls":null}}]}`,
		`{"choices":[{"index":1,"delta":{"content":"other choice"}}]}`,
		deltaOf(`"content":[{"type":"text","text":"b"}],"reasoning_details":null`),
		deltaOf(`"content":{"x":1},"tool_calls":[null,{},{"index":"0"},{"index":3,"function":null}]`),
		finish("stop"),
		`{"choices":null,"usage":{"prompt_tokens":"7","completion_tokens":null,"prompt_tokens_details":null}}`,
		`{"choices":[],"usage":null}`, "[DONE]",
	))
	chunks, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	require.NoError(t, err)
	assert.Equal(t, "a|b", chunks)
	assert.Equal(t, &loop.Reply{
		Message: loop.Message{Role: loop.RoleAssistant, Content: loop.Blocks{loop.Text{Text: "ab"}}},
		Stop:    loop.StopEndTurn, Usage: loop.Usage{Input: 7},
	}, reply)
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		events []string
		stop   loop.StopReason
		calls  []loop.Call
	}{
		"length":           {[]string{says("half"), finish("length")}, loop.StopMaxTokens, nil},
		"content_filter":   {[]string{says("half"), finish("content_filter")}, loop.StopRefusal, nil},
		"refusal":          {[]string{deltaOf(`"refusal":"half"`), finish("stop")}, loop.StopRefusal, nil},
		"unknown":          {[]string{says("half"), finish("eos")}, loop.StopEndTurn, nil},
		"cut in arguments": {[]string{says("half"), tools(oneCall("0", "x", "stock", `{"sku":`)), finish("length")}, loop.StopMaxTokens, []loop.Call{llm.CutCall("x", "stock")}},
		"cut before them":  {[]string{says("half"), tools(oneCall("0", "x", "stock", "")), finish("length")}, loop.StopMaxTokens, []loop.Call{llm.CutCall("x", "stock")}},
		"whole all the same": {
			[]string{says("half"), tools(oneCall("0", "x", "stock", `{"a":1}`)), finish("length")},
			loop.StopMaxTokens,
			[]loop.Call{loop.NewCall("x", "stock", `{"a":1}`)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, m := serve(t, llmtest.Stream(append(c.events, "[DONE]")...))
			chunks, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
			require.NoError(t, err)
			assert.Equal(t, "half", chunks)
			assert.Equal(t, c.stop, reply.Stop)
			assert.Equal(t, c.calls, reply.Message.Calls)
			assert.Equal(t, text("half"), reply.Message.Content)
		})
	}
}

func TestWholeCompletion(t *testing.T) {
	t.Parallel()
	_, m := serve(t, llmtest.Status(200, `{"object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":{
		"role":"assistant","content":"Looking.","reasoning_content":"hm","tool_calls":[
		{"id":"x","type":"function","function":{"name":"stock","arguments":"{\"sku\":\"A\"}"}},
		{"id":"x","type":"function","function":{"name":"stock","arguments":"{\"sku\":\"A\"}"}}]}}],
		"usage":{"prompt_tokens":5,"completion_tokens":6}}`))
	chunks, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	require.NoError(t, err)
	assert.Equal(t, "(hm)|Looking.", chunks)
	assert.Equal(t, []loop.Call{loop.NewCall("x", "stock", `{"sku":"A"}`), loop.NewCall("x", "stock", `{"sku":"A"}`)}, reply.Message.Calls)
	assert.Equal(t, loop.Usage{Input: 5, Output: 6}, reply.Usage)
}

func TestC007CancelClosesTheStream(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"before the first byte": "", "in the middle": "data: " + says("a") + "\n\n",
		"in arguments": "data: " + tools(oneCall("0", "x", "stock", `{"sku":`)) + "\n\n",
	} {
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

func FuzzDecode(f *testing.F) {
	for _, name := range []string{"text.sse", "reasoning_tools.sse"} {
		data, err := os.ReadFile("testdata/" + name)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte("data: " + deltaOf(`"reasoning_details":[{"type":"x","text":"a"},{"type":"x","text":null}]`) + "\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := &decoder{}
		var said strings.Builder
		events := llm.NewEvents(bytes.NewReader(data))
		for {
			event, err := events.Next()
			if err != nil {
				break
			}
			chunks, _, _ := d.Event(event)
			for _, c := range chunks {
				if c.Kind == loop.ChunkText {
					said.WriteString(c.Text)
				}
			}
		}
		if reply, ok := d.Reply(); ok {
			assert.Equal(t, said.String(), loop.TextOf(reply.Message.Content))
			for _, c := range reply.Message.Calls {
				assert.True(t, json.Valid(c.Args))
			}
		}
		_, _ = (&decoder{}).Whole(data)
	})
}

func BenchmarkDecode(b *testing.B) {
	data := []byte(`{"id":"chatcmpl-stub","object":"chat.completion.chunk","created":17,"model":"m","choices":[{"index":0,"delta":{"content":"w0001 "},"finish_reason":null}]}`)
	d := &decoder{}
	b.ReportAllocs()
	for b.Loop() {
		_, _, _ = d.Event(data)
	}
}

// A long argument in many pieces takes time in proportion to its length.
func BenchmarkDecodeArguments(b *testing.B) {
	piece := []byte(tools(oneCall("0", "", "", "{ x }")))
	for b.Loop() {
		d := &decoder{}
		_, _, _ = d.Event([]byte(tools(oneCall("0", "x", "write", `{"content":"`))))
		for range 10_000 {
			_, _, _ = d.Event(piece)
		}
	}
}
