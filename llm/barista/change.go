package barista

import (
	"slices"
	"strings"
)

// remove takes what a group says off the order, or off what is still open about it.
func (t *turn) remove(g group) {
	m := t.mem
	if len(g.unknown) > 0 {
		if g.article || g.soft || len(g.items) > 0 {
			t.trouble("There is no “" + strings.Join(g.unknown, " ") + "” that I could leave out: the cart takes only what is on its menu.")
		}
		return
	}
	if i := slices.IndexFunc(m.pending, func(w want) bool { return len(both(w.items, g.items)) > 0 }); i >= 0 {
		if g.mode == modeRemove {
			t.note("All right, no " + t.called(m.pending[i].items) + ".")
		}
		m.pending = slices.Delete(slices.Clone(m.pending), i, i+1)
		return
	}
	what := act{tool: toolRemove, take: g.items, size: g.size}
	on := 0
	for _, l := range m.order.lines {
		if t.covers(what, l) {
			on++
		}
	}
	switch {
	case m.order.stage == stagePlaced && on > 0:
		t.noSwap = true
		t.trouble("Your order" + t.numbered() + " is placed, so I cannot take anything off it.")
		return
	case !m.order.open() || on == 0:
		t.noSwap = true
		t.note("There is no " + label(g.size, t.called(g.items)) + " on your order.")
		return
	}
	n := g.count
	if !g.counted && (g.soft || g.plural || g.all) {
		n = on
	}
	for range min(n, on) {
		t.agenda = append(t.agenda, what)
	}
}

// undo takes off what was added last.
func (t *turn) undo() {
	m := t.mem
	i := m.menu.find(m.last.item)
	if !m.order.open() || m.last.n == 0 || i < 0 {
		t.note("There is nothing on an open order that I could take off.")
		return
	}
	t.takeLast(m.last.n)
	m.last = tally{}
}

// takeLast takes n of the last thing off.
func (t *turn) takeLast(n int) {
	i := t.mem.menu.find(t.mem.last.item)
	for range min(n, maxItems) {
		t.agenda = append(t.agenda, act{tool: toolRemove, take: []int{i}, size: t.mem.last.size})
	}
}

// correct changes what an earlier prompt ordered.
func (t *turn) correct(g group, u utterance) {
	m := t.mem
	g.mode = modeAdd
	if len(m.pending) > 0 && !g.bare() && (g.strong || u.has(cueNo)) && len(both(m.pending[0].items, g.items)) == 0 {
		m.pending = m.pending[1:] // something else in its place
		t.add(g, u)
		return
	}
	if len(g.unknown) > 0 || g.bad || len(m.pending) > 0 || !g.strong && !g.bare() || m.last.n == 0 {
		t.add(g, u)
		return
	}
	last := m.last
	i := m.menu.find(last.item)
	switch {
	case !g.bare() && !slices.Contains(g.items, i):
		if !t.changeable() {
			return
		}
		t.takeLast(last.n)
		if !g.counted && !g.article {
			g.count = last.n
		}
		t.want(want{items: g.items, size: g.size, n: g.count}, false)
	case g.size != "" && g.size != last.size:
		n := 0
		if g.counted {
			n = g.count
		}
		t.resize(g.size, n)
	default:
		t.recount(g.count)
	}
}

// changeable says whether what was ordered last can still be changed, and tells the person if not.
func (t *turn) changeable() bool {
	if t.mem.order.open() {
		return true
	}
	t.trouble("Your order" + t.numbered() + " is placed, so it cannot be changed. Say what you would like and I start a new one.")
	return false
}

// resizeSome has n of what was ordered last in another size.
func (t *turn) resizeSome(size string, n int) {
	last := t.mem.last
	if last.size == size || !t.changeable() {
		return
	}
	n = min(n, last.n)
	t.takeLast(n)
	t.want(want{items: []int{t.mem.menu.find(last.item)}, size: size, n: n}, false)
}

// resize has what was ordered last in another size; n is how many, 0 for as many as there are.
func (t *turn) resize(size string, n int) {
	last := t.mem.last
	i := t.mem.menu.find(last.item)
	if i < 0 || last.size == size || !t.changeable() {
		return
	}
	if !t.lastIn(size) {
		t.trouble("The " + last.item + " does not come in " + size + ".")
		return
	}
	t.takeLast(last.n)
	if n == 0 {
		n = last.n
	}
	t.want(want{items: []int{i}, size: size, n: n}, false)
}

// recount has n of what was ordered last, on the open order or else by a new one for the rest.
func (t *turn) recount(n int) {
	last := t.mem.last
	i := t.mem.menu.find(last.item)
	switch {
	case i < 0:
	case n > last.n:
		t.want(want{items: []int{i}, size: last.size, n: n - last.n}, true)
		for k, a := range t.agenda {
			if a.wish == t.mem.wishes && a.wish > 0 {
				t.agenda[k].base = last.n
			}
		}
	case n < last.n:
		if t.changeable() {
			t.takeLast(last.n - n)
		}
	default:
		t.note("That is what you have ordered.")
	}
}
