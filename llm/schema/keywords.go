package schema

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
)

// shape is what the value of a keyword must be.
type shape int

const (
	unknown    shape = iota
	anything         // any value, kept as it is
	words            // a text
	flag             // true or false
	number           // any number
	positive         // a number above zero
	count            // an integer from zero on
	names            // a list of different texts
	nameLists        // such a list by name
	values           // a list of any values, kept as they are
	choices          // values, at least one
	types            // the name of a type, or a list of them
	sub              // a schema
	subOrFlag        // a schema, or true or false
	subs             // a list of schemas, at least one
	subsByName       // schemas by name
)

// shapeOf is what a keyword takes. Keywords that are unknown are left out; $ref and what it leads to, and those of older
// drafts, are dealt with by themselves.
func shapeOf(keyword string) shape {
	switch keyword {
	case "title", "description", "format", "pattern", "contentEncoding", "contentMediaType":
		return words
	case "type":
		return types
	case "enum":
		return choices
	case "const", "default":
		return anything
	case "examples":
		return values
	case "properties", "patternProperties", "dependentSchemas":
		return subsByName
	case "required":
		return names
	case "dependentRequired":
		return nameLists
	case "additionalProperties", "unevaluatedProperties", "unevaluatedItems":
		return subOrFlag
	case "items", "contains", "propertyNames", "not", "if", "then", "else", "contentSchema":
		return sub
	case "prefixItems", "anyOf", "oneOf", "allOf":
		return subs
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return number
	case "multipleOf":
		return positive
	case "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties":
		return count
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		return flag
	}
	return unknown
}

// annotates says whether a keyword only describes: beside a $ref it replaces what the target says.
func annotates(keyword string) bool {
	switch keyword {
	case "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly":
		return true
	}
	return false
}

// modern translates what older drafts wrote into what draft 2020-12 does. It gives o itself where there is nothing to do.
func modern(o *object) *object {
	list, tuple := o.values["items"].([]any)
	if _, prefixed := o.get("prefixItems"); !tuple || prefixed {
		tuple = false
	}
	low, lowIs := o.values["exclusiveMinimum"].(bool)
	high, highIs := o.values["exclusiveMaximum"].(bool)
	if !tuple && !lowIs && !highIs {
		return o
	}
	out := o.clone()
	if tuple {
		out.remove("items")
		out.set("prefixItems", list)
		if rest, ok := o.get("additionalItems"); ok {
			out.set("items", rest)
		}
	}
	for _, b := range []struct {
		bound, exclusive string
		is, so           bool
	}{{"minimum", "exclusiveMinimum", lowIs, low}, {"maximum", "exclusiveMaximum", highIs, high}} {
		if !b.is {
			continue
		}
		out.remove(b.exclusive)
		if limit, ok := out.get(b.bound); ok && b.so {
			out.remove(b.bound)
			out.set(b.exclusive, limit)
		}
	}
	return out
}

// fit is a keyword's value that holds no schemas, if it is one of that shape.
func fit(s shape, v any) (any, bool) {
	switch s {
	case anything:
		return v, true
	case words:
		t, ok := v.(string)
		return shorten(t), ok
	case flag:
		_, ok := v.(bool)
		return v, ok
	case number:
		_, ok := rational(v)
		return v, ok
	case positive:
		n, ok := rational(v)
		return v, ok && n.Sign() > 0
	case count:
		n, ok := rational(v)
		return v, ok && n.IsInt() && n.Sign() >= 0
	case names:
		list := textsOf(v)
		return list, list != nil
	case nameLists:
		o, ok := v.(*object)
		if !ok {
			return nil, false
		}
		out := newObject()
		for _, k := range o.keys {
			if list := textsOf(o.values[k]); list != nil {
				out.set(k, list)
			}
		}
		return out, true
	case values:
		_, ok := v.([]any)
		return v, ok
	case choices:
		list, ok := v.([]any)
		return v, ok && len(list) > 0
	case types:
		return typesOf(v)
	case unknown, sub, subOrFlag, subs, subsByName:
	}
	return nil, false
}

// rational is the value of a number, unless it is one that would take for ever to write out.
func rational(v any) (*big.Rat, bool) {
	n, ok := v.(json.Number)
	if !ok || len(n) > 400 {
		return nil, false
	}
	if _, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e"); len(exponent) > len("-999") {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

// textsOf are the texts of a list, each once; nil where it is no list.
func textsOf(v any) []any {
	list, ok := v.([]any)
	if !ok {
		return nil
	}
	out, seen := []any{}, map[string]bool{}
	for _, x := range list[:min(len(list), maxValues+1)] {
		if s, ok := x.(string); ok && !seen[s] {
			out, seen[s] = append(out, s), true
		}
	}
	return out
}

// typesOf is a type, or a list of at least two.
func typesOf(v any) (any, bool) {
	known := []any{"object", "array", "string", "number", "integer", "boolean", "null"}
	if s, ok := v.(string); ok {
		return s, slices.Contains(known, any(s))
	}
	list := slices.DeleteFunc(textsOf(v), func(t any) bool { return !slices.Contains(known, t) })
	switch len(list) {
	case 0:
		return nil, false
	case 1:
		return list[0], true
	}
	return list, true
}

// maxText is how long a text of a schema may be.
const maxText = 4000

func shorten(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "…"
}
