package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/cartagent/cartagent/loop"
)

// ErrArguments is matched by every error about the arguments of a call.
var ErrArguments = errors.New("bad arguments")

// Define builds a tool from typed functions. The schema is derived from In, a struct whose fields carry json tags
// (omitempty makes one optional) and jsonschema tags (their description); spec.Schema is ignored. A call's arguments
// are decoded strictly, and an error names the field and what it should be, so that the model can put it right.
//
// A nil preview shows the tool's title and nothing else. An error of run goes to the model. Define panics when In has
// no schema, which is a mistake in the program.
func Define[In any](
	spec loop.Spec,
	preview func(ctx context.Context, in In) (loop.Preview, error),
	run func(ctx context.Context, in In, j loop.Job, report func(loop.Block)) (loop.Result, error),
) loop.Tool {
	return define(spec, preview, run)
}

func define[In any](
	spec loop.Spec,
	preview func(ctx context.Context, in In) (loop.Preview, error),
	run func(ctx context.Context, in In, j loop.Job, report func(loop.Block)) (loop.Result, error),
) *defined[In] {
	schema, err := jsonschema.For[In](nil)
	if err != nil {
		panic(fmt.Sprintf("tools: the arguments of %s: %v", spec.Name, err))
	}
	lean(schema)
	raw, err := json.Marshal(schema)
	if err != nil {
		panic(fmt.Sprintf("tools: the schema of %s: %v", spec.Name, err))
	}
	spec.Schema = raw
	if preview == nil {
		title := spec.Title
		if title == "" {
			title = spec.Name
		}
		preview = func(context.Context, In) (loop.Preview, error) { return loop.Preview{Title: title}, nil }
	}
	return &defined[In]{spec: spec, schema: schema, preview: preview, run: run}
}

// DefineChecked is Define for a tool that can tell whether a call of it that was interrupted took effect.
func DefineChecked[In any](
	spec loop.Spec,
	preview func(ctx context.Context, in In) (loop.Preview, error),
	run func(ctx context.Context, in In, j loop.Job, report func(loop.Block)) (loop.Result, error),
	check func(ctx context.Context, in In, j loop.Job) (loop.Finding, loop.Result, error),
) loop.Checker {
	return &checkable[In]{defined: define(spec, preview, run), check: check}
}

// lean takes out what a model has no use for: null beside the type of an optional field.
func lean(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) > 1 {
		kept := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
		if len(kept) == 1 {
			s.Type, s.Types = kept[0], nil
		}
	}
	lean(s.Items)
	for _, p := range s.Properties {
		lean(p)
	}
}

type defined[In any] struct {
	spec    loop.Spec
	schema  *jsonschema.Schema
	preview func(context.Context, In) (loop.Preview, error)
	run     func(context.Context, In, loop.Job, func(loop.Block)) (loop.Result, error)
}

func (d *defined[In]) Spec() loop.Spec { return d.spec }

func (d *defined[In]) Preview(ctx context.Context, c loop.Call) (loop.Preview, error) {
	in, err := d.decode(c)
	if err != nil {
		return loop.Preview{}, err
	}
	return d.preview(ctx, in)
}

func (d *defined[In]) Run(ctx context.Context, j loop.Job, report func(loop.Block)) (loop.Result, error) {
	in, err := d.decode(j.Call)
	if err != nil {
		return loop.Result{}, err
	}
	res, err := d.run(ctx, in, j, report)
	if err != nil {
		return loop.Result{}, err
	}
	res.CallID = j.Call.ID
	return res, nil
}

type checkable[In any] struct {
	*defined[In]
	check func(context.Context, In, loop.Job) (loop.Finding, loop.Result, error)
}

func (c *checkable[In]) Check(ctx context.Context, j loop.Job) (loop.Finding, loop.Result, error) {
	in, err := c.decode(j.Call)
	if err != nil {
		return loop.FoundUnknown, loop.Result{}, err
	}
	return c.check(ctx, in, j)
}

func (d *defined[In]) decode(c loop.Call) (In, error) {
	var in In
	if c.Bad != "" {
		return in, fmt.Errorf("%w: %s", ErrArguments, c.Bad)
	}
	args := c.Args
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage("{}")
	}
	if err := checkShape(d.schema, args, ""); err != nil {
		return in, fmt.Errorf("%w: %w", ErrArguments, err)
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return in, fmt.Errorf("%w: %w", ErrArguments, err)
	}
	return in, nil
}

// checkShape holds a JSON value against the part of a schema that Define derives: types, properties, required, items.
// at is the path of the value, empty for the arguments as a whole.
func checkShape(s *jsonschema.Schema, raw json.RawMessage, at string) error {
	got, fits := kindOf(raw), false
	switch s.Type {
	case "object":
		fits = got == "an object"
	case "array":
		fits = got == "an array"
	case "string":
		fits = got == "a string"
	case "boolean":
		fits = got == "a boolean"
	case "number":
		fits = got == "a number"
	case "integer":
		var n int64
		fits = got == "a number" && json.Unmarshal(raw, &n) == nil
	default:
		fits = true
	}
	if !fits {
		what := got
		if got == "a number" || got == "a boolean" {
			what = string(raw)
		}
		name := "the arguments"
		if at != "" {
			name = fmt.Sprintf("%q", at)
		}
		return fmt.Errorf("%s must be %s, not %s", name, withArticle(s.Type), what)
	}
	switch s.Type {
	case "object":
		return checkFields(s, raw, at)
	case "array":
		var items []json.RawMessage
		if err := json.Unmarshal(raw, &items); err != nil {
			return fmt.Errorf("reading %q: %w", at, err)
		}
		for i, item := range items {
			if s.Items == nil {
				break
			}
			if err := checkShape(s.Items, item, fmt.Sprintf("%s[%d]", at, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkFields(s *jsonschema.Schema, raw json.RawMessage, at string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return fmt.Errorf("reading the arguments: %w", err)
	}
	if s.Properties == nil {
		return nil
	}
	prefix := ""
	if at != "" {
		prefix = at + "."
	}
	for _, name := range s.Required {
		if v, ok := fields[name]; !ok || string(v) == "null" {
			return fmt.Errorf("%q is missing: it is required and must be %s", prefix+name, withArticle(s.Properties[name].Type))
		}
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		p, ok := s.Properties[name]
		if !ok {
			known := s.PropertyOrder
			return fmt.Errorf("unknown argument %q: the arguments are %s", prefix+name, strings.Join(known, ", "))
		}
		if string(fields[name]) == "null" {
			continue // an optional one that was left out
		}
		if err := checkShape(p, fields[name], prefix+name); err != nil {
			return err
		}
	}
	return nil
}

// kindOf names the type of a JSON value that is known to be well formed.
func kindOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

func withArticle(kind string) string {
	switch kind {
	case "":
		return "given"
	case "object", "array", "integer":
		return "an " + kind
	}
	return "a " + kind
}

// optional gives a field's value, or def where the model left it out.
func optional[T any](v *T, def T) T {
	if v == nil {
		return def
	}
	return *v
}

// text is the content of a result that is one text.
func text(s string) loop.Blocks { return loop.Blocks{loop.Text{Text: s}} }
