package loop

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// propose announces all calls of a reply and starts those that may start.
func (m *machine) propose(calls []Call, cut bool) {
	m.s.phase = calling
	m.s.slots = make([]slot, len(calls))
	for i, c := range calls {
		spec, _ := m.s.spec(c.Tool)
		m.s.slots[i] = slot{call: c, spec: spec}
		title := spec.Title
		if title == "" {
			title = c.Tool
		}
		kind := spec.Kind
		if kind == "" {
			kind = KindOther
		}
		m.emit(ToolProposed{Call: c, Title: title, Kind: kind})
	}
	if cut {
		m.s.tally.cuts++
	} else {
		m.s.tally.cuts = 0
	}
	for i, c := range calls {
		if why := m.unfit(c, cut); why != "" {
			m.settle(i, Failed(c.ID, why))
		}
	}
	m.advance()
}

// SearchTool is the name of the tool by which the model finds tools that it has not been offered yet.
const SearchTool = "tool_search"

// unfit says why a call cannot even be previewed; it is empty for one that can.
func (m *machine) unfit(c Call, cut bool) string {
	if cut {
		return "Not run: the reply was cut off by its token limit. Send this call again in a shorter reply, " +
			"or split the work into smaller calls."
	}
	if _, ok := m.s.spec(c.Tool); !ok {
		if len(m.s.specs) == 0 {
			return fmt.Sprintf("There is no tool %q: there are no tools.", c.Tool)
		}
		names := make([]string, len(m.s.specs))
		for i, sp := range m.s.specs {
			names[i] = sp.Name
		}
		more := ""
		if slices.Contains(names, SearchTool) {
			more = fmt.Sprintf(" %s finds more of them: what it finds is listed from your next reply on.", SearchTool)
		}
		return fmt.Sprintf("There is no tool %q. The tools are: %s.%s", c.Tool, strings.Join(names, ", "), more)
	}
	if c.Bad != "" {
		return "Not run: " + c.Bad + "."
	}
	return ""
}

// find is the index of the call's slot if it is in that stage, else -1. Outside of a turn nothing is about a call.
func (m *machine) find(callID string, at stage) int {
	if m.s.phase != calling {
		return -1
	}
	return slices.IndexFunc(m.s.slots, func(sl slot) bool { return sl.call.ID == callID && sl.stage == at })
}

// edit changes a slot without touching the state that Step was given.
func (m *machine) edit(i int, change func(*slot)) {
	m.s.slots = slices.Clone(m.s.slots)
	change(&m.s.slots[i])
}

func (m *machine) settle(i int, r Result) {
	r.CallID = m.s.slots[i].call.ID
	m.edit(i, func(sl *slot) { sl.stage, sl.result = settled, r })
	for _, b := range r.Display {
		if plan, ok := b.(Plan); ok {
			m.emit(PlanChanged(plan))
		}
	}
	m.emit(ToolFinished{Result: r})
}

// advance starts, decides and asks about whatever can be by now, and hands the results over once all calls have settled.
func (m *machine) advance() {
	for m.startWaiting() || m.decideHeld() {
	}
	if m.allSettled() {
		m.finishBatch()
	}
}

// startWaiting has previewed every call whose turn it is: a call waits for those before it, but parallel ones do not
// wait for each other.
func (m *machine) startWaiting() bool {
	behind, barred, started := false, false, false // behind any unsettled call; behind one that is not parallel
	for i, sl := range m.s.slots {
		if sl.stage == waiting && !barred && (!behind || sl.spec.Parallel) {
			m.edit(i, func(sl *slot) { sl.stage = previewing })
			m.do(PreviewCall{Call: sl.call})
			started = true
		}
		if sl.stage != settled {
			behind, barred = true, barred || !sl.spec.Parallel
		}
	}
	return started
}

// decideHeld carries out the rules' verdicts on previewed calls, and puts one at a time of the others to the person,
// whose answer may decide the next.
func (m *machine) decideHeld() bool {
	busy := slices.ContainsFunc(m.s.slots, func(sl slot) bool { return sl.stage == deciding })
	for i, sl := range m.s.slots {
		if sl.stage != held {
			continue
		}
		if sl.doubt {
			if !busy {
				busy = true
				m.askAgain(i)
			}
			continue
		}
		verdict, why := m.s.decide(sl.spec, sl.preview)
		if m.follow(i, verdict, why) {
			return true
		}
		if !busy {
			busy = true
			opts := m.s.Rules().optionsFor(sl.spec, sl.preview)
			m.edit(i, func(sl *slot) { sl.stage, sl.options = deciding, opts })
			m.do(AskUser{Call: sl.call, Preview: m.s.warned(sl.spec, sl.preview), Options: slices.Clone(opts)})
		}
	}
	return false
}

// follow carries out a verdict and says whether there was one to carry out.
func (m *machine) follow(i int, v Verdict, why string) bool {
	switch v {
	case Allow:
		m.intend(i)
		return true
	case Deny:
		text := "Not run: a permission rule forbids it."
		if why != "" {
			text = "Not run: a permission rule forbids it (" + why + ")."
		}
		m.settle(i, Failed("", text+" Do not try the same in another way."))
		return true
	case Ask:
	}
	return false
}

func (m *machine) intend(i int) {
	m.edit(i, func(sl *slot) { sl.stage = intending })
	m.do(Intend{Call: m.s.slots[i].call})
}

func (m *machine) previewed(v Previewed) {
	i := m.find(v.CallID, previewing)
	if i < 0 {
		return
	}
	if v.Failure != "" {
		m.settle(i, Failed("", v.Failure))
		m.advance()
		return
	}
	m.edit(i, func(sl *slot) { sl.stage, sl.preview = held, v.Preview })
	m.emit(ToolPreviewed{CallID: v.CallID, Preview: v.Preview})
	m.advance()
}

func (m *machine) decided(v Decided) {
	i := m.find(v.CallID, deciding)
	if i < 0 {
		return
	}
	sl := m.s.slots[i]
	if sl.doubt {
		m.decidedAgain(i, v.Outcome)
		m.advance()
		return
	}
	offered := slices.ContainsFunc(sl.options, func(o Option) bool { return o.Kind == v.Outcome })
	switch v.Outcome {
	case AllowAlways, AllowOnce, RejectAlways, RejectOnce:
		if !offered { // an answer that was not offered is no approval
			m.settle(i, Failed("", refused))
			break
		}
		m.answer(i, v.Outcome)
	case Dismissed:
		m.settle(i, Failed("", "Not run: the user closed the question without an answer. Ask in words what they want."))
	case Unavailable:
		m.settle(i, Failed("", "Not run: this needs the user's permission, and nobody can be asked here"+
			because(v.Why)+". Do not try the same in another way; say what you could not do."))
	default: // neither is one that does not exist
		m.settle(i, Failed("", refused))
	}
	m.advance()
}

// answer carries out an answer that was offered. Rules that have come to forbid the call since it was asked about win.
func (m *machine) answer(i int, o Outcome) {
	sl := m.s.slots[i]
	switch o {
	case AllowAlways:
		m.s.added = replace(m.s.added, sl.spec, alwaysRules(sl.spec, sl.preview, Allow))
	case RejectAlways:
		m.s.added = slices.Concat(m.s.added, alwaysRules(sl.spec, sl.preview, Deny))
	case AllowOnce, RejectOnce, Dismissed, Unavailable:
	}
	if o != AllowAlways && o != AllowOnce {
		m.settle(i, Failed("", refused))
		return
	}
	verdict, why := m.s.decide(sl.spec, sl.preview)
	if verdict == Deny {
		m.follow(i, verdict, why)
		return
	}
	m.intend(i)
}

const refused = "Not run: the user refused it. Do not try the same in another way; ask what they want instead."

func because(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

func (m *machine) intended(v Intended) {
	i := m.find(v.CallID, intending)
	if i < 0 {
		return
	}
	m.edit(i, func(sl *slot) { sl.stage, sl.key, sl.doubt = running, v.Key, false })
	m.emit(ToolStarted{CallID: v.CallID})
	m.run(i)
}

func (m *machine) run(i int) { m.do(RunTool{Job: m.job(i)}) }

func (m *machine) job(i int) Job {
	sl := m.s.slots[i]
	return Job{Call: sl.call, Preview: sl.preview, Key: sl.key, Answers: slices.Clip(sl.answers), Trace: m.s.trace}
}

func (m *machine) asked(v Asked) {
	i := m.find(v.CallID, running)
	if i < 0 {
		return
	}
	m.edit(i, func(sl *slot) { sl.stage, sl.question = answering, v.Question })
	m.do(AskForm{Call: m.s.slots[i].call, Question: v.Question})
}

func (m *machine) answered(v Answered) {
	i := m.find(v.CallID, answering)
	if i < 0 {
		return
	}
	if v.Failure != "" {
		m.settle(i, Failed("", v.Failure))
		m.advance()
		return
	}
	answer := v.Answer
	answer.ID, answer.State = m.s.slots[i].question.ID, m.s.slots[i].question.State
	m.edit(i, func(sl *slot) {
		sl.stage = running
		sl.answers = append(slices.Clip(sl.answers), answer)
	})
	m.run(i)
}

// finishBatch hands the results to the model, in the order of the calls, unless a limit ends the turn.
func (m *machine) finishBatch() {
	m.addResults()
	switch {
	case len(m.s.queued) > 0: // the turn that these calls were of is over
		m.begin()
	case m.s.tally.cuts > 1:
		m.end(StopMaxTokens)
	case m.repeating():
		m.end(StopMaxRequests)
	default:
		m.ask()
	}
}

func (m *machine) addResults() {
	batch := fnv.New64a()
	results := make([]Result, len(m.s.slots))
	for i, sl := range m.s.slots {
		results[i] = sl.result
		content, _ := sl.result.Content.MarshalJSON() // what cannot be written counts as the same
		for _, part := range [][]byte{[]byte(sl.call.Tool), sl.call.Args, content} {
			batch.Write(binary.AppendUvarint(nil, uint64(len(part))))
			batch.Write(part)
		}
		if sl.result.Failed {
			batch.Write([]byte{1})
		}
	}
	if sum := batch.Sum64(); sum == m.s.tally.batch {
		m.s.tally.same++
	} else {
		m.s.tally.same, m.s.tally.batch = 1, sum
	}
	m.add(Message{Role: RoleTool, Results: results})
	m.s.slots = nil
}

func (m *machine) repeating() bool {
	limit := m.s.limits.Repeats
	if limit <= 0 {
		limit = DefaultRepeats
	}
	return m.s.tally.same >= limit
}
