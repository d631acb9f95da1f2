package cart

import (
	"fmt"
	"slices"
	"strings"
)

const (
	maxLines    = 100 // of one order
	maxKeyRunes = 255
)

// A call is a tools/call whose tool is known and whose arguments passed its schema.
type call struct {
	store        Store
	env          Env
	args         arguments
	params       object
	capabilities object
}

func callTool(store Store, params object, env Env, capabilities object) step {
	t, args, failure := called(params)
	if failure != nil {
		return store.refuse(failure)
	}
	return t.run(call{store, env, args, params, capabilities})
}

// called is the tool that a tools/call names, and its arguments.
func called(params object) (tool, arguments, *Error) {
	name, ok := asString(params["name"])
	if !ok {
		return tool{}, arguments{}, fail(codeInvalidParams, "tools/call needs name, a string from tools/list")
	}
	all := tools()
	i := slices.IndexFunc(all, func(t tool) bool { return t.name == name })
	if i < 0 {
		return tool{}, arguments{}, fail(codeInvalidParams, "Unknown tool: %s; tools/list names those there are", clip(name))
	}
	args, failure := check(name, all[i].params, params["arguments"])
	return all[i], args, failure
}

func (c call) key() Key { return Key{c.env.Caller, c.args.strings["order"]} }

// say is the tool's own failure, which a model reads: what is the matter and what to do next.
func (c call) say(format string, args ...any) step {
	return c.store.answer(body{
		"content": []body{{"type": "text", "text": fmt.Sprintf(format, args...)}},
		"isError": true,
	})
}

// done is the tool's success, structured and as text. Where o differs from before it is kept.
func (c call) done(structured any) step {
	return c.store.answer(body{
		"content":           []body{{"type": "text", "text": text(structured)}},
		"structuredContent": structured,
		"isError":           false,
	})
}

// keep is done with o stored under the call's handle.
func (c call) keep(o Order, structured any) step {
	c.store = c.store.with(c.key(), o)
	next := c.done(structured)
	next.changed = []Key{c.key()}
	return next
}

type orderLines struct {
	Order      string `json:"order"`
	Number     int64  `json:"number,omitzero"`
	Lines      []Line `json:"lines"`
	TotalCents int64  `json:"totalCents"`
	Status     Status `json:"status,omitzero"`
	Name       string `json:"name,omitzero"`
}

func (c call) lines(o Order) orderLines {
	return orderLines{Order: c.key().Handle, Lines: append([]Line{}, o.Lines...), TotalCents: o.Total()}
}

func (c call) status(o Order) orderLines {
	shown := c.placed(o)
	shown.Status = o.Status
	return shown
}

func (c call) placed(o Order) orderLines {
	shown := c.lines(o)
	shown.Number, shown.Name = o.Number, o.Name
	return shown
}

// order finds the order that the call names; where it is unknown or expired the call says so and ends.
func (c call) order() (Order, *step) {
	o, ok := c.store.Order(c.key())
	if !ok {
		s := c.say("There is no order %q for this customer. Call create_order for a new one and use the handle it returns.", clip(c.key().Handle))
		return Order{}, &s
	}
	if o.Status == Open && c.env.Now-o.StartedAt > c.env.Expire.Milliseconds() {
		s := c.say("Order %s has expired: orders stay open for %s. Call create_order for a new one and add the items again.", c.key().Handle, spoken(c.env.Expire))
		return Order{}, &s
	}
	return o, nil
}

// openOrder is order for a tool that changes it.
func (c call) openOrder() (Order, *step) {
	o, end := c.order()
	if end != nil {
		return o, end
	}
	if o.Status == Open {
		return o, nil
	}
	s := c.say("Order %s was cancelled; nothing was done. Call create_order for a new one.", c.key().Handle)
	if o.Status == Placed {
		s = c.say("Order %s was placed already as number %d and cannot be changed; nothing was done. Call create_order if the customer wants more.", c.key().Handle, o.Number)
	}
	return o, &s
}

func createOrder(c call) step {
	key := Key{c.env.Caller, c.env.Handle}
	if _, used := c.store.Order(key); used || key.Handle == "" {
		return c.store.refuse(fail(codeInternal, "No fresh handle for a new order; nothing was started, try again"))
	}
	var gone []Key
	c.store, gone = c.store.forget(c.forgotten())
	c.store = c.store.with(key, Order{StartedAt: c.env.Now, Status: Open})
	next := c.done(struct {
		Order string `json:"order"`
	}{key.Handle})
	next.changed = append(gone, key)
	return next
}

func addItem(c call) step {
	o, end := c.openOrder()
	if end != nil {
		return *end
	}
	item, ok := c.env.Menu.find(c.args.strings["item"])
	if !ok {
		return c.say("Today's menu has no %q. %s", clip(c.args.strings["item"]), c.choice())
	}
	if item.SoldOut {
		return c.say("The %s is sold out today; nothing was added. %s", item.Name, c.choice())
	}
	if len(o.Lines) >= maxLines {
		return c.say("Order %s is full: it has %d lines. Place it, and start another with create_order.", c.key().Handle, maxLines)
	}
	size, end := c.sizeOf(item)
	if end != nil {
		return *end
	}
	o.Lines = append(slices.Clip(o.Lines), Line{item.Name, size, item.Cents.For(size)})
	return c.keep(o, c.lines(o))
}

func (c call) choice() string {
	left := c.env.Menu.available()
	if len(left) == 0 {
		return "Everything is sold out; tell the customer."
	}
	return "Ask the customer to choose from: " + left.names() + "."
}

// sizeOf is the size of a drink: from the arguments, from the customer's answer, or by asking for it.
func (c call) sizeOf(item Item) (Size, *step) {
	if !item.Cents.Sized() {
		return "", nil
	}
	if size, given := c.args.strings["size"]; given {
		return Size(size), nil
	}
	size, outcome := answeredSize(c.params)
	var s step
	switch outcome {
	case accepted:
		return size, nil
	case refused:
		s = c.say("The customer chose no size, so no %s was added. Ask what they would like instead.", item.Name)
	case malformed:
		s = c.store.refuseParams("inputResponses must hold an elicitation result under size: an action of accept, decline or cancel, and content with accept")
	case missing:
		if canAsk(c.capabilities) {
			s = c.store.answer(askSize(item))
			break
		}
		s = c.say("The %s comes in %s; nothing was added. Ask the customer which size, then call add_item again with size.", item.Name, orList(sizes()))
	}
	return "", &s
}

func orList(sizes []Size) string {
	words := make([]string, len(sizes))
	for i, s := range sizes {
		words[i] = string(s)
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

func removeItem(c call) step {
	o, end := c.openOrder()
	if end != nil {
		return *end
	}
	line := c.args.integers["line"]
	switch n := len(o.Lines); {
	case n == 0:
		return c.say("Order %s has no lines to remove.", c.key().Handle)
	case line > n:
		return c.say("Order %s has no line %d; its lines are 1 to %d. Call get_order to see them.", c.key().Handle, line, n)
	}
	o.Lines = slices.Delete(slices.Clone(o.Lines), line-1, line)
	return c.keep(o, c.lines(o))
}

func getOrder(c call) step {
	o, end := c.order()
	if end != nil {
		return *end
	}
	return c.done(c.status(o))
}

func cancelOrder(c call) step {
	o, end := c.order()
	if end != nil {
		return *end
	}
	if o.Status == Cancelled {
		return c.done(c.status(o))
	}
	if o, end = c.openOrder(); end != nil {
		return *end
	}
	o.Status = Cancelled
	return c.keep(o, c.status(o))
}

func placeOrder(c call) step {
	keys, failure := c.keys()
	if failure != nil {
		return c.store.refuse(failure)
	}
	for _, key := range keys {
		handle, used := c.store.placed.get(idempotencyKey{c.env.Caller, key})
		if !used {
			continue
		}
		o, _ := c.store.Order(Key{c.env.Caller, handle})
		if handle != c.key().Handle {
			return c.say("This idempotency key has placed order %s already, as number %d; nothing was placed now. Use a new key to place %q.", handle, o.Number, clip(c.key().Handle))
		}
		return c.done(c.placed(o))
	}
	o, end := c.openOrder()
	if end != nil {
		return *end
	}
	if len(o.Lines) == 0 {
		return c.say("Order %s is empty, so it was not placed. Add something with add_item first.", c.key().Handle)
	}
	o.Status, o.Number, o.Name, o.Keys = Placed, c.store.last+1, tidy(c.args.strings["name"]), keys
	return c.keep(o, c.placed(o))
}

// keys are the call's idempotency keys: the client's in _meta and the model's among the arguments count alike.
func (c call) keys() ([]string, *Error) {
	var keys []string
	if key, given := c.args.strings["idempotency_key"]; given {
		keys = append(keys, key)
	}
	meta, _ := asObject(c.params["_meta"])
	raw, given := meta[metaKey]
	if !given {
		return keys, nil
	}
	p := param{least: 1, most: maxKeyRunes}
	read := arguments{strings: map[string]string{}}
	if fault := p.read(raw, read); fault != "" {
		return nil, fail(codeInvalidParams, "_meta %s %s", metaKey, fault)
	}
	if key := read.strings[p.name]; !slices.Contains(keys, key) {
		keys = append(keys, key)
	}
	return keys, nil
}
