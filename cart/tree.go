package cart

import "iter"

// ordered is a key: compare says with its sign whether it comes before the other one, is the same, or comes behind it.
type ordered[K any] interface{ compare(other K) int }

// tree is a balanced search tree (AVL) whose nodes never change: put and remove share all but one path with the tree
// they started from, so every older version stays whole. A nil tree is empty.
type tree[K ordered[K], V any] struct {
	key         K
	value       V
	left, right *tree[K, V]
	height      int
}

func (t *tree[K, V]) get(key K) (V, bool) {
	for t != nil {
		switch c := key.compare(t.key); {
		case c == 0:
			return t.value, true
		case c < 0:
			t = t.left
		default:
			t = t.right
		}
	}
	var none V
	return none, false
}

func (t *tree[K, V]) put(key K, value V) *tree[K, V] {
	if t == nil {
		return &tree[K, V]{key: key, value: value, height: 1}
	}
	switch c := key.compare(t.key); {
	case c == 0:
		return join(t.left, t.right, key, value)
	case c < 0:
		return balance(t.left.put(key, value), t.right, t.key, t.value)
	default:
		return balance(t.left, t.right.put(key, value), t.key, t.value)
	}
}

func (t *tree[K, V]) remove(key K) *tree[K, V] {
	if t == nil {
		return nil
	}
	switch c := key.compare(t.key); {
	case c < 0:
		return balance(t.left.remove(key), t.right, t.key, t.value)
	case c > 0:
		return balance(t.left, t.right.remove(key), t.key, t.value)
	case t.left == nil:
		return t.right
	case t.right == nil:
		return t.left
	}
	next := t.right.first()
	return balance(t.left, t.right.remove(next.key), next.key, next.value)
}

// first is the node with the least key; nil for an empty tree.
func (t *tree[K, V]) first() *tree[K, V] {
	for t != nil && t.left != nil {
		t = t.left
	}
	return t
}

// all yields the entries by key.
func (t *tree[K, V]) all() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { t.walk(yield) }
}

func (t *tree[K, V]) walk(yield func(K, V) bool) bool {
	return t == nil || (t.left.walk(yield) && yield(t.key, t.value) && t.right.walk(yield))
}

func (t *tree[K, V]) tall() int {
	if t == nil {
		return 0
	}
	return t.height
}

func join[K ordered[K], V any](left, right *tree[K, V], key K, value V) *tree[K, V] {
	return &tree[K, V]{key: key, value: value, left: left, right: right, height: 1 + max(left.tall(), right.tall())}
}

// balance joins two trees whose heights differ by two at most.
func balance[K ordered[K], V any](left, right *tree[K, V], key K, value V) *tree[K, V] {
	switch tilt := left.tall() - right.tall(); {
	case tilt > 1 && left.left.tall() >= left.right.tall():
		return join(left.left, join(left.right, right, key, value), left.key, left.value)
	case tilt > 1:
		mid := left.right
		return join(join(left.left, mid.left, left.key, left.value), join(mid.right, right, key, value), mid.key, mid.value)
	case tilt < -1 && right.right.tall() >= right.left.tall():
		return join(join(left, right.left, key, value), right.right, right.key, right.value)
	case tilt < -1:
		mid := right.left
		return join(join(left, mid.left, key, value), join(mid.right, right.right, right.key, right.value), mid.key, mid.value)
	default:
		return join(left, right, key, value)
	}
}
