package transcript

import (
	"encoding/json"
)

// answering is how far an agent has come that need not say what it said then: which requests it has answered, and how
// often it has asked what.
type answering struct {
	answered map[string]bool     // by the id of the client's request
	asked    map[string][]asking // by method
	lines    int
}

// asking is a request of the agent's.
type asking struct {
	id    json.RawMessage
	about string
	used  bool // it was answered
}

// playOn sends every line of the client's, each when what it waits for has come: an answer its question, a request the
// answers to those before it, a cancel as much as had been said before it.
func (p *drive) playOn() {
	a := &answering{answered: map[string]bool{}, asked: map[string][]asking{}}
	due := &answering{answered: map[string]bool{}, asked: map[string][]asking{}}
	for i, m := range p.wire {
		if m.Out != nil {
			due.take(m.Out)
			continue
		}
		h := headOf(m.In)
		if p.Replay != nil {
			p.Replay.due(m, p.wire[:i], p.Patience)
		}
		line := m.In
		switch {
		case h.Method == "" && h.ID != nil:
			method, about := due.question(h.ID)
			// Those that calls ask side by side come in any order: which is meant is known when all have come.
			var ask *asking
			if !p.until(a, func() bool {
				ask = a.open(method, about, len(a.asked[method]) >= len(due.asked[method]))
				return ask != nil
			}) {
				if ask = a.open(method, about, true); ask == nil {
					continue // it is not asked any more
				}
			}
			ask.used = true
			line = withID(line, ask.id)
		case h.ID == nil:
			p.until(a, func() bool { return a.lines >= due.lines })
		default:
			p.until(a, func() bool { return a.has(due) })
		}
		if _, err := p.agent.Write(append([]byte(p.Names.Real(line)), '\n')); err != nil {
			return
		}
	}
	p.until(a, func() bool { return a.has(due) })
	p.until(a, func() bool { return a.lines >= due.lines })
}

// until reads until something has come; false where nothing more comes.
func (p *drive) until(a *answering, come func() bool) bool {
	for !come() {
		line, ok := p.next()
		if !ok {
			return false
		}
		a.take(line)
	}
	return true
}

type head struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

func headOf(line json.RawMessage) head {
	var h head
	if json.Unmarshal(line, &h) != nil {
		return head{}
	}
	return h
}

func (a *answering) take(line json.RawMessage) {
	a.lines++
	switch h := headOf(line); {
	case h.ID == nil:
	case h.Method == "":
		a.answered[string(h.ID)] = true
	default:
		a.asked[h.Method] = append(a.asked[h.Method], asking{id: h.ID, about: aboutOf(line)})
	}
}

// question is which of the agent's questions has an id: the method, and what it is about.
func (a *answering) question(id json.RawMessage) (method, about string) {
	for method, all := range a.asked {
		for _, ask := range all {
			if string(ask.id) == string(id) {
				return method, ask.about
			}
		}
	}
	return "", ""
}

// open is the first question of a method that waits for an answer and is about that, or with other, if there is none,
// about anything.
func (a *answering) open(method, about string, other bool) *asking {
	var first *asking
	for i := range a.asked[method] {
		switch ask := &a.asked[method][i]; {
		case ask.used:
		case ask.about == about:
			return ask
		case other && first == nil:
			first = ask
		}
	}
	return first
}

func (a *answering) has(due *answering) bool {
	for id := range due.answered {
		if !a.answered[id] {
			return false
		}
	}
	return true
}
