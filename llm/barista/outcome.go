package barista

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/cartagent/cartagent/loop"
)

func sameArgs(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	p, errA := json.Marshal(x)
	q, errB := json.Marshal(y)
	return errA == nil && errB == nil && bytes.Equal(p, q)
}

// absorb takes in what some call has done, whoever wanted it.
func (t *turn) absorb(what string, c loop.Call, r loop.Result) {
	if r.Failed {
		return
	}
	o := &t.mem.order
	switch what {
	case toolRead:
		if m := readMenu(textOf(r)); m != nil {
			t.mem.menu = m
		}
	case toolCreate:
		if got, ok := readReceipt(r); ok && got.id != "" {
			*o = order{stage: stageOpen, id: got.id, listed: true}
			o.take(got)
		}
	case toolAdd, toolRemove, toolGet, toolPlace, toolCancel:
		got, ok := readReceipt(r)
		if !ok {
			return
		}
		var args struct {
			Order string `json:"order"`
		}
		if got.id == "" && json.Unmarshal(c.Args, &args) == nil {
			got.id = args.Order
		}
		if got.id != o.id && got.id != "" {
			*o = order{stage: stageOpen, id: got.id}
		}
		o.take(got)
		t.mem.stage(what, got)
	}
}

// stage moves the order on by what a tool that succeeded has done.
func (m *memory) stage(what string, got receipt) {
	switch {
	case what == toolPlace || got.status == "placed":
		m.order.stage, m.names, m.hold = stagePlaced, nil, false
	case what == toolCancel || got.status == "cancelled":
		m.order.stage, m.names, m.hold = stageCancelled, nil, false
	}
}

// took takes in the result of the call that was due.
func (t *turn) took(r loop.Result) {
	a := t.flight
	if len(t.agenda) > 0 && t.agenda[0].tool == a.tool && a.tool != toolRead {
		t.agenda = t.agenda[1:]
	}
	if r.Failed {
		t.failed(a, textOf(r))
		return
	}
	names := t.mem.names
	o := &t.mem.order
	before := o.stage
	if at := t.lineOf(a); a.tool == toolRemove && at > 0 {
		if l := o.lines[at-1]; l.item == t.mem.last.item && l.size == t.mem.last.size && t.mem.last.n > 0 {
			t.mem.last.n--
		}
	}
	t.absorb(a.tool, loop.Call{}, r)
	switch a.tool {
	case toolRead:
		t.readTry = true
		if t.mem.menu == nil {
			t.stop("I could not find a menu in what the cart sent, so I cannot take an order.")
		}
	case toolCreate:
		if !o.open() {
			t.stop("The cart started an order without telling me which, so I cannot go on.")
		}
		if before == stagePlaced {
			t.note("Your last order is placed, so this is a new one.")
		}
	case toolAdd:
		t.addedOne(a)
	case toolRemove, toolGet:
		t.changed = true
		t.mem.stale = false
	case toolPlace:
		o.stage = stagePlaced
		t.placed, t.changed = true, true
		t.mem.names = nil
		t.note(t.placedNote(names))
	case toolCancel:
		*o = order{stage: stageCancelled}
		t.mem.pending, t.mem.last = nil, tally{}
		t.note("Your order is cancelled.")
	}
}

// addedOne counts a unit that the cart took, in the size that it says.
func (t *turn) addedOne(a act) {
	t.changed = true
	if a.wish == 0 {
		return // an item of an order that had to be started again
	}
	t.added = true
	got := tally{item: a.item, size: a.size, n: a.base + 1, wish: a.wish}
	if n := len(t.mem.order.lines); n > 0 {
		got.item, got.size = t.mem.order.lines[n-1].item, t.mem.order.lines[n-1].size
	}
	if t.mem.last.wish == a.wish && t.mem.last.item == got.item && t.mem.last.size == got.size {
		got.n = t.mem.last.n + 1
	}
	t.mem.last = got
}

// failed decides what becomes of the turn after a call that did not do what it should.
func (t *turn) failed(a act, text string) {
	var sizes []sized
	if i := t.mem.menu.find(a.item); a.tool == toolAdd && a.size == "" && i >= 0 {
		sizes = t.mem.menu.items[i].sizes
	}
	kind := troubleOf(text, sizes)
	switch {
	case kind == troubleRefused:
		t.refused = true
		t.stop(t.refusedNote(a))
	case a.tool == toolRead:
		t.readTry = true
		t.stop("I could not read the menu. " + said(text))
	case a.tool == toolCreate:
		t.stop("I could not start an order. " + said(text))
	case kind == troubleGone:
		t.gone(a, text)
	case kind == troubleSize:
		t.sizeMissing(a)
	case a.tool == toolAdd:
		t.dropLike(a)
		if len(sizes) > 0 && noSize(text) {
			t.trouble("No size was chosen, so I left the " + a.item + " out.")
			break
		}
		t.trouble(t.notAdded(a, text))
	case a.tool == toolRemove:
		t.agenda = slices.DeleteFunc(t.agenda, func(b act) bool { return b.tool == toolRemove })
		t.trouble("I could not take that off. " + said(text))
	case a.tool == toolPlace:
		t.trouble("I could not place the order. " + said(text))
	case a.tool == toolCancel:
		t.trouble("I could not cancel the order. " + said(text))
	default:
		t.trouble("I could not look at the order. " + said(text))
	}
}

// gone starts a new order in the place of one that the cart no longer has, once in a turn and with the same items.
func (t *turn) gone(a act, text string) {
	lines := t.mem.order.lines
	t.mem.order = order{lines: lines}
	if a.tool == toolGet || a.tool == toolCancel {
		t.mem.order = order{}
		t.mem.pending = nil
		t.trouble("That order is gone. " + said(text))
		return
	}
	if t.restarted || len(lines) > maxItems {
		t.stop("The order is gone again, so I stopped. " + said(text))
		return
	}
	t.restarted = true
	again := make([]act, 0, len(lines)+len(t.agenda)+1)
	for _, l := range lines {
		again = append(again, act{tool: toolAdd, item: l.item, size: l.size})
	}
	t.agenda = append(append(again, a), t.agenda...)
	if len(lines) == 0 {
		t.note("The order had expired, so I started a new one.")
		return
	}
	t.note("The order had expired, so I started a new one and put the same items on it again.")
	if a.tool == toolPlace {
		t.agenda[len(lines)].auto = false
	}
}

// sizeMissing keeps what is left of a wish until the person has said which size.
func (t *turn) sizeMissing(a act) {
	n := 1
	t.agenda = slices.DeleteFunc(t.agenda, func(b act) bool {
		same := b.tool == toolAdd && b.item == a.item && b.size == ""
		if same {
			n++
		}
		return same
	})
	t.mem.pending = append(t.mem.pending, want{items: []int{t.mem.menu.find(a.item)}, n: n})
}

// dropLike gives up the other units of what could not be added.
func (t *turn) dropLike(a act) {
	t.agenda = slices.DeleteFunc(t.agenda, func(b act) bool {
		return b.tool == toolAdd && b.item == a.item && b.size == a.size
	})
}
