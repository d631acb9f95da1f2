package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cartagent/cartagent/acp"
)

var errSecret = errors.New("its form is not shown, since what is typed there would be kept and sent to the model")

// secret matches the names of fields that are for one. Forms are no place for those (ACP, elicitation).
var secret = regexp.MustCompile(`(?i)(password|passwd|passphrase|secret|api[_-]?key|access[_-]?token|private[_-]?key)$`)

// formFor is a tool's schema as a form of the protocol: a flat object. The error says why it is none.
func formFor(schema json.RawMessage) (acp.ElicitationSchema, error) {
	form := acp.ElicitationSchema{Type: acp.SchemaObject}
	if len(schema) == 0 {
		return form, nil
	}
	if err := json.Unmarshal(schema, &form); err != nil {
		return form, fmt.Errorf("its form cannot be shown: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(form.Properties)) {
		if secret.MatchString(name) {
			return form, fmt.Errorf("%w: it wants %q. Do not ask for it in words either: say where the user can set it, such as the server's environment", errSecret, name)
		}
		switch f := form.Properties[name].(type) {
		case acp.RawPropertySchema:
			return form, fmt.Errorf("its form cannot be shown: the field %q is of type %q", name, f.Type)
		case acp.MultiSelectPropertySchema:
			if raw, ok := f.Items.(acp.RawMultiSelectItems); ok {
				return form, fmt.Errorf("its form cannot be shown: the field %q is a list of type %q", name, raw.Type)
			}
		default:
		}
	}
	for _, name := range form.Required {
		if _, ok := form.Properties[name]; !ok {
			return form, fmt.Errorf("its form cannot be shown: the field %q is required and not described", name)
		}
	}
	titled(schema, form.Properties)
	return form, nil
}

// titled moves the names of choices from where older MCP servers have them (enumNames) to where the protocol has them.
func titled(schema json.RawMessage, fields map[string]acp.ElicitationPropertySchema) {
	var older struct {
		Properties map[string]struct {
			Names []string `json:"enumNames"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &older) != nil {
		return // it has none that could be read
	}
	for name, o := range older.Properties {
		f, ok := fields[name].(acp.StringPropertySchema)
		if !ok || len(o.Names) == 0 || len(o.Names) != len(f.Enum) {
			continue
		}
		for i, v := range f.Enum {
			f.OneOf = append(f.OneOf, acp.EnumOption{Const: v, Title: o.Names[i]})
		}
		f.Enum = nil
		fields[name] = f
	}
}

// fit holds an answer against its form, and gives the values with the defaults of what was left out. What the form
// does not ask for is left out.
func fit(form acp.ElicitationSchema, content map[string]acp.ElicitationContentValue) (map[string]acp.ElicitationContentValue, error) {
	out := make(map[string]acp.ElicitationContentValue, len(content))
	for _, name := range slices.Sorted(maps.Keys(form.Properties)) {
		field := form.Properties[name]
		value, given := content[name]
		if !given {
			value = defaultOf(field)
		}
		switch {
		case value == nil && slices.Contains(form.Required, name):
			return nil, fmt.Errorf("%q is missing", name)
		case value == nil:
			continue
		}
		checked, err := fitField(field, value)
		if err != nil {
			return nil, fmt.Errorf("%q %w", name, err)
		}
		out[name] = checked
	}
	return out, nil
}

// defaultOf is a field's default; nil if it has none.
func defaultOf(field acp.ElicitationPropertySchema) acp.ElicitationContentValue {
	switch f := field.(type) {
	case acp.StringPropertySchema:
		if f.Default != nil {
			return acp.StringContent(*f.Default)
		}
	case acp.NumberPropertySchema:
		if f.Default != nil {
			return acp.NumberContent(*f.Default)
		}
	case acp.IntegerPropertySchema:
		if f.Default != nil {
			return acp.IntegerContent(*f.Default)
		}
	case acp.BooleanPropertySchema:
		if f.Default != nil {
			return acp.BooleanContent(*f.Default)
		}
	case acp.MultiSelectPropertySchema:
		if f.Default != nil {
			return acp.StringArrayContent(f.Default)
		}
	case acp.RawPropertySchema:
	}
	return nil
}

func fitField(field acp.ElicitationPropertySchema, value acp.ElicitationContentValue) (acp.ElicitationContentValue, error) {
	switch f := field.(type) {
	case acp.StringPropertySchema:
		return fitString(f, value)
	case acp.NumberPropertySchema:
		return fitNumber(f, value)
	case acp.IntegerPropertySchema:
		return fitInteger(f, value)
	case acp.BooleanPropertySchema:
		if _, ok := value.(acp.BooleanContent); !ok {
			return nil, errors.New("must be true or false")
		}
		return value, nil
	case acp.MultiSelectPropertySchema:
		return fitChoices(f, value)
	case acp.RawPropertySchema:
	}
	return nil, errors.New("cannot be checked")
}

func fitString(f acp.StringPropertySchema, value acp.ElicitationContentValue) (acp.ElicitationContentValue, error) {
	s, ok := value.(acp.StringContent)
	if !ok {
		return nil, errors.New("must be text")
	}
	choices := slices.Clone(f.Enum)
	for _, o := range f.OneOf {
		choices = append(choices, o.Const)
	}
	n := uint64(utf8.RuneCountInString(string(s)))
	switch {
	case len(choices) > 0 && !slices.Contains(choices, string(s)):
		return nil, fmt.Errorf("must be one of %s", strings.Join(choices, ", "))
	case f.MinLength != nil && n < uint64(*f.MinLength):
		return nil, fmt.Errorf("is too short: it has %d characters of at least %d", n, *f.MinLength)
	case f.MaxLength != nil && n > uint64(*f.MaxLength):
		return nil, fmt.Errorf("is too long: it has %d characters of at most %d", n, *f.MaxLength)
	}
	return s, nil
}

func fitNumber(f acp.NumberPropertySchema, value acp.ElicitationContentValue) (acp.ElicitationContentValue, error) {
	var n float64
	switch v := value.(type) {
	case acp.NumberContent:
		n = float64(v)
	case acp.IntegerContent:
		n = float64(v)
	default:
		return nil, errors.New("must be a number")
	}
	switch {
	case f.Minimum != nil && n < *f.Minimum:
		return nil, fmt.Errorf("must be at least %v", *f.Minimum)
	case f.Maximum != nil && n > *f.Maximum:
		return nil, fmt.Errorf("must be at most %v", *f.Maximum)
	}
	return value, nil
}

func fitInteger(f acp.IntegerPropertySchema, value acp.ElicitationContentValue) (acp.ElicitationContentValue, error) {
	const exact = 1 << 53 // whole numbers up to here survive being a float
	if v, ok := value.(acp.NumberContent); ok && float64(v) == math.Trunc(float64(v)) && math.Abs(float64(v)) <= exact {
		value = acp.IntegerContent(v)
	}
	n, ok := value.(acp.IntegerContent)
	switch {
	case !ok:
		return nil, errors.New("must be a whole number")
	case f.Minimum != nil && int64(n) < *f.Minimum:
		return nil, fmt.Errorf("must be at least %d", *f.Minimum)
	case f.Maximum != nil && int64(n) > *f.Maximum:
		return nil, fmt.Errorf("must be at most %d", *f.Maximum)
	}
	return n, nil
}

func fitChoices(f acp.MultiSelectPropertySchema, value acp.ElicitationContentValue) (acp.ElicitationContentValue, error) {
	chosen, ok := value.(acp.StringArrayContent)
	if !ok {
		return nil, errors.New("must be a list of choices")
	}
	var choices []string
	switch items := f.Items.(type) {
	case acp.StringMultiSelectItems:
		choices = items.Enum
	case acp.TitledMultiSelectItems:
		for _, o := range items.AnyOf {
			choices = append(choices, o.Const)
		}
	case acp.RawMultiSelectItems:
	}
	for _, c := range chosen {
		if !slices.Contains(choices, c) {
			return nil, fmt.Errorf("has %q, which is none of %s", c, strings.Join(choices, ", "))
		}
	}
	n := uint64(len(chosen))
	switch {
	case f.MinItems != nil && n < *f.MinItems:
		return nil, fmt.Errorf("has %d choices of at least %d", n, *f.MinItems)
	case f.MaxItems != nil && n > *f.MaxItems:
		return nil, fmt.Errorf("has %d choices of at most %d", n, *f.MaxItems)
	}
	return chosen, nil
}
