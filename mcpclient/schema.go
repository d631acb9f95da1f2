package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	if root, _ := tree.(map[string]any); excludesObjects(root["type"]) {
		return v, nil, nil, fmt.Errorf("its inputSchema is of the type %v, and arguments are an object", root["type"])
	}
	v, why, err = resolve(raw, tree)
	if err != nil {
		return v, nil, nil, fmt.Errorf("its inputSchema %w", err)
	}
	return v, raw, why, nil
}

// excludesObjects says whether a type, or list of types, is none that an object can have.
func excludesObjects(kind any) bool {
	switch k := kind.(type) {
	case string:
		return k != "object"
	case []any:
		return !slices.Contains(k, any("object"))
	}
	return false
}

// outputValidator checks the results of a tool. It is nil where they are not checked: without a schema, or for the
// reason that it gives; that is no reason to do without the tool.
func outputValidator(raw json.RawMessage) (*validator, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0, string(raw) == "null", string(raw) == "true":
		return nil, nil
	case raw[0] != '{':
		return nil, errors.New("its outputSchema is no object")
	}
	var tree any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil, fmt.Errorf("its outputSchema is not JSON: %w", err)
	}
	v, why, err := resolve(raw, tree)
	if err != nil {
		return nil, fmt.Errorf("its outputSchema %w", err)
	}
	if why != nil {
		return nil, why
	}
	return &v, nil
}

// resolve makes a validator of a schema, given as JSON and decoded. err says that nobody could ever use it, why that the
// validator cannot.
func resolve(raw json.RawMessage, tree any) (v validator, why, err error) {
	w := work{root: tree, cost: map[string]int{}, ids: map[string]bool{}}
	w.name(tree)
	if err := w.visit("", tree); err != nil {
		return v, nil, err
	}
	if w.tooMuch {
		return v, errors.New("too many schemas apply at once"), nil
	}
	if w.indirect {
		return v, errors.New("it refers to schemas by anchor or id, or to none"), nil
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		return v, err, nil
	}
	exactConstants(&schema, raw)
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
	return v, why, nil
}

// check says what is wrong with a value, and where.
func (v validator) check(value json.RawMessage) error {
	if v.schema == nil {
		return nil
	}
	instance, err := exact(value)
	if err == nil {
		instance, err = plainNumbers(instance)
	}
	if err != nil {
		return err
	}
	err = v.schema.Validate(instance)
	if err == nil {
		return nil
	}
	// The validator names schemas, outermost first: the last is where it went wrong.
	text := strings.ReplaceAll(err.Error(), "<invalid reflect.Value>", "null") // its word for it
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

// plainNumbers puts numbers in the place of json.Numbers, which the validator takes for strings. Integers of 64 bits keep
// all of their digits: two ids that differ in the last one are different.
func plainNumbers(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n, nil
		}
		n, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %.40s is too large", v)
		}
		return n, nil
	case map[string]any:
		for k, x := range v {
			if v[k], err = plainNumbers(x); err != nil {
				return nil, err
			}
		}
	case []any:
		for i, x := range v {
			if v[i], err = plainNumbers(x); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
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
