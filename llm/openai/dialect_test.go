package openai

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/llm/internal/llmtest"
	"github.com/cartagent/cartagent/loop"
)

// behind is a request that follows the reply: its calls got results.
func behind(t *testing.T, first loop.Request, reply *loop.Reply) loop.Request {
	t.Helper()
	said := reply.Message
	var results []loop.Result
	for i := range said.Calls {
		said.Calls[i].ID = "call_1_" + string(rune('1'+i))
		results = append(results, loop.Result{CallID: said.Calls[i].ID, Content: text("7")})
	}
	data, err := json.Marshal(said) // as after a load in a new process
	require.NoError(t, err)
	var loaded loop.Message
	require.NoError(t, json.Unmarshal(data, &loaded))
	return loop.Request{Messages: append(first.Messages, loaded, loop.Message{Role: loop.RoleTool, Results: results})}
}

// reasoningServer answers the first request with reasoning and a call, and judges the reasoning in later ones.
func reasoningServer(t *testing.T, first http.HandlerFunc, judge func(sentMessage) string) *httptest.Server {
	t.Helper()
	var s *llmtest.Server
	s, h := llmtest.Serve(t, strict, first, func(w http.ResponseWriter, r *http.Request) {
		list, err := sentMessages(s.Sent(s.Requests() - 1))
		if assert.NoError(t, err) && assert.Greater(t, len(list), 1) {
			if no := judge(list[1]); no != "" {
				llmtest.Status(400, `{"error":{"message":`+quote(no)+`,"type":"invalid_request_error"}}`)(w, r)
				return
			}
		}
		llmtest.File(t, "text.sse")(w, r)
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("last request: %s", s.Sent(s.Requests()-1))
		}
	})
	return h
}

func TestC044ReasoningGoesBackToItsProvider(t *testing.T) {
	t.Parallel()
	call := tools(oneCall("0", "x", "stock", "{}"))
	for name, c := range map[string]struct {
		events []string
		shown  string
		judge  func(sentMessage) string
	}{
		"A reasoning_content": {
			[]string{deltaOf(`"reasoning_content":"Two "`), deltaOf(`"reasoning_content":"items"`), says("ok"), call},
			"(Two )|(items)|ok",
			func(m sentMessage) string {
				if string(m.ReasoningContent) != `"Two items"` || m.Reasoning != nil {
					return "Missing reasoning_content field in the assistant message"
				}
				return ""
			},
		},
		"C reasoning": {
			[]string{deltaOf(`"reasoning":"Two items"`), call},
			"(Two items)",
			func(m sentMessage) string {
				if string(m.Reasoning) != `"Two items"` || m.ReasoningContent != nil || m.ReasoningDetails != nil {
					return "no reasoning"
				}
				return ""
			},
		},
		"C reasoning_details": {
			[]string{
				deltaOf(`"reasoning":"Two ","reasoning_details":[{"type":"reasoning.text","text":"Two ","format":"f","index":0}]`),
				deltaOf(`"reasoning":"items","reasoning_details":[{"type":"reasoning.text","text":"items","format":"f","index":0}]`),
				deltaOf(`"reasoning_details":[{"type":"reasoning.text","signature":"sig","format":"f","index":0}]`),
				deltaOf(`"reasoning_details":[{"type":"reasoning.encrypted","data":"abc","id":"rs_1","index":1}]`),
				call,
			},
			"(Two )|(items)",
			func(m sentMessage) string {
				want := `[{"format":"f","index":0,"signature":"sig","text":"Two items","type":"reasoning.text"},` +
					`{"data":"abc","id":"rs_1","index":1,"type":"reasoning.encrypted"}]`
				if string(m.ReasoningDetails) != want {
					return "bad reasoning_details: " + string(m.ReasoningDetails)
				}
				return ""
			},
		},
		"C reasoning_details alone": {
			[]string{deltaOf(`"reasoning_details":[{"type":"reasoning.summary","summary":"Two items"}]`), call},
			"(Two items)",
			func(m sentMessage) string {
				if string(m.ReasoningDetails) != `[{"summary":"Two items","type":"reasoning.summary"}]` {
					return "bad reasoning_details: " + string(m.ReasoningDetails)
				}
				return ""
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := reasoningServer(t, llmtest.Stream(append(c.events, finish("tool_calls"), "[DONE]")...), c.judge)
			m := at(t, h, Config{})
			first := llmtest.Ask("hi")
			chunks, reply, err := llmtest.Read(t.Context(), m, first)
			require.NoError(t, err)
			assert.Equal(t, c.shown, chunks)
			assert.NotContains(t, loop.TextOf(reply.Message.Content), "Two", "a thought is no text")
			second := behind(t, first, reply)
			_, _, err = llmtest.Read(t.Context(), at(t, h, Config{Reasoning: ReasoningSend}), second)
			require.NoError(t, err)

			// Another provider gets nothing of it.
			elsewhere := encode(t, model(t, Config{}), second)
			assert.NotContains(t, elsewhere, "Two")
			assert.NotContains(t, elsewhere, "reasoning")
		})
	}
}

func TestC044OneRetryTheOtherWay(t *testing.T) {
	t.Parallel()
	refuses := func(m sentMessage) string {
		if m.ReasoningContent != nil {
			return "Unknown field reasoning_content in messages[1]"
		}
		return ""
	}
	wants := func(m sentMessage) string {
		if m.ReasoningContent == nil {
			return "Missing reasoning_content in messages[1]"
		}
		return ""
	}
	t.Run("B and it is remembered", func(t *testing.T) {
		t.Parallel()
		h := reasoningServer(t, llmtest.File(t, "reasoning_tools.sse"), refuses)
		m := at(t, h, Config{})
		first := llmtest.Ask("hi")
		_, reply, err := llmtest.Read(t.Context(), m, first)
		require.NoError(t, err)
		second := behind(t, first, reply)
		_, _, err = llmtest.Read(t.Context(), m, second)
		require.NoError(t, err)
		sent := h.Config.Handler.(*llmtest.Server)
		assert.Equal(t, 3, sent.Requests())
		_, _, err = llmtest.Read(t.Context(), m, second)
		require.NoError(t, err)
		assert.Equal(t, 4, sent.Requests(), "it was right at once")
	})
	t.Run("neither way will do", func(t *testing.T) {
		t.Parallel()
		h := reasoningServer(t, llmtest.File(t, "reasoning_tools.sse"), func(sentMessage) string { return "reasoning is not for you" })
		m := at(t, h, Config{})
		first := llmtest.Ask("hi")
		_, reply, err := llmtest.Read(t.Context(), m, first)
		require.NoError(t, err)
		_, _, err = llmtest.Read(t.Context(), m, behind(t, first, reply))
		assert.Contains(t, failure(t, err).Message, "reasoning is not for you")
		assert.Equal(t, 3, h.Config.Handler.(*llmtest.Server).Requests())
		assert.False(t, m.dialect.Load().omitReasoning, "what did not help is not remembered")
	})
	for name, c := range map[string]struct {
		way   Reasoning
		judge func(sentMessage) string
		fails bool
	}{
		"configured to send":          {ReasoningSend, wants, false},
		"configured to omit":          {ReasoningOmit, refuses, false},
		"configured to send, refused": {ReasoningSend, refuses, true},
		"configured to omit, wanted":  {ReasoningOmit, wants, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := reasoningServer(t, llmtest.File(t, "reasoning_tools.sse"), c.judge)
			m := at(t, h, Config{Reasoning: c.way})
			first := llmtest.Ask("hi")
			_, reply, err := llmtest.Read(t.Context(), m, first)
			require.NoError(t, err)
			_, _, err = llmtest.Read(t.Context(), m, behind(t, first, reply))
			assert.Equal(t, c.fails, err != nil)
			assert.Equal(t, 2, h.Config.Handler.(*llmtest.Server).Requests())
		})
	}
}

func TestDialects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		has, says string
	}{
		"token limit": {`"max_tokens"`, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."},
		"usage":       {`"stream_options"`, "Unknown field: stream_options"},
		"effort":      {`"reasoning_effort"`, "this model has no reasoning_effort"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *llmtest.Server
			s, h := llmtest.Serve(t, strict, func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(string(s.Sent(s.Requests()-1)), c.has) {
					llmtest.Status(400, `{"error":{"message":`+quote(c.says)+`}}`)(w, r)
					return
				}
				llmtest.File(t, "text.sse")(w, r)
			})
			m := at(t, h, Config{MaxTokens: 5, Thinking: "low"})
			for range 2 {
				_, _, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
				require.NoError(t, err)
			}
			assert.Equal(t, 3, s.Requests())
		})
	}
}
