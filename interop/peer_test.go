package interop

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is how long a check waits for what must come, on a machine that is busy with other tests.
const patience = time.Minute

type object = map[string]any

// message is a line of the agent's.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`

	at int // how many updates had come before it
}

type rpcError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("%d %s", e.Code, e.Message) }

// note is a session/update, as far as checks look into it.
type note struct {
	SessionID string `json:"sessionId"`
	Update    struct {
		Kind       string                  `json:"sessionUpdate"`
		ToolCallID string                  `json:"toolCallId"`
		Status     string                  `json:"status"`
		Mode       string                  `json:"currentModeId"`
		Content    any                     `json:"content"`
		Title      string                  `json:"title"`
		Commands   []struct{ Name string } `json:"availableCommands"`
		Options    []option                `json:"configOptions"`
	} `json:"update"`
}

func (n note) text() string {
	content, _ := n.Update.Content.(object)
	text, _ := content["text"].(string)
	return text
}

// ofTurn is whether it belongs to a turn, and so must not come outside of one.
func (n note) ofTurn() bool {
	return strings.HasSuffix(n.Update.Kind, "_chunk") || strings.HasPrefix(n.Update.Kind, "tool_call") || n.Update.Kind == "plan"
}

// how a peer answers a permission request.
const (
	allow   = "allow"
	reject  = "reject"
	dismiss = "cancelled"
	refuse  = "error"
	silence = "nothing"
)

// peer is a client on the raw wire. It holds all that the agent sends against the protocol and keeps what is wrong with it.
type peer struct {
	t      *testing.T
	cmd    *exec.Cmd
	in     io.WriteCloser
	caps   object
	gone   chan struct{} // closed when the process has ended
	schema *schemas
	info   initialized

	mu      sync.Mutex
	moved   chan struct{} // closed and replaced whenever something came
	nextID  int
	methods map[string]string // of what was sent, by id
	answers map[string]message
	strays  []message // answers to nothing
	notes   []note
	asked   []message // the agent's requests
	faults  []string
	ask     string
	pages   []page            // that it was asked to show
	consent string            // what it says to them: accept, decline, or nothing at all
	closed  []string          // the ids of the pages that are done
	known   map[string]bool   // sessions that the client has been told of, or named itself
	owner   map[string]string // the session of a request that is not answered, by id
}

type initialized struct {
	ProtocolVersion int `json:"protocolVersion"`
	AgentInfo       *struct{ Name, Version string }
	AuthMethods     []struct{ ID, Type, Name string }
	Capabilities    struct {
		LoadSession bool   `json:"loadSession"`
		Auth        object `json:"auth"`
		Session     object `json:"sessionCapabilities"`
		MCP         object `json:"mcpCapabilities"`
	} `json:"agentCapabilities"`
}

// spawn starts `cartagent acp` for a client with these capabilities. The agent's end is seen to when the test ends, and
// so is that it kept to the protocol.
func (w *world) spawn(caps object) *peer {
	w.t.Helper()
	schema, err := protocol()
	require.NoError(w.t, err)
	p := &peer{
		t: w.t, caps: caps, schema: schema, gone: make(chan struct{}), moved: make(chan struct{}), ask: allow, consent: "accept",
		methods: map[string]string{}, answers: map[string]message{}, known: map[string]bool{}, owner: map[string]string{},
	}
	p.cmd = exec.Command(built(w.t), "acp")
	p.cmd.Env, p.cmd.Dir = w.env, w.cwd
	p.cmd.Stderr = &w.stderr
	p.cmd.WaitDelay = patience
	p.in, err = p.cmd.StdinPipe()
	require.NoError(w.t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(w.t, err)
	require.NoError(w.t, p.cmd.Start())
	go func() {
		defer close(p.gone)
		p.read(out)
		_ = p.cmd.Wait()
	}()
	w.t.Cleanup(func() {
		p.end()
		p.mu.Lock()
		defer p.mu.Unlock()
		assert.Empty(p.t, p.faults, "breaches of the protocol")
		if p.t.Failed() {
			p.t.Logf("stderr: %s", w.stderr.String())
		}
	})
	return p
}

func (p *peer) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			p.take(line)
		}
		if err != nil {
			return
		}
	}
}

// take holds one line against the protocol and hands it on.
func (p *peer) take(line []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		close(p.moved)
		p.moved = make(chan struct{})
	}()
	var m message
	if err := json.Unmarshal(line, &m); err != nil {
		p.fault("a line that is no message: %v: %.100s", err, line)
		return
	}
	if m.JSONRPC != "2.0" || line[len(line)-1] != '\n' {
		p.fault("not a whole JSON-RPC 2.0 line: %.100s", line)
	}
	switch {
	case m.Method == "":
		p.takeAnswer(m)
	case m.ID == nil:
		p.takeNotification(m)
	default:
		p.takeRequest(m)
	}
}

func (p *peer) fault(format string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(format, args...))
}

func (p *peer) takeAnswer(m message) {
	id := string(m.ID)
	method, sent := p.methods[id]
	if _, twice := p.answers[id]; twice {
		p.fault("a second answer to %s (id %s)", method, id)
	}
	if (m.Result == nil) == (m.Error == nil) {
		p.fault("the answer to %s has not one of result and error", method)
	}
	if m.Error != nil && m.Error.Message == "" {
		p.fault("the error for %s has no message", method)
	}
	if !sent {
		if id != "null" {
			p.fault("an answer to nothing: id %s", id)
		}
		p.strays = append(p.strays, m)
		return
	}
	if m.Result != nil {
		if err := p.schema.validate(method, "Response", m.Result); err != nil {
			p.fault("%v", err)
		}
		if method == "session/new" {
			var made struct{ SessionID string }
			if err := json.Unmarshal(m.Result, &made); err == nil {
				p.known[made.SessionID] = true
			}
		}
	}
	delete(p.owner, id)
	m.at = len(p.notes)
	p.answers[id] = m
}

func (p *peer) takeNotification(m message) {
	if err := p.schema.validate(m.Method, "Notification", m.Params); err != nil {
		p.fault("%v", err)
	}
	if m.Method == "elicitation/complete" {
		var done struct{ ElicitationID string }
		if err := json.Unmarshal(m.Params, &done); err != nil {
			p.fault("the end of a page: %v", err)
		}
		p.closed = append(p.closed, done.ElicitationID)
	}
	if m.Method != "session/update" {
		return
	}
	var n note
	if err := json.Unmarshal(m.Params, &n); err != nil {
		p.fault("an update: %v", err)
	}
	if !p.known[n.SessionID] {
		p.fault("update %s for a session that the client does not know yet", n.Update.Kind)
	}
	if n.ofTurn() && !p.busy(n.SessionID) {
		p.fault("update %s while no turn runs", n.Update.Kind)
	}
	for _, gate := range []struct{ prefix, capability string }{{"notice", "notices"}, {"compaction", "compaction"}} {
		if strings.HasPrefix(n.Update.Kind, gate.prefix) && !p.declared("session", gate.capability) {
			p.fault("update %s, which the client did not ask for", n.Update.Kind)
		}
	}
	p.notes = append(p.notes, n)
}

// page is one that the client was asked to show.
type page struct {
	Mode, URL, ElicitationID, Message string
}

// takePage agrees to show a page, or not. What the person does there is the test's business.
func (p *peer) takePage(m message) {
	var asked page
	if err := json.Unmarshal(m.Params, &asked); err != nil || asked.Mode != "url" {
		p.fault("not a page to open: %s", m.Params)
	}
	p.pages = append(p.pages, asked)
	if p.consent != silence {
		p.write(object{"id": m.ID, "result": object{"action": p.consent}})
	}
}

// takeRequest answers what the agent asks of the client. Only permission may be asked of one that declared nothing.
func (p *peer) takeRequest(m message) {
	if err := p.schema.validate(m.Method, "Request", m.Params); err != nil {
		p.fault("%v", err)
	}
	p.asked = append(p.asked, m)
	var of struct{ SessionID string }
	if err := json.Unmarshal(m.Params, &of); err == nil && !p.busy(of.SessionID) {
		p.fault("%s while no turn runs", m.Method)
	}
	if m.Method == "elicitation/create" && p.declared("elicitation", "url") {
		p.takePage(m)
		return
	}
	if m.Method != "session/request_permission" {
		p.fault("%s was called, which the client did not offer", m.Method)
		p.write(object{"id": m.ID, "error": object{"code": -32601, "message": "method not found"}})
		return
	}
	var params struct {
		Options []struct{ OptionID, Kind string } `json:"options"`
	}
	if err := json.Unmarshal(m.Params, &params); err != nil {
		p.fault("a permission request: %v", err)
	}
	seen := map[string]bool{}
	for _, o := range params.Options {
		if seen[o.OptionID] {
			p.fault("option %s is offered twice", o.OptionID)
		}
		seen[o.OptionID] = true
	}
	switch p.ask {
	case silence:
	case refuse:
		p.write(object{"id": m.ID, "error": object{"code": -32603, "message": "nobody is there"}})
	case dismiss:
		p.write(object{"id": m.ID, "result": object{"outcome": object{"outcome": "cancelled"}}})
	default:
		for _, o := range params.Options {
			if o.Kind == p.ask+"_once" {
				p.write(object{"id": m.ID, "result": object{"outcome": object{"outcome": "selected", "optionId": o.OptionID}}})
				return
			}
		}
		p.fault("no option to %s once", p.ask)
	}
}

// busy is whether a prompt, load or resume of the session waits for its answer.
func (p *peer) busy(session string) bool {
	for _, of := range p.owner {
		if of == session {
			return true
		}
	}
	return false
}

func (p *peer) declared(path ...string) bool {
	at := p.caps
	for _, key := range path {
		next, ok := at[key].(object)
		if !ok {
			return false
		}
		at = next
	}
	return true
}
