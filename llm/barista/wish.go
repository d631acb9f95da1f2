package barista

import (
	"fmt"
	"slices"
)

// answers takes a group as the answer to what is still open about a wish, where it can be one.
func (t *turn) answers(g group) bool {
	m := t.mem
	if g.again || g.into {
		return false
	}
	done := false
	for i := 0; i < len(m.pending); i++ {
		p := m.pending[i]
		if len(g.items) > 0 {
			if p.items = both(p.items, g.items); len(p.items) == 0 {
				continue
			}
		} else if g.size == "" || !t.anyIn(p.items, g.size) {
			continue
		}
		if g.size != "" {
			p.size = g.size
		}
		m.pending = slices.Delete(slices.Clone(m.pending), i, i+1)
		i--
		done = true
		if g.counted {
			rest := p
			if rest.n -= g.count; rest.n > 0 && g.size != "" {
				rest.size = ""
				m.pending = slices.Insert(m.pending, i+1, rest)
			}
			p.n = g.count
		}
		if p.n > 0 {
			t.want(p, true)
		}
		if !g.all {
			break
		}
	}
	return done
}

func (t *turn) anyIn(items []int, size string) bool {
	return slices.ContainsFunc(items, func(i int) bool { return t.mem.menu.items[i].hasSize(size) })
}

// bareGroup reads a group without an item by what was ordered last.
func (t *turn) bareGroup(g group) {
	switch {
	case !g.again && t.anyIn(t.topic.items, g.size), !g.again && g.size == "" && len(t.topic.items) > 0:
		w := t.topic
		w.n = g.count
		if g.size != "" {
			w.size = g.size
		}
		t.want(w, true)
	case g.again && g.size == "":
		t.repeat(g.count)
	case g.size != "" && t.mem.last.n > 0 && t.lastIn(g.size):
		if g.again || g.counted || g.into {
			t.want(want{items: []int{t.mem.menu.find(t.mem.last.item)}, size: g.size, n: g.count}, true)
			return
		}
		t.resize(g.size, 0)
	case g.size != "":
		t.trouble("What would you like in " + g.size + "?")
	default:
		t.trouble(fmt.Sprintf("%d of what? %s", g.count, t.available()))
	}
}

func (t *turn) lastIn(size string) bool {
	i := t.mem.menu.find(t.mem.last.item)
	return i >= 0 && t.mem.menu.items[i].hasSize(size)
}

// want puts a wish on the agenda, or keeps it until it is clear what is meant.
func (t *turn) want(w want, place bool) {
	m := t.mem
	if len(w.items) != 1 {
		m.pending = append(m.pending, w)
		return
	}
	it := m.menu.items[w.items[0]]
	switch {
	case w.size == "" || it.hasSize(w.size):
	case len(it.sizes) == 0:
		t.note("The " + it.name + " comes in one size only.")
		w.size = ""
	default:
		t.note("The " + it.name + " does not come in " + w.size + ".")
		w.size = ""
		m.pending = append(m.pending, w)
		return
	}
	m.wishes++
	for range min(w.n, maxItems+1) {
		t.agenda = append(t.agenda, act{tool: toolAdd, item: it.name, size: w.size, wish: m.wishes})
	}
	if !place && !slices.ContainsFunc(t.agenda, func(a act) bool { return a.tool == toolPlace }) {
		t.kept = true
	}
}

// repeat orders the last thing again.
func (t *turn) repeat(n int) {
	last := t.mem.last
	i := t.mem.menu.find(last.item)
	if last.n == 0 || i < 0 {
		t.trouble("I do not know what to repeat: nothing has been ordered yet.")
		return
	}
	t.want(want{items: []int{i}, size: last.size, n: n}, true)
}

// bound refuses what would be too much for one order.
func (t *turn) bound() {
	n := 0
	for _, a := range t.agenda {
		if a.tool == toolAdd {
			n++
		}
	}
	for _, w := range t.mem.pending {
		n += min(w.n, manyThings)
	}
	had := 0
	if t.mem.order.open() && !t.cancels() {
		had = len(t.mem.order.lines)
	}
	if had+n <= maxItems || n == 0 {
		return
	}
	t.agenda = slices.DeleteFunc(t.agenda, func(a act) bool { return a.tool == toolAdd || a.tool == toolRemove })
	t.mem.pending = nil
	t.trouble(fmt.Sprintf("That is too much for one order: I put at most %d things on it, so I added nothing.", maxItems))
}
