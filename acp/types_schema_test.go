package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryTypeRoundTrips makes values of every type, holds what they encode to against the schema, and decodes it to
// the value it was.
func TestEveryTypeRoundTrips(t *testing.T) {
	t.Parallel()
	c := compiler()
	for _, name := range keys(schemaTypes) {
		typ := schemaTypes[name]
		if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[RequestID]() {
			continue
		}
		var schema *jsonschema.Schema
		if defs()[name] != nil && !slices.Contains([]string{"ElicitationFormMode", "ElicitationUrlMode"}, name) { // a mode needs the scope that stands beside it
			var err error
			schema, err = c.Compile("schema.json#/$defs/" + name)
			require.NoError(t, err)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(1, uint64(len(name))))
			for i := range 150 {
				v := filler{rnd: rnd, all: i == 0}.value(typ, 0)
				raw, err := json.Marshal(v.Interface())
				require.NoError(t, err)
				if schema != nil {
					doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
					require.NoError(t, err)
					require.NoError(t, schema.Validate(doc), "%s", raw)
				}
				back := reflect.New(typ)
				require.NoError(t, json.Unmarshal(raw, back.Interface()), "%s", raw)
				if !assert.Equal(t, v.Interface(), back.Elem().Interface(), "%s", raw) {
					return
				}
			}
		})
	}
}

// TestZeroValuesEncode sees to it that no required list is null and that a missing union member is an error.
func TestZeroValuesEncode(t *testing.T) {
	t.Parallel()
	for name, typ := range schemaTypes {
		if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[RequestID]() {
			continue
		}
		raw, err := json.Marshal(reflect.New(typ).Elem().Interface())
		if err != nil {
			require.ErrorContains(t, err, "encoding JSON: ", name)
			continue
		}
		assert.NotContains(t, strings.ReplaceAll(string(raw), `"requestId":null`, ""), "null", name)
	}
}

// TestLeniencyFollowsTheSchema changes one property at a time of a good value of every definition, and expects what
// the schema and its x-deserialize marks say of it.
func TestLeniencyFollowsTheSchema(t *testing.T) {
	t.Parallel()
	c, cases := compiler(), 0
	for _, name := range keys(schemaTypes) {
		def, typ := defs()[name], schemaTypes[name]
		if def == nil || typ.Kind() != reflect.Struct || typ == reflect.TypeFor[RequestID]() {
			continue
		}
		good := must(json.Marshal(filler{rnd: rand.New(rand.NewPCG(3, 3)), all: true}.value(typ, 0).Interface()))
		props, required := properties(def)
		for key, p := range props {
			for _, one := range changes(c, name, key, p, required[key]) {
				cases++
				err := json.Unmarshal(changed(good, key, one.value), reflect.New(typ).Interface())
				at := fmt.Sprintf("%s/%s = %s", name, key, one.value)
				if one.ok {
					assert.NoError(t, err, at)
				} else if assert.Error(t, err, at) {
					assert.Contains(t, err.Error(), "/"+key, at)
				}
			}
		}
	}
	assert.Greater(t, cases, 1000)
}

type change struct {
	value string // JSON, or "" for none at all
	ok    bool
}

func changes(c *jsonschema.Compiler, name, key string, p node, required bool) []change {
	forgiving := p.marked("default-on-error")
	nullable := !required || forgiving || p.marked("default-on-null")
	mayLack := !required || key == "mcpServers"
	nullable = nullable || key == "requestId"      // the id of a request may be null
	open := key == "stopReason" || key == "format" // any string, so that a newer peer can be understood
	out := []change{{"", mayLack}}
	if key == "rawInput" || key == "rawOutput" {
		return append(out, change{"null", true}, change{"7", true})
	}
	out = append(out, change{"null", nullable})
	for _, bad := range []string{`7.5`, `"7"`, `{"x":1}`, `[{"x":{}}]`, `[7]`, `true`} {
		if !fits(c, name, key, bad) {
			out = append(out, change{bad, forgiving || open && bad[0] == '"' || p.marked("skip-invalid-items") && bad[0] == '['})
		}
	}
	return out
}

// fits reports whether the schema allows the value for a property.
func fits(c *jsonschema.Compiler, name, key, value string) bool {
	owner := name
	if outer := flattened[name]; defs()[name].at("properties")[key] == nil && outer != "" {
		owner = outer
	}
	part := must(c.Compile("schema.json#/$defs/" + owner + "/properties/" + key))
	return part.Validate(must(jsonschema.UnmarshalJSON(strings.NewReader(value)))) == nil
}

// changed replaces a member of an object, or takes it away.
func changed(object []byte, key, value string) []byte {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		panic(err)
	}
	delete(members, key)
	if value != "" {
		members[key] = json.RawMessage(value)
	}
	return must(json.Marshal(members))
}

// FuzzParams gives any bytes to the decoder of every message: it must not panic, and what it takes must come out of
// the encoder as something it takes again, as the same value.
func FuzzParams(f *testing.F) {
	all := messages()
	for i, typ := range all {
		good := must(json.Marshal(filler{rnd: rand.New(rand.NewPCG(5, 5)), all: true}.value(typ, 0).Interface()))
		f.Add(uint8(i), good)
		f.Add(uint8(i), bytes.ReplaceAll(good, []byte(`"type":"`), []byte(`"type":"_`)))
		f.Add(uint8(i), good[:len(good)/2])
	}
	f.Fuzz(func(t *testing.T, which uint8, raw []byte) {
		typ := all[int(which)%len(all)]
		v := reflect.New(typ)
		if err := decodeAny("params", trim(raw), v.Interface(), 0); err != nil {
			assert.True(t, strings.HasPrefix(err.Error(), "params"), "%v", err)
			return
		}
		if !json.Valid(raw) {
			return // the stream refuses such a line before
		}
		out, err := marshal(v.Elem().Interface())
		require.NoError(t, err)
		require.True(t, json.Valid(out), "%s", out)
		require.False(t, slices.Contains(out, '\n'))
		back := reflect.New(typ)
		require.NoError(t, decodeAny("params", out, back.Interface(), 0), "%s", out)
		again, err := marshal(back.Elem().Interface())
		require.NoError(t, err)
		require.Equal(t, string(out), string(again))
	})
}
