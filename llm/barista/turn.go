package barista

import (
	"slices"

	"github.com/cartagent/cartagent/loop"
)

const (
	maxItems  = 50   // on one order
	maxCalls  = 150  // in one turn, whatever the tools answer
	maxPrompt = 4000 // bytes of a prompt that can be an order
)

// stage is how far an order has come.
type stage int

const (
	stageNone stage = iota
	stageOpen
	stagePlaced
	stageCancelled
)

// order is the latest order of the conversation, as the cart reported it.
type order struct {
	stage  stage
	id     string
	number string
	lines  []line
	listed bool // the lines are known
	total  int
	summed bool
}

func (o *order) open() bool { return o.stage == stageOpen }

// take brings an order up to what a result says.
func (o *order) take(r receipt) {
	if r.listed {
		o.lines, o.listed = r.lines, true
		o.total, o.summed = r.total, r.summed
	}
	if r.number != "" && r.number != "0" {
		o.number = r.number
	}
}

// want is so many of one thing that is not on the order yet, because a size is missing or it may mean several items.
type want struct {
	items []int
	size  string
	n     int
}

// memory is what a conversation has come to.
type memory struct {
	menu    *menu
	order   order
	pending []want
	last    tally // what was added last
	topic   want  // what the last prompt asked about, which the next may be about too
	names   []string
	hold    bool // the person wants the order left open
	wishes  int  // so far, to tell them apart
	stale   bool // a turn broke off, so the cart may know more than we do
}

// tally counts the units of one wish that are on the order.
type tally struct {
	item string
	size string
	n    int
	wish int
}

// act is one thing to do.
type act struct {
	tool string
	item string
	size string
	take []int // toolRemove: the items that are meant, none meaning any
	wish int   // toolAdd: the wish it belongs to
	base int   // toolAdd: how many of the wish are there already
	auto bool  // toolPlace: only if nothing is left to ask
}

// turn is one prompt on its way to an answer.
type turn struct {
	mem      *memory
	box      toolbox
	prompt   string
	agenda   []act
	planned  bool
	readTry  bool
	flight   act // what was called last
	calls    int
	answered bool

	notes     []string // sentences, in the order they are said
	problem   bool     // the order must not be placed without another word
	changed   bool     // the order's lines are worth saying
	restarted bool
	placed    bool
	refused   bool
	added     bool
	kept      bool   // what was added takes the place of something else, which is no reason to place the order
	topic     want   // what the prompt before asked about, or this one so far
	subjects  bool   // the prompt asks about things of the menu
	noSwap    bool   // there is nothing to exchange
	told      bool   // a question about a thing was answered
	text      string // the answer, once there is one
}

func newTurn(mem *memory, box toolbox, prompt string) *turn {
	return &turn{mem: mem, box: box, prompt: prompt}
}

// next is the next call, or, when the text is not empty, the answer that ends the turn.
func (t *turn) next() (loop.Call, string) {
	if t.text != "" {
		return loop.Call{}, t.text
	}
	if t.mem.menu == nil && !t.readTry {
		if !t.box.has(toolRead) {
			t.stop("I cannot read the cart's menu: this session has no " + toolRead + " tool.")
			return loop.Call{}, t.text
		}
		return t.dispatch(act{tool: toolRead})
	}
	if t.mem.stale && !t.planned && t.mem.order.open() && t.box.has(toolGet) {
		t.mem.stale = false
		return t.dispatch(act{tool: toolGet})
	}
	if !t.planned {
		t.planned = true
		t.plan()
	}
	for t.text == "" && len(t.agenda) > 0 {
		if t.calls >= maxCalls {
			t.stop("I stopped here: that took more steps than an order should.")
			break
		}
		a := t.agenda[0]
		if t.idle(a) {
			t.agenda = t.agenda[1:]
			continue
		}
		if (a.tool == toolAdd) && !t.mem.order.open() {
			a = act{tool: toolCreate}
		}
		return t.dispatch(a)
	}
	if t.text == "" {
		t.text = t.compose()
	}
	return loop.Call{}, t.text
}

// idle says whether an act has become needless, or cannot be done, and leaves a word about it where one is due.
func (t *turn) idle(a act) bool {
	o := &t.mem.order
	switch a.tool {
	case toolPlace:
		return t.cannotPlace(a)
	case toolRemove:
		if !o.open() || t.lineOf(a) == 0 {
			t.note("There is no " + label(a.size, t.called(a.take)) + " left to take off.")
			return true
		}
		if !t.box.has(toolRemove) {
			t.trouble("This cart has no way to take something off an order.")
			return true
		}
	case toolGet:
		return o.id == "" || !t.box.has(toolGet)
	case toolCancel:
		if !t.box.has(toolCancel) {
			t.trouble("This cart has no way to cancel an order. If it is not placed, nothing will be made.")
			return true
		}
	case toolCreate:
		return o.open()
	}
	return false
}

func (t *turn) cannotPlace(a act) bool {
	o := &t.mem.order
	switch {
	case t.problem || len(t.mem.pending) > 0:
		return true
	case a.auto && (!t.added || !t.box.has(toolPlace)):
		return true
	case o.stage == stagePlaced:
		t.note("Your order" + t.numbered() + " is placed already.")
		return true
	case !o.open() || o.listed && len(o.lines) == 0:
		t.note("There is nothing to place yet. Tell me what you would like.")
		return true
	case !t.box.has(toolPlace):
		t.trouble("This cart has no way for me to place an order: what is on it is what I can do.")
		return true
	}
	return false
}

// dispatch makes the call of an act.
func (t *turn) dispatch(a act) (loop.Call, string) {
	t.flight = a
	id := t.mem.order.id
	args := map[string]any{}
	switch a.tool {
	case toolRead:
		args["server"], args["uri"] = t.box.server, menuURI
	case toolAdd:
		args["order"], args["item"] = id, a.item
		if a.size != "" {
			args["size"] = a.size
		}
	case toolRemove:
		args["order"], args["line"] = id, t.lineOf(a)
	case toolPlace:
		args["order"] = id
		if len(t.mem.names) > 0 && t.box.named {
			args["name"] = list(t.mem.names, "and")
		}
	case toolGet, toolCancel:
		args["order"] = id
	}
	return t.box.call(a.tool, args), ""
}

// lineOf is the number of the last line that an act may take off, from 1, or 0.
func (t *turn) lineOf(a act) int {
	for i, l := range slices.Backward(t.mem.order.lines) {
		if t.covers(a, l) {
			return i + 1
		}
	}
	return 0
}

func (t *turn) covers(a act, l line) bool {
	return (a.size == "" || a.size == l.size) && (len(a.take) == 0 || slices.Contains(a.take, t.mem.menu.find(l.item)))
}

// follow takes in a call of this turn and its result. A call that is not the one that was due (another model may have
// made it) is taken for what it did to the order.
func (t *turn) follow(c loop.Call, r loop.Result) {
	due, text := t.next()
	t.calls++
	if text == "" && due.Tool == c.Tool && sameArgs(due.Args, c.Args) {
		t.took(r)
		return
	}
	t.absorb(t.box.what(c.Tool), c, r)
}

// close ends a turn that another follows.
func (t *turn) close() {
	if t.answered {
		t.next()
	}
	if t.text != "" && t.answered {
		return
	}
	// It broke off: what was still to be done is not.
	t.mem.pending = nil
	if t.mem.order.open() {
		t.mem.hold, t.mem.stale = true, true
	}
}
