package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cartagent/cartagent/internal/transcript"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func recordedIn(tb testing.TB, file string) *transcript.Scenario {
	tb.Helper()
	data, err := os.ReadFile(file)
	require.NoError(tb, err)
	s, err := transcript.Parse(data)
	require.NoError(tb, err)
	return s
}

// A word of the system prompt, of a tool's description or in its schema, an argument of a call, a line, a file: whatever
// is not as it was is named, by the record and the place in it.
func TestADifferenceIsNamed(t *testing.T) {
	t.Parallel()
	// swap is a word of this build that the record has otherwise.
	swap := func(raw json.RawMessage, now, then string) json.RawMessage {
		require.Contains(t, string(raw), now)
		return json.RawMessage(strings.Replace(string(raw), now, then, 1))
	}
	for name, c := range map[string]struct {
		change func(*transcript.Scenario)
		want   string
	}{
		"system prompt": {
			func(s *transcript.Scenario) {
				s.Model[0].Request = swap(s.Model[0].Request, "Answer briefly", "Answer at length")
			},
			`^model request 1 /system: recorded ".*Answer at length.*", now ".*Answer briefly.*"$`,
		},
		"description": {
			func(s *transcript.Scenario) {
				s.Model[2].Request = swap(s.Model[2].Request, "Read a file: its exact text", "Read a file: its text")
			},
			`^model request 3 /tools/0/description: recorded "Read a file: its text.*", now "Read a file: its exact text.*"$`,
		},
		"schema": {
			func(s *transcript.Scenario) {
				s.Model[1].Request = swap(s.Model[1].Request, `"path":{"type":"string"}`, `"path":{"type":"integer"}`)
			},
			`^model request 2 /tools/0/schema/properties/path/type: recorded "integer", now "string"$`,
		},
		"message": {
			func(s *transcript.Scenario) { s.Model[2].Request = swap(s.Model[2].Request, "Hallo, $1", "Hello, $1") },
			`^model request 3 /messages/2/results/0/content/0/text: recorded ".*Hello.*", now ".*Hallo.*"$`,
		},
		"arguments": {
			func(s *transcript.Scenario) { s.Calls[1].Runs[0].Job.Args = json.RawMessage(`{"path":"other.sh"}`) },
			`^tool call call_1_2 read /args/path: recorded "other.sh", now "greet.sh"$`,
		},
		"key": {
			func(s *transcript.Scenario) { s.Calls[3].Runs[0].Job.Key = "another" },
			`^tool call call_1_4 terminal /key: recorded "another", now "sess_0000000000000001/call_1_4"$`,
		},
		"call that is gone": {
			func(s *transcript.Scenario) {
				s.Calls = append(s.Calls, transcript.Call{ID: "call_9_9", Tool: "read", Runs: make([]transcript.Running, 1)})
			},
			`^tool call call_9_9 read: recorded, but now it does not run$`,
		},
		"call that is new": {
			func(s *transcript.Scenario) { s.Calls = s.Calls[:3] },
			`^tool call call_1_4 terminal: not recorded, now it is previewed with {"command":"sh test.sh"}$`,
		},
		"line": {
			func(s *transcript.Scenario) {
				s.Wire[1].Out = swap(s.Wire[1].Out, `"loadSession":true`, `"loadSession":false`)
			},
			`^wire line 2 /result/agentCapabilities/loadSession: recorded false, now true$`,
		},
		"line that is new": {
			func(s *transcript.Scenario) { s.Wire = s.Wire[:len(s.Wire)-1] },
			`^wire: nothing more is recorded, now there is {"id":2,.*"stopReason":"end_turn"`,
		},
		"file": {
			func(s *transcript.Scenario) { s.After["greet.sh"] = "#!/bin/sh\necho \"Hi, $1\"\n" },
			`^file greet.sh, line 2: recorded ".*Hi, .*", now ".*Hello, .*"$`,
		},
		"file that is gone": {
			func(s *transcript.Scenario) { s.After["more.txt"] = "x" },
			`^file more.txt: recorded, now missing$`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := recordedIn(t, "../../testdata/sessions/edit_and_test.txtar")
			c.change(s)
			r, err := playHere(t.Context(), s, nil)
			require.NoError(t, err)
			require.NotEmpty(t, r.Differences())
			assert.Regexp(t, c.want, r.Differences()[0])
		})
	}
}

// Secrets do not get into a recording, wherever they pass: not those of the environment, of the servers that the client
// passes, of files, and not one that a model spells in pieces. What is left can be replayed.
func TestARecordingHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	secrets := []string{
		"sk-planted-key-0123456789abcdef", "planted-deploy-token-77", "planted<env>\"value\"", "planted-header-value",
		"abcdefghij.planted.bearer", "planted-query-value", "planted%2Fpassword", "planted-argument", "planted-pair", "x9",
	}
	model := stubModel(t, []scripted.Reply{
		{
			Text:  []string{"The token is planted-dep", "loy-to", "ken-77, I think."},
			Calls: scripted.Ask("read", `{"path":"notes.txt"}`).Calls,
		},
		{Text: []string{"It says: authorization: Bearer abcdefghij.planted.bearer"}},
	})
	dir := t.TempDir()
	p := startAgentWith(t, []string{"--record", dir},
		"CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY="+secrets[0], "OPENAI_BASE_URL="+model, "DEPLOY_TOKEN="+secrets[1])
	require.NoError(t, os.WriteFile(filepath.Join(p.home, "notes.txt"),
		[]byte("key "+secrets[0]+"\ncurl -H 'Authorization: Bearer "+secrets[4]+"'\n"+secrets[2]+" "+secrets[3]+"\n"), 0o600))
	value, err := json.Marshal(secrets[2])
	require.NoError(t, err)
	id := p.open(t, fmt.Sprintf(`{"name":"none","command":"/no/such/server","args":["--token","planted-argument","API_KEY=planted-pair","--max-tokens","100000"],"env":[{"name":"A","value":%s},{"name":"B","value":"x9"}]},`+
		`{"type":"http","name":"far","url":"http://me:planted%%2Fpassword@127.0.0.1:1/mcp?api_key=planted-query-value","headers":[{"name":"X-Key","value":%q}]}`, value, secrets[3]))
	p.send(t, `{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"What is in notes.txt? My key is %s"}]}}`, id, secrets[0])
	p.until(t, `"id":9`)
	p.end(t, p.closeInput)
	file := filepath.Join(dir, id+".txtar")
	data, err := os.ReadFile(file)
	require.NoError(t, err, p.stderr)
	for _, s := range append(secrets[:len(secrets)-1], "loy-to", `"value":"x9"`, "planted\\u003cenv", `planted<env>\"value`) {
		assert.NotContains(t, string(data), s)
	}
	assert.Contains(t, string(data), "[secret]")
	assert.Contains(t, string(data), `"--max-tokens","100000"`, "a number is none")
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	v := replayFile(t.Context(), replayFlags{}, file)
	require.NoError(t, v.unusable)
	assert.Empty(t, v.differences)
	assert.Empty(t, v.unverified)
	assert.Equal(t, 2, v.requests)
}

// A process that is killed in mid-turn leaves a recording of the turns before, which is whole.
func TestAKilledRecordingEndsBetweenTurns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startAgentWith(t, []string{"--record", dir})
	id := p.open(t, "")
	const prompt = `{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"What is on the menu?"}]}}`
	p.send(t, prompt, 9, id)
	p.until(t, `"id":9`)
	p.send(t, strings.Replace(prompt, "What is on the menu?", "A large latte", 1), 10, id)
	p.until(t, "session/request_permission")
	require.NoError(t, p.cmd.Process.Kill())
	_ = p.cmd.Wait()
	v := replayFile(t.Context(), replayFlags{}, filepath.Join(dir, id+".txtar"))
	require.NoError(t, v.unusable)
	assert.Empty(t, v.differences)
	s := recordedIn(t, filepath.Join(dir, id+".txtar"))
	assert.Contains(t, string(s.Wire[len(s.Wire)-1].Out), `"stopReason"`)
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing half-written is left")

	// The session goes on in another process. Its recording begins with the log, and the question that was open is asked
	// again in a replay too.
	again := t.TempDir()
	q := startAgentWith(t, []string{"--record", again}, "HOME="+p.home,
		"CARTAGENT_STATE_DIR="+filepath.Join(p.home, "state"), "CARTAGENT_CONFIG_DIR="+filepath.Join(p.home, "config"))
	q.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	q.until(t, `"id":0`)
	q.send(t, `{"jsonrpc":"2.0","id":2,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`, id, p.home)
	q.until(t, `"id":2`)
	q.send(t, prompt, 3, id)
	q.until(t, "session/request_permission")
	q.send(t, `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"reject_once"}}}`)
	q.until(t, `"id":3`)
	q.end(t, q.closeInput)
	v = replayFile(t.Context(), replayFlags{}, filepath.Join(again, id+".txtar"))
	require.NoError(t, v.unusable)
	assert.Empty(t, v.differences)
	assert.NotEmpty(t, recordedIn(t, filepath.Join(again, id+".txtar")).Log)
}

// What comes from outside beside tools and replies is inside too: prompts and resources of servers, their states, modes,
// rules and skills of the person's own.
func TestWhatComesFromOutsideIsRecorded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := startAgentWith(t, []string{"--record", dir})
	config := filepath.Join(p.home, "config")
	for name, data := range map[string]string{
		"AGENTS.md":              "Be kind.\n",
		"config.json":            `{"permissions":[{"tool":"terminal","prefix":["ls"],"verdict":"allow"}],"mcpServers":{"gone":{"command":"/no/such/server"}}}`,
		"skills/tea/SKILL.md":    "---\nname: tea\ndescription: How tea is made\n---\nWith water.\n",
		"../.mcp.json":           `{"mcpServers":{"theirs":{"command":"x"}}}`,
		"../sub/.agents/x":       "",
		"../.agents/skills/none": "",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(config, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(config, name), []byte(data), 0o600))
	}
	// The configuration is read when the process starts, so another one is started.
	p.end(t, p.closeInput)
	home := p.home
	p = startAgentWith(t, []string{"--record", dir, "--allow-bypass"}, "HOME="+home, "CARTAGENT_STATE_DIR="+filepath.Join(home, "state"), "CARTAGENT_CONFIG_DIR="+config)
	p.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"session":{"notices":{}}}}}`)
	p.until(t, `"id":0`)
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, home)
	_, rest, _ := strings.Cut(p.until(t, `"id":1`), `"sessionId":"`)
	id, _, _ := strings.Cut(rest, `"`)
	for i, text := range []string{
		"/mcp", "/cart:weekly_special", "What is on @cart:menu://today", "/cart:catering_reply event=x", "/permissions", "A large latte", "/compact", "/tea please",
	} {
		p.send(t, `{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`, 100+i, id, text)
		p.until(t, fmt.Sprintf(`"id":%d`, 100+i))
		if i == 4 {
			p.send(t, `{"jsonrpc":"2.0","id":50,"method":"session/set_mode","params":{"sessionId":%q,"modeId":"bypass"}}`, id)
			p.until(t, `"id":50`)
		}
	}
	p.end(t, p.closeInput)
	file := filepath.Join(dir, id+".txtar")
	s := recordedIn(t, file)
	assert.Equal(t, "Be kind.\n", s.Config["AGENTS.md"])
	assert.Contains(t, s.Config, "skills/tea/SKILL.md")
	for range 5 {
		v := replayFile(t.Context(), replayFlags{}, file)
		require.NoError(t, v.unusable)
		require.Empty(t, v.differences)
		require.Empty(t, v.unverified)
	}
}

// Calls that run side by side end in another order each time; a replay has them end as they did. Two sessions of one
// connection get a file each, and one that was cancelled in mid-call is played to the same place.
func TestManySessionsSideBySide(t *testing.T) {
	t.Parallel()
	read := func(path string) string { return fmt.Sprintf(`{"path":%q}`, path) }
	calls := scripted.Reply{}
	for i := range 6 {
		calls.Calls = append(calls.Calls, scripted.Ask("read", read(fmt.Sprintf("f%d.txt", i))).Calls...)
	}
	calls.Calls = append(calls.Calls, scripted.Ask("list", `{}`).Calls...)
	model := stubModel(t, []scripted.Reply{
		calls,
		{Text: []string{"Read."}},
		scripted.Ask("terminal", `{"command":"echo begun; sleep 30"}`),
		{Text: []string{"Never ", "mind", "."}, Hang: true},
		calls, scripted.Say("Again."),
	})
	dir := t.TempDir()
	p := startAgentWith(t, []string{"--record", dir}, "CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+model)
	for i := range 5 {
		require.NoError(t, os.WriteFile(filepath.Join(p.home, fmt.Sprintf("f%d.txt", i)), []byte(strings.Repeat("x\n", i)), 0o600))
	}
	first := p.open(t, "")
	prompt := func(id int, session string) {
		p.send(t, `{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"Go"}]}}`, id, session)
	}
	prompt(11, first)
	p.until(t, `"id":11`)
	prompt(12, first)
	p.until(t, "session/request_permission")
	p.send(t, `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"selected","optionId":"allow_once"}}}`)
	p.until(t, "begun")
	p.send(t, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, first)
	p.until(t, `"id":12`)
	prompt(13, first)
	p.until(t, "Never ")
	p.send(t, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, first)
	p.until(t, `"id":13`)
	p.send(t, `{"jsonrpc":"2.0","id":14,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, p.home)
	_, rest, _ := strings.Cut(p.until(t, `"id":14`), `"sessionId":"`)
	second, _, _ := strings.Cut(rest, `"`)
	prompt(15, second)
	p.until(t, `"id":15`)
	p.end(t, p.closeInput)
	for range 10 {
		for _, id := range []string{first, second} {
			v := replayFile(t.Context(), replayFlags{}, filepath.Join(dir, id+".txtar"))
			require.NoError(t, v.unusable)
			require.Empty(t, v.differences, "%s", id)
		}
	}
	s := recordedIn(t, filepath.Join(dir, second+".txtar"))
	assert.Len(t, s.Model, 2, "the other session's requests are not in it")
	for _, m := range s.Wire {
		assert.NotContains(t, string(m.In)+string(m.Out), first)
	}
}

// BenchmarkReplay plays the longest of the recorded sessions.
func BenchmarkReplay(b *testing.B) {
	files, err := filepath.Glob("../../testdata/sessions/*.txtar")
	require.NoError(b, err)
	var longest *transcript.Scenario
	for _, f := range files {
		if s := recordedIn(b, f); longest == nil || len(s.Wire) > len(longest.Wire) {
			longest = s
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		r, err := playHere(b.Context(), longest, nil)
		require.NoError(b, err)
		require.Empty(b, r.Differences())
	}
	b.ReportMetric(float64(len(longest.Wire)), "lines")
}
