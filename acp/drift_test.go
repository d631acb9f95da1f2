package acp

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// node is a part of the schema.
type node map[string]any

func (n node) at(key string) node {
	inner, _ := n[key].(map[string]any)
	return inner
}

func (n node) list(key string) []node {
	var out []node
	items, _ := n[key].([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

func (n node) strings(key string) []string {
	var out []string
	items, _ := n[key].([]any)
	for _, item := range items {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func (n node) ref() string {
	s, _ := n["$ref"].(string)
	return strings.TrimPrefix(s, "#/$defs/")
}

func (n node) marked(mark string) bool { return n["x-deserialize-"+mark] == true }

var defs = sync.OnceValue(func() map[string]node {
	raw, err := os.ReadFile("testdata/schema.json")
	if err != nil {
		panic(err)
	}
	var whole struct {
		Defs map[string]node `json:"$defs"`
	}
	if err := json.Unmarshal(raw, &whole); err != nil {
		panic(err)
	}
	return whole.Defs
})

// notTypes are definitions that have no type of their own here, and why.
var notTypes = map[string]string{
	"AgentRequest": "envelope", "AgentResponse": "envelope", "AgentNotification": "envelope",
	"ClientRequest": "envelope", "ClientResponse": "envelope", "ClientNotification": "envelope",
	"ExtRequest": "any JSON", "ExtResponse": "any JSON", "ExtNotification": "any JSON",
	"Error": "not decoded by the codec", "ErrorCode": "an integer, checked by TestErrorCodes",
	"ContentChunk": "three variants of SessionUpdate",
}

func TestEveryDefinitionHasAType(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for name := range defs() {
		seen[name] = true
		if notTypes[name] == "" {
			assert.NotNil(t, schemaTypes[name], "%s: the schema has a definition that Go lacks", name)
		}
	}
	extra := []string{
		"BooleanContent", "BooleanValue", "Cancelled", "ContentItem", "ElicitationAction", "ElicitationCancelAction",
		"ElicitationDeclineAction", "ElicitationMode", "ElicitationScope", "GroupedOptions", "IntegerContent",
		"NumberContent", "ResourceContents", "SelectValue", "Selected", "SessionConfigOptionValue", "StringArrayContent",
		"StringContent", "UngroupedOptions", "UserMessageChunk", "AgentMessageChunk", "AgentThoughtChunk",
		"AuthMethods", "ContentBlocks", "McpServers", "SessionConfigOptions", "ToolCallContents",
	}
	for name := range schemaTypes {
		if !slices.Contains(extra, name) {
			assert.True(t, seen[name], "%s: Go has a type that the schema lacks", name)
		}
	}
}

// properties are those of a definition with what it is composed of, by name, with whether they are required.
func properties(def node) (props map[string]node, required map[string]bool) {
	props, required = map[string]node{}, map[string]bool{}
	for name, p := range def.at("properties") {
		props[name] = p.(map[string]any)
	}
	for _, name := range def.strings("required") {
		required[name] = true
	}
	return props, required
}

// flattened are the properties that a Go struct has and its definition does not, because the variants of a union
// repeat the fields of the definition they stand in.
var flattened = map[string]string{"SessionConfigSelect": "SessionConfigOption", "SessionConfigBoolean": "SessionConfigOption"}

func TestFieldsMatchTheSchema(t *testing.T) {
	t.Parallel()
	for _, name := range keys(schemaTypes) {
		def, typ := defs()[name], schemaTypes[name]
		if def == nil || typ.Kind() != reflect.Struct || name == "RequestId" || name == "AvailableCommandInput" {
			continue
		}
		props, required := properties(def)
		if outer := flattened[name]; outer != "" {
			more, needed := properties(defs()[outer])
			for key, p := range more {
				props[key], required[key] = p, needed[key]
			}
		}
		set := fieldsOf(typ)
		for key, p := range props {
			i, ok := set.byName[key]
			if !assert.True(t, ok, "%s/%s: the Go type lacks it", name, key) {
				continue
			}
			f := set.list[i]
			at := name + "/" + key
			assert.Equal(t, required[key], f.required, "%s: required", at)
			assert.Equal(t, p.marked("default-on-error"), f.how&lenient != 0, "%s: default on error", at)
			assert.Equal(t, p.marked("default-on-null"), f.how&null != 0, "%s: default on null", at)
			assert.Equal(t, p.marked("skip-invalid-items"), f.how&skip != 0, "%s: skip invalid items", at)
			assert.Empty(t, mismatch(p, typ.Field(f.index).Type), "%s: type", at)
		}
		for key := range set.byName {
			bare := len(props) == 0 && key == "_meta" // an object of which nothing is said takes _meta as any other
			assert.True(t, props[key] != nil || bare, "%s/%s: the schema lacks it", name, key)
		}
	}
}

// mismatch says how a Go type differs from what the schema says of a value, or nothing.
func mismatch(p node, t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return mismatch(p, t.Elem())
	}
	if t.Implements(reflect.TypeFor[optional]()) {
		method, _ := t.MethodByName("Get")
		return mismatch(p, method.Type.Out(0))
	}
	for _, one := range slices.Concat(p.list("allOf"), p.list("anyOf")) {
		if one["type"] != "null" {
			return mismatch(one, t)
		}
	}
	if name := p.ref(); name != "" {
		if schemaTypes[name] != t {
			return "want " + name + ", have " + t.String()
		}
		return ""
	}
	kind, _ := p["type"].(string)
	for _, k := range p.strings("type") {
		if k != "null" {
			kind = k
		}
	}
	format, _ := p["format"].(string)
	want := map[string][]reflect.Kind{
		"string/": {reflect.String}, "string/uri": {reflect.String}, "boolean/": {reflect.Bool}, "number/double": {reflect.Float64},
		"integer/int64": {reflect.Int64}, "integer/uint32": {reflect.Uint32}, "integer/uint64": {reflect.Uint64},
		"array/": {reflect.Slice}, "object/": {reflect.Map}, "/": {reflect.Slice},
	}[kind+"/"+format]
	if !slices.Contains(want, t.Kind()) {
		return "want " + kind + " " + format + ", have " + t.String()
	}
	switch kind {
	case "array":
		return mismatch(p.at("items"), t.Elem())
	case "object":
		if inner := p.at("additionalProperties"); inner != nil {
			return mismatch(inner, t.Elem())
		}
	}
	return ""
}

// enumsInSource are the values of the typed string constants in this package, by type.
var enumsInSource = sync.OnceValue(func() map[string][]string {
	out := map[string][]string{}
	files, err := filepath.Glob("types_*.go")
	if err != nil {
		panic(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			panic(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			typ, isNamed := spec.Type.(*ast.Ident)
			literal, isLiteral := spec.Values[0].(*ast.BasicLit)
			if isNamed && isLiteral && literal.Kind == token.STRING {
				value, err := strconv.Unquote(literal.Value)
				if err != nil {
					panic(err)
				}
				out[typ.Name] = append(out[typ.Name], value)
			}
			return true
		})
	}
	return out
})

func TestEnumsMatchTheSchema(t *testing.T) {
	t.Parallel()
	checked := 0
	for name, def := range defs() {
		values, open := []string{}, false
		for _, one := range slices.Concat(def.list("oneOf"), def.list("anyOf")) {
			if s, ok := one["const"].(string); ok {
				values = append(values, s)
			}
			open = open || one["title"] == "other"
		}
		if len(values) == 0 {
			continue
		}
		checked++
		assert.ElementsMatch(t, values, enumsInSource()[name], "%s: values", name)
		_, closed := reflect.TypeAssert[interface{ known() bool }](reflect.New(schemaTypes[name]).Elem())
		if name != "StopReason" && name != "StringFormat" { // kept open when decoding, so that a newer peer can be understood
			assert.Equal(t, !open, closed, "%s: closed", name)
		}
		v := reflect.New(schemaTypes[name]).Elem()
		for _, value := range values {
			v.SetString(value)
			if k, ok := reflect.TypeAssert[interface{ known() bool }](v); ok {
				assert.True(t, k.known(), "%s: %s", name, value)
			}
		}
	}
	assert.Equal(t, 12, checked, "enums in the schema")
}

// flatOwner is the definition that a union's variants stand in, where the schema has no definition of the union.
var flatOwner = map[string]string{
	"ElicitationMode": "CreateElicitationRequest", "ElicitationAction": "CreateElicitationResponse",
	"SessionConfigOptionValue": "SetSessionConfigOptionRequest",
}

func TestUnionsMatchTheSchema(t *testing.T) {
	t.Parallel()
	for typ, u := range unions {
		name := schemaName(typ.Name())
		if owner := flatOwner[name]; owner != "" {
			name = owner
		}
		if u.key == "" {
			continue
		}
		def := defs()[name]
		require.NotNil(t, def, name)
		want := map[string]string{}
		for _, one := range slices.Concat(def.list("oneOf"), def.list("anyOf")) {
			tag, _ := one.at("properties").at(u.key)["const"].(string)
			for _, part := range one.list("allOf") {
				want[tag] = part.ref()
			}
			if one.list("allOf") == nil && tag != "" {
				want[tag] = "" // the variant has no definition of its own
			}
		}
		for tag, ref := range want {
			got, ok := u.named(tag)
			if tag == "" {
				got, ok = u.bare, u.bare != nil
			}
			if !assert.True(t, ok, "%s/%s: Go lacks the variant", typ.Name(), tag) || ref == "" || ref == "ContentChunk" {
				continue
			}
			assert.Equal(t, schemaTypes[ref], got, "%s/%s: type", typ.Name(), tag)
		}
		for _, v := range u.variants {
			_, ok := want[v.name]
			assert.True(t, ok || v.typ == u.bare, "%s/%s: the schema lacks the variant", typ.Name(), v.name)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestEveryMethodIsKnown(t *testing.T) {
	t.Parallel()
	var methods, typed []string
	var meta map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(must(os.ReadFile("testdata/meta.json")), &meta))
	for _, side := range []string{"agentMethods", "clientMethods", "protocolMethods"} {
		var names map[string]string
		require.NoError(t, json.Unmarshal(meta[side], &names))
		for _, name := range names {
			methods = append(methods, name)
		}
	}
	known := map[reflect.Type]bool{}
	for _, typ := range messages() {
		known[typ] = true
	}
	for name, def := range defs() {
		method, _ := def["x-method"].(string)
		if method == "" {
			continue
		}
		assert.True(t, known[schemaTypes[name]], "%s is what %s takes or gives: Go lacks it", name, method)
		if !slices.Contains(typed, method) {
			typed = append(typed, method)
		}
	}
	assert.ElementsMatch(t, methods, typed)
	assert.Len(t, messages(), 46)
}

func TestErrorCodes(t *testing.T) {
	t.Parallel()
	var codes []int
	for _, one := range defs()["ErrorCode"].list("anyOf") {
		if c, ok := one["const"].(float64); ok {
			codes = append(codes, int(c))
		}
	}
	assert.ElementsMatch(t, codes, []int{
		CodeParseError, CodeInvalidRequest, CodeMethodNotFound, CodeInvalidParams, CodeInternalError,
		CodeCancelled, CodeAuthRequired, CodeNotFound,
	})
}

func compiler() *jsonschema.Compiler {
	doc := must(jsonschema.UnmarshalJSON(bytes.NewReader(must(os.ReadFile("testdata/schema.json")))))
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		panic(err)
	}
	return c
}
