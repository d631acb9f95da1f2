package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// curious is a modern MCP server over stdio whose one prompt and one resource want to know a size first.
func curious() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				InputResponses map[string]struct {
					Action  string
					Content struct{ Size string }
				}
				RequestState string
			}
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := object{"resultType": "complete", "ttlMs": 60000, "cacheScope": "private"}
		answer, answered := m.Params.InputResponses["k"]
		switch m.Method {
		case "server/discover":
			result["supportedVersions"], result["serverInfo"] = []string{"2026-07-28"}, object{"name": "asks", "version": "1"}
			result["capabilities"] = object{"prompts": object{}, "resources": object{}, "tools": object{}}
		case "prompts/list":
			result["prompts"] = []object{{"name": "order"}}
		case "tools/list", "resources/list", "resources/templates/list":
			result[map[string]string{"tools/list": "tools", "resources/list": "resources"}[m.Method]] = []object{}
			result["resourceTemplates"] = []object{}
		case "prompts/get", "resources/read":
			if !answered || m.Params.RequestState != "s1" {
				result = object{"resultType": "input_required", "requestState": "s1", "inputRequests": object{"k": object{
					"method": "elicitation/create", "params": object{
						"mode": "form", "message": "Which size?", "requestedSchema": object{
							"type":       "object",
							"properties": object{"size": object{"type": "string", "enum": []string{"small", "large"}}}, "required": []string{"size"},
						},
					},
				}}}
				break
			}
			said := fmt.Sprintf("%s: %s %s", m.Method, answer.Action, answer.Content.Size)
			result["messages"] = []object{{"role": "user", "content": object{"type": "text", "text": said}}}
			result["contents"] = []object{{"uri": "menu://x", "text": said}}
		}
		line, _ := json.Marshal(object{"jsonrpc": "2.0", "id": m.ID, "result": result})
		_, _ = fmt.Println(string(line)) //nolint:forbidigo // it is a server
	}
}

// What a server wants to know before a prompt, or before a resource that the prompt names, the person is asked; and a
// recording of it replays, with the question to the client and without the server.
func TestAServerAsksBeforeAPrompt(t *testing.T) {
	t.Parallel()
	server, err := exec.LookPath("cartagent-asks")
	require.NoError(t, err)
	order, read := scripted.Say("noted"), scripted.Say("read")
	order.Expect, read.Expect = "prompts/get: accept large", "resources/read: accept large"
	dir := t.TempDir()
	p := startAgentWith(t, []string{"--record", dir},
		"CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=key-of-a-test", "OPENAI_BASE_URL="+stubModel(t, []scripted.Reply{order, read}))
	p.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"elicitation":{"form":{}}}}}`)
	p.until(t, `"id":0`)
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"mcpServers":[{"name":"asks","command":%q,"args":[],"env":[]}]}}`, p.home, server)
	var opened struct{ Result struct{ SessionID string } }
	require.NoError(t, json.Unmarshal([]byte(p.until(t, `"id":1`)), &opened))
	id := opened.Result.SessionID
	p.until(t, "asks:order")
	for i, text := range []string{"/asks:order", "Read @asks:menu://x"} {
		n := 2 + i
		p.send(t, `{"jsonrpc":"2.0","id":"%d","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`, n, id, text)
		var question struct{ ID json.RawMessage }
		line := p.until(t, "elicitation/create")
		assert.Contains(t, line, "asks asks: Which size?")
		require.NoError(t, json.Unmarshal([]byte(line), &question))
		p.send(t, `{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"size":"large"}}}`, question.ID)
		assert.Contains(t, p.until(t, fmt.Sprintf(`"id":"%d"`, n)), "end_turn")
	}
	p.end(t, p.closeInput)

	v := replayFile(t.Context(), replayFlags{}, filepath.Join(dir, id+".txtar"))
	require.NoError(t, v.unusable)
	assert.Empty(t, v.differences)
	assert.Empty(t, v.unverified)
}
