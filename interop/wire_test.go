package interop

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Prompts whose course the offline model makes sure of.
const (
	askMenu  = "What do you have?" // many words
	askPrice = "What does a small latte cost?"
	askOrder = "A large latte and a morning bun, please" // calls that ask for permission
)

// slowly is a pause between words that leaves a test the time to act in mid-turn.
const slowly = "50ms"

// wireCheck is something that ACP v1 asks of an agent, seen on the raw wire. Besides what each says, every message is held
// against the schema, no second answer comes, no update for an unknown session or outside of a turn, nothing is called
// that the client did not offer, and the agent ends with its input.
type wireCheck struct {
	name string
	pace string // between the model's words, when not as fast as can be
	run  func(w *world)
}

// TestWire plays the client by hand against the built binary.
func TestWire(t *testing.T) {
	t.Parallel()
	for _, c := range slices.Concat(setupChecks, framingChecks, promptChecks, cancelChecks, settingChecks, storedChecks, endChecks) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cwd, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			pace := c.pace
			if pace == "" {
				pace = "0s"
			}
			c.run(&world{t: t, cwd: cwd, env: environ(t, pace)})
		})
	}
}

// world is where a check takes place: a folder, and what the agent's processes keep between them.
type world struct {
	t      *testing.T
	cwd    string
	env    []string
	stderr locked
}

// locked is a buffer for several processes.
type locked struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// session is an open session of a peer.
type session struct {
	*peer
	id     string
	opened settings
	reply  message // to what opened it
}

// settings is what opening a session tells of modes and options.
type settings struct {
	SessionID string `json:"sessionId"`
	Modes     *struct {
		Current   string                `json:"currentModeId"`
		Available []struct{ ID string } `json:"availableModes"`
	} `json:"modes"`
	Options []option `json:"configOptions"`
}

type option struct {
	ID       string `json:"id"`
	Category string `json:"category"`
	Type     string `json:"type"`
	Current  any    `json:"currentValue"`
	Options  []struct {
		Value   string                   `json:"value"`
		Options []struct{ Value string } `json:"options"` // of a group
	} `json:"options"`
}

func (o option) values() []string {
	var out []string
	for _, v := range o.Options {
		if v.Options == nil {
			out = append(out, v.Value)
		}
		for _, w := range v.Options {
			out = append(out, w.Value)
		}
	}
	return out
}

func find(options []option, id string) option {
	if at := slices.IndexFunc(options, func(o option) bool { return o.ID == id }); at >= 0 {
		return options[at]
	}
	return option{}
}

// hello starts an agent for a client that offers nothing.
func (w *world) hello() *peer { return w.spawn(object{}).hello() }

// open starts an agent and opens a session with MCP servers.
func (w *world) open(servers ...any) *session { return w.openWith(object{}, servers...) }

func (w *world) openWith(caps object, servers ...any) *session {
	w.t.Helper()
	return w.spawn(caps).hello().open(w.cwd, servers...)
}

// open opens a session.
func (p *peer) open(cwd string, servers ...any) *session {
	p.t.Helper()
	return p.enter("session/new", object{"cwd": cwd, "mcpServers": append([]any{}, servers...)})
}

// enter opens a session by a method.
func (p *peer) enter(method string, params object) *session {
	p.t.Helper()
	m := p.call(method, params)
	if m.Error != nil {
		require.NoError(p.t, m.Error, method)
	}
	s := &session{peer: p, reply: m}
	require.NoError(p.t, json.Unmarshal(m.Result, &s.opened))
	s.id, _ = params["sessionId"].(string)
	if method == "session/new" {
		s.id = s.opened.SessionID
	}
	require.NotEmpty(p.t, s.id)
	return s
}

// restored starts another agent, in whose session the stored one goes on.
func (s *session) restored(w *world, method string) *session {
	w.t.Helper()
	s.end()
	return w.hello().enter(method, object{"sessionId": s.id, "cwd": w.cwd, "mcpServers": []any{}})
}

func texts(words string) []any { return []any{object{"type": "text", "text": words}} }

// begin sends a prompt and returns its id.
func (s *session) begin(words string) string {
	return s.send("session/prompt", object{"sessionId": s.id, "prompt": texts(words)})
}

// speaking begins a prompt and waits for the first of its text.
func (s *session) speaking(words string) string {
	s.t.Helper()
	n := s.count()
	id := s.begin(words)
	s.until("text", func() bool {
		return slices.ContainsFunc(s.notes[n:], func(x note) bool { return x.SessionID == s.id && x.Update.Kind == "agent_message_chunk" })
	})
	return id
}

// prompt plays a turn that must end by itself, and returns its updates.
func (s *session) prompt(words string) []note {
	s.t.Helper()
	return s.promptBlocks(texts(words))
}

func (s *session) promptBlocks(blocks []any) []note {
	s.t.Helper()
	n := s.count()
	require.NoError(s.t, stopOf(s.call("session/prompt", object{"sessionId": s.id, "prompt": blocks}), "end_turn"))
	return s.since(n, s.id)
}

// usable is whether the session takes a prompt and answers it.
func (s *session) usable() {
	s.t.Helper()
	require.Contains(s.t, textOf(s.prompt(askPrice)), "$4.00")
}

// ended waits for the answer to a prompt and holds its stop reason against want.
func (s *session) ended(id string, want ...string) {
	s.t.Helper()
	require.NoError(s.t, stopOf(s.answer(id), want...))
}

func textOf(notes []note) string {
	var b strings.Builder
	for _, n := range notes {
		if n.Update.Kind == "agent_message_chunk" {
			b.WriteString(n.text())
		}
	}
	return b.String()
}

// callsOf gives the last status of each call, and sees that calls are announced once and then settled.
func callsOf(t *testing.T, notes []note) map[string]string {
	t.Helper()
	seen := map[string]string{}
	for _, n := range notes {
		u := n.Update
		switch u.Kind {
		case "tool_call":
			assert.NotContains(t, seen, u.ToolCallID, "announced twice")
			seen[u.ToolCallID] = u.Status
		case "tool_call_update":
			assert.Contains(t, seen, u.ToolCallID, "not announced")
			if u.Status != "" {
				seen[u.ToolCallID] = u.Status
			}
		}
	}
	for id, status := range seen {
		assert.Contains(t, []string{"completed", "failed"}, status, "call %s is not settled", id)
	}
	return seen
}

// story is what a reader of the updates sees in the end: text by who said it, and calls with how they ended.
func story(t *testing.T, notes []note) []string {
	t.Helper()
	status := callsOf(t, notes)
	var out []string
	last := ""
	for _, n := range notes {
		switch u := n.Update; {
		case strings.HasSuffix(u.Kind, "_message_chunk"), u.Kind == "agent_thought_chunk":
			if last != u.Kind {
				out = append(out, u.Kind+": ")
			}
			out[len(out)-1] += n.text()
			last = u.Kind
		case u.Kind == "tool_call":
			out = append(out, "call "+u.ToolCallID+": "+status[u.ToolCallID])
			last = u.Kind
		}
	}
	return out
}

// probe is an MCP server that answers only if it was given its environment: the cart, with a menu of its own.
func probe(w *world, name string) object {
	w.t.Helper()
	menu := filepath.Join(w.cwd, name+".json")
	require.NoError(w.t, os.WriteFile(menu, []byte(`[{"name": "`+name+` soda", "cents": 123}]`), 0o600))
	return object{
		"name": name, "command": "/bin/sh", "args": []string{"-c", `exec "$PROBE_AGENT" cart --menu "$PROBE_MENU"`},
		"env": []object{{"name": "PROBE_AGENT", "value": built(w.t)}, {"name": "PROBE_MENU", "value": menu}},
	}
}
