package schema

import "slices"

// top makes the schema of all arguments: a plain object with properties, without the keywords that providers refuse at
// this place. What alternatives say of properties goes into it.
func (c *converter) top(whole *object) *object {
	flat := c.flatten(whole, c.depth)
	out := newObject()
	out.set("type", "object")
	if _, has := flat.get("properties"); !has {
		out.set("properties", newObject())
	}
	for _, k := range flat.keys {
		if k != "type" {
			out.set(k, flat.values[k])
		}
	}
	return out
}

// combines says whether a keyword is one that no provider takes at the top, or that only makes sense with such a one.
func combines(keyword string) bool {
	switch keyword {
	case "anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "dependentSchemas", "dependentRequired":
		return true
	}
	return false
}

// flatten merges what a schema combines into one object schema.
func (c *converter) flatten(o *object, depth int) *object {
	out := newObject()
	combined := false
	for _, k := range o.keys {
		if combines(k) {
			combined = true
			continue
		}
		out.set(k, o.values[k])
	}
	if !combined || depth < 0 {
		return out
	}
	c.merged = true
	out.remove("additionalProperties") // it knows but the properties beside it
	out.remove("unevaluatedProperties")
	for _, part := range listed(o.values["allOf"]) {
		part = c.flatten(part, depth-1)
		c.merge(out, part, "allOf")
		require(out, requiredBy(part))
	}
	c.alternatives(out, listed(o.values["anyOf"]), depth)
	c.alternatives(out, listed(o.values["oneOf"]), depth)
	for _, k := range []string{"then", "else"} {
		if branch, ok := o.values[k].(*object); ok {
			c.merge(out, c.flatten(branch, depth-1), "anyOf")
		}
	}
	if all, ok := o.values["dependentSchemas"].(*object); ok {
		for _, name := range all.keys {
			if branch, ok := all.values[name].(*object); ok {
				c.merge(out, c.flatten(branch, depth-1), "anyOf")
			}
		}
	}
	return out
}

// alternatives merges schemas of which one holds. What all of them require is required.
func (c *converter) alternatives(out *object, branches []*object, depth int) {
	wanted := map[any]int{} // how many of the branches require a property
	var names []any
	n := 0
	for _, branch := range branches {
		if _, typed := branch.get("type"); typed && !takes(branch, "object") {
			continue // arguments are an object
		}
		n++
		branch = c.flatten(branch, depth-1)
		c.merge(out, branch, "anyOf")
		for _, name := range requiredBy(branch) {
			wanted[name]++
			if wanted[name] == 1 {
				names = append(names, name)
			}
		}
	}
	require(out, slices.DeleteFunc(names, func(name any) bool { return wanted[name] < n }))
}

// maxEither is how many schemas a property may have that alternatives speak of; with more it takes anything.
const maxEither = 8

// merge adds the properties of a part. Where there is another schema for one already, how says in which way both hold.
func (c *converter) merge(out, part *object, how string) {
	theirs, ok := part.values["properties"].(*object)
	if !ok {
		return
	}
	mine, ok := out.values["properties"].(*object)
	if !ok {
		mine = newObject()
	}
	mine = mine.clone()
	for _, name := range theirs.keys {
		add := theirs.values[name]
		there, known := mine.values[name].(*object)
		if !known {
			mine.set(name, add)
			continue
		}
		if c.plain[there] { // too many were merged into it
			continue
		}
		both, _ := there.values[how].([]any)
		if len(there.keys) != 1 || both == nil {
			both = []any{there}
		}
		if slices.ContainsFunc(both, func(x any) bool { return string(text(x)) == string(text(add)) }) {
			continue
		}
		one := newObject()
		if len(both) < maxEither {
			one.set(how, append(slices.Clip(both), add))
		} else {
			c.plain[one] = true
		}
		mine.set(name, one)
	}
	out.set("properties", mine)
}

func require(out *object, more []any) {
	if len(more) == 0 {
		return
	}
	out.set("required", textsOf(append(slices.Clone(requiredBy(out)), more...)))
}

func requiredBy(o *object) []any {
	list, _ := o.values["required"].([]any)
	return list
}

// listed are the schemas of a list.
func listed(v any) []*object {
	list, _ := v.([]any)
	var out []*object
	for _, x := range list {
		if o, ok := x.(*object); ok {
			out = append(out, o)
		}
	}
	return out
}
