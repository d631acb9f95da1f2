package loop

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// want is an input that some effect has called for: what kind, and about which call.
type want struct{ kind, id string }

// known is what the checker has seen of a call.
type known struct {
	finished, previewing, asked, intended, ran, begun, checked bool
	doubt                                                      bool // it was running when the turn was interrupted
	preview                                                    Preview
}

// checker watches a session from outside, by inputs and effects alone, and says which of the promises was broken.
type checker struct {
	s      State
	wanted []want
	calls  map[string]*known
	ids    []string // in the order in which they were proposed
	turn   int      // the first of ids that is of this turn
	open   bool
	deep   bool // compare whole states, which is slow
	inputs []Input
	events []Event
}

func newChecker(deep bool) *checker { return &checker{calls: map[string]*known{}, deep: deep} }

func (c *checker) take(w want) bool {
	i := slices.Index(c.wanted, w)
	if i < 0 {
		return false
	}
	c.wanted = slices.Delete(c.wanted, i, i+1)
	return true
}

// fits says whether the input is one that was called for, and what is called for from now on besides its effects.
func (c *checker) fits(in Input) bool {
	switch v := in.(type) {
	case Prompted:
		return !c.open
	case Compacting:
		return c.s.Idle()
	case Streamed:
		return v.Text != "" && (v.Kind == ChunkText || v.Kind == ChunkThought) && slices.Contains(c.wanted, want{kind: "model"})
	case Replied:
		return c.take(want{kind: "model"})
	case ModelFailed:
		return c.take(want{kind: "model"}) || c.take(want{kind: "summary"})
	case Previewed:
		return c.take(want{"preview", v.CallID})
	case Decided:
		return c.take(want{"decision", v.CallID})
	case Intended:
		return c.take(want{"intent", v.CallID})
	case Checked:
		return c.take(want{"check", v.CallID})
	case Asked:
		return c.take(want{"result", v.CallID})
	case Answered:
		return c.take(want{"answer", v.CallID})
	case Progressed:
		return slices.Contains(c.wanted, want{"result", v.CallID})
	case Finished:
		return c.take(want{"result", v.Result.CallID})
	case Cancelled, Interrupted:
		return c.open
	case Compacted:
		return c.take(want{kind: "summary"})
	case Configured, Chosen, Noted, Revoked, Unknown:
	}
	return false
}

func (c *checker) step(in Input) error {
	fit := c.fits(in)
	var before string
	if c.deep {
		before = snapshot(c.s)
	}
	if _, gone := in.(Interrupted); gone && c.open {
		c.leave()
	}
	last := c.s
	next, effects := Step(last, in)
	if c.deep {
		if after := snapshot(last); after != before {
			return fmt.Errorf("%T changed its argument", in)
		}
		_, config := in.(Configured)
		_, compact := in.(Compacted)
		_, checked := in.(Checked)
		if len(effects) == 0 && !config && (!checked || !fit) && (!compact || c.open) && snapshot(next) != before {
			return fmt.Errorf("%#v has no effect and changes the state", in)
		}
		c.inputs = append(c.inputs, in)
	}
	if _, checked := in.(Checked); checked && fit && len(effects) == 0 {
		if !slices.ContainsFunc(c.wanted, func(w want) bool { return w.kind == "decision" }) {
			return fmt.Errorf("%#v leads to nothing", in)
		}
		c.s = next // it waits until another question is answered
		return nil
	}
	if fit != (len(effects) > 0) {
		return fmt.Errorf("%#v: was called for %t, effects %v", in, fit, names(effects))
	}
	c.s = next
	if _, gone := in.(Interrupted); gone && fit {
		c.wanted = nil
	}
	for i, e := range effects {
		if err := c.effect(in, e, i == len(effects)-1); err != nil {
			return fmt.Errorf("at %#v: %w", in, err)
		}
	}
	if len(effects) == 0 {
		return nil
	}
	if v, ok := in.(Decided); ok && v.Outcome != AllowOnce && v.Outcome != AllowAlways && !c.calls[v.CallID].finished {
		return fmt.Errorf("%q leaves the call open", v.Outcome)
	}
	if v, ok := in.(Checked); ok && v.Finding == FoundDone && !c.calls[v.CallID].finished {
		return fmt.Errorf("a call that is done is left open")
	}
	if c.open == (next.Idle() || next.Interrupted()) {
		return fmt.Errorf("open is %t, idle is %t", c.open, next.Idle())
	}
	return nil
}

// leave notes what becomes of the calls that are open when a turn is interrupted: they may be asked about again, and
// those that were running are in doubt.
func (c *checker) leave() {
	for _, id := range c.ids[c.turn:] {
		k := c.calls[id]
		if k.finished {
			continue
		}
		k.asked = false
		if k.begun && !slices.Contains(c.wanted, want{"answer", id}) {
			k.intended, k.begun, k.ran, k.doubt = false, false, false, true
		}
	}
}

func (c *checker) effect(in Input, e Effect, last bool) error {
	switch in.(type) {
	case Prompted, Compacting:
		c.open = true
	default:
	}
	if !c.open {
		return fmt.Errorf("%v outside a turn", names([]Effect{e}))
	}
	switch v := e.(type) {
	case Emit:
		if c.deep {
			c.events = append(c.events, v.Event)
		}
		return c.event(v.Event)
	case AskModel:
		if slices.Contains(c.wanted, want{kind: "model"}) || !last {
			return fmt.Errorf("the model is asked twice, or not last")
		}
		c.wanted = append(c.wanted, want{kind: "model"})
		if err := c.allFinished(); err != nil {
			return err
		}
		return paired(v.Request.Messages)
	case PreviewCall:
		return c.call(v.Call.ID, "preview", func(k *known) bool { ok := !k.previewing; k.previewing = true; return ok })
	case AskUser:
		if slices.ContainsFunc(c.wanted, func(w want) bool { return w.kind == "decision" }) {
			return fmt.Errorf("two questions at a time")
		}
		return c.call(v.Call.ID, "decision", func(k *known) bool { ok := !k.asked; k.asked = true; return ok })
	case Intend:
		if !c.allowed(in, v.Call) {
			return fmt.Errorf("%s is to run and was not allowed", v.Call.ID)
		}
		return c.call(v.Call.ID, "intent", func(k *known) bool { ok := !k.intended; k.intended = true; return ok })
	case RunTool:
		_, again := in.(Answered)
		_, first := in.(Intended)
		_, resumed := in.(Prompted)
		spec, _ := c.s.spec(v.Job.Call.Tool)
		return c.call(v.Job.Call.ID, "result", func(k *known) bool {
			ok := k.intended && (first && !k.ran && k.begun || again && k.ran)
			if resumed {
				ok = k.doubt && !k.ran && (spec.ReadOnly || spec.Keyed && v.Job.Key != "")
				k.intended, k.begun = true, true
			}
			k.ran, k.doubt = true, false
			return ok
		})
	case CheckCall:
		_, resumed := in.(Prompted)
		spec, _ := c.s.spec(v.Job.Call.Tool)
		return c.call(v.Job.Call.ID, "check", func(k *known) bool {
			k.checked = true
			return resumed && k.doubt && !k.ran && !spec.ReadOnly && (!spec.Keyed || v.Job.Key == "")
		})
	case AskForm:
		return c.call(v.Call.ID, "answer", func(k *known) bool { return k.ran })
	case EndTurn, FailTurn:
		if !last {
			return fmt.Errorf("effects behind the end")
		}
		c.open, c.wanted = false, nil
		if _, gone := in.(Interrupted); gone && c.s.Interrupted() {
			if c.allFinished() == nil {
				return fmt.Errorf("interrupted, with nothing left to come back to")
			}
			return nil
		}
		if err := c.allFinished(); err != nil {
			return err
		}
		c.turn = len(c.ids)
		return paired(c.s.History())
	}
	return fmt.Errorf("unknown effect %T", e)
}

// allowed says whether a call may run: the person has just said so and no rule forbids it, or the rules allow it.
func (c *checker) allowed(in Input, call Call) bool {
	spec, ok := c.s.spec(call.Tool)
	if !ok || call.Bad != "" {
		return false
	}
	v, answer := in.(Decided)
	preview := c.calls[call.ID].preview
	verdict, _ := c.s.Rules().Decide(spec, preview)
	if c.calls[call.ID].doubt {
		if found, ok := in.(Checked); ok {
			return found.CallID == call.ID && found.Finding == FoundUndone && verdict != Deny
		}
		return answer && v.CallID == call.ID && v.Outcome == AllowOnce
	}
	yes := answer && v.CallID == call.ID && (v.Outcome == AllowOnce || v.Outcome == AllowAlways)
	return verdict == Allow || yes && verdict == Ask
}

func (c *checker) call(id, wanted string, may func(*known) bool) error {
	k := c.calls[id]
	if k == nil || k.finished || !may(k) {
		return fmt.Errorf("the %s of %q is wanted out of order", wanted, id)
	}
	c.wanted = append(c.wanted, want{wanted, id})
	return nil
}

func (c *checker) event(e Event) error {
	ok := true
	switch v := e.(type) {
	case ToolProposed:
		if c.calls[v.Call.ID] != nil || v.Call.ID == "" {
			return fmt.Errorf("%q is proposed twice", v.Call.ID)
		}
		c.calls[v.Call.ID] = &known{}
		c.ids = append(c.ids, v.Call.ID)
	case ToolPreviewed:
		k := c.calls[v.CallID]
		ok = k != nil && k.previewing && !k.finished
		if ok {
			k.preview = v.Preview
		}
	case ToolStarted:
		k := c.calls[v.CallID]
		ok = k != nil && k.intended && !k.begun && !k.finished
		if ok {
			k.begun = true
		}
	case ToolInterrupted:
		k := c.calls[v.CallID]
		ok = k != nil && !k.finished && (k.doubt || k.ran)
	case ToolProgress:
		k := c.calls[v.CallID]
		ok = k != nil && k.ran && !k.finished
	case ToolFinished:
		k := c.calls[v.Result.CallID]
		ok = k != nil && !k.finished
		if ok {
			k.finished = true
		}
	case CompactionStarted:
		ok = !slices.Contains(c.wanted, want{kind: "summary"})
		c.wanted = append(c.wanted, want{kind: "summary"})
	case CompactionFinished:
		c.open, c.wanted = false, nil
	case UserText, AgentText, AgentThought, PlanChanged, TitleChanged, UsageChanged, CompactionSummary:
	}
	if !ok {
		return fmt.Errorf("%#v is out of order", e)
	}
	return nil
}

func (c *checker) allFinished() error {
	for _, id := range c.ids[c.turn:] {
		if !c.calls[id].finished {
			return fmt.Errorf("%s is still open", id)
		}
	}
	return nil
}

// done ends the session and checks what can be checked of the whole.
func (c *checker) done() error {
	for _, in := range []Input{Interrupted{}, prompt("go on"), Cancelled{}} {
		if err := c.step(in); err != nil {
			return err
		}
	}
	if !c.s.Idle() || c.open {
		return fmt.Errorf("a cancelled session goes on")
	}
	if !c.deep {
		return nil
	}
	s, events := Replay(slices.Values(c.inputs))
	if !reflect.DeepEqual(s, c.s) || snapshot(s) != snapshot(c.s) {
		return fmt.Errorf("replayed to another state")
	}
	if !reflect.DeepEqual(events, c.events) {
		return fmt.Errorf("replayed to other events")
	}
	return nil
}

// dice makes inputs out of bytes. It leans towards those that were called for, so that calls get far.
type dice struct {
	next  func() byte
	specs []Spec
}

func (d dice) of(n int) int { return int(d.next()) % n }

func (d dice) id(c *checker) string {
	switch {
	case d.of(8) == 0:
		return []string{"", "call_1_1", "call_9_9", "call_1_1 ", "\xff", "ref"}[d.of(6)]
	case len(c.ids) == 0:
		return "call_1_1"
	}
	return c.ids[len(c.ids)-1-d.of(min(4, len(c.ids)))]
}

func (d dice) config() Configured {
	verdict := []Verdict{Ask, Allow, Deny}
	c := Configured{Specs: d.specs, Limits: Limits{Requests: d.of(5), Repeats: d.of(4)}}
	for range d.of(3) {
		c.Rules = append(c.Rules, Rule{
			Tool: []string{"look", "query", "edit", "sell", "*"}[d.of(5)], Verdict: verdict[d.of(3)], Prefix: d.words(), Exact: d.of(2) == 0,
		})
	}
	return c
}

func (d dice) words() []string { return [][]string{nil, {"a"}, {"b"}, {"a", "b"}}[d.of(4)] }

func (d dice) preview() Preview {
	var p Preview
	for range d.of(3) {
		p.Subjects = append(p.Subjects, Subject{Words: d.words()})
	}
	if d.of(8) == 0 {
		p.Caution = "odd"
	}
	return p
}

func (d dice) reply() Replied {
	r := Replied{Stop: []StopReason{StopEndTurn, StopEndTurn, StopEndTurn, StopEndTurn, StopMaxTokens, StopRefusal, ""}[d.of(7)]}
	if d.of(2) == 0 {
		r.Message.Content = Blocks{Text{Text: "x"}}
	}
	for range d.of(5) {
		tool := []string{"look", "query", "edit", "sell", "nuke", "look", "query", "nobody", "order"}[d.of(9)]
		r.Message.Calls = append(r.Message.Calls, Call{
			ID: "call_1_1", Tool: tool, Bad: []string{"", "", "", "bad"}[d.of(4)],
		})
	}
	return r
}

// input is the next one: most often one that is wanted, else any.
func (d dice) input(c *checker) Input {
	if n := len(c.wanted); n > 0 && d.of(4) != 0 {
		if d.of(16) == 0 {
			return Interrupted{}
		}
		w := c.wanted[d.of(n)]
		return d.about(w.kind, w.id)
	}
	if c.s.Interrupted() && d.of(3) == 0 {
		return d.about([]string{"decision", "result", "answer", "check"}[d.of(4)], d.id(c))
	}
	if !c.open && d.of(4) != 0 {
		return prompt("go")
	}
	switch d.of(14) {
	case 0:
		return d.config()
	case 1:
		return Compacted{Keep: d.of(8) - 1, Summary: "s"}
	case 2:
		return Unknown{Kind: "K"}
	case 3:
		return Cancelled{}
	case 4:
		return prompt("go")
	case 5:
		return ModelFailed{Failure: Failure{Kind: FailNetwork}}
	case 7:
		return Interrupted{}
	case 6:
		return Compacting{Content: prompt("/compact").Content}
	}
	return d.about([]string{"model", "preview", "decision", "intent", "result", "answer", "check"}[d.of(7)], d.id(c))
}

func (d dice) about(kind, id string) Input {
	switch kind {
	case "model":
		if n := d.of(6); n < 3 {
			return Streamed{Kind: []ChunkKind{ChunkText, ChunkThought, "odd"}[n], Text: []string{"", "x"}[d.of(2)]}
		}
		return d.reply()
	case "summary":
		return []Input{Compacted{Summary: "s"}, Compacted{Keep: d.of(8) - 1, Summary: "s"}, ModelFailed{}, Cancelled{}}[d.of(4)]
	case "preview":
		if d.of(8) == 0 {
			return Previewed{CallID: id, Failure: "no"}
		}
		return Previewed{CallID: id, Preview: d.preview()}
	case "decision":
		return Decided{CallID: id, Outcome: []Outcome{AllowOnce, AllowAlways, RejectOnce, RejectAlways, Dismissed, Unavailable, "", "yes"}[d.of(8)]}
	case "intent":
		return Intended{CallID: id, Key: []string{"", "k"}[d.of(2)]}
	case "check":
		return Checked{CallID: id, Finding: []Finding{FoundDone, FoundUndone, FoundUnknown, "", "odd"}[d.of(5)]}
	case "answer":
		return Answered{CallID: id, Failure: []string{"", "", "no"}[d.of(3)]}
	}
	switch d.of(4) {
	case 0:
		return Progressed{CallID: id}
	case 1:
		return Asked{CallID: id}
	}
	return finished(id, []string{"x", "y"}[d.of(2)])
}

// play rolls a session of n inputs and says what went wrong.
func play(c *checker, d dice, n int) error {
	if err := c.step(d.config()); err != nil {
		return err
	}
	for range n {
		if err := c.step(d.input(c)); err != nil {
			return err
		}
	}
	return c.done()
}

// TestStepRandom plays many short sessions of fixed seeds, one in a thousand with whole states compared.
func TestStepRandom(t *testing.T) {
	t.Parallel()
	sessions := 25_000
	if testing.Short() {
		sessions = 5_000
	}
	tools := append(specs(), Spec{Name: "order", Default: Allow, Keyed: true})
	for seed := range 2 {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			next := randomBytes(uint64(seed))
			ran, asked, checked := 0, 0, 0
			for n := range sessions {
				c := newChecker(n%1000 == 0)
				length := 4 + n%4
				if n%10 == 0 {
					length = 30
				}
				err := play(c, dice{next: next, specs: tools}, length)
				require.NoError(t, err, "session %d", n)
				for _, k := range c.calls {
					if k.ran {
						ran++
					}
					if k.asked {
						asked++
					}
					if k.checked {
						checked++
					}
				}
			}
			require.Greater(t, ran, sessions/10, "too few calls get as far as to run")
			require.Greater(t, asked, sessions/10, "too few calls are asked about")
			require.Greater(t, checked, sessions/500, "too few calls in doubt are looked into")
		})
	}
}

func randomBytes(seed uint64) func() byte {
	r := rand.New(rand.NewPCG(seed, 1))
	var bits uint64
	left := 0
	return func() byte {
		if left == 0 {
			bits, left = r.Uint64(), 8
		}
		b := byte(bits)
		bits, left = bits>>8, left-1
		return b
	}
}
