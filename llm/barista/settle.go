package barista

import "slices"

// settle makes the groups of a prompt stand on their own: corrections are made, sizes and items that go for several
// groups are spread, and what is taken back within the prompt is gone from it.
func (p *parser) settle() {
	var out []group
	for _, g := range p.u.groups {
		if g.mode != modeAsk && g.into && g.bare() {
			if i := lastOf(out, modeSwap); i >= 0 {
				g.items, g.plural = out[i].items, out[i].plural
				if !g.counted {
					g.count, g.counted = out[i].count, out[i].counted
				}
			}
		}
		switch {
		case g.mode == modeAsk:
		case g.all && g.bare() && g.size != "":
			if p.spread(out, g.size) {
				continue
			}
		case g.mode == modeCorrect && len(out) > 0 && out[len(out)-1].mode == modeAdd && out[len(out)-1].bare() && out[len(out)-1].size == "":
			out = out[:len(out)-1] // "two, no, three"
			g.mode = modeAdd
		case g.mode == modeCorrect:
			if i := lastOf(out, modeAdd); i >= 0 {
				out[i] = corrected(out[i], g)
				continue
			}
		case (g.mode == modeRemove || g.mode == modeSwap) && len(g.unknown) == 0:
			if takeBack(out, g) {
				if g.mode == modeSwap {
					g.count = 0 // kept for what it is exchanged for, but nothing is left to take off
					out = append(out, g)
				}
				continue
			}
		}
		out = append(out, g)
	}
	p.u.groups = p.fill(out)
}

// lastOf is the last group of that mode that names an item, or -1.
func lastOf(groups []group, m mode) int {
	for i, g := range slices.Backward(groups) {
		if g.mode == m && len(g.items) > 0 {
			return i
		}
	}
	return -1
}

// spread gives a size to every group that still needs one.
func (p *parser) spread(groups []group, size string) bool {
	some := false
	for i, g := range groups {
		if g.mode == modeAdd && g.size == "" && p.comesIn(g, size) {
			groups[i].size, some = size, true
		}
	}
	return some
}

// comesIn says whether something that a group may mean comes in a size. Everything comes in no size in particular.
func (p *parser) comesIn(g group, size string) bool {
	return slices.ContainsFunc(g.items, func(i int) bool { return size == "" || p.menu.items[i].hasSize(size) })
}

func corrected(old, by group) group {
	if !by.bare() && (len(by.unknown) > 0 || len(both(old.items, by.items)) == 0) {
		by.mode = modeAdd
		if !by.article && !by.counted {
			by.count, by.counted = old.count, old.counted
		}
		return by
	}
	if items := both(old.items, by.items); len(items) > 0 {
		old.items = items
	}
	if by.size != "" {
		old.size = by.size
	}
	if by.counted {
		old.count, old.counted, old.bad = by.count, true, by.bad
	}
	old.extra = append(old.extra, by.extra...)
	return old
}

func both(a, b []int) []int {
	var out []int
	for _, x := range a {
		if slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}

// takeBack takes what g says off the groups before it, and reports whether there was any of it.
func takeBack(groups []group, g group) bool {
	left := g.count
	if !g.counted && (g.soft || g.plural || g.all) {
		left = manyThings
	}
	found := false
	for i, had := range slices.Backward(groups) {
		if had.mode != modeAdd || len(both(had.items, g.items)) == 0 || (g.size != "" && had.size != g.size) {
			continue
		}
		found = true
		n := min(left, had.count)
		groups[i].count -= n
		if groups[i].count == 0 {
			groups[i].mode = modeSwap // a trace, with nothing to take off
		}
		if left -= n; left == 0 {
			break
		}
	}
	return found
}

// fill gives groups without an item the item they belong to: "two small and one large latte" means one item, and so
// do "two lattes, one small and one large" and "a large latte and a small one".
func (p *parser) fill(groups []group) []group {
	var out []group
	for i := 0; i < len(groups); i++ {
		g := groups[i]
		if g.mode != modeAdd || !g.bare() || g.all {
			out = append(out, g)
			continue
		}
		j := i
		for j < len(groups) && groups[j].mode == modeAdd && groups[j].bare() && !groups[j].all {
			j++
		}
		out = p.place(out, groups[i:j], groups[j:])
		i = j - 1
	}
	return out
}

// place finds the item for a run of groups without one.
func (p *parser) place(before, run, after []group) []group {
	last := lastOf(before, modeAdd)
	forward := len(after) > 0 && after[0].mode == modeAdd && len(after[0].items) > 0 && p.allComeIn(after[0], run)
	backward := last >= 0 && p.allComeIn(before[last], run)
	switch {
	case forward && after[0].size != "":
	case backward && splits(before[last], run):
		whole := before[last]
		before = slices.Delete(before, last, last+1)
		if !whole.counted {
			run[0].count = whole.count
		}
		rest := whole.count
		for _, g := range run {
			before = append(before, withItem(g, whole))
			rest -= g.count
		}
		if rest > 0 {
			whole.count = rest
			before = append(before, whole)
		}
		return before
	case forward:
	case backward:
		for _, g := range run {
			if g.size == "" && !g.again {
				before = append(before, g)
				continue
			}
			if g.size == "" {
				g.size = before[last].size
			}
			before = append(before, withItem(g, before[last]))
		}
		return before
	default:
		return append(before, run...)
	}
	for _, g := range run {
		before = append(before, withItem(g, after[0]))
	}
	return before
}

// splits says whether a run tells the sizes of a group that has none yet.
func splits(g group, run []group) bool {
	sum := 0
	for _, r := range run {
		if r.size == "" || r.again {
			return false
		}
		sum += r.count
	}
	return g.size == "" && (g.counted && sum <= g.count || len(run) == 1 && !run[0].counted && !run[0].article)
}

func (p *parser) allComeIn(g group, run []group) bool {
	return !slices.ContainsFunc(run, func(r group) bool { return !p.comesIn(g, r.size) })
}

func withItem(g, of group) group {
	g.items, g.plural = of.items, of.plural
	return g
}
