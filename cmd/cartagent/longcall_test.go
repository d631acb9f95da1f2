package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// brewery is an MCP server of the handshake era with one tool: it wants a page opened before the first call, and tells of
// its progress, and that the person is done there, in the second one.
func brewery(t *testing.T) string {
	t.Helper()
	var calls atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Meta struct {
					Token json.RawMessage `json:"progressToken"`
				} `json:"_meta"`
			} `json:"params"`
		}
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		answer := func(member, value string) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%q:%s}`, m.ID, member, value)
		}
		send := func(kind string, messages ...string) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, strings.Join(messages, ""))
		}
		switch {
		case m.Method == "initialize":
			send("application/json", answer("result", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}`))
		case m.Method == "tools/list":
			send("application/json", answer("result", `{"tools":[{"name":"brew","inputSchema":{"type":"object"}}]}`))
		case m.Method == "tools/call" && calls.Add(1) == 1:
			send("application/json", answer("error", `{"code":-32042,"message":"pay first","data":{"elicitations":[`+
				`{"mode":"url","elicitationId":"pay-1","message":"Pay for it","url":"https://pay.example/1"}]}}`))
		case m.Method == "tools/call":
			var out []string
			for i := range 3 {
				out = append(out, fmt.Sprintf(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":`+
					`{"progressToken":%s,"progress":%d,"total":3,"message":"brew\u001bing"}}`+"\n\n", m.Params.Meta.Token, i+1))
			}
			out = append(out, `data: {"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"pay-1"}}`+"\n\n",
				"data: "+answer("result", `{"content":[{"type":"text","text":"one ale"}]}`)+"\n\n")
			send("text/event-stream", out...)
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// A client sees how far a call of an MCP server is, opens the page that it wants first, and hears that the page is done.
func TestALongCallAsAClientSeesIt(t *testing.T) {
	t.Parallel()
	p := startAgent(t, "CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+stubModel(t, []scripted.Reply{
		scripted.Ask("ales__brew", `{}`), scripted.Say("Enjoy."),
	}))
	p.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"elicitation":{"url":{}}}}}`)
	p.until(t, `"id":0`)
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"mcpServers":[{"type":"http","name":"ales","url":%q,"headers":[]}]}}`,
		p.home, brewery(t))
	var opened struct{ Result struct{ SessionID string } }
	require.NoError(t, json.Unmarshal([]byte(p.until(t, `"id":1`)), &opened))
	session := opened.Result.SessionID
	p.send(t, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"ale"}]}}`, session)
	reply := func(line, result string) {
		var m struct{ ID json.RawMessage }
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		p.send(t, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	}
	reply(p.until(t, "session/request_permission"), `{"outcome":{"outcome":"selected","optionId":"allow_once"}}`)
	page := p.until(t, "elicitation/create")
	assert.Contains(t, page, `"url":"https://pay.example/1"`)
	var asked struct {
		Params struct{ ElicitationID string }
	}
	require.NoError(t, json.Unmarshal([]byte(page), &asked))
	reply(page, `{"action":"accept"}`)
	p.until(t, `"id":2,"result":{"stopReason":"end_turn"`)
	p.end(t, p.closeInput)

	all := strings.Join(p.lines, "")
	_, after, _ := strings.Cut(all, "elicitation/create")
	last := strings.Index(after, `"text":"3 of 3: brewing"`)
	require.Positive(t, last, after)
	assert.Greater(t, strings.Index(after, `"status":"completed"`), last, "progress comes before the result")
	assert.Contains(t, after, `"text":"one ale"`)
	assert.Equal(t, 1, strings.Count(after, `"method":"elicitation/complete"`))
	assert.Contains(t, after, `"params":{"elicitationId":"`+asked.Params.ElicitationID+`"}`)
	log, err := os.ReadFile(filepath.Join(p.home, "state", "sessions", session+".jsonl"))
	require.NoError(t, err)
	assert.LessOrEqual(t, strings.Count(string(log), `"kind":"Progressed"`), 3)
}
