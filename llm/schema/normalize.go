package schema

import "encoding/json"

// Rules are what providers differ in. The zero value is what all of them take.
type Rules struct {
	// Name says whether a property may be called so; nil: anything.
	Name func(string) bool
	// Whole wants each object to have properties and each array to have items.
	Whole bool
}

// Schema is what a provider is sent of a tool's schema.
type Schema struct {
	JSON json.RawMessage // an object schema with properties, compact
	Note string          // what it does not say, for the tool's description; empty where it says all
}

const (
	maxInput  = 512 << 10 // bytes that are looked at
	maxValues = 6000      // JSON values of a result
	maxBytes  = 100_000   // bytes of a result, about
	maxTrue   = 4000      // bytes of the true schema in a note
	maxKept   = 16_000    // bytes of a keyword's values; one with more is left out
	maxOpen   = 2         // how often a reference may be inside of what it refers to
)

// bounds are how deep references and schemas are followed, the generous ones first.
func bounds() [][2]int {
	return [][2]int{{16, 48}, {8, 48}, {4, 48}, {2, 32}, {1, 16}, {0, 16}, {0, 8}, {0, 4}, {0, 2}, {0, 1}}
}

// Normalize makes of raw what a provider with these rules takes. It is pure and total, and bounded as the package says.
func Normalize(raw json.RawMessage, r Rules) Schema {
	bare := Schema{JSON: json.RawMessage(`{"type":"object","properties":{}}`)}
	if len(raw) > maxInput {
		bare.Note = "(Its arguments are too many to list here.)"
		return bare
	}
	root, ok := parse(raw).(*object)
	if !ok {
		return bare
	}
	ids := index(root)
	for _, b := range bounds() {
		c := converter{
			rules: r, ids: ids, refs: b[0], depth: b[1], values: maxValues, bytes: maxBytes,
			open: map[any]int{}, plain: map[*object]bool{},
		}
		whole := c.schema(root, place{base: root})
		if c.values < 0 || c.bytes < 0 {
			continue
		}
		top := c.top(whole)
		out := Schema{JSON: text(top)}
		if len(out.JSON) > 2*maxBytes { // merging has doubled it
			continue
		}
		out.Note = c.note(whole)
		return out
	}
	bare.Note = "(Its arguments are too many to list here.)"
	return bare
}

// note is what the schema that is sent does not say of the whole one.
func (c *converter) note(whole *object) string {
	var note string
	join := func(line string) {
		if note != "" {
			note += "\n"
		}
		note += line
	}
	if c.merged {
		if full := text(whole); len(full) <= maxTrue {
			join("Its arguments must fit this JSON Schema: " + string(full))
		} else {
			join("Not every combination of its arguments is allowed.")
		}
	}
	if len(c.unnamed) > 0 {
		join("It also takes arguments whose names cannot be listed: " + string(text(c.unnamed)))
	}
	if c.cut {
		join("(The schema of its arguments is shortened here.)")
	}
	return note
}
