package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ask prompts, answers every permission request with the option of that kind, and returns what was asked about.
func (p *agentProcess) ask(t *testing.T, id int, session, text, kind string) (asked []string) {
	t.Helper()
	p.send(t, `{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`, id, session, text)
	for {
		line, err := p.out.ReadString('\n')
		require.NoError(t, err, p.stderr)
		p.lines = append(p.lines, line)
		var m struct {
			ID     int
			Method string
			Params struct {
				ToolCall struct{ Title string }
				Options  []struct{ OptionID, Name, Kind string }
			}
			Result struct{ StopReason string }
		}
		require.NoError(t, json.Unmarshal([]byte(line), &m))
		switch {
		case m.Method == "session/request_permission":
			asked = append(asked, m.Params.ToolCall.Title)
			option := ""
			for _, o := range m.Params.Options {
				if o.Kind == kind {
					option = o.OptionID
					if strings.HasSuffix(kind, "always") {
						assert.Contains(t, o.Name, "in this session", "the label says how far it reaches")
					}
				}
			}
			require.NotEmpty(t, option, line)
			p.send(t, `{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`, m.ID, option)
		case m.Method == "" && m.ID == id:
			require.Equal(t, "end_turn", m.Result.StopReason, line)
			return asked
		}
	}
}

// C014: what is always allowed is not asked about again, in this session, and nothing more than that.
func TestC014AlwaysMeansWhatItSays(t *testing.T) {
	t.Parallel()
	var replies []scripted.Reply
	commands := []string{"true ./...", "true ./...", "true ./pkg", "rm -rf build", "false x", "false x", "true ./...", "true ./..."}
	for _, c := range commands {
		args, err := json.Marshal(map[string]string{"command": c})
		require.NoError(t, err)
		replies = append(replies, scripted.Ask("terminal", string(args)), scripted.Say("done"))
	}
	env := []string{"CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + stubModel(t, replies)}
	p := startAgent(t, env...)
	session := p.open(t, "")
	assert.Equal(t, []string{"true ./..."}, p.ask(t, 10, session, "1", "allow_always"))
	assert.Empty(t, p.ask(t, 11, session, "2", "allow_once"), "the same does not ask again")
	assert.Equal(t, []string{"true ./pkg"}, p.ask(t, 12, session, "3", "allow_once"), "another argument is another command")
	assert.Equal(t, []string{"rm -rf build"}, p.ask(t, 13, session, "4", "reject_once"))
	assert.Equal(t, []string{"false x"}, p.ask(t, 14, session, "5", "reject_always"))
	assert.Empty(t, p.ask(t, 15, session, "6", "allow_once"), "what is always rejected is refused unasked")
	p.send(t, `{"jsonrpc":"2.0","id":20,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, p.home)
	var r struct{ Result struct{ SessionID string } }
	require.NoError(t, json.Unmarshal([]byte(p.until(t, `"id":20`)), &r))
	assert.Equal(t, []string{"true ./..."}, p.ask(t, 21, r.Result.SessionID, "7", "allow_once"), "another session asks")
	p.end(t, p.closeInput)

	again := startAgent(t, append(env, "CARTAGENT_STATE_DIR="+filepath.Join(p.home, "state"))...)
	again.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	again.until(t, `"id":0`)
	again.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`, session, p.home)
	again.until(t, `"id":1`)
	assert.Empty(t, again.ask(t, 2, session, "8", "reject_once"), "the session remembers in another process")
	again.end(t, again.closeInput)
	logs, err := filepath.Glob(filepath.Join(p.home, "state", "sessions", "*.jsonl"))
	require.NoError(t, err)
	for _, log := range logs {
		info, err := os.Stat(log)
		require.NoError(t, err)
		assert.Equal(t, "-rw-------", info.Mode().String())
	}
}

// C004: a dead server, and one that never answers, cost a bounded wait and are named; the good one works.
func TestC004DeadServersAreNamed(t *testing.T) {
	t.Parallel()
	p := newAgent(t, nil)
	path, err := exec.LookPath("cartagent-hasty")
	require.NoError(t, err)
	p.cmd.Path, p.cmd.Args[0] = path, path
	p.start(t)
	silent := fmt.Sprintf(`{"name":"silent","command":%q,"args":["-c","exec sleep 600"],"env":[]}`, "sh")
	session := p.open(t, silent+`,{"name":"unlicensed","command":"sh","args":["-c","echo no licence >&2; exit 3"],"env":[]},`+
		`{"type":"http","name":"far","url":"http://127.0.0.1:1/mcp","headers":[]},`+
		fmt.Sprintf(`{"name":"good","command":%q,"args":["cart"],"env":[]}`, binary(t)))
	report := ""
	for n := 10; strings.Count(report, "| connecting |") != 1; n++ {
		p.send(t, `{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"/mcp"}]}}`, n, session)
		report = p.until(t, "| good |")
		p.until(t, fmt.Sprintf(`"id":%d`, n))
	}
	assert.Contains(t, report, "| silent | connecting |")
	assert.Contains(t, report, "| good | connected | modern | 6 |")
	assert.Contains(t, report, "no licence")
	assert.Contains(t, report, "| far | failed: connecting to MCP server far")
	p.send(t, `{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"/good:catering_reply event=party"}]}}`, session)
	assert.Contains(t, p.until(t, "people"), "it needs people", "a prompt of a server is a command, and says what it needs")
	p.until(t, `"id":7`)
	p.send(t, `{"jsonrpc":"2.0","id":6,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"What do you have?"}]}}`, session)
	p.until(t, `"stopReason":"end_turn"`)
	p.end(t, p.closeInput)
}

// A server that is killed is started again, and /mcp shows how it is.
func TestAServerThatWasKilledComesBack(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("it looks into /proc")
	}
	p := startAgent(t)
	session := p.open(t, fmt.Sprintf(`{"name":"good","command":%q,"args":["cart"],"env":[]}`, binary(t)))
	id := 10
	until := func(state string) {
		for {
			id++
			p.send(t, `{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"/mcp"}]}}`, id, session)
			report := p.until(t, "| good |")
			p.until(t, fmt.Sprintf(`"id":%d`, id))
			if strings.Contains(report, "| good | "+state) {
				return
			}
		}
	}
	until("connected | modern | 6 |")
	children := descendants(p.cmd.Process.Pid)
	require.Len(t, children, 1)
	cart, err := os.FindProcess(children[0])
	require.NoError(t, err)
	require.NoError(t, cart.Kill())
	until("restarting: server good has ended (signal: killed)")
	until("connected | modern | 6 |")
	p.end(t, p.closeInput)
}
