package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/internal/transcript"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/session"
	"github.com/charmbracelet/log"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite what comes out in scripts and recorded sessions, for review as a diff")

// TestSessions plays every recorded session four ways: its inputs through the pure core, its client's half against the
// agent in this process, the same against the real binary, and as `cartagent replay` does, with nothing but the record.
func TestSessions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../testdata/sessions/*.txtar")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 8)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			s, err := transcript.Parse(data)
			require.NoError(t, err)
			if *update {
				rewrite(t, file, s)
			}
			t.Run("core", func(t *testing.T) { t.Parallel(); playCore(t, s) })
			t.Run("process", func(t *testing.T) { t.Parallel(); playInProcess(t, s) })
			t.Run("binary", func(t *testing.T) { t.Parallel(); playBinary(t, s) })
			t.Run("replay", func(t *testing.T) { t.Parallel(); playRecord(t, s) })
		})
	}
}

// playCore folds the inputs and holds the updates that they cause against those on the wire.
func playCore(t *testing.T, s *transcript.Scenario) {
	t.Helper()
	inputs, err := s.LoopInputs()
	require.NoError(t, err)
	require.NotEmpty(t, inputs)
	state, events := loop.Replay(slices.Values(inputs))
	assert.True(t, state.Idle(), "the last turn has ended")
	var want []string
	for _, m := range s.Wire {
		// The commands are news of the shell's, not of the log's.
		if strings.Contains(string(m.Out), `"method":"session/update"`) && !strings.Contains(string(m.Out), `"available_commands_update"`) {
			want = append(want, string(m.Out))
		}
	}
	id := "sess_" + strings.Repeat("0", 15) + "1"
	var got []string
	for _, e := range events {
		if u, ok := agent.UpdateFor(e); ok {
			line, err := json.Marshal(map[string]any{
				"jsonrpc": "2.0", "method": "session/update",
				"params": &acp.SessionNotification{SessionID: acp.SessionID(id), Update: u},
			})
			require.NoError(t, err)
			got = append(got, string(line))
		}
	}
	require.Len(t, got, len(want))
	for i := range want {
		require.Empty(t, transcript.Difference([]byte(want[i]), []byte(got[i])), "update %d", i+1)
	}
}

// playRecord plays the session with nothing but the record: its requests to the model, its calls and its files are
// compared too, and nothing is left out.
func playRecord(t *testing.T, s *transcript.Scenario) {
	t.Helper()
	r, err := playHere(t.Context(), s, nil)
	require.NoError(t, err)
	assert.Empty(t, r.Differences())
	assert.Empty(t, r.Unverified())
	assert.NotEmpty(t, s.Model)
	for i, x := range s.Model {
		assert.NotNil(t, x.Request, "model request %d is recorded", i+1)
	}
}

// repliesOf are what the model said, for a scripted one that plays them.
func repliesOf(t *testing.T, s *transcript.Scenario) []scripted.Reply {
	t.Helper()
	var out []scripted.Reply
	for _, x := range s.Model {
		r := scripted.Reply{Fail: x.Failure, Hang: x.Failure == nil && x.Reply == nil, Expect: expectedIn(t, x.Request)}
		for _, c := range x.Chunks {
			if c.Thought != nil {
				r.Thought = append(r.Thought, *c.Thought)
			} else {
				r.Text = append(r.Text, *c.Text)
			}
		}
		if x.Reply != nil {
			r.Calls, r.Stop, r.Usage = x.Reply.Message.Calls, x.Reply.Stop, x.Reply.Usage
		}
		out = append(out, r)
	}
	return out
}

// expectedIn is something that stands in the last message of a request, in whatever form a provider wants that.
func expectedIn(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	if raw == nil {
		return "" // it is being written
	}
	var req loop.Request
	require.NoError(t, json.Unmarshal(raw, &req))
	last := req.Messages[len(req.Messages)-1]
	text := loop.TextOf(last.Content)
	for _, r := range last.Results {
		text = loop.TextOf(r.Content)
	}
	for word := range strings.FieldsSeq(text) {
		if len(word) > 3 && !strings.ContainsFunc(word, func(r rune) bool { return r != '.' && (r < 'a' || r > 'z') }) {
			return word
		}
	}
	return ""
}

// scene is a workspace, and an agent in this process that works in it.
type scene struct {
	names *transcript.Names
	work  string
	store *session.Mem
	agent io.ReadWriteCloser
	end   func()
	taken *transcript.Scenario // what was recorded of it, where it was
}

func newScene(t *testing.T, s *transcript.Scenario, record bool) *scene {
	t.Helper()
	work := workspace(t, s)
	sc := &scene{names: transcript.NewNames(work), work: work, store: session.NewMem(session.Options{})}
	cfg, err := loadConfig(func(name string) string {
		return map[string]string{"CARTAGENT_CONFIG_DIR": t.TempDir(), "CARTAGENT_STATE_DIR": t.TempDir()}[name]
	}, flags{})
	require.NoError(t, err)
	p := newProgram(cfg, log.New(io.Discard))
	p.own, p.patience = func() (string, error) { return binary(t), nil }, time.Minute
	p.now = func() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC) }
	p.store = func() (session.Store, error) { return sc.store, nil }
	if s.Manifest.Model != offlineModel {
		model := scripted.New(repliesOf(t, s)...)
		cfg.Model = s.Manifest.Model
		p.models.made[[2]string{cfg.Model, ""}] = model
		t.Cleanup(func() { assert.Zero(t, model.Left(), "every reply of model.jsonl is asked for") })
	}
	agentEnd, clientEnd := acp.Pipe()
	sc.agent = clientEnd
	recorded := func() {}
	if record {
		r := p.record(nil, func(err error) { t.Error(err) })
		r.whole, r.wrote = true, func(taken *transcript.Scenario) { sc.taken = taken }
		agentEnd, recorded = r.conn(agentEnd), r.close
	}
	served := make(chan *agent.Agent, 1)
	done := make(chan error, 1)
	go func() {
		done <- acp.Serve(context.Background(), agentEnd, func(c *acp.ClientConn) acp.Agent {
			a := agent.New(c, p.options())
			served <- a
			return a
		}, acp.Options{})
	}()
	sc.end = func() {
		require.NoError(t, clientEnd.Close())
		require.NoError(t, <-done)
		require.NoError(t, (<-served).Close())
		recorded()
	}
	return sc
}

func workspace(t *testing.T, s *transcript.Scenario) string {
	t.Helper()
	work, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, transcript.WriteFiles(work, s.Before))
	return work
}

func playInProcess(t *testing.T, s *transcript.Scenario) {
	t.Helper()
	sc := newScene(t, s, false)
	require.NoError(t, transcript.Play(s, sc.agent, sc.names))
	sc.end()
	assertAfter(t, s, sc.work)
	got, err := transcript.Records(sc.inputs(t), sc.names)
	require.NoError(t, err)
	require.Len(t, got, len(s.Inputs))
	for i := range got {
		require.Equal(t, s.Inputs[i].Kind, got[i].Kind)
		require.Empty(t, transcript.Difference(s.Inputs[i].Body, got[i].Body), "input %d, %s", i+1, got[i].Kind)
	}
}

func (sc *scene) inputs(t *testing.T) []loop.Input {
	t.Helper()
	stored, err := sc.store.List(t.Context(), session.Filter{})
	require.NoError(t, err)
	require.Len(t, stored.Sessions, 1, "a scenario has one session")
	var inputs []loop.Input
	for in, err := range sc.store.Inputs(t.Context(), stored.Sessions[0].ID, 0) {
		require.NoError(t, err)
		inputs = append(inputs, in)
	}
	return inputs
}

// playBinary plays against `cartagent acp`. A scripted model is a provider on loopback for it.
func playBinary(t *testing.T, s *transcript.Scenario) {
	t.Helper()
	work := workspace(t, s)
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary(t), "acp")
	cmd.Dir = work
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CARTAGENT_LOG=debug",
		"CARTAGENT_STATE_DIR=" + filepath.Join(home, "state"), "CARTAGENT_CONFIG_DIR=" + filepath.Join(home, "config"),
	}
	if s.Manifest.Model != offlineModel {
		replies := repliesOf(t, s)
		cmd.Env = append(cmd.Env, "CARTAGENT_MODEL="+s.Manifest.Model, "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+stubModel(t, replies))
	}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	err = transcript.Play(s, struct {
		io.Reader
		io.Writer
	}{out, in}, transcript.NewNames(work))
	require.NoError(t, in.Close())
	rest, readErr := io.ReadAll(out)
	waitErr := cmd.Wait()
	require.NoError(t, err, stderr.String())
	require.NoError(t, readErr)
	require.NoError(t, waitErr)
	assert.Empty(t, string(rest), "nothing follows the last line")
	assertAfter(t, s, work)
}

func assertAfter(t *testing.T, s *transcript.Scenario, work string) {
	t.Helper()
	after, err := transcript.ReadFiles(work)
	require.NoError(t, err)
	assert.Equal(t, s.After, after)
}

// rewrite plays the client's half and keeps all that comes of it.
func rewrite(t *testing.T, file string, s *transcript.Scenario) {
	t.Helper()
	sc := newScene(t, s, true)
	// Nothing tells when an agent with child processes has no more to say, so an author waits a while. Tests do not:
	// they expect line after line.
	quiet := func() { <-time.After(700 * time.Millisecond) }
	_, err := transcript.Capture(s, sc.agent, sc.names, quiet)
	require.NoError(t, err)
	sc.end()
	require.NotNil(t, sc.taken)
	sc.taken.Manifest.Version = s.Manifest.Version
	models, clock, platform := sc.taken.Manifest.Models, sc.taken.Manifest.Clock, sc.taken.Manifest.Platform
	taken := sc.taken.Update(s)
	taken.Manifest.Models, taken.Manifest.Clock, taken.Manifest.Platform = models, clock, platform
	taken.After, err = transcript.ReadFiles(sc.work)
	require.NoError(t, err)
	data, err := taken.Format()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, data, 0o644))
	*s = *taken
}
