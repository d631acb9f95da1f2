package mcpclient

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// exactConstants gives the constants of a decoded schema the digits that they were written with, as plainNumbers does for the
// values that are held against them: decoding has made floats of them, in which the ends of long ids are lost.
func exactConstants(s *jsonschema.Schema, raw json.RawMessage) {
	tree, err := exact(raw)
	if err == nil {
		tree, err = plainNumbers(tree)
	}
	if err == nil { // else there is a number in it that no float holds
		writeConstants(s, tree)
	}
}

func writeConstants(s *jsonschema.Schema, tree any) {
	node, ok := tree.(map[string]any)
	if s == nil || !ok {
		return
	}
	if value, ok := node["const"]; ok && s.Const != nil {
		s.Const = &value
	}
	if list, ok := node["enum"].([]any); ok && len(list) == len(s.Enum) {
		s.Enum = list
	}
	fields := reflect.ValueOf(s).Elem()
	for i, f := range reflect.VisibleFields(fields.Type()) {
		if !f.IsExported() {
			continue
		}
		below := node[keyword(f)]
		switch sub := fields.Field(i).Interface().(type) {
		case *jsonschema.Schema:
			writeConstants(sub, below)
		case []*jsonschema.Schema:
			list, _ := below.([]any)
			for n := range min(len(sub), len(list)) {
				writeConstants(sub[n], list[n])
			}
		case map[string]*jsonschema.Schema:
			members, _ := below.(map[string]any)
			for name, one := range sub {
				writeConstants(one, members[name])
			}
		}
	}
}

// keyword is where a field of a schema is in its JSON.
func keyword(f reflect.StructField) string {
	switch f.Name {
	case "Items", "ItemsArray":
		return "items"
	case "DependencySchemas":
		return "dependencies"
	}
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}
