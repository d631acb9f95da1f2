package cart

import (
	"cmp"
	"iter"
	"time"
)

// remember is how long an order that was never placed is known after it began, so that its caller is told it expired.
const remember = 24 * time.Hour

// Store is the cart's whole memory, an immutable value: the zero Store is an empty cart, and a Store that was handed to
// [Handle] stays as it was. Copies share their parts and may be read from many goroutines.
type Store struct {
	orders *tree[Key, Order]
	placed *tree[idempotencyKey, string] // the handle of the order that a key has placed
	drafts *tree[age, struct{}]          // orders not placed, oldest first
	last   int64                         // the last order number given out
}

// Key names an order: the handle together with the caller it was made for. A handle alone opens nothing.
type Key struct{ Caller, Handle string }

func (k Key) compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Caller, other.Caller), cmp.Compare(k.Handle, other.Handle))
}

type idempotencyKey struct{ caller, key string }

func (k idempotencyKey) compare(other idempotencyKey) int {
	return cmp.Or(cmp.Compare(k.caller, other.caller), cmp.Compare(k.key, other.key))
}

type age struct {
	started int64
	key     Key
}

func (a age) compare(other age) int {
	return cmp.Or(cmp.Compare(a.started, other.started), a.key.compare(other.key))
}

// Status says how far an order has come.
type Status string

// An open order can change until it expires; a placed or cancelled one is settled.
const (
	Open      Status = "open"
	Placed    Status = "placed"
	Cancelled Status = "cancelled"
)

// Order is one customer's order. Its slices are never changed in place.
type Order struct {
	StartedAt int64    `json:"startedAt"` // Unix milliseconds
	Status    Status   `json:"status"`
	Lines     []Line   `json:"lines"`
	Number    int64    `json:"number,omitzero"` // from 1, once placed
	Name      string   `json:"name,omitzero"`   // whom to call, where given
	Keys      []string `json:"keys,omitempty"`  // the idempotency keys that placed it
}

// Line is one item of an order at the price it was added for. Size is "" for an item that has one price.
type Line struct {
	Item  string `json:"item"`
	Size  Size   `json:"size"`
	Cents int64  `json:"cents"`
}

// Total is the order's price in cents.
func (o Order) Total() int64 {
	var sum int64
	for _, l := range o.Lines {
		sum += l.Cents
	}
	return sum
}

// Restore builds the Store that holds these orders, as [Store.Orders] gives them.
func Restore(orders iter.Seq2[Key, Order]) Store {
	var s Store
	for k, o := range orders {
		s = s.with(k, o)
	}
	return s
}

// Orders yields every order by caller and handle.
func (s Store) Orders() iter.Seq2[Key, Order] { return s.orders.all() }

// Order is the order under k; false where there is none.
func (s Store) Order(k Key) (Order, bool) { return s.orders.get(k) }

// with is s with o under k. Placing is final: an order that is placed never leaves that state.
func (s Store) with(k Key, o Order) Store {
	s.orders = s.orders.put(k, o)
	if o.Status != Placed {
		s.drafts = s.drafts.put(age{o.StartedAt, k}, struct{}{})
		return s
	}
	s.drafts = s.drafts.remove(age{o.StartedAt, k})
	for _, key := range o.Keys {
		s.placed = s.placed.put(idempotencyKey{k.Caller, key}, k.Handle)
	}
	s.last = max(s.last, o.Number)
	return s
}

// forgetAtOnce is how many orders one message forgets at most.
const forgetAtOnce = 4

// forget drops the oldest drafts that began before the given time, a few at a time, and names them.
func (s Store) forget(before int64) (Store, []Key) {
	var gone []Key
	for range forgetAtOnce {
		oldest := s.drafts.first()
		if oldest == nil || oldest.key.started >= before {
			break
		}
		gone = append(gone, oldest.key.key)
		s.orders = s.orders.remove(oldest.key.key)
		s.drafts = s.drafts.remove(oldest.key)
	}
	return s, gone
}
