package cart

// A reach is the part of a Store that a request reads or changes. What lies beyond it makes no difference to the answer,
// so a lasting store needs to hand [Handle] no more than this.
type reach struct {
	orders []Key            // the orders under these
	placed []idempotencyKey // what these have placed
	last   bool             // the last number given out
	before int64            // the oldest few orders that were not placed and began before this; 0 for none
	writes bool             // an order may be made, changed or dropped
}

// nothing reports whether the answer does not depend on the store at all.
func (r reach) nothing() bool { return len(r.orders) == 0 && len(r.placed) == 0 && !r.writes }

// reach is what r reads or changes of the store.
func (r request) reach(env Env) reach {
	if r.fault != nil || r.silent || r.method != "tools/call" {
		return reach{}
	}
	t, args, failure := called(r.params)
	if failure != nil {
		return reach{}
	}
	return t.reach(call{env: env.withDefaults(), args: args, params: r.params})
}

func lookReach(c call) reach   { return reach{orders: []Key{c.key()}} }
func changeReach(c call) reach { return reach{orders: []Key{c.key()}, writes: true} }

func startReach(c call) reach {
	return reach{orders: []Key{{c.env.Caller, c.env.Handle}}, before: c.forgotten(), writes: true}
}

func placeReach(c call) reach {
	r := reach{orders: []Key{c.key()}, last: true, writes: true}
	keys, _ := c.keys() // a key that is none is refused before anything is looked up
	for _, key := range keys {
		r.placed = append(r.placed, idempotencyKey{c.env.Caller, key})
	}
	return r
}

// forgotten is when the orders began that are old enough to be dropped.
func (c call) forgotten() int64 {
	return c.env.Now - c.env.Expire.Milliseconds() - remember.Milliseconds()
}
