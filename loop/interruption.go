package loop

import "slices"

// interrupted leaves a turn whose runner is gone. Whatever could be open after a crash is in the log, so this is the
// same whether a process notes it as it ends or another one when it loads the session.
func (m *machine) interrupted() {
	switch m.s.phase {
	case idle, interrupted:
		return
	case summarizing:
		m.endCompaction(CompactionCancelled)
		return
	case asking:
		m.keepPartial()
		m.end(StopCancelled)
		return
	case calling:
	}
	for i, sl := range m.s.slots {
		switch sl.stage {
		case settled, deciding, doubtful:
		case answering:
			if sl.question.Fleeting {
				m.settle(i, Failed("", "Interrupted while it waited for an answer; who asked is gone. It may have taken effect in part: "+
					"check before doing it again."))
				continue
			}
			m.emit(ToolInterrupted{CallID: sl.call.ID})
		case running:
			m.edit(i, func(sl *slot) { sl.stage, sl.doubt = doubtful, true })
			m.emit(ToolInterrupted{CallID: sl.call.ID})
		case checking:
			m.edit(i, func(sl *slot) { sl.stage = doubtful })
		case waiting, previewing, held, intending:
			if sl.doubt {
				m.edit(i, func(sl *slot) { sl.stage = doubtful })
				continue
			}
			m.settle(i, Failed("", "Interrupted before it ran."))
		}
	}
	if m.allSettled() {
		m.addResults()
		m.addQueued()
		m.end(StopCancelled)
		return
	}
	m.s.phase = interrupted
	m.tellTitle()
	m.do(EndTurn{Reason: StopCancelled})
}

func (m *machine) allSettled() bool {
	return !slices.ContainsFunc(m.s.slots, func(sl slot) bool { return sl.stage != settled })
}

// resume comes back to the calls of the turn that was interrupted. What the person was asked is asked again, by the rules
// as they are now. A call in doubt runs again where that does no more than running it once, by what its tool is now as
// well as by what it was then; about any other its tool is asked first, which may be able to see what has become of it.
func (m *machine) resume() {
	m.s.phase = calling
	for i, sl := range m.s.slots {
		switch sl.stage {
		case deciding:
			if sl.doubt {
				m.lookInto(i) // it may have become clear meanwhile
				continue
			}
			m.edit(i, func(sl *slot) { sl.stage, sl.options = held, nil })
		case answering:
			m.do(AskForm{Call: sl.call, Question: sl.question})
		case doubtful:
			m.lookInto(i)
		case waiting, previewing, held, intending, running, checking, settled:
		}
	}
	m.advance()
}

// lookInto begins to decide a call in doubt.
func (m *machine) lookInto(i int) {
	sl := m.s.slots[i]
	now, there := m.s.spec(sl.call.Tool)
	switch {
	case sl.spec.ReadOnly && (now.ReadOnly || !there), there && sl.key != "" && sl.spec.Keyed && now.Keyed:
		m.edit(i, func(sl *slot) { sl.stage = running })
		m.run(i)
	default:
		m.edit(i, func(sl *slot) { sl.stage = checking })
		m.do(CheckCall{Job: m.job(i)})
	}
}

// checked decides a call by what was found. One that is done has its result; one that is not is run, by the word that
// allowed it, unless a rule has come to forbid it; about any other the person is asked.
func (m *machine) checked(v Checked) {
	i := m.find(v.CallID, checking)
	if i < 0 {
		return
	}
	switch v.Finding {
	case FoundDone:
		m.settle(i, v.Result)
	case FoundUndone:
		m.edit(i, func(sl *slot) { sl.doubt = false })
		sl := m.s.slots[i]
		if verdict, why := m.s.decide(sl.spec, sl.preview); verdict == Deny {
			m.follow(i, verdict, why)
		} else {
			m.intend(i)
		}
	default: // also a finding that does not exist
		m.edit(i, func(sl *slot) { sl.stage = held })
	}
	m.advance()
}

// RunAgain is the name of the option by which a call in doubt runs again: no permission, but a word that it was not done.
const RunAgain = "Run it again"

const (
	maybeDone = "It was running when the agent ended, and may have taken effect. Run it again?"
	inDoubt   = "Interrupted while it was running, and not run again: whether it took effect is unknown. Check before doing it again."
	toolGone  = "Interrupted while it was running, and its tool is not available now: whether it took effect is unknown. Check before doing it again."
)

// decidedAgain carries out the person's word on a call in doubt.
func (m *machine) decidedAgain(i int, o Outcome) {
	_, there := m.s.spec(m.s.slots[i].call.Tool)
	switch {
	case o == AllowOnce && there:
		m.intend(i)
	case o == AllowOnce:
		m.settle(i, Failed("", toolGone))
	default:
		m.settle(i, Failed("", inDoubt))
	}
}

// askAgain puts a call in doubt to the person. No rule speaks for it: what it would do may be done.
func (m *machine) askAgain(i int) {
	options := []Option{{Kind: AllowOnce, Name: RunAgain}, {Kind: RejectOnce, Name: "Leave it"}}
	m.edit(i, func(sl *slot) { sl.stage, sl.options = deciding, options })
	sl := m.s.slots[i]
	preview := sl.preview
	preview.Title, preview.Caution = "May be done already: "+titleOr(preview.Title, sl.call.Tool), maybeDone
	preview.Display = slices.Concat(Blocks{Text{Text: maybeDone}}, preview.Display)
	m.do(AskUser{Call: sl.call, Preview: preview, Options: slices.Clone(options)})
}

func titleOr(title, tool string) string {
	if title == "" {
		return tool
	}
	return title
}
