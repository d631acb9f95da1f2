package cart

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A param is one argument of a tool. The schema that tools/list shows and the check of a call both come from it.
type param struct {
	name, about string
	required    bool
	integer     bool // an integer from 1 on; else a string
	sized       bool // a string that is one of the sizes
	least, most int  // how many characters a string has; a most of 0 is no bound
}

// arguments are a call's arguments once they have passed the check. An argument that was not given is absent.
type arguments struct {
	strings  map[string]string
	integers map[string]int
}

func (p param) schema() body {
	s := body{"type": "string", "description": p.about}
	if p.integer {
		s["type"], s["minimum"] = "integer", 1
	}
	if p.sized {
		s["enum"] = sizes()
	}
	if p.least > 0 {
		s["minLength"] = p.least
	}
	if p.most > 0 {
		s["maxLength"] = p.most
	}
	return s
}

func inputSchema(params []param) body {
	s := body{"type": "object", "additionalProperties": false}
	if len(params) == 0 {
		return s
	}
	properties := body{}
	var required []string
	for _, p := range params {
		properties[p.name] = p.schema()
		if p.required {
			required = append(required, p.name)
		}
	}
	s["properties"], s["required"] = properties, required
	return s
}

// check holds a call's arguments against the params of its tool.
func check(tool string, params []param, raw json.RawMessage) (arguments, *Error) {
	args := arguments{strings: map[string]string{}, integers: map[string]int{}}
	given, ok := asObject(raw)
	if !ok && !isAbsent(raw) {
		return args, fail(codeInvalidParams, "Invalid arguments for %s: arguments must be an object", tool)
	}
	var faults []string
	for _, p := range params {
		value, present := given[p.name]
		if !present {
			if p.required {
				faults = append(faults, p.name+" is missing")
			}
			continue
		}
		if fault := p.read(value, args); fault != "" {
			faults = append(faults, p.name+" "+fault)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.ContainsFunc(params, func(p param) bool { return p.name == name }) {
			faults = append(faults, fmt.Sprintf("%q is not an argument of this tool", clip(name)))
		}
	}
	if len(faults) > 0 {
		return args, fail(codeInvalidParams, "Invalid arguments for %s: %s", tool, strings.Join(faults, "; "))
	}
	return args, nil
}

// isAbsent counts null as no arguments at all: widely used clients send it for a call without any.
func isAbsent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// read takes one argument, or says what it must be.
func (p param) read(raw json.RawMessage, into arguments) string {
	if p.integer {
		n, ok := wholeNumber(raw)
		if !ok || n < 1 {
			return "must be an integer from 1 on"
		}
		into.integers[p.name] = n
		return ""
	}
	s, ok := asString(raw)
	n := utf8.RuneCountInString(s)
	switch {
	case p.sized && !slices.Contains(sizes(), Size(s)):
		return "must be one of small, medium, large"
	case !ok:
		return "must be a string"
	case n < p.least:
		return "must not be empty"
	case p.most > 0 && n > p.most:
		return fmt.Sprintf("must have at most %d characters", p.most)
	}
	into.strings[p.name] = s
	return ""
}

// wholeNumber reads a JSON number without a fraction, as JSON Schema means integer: 2.0 is one. What is beyond any
// count of lines becomes the greatest or least int32.
func wholeNumber(raw json.RawMessage) (int, bool) {
	if len(raw) == 0 || (raw[0] != '-' && (raw[0] < '0' || raw[0] > '9')) {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil && !math.IsInf(f, 0) {
		return 0, false
	}
	if f != math.Trunc(f) {
		return 0, false
	}
	return int(max(math.MinInt32, min(math.MaxInt32, f))), true
}
