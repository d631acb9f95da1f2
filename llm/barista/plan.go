package barista

import (
	"slices"
	"strings"
)

// plan turns the prompt into an agenda, by what the conversation has come to.
func (t *turn) plan() {
	m := t.mem
	t.topic, m.topic = m.topic, want{}
	if len(t.prompt) > maxPrompt {
		t.trouble("That is more than I can take in as an order: say it in a sentence or two. " + onlyOrders + " " + howToConfigure)
		return
	}
	u := parse(t.prompt, m.menu)
	t.subjects = slices.ContainsFunc(u.groups, func(g group) bool { return g.mode == modeAsk && len(g.items) > 0 })
	if len(m.order.lines) > 0 && m.order.open() && u.has(cueOrder) {
		t.changed = true
	}
	t.open(u)
	pending := len(m.pending)
	for _, g := range u.groups {
		t.group(g, u)
	}
	if u.has(cueAgain) && !slices.ContainsFunc(u.groups, func(g group) bool { return g.mode == modeAdd }) {
		t.repeat(1)
	}
	if (u.has(cueYes) || u.has(cueAdd)) && len(u.groups) == 0 && len(t.topic.items) > 0 {
		t.want(t.topic, true)
	}
	if u.has(cueUndo) {
		t.undo()
	}
	if u.puzzled {
		t.trouble(onlyOrders + " If you want something from the menu, name it and no more. " + howToConfigure)
	}
	t.bound()
	t.questions(u)
	t.closing(u, pending)
	if t.said() {
		return
	}
	t.note(t.small(u))
}

// said says whether the prompt has led to anything so far.
func (t *turn) said() bool {
	return len(t.notes) > 0 || len(t.agenda) > 0 || len(t.mem.pending) > 0 || t.changed
}

// open does what goes before any item: cancelling, keeping open, starting, names.
func (t *turn) open(u utterance) {
	m := t.mem
	if u.has(cueCancel) {
		switch {
		case m.order.id != "" && m.order.stage != stageCancelled:
			t.agenda = append(t.agenda, act{tool: toolCancel})
			m.pending = nil
		case len(m.pending) > 0:
			m.pending = nil
			t.note("All right, I left that out.")
		default:
			t.note("There is no open order, so there is nothing to cancel.")
		}
	}
	if len(u.names) > 0 {
		m.names = u.names
	}
	if u.has(cueHold) && !u.has(cuePlace) || u.has(cueStart) {
		m.hold = true
	}
	if u.has(cueStart) && !m.order.open() {
		t.agenda = append(t.agenda, act{tool: toolCreate})
	}
	if t.cancels() {
		return
	}
	if u.has(cueNo) && len(m.pending) > 0 && !u.has(cueCorrect) && len(u.groups) == 0 {
		t.note("All right, no " + t.called(m.pending[0].items) + ".")
		m.pending, t.problem = m.pending[1:], true
		t.changed = m.order.open()
	}
}

func (t *turn) cancels() bool {
	return slices.ContainsFunc(t.agenda, func(a act) bool { return a.tool == toolCancel })
}

// group does what one group of the prompt says.
func (t *turn) group(g group, u utterance) {
	switch g.mode {
	case modeAsk:
		t.asked(g)
	case modeRemove, modeSwap:
		if g.mode == modeSwap && len(g.items) == 0 && g.size != "" && t.lastIn(g.size) {
			t.resizeSome(g.size, g.count)
			return
		}
		if g.count > 0 || g.mode == modeRemove {
			t.remove(g)
		}
	case modeCorrect:
		t.correct(g, u)
	case modeAdd:
		t.add(g, u)
	}
}

func (t *turn) add(g group, u utterance) {
	switch {
	case len(g.unknown) > 0:
		t.unknown(g, u)
	case g.bad:
		what := "that"
		if len(g.items) > 0 {
			what = "the " + t.called(g.items)
		}
		t.trouble("How many of " + what + " would you like? I need a whole number.")
	case t.answers(g):
	case g.all && g.bare() && g.size == "":
	case g.into && t.noSwap:
		return
	case g.bare():
		t.bareGroup(g)
	case g.count == 0:
		t.note("No " + t.called(g.items) + ", then.")
	default:
		t.want(want{items: g.items, size: g.size, n: g.count}, !g.into)
	}
	if len(g.extra) > 0 && len(g.unknown) == 0 {
		t.trouble("I cannot pass on “" + strings.Join(g.extra, " ") + "”: the cart takes only what is on its menu.")
	}
}

// unknown speaks of a thing that is not on the menu, unless it is mere talk.
func (t *turn) unknown(g group, u utterance) {
	things := slices.ContainsFunc(u.groups, func(g group) bool { return len(g.items) > 0 })
	words := slices.Clone(g.unknown)
	if len(g.items) == 0 {
		switch {
		case things && !t.wished() && !g.article:
			return // a form of address
		case things && !g.article:
			t.trouble("I did not understand “" + strings.Join(words, " ") + "”.")
			return
		case things:
		case len(words) > thingWords || !u.has(cueAdd) && slices.ContainsFunc(u.groups, stray):
			return // this is no order at all
		}
	}
	if len(g.items) > 0 {
		words = append(words, t.called(g.items))
	}
	t.trouble("There is no “" + strings.Join(append(words, g.extra...), " ") + "” on the menu. " + t.available())
}

const thingWords = 4 // the most that a thing which is not on the menu is taken to have in its name

func stray(g group) bool {
	return g.mode == modeAdd && len(g.items) == 0 && len(g.unknown) > 0 && !g.article
}

// wished says whether the prompt has named something of the menu so far.
func (t *turn) wished() bool { return t.adds() || len(t.mem.pending) > 0 || t.problem }

// closing decides whether the order is to be placed.
func (t *turn) closing(u utterance, pending int) {
	m := t.mem
	idle := len(t.agenda) == 0 && len(u.groups) == 0
	agreed := idle && pending == 0 && m.order.open() && (u.has(cueYes) || u.has(cueNo) && !u.asked)
	named := idle && len(u.names) > 0 && m.order.id != ""
	switch {
	case u.has(cueHold) && !u.has(cuePlace), u.has(cueCancel) && !u.has(cuePlace) && !t.adds():
	case u.has(cuePlace), agreed && len(m.order.lines) > 0, named && !u.asked && pending == 0:
		m.hold = false
		t.agenda = append(t.agenda, act{tool: toolPlace})
	case u.asked || t.asksOrder(u) || u.has(cueMenu) || m.hold || t.kept:
	case t.adds():
		t.agenda = append(t.agenda, act{tool: toolPlace, auto: true})
	}
}

func (t *turn) adds() bool {
	return slices.ContainsFunc(t.agenda, func(a act) bool { return a.tool == toolAdd })
}

func (t *turn) asksOrder(u utterance) bool { return u.has(cueTotal) || u.has(cueOrder) }
