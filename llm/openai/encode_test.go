package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/llm/internal/llmtest"
	"github.com/cartagent/cartagent/loop"
)

func model(t *testing.T, c Config) *Model {
	t.Helper()
	c.Model, c.Key = "gpt-5", "k-o"
	m, err := New(c)
	require.NoError(t, err)
	return m
}

func encode(t *testing.T, m *Model, r loop.Request) string {
	t.Helper()
	body, err := m.encode(r, *m.dialect.Load())
	require.NoError(t, err)
	return string(body)
}

func text(s string) loop.Blocks { return loop.Blocks{loop.Text{Text: s}} }

func called(id, tool, args string) loop.Call {
	c := loop.NewCall("ref", tool, args)
	c.ID = id
	return c
}

// png is enough of a picture to be known as one.
func png() []byte { return []byte("\x89PNG\r\n\x1a\n0000") }

const pngURL = `"data:image/png;base64,iVBORw0KGgowMDAw"`

func fullRequest() loop.Request {
	return loop.Request{
		System: "You sell <coffee> & tea.",
		Tools: []loop.Spec{
			{Name: "stock", Description: "Looks.", Schema: json.RawMessage(`{"type":"object","required":["sku"],"properties":{"sku":{"type":"string"},"a":{}}}`)},
			{Name: "cart_show", Schema: json.RawMessage(`{}`)},
		},
		Messages: []loop.Message{
			{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: "look at"}, loop.Image{Data: png(), MIME: "image/png"}}},
			{Role: loop.RoleAssistant, Content: text("Looking."), Calls: []loop.Call{
				called("call_1_1", "stock", `{"sku":"A"}`), called("call_1_2", "no.such", `[1]`),
			}},
			{Role: loop.RoleTool, Results: []loop.Result{
				{CallID: "call_1_1", Content: loop.Blocks{loop.Image{Data: png(), MIME: "image/png"}}, Raw: json.RawMessage(`{"left":7}`)},
				loop.Failed("call_1_2", "no such tool"),
			}},
			{Role: loop.RoleAssistant, Calls: []loop.Call{called("call_1_3", "cart_show", "")}},
			{Role: loop.RoleTool, Results: []loop.Result{{CallID: "call_1_3"}}},
			{Role: loop.RoleAssistant, Content: text("7 left.")},
			{Role: loop.RoleUser, Content: loop.Blocks{
				loop.Text{Text: "thanks"}, loop.Link{URI: "menu://today", Name: "Menu"}, loop.Audio{Data: make([]byte, 14_000), MIME: "audio/wav"},
			}},
		},
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	image := `{"type":"image_url","image_url":{"url":` + pngURL + `}}`
	want := `{"model":"gpt-5","stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":500,"reasoning_effort":"high",` +
		`"tools":[{"type":"function","function":{"name":"stock","description":"Looks.","parameters":{"type":"object","required":["sku"],"properties":{"sku":{"type":"string"},"a":{}}}}},` +
		`{"type":"function","function":{"name":"cart_show","parameters":{"type":"object","properties":{}}}}],` +
		`"messages":[{"role":"system","content":"You sell <coffee> & tea."},` +
		`{"role":"user","content":[{"type":"text","text":"look at"},` + image + `]},` +
		`{"role":"assistant","content":"Looking.","tool_calls":[` +
		`{"id":"call_1_1","type":"function","function":{"name":"stock","arguments":"{\"sku\":\"A\"}"}},` +
		`{"id":"call_1_2","type":"function","function":{"name":"no_such","arguments":"{}"}}]},` +
		`{"role":"tool","content":"(an image, in the next user message)\n\n{\"left\":7}","tool_call_id":"call_1_1"},` +
		`{"role":"tool","content":"Error: no such tool","tool_call_id":"call_1_2"},` +
		`{"role":"user","content":[{"type":"text","text":"Images from the result of call_1_1:"},` + image + `]},` +
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_1_3","type":"function","function":{"name":"cart_show","arguments":"{}"}}]},` +
		`{"role":"tool","content":"(no output)","tool_call_id":"call_1_3"},` +
		`{"role":"assistant","content":"7 left."},` +
		`{"role":"user","content":"thanks\n\n[resource link Menu: menu://today]\n\n[1 audio/wav block, 14 kB, not forwardable to this model]"}]}`
	assert.Equal(t, want, encode(t, model(t, Config{MaxTokens: 500, Thinking: "high"}), fullRequest()))
	local := encode(t, model(t, Config{MaxTokens: 500, Thinking: "off", BaseURL: "http://127.0.0.1:1/v1"}), fullRequest())
	assert.Contains(t, local, `"max_tokens":500,"reasoning_effort":"none"`)
}

// The official types read what is sent, and write the same again: nothing is misspelt.
func TestEncodeAgreesWithTheLibrary(t *testing.T) {
	t.Parallel()
	body := encode(t, model(t, Config{MaxTokens: 500, Thinking: "high"}), fullRequest())
	body = strings.Replace(body, `"stream":true,`, "", 1)  // set by the library's method
	body = strings.Replace(body, `"content":null,`, "", 1) // the library has no way to say null
	var p sdk.ChatCompletionNewParams
	require.NoError(t, json.Unmarshal([]byte(body), &p))
	require.Len(t, p.Messages, 10)
	require.NotNil(t, p.Messages[2].OfAssistant)
	assert.Equal(t, "call_1_1", p.Messages[2].OfAssistant.ToolCalls[0].OfFunction.ID)
	assert.Equal(t, "call_1_1", p.Messages[3].OfTool.ToolCallID)
	again, err := json.Marshal(p)
	require.NoError(t, err)
	assert.JSONEq(t, body, string(again))
}

// Request k+1 begins with the tools and the messages of request k, byte for byte.
func TestPrefixIsStable(t *testing.T) {
	t.Parallel()
	m := model(t, Config{})
	r := fullRequest()
	r.Messages = nil
	var before string
	for turn := range 6 {
		r.Messages = append(r.Messages, loop.Message{Role: loop.RoleUser, Content: text(fmt.Sprint("prompt ", turn))})
		for step := range 3 {
			body := encode(t, m, r)
			require.Equal(t, body, encode(t, m, r), "the same request makes the same bytes")
			if before != "" {
				assert.True(t, strings.HasPrefix(body, strings.TrimSuffix(before, "]}")), "%s\n%s", before, body)
			}
			before = body
			id := fmt.Sprintf("call_%d_%d", turn, step)
			result := loop.Result{CallID: id, Failed: step == 1}
			if step == 2 {
				result.Content = loop.Blocks{loop.Image{Data: png(), MIME: "image/png"}}
			}
			r.Messages = append(r.Messages,
				loop.Message{
					Role: loop.RoleAssistant,
					Content: loop.Blocks{
						loop.Thought{Text: "hm", Provider: m.origin, State: json.RawMessage(`{"field":"reasoning"}`)},
						loop.Text{Text: "looking"},
					},
					Calls: []loop.Call{called(id, "stock", `{"z":1,"a":2}`)},
				},
				loop.Message{Role: loop.RoleTool, Results: []loop.Result{result}},
			)
		}
		r.Messages = append(r.Messages, loop.Message{Role: loop.RoleAssistant, Content: text("done")})
	}
	// A turn that was cancelled before a word: the prompt behind it joins the user message before it.
	r.Messages = append(r.Messages, loop.Message{Role: loop.RoleUser, Content: text("one")})
	before = encode(t, m, r)
	r.Messages = append(r.Messages, loop.Message{Role: loop.RoleUser, Content: text("two")})
	assert.True(t, strings.HasPrefix(encode(t, m, r), strings.TrimSuffix(before, `"}]}`)))
}

// What the server refuses would brick the session: its check is the assertion.
func TestC048NothingEmptyIsSent(t *testing.T) {
	t.Parallel()
	user, calls := loop.RoleUser, []loop.Call{called("call_1_1", "true", "")}
	for name, msgs := range map[string][]loop.Message{
		"empty tool output": {
			{Role: user, Content: text("a")},
			{Role: loop.RoleAssistant, Calls: calls},
			{Role: loop.RoleTool, Results: []loop.Result{{CallID: "call_1_1"}}},
		},
		"blank text beside a call": {
			{Role: user, Content: text("a")},
			{Role: loop.RoleAssistant, Content: text("\n"), Calls: calls},
			{Role: loop.RoleTool, Results: []loop.Result{{CallID: "call_1_1", Content: text(" \n"), Failed: true}}},
		},
		"image, then a prompt": {
			{Role: user, Content: text("a")},
			{Role: loop.RoleAssistant, Calls: calls},
			{Role: loop.RoleTool, Results: []loop.Result{{CallID: "call_1_1", Content: loop.Blocks{loop.Image{Data: png()}}}}},
			{Role: user, Content: text("b")},
		},
		"only a link":      {{Role: user, Content: loop.Blocks{loop.Link{URI: "x://y"}}}},
		"blank prompt":     {{Role: user, Content: text("\n")}},
		"a thought alone":  {{Role: user, Content: text("a")}, {Role: loop.RoleAssistant, Content: loop.Blocks{loop.Thought{Text: "hm"}}}, {Role: user, Content: text("b")}},
		"a cancelled turn": {{Role: user, Content: text("a")}, {Role: loop.RoleAssistant}, {Role: user, Content: text("b")}},
		"missing result":   {{Role: user, Content: text("a")}, {Role: loop.RoleAssistant, Calls: calls}, {Role: user, Content: text("b")}},
		"orphan result":    {{Role: user, Content: text("a")}, {Role: loop.RoleTool, Results: []loop.Result{{CallID: "x"}}}, {Role: user, Content: text("b")}},
		"call without id":  {{Role: user, Content: text("a")}, {Role: loop.RoleAssistant, Calls: []loop.Call{{Args: json.RawMessage("{")}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, m := serve(t, llmtest.File(t, "text.sse"))
			_, _, err := llmtest.Read(t.Context(), m, loop.Request{Messages: msgs})
			require.NoError(t, err)
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   Config
		kind loop.FailureKind
		want string
	}{
		"no key":   {Config{Model: "m"}, loop.FailAuth, "OpenAI needs a key: set OPENAI_API_KEY, or choose another model."},
		"no model": {Config{Key: "k-o"}, loop.FailRequest, "No model is named: it has the form openai/NAME."},
		"bad key":  {Config{Model: "m", Key: "k o"}, loop.FailAuth, "The key in OPENAI_API_KEY has spaces or other characters in it that no key has: set it anew."},
		"bad url":  {Config{Model: "m", BaseURL: "localhost:1/v1"}, loop.FailRequest, "OPENAI_BASE_URL is no address of a server; it has the form https://host/path."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := New(c.in)
			assert.Nil(t, m)
			assert.Equal(t, &loop.Failure{Kind: c.kind, Message: c.want}, err)
		})
	}
}

func TestNothingAmbientIsTaken(t *testing.T) {
	for k, v := range map[string]string{
		"OPENAI_API_KEY": "k-env", "OPENAI_ADMIN_KEY": "k-env", "OPENAI_ORG_ID": "k-env", "OPENAI_PROJECT_ID": "k-env",
		"OPENAI_BASE_URL": "http://127.0.0.1:1", "OPENAI_CUSTOM_HEADERS": "X-Env: k-env",
	} {
		t.Setenv(k, v)
	}
	seen := make(chan http.Header, 1)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		llmtest.File(t, "text.sse")(w, r)
	}))
	t.Cleanup(h.Close)
	m, err := New(Config{Model: "local", BaseURL: h.URL, Client: h.Client()}) // no key: a local server needs none
	require.NoError(t, err)
	_, _, err = llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	require.NoError(t, err)
	var all bytes.Buffer
	header := <-seen
	require.NoError(t, header.Write(&all))
	assert.NotContains(t, all.String(), "k-env")
	assert.Empty(t, header.Values("Authorization"))
	_, err = New(Config{Model: "m"})
	assert.EqualError(t, err, "OpenAI needs a key: set OPENAI_API_KEY, or choose another model.")
}

func TestC069RefusedKeyIsNotShown(t *testing.T) {
	t.Parallel()
	s, m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{
			"code": "invalid_api_key", "message": "Incorrect API key provided: " + r.Header.Get("Authorization"),
		}})
	})
	_, _, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	f := failure(t, err)
	assert.Equal(t, loop.FailAuth, f.Kind)
	assert.Contains(t, f.Message, "refused the key in OPENAI_API_KEY (401: Incorrect API key provided: Bearer ***): set one that is valid.")
	assert.Equal(t, 1, s.Requests())
}

func TestKeyDoesNotFollowARedirect(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		assert.Fail(t, "the redirect was followed")
	}))
	t.Cleanup(other.Close)
	_, m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	_, _, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	assert.Contains(t, failure(t, err).Message, "has moved elsewhere (307): check OPENAI_BASE_URL.")
}

func TestKeylessServerThatWantsAKey(t *testing.T) {
	t.Parallel()
	h := httptest.NewServer(llmtest.Status(401, ``))
	t.Cleanup(h.Close)
	m, err := New(Config{Model: "local", BaseURL: h.URL, Client: h.Client()})
	require.NoError(t, err)
	_, _, err = llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	assert.Contains(t, failure(t, err).Message, "wants a key (401): set OPENAI_API_KEY.")
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code int
		body string
		want loop.FailureKind
	}{
		"too long":  {400, `{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 8192 tokens."}}`, loop.FailTooLong},
		"llama.cpp": {400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, loop.FailTooLong},
		"no credit": {429, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`, loop.FailLimit},
		"no model":  {404, `{"error":{"code":"model_not_found","message":"no m"}}`, loop.FailRequest},
		"text":      {400, `"nope"`, loop.FailRequest},
		"string":    {400, `{"error":"nope"}`, loop.FailRequest},
		"empty":     {500, ``, loop.FailOverload},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, m := serve(t, llmtest.Status(c.code, c.body))
			_, _, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
			assert.Equal(t, c.want, failure(t, err).Kind, err)
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	m, err := New(Config{Model: "gpt-5", Key: "k-o"})
	require.NoError(b, err)
	r := loop.Request{}
	long := strings.Repeat("hello \"world\" line\n", 50)
	for i := range 250 {
		id := fmt.Sprint("call_1_", i)
		r.Messages = append(r.Messages,
			loop.Message{Role: loop.RoleUser, Content: text(long)},
			loop.Message{Role: loop.RoleAssistant, Content: text(long), Calls: []loop.Call{called(id, "read", `{"a":1}`)}},
			loop.Message{Role: loop.RoleTool, Results: []loop.Result{{CallID: id, Content: text(long)}}},
			loop.Message{Role: loop.RoleAssistant, Content: text(long)})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.encode(r, dialect{}); err != nil {
			b.Fatal(err)
		}
	}
}
