package cart

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type number int

func (n number) compare(other number) int { return cmp.Compare(n, other) }

// A random history of puts and removes: each version of the tree agrees with a map, stays balanced, and stays as it was.
func TestTreeKeepsEveryVersion(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	type version struct {
		tree *tree[number, int]
		want map[number]int
	}
	var versions []version
	var now *tree[number, int]
	want := map[number]int{}
	for i := range 3000 {
		key := number(random.IntN(200))
		if random.IntN(3) == 0 {
			now = now.remove(key)
			delete(want, key)
		} else {
			now = now.put(key, i)
			want[key] = i
		}
		if i%50 == 0 {
			versions = append(versions, version{now, maps.Clone(want)})
		}
	}
	for _, v := range versions {
		assert.Equal(t, v.want, maps.Collect(v.tree.all()))
		var keys []number
		for k := range v.tree.all() {
			keys = append(keys, k)
		}
		assert.True(t, slices.IsSorted(keys))
		for k := range number(200) {
			got, ok := v.tree.get(k)
			value, there := v.want[k]
			assert.Equal(t, there, ok)
			assert.Equal(t, value, got)
		}
		requireBalanced(t, v.tree)
	}
	for range now.all() {
		break // an iteration may stop
	}
}

func requireBalanced(t *testing.T, n *tree[number, int]) {
	t.Helper()
	if n == nil {
		return
	}
	require.Equal(t, 1+max(n.left.tall(), n.right.tall()), n.height)
	require.LessOrEqual(t, n.left.tall()-n.right.tall(), 1)
	require.GreaterOrEqual(t, n.left.tall()-n.right.tall(), -1)
	requireBalanced(t, n.left)
	requireBalanced(t, n.right)
}

func TestRestoreGivesTheSameStore(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	placed, open, gone := c.ordered(), c.starts(), c.starts()
	first := c.place(placed, `"k"`, "")
	c.does("cancel_order", fmt.Sprintf(`{"order":%q}`, gone))
	want := maps.Collect(c.store.Orders())

	restored := Restore(c.store.Orders())
	c.store = &restored
	assert.Equal(t, want, maps.Collect(restored.Orders()))
	assert.Equal(t, first, c.place(placed, `"k"`, ""), "the keys are known")
	c.does("add_item", fmt.Sprintf(`{"order":%q,"item":"oat cookie"}`, open))
	number := c.does("place_order", fmt.Sprintf(`{"order":%q}`, open))["number"]
	assert.InDelta(t, 2, number, 0, "the numbers go on")
	o, ok := restored.Order(Key{"ada", placed})
	assert.True(t, ok)
	assert.Equal(t, want[Key{"ada", placed}], o)
}

// A store that lost older orders must not give their numbers out again.
func TestRestoreGoesOnFromTheLastNumber(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	*c.store = Restore(maps.All(map[Key]Order{
		{"bob", "x"}: {Status: Placed, Number: 7, Lines: []Line{{Item: "latte", Size: Small, Cents: 400}}},
		{"ada", "y"}: {Status: Placed, Number: 3, Lines: []Line{{Item: "latte", Size: Small, Cents: 400}}},
	}))
	assert.InDelta(t, 8, c.does("place_order", fmt.Sprintf(`{"order":%q}`, c.ordered()))["number"], 0)
}

// Two futures of one store know nothing of each other.
func TestStoresBranch(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	order := c.starts()
	for n := range 9 {
		before := *c.store
		c.does("add_item", fmt.Sprintf(`{"order":%q,"item":"oat cookie"}`, order))
		one := *c.store
		*c.store = before
		c.does("add_item", fmt.Sprintf(`{"order":%q,"item":"morning bun"}`, order))
		*c.store = one
		o, ok := one.Order(Key{"ada", order})
		require.True(t, ok)
		assert.Equal(t, slices.Repeat([]Line{{Item: "oat cookie", Cents: 275}}, n+1), o.Lines)
	}
}

// Orders that nobody placed are forgotten a day after they expired, as new ones begin; placed ones are not.
func TestDraftsAreForgotten(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	placed := c.ordered()
	c.does("place_order", fmt.Sprintf(`{"order":%q}`, placed))
	var old []Key
	for range 6 {
		old = append(old, Key{"ada", c.starts()})
	}
	c.does("cancel_order", fmt.Sprintf(`{"order":%q}`, old[0].Handle))
	c.wait(24*time.Hour + 30*time.Minute)
	c.starts()
	assert.Len(t, c.changed, 1, "not yet")
	assert.Contains(t, c.fails("get_order", fmt.Sprintf(`{"order":%q}`, old[1].Handle)), "has expired")

	c.wait(time.Millisecond)
	c.starts()
	assert.Subset(t, c.changed, old[:4])
	c.starts()
	assert.Subset(t, c.changed, old[4:])
	for _, k := range old {
		assert.Contains(t, c.fails("get_order", fmt.Sprintf(`{"order":%q}`, k.Handle)), "There is no order")
	}
	assert.Equal(t, "placed", c.does("get_order", fmt.Sprintf(`{"order":%q}`, placed))["status"])
}
