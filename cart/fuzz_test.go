package cart

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stocked is a store with an order in every state, all of the caller "ada".
func stocked(tb testing.TB) Store {
	tb.Helper()
	var store Store
	do := func(handle, params string) {
		var reply Reply
		store, reply = Handle(store, []byte(modern(1, "tools/call", params, "{}")), Env{Caller: "ada", Now: start, Handle: handle})
		require.Nil(tb, reply.Error)
	}
	for _, handle := range []string{"open", "placed", "cancelled"} {
		do(handle, `"name":"create_order"`)
		do("", fmt.Sprintf(`"name":"add_item","arguments":{"order":%q,"item":"morning bun"}`, handle))
	}
	do("", `"name":"place_order","arguments":{"order":"placed","idempotency_key":"k"}`)
	do("", `"name":"cancel_order","arguments":{"order":"cancelled"}`)
	return store
}

// Any bytes: no panic, the store that was handed in is unchanged, a change names its orders, and the reply is JSON that
// holds to the schema.
func FuzzHandle(f *testing.F) {
	for _, params := range []string{
		`"name":"create_order"`, `"name":"add_item","arguments":{"order":"open","item":"latte"},"inputResponses":{"size":{"action":"accept","content":{"size":"small"}}}`,
		`"name":"remove_item","arguments":{"order":"open","line":1}`, `"name":"get_order","arguments":{"order":"placed"}`,
		`"name":"place_order","arguments":{"order":"open","name":"x","idempotency_key":"k"}`, `"name":"cancel_order","arguments":{"order":"open"}`,
	} {
		f.Add([]byte(modern(1, "tools/call", params, `{"elicitation":{}}`)), start, false)
	}
	for _, method := range []string{"server/discover", "tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
		f.Add([]byte(modern(1, method, "", "{}")), int64(0), false)
	}
	f.Add([]byte(modern(1, "resources/read", `"uri":"menu://today"`, "{}")), start, false)
	f.Add([]byte(modern(1, "prompts/get", `"name":"weekly_special"`, "{}")), int64(-1), false)
	f.Add([]byte(modern(1, "prompts/get", `"name":"catering_reply","arguments":{"event":"x","people":"3"}`, "{}")), start, false)
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}`), start, true)
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_order"}}`), start, true)
	f.Add([]byte("[\"\xff"), start, false)
	store := stocked(f)
	before := text(maps.Collect(jsonOrders(store)))
	f.Fuzz(func(t *testing.T, message []byte, now int64, legacy bool) {
		env := Env{Caller: "ada", Now: now, Handle: "fresh", Legacy: legacy, Opened: legacy}
		next, reply := Handle(store, message, env)
		require.Equal(t, before, text(maps.Collect(jsonOrders(store))))
		requireChangesNamed(t, store, next, reply.Changed)
		again, same := Handle(store, message, env)
		require.Equal(t, next, again)
		require.Equal(t, reply, same)
		if reply.Silent() {
			require.Equal(t, store, next)
			return
		}
		wire, err := encode(reply)
		require.NoError(t, err)
		var got map[string]any
		require.NoError(t, json.Unmarshal(wire, &got))
		requireValid(t, reply, env, got)
	})
}

func jsonOrders(s Store) func(func(string, Order) bool) {
	return func(yield func(string, Order) bool) {
		for k, o := range s.Orders() {
			if !yield(fmt.Sprintf("%q %q", k.Caller, k.Handle), o) {
				return
			}
		}
	}
}

// Any sequence of calls by two callers, some repeated with their key: numbers run from 1 without a gap, a key places one
// order, a settled order never changes again, and each total is the sum of its lines.
func FuzzOrders(f *testing.F) {
	f.Add([]byte{0, 1, 1, 1, 2, 4, 5, 0, 0, 16, 17, 20, 21, 4, 4, 3})
	f.Add([]byte{0, 0, 0, 1, 33, 65, 4, 36, 68, 100, 4, 36})
	f.Fuzz(func(t *testing.T, moves []byte) {
		if len(moves) > 200 {
			moves = moves[:200]
		}
		var store Store
		settled := map[Key]Order{}
		for i, move := range moves {
			caller := []string{"ada", "bob"}[move>>4&1]
			order := fmt.Sprintf("h%d", move>>5)
			params := []string{
				`"name":"create_order"`,
				fmt.Sprintf(`"name":"add_item","arguments":{"order":%q,"item":"oat cookie"}`, order),
				fmt.Sprintf(`"name":"add_item","arguments":{"order":%q,"item":"latte","size":"large"}`, order),
				fmt.Sprintf(`"name":"remove_item","arguments":{"order":%q,"line":1}`, order),
				fmt.Sprintf(`"name":"place_order","arguments":{"order":%q,"idempotency_key":"k%d"}`, order, move>>3&1),
				fmt.Sprintf(`"name":"place_order","arguments":{"order":%q}`, order),
				fmt.Sprintf(`"name":"cancel_order","arguments":{"order":%q}`, order),
				fmt.Sprintf(`"name":"get_order","arguments":{"order":%q}`, order),
			}[move&7]
			env := Env{Caller: caller, Now: start + int64(i)*60_000, Handle: order}
			next, reply := Handle(store, []byte(modern(1, "tools/call", params, "{}")), env)
			requireChangesNamed(t, store, next, reply.Changed)
			store = next
			requireSound(t, store, settled)
		}
	})
}

// requireSound checks what must hold of every store; settled collects the orders that may not change any more.
func requireSound(t *testing.T, store Store, settled map[Key]Order) {
	t.Helper()
	var numbers []int64
	keys := map[idempotencyKey]bool{}
	for k, o := range store.Orders() {
		if was, ok := settled[k]; ok {
			require.Equal(t, was, o)
		}
		if o.Status != Open {
			settled[k] = o
		}
		if o.Status == Placed {
			numbers = append(numbers, o.Number)
			require.NotEmpty(t, o.Lines)
		}
		for _, key := range o.Keys {
			id := idempotencyKey{k.Caller, key}
			require.False(t, keys[id], "a key placed two orders")
			keys[id] = true
		}
		var sum int64
		for _, l := range o.Lines {
			sum += l.Cents
		}
		require.Equal(t, sum, o.Total())
	}
	want := make([]int64, len(numbers))
	for i := range want {
		want[i] = int64(i + 1)
	}
	assert.ElementsMatch(t, want, numbers)
}
