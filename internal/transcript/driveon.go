package transcript

import (
	"encoding/json"
)

// answering is how far an agent has come that need not say what it said then: which requests it has answered, and how
// often it has asked what.
type answering struct {
	answered map[string]bool // by the id of the client's request
	asked    map[string][]json.RawMessage
	lines    int
}

// playOn sends every line of the client's, each when what it waits for has come: an answer its question, a request the
// answers to those before it, a cancel as much as had been said before it.
func (p *drive) playOn() {
	a := &answering{answered: map[string]bool{}, asked: map[string][]json.RawMessage{}}
	due := &answering{answered: map[string]bool{}, asked: map[string][]json.RawMessage{}}
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
			method, nth := due.question(h.ID)
			if !p.until(a, func() bool { return len(a.asked[method]) > nth }) {
				continue // it is not asked any more
			}
			line = withID(line, a.asked[method][nth])
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
		a.asked[h.Method] = append(a.asked[h.Method], h.ID)
	}
}

// question is which of the agent's questions has an id: the method, and how many of that came before it.
func (a *answering) question(id json.RawMessage) (method string, nth int) {
	for method, ids := range a.asked {
		for i, other := range ids {
			if string(other) == string(id) {
				return method, i
			}
		}
	}
	return "", 0
}

func (a *answering) has(due *answering) bool {
	for id := range due.answered {
		if !a.answered[id] {
			return false
		}
	}
	return true
}
