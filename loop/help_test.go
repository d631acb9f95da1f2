package loop

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// session plays inputs through Step and keeps what came of them.
type session struct {
	t      *testing.T
	s      State
	inputs []Input
	events []Event
}

// The tools of the tests: look reads, side by side and unasked; query does too, but asks; edit and sell change things,
// one by one; nuke is forbidden.
func specs() []Spec {
	schema := json.RawMessage(`{"type":"object"}`)
	return []Spec{
		{Name: "look", Schema: schema, Kind: KindRead, ReadOnly: true, Parallel: true, Default: Allow},
		{Name: "query", Schema: schema, Parallel: true},
		{Name: "edit", Title: "Edit a file", Schema: schema, Kind: KindEdit},
		{Name: "sell", Schema: schema, Default: Allow},
		{Name: "nuke", Schema: schema, Default: Deny},
	}
}

func begin(t *testing.T) *session {
	t.Helper()
	return beginWith(t, Configured{Specs: specs(), System: "Be brief."})
}

func beginWith(t *testing.T, c Configured) *session {
	t.Helper()
	p := &session{t: t}
	require.Empty(t, p.in(c))
	return p
}

// in steps inputs and returns their effects. Each step is checked for what holds of all: the state it was given is as it
// was, and the same step again comes to the same.
func (p *session) in(inputs ...Input) []Effect {
	p.t.Helper()
	var all []Effect
	for _, in := range inputs {
		before := snapshot(p.s)
		next, effects := Step(p.s, in)
		require.Equal(p.t, before, snapshot(p.s), "Step changed the state it was given, at %T", in)
		again, same := Step(p.s, in)
		require.Equal(p.t, next, again)
		require.Equal(p.t, effects, same)
		p.s, p.inputs = next, append(p.inputs, in)
		for _, e := range effects {
			if emit, ok := e.(Emit); ok {
				p.events = append(p.events, emit.Event)
			}
		}
		all = append(all, slices.DeleteFunc(slices.Clone(effects), aside)...)
	}
	return all
}

// aside says whether an effect is one of those that go along with many inputs and have tests of their own.
func aside(e Effect) bool {
	emit, ok := e.(Emit)
	if !ok {
		return false
	}
	switch emit.Event.(type) {
	case TitleChanged, UsageChanged:
		return true
	default:
		return false
	}
}

// ignores says that inputs change nothing and have no effects.
func (p *session) ignores(inputs ...Input) {
	p.t.Helper()
	for _, in := range inputs {
		before := snapshot(p.s)
		next, effects := Step(p.s, in)
		assert.Empty(p.t, effects, "%#v", in)
		assert.Equal(p.t, before, snapshot(next), "%#v", in)
	}
}

// settledOnce says that every call that was proposed has been settled once, and returns the texts of their results.
func (p *session) settledOnce() map[string]string {
	p.t.Helper()
	texts, open := map[string]string{}, map[string]bool{}
	for _, e := range p.events {
		switch v := e.(type) {
		case ToolProposed:
			require.False(p.t, open[v.Call.ID], "proposed twice: %s", v.Call.ID)
			open[v.Call.ID] = true
		case ToolFinished:
			require.True(p.t, open[v.Result.CallID], "settled, but not open: %s", v.Result.CallID)
			delete(open, v.Result.CallID)
			texts[v.Result.CallID] = TextOf(v.Result.Content)
		case UserText, AgentText, AgentThought, ToolPreviewed, ToolStarted, ToolInterrupted, ToolProgress, PlanChanged, TitleChanged, UsageChanged,
			CompactionStarted, CompactionSummary, CompactionFinished:
		}
	}
	require.Empty(p.t, open, "never settled")
	return texts
}

// replays says that the inputs so far, replayed, come to the same state and events.
func (p *session) replays() {
	p.t.Helper()
	s, events := Replay(slices.Values(p.inputs))
	assert.Equal(p.t, p.s, s)
	assert.Equal(p.t, p.events, events)
}

// snapshot is a state written out, down to what its slices hold.
func snapshot(s State) string { return fmt.Sprintf("%#v %#v", s, s.partial.blocks()) }

// paired says what is wrong with a history, if anything is.
func paired(h []Message) error {
	if len(h) > 0 && h[0].Role != RoleUser {
		return fmt.Errorf("begins with a message of %q", h[0].Role)
	}
	for i, m := range h {
		switch m.Role {
		case RoleUser:
			if len(m.Calls)+len(m.Results) > 0 {
				return fmt.Errorf("message %d: a user message with calls or results", i)
			}
		case RoleAssistant:
			if len(m.Results) > 0 || len(m.Calls)+len(m.Content) == 0 {
				return fmt.Errorf("message %d: an assistant message with results, or empty", i)
			}
			if len(m.Calls) == 0 {
				continue
			}
			if i+1 == len(h) {
				return fmt.Errorf("message %d: calls at the end without results", i)
			}
			if h[i+1].Role != RoleTool || !slices.EqualFunc(m.Calls, h[i+1].Results, func(c Call, r Result) bool { return c.ID == r.CallID }) {
				return fmt.Errorf("message %d: its calls and the results behind it differ", i)
			}
		case RoleTool:
			if i == 0 || len(h[i-1].Calls) == 0 || len(m.Content) > 0 {
				return fmt.Errorf("message %d: results without calls", i)
			}
		default:
			return fmt.Errorf("message %d: role %q", i, m.Role)
		}
	}
	return nil
}

// only picks the effects of one type.
func only[E Effect](effects []Effect) []E {
	var out []E
	for _, e := range effects {
		if v, ok := e.(E); ok {
			out = append(out, v)
		}
	}
	return out
}

// names lists the types of effects, and of events in place of Emit, with the calls that they are about.
func names(effects []Effect) []string {
	var out []string
	for _, e := range effects {
		var v any = e
		if emit, ok := e.(Emit); ok {
			v = emit.Event
		}
		name, id := reflect.TypeOf(v).Name(), ""
		switch v := v.(type) {
		case ToolProposed:
			id = v.Call.ID
		case ToolPreviewed:
			id = v.CallID
		case ToolStarted:
			id = v.CallID
		case ToolInterrupted:
			id = v.CallID
		case ToolProgress:
			id = v.CallID
		case ToolFinished:
			id = v.Result.CallID
		case PreviewCall:
			id = v.Call.ID
		case AskUser:
			id = v.Call.ID
		case Intend:
			id = v.Call.ID
		case RunTool:
			id = v.Job.Call.ID
		case AskForm:
			id = v.Call.ID
		case CheckCall:
			id = v.Job.Call.ID
		case EndTurn:
			id = string(v.Reason)
		}
		if id != "" {
			name += " " + id
		}
		out = append(out, name)
	}
	return out
}

func prompt(text string) Prompted { return Prompted{MessageID: "u", Content: Blocks{Text{Text: text}}} }

func says(text string) Replied {
	return Replied{Message: Message{Role: RoleAssistant, Content: Blocks{Text{Text: text}}}, Stop: StopEndTurn}
}

func calls(tools ...string) Replied {
	m := Message{Role: RoleAssistant}
	for _, tool := range tools {
		m.Calls = append(m.Calls, NewCall("ref", tool, ""))
	}
	return Replied{Message: m, Stop: StopEndTurn}
}

func previewed(id string) Previewed { return Previewed{CallID: id, Preview: Preview{Title: id}} }

func touching(id string, subjects ...string) Previewed {
	p := Previewed{CallID: id}
	for _, s := range subjects {
		p.Preview.Subjects = append(p.Preview.Subjects, Subject{Words: []string{s}})
	}
	return p
}

func finished(id, text string) Finished {
	return Finished{Result: Result{CallID: id, Content: Blocks{Text{Text: text}}}}
}

// ran are the inputs of an allowed call from its preview to its result.
func ran(id string) []Input {
	return []Input{previewed(id), Intended{CallID: id}, finished(id, "done "+id)}
}
