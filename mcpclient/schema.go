package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// validator checks a tool's arguments against its schema as the server gave it.
type validator struct {
	schema *jsonschema.Resolved // nil where this client cannot check: the server will
}

// maxWork bounds how many schemas may apply to one value at once.
const maxWork = 10_000

// newValidator reads a tool's schema. It gives the schema to show to models: the same bytes, or an open object where
// the server wrote true. A schema that is none, that needs the network or never ends is an error; one that is valid
// but beyond the validator is kept and its arguments are not checked here, with the reason in why.
func newValidator(raw json.RawMessage) (v validator, show json.RawMessage, why, err error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return v, nil, nil, errors.New("it has no inputSchema; it must be an object")
	case string(raw) == "true":
		return v, json.RawMessage(`{"type":"object"}`), nil, nil
	case raw[0] != '{':
		return v, nil, nil, errors.New("its inputSchema is no object")
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return v, nil, nil, fmt.Errorf("its inputSchema is not JSON: %w", err)
	}
	w := work{root: tree, cost: map[string]int{}}
	if err := w.visit("", tree); err != nil {
		return v, nil, nil, err
	}
	if w.tooMuch {
		return v, raw, errors.New("too many schemas apply at once"), nil
	}
	if w.indirect {
		return v, raw, errors.New("it refers to schemas by anchor or id, or to none"), nil
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return v, raw, err, nil
	}
	v.schema, why = schema.Resolve(nil)
	if why == nil {
		// A first try shows what only shows in use: another draft, for one.
		if err := v.schema.Validate(map[string]any{}); err != nil && strings.HasPrefix(err.Error(), "cannot validate") {
			why = err
		}
	}
	if why != nil {
		v.schema = nil
	}
	return v, raw, why, nil
}

// check says what is wrong with arguments, and where.
func (v validator) check(args json.RawMessage) error {
	if v.schema == nil {
		return nil
	}
	var instance any
	if err := json.Unmarshal(args, &instance); err != nil {
		return err
	}
	err := v.schema.Validate(instance)
	if err == nil {
		return nil
	}
	// The validator names schemas, outermost first: the last is where it went wrong.
	text := err.Error()
	at := ""
	for {
		rest, ok := strings.CutPrefix(text, "validating ")
		if !ok {
			break
		}
		name, after, found := strings.Cut(rest, ": ")
		if !found {
			break
		}
		at, text = name, after
	}
	if at == "" || at == "root" {
		return errors.New(text)
	}
	return fmt.Errorf("at %s: %s", fieldOf(at), text)
}

// fieldOf makes the path of a field from the path of its schema.
func fieldOf(pointer string) string {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	var out []string
	for i := 0; i < len(parts); i++ {
		switch parts[i] {
		case "properties":
			if i+1 < len(parts) {
				i++
				out = append(out, unescape(parts[i]))
			}
		case "items":
			out = append(out, "[]")
		}
	}
	if len(out) == 0 {
		return pointer
	}
	return strings.Join(out, ".")
}

func unescape(s string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(s) }

// work finds schemas that apply to the same value without end, or too many of them. It follows what applies in place
// and, by visiting all subschemas, whatever applies further down.
type work struct {
	root     any
	cost     map[string]int // by pointer; -1 while it is being counted
	tooMuch  bool
	indirect bool // a reference that only the validator could resolve
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
		return 0, errors.New("its inputSchema refers to itself without end")
	case known > 0:
		return known, nil
	}
	w.cost[at] = -1
	sum := 1
	for _, next := range w.inPlace(at, node) {
		if next.remote {
			return 0, fmt.Errorf("its inputSchema refers to %.100q, which is not a part of it", next.at)
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
		case !local && strings.Contains(ref, "://") && !w.own(ref):
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

// own says whether a reference begins with the schema's own id.
func (w *work) own(ref string) bool {
	root, ok := w.root.(map[string]any)
	if !ok {
		return false
	}
	id, ok := root["$id"].(string)
	return ok && id != "" && strings.HasPrefix(ref, strings.TrimSuffix(id, "#"))
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
