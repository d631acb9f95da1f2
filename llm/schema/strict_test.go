package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// strict refuses what any of the providers refuses: what OpenAI says of functions ("schema must have type 'object' and
// not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level", "object schema missing properties", "array schema
// missing items"), what Anthropic says of input_schema (draft 2020-12; "Property keys should match pattern …"), and
// what servers that resolve no references cannot read.
func strict(raw json.RawMessage) error {
	var top map[string]any
	if err := json.Unmarshal(raw, &top); err != nil {
		return err
	}
	if top["type"] != "object" {
		return fmt.Errorf("the type is %v", top["type"])
	}
	if _, ok := top["properties"].(map[string]any); !ok {
		return errors.New("object schema missing properties")
	}
	for _, k := range []string{"oneOf", "anyOf", "allOf", "enum", "const", "not", "if", "then", "else"} {
		if _, has := top[k]; has {
			return fmt.Errorf("%s at the top level", k)
		}
	}
	return strictSchema(top)
}

func strictSchema(v any) error {
	s, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%v is no object", v)
	}
	for k, v := range s {
		if err := strictKeyword(k, v); err != nil {
			return fmt.Errorf("%s: %w", k, err)
		}
	}
	kinds := kindsOf(s["type"])
	if _, has := s["properties"]; slices.Contains(kinds, "object") && !has {
		return errors.New("object schema missing properties")
	}
	if _, has := s["items"]; slices.Contains(kinds, "array") && !has {
		return errors.New("array schema missing items")
	}
	return nil
}

func kindsOf(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, x := range v {
			s, _ := x.(string)
			out = append(out, s)
		}
		return out
	}
	return nil
}

func strictKeyword(k string, v any) error {
	var ok bool
	switch k {
	case "title", "description", "format", "pattern", "contentEncoding", "contentMediaType":
		_, ok = v.(string)
	case "default", "const":
		ok = true
	case "examples", "enum":
		list, is := v.([]any)
		ok = is && (k != "enum" || len(list) > 0)
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		_, ok = v.(bool)
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		n, is := v.(float64)
		ok = is && (k != "multipleOf" || n > 0)
	case "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties":
		n, is := v.(float64)
		ok = is && n >= 0
	case "type":
		kinds := kindsOf(v)
		ok = len(kinds) > 0 && !slices.ContainsFunc(kinds, func(t string) bool {
			return !slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, t)
		})
	case "required":
		_, ok = v.([]any)
	case "dependentRequired":
		_, ok = v.(map[string]any)
	case "additionalProperties", "unevaluatedProperties", "unevaluatedItems":
		if _, is := v.(bool); is {
			return nil
		}
		return strictSchema(v)
	case "items", "contains", "propertyNames", "not", "if", "then", "else", "contentSchema":
		return strictSchema(v)
	case "prefixItems", "anyOf", "oneOf", "allOf":
		return strictList(v)
	case "properties", "patternProperties", "dependentSchemas":
		return strictMap(k, v)
	default:
		return errors.New("an unknown keyword")
	}
	if !ok {
		return fmt.Errorf("%v does not fit", v)
	}
	return nil
}

func strictList(v any) error {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return errors.New("no list")
	}
	for _, x := range list {
		if err := strictSchema(x); err != nil {
			return err
		}
	}
	return nil
}

func strictMap(k string, v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return errors.New("no object")
	}
	for name, x := range m {
		if k == "properties" && !regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`).MatchString(name) {
			return fmt.Errorf("property keys should match pattern: %q", name)
		}
		if err := strictSchema(x); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
