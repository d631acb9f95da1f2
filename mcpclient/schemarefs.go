package mcpclient

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// work finds schemas that apply to the same value without end, or too many of them. It follows what applies in place
// and, by visiting all subschemas, whatever applies further down.
type work struct {
	root     any
	cost     map[string]int // by pointer; -1 while it is being counted
	ids      map[string]bool
	tooMuch  bool
	indirect bool // a reference that only the validator could resolve
}

// name notes the ids that schemas within have given themselves.
func (w *work) name(node any) {
	switch n := node.(type) {
	case map[string]any:
		if id, ok := n["$id"].(string); ok {
			w.ids[strings.TrimSuffix(id, "#")] = true
		}
		for _, sub := range n {
			w.name(sub)
		}
	case []any:
		for _, sub := range n {
			w.name(sub)
		}
	}
}

// visit counts for the schema at a pointer and for all below it.
func (w *work) visit(at string, node any) error {
	switch n := node.(type) {
	case map[string]any:
		if _, err := w.count(at, n); err != nil {
			return err
		}
		if _, based := n["$id"].(string); based && at != "" {
			w.indirect = true // references below it begin there
		}
		for k, sub := range n {
			if err := w.visit(at+"/"+escape(k), sub); err != nil {
				return err
			}
		}
	case []any:
		for i, sub := range n {
			if err := w.visit(at+"/"+strconv.Itoa(i), sub); err != nil {
				return err
			}
		}
	}
	return nil
}

func escape(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

// count is how many schemas apply to a value that the schema at a pointer applies to.
func (w *work) count(at string, node map[string]any) (int, error) {
	switch known := w.cost[at]; {
	case known < 0:
		return 0, errors.New("refers to itself without end")
	case known > 0:
		return known, nil
	}
	w.cost[at] = -1
	sum := 1
	for _, next := range w.inPlace(at, node) {
		if next.remote {
			return 0, fmt.Errorf("refers to %.100q, which is not a part of it", next.at)
		}
		n, err := w.count(next.at, next.node)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	if sum > maxWork {
		sum, w.tooMuch = maxWork, true
	}
	w.cost[at] = sum
	return sum, nil
}

type place struct {
	at     string
	node   map[string]any
	remote bool
}

// inPlace lists the schemas that apply to the same value as node does.
func (w *work) inPlace(at string, node map[string]any) []place {
	var out []place
	add := func(at string, v any) {
		if m, ok := v.(map[string]any); ok {
			out = append(out, place{at: at, node: m})
		}
	}
	for _, k := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		ref, ok := node[k].(string)
		if !ok {
			continue
		}
		fragment, local := strings.CutPrefix(ref, "#")
		pointer, err := url.PathUnescape(fragment)
		target, found := w.find(pointer)
		switch {
		case local && err == nil && found:
			add(pointer, target)
		case !local && !w.own(ref):
			out = append(out, place{at: ref, remote: true})
		default:
			w.indirect = true
		}
	}
	for _, k := range []string{"not", "if", "then", "else"} {
		add(at+"/"+k, node[k])
	}
	for _, k := range []string{"allOf", "anyOf", "oneOf"} {
		if list, ok := node[k].([]any); ok {
			for i, v := range list {
				add(at+"/"+k+"/"+strconv.Itoa(i), v)
			}
		}
	}
	for _, k := range []string{"dependentSchemas", "dependencies"} {
		if m, ok := node[k].(map[string]any); ok {
			for name, v := range m {
				add(at+"/"+k+"/"+escape(name), v)
			}
		}
	}
	return out
}

// own says whether a reference leads to a schema within that has given itself an id. Relative ones may be meant against
// such an id; where there is none, they lead out.
func (w *work) own(ref string) bool {
	head, _, _ := strings.Cut(ref, "#")
	if w.ids[head] {
		return true
	}
	for id := range w.ids {
		if base, err := url.Parse(id); err == nil {
			if full, err := base.Parse(head); err == nil && w.ids[full.String()] {
				return true
			}
		}
	}
	return false
}

// find resolves a JSON pointer in the schema.
func (w *work) find(pointer string) (any, bool) {
	node := w.root
	if pointer == "" {
		return node, true
	}
	if !strings.HasPrefix(pointer, "/") {
		return nil, false
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		switch n := node.(type) {
		case map[string]any:
			next, ok := n[unescape(part)]
			if !ok {
				return nil, false
			}
			node = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(n) {
				return nil, false
			}
			node = n[i]
		default:
			return nil, false
		}
	}
	return node, true
}
