package schema

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// converter makes one attempt within its bounds.
type converter struct {
	rules  Rules
	ids    map[string]any // schemas by $id, and by # and $anchor
	refs   int            // how deep references are followed
	depth  int            // and schemas
	values int            // how many more JSON values there may be; below zero the attempt has failed
	bytes  int            // likewise
	open   map[any]int    // how often each schema is being expanded

	plain   map[*object]bool // properties whose alternatives were too many to list
	cut     bool             // something was left out
	merged  bool             // the top level does not say all
	unnamed []any            // properties that no provider would take by their names
}

// place is where a schema stands: the resource that its references begin at, and how deep it is.
type place struct {
	base        any
	refs, depth int
}

func (p place) below() place { p.depth++; return p }

// spend takes a value of that many bytes from what is left, and says whether there was enough.
func (c *converter) spend(size int) bool {
	c.values--
	c.bytes -= size + 1
	return c.values >= 0 && c.bytes >= 0
}

// schema converts a schema with all that is in it. The result is nobody else's.
func (c *converter) schema(v any, at place) *object {
	o, ok := v.(*object)
	switch {
	case !c.spend(len("{}")):
		return newObject()
	case v == false:
		out := newObject()
		out.set("not", newObject())
		return out
	case !ok:
		return newObject()
	case at.depth > c.depth:
		c.cut = c.cut || len(o.keys) > 0
		return newObject()
	}
	if id, ok := o.values["$id"].(string); ok && !strings.HasPrefix(id, "#") {
		at.base = o
	}
	c.open[o]++
	defer func() { c.open[o]-- }()
	o = modern(o)
	out := newObject()
	for _, k := range o.keys {
		if c.values < 0 || c.bytes < 0 {
			return out
		}
		if v, ok := c.keyword(k, o.values[k], at); ok {
			c.spend(len(k) + len(`"":`))
			out.set(k, v)
		}
	}
	c.tidy(out)
	for _, k := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := o.values[k].(string); ok {
			out = c.refer(out, ref, at)
		}
	}
	return out
}

// keyword converts the value of a keyword.
func (c *converter) keyword(k string, v any, at place) (any, bool) {
	s := shapeOf(k)
	switch s {
	case unknown:
		return nil, false
	case subOrFlag:
		if _, is := v.(bool); is {
			return v, true
		}
		return c.sub(v, at)
	case sub:
		return c.sub(v, at)
	case subs:
		list, ok := v.([]any)
		if !ok || len(list) == 0 {
			return nil, false
		}
		out := make([]any, 0, min(len(list), maxValues))
		for _, x := range list {
			if c.values < 0 || c.bytes < 0 {
				break
			}
			out = append(out, c.schema(x, at.below()))
		}
		return out, true
	case subsByName:
		m, ok := v.(*object)
		if !ok {
			return nil, false
		}
		return c.byName(k, m, at), true
	case anything, words, flag, number, positive, count, names, nameLists, values, choices, types:
	}
	out, ok := fit(s, v)
	if !ok {
		return nil, false
	}
	if s == anything || s == values || s == choices {
		if len(text(out)) > maxKept {
			c.cut = true
			return nil, false
		}
	}
	c.charge(out)
	return out, true
}

// sub converts a value that must be a schema.
func (c *converter) sub(v any, at place) (any, bool) {
	switch v.(type) {
	case *object, bool:
		return c.schema(v, at.below()), true
	}
	return nil, false
}

func (c *converter) byName(keyword string, m *object, at place) *object {
	out := newObject()
	for _, name := range m.keys {
		if c.values < 0 || c.bytes < 0 {
			break
		}
		c.bytes -= len(name)
		one := c.schema(m.values[name], at.below())
		if keyword == "properties" && c.rules.Name != nil && !c.rules.Name(name) {
			entry := newObject()
			entry.set(name, one)
			c.unnamed = append(c.unnamed, entry)
			continue
		}
		out.set(name, one)
	}
	return out
}

// charge counts a value that is kept as it is.
func (c *converter) charge(v any) {
	switch v := v.(type) {
	case *object:
		for _, k := range v.keys {
			if !c.spend(len(k) + len(`"":`)) {
				return
			}
			c.charge(v.values[k])
		}
	case []any:
		for _, x := range v {
			if !c.spend(0) {
				return
			}
			c.charge(x)
		}
	case string:
		c.spend(len(v))
	default:
		c.spend(len("12345"))
	}
}

// tidy makes what depends on several keywords fit together.
func (c *converter) tidy(o *object) {
	if required, ok := o.values["required"].([]any); ok && c.rules.Name != nil {
		kept := []any{}
		for _, name := range required {
			if s, _ := name.(string); c.rules.Name(s) {
				kept = append(kept, name)
			}
		}
		if len(kept) < len(required) {
			o.set("required", kept)
			o.remove("additionalProperties") // of the others there may be some
		}
	}
	if !c.rules.Whole {
		return
	}
	if _, has := o.get("properties"); !has && takes(o, "object") {
		o.set("properties", newObject())
	}
	if _, has := o.get("items"); !has && takes(o, "array") {
		o.set("items", newObject())
	}
}

// takes says whether a schema names a type among its own.
func takes(o *object, kind string) bool {
	switch t := o.values["type"].(type) {
	case string:
		return t == kind
	case []any:
		for _, x := range t {
			if x == kind {
				return true
			}
		}
	}
	return false
}

// refer adds to a schema what a reference in it leads to.
func (c *converter) refer(o *object, ref string, at place) *object {
	target, base, found := c.find(ref, at.base)
	if !found {
		return o // it takes anything, beside what stands here already
	}
	if _, is := target.(*object); is && c.open[target] >= maxOpen+1 || at.refs >= c.refs {
		c.cut = true
		return o
	}
	to := c.schema(target, place{base: base, refs: at.refs + 1, depth: at.depth})
	return join(o, to)
}

// join is a schema that both stand for: flat where they do not speak of the same.
func join(o, to *object) *object {
	out := o.clone()
	for _, k := range to.keys {
		mine, both := o.get(k)
		switch {
		case !both:
			out.set(k, to.values[k])
		case annotates(k), string(text(mine)) == string(text(to.values[k])):
		default: // both hold
			out = o.clone()
			all, _ := o.values["allOf"].([]any)
			out.set("allOf", append(slices.Clip(all), to))
			return out
		}
	}
	return out
}

// find is what a reference leads to within the document, and the resource that it is in.
func (c *converter) find(ref string, base any) (target, in any, ok bool) {
	head, fragment, _ := strings.Cut(ref, "#")
	if head != "" {
		if base, ok = c.ids[head]; !ok {
			return nil, nil, false
		}
	}
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, nil, false
	}
	if fragment != "" && !strings.HasPrefix(fragment, "/") {
		target, ok = c.ids["#"+fragment]
		return target, base, ok
	}
	target, ok = walk(base, fragment)
	return target, base, ok
}

// walk follows a JSON pointer.
func walk(node any, pointer string) (any, bool) {
	if pointer == "" {
		return node, true
	}
	for part := range strings.SplitSeq(pointer[1:], "/") {
		switch n := node.(type) {
		case *object:
			next, ok := n.get(unescape(part))
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

// index finds the schemas that have a name of their own. The first of a name has it.
func index(node any) map[string]any {
	ids := map[string]any{}
	add := func(name string, o *object) {
		if _, taken := ids[name]; !taken {
			ids[name] = o
		}
	}
	var visit func(any)
	visit = func(node any) {
		switch n := node.(type) {
		case *object:
			for _, k := range []string{"$id", "$anchor", "$dynamicAnchor"} {
				if s, ok := n.values[k].(string); ok {
					if s = strings.TrimSuffix(s, "#"); k != "$id" {
						s = "#" + s
					}
					add(s, n)
				}
			}
			for _, k := range n.keys {
				visit(n.values[k])
			}
		case []any:
			for _, x := range n {
				visit(x)
			}
		}
	}
	visit(node)
	return ids
}
