package barista

import (
	"fmt"
	"slices"
	"strings"
)

const (
	greeting       = "Hello! I take orders at the cart: tell me what you would like, or ask what there is."
	notConnected   = "The cart is not connected to this session, so I can take no orders."
	onlyMenu       = "More than names, sizes and prices I do not know."
	onlyOrders     = "I am the small model that is built in, and I only take orders at the cart."
	howToConfigure = "For anything else, choose a model: set CARTAGENT_MODEL (or pass --model) to anthropic/claude-sonnet-5-5 with " +
		"ANTHROPIC_API_KEY set, or to openai/ and a model's name with OPENAI_API_KEY set."
)

func (t *turn) note(s string) {
	if s != "" {
		t.notes = append(t.notes, s)
	}
}

// trouble is a note that keeps the order from being placed without another word.
func (t *turn) trouble(s string) {
	t.problem = true
	t.note(s)
}

// stop ends the turn with what is to say about it.
func (t *turn) stop(s string) {
	t.trouble(s)
	t.agenda = nil
	t.text = t.compose()
}

// compose is the answer: what happened, what is on the order, and what is asked in return.
func (t *turn) compose() string {
	o := t.mem.order
	parts := make([]string, 0, len(t.notes)+4)
	seen := map[string]bool{}
	var notes []string
	for _, n := range t.notes {
		if !seen[n] {
			seen[n] = true
			notes = append(notes, n)
		}
	}
	if len(notes) > 0 {
		parts = append(parts, strings.Join(notes, " "))
	}
	if t.changed && o.stage != stageNone && o.stage != stageCancelled {
		parts = append(parts, t.bill())
	}
	if t.refused {
		return strings.Join(parts, "\n")
	}
	if len(t.mem.pending) > 0 {
		parts = append(parts, t.question(t.mem.pending[0]))
	}
	if o.open() && len(t.mem.pending) == 0 && t.box.has(toolPlace) {
		if len(o.lines) > 0 {
			parts = append(parts, "It is not placed yet. Say “place it” when that is all, or tell me what to change.")
		} else if len(notes) == 0 || t.mem.hold {
			parts = append(parts, "Your order is open. What would you like?")
		}
	}
	if len(parts) == 0 {
		return greeting
	}
	return strings.Join(parts, "\n")
}

// bill is the lines and the total, as the cart reported them.
func (t *turn) bill() string {
	o := t.mem.order
	if len(o.lines) == 0 {
		return "Your order is empty."
	}
	lines := make([]string, 0, len(o.lines)+2)
	if o.open() {
		lines = append(lines, "On your order:")
	}
	for _, l := range o.lines {
		lines = append(lines, l.String())
	}
	if o.summed {
		lines = append(lines, "Total "+dollars(o.total))
	}
	return strings.Join(lines, "\n")
}

func (t *turn) placedNote(names []string) string {
	s := "Your order is placed"
	if n := t.mem.order.number; n != "" {
		s += ": number " + n
	}
	if len(names) > 0 && t.box.named {
		s += ", for " + list(names, "and")
	}
	return s + "."
}

// numbered is the number of the placed order as it goes behind "Your order".
func (t *turn) numbered() string {
	if t.mem.order.number == "" {
		return ""
	}
	return " number " + t.mem.order.number
}

// refusedNote says what state a refusal has left things in.
func (t *turn) refusedNote(a act) string {
	o := t.mem.order
	s := "I was not allowed to do that (" + strings.ReplaceAll(a.tool, "_", " ") + "), so I stopped. "
	switch {
	case o.stage == stagePlaced:
		return s + "Your order" + t.numbered() + " stays placed as it was."
	case o.open() && len(o.lines) > 0:
		t.changed = true
		return s + "Nothing is placed; the order is still open."
	}
	return s + "Nothing is ordered."
}

// said introduces a tool's own words.
func said(text string) string { return "The cart says: " + quote(text) }

// notAdded says why an item is not on the order. Of a text about an item that is sold out only the facts go on to the
// person: what it says is still there.
func (t *turn) notAdded(a act, text string) string {
	lower := strings.ToLower(text)
	var left []string
	for _, it := range t.mem.menu.items {
		if it.name != a.item && strings.Contains(lower, strings.ToLower(it.name)) {
			left = append(left, it.name)
		}
	}
	if strings.Contains(lower, "sold out") && len(left) > 0 {
		return "Sorry, the " + label(a.size, a.item) + " is sold out. There is still " + list(left, "and") + "."
	}
	return "I could not add the " + label(a.size, a.item) + ". " + said(text)
}

func noSize(text string) bool { return strings.Contains(strings.ToLower(text), "no size") }

// question asks what is still open about a wish.
func (t *turn) question(w want) string {
	if len(w.items) != 1 {
		names := make([]string, 0, len(w.items))
		for _, i := range w.items {
			names = append(names, t.priced(i))
		}
		return "Which one would you like: " + list(names, "or") + "?"
	}
	it := t.mem.menu.items[w.items[0]]
	sizes := make([]string, 0, len(it.sizes))
	for _, s := range it.sizes {
		sizes = append(sizes, s.name+" "+dollars(s.cents))
	}
	count := ""
	if w.n > 1 {
		count = fmt.Sprintf(" (%d of them)", w.n)
	}
	return "Which size of " + it.name + count + " would you like: " + list(sizes, "or") + "?"
}

// called names items as a person would who does not care which.
func (t *turn) called(items []int) string {
	names := make([]string, 0, len(items))
	for _, i := range items {
		names = append(names, t.mem.menu.items[i].name)
	}
	if len(names) == 0 {
		return "such thing"
	}
	return list(names, "or")
}

// priced is an item with all its prices.
func (t *turn) priced(i int) string {
	it := t.mem.menu.items[i]
	switch {
	case it.soldOut:
		return it.name + " (sold out)"
	case it.priced:
		return it.name + " " + dollars(it.cents)
	case len(it.sizes) == 0:
		return it.name
	}
	sizes := make([]string, 0, len(it.sizes))
	for _, s := range it.sizes {
		sizes = append(sizes, s.name+" "+dollars(s.cents))
	}
	return it.name + " (" + strings.Join(sizes, ", ") + ")"
}

// available lists what can be had, in a sentence.
func (t *turn) available() string {
	var names []string
	for _, it := range t.mem.menu.items {
		if !it.soldOut {
			names = append(names, it.name)
		}
	}
	if len(names) == 0 {
		return "Everything is sold out today."
	}
	return "Today there is " + list(names, "and") + "."
}

// questions answers what the prompt asks about the menu and the order.
func (t *turn) questions(u utterance) {
	o := &t.mem.order
	if u.has(cueMenu) && !t.told {
		lines := []string{"Today there is:"}
		for i := range t.mem.menu.items {
			lines = append(lines, t.priced(i))
		}
		t.note(strings.Join(lines, "\n"))
	}
	if !t.asksOrder(u) {
		return
	}
	switch {
	case o.id == "" && !t.adds():
		t.note("You have no order yet.")
	case o.stage == stageCancelled && !t.adds():
		t.note("Your last order is cancelled, and there is no other.")
	case o.stage == stagePlaced && !t.adds():
		t.note("Your order" + t.numbered() + " is placed.")
		t.changed = true
	case o.id != "" && o.open() && !t.adds():
		t.agenda = append(t.agenda, act{tool: toolGet})
		t.changed = true
	}
}

// asked answers a question about a thing.
func (t *turn) asked(g group) {
	switch {
	case len(g.items) > 0 && len(g.unknown) == 0:
		for _, i := range g.items {
			it := t.mem.menu.items[i]
			if it.soldOut {
				t.note("The " + it.name + " is sold out today.")
				continue
			}
			t.note("On the menu: " + t.priced(i) + ".")
		}
		t.topic = want{items: g.items, size: g.size, n: max(g.count, 1)}
		t.mem.topic = t.topic
		if len(g.extra) > 0 || g.why {
			t.note(onlyMenu)
		}
		t.told = true
	case len(g.items) == 0 && t.subjects:
		t.note(onlyMenu)
	case g.price && len(g.unknown) > 0 && len(g.unknown) <= thingWords:
		words := slices.Clone(g.unknown)
		if len(g.items) > 0 {
			words = append(words, t.called(g.items))
		}
		t.note("There is no “" + strings.Join(words, " ") + "” on the menu. " + t.available())
		t.told = true
	}
}

// small answers a prompt that led to nothing else.
func (t *turn) small(u utterance) string {
	m := t.mem
	open := m.order.open()
	switch {
	case u.silent:
		return greeting
	case u.undone:
		return "All right, nothing is ordered. I am here when you want something."
	case len(u.groups) > 0:
		return onlyOrders + " " + t.available() + " " + howToConfigure
	case u.has(cueGreet):
		return greeting + " " + t.available()
	case u.has(cueThanks) && m.order.stage == stagePlaced:
		return "You are welcome!"
	case u.has(cueHold) && open:
		return "All right, I leave the order open."
	case u.has(cueThanks), u.has(cueNo):
		if open {
			return "You are welcome."
		}
		return "All right, nothing is ordered. I am here when you want something."
	case u.has(cueAdd), u.has(cueYes), u.has(cueStart), u.has(cuePrice), u.has(cueAvail):
		return "What would you like? " + t.available()
	case u.asked:
		return onlyOrders + " " + t.available() + " " + howToConfigure
	}
	return onlyOrders + " " + t.available() + " " + howToConfigure
}
