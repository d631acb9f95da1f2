package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/llm/internal/llmtest"
	"github.com/cartagent/cartagent/loop"
)

func model(t *testing.T, c Config) *Model {
	t.Helper()
	if c.Model == "" {
		c.Model = "claude-sonnet-4-6"
	}
	c.Key = "k-a"
	m, err := New(c)
	require.NoError(t, err)
	return m
}

func encode(t *testing.T, m *Model, r loop.Request) string {
	t.Helper()
	body, err := m.encode(r)
	require.NoError(t, err)
	return string(body)
}

// messages is the part of a body that holds the messages, as sent.
func messages(t *testing.T, body string) string {
	t.Helper()
	_, after, ok := strings.Cut(body, `"messages":`)
	require.True(t, ok)
	return strings.TrimSuffix(after, "}")
}

func text(s string) loop.Blocks { return loop.Blocks{loop.Text{Text: s}} }

func call(id, tool, args string) loop.Call {
	c := loop.NewCall("ref", tool, args)
	c.ID = id
	return c
}

// png is enough of a picture to be known as one.
func png() []byte { return []byte("\x89PNG\r\n\x1a\n0000") }

func fullRequest() loop.Request {
	return loop.Request{
		System: "You sell <coffee> & tea.",
		Tools: []loop.Spec{
			{Name: "stock", Description: "Looks.", Schema: json.RawMessage(`{"type":"object","required":["sku"],"properties":{"sku":{"type":"string"},"a":{}}}`)},
			{Name: "cart_show", Schema: json.RawMessage(`{}`)},
		},
		Messages: []loop.Message{
			{Role: loop.RoleUser, Content: loop.Blocks{
				loop.Text{Text: "look at <this> & that"},
				loop.Image{Data: png(), MIME: "image/png"},
				loop.Link{URI: "menu://today", Name: "Menu"},
				loop.Audio{Data: make([]byte, 14_000), MIME: "audio/wav"},
			}},
			{
				Role: loop.RoleAssistant, Content: text("Looking."),
				Calls: []loop.Call{call("call_1_1", "stock", `{"sku":"A"}`), call("call_1_2", "no.such", `[1]`)},
			},
			{Role: loop.RoleTool, Results: []loop.Result{
				{CallID: "call_1_1", Content: loop.Blocks{loop.Image{Data: png(), MIME: "image/png"}}, Raw: json.RawMessage(`{"left":7}`)},
				{CallID: "call_1_2", Failed: true, Content: loop.Blocks{loop.Image{Data: png(), MIME: "image/png"}, loop.Text{Text: "no such tool"}}},
			}},
			{Role: loop.RoleAssistant, Content: text("7 left.")},
			{Role: loop.RoleUser, Content: text("thanks")},
		},
	}
}

func TestEncode(t *testing.T) {
	t.Parallel()
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgowMDAw"}}`
	want := `{"model":"claude-sonnet-4-6","max_tokens":32000,"stream":true,"cache_control":{"type":"ephemeral"},` +
		`"tools":[{"name":"stock","description":"Looks.","input_schema":{"type":"object","required":["sku"],"properties":{"sku":{"type":"string"},"a":{}}}},` +
		`{"name":"cart_show","input_schema":{"type":"object","properties":{}}}],` +
		`"system":[{"type":"text","text":"You sell <coffee> & tea.","cache_control":{"type":"ephemeral"}}],` +
		`"messages":[` +
		`{"role":"user","content":[{"type":"text","text":"look at <this> & that"},` + image +
		`,{"type":"text","text":"[resource link Menu: menu://today]"},` +
		`{"type":"text","text":"[1 audio/wav block, 14 kB, not forwardable to this model]"}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"Looking."},` +
		`{"type":"tool_use","id":"call_1_1","name":"stock","input":{"sku":"A"}},` +
		`{"type":"tool_use","id":"call_1_2","name":"no_such","input":{}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1_1","content":[` + image + `,{"type":"text","text":"{\"left\":7}"}]},` +
		`{"type":"tool_result","tool_use_id":"call_1_2","content":[` +
		`{"type":"text","text":"[1 image/png block, 12 B, not forwardable to this model]"},{"type":"text","text":"no such tool"}],"is_error":true}]},` +
		`{"role":"assistant","content":[{"type":"text","text":"7 left."}]},` +
		`{"role":"user","content":[{"type":"text","text":"thanks"}]}]}`
	assert.Equal(t, want, encode(t, model(t, Config{}), fullRequest()))
}

// The official types read what is sent, and write the same again: nothing is misspelt.
func TestEncodeAgreesWithTheLibrary(t *testing.T) {
	t.Parallel()
	m := model(t, Config{Thinking: Thinking{Effort: "high"}})
	r := fullRequest()
	r.Messages[1].Content = append(loop.Blocks{
		loop.Thought{Text: "hm", Provider: m.origin, State: json.RawMessage(`{"signature":"s"}`)},
		loop.Thought{Provider: m.origin, State: json.RawMessage(`{"redacted":"r"}`)},
	}, r.Messages[1].Content...)
	body := strings.Replace(encode(t, m, r), `"stream":true,`, "", 1) // set by the library's method
	var p sdk.MessageNewParams
	require.NoError(t, json.Unmarshal([]byte(body), &p))
	require.Len(t, p.Messages, 5)
	require.NotNil(t, p.Messages[1].OfAssistant)
	assert.Equal(t, "s", p.Messages[1].OfAssistant.Content[0].OfThinking.Signature)
	assert.Equal(t, "call_1_1", p.Messages[2].OfUser.Content[0].OfToolResult.ToolUseID)
	again, err := json.Marshal(p)
	require.NoError(t, err)
	assert.JSONEq(t, body, string(again))
}

func TestThinkingParams(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   Thinking
		want string
	}{
		"default": {Thinking{}, ""},
		"off":     {Thinking{Effort: "off"}, `"thinking":{"type":"disabled"},`},
		"effort": {
			Thinking{Effort: "low", Budget: 5},
			`"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"},`,
		},
		"budget": {Thinking{Budget: 2000}, `"thinking":{"type":"enabled","budget_tokens":2000},`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := encode(t, model(t, Config{Thinking: c.in, NoCache: true, MaxTokens: 9000}), llmtest.Ask("hi"))
			assert.Equal(t, `{"model":"claude-sonnet-4-6","max_tokens":9000,"stream":true,`+c.want+
				`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`, body)
		})
	}
}

// Request k+1 begins with the system prompt, the tools and the messages of request k, byte for byte.
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
			r.Messages = append(r.Messages,
				loop.Message{
					Role: loop.RoleAssistant,
					Content: loop.Blocks{
						loop.Thought{Text: "hm", Provider: m.origin, State: json.RawMessage(`{"signature":"` + id + `"}`)},
						loop.Text{Text: "looking"},
					},
					Calls: []loop.Call{call(id, "stock", `{"z":1,"a":2}`)},
				},
				loop.Message{Role: loop.RoleTool, Results: []loop.Result{{CallID: id, Failed: step == 1}}},
			)
		}
		r.Messages = append(r.Messages, loop.Message{Role: loop.RoleAssistant, Content: text("done")})
	}
	// A turn that was cancelled before a word: the prompt behind it joins the user message before it.
	r.Messages = append(r.Messages, loop.Message{Role: loop.RoleUser, Content: text("one")})
	before = encode(t, m, r)
	r.Messages = append(r.Messages, loop.Message{Role: loop.RoleUser, Content: text("two")})
	assert.True(t, strings.HasPrefix(encode(t, m, r), strings.TrimSuffix(before, "]}]}")))
}

// What the server refuses would brick the session: its check is the assertion.
func TestC048NothingEmptyIsSent(t *testing.T) {
	t.Parallel()
	user, calls := loop.RoleUser, []loop.Call{call("call_1_1", "true", "")}
	for name, msgs := range map[string][]loop.Message{
		"empty tool output": {
			{Role: user, Content: text("a")},
			{Role: loop.RoleAssistant, Calls: calls},
			{Role: loop.RoleTool, Results: []loop.Result{{CallID: "call_1_1"}}},
		},
		"blank tool output, failed": {
			{Role: user, Content: text("a")},
			{Role: loop.RoleAssistant, Content: text("\n"), Calls: calls},
			{Role: loop.RoleTool, Results: []loop.Result{{CallID: "call_1_1", Content: text(" \n"), Failed: true}}},
		},
		"only a link":      {{Role: user, Content: loop.Blocks{loop.Link{URI: "x://y"}}}},
		"blank prompt":     {{Role: user, Content: text("\n")}},
		"no blocks":        {{Role: user}},
		"a thought alone":  {{Role: user, Content: text("a")}, {Role: loop.RoleAssistant, Content: loop.Blocks{loop.Thought{Text: "hm"}}}, {Role: user, Content: text("b")}},
		"a cancelled turn": {{Role: user, Content: text("a")}, {Role: loop.RoleAssistant}, {Role: user, Content: text("b")}},
		"missing result":   {{Role: user, Content: text("a")}, {Role: loop.RoleAssistant, Calls: calls}, {Role: user, Content: text("b")}},
		"orphan result":    {{Role: user, Content: text("a")}, {Role: loop.RoleTool, Results: []loop.Result{{CallID: "x"}}}, {Role: user, Content: text("b")}},
		"begins late":      {{Role: loop.RoleAssistant, Content: text("a")}, {Role: user, Content: text("b")}},
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

func TestC048EmptyOutputIsMarked(t *testing.T) {
	t.Parallel()
	r := loop.Request{Messages: []loop.Message{
		{Role: loop.RoleUser, Content: text("a")},
		{Role: loop.RoleAssistant, Calls: []loop.Call{call("call_1_1", "true", "")}},
		{Role: loop.RoleTool, Results: []loop.Result{{CallID: "call_1_1"}}},
	}}
	assert.Contains(t, encode(t, model(t, Config{}), r),
		`{"type":"tool_result","tool_use_id":"call_1_1","content":[{"type":"text","text":"(no output)"}]}`)
}

func TestC044ThoughtsOnlyGoHome(t *testing.T) {
	t.Parallel()
	m := model(t, Config{})
	said := func(provider, state string) string {
		return messages(t, encode(t, m, loop.Request{Messages: []loop.Message{
			{Role: loop.RoleUser, Content: text("a")},
			{Role: loop.RoleAssistant, Content: loop.Blocks{
				loop.Thought{Text: "hm", Provider: provider, State: json.RawMessage(state)}, loop.Text{Text: "b"},
			}},
		}}))
	}
	assert.Contains(t, said("anthropic", `{"signature":"s"}`), `{"type":"thinking","thinking":"hm","signature":"s"}`)
	for _, c := range [][2]string{
		{"openai", `{"field":"reasoning_content"}`},
		{"anthropic https://elsewhere.example", `{"signature":"s"}`},
		{"anthropic", `{}`},
		{"anthropic", ``},
		{"anthropic", `nonsense`},
		{"", ``},
	} {
		assert.NotContains(t, said(c[0], c[1]), "hm", c)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in   Config
		kind loop.FailureKind
		want string
	}{
		"no key":   {Config{Model: "m"}, loop.FailAuth, "Anthropic needs a key: set ANTHROPIC_API_KEY, or choose another model."},
		"no model": {Config{Key: "k-a"}, loop.FailRequest, "No model is named: it has the form anthropic/NAME."},
		"bad key":  {Config{Model: "m", Key: "k-a\nx"}, loop.FailAuth, "The key in ANTHROPIC_API_KEY has spaces or other characters in it that no key has: set it anew."},
		"bad url":  {Config{Model: "m", Key: "k-a", BaseURL: "host"}, loop.FailRequest, "ANTHROPIC_BASE_URL is no address of a server; it has the form https://host/path."},
		"budget":   {Config{Model: "m", Key: "k-a", Thinking: Thinking{Budget: 50_000}}, loop.FailRequest, "The budget for thinking must be smaller than the most tokens of a reply."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := New(c.in)
			assert.Nil(t, m)
			assert.Equal(t, &loop.Failure{Kind: c.kind, Message: c.want}, err)
		})
	}
}

func TestC069RefusedKeyIsNotShown(t *testing.T) {
	t.Parallel()
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{
			"type": "authentication_error", "message": "invalid x-api-key: " + r.Header.Get("X-Api-Key"),
		}})
	}
	s, m := serve(t, echo)
	_, _, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	f := failure(t, err)
	assert.Equal(t, loop.FailAuth, f.Kind)
	assert.Contains(t, f.Message, "refused the key in ANTHROPIC_API_KEY (401: invalid x-api-key: ***): set one that is valid.")
	assert.Equal(t, 1, s.Requests())
}

func TestStatuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code int
		body string
		want loop.FailureKind
	}{
		"too long":  {400, `{"error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, loop.FailTooLong},
		"too large": {413, `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, loop.FailTooLong},
		"no model":  {404, `{"error":{"type":"not_found_error","message":"model: x"}}`, loop.FailRequest},
		"bad":       {400, `{"error":{"type":"invalid_request_error","message":"no"}}`, loop.FailRequest},
		"not JSON":  {400, `nope`, loop.FailRequest},
		"moved":     {307, ``, loop.FailRequest},
		"limit":     {429, `{"error":{"type":"rate_limit_error","message":"slow"}}`, loop.FailLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, m := serve(t, llmtest.Status(c.code, c.body))
			_, _, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
			assert.Equal(t, c.want, failure(t, err).Kind, err)
		})
	}
}

func TestNothingAmbientIsTaken(t *testing.T) {
	for k, v := range map[string]string{
		"ANTHROPIC_API_KEY": "k-env", "ANTHROPIC_AUTH_TOKEN": "k-env", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
		"ANTHROPIC_CUSTOM_HEADERS": "X-Env: k-env", "ANTHROPIC_PROFILE": "k-env",
	} {
		t.Setenv(k, v)
	}
	seen := make(chan http.Header, 1)
	_, m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header
		llmtest.File(t, "text.sse")(w, r)
	})
	_, _, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	require.NoError(t, err)
	var all bytes.Buffer
	require.NoError(t, (<-seen).Write(&all))
	assert.NotContains(t, all.String(), "k-env")
	_, err = New(Config{Model: "m"})
	assert.EqualError(t, err, "Anthropic needs a key: set ANTHROPIC_API_KEY, or choose another model.")
}

func TestMaxTokens(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"claude-3-haiku-20240307": 4096, "claude-3-5-haiku-latest": 8192, "claude-3-7-sonnet-latest": 32_000,
		"claude-sonnet-4-6": 32_000, "claude-opus-5-5": 32_000, "other": 32_000,
	} {
		assert.Equal(t, want, maxTokens(name), name)
	}
}

func BenchmarkEncode(b *testing.B) {
	m, err := New(Config{Model: "claude-sonnet-4-6", Key: "k-a"})
	require.NoError(b, err)
	r := loop.Request{}
	long := strings.Repeat("hello \"world\" line\n", 50)
	for i := range 250 {
		id := fmt.Sprint("call_1_", i)
		r.Messages = append(r.Messages,
			loop.Message{Role: loop.RoleUser, Content: text(long)},
			loop.Message{Role: loop.RoleAssistant, Content: text(long), Calls: []loop.Call{call(id, "read", `{"a":1}`)}},
			loop.Message{Role: loop.RoleTool, Results: []loop.Result{{CallID: id, Content: text(long)}}},
			loop.Message{Role: loop.RoleAssistant, Content: text(long)})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.encode(r); err != nil {
			b.Fatal(err)
		}
	}
}
