package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The trace context of a prompt goes on to the provider's headers and to the _meta of MCP calls, and only there.
func TestTraceContextGoesOn(t *testing.T) {
	t.Parallel()
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	replies := []scripted.Reply{scripted.Ask("tap__create_order", "{}"), scripted.Say("done")}
	headers := make(chan http.Header, 4)
	bodies := make(chan string, 4)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body json.RawMessage
		assert.NoError(t, json.NewDecoder(r.Body).Decode(&body))
		headers <- r.Header.Clone()
		bodies <- string(body)
		reply := replies[0]
		replies = replies[1:]
		serveReply(w, r, reply)
	}))
	defer server.Close()
	p := startAgent(t, "CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+server.URL+"/v1")
	tapped := filepath.Join(p.home, "tapped")
	session := p.open(t, fmt.Sprintf(`{"name":"tap","command":"sh","args":["-c","tee %s | exec %s cart"],"env":[]}`, tapped, binary(t)))
	p.send(t, `{"jsonrpc":"2.0","id":2,"method":"session/set_mode","params":{"sessionId":%q,"modeId":"ask"}}`, session)
	p.until(t, `"id":2`)
	p.send(t, `{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"_meta":{"traceparent":%q,"tracestate":7,"other":"x"},`+
		`"prompt":[{"type":"text","text":"go"}]}}`, session, parent)
	p.until(t, "request_permission")
	p.send(t, `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}}`)
	p.until(t, `"stopReason":"end_turn"`)
	p.end(t, p.closeInput)
	for range 2 {
		h := <-headers
		assert.Equal(t, parent, h.Get("Traceparent"))
		assert.Empty(t, h.Get("Tracestate"), "a malformed part is left out")
		assert.NotContains(t, <-bodies, parent)
	}
	sent, err := os.ReadFile(tapped)
	require.NoError(t, err)
	assert.Contains(t, string(sent), `"traceparent":"`+parent+`"`)
}

// C005: the end of the input in mid-turn ends the turn, the command that it runs, and the process; the log is whole.
func TestC005TheEndInMidTurn(t *testing.T) {
	t.Parallel()
	p := startAgent(t, "CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+stubModel(t, []scripted.Reply{
		scripted.Ask("terminal", `{"command":"echo begun; sleep 600"}`),
	}))
	session := p.open(t, fmt.Sprintf(`{"name":"shop","command":%q,"args":["cart"],"env":[]}`, binary(t)))
	p.send(t, `{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}}`, session)
	p.until(t, "request_permission")
	p.send(t, `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}}`)
	p.until(t, "begun")
	children := descendants(p.cmd.Process.Pid)
	p.end(t, p.closeInput)
	assert.Contains(t, p.lines[len(p.lines)-1], `"id":3,"result":{"stopReason":"cancelled"}`)
	for _, pid := range children {
		assert.Contains(t, []string{"", "Z"}, processState(pid), "process %d is left", pid)
	}
	log, err := os.ReadFile(filepath.Join(p.home, "state", "sessions", session+".jsonl"))
	require.NoError(t, err)
	assert.Equal(t, byte('\n'), log[len(log)-1])
	assert.Contains(t, string(log), `"kind":"Interrupted"`)
}
