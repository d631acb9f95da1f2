package loop

import (
	"fmt"
	"iter"
	"slices"
)

// Step answers in with the next state and what the shell must do, in order. It is pure and total: it never modifies s,
// and an input that does not fit the state (late, repeated, about an unknown call) changes nothing and has no effects.
func Step(s State, in Input) (State, []Effect) {
	m := machine{s: s}
	m.step(in)
	return m.s, m.out
}

// Replay folds inputs from the zero state and returns every event they caused.
func Replay(inputs iter.Seq[Input]) (State, []Event) {
	m := machine{sole: true}
	var events []Event
	for in := range inputs {
		m.out = m.out[:0]
		m.step(in)
		for _, e := range m.out {
			if emit, ok := e.(Emit); ok {
				events = append(events, emit.Event)
			}
		}
	}
	m.s.history = slices.Clip(m.s.history)
	return m.s, events
}

// machine is one step: the state as it becomes and the effects so far.
type machine struct {
	s   State
	out []Effect
	// sole says that nobody else holds this history or a part of it, so that it may grow in place: many steps in a
	// row then take linear time.
	sole bool
}

func (m *machine) step(in Input) {
	switch v := in.(type) {
	case Configured:
		m.s.specs, m.s.rules, m.s.limits, m.s.system = v.Specs, v.Rules, v.Limits, v.System
	case Chosen:
		m.chosen(v)
	case Prompted:
		m.prompted(v)
	case Noted:
		m.noted(v)
	case Revoked:
		if (m.s.phase == idle || m.s.phase == interrupted) && v.Rule >= 0 && v.Rule < len(m.s.added) {
			m.s.added = slices.Delete(slices.Clone(m.s.added), v.Rule, v.Rule+1)
		}
	case Streamed:
		m.streamed(v)
	case Replied:
		m.replied(v)
	case ModelFailed:
		m.modelFailed(v)
	case Previewed:
		m.previewed(v)
	case Decided:
		m.decided(v)
	case Intended:
		m.intended(v)
	case Checked:
		m.checked(v)
	case Asked:
		m.asked(v)
	case Answered:
		m.answered(v)
	case Progressed:
		if m.find(v.CallID, running) >= 0 {
			m.emit(ToolProgress(v))
		}
	case Finished:
		if i := m.find(v.Result.CallID, running); i >= 0 {
			m.settle(i, v.Result)
			m.advance()
		}
	case Compacting:
		m.compacting(v)
	case Compacted:
		m.compacted(v)
	case Cancelled:
		m.cancelled()
	case Interrupted:
		m.interrupted()
	case Unknown:
	}
}

func (m *machine) do(e Effect)  { m.out = append(m.out, e) }
func (m *machine) emit(e Event) { m.do(Emit{Event: e}) }

func (m *machine) add(msg Message) {
	if !m.sole {
		m.s.history = slices.Clip(m.s.history)
	}
	m.s.history = append(m.s.history, msg)
}

func (m *machine) prompted(v Prompted) {
	if m.s.phase != idle && m.s.phase != interrupted {
		return
	}
	m.s.turn++
	m.s.trace = v.Trace
	m.s.queued = append(slices.Clip(m.s.queued), v)
	for _, b := range v.Content {
		m.emit(UserText{MessageID: v.MessageID, Part: b})
	}
	if m.s.phase == interrupted {
		m.resume()
		return
	}
	m.begin()
}

// begin puts to the model what the person has said.
func (m *machine) begin() {
	m.s.tally = tally{start: len(m.s.history)}
	m.addQueued()
	m.ask()
}

func (m *machine) addQueued() {
	for _, v := range m.s.queued {
		m.add(Message{Role: RoleUser, ID: v.MessageID, Content: slices.Concat(v.Context, v.Content)})
		if m.s.title == "" {
			m.s.title = TitleOf(v.Content)
		}
	}
	m.s.queued = nil
}

func (m *machine) noted(v Noted) {
	if m.s.phase != idle && m.s.phase != interrupted {
		return
	}
	m.s.notes++
	for _, b := range v.Content {
		m.emit(UserText{MessageID: v.MessageID, Part: b})
	}
	m.emit(AgentText{MessageID: fmt.Sprintf("note_%d", m.s.notes), Text: v.Text})
}

// ask sends the model what there is, unless the turn has had all its requests.
func (m *machine) ask() {
	limit := m.s.limits.Requests
	if limit <= 0 {
		limit = DefaultRequests
	}
	if m.s.tally.requests >= limit {
		m.end(StopMaxRequests)
		return
	}
	m.s.tally.requests++
	m.s.phase, m.s.partial = asking, nil
	m.s.messageID = fmt.Sprintf("msg_%d_%d", m.s.turn, m.s.tally.requests)
	m.s.thoughtID = m.s.messageID + "_thought"
	m.do(AskModel{Request: Request{System: m.s.system, Tools: m.s.Specs(), Messages: m.s.History(), Trace: m.s.trace}})
}

func (m *machine) end(reason StopReason) {
	m.rest()
	m.do(EndTurn{Reason: reason})
}

// rest ends what a turn holds, and tells the session's title once there has been an exchange.
func (m *machine) rest() {
	m.s.phase, m.s.slots, m.s.partial = idle, nil, nil
	m.tellTitle()
}

func (m *machine) tellTitle() {
	if m.s.title != "" && !m.s.titled {
		m.s.titled = true
		m.emit(TitleChanged{Title: m.s.title})
	}
}

func (m *machine) streamed(v Streamed) {
	if m.s.phase != asking || v.Text == "" || v.Kind != ChunkText && v.Kind != ChunkThought {
		return
	}
	m.s.partial = &piece{prev: m.s.partial, kind: v.Kind, text: v.Text}
	m.say(v.Kind, v.Text)
}

func (m *machine) say(kind ChunkKind, text string) {
	if kind == ChunkThought {
		m.emit(AgentThought{MessageID: m.s.thoughtID, Text: text})
		return
	}
	m.emit(AgentText{MessageID: m.s.messageID, Text: text})
}

func (m *machine) replied(v Replied) {
	if m.s.phase != asking {
		return
	}
	if m.s.usage = v.Usage; v.Usage != (Usage{}) {
		m.emit(UsageChanged{Usage: v.Usage})
	}
	m.sayUnstreamed(v.Message.Content)
	if v.Stop == StopRefusal {
		m.s.history = m.s.history[:m.s.tally.start]
		m.end(StopRefusal)
		return
	}
	msg := Message{
		Role: RoleAssistant, ID: m.s.messageID,
		Content: v.Message.Content, Calls: slices.Clone(v.Message.Calls),
	}
	m.s.partial = nil
	for i := range msg.Calls {
		m.s.tally.calls++
		msg.Calls[i].ID = fmt.Sprintf("call_%d_%d", m.s.turn, m.s.tally.calls)
	}
	if len(msg.Content) > 0 || len(msg.Calls) > 0 {
		m.add(msg)
	}
	switch {
	case len(msg.Calls) > 0:
		m.propose(msg.Calls, v.Stop == StopMaxTokens)
	case v.Stop == StopMaxTokens:
		m.end(StopMaxTokens)
	default:
		m.end(StopEndTurn)
	}
}

// sayUnstreamed tells what a model put into its reply without having streamed it.
func (m *machine) sayUnstreamed(content Blocks) {
	text, thought := m.s.partial.has(ChunkText), m.s.partial.has(ChunkThought)
	for _, b := range content {
		switch v := b.(type) {
		case Text:
			if !text && v.Text != "" {
				m.say(ChunkText, v.Text)
			}
		case Thought:
			if !thought && v.Text != "" {
				m.say(ChunkThought, v.Text)
			}
		case Image, Audio, Link, Resource, Diff, Terminal, Plan, Other:
		}
	}
}

func (m *machine) modelFailed(v ModelFailed) {
	switch m.s.phase {
	case asking:
	case summarizing:
		m.endCompaction(CompactionFailed)
		return
	case idle, calling, interrupted:
		return
	}
	m.keepPartial()
	m.rest()
	m.do(FailTurn(v))
}

// keepPartial leaves in history what the model had said when its reply broke off. Thoughts alone are nothing said: a
// message of nothing but thoughts that no provider takes back would be an empty one.
func (m *machine) keepPartial() {
	if m.s.partial.has(ChunkText) {
		m.add(Message{Role: RoleAssistant, ID: m.s.messageID, Content: m.s.partial.blocks()})
	}
}

const maybeCancelled = "Cancelled while it was running. It may have taken effect in part or in whole: check before doing it again."

func (m *machine) cancelled() {
	switch m.s.phase {
	case idle, interrupted:
		return
	case summarizing:
		m.endCompaction(CompactionCancelled)
		return
	case asking:
		m.keepPartial()
	case calling:
		for i, sl := range m.s.slots {
			switch sl.stage {
			case settled:
			case running, answering, doubtful, checking:
				m.settle(i, Failed("", maybeCancelled))
			case waiting, previewing, held, deciding, intending:
				if sl.doubt {
					m.settle(i, Failed("", inDoubt))
					continue
				}
				m.settle(i, Failed("", "Cancelled before it ran."))
			}
		}
		m.addResults()
		m.addQueued()
	}
	m.end(StopCancelled)
}
