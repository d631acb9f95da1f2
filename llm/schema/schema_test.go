package schema_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/cartagent/cartagent/llm/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// narrow are the rules of a provider that wants all there is to want.
func narrow() schema.Rules {
	return schema.Rules{Name: regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`).MatchString, Whole: true}
}

// TestNormalize is cases C036 and C037: what is made of schemas, as a provider that takes the least is sent them.
func TestNormalize(t *testing.T) {
	t.Parallel()
	bare := `{"type":"object","properties":{}}`
	for name, c := range map[string]struct{ in, want, note string }{
		"nothing":             {in: `{}`, want: bare},
		"a type":              {in: `{"type":"object"}`, want: bare},
		"properties":          {in: `{"properties":{}}`, want: bare},
		"true":                {in: `true`, want: bare},
		"false":               {in: `false`, want: bare},
		"null":                {in: `null`, want: bare},
		"no JSON":             {in: `{"type":`, want: bare},
		"empty":               {in: ``, want: bare},
		"closed":              {in: `{"type":"object","additionalProperties":false}`, want: `{"type":"object","additionalProperties":false,"properties":{}}`},
		"a list of types":     {in: `{"type":["object","null"],"properties":{"a":{"type":["string","null"]}}}`, want: `{"type":"object","properties":{"a":{"type":["string","null"]}}}`},
		"another type":        {in: `{"type":"string"}`, want: bare},
		"odd values":          {in: `{"type":7,"properties":null,"required":true,"title":3,"description":null,"enum":[]}`, want: bare},
		"a draft":             {in: `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"x:y","$comment":"c","type":"object"}`, want: bare},
		"what is not a word":  {in: `{"x-internal":1,"nullable":true,"properties":{"a":{"x-order":1,"type":"string"}}}`, want: `{"type":"object","properties":{"a":{"type":"string"}}}`},
		"the order is theirs": {in: `{"properties":{"z":{},"a":{}},"type":"object","required":["z","a","z",3]}`, want: `{"type":"object","properties":{"z":{},"a":{}},"required":["z","a"]}`},
		"keywords": {
			in: `{"properties":{"a":{"title":"t","default":1,"pattern":"^a<","format":"x","const":"a","examples":[1],"maximum":12345678901234567890}},
				"additionalProperties":{"type":"string"}}`,
			want: `{"type":"object","properties":{"a":{"title":"t","default":1,"pattern":"^a<","format":"x","const":"a","examples":[1],"maximum":12345678901234567890}},
				"additionalProperties":{"type":"string"}}`,
		},
		"values that do not fit": {
			in: `{"properties":{"a":{"minLength":-1,"maxLength":1.5,"multipleOf":0,"minimum":"1","maximum":1e99999,"uniqueItems":"yes","enum":{},"anyOf":[],"allOf":{},
				"items":3,"not":null,"type":["string","what","string"],"pattern":1,"minItems":2.0}}}`,
			want: `{"type":"object","properties":{"a":{"type":"string","minItems":2.0}}}`,
		},
		"booleans": {
			in:   `{"properties":{"a":true,"b":false,"c":{"type":"array","items":true},"d":{"anyOf":[true,{"type":"null"}]},"e":7}}`,
			want: `{"type":"object","properties":{"a":{},"b":{"not":{}},"c":{"type":"array","items":{}},"d":{"anyOf":[{},{"type":"null"}]},"e":{}}}`,
		},
		"older drafts": {
			in: `{"properties":{"a":{"type":"array","items":[{"type":"string"},true],"additionalItems":false},
				"b":{"minimum":1,"exclusiveMinimum":true,"maximum":2,"exclusiveMaximum":false},"c":{"type":"string","required":true}}}`,
			want: `{"type":"object","properties":{"a":{"type":"array","prefixItems":[{"type":"string"},{}],"items":{"not":{}}},
				"b":{"maximum":2,"exclusiveMinimum":1},"c":{"type":"string"}}}`,
		},
		"what is inside is whole": {
			in:   `{"properties":{"a":{"type":"object"},"b":{"type":["array","null"]}}}`,
			want: `{"type":"object","properties":{"a":{"type":"object","properties":{}},"b":{"type":["array","null"],"items":{}}}}`,
		},
		"references": {
			in: `{"type":"object","properties":{"ship":{"$ref":"#/properties/bill"},"bill":{"anyOf":[{"$ref":"#/definitions/Addr"},{"type":"null"}]},
				"esc":{"$ref":"#/$defs/a~1b~0c%25"},"at":{"$ref":"#/$defs/list/anyOf/1"},"named":{"$ref":"#here"}},
				"$defs":{"a/b~c%":{"type":"integer"},"list":{"anyOf":[true,{"type":"boolean"}]},"x":{"$anchor":"here","type":"number"}},"definitions":{"Addr":{"type":"string"}}}`,
			want: `{"type":"object","properties":{"ship":{"anyOf":[{"type":"string"},{"type":"null"}]},"bill":{"anyOf":[{"type":"string"},{"type":"null"}]},
				"esc":{"type":"integer"},"at":{"type":"boolean"},"named":{"type":"number"}}}`,
		},
		"beside a reference": {
			in: `{"properties":{"a":{"description":"mine","default":1,"$ref":"#/$defs/n"},"b":{"maximum":9,"$ref":"#/$defs/n"},"c":{"$ref":"#/$defs/n","type":"integer"},
				"d":{"$ref":"#/$defs/n","minimum":5}},"$defs":{"n":{"type":"integer","description":"theirs","minimum":1}}}`,
			want: `{"type":"object","properties":{"a":{"description":"mine","default":1,"type":"integer","minimum":1},"b":{"maximum":9,"type":"integer","description":"theirs","minimum":1},
				"c":{"type":"integer","description":"theirs","minimum":1},"d":{"minimum":5,"allOf":[{"type":"integer","description":"theirs","minimum":1}]}}}`,
		},
		"references that lead nowhere": {
			in:   `{"properties":{"a":{"$ref":"https://127.0.0.1:9/x.json","description":"d"},"b":{"$ref":"#/no/where"},"c":{"$ref":"#%zz"},"d":{"$ref":"#gone"},"e":{"$ref":7},"f":{"$ref":"other.json"}}}`,
			want: `{"type":"object","properties":{"a":{"description":"d"},"b":{},"c":{},"d":{},"e":{},"f":{}}}`,
		},
		"by its own id": {
			in:   `{"$id":"https://example.com/s","properties":{"a":{"$ref":"https://example.com/s#/$defs/n"},"b":{"$id":"x:b","properties":{"c":{"$ref":"#/n"}},"n":{"type":"null"}}},"$defs":{"n":{"type":"string"}}}`,
			want: `{"type":"object","properties":{"a":{"type":"string"},"b":{"properties":{"c":{"type":"null"}}}}}`,
		},
		"at the top": {
			in:   `{"$ref":"#/$defs/in","$defs":{"in":{"type":"object","properties":{"a":{}},"required":["a"]}}}`,
			want: `{"type":"object","properties":{"a":{}},"required":["a"]}`,
		},
		"recursion": {
			in: `{"type":"object","properties":{"lines":{"type":"array","items":{"$ref":"#/$defs/Line"}}},
				"$defs":{"Line":{"type":"object","properties":{"child":{"$ref":"#/$defs/Line"}}}}}`,
			want: `{"type":"object","properties":{"lines":{"type":"array","items":{"type":"object","properties":{"child":
				{"type":"object","properties":{"child":{"type":"object","properties":{"child":{}}}}}}}}}}`,
			note: "(The schema of its arguments is shortened here.)",
		},
		"itself":             {in: `{"$ref":"#"}`, want: bare, note: "(The schema of its arguments is shortened here.)"},
		"itself, in a field": {in: `{"properties":{"a":{"$ref":"#"}}}`, want: `{"type":"object","properties":{"a":{"properties":{"a":{"properties":{"a":{}}}}}}}`, note: "(The schema of its arguments is shortened here.)"},
		"alternatives": {
			in: `{"oneOf":[{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"integer"}},"required":["id","n"],"additionalProperties":false},
				{"$ref":"#/$defs/o"},{"type":"null"}],"additionalProperties":false,"description":"d","$defs":{"o":{"properties":{"n":{"type":"string"},"q":{}},"required":["n"]}}}`,
			want: `{"type":"object","description":"d","properties":{"id":{"type":"string"},"n":{"anyOf":[{"type":"integer"},{"type":"string"}]},"q":{}},"required":["n"]}`,
			note: `Its arguments must fit this JSON Schema: {"oneOf":[{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"integer"}},"required":["id","n"],"additionalProperties":false},` +
				`{"properties":{"n":{"type":"string"},"q":{}},"required":["n"]},{"type":"null"}],"additionalProperties":false,"description":"d"}`,
		},
		"all of it": {
			in: `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"allOf":[{"properties":{"a":{"minLength":2},"b":{}},"required":["b"]},
				{"anyOf":[{"required":["c"]},{"required":["d"]}]}],"not":{"required":["e"]}}`,
			want: `{"type":"object","properties":{"a":{"allOf":[{"type":"string"},{"minLength":2}]},"b":{}},"required":["a","b"]}`,
			note: `Its arguments must fit this JSON Schema: {"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"allOf":[{"properties":{"a":{"minLength":2},"b":{}},"required":["b"]},` +
				`{"anyOf":[{"required":["c"]},{"required":["d"]}]}],"not":{"required":["e"]}}`,
		},
		"conditions": {
			in:   `{"properties":{"a":{}},"if":{"required":["a"]},"then":{"properties":{"b":{"type":"string"}}},"dependentSchemas":{"a":{"properties":{"c":{}},"required":["c"]}}}`,
			want: `{"type":"object","properties":{"a":{},"b":{"type":"string"},"c":{}}}`,
			note: `Its arguments must fit this JSON Schema: {"properties":{"a":{}},"if":{"required":["a"]},"then":{"properties":{"b":{"type":"string"}}},"dependentSchemas":{"a":{"properties":{"c":{}},"required":["c"]}}}`,
		},
		"names": {
			in:   `{"properties":{"a b":{"type":"string"},"ok":{}},"required":["a b","ok"],"additionalProperties":false}`,
			want: `{"type":"object","properties":{"ok":{}},"required":["ok"]}`,
			note: `It also takes arguments whose names cannot be listed: [{"a b":{"type":"string"}}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := json.RawMessage(c.in)
			got := schema.Normalize(in, narrow())
			assert.Equal(t, squeeze(t, c.want), string(got.JSON))
			assert.Equal(t, c.note, got.Note)
			assert.Equal(t, c.in, string(in), "what it is given stays as it was")
			require.NoError(t, strict(got.JSON))
			assert.Equal(t, got, schema.Normalize(in, narrow()))
			again := schema.Normalize(got.JSON, narrow())
			assert.Equal(t, string(got.JSON), string(again.JSON), "what has been made already stays")
		})
	}
	assert.JSONEq(t, `{"type":"object","properties":{"a b":{"type":"object"}}}`,
		string(schema.Normalize(json.RawMessage(`{"properties":{"a b":{"type":"object"}}}`), schema.Rules{}).JSON))
}

// squeeze takes the space out of JSON.
func squeeze(t *testing.T, s string) string {
	t.Helper()
	s = regexp.MustCompile(`\n\s*`).ReplaceAllString(s, "")
	require.True(t, json.Valid([]byte(s)), s)
	return s
}

// TestBounds: whatever comes in, what comes out has a size, and its parts that matter are there.
func TestBounds(t *testing.T) {
	t.Parallel()
	double := `{"type":"object","properties":{"a":{"$ref":"#/$defs/n0"}},"$defs":{`
	for i := range 40 {
		double += fmt.Sprintf(`"n%d":{"type":"object","properties":{"l":{"$ref":"#/$defs/n%d"},"r":{"$ref":"#/$defs/n%d"}}},`, i, i+1, i+1)
	}
	double += `"n40":{"type":"string"}}}`
	wide := func(n int) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(`"p%d":{"type":"string","description":"what it is"}`, i))
		}
		return `{"type":"object","properties":{` + strings.Join(parts, ",") + `}}`
	}
	union := `{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"properties":{"kind":{"const":"x%d"}},"required":["kind"]},`, 200), ",") + `]}`
	for i := range 200 {
		union = strings.Replace(union, "x%d", fmt.Sprint("x", i), 1)
	}
	knot := `{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/b"},`, 30), ",") + `]},"b":{"anyOf":[` +
		strings.TrimSuffix(strings.Repeat(`{"$ref":"#/$defs/a"},`, 30), ",") + `]}}}`
	for name, c := range map[string]struct{ in, holds, note string }{
		"doubling 40 times":  {double, `{"a":{"type":"object","properties":{"l":{"type":"object","properties":{"l":`, "shortened"},
		"nested 1000 times":  {strings.Repeat(`{"properties":{"a":`, 1000) + `{}` + strings.Repeat(`}}`, 1000), `{"a":{"properties":{"a":`, "shortened"},
		"nested beyond JSON": {strings.Repeat(`{"properties":{"a":`, 20000) + `{}` + strings.Repeat(`}}`, 20000), `{"type":"object","properties":{}}`, ""},
		"wide":               {wide(500), `"p499":{"type":"string","description":"what it is"}`, ""},
		"too wide":           {wide(5000), `{"type":"object","properties":{}}`, "too many"},
		"a long text":        {`{"description":"` + strings.Repeat("é", 50_000) + `"}`, `é…"`, ""},
		"long values":        {`{"properties":{"a":{"enum":["` + strings.Repeat("x", 200_000) + `"]}}}`, `"properties":{"a":{}}`, "shortened"},
		"huge":               {`{"properties":{"a":{"enum":["` + strings.Repeat("x", 2_000_000) + `"]}}}`, `{"type":"object","properties":{}}`, "too many"},
		"many alternatives":  {union, `"kind":{}`, "Not every combination"},
		"a knot":             {knot, `{"type":"object","properties":{}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := schema.Normalize(json.RawMessage(c.in), narrow())
			require.NoError(t, strict(got.JSON))
			assert.Contains(t, string(got.JSON), c.holds)
			assert.LessOrEqual(t, len(got.JSON), 200_000)
			assert.LessOrEqual(t, nodes(t, got.JSON), 12_000)
			assert.LessOrEqual(t, len(got.Note), 5000)
			assert.Contains(t, got.Note, c.note)
		})
	}
}

// nodes counts the values of JSON.
func nodes(t *testing.T, data []byte) int {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(data, &v))
	var count func(any) int
	count = func(v any) int {
		n := 1
		switch v := v.(type) {
		case map[string]any:
			for _, x := range v {
				n += count(x)
			}
		case []any:
			for _, x := range v {
				n += count(x)
			}
		}
		return n
	}
	return count(v)
}

func FuzzNormalize(f *testing.F) {
	f.Add(`{"$defs":{"a":{"$ref":"#/$defs/b","anyOf":[{"$ref":"#"}]},"b":{"items":[{"$ref":"#/$defs/a"}]}},"oneOf":[{"$ref":"#/$defs/a"}]}`)
	f.Add(`{"allOf":[{"properties":{"a":{"$ref":"#/allOf/0"}}},true,7],"properties":{"a b":false}}`)
	f.Add(`{"$id":"a:b","properties":{"x":{"$id":"c","$ref":"a:b#/properties/x"}},"exclusiveMinimum":true,"minimum":3}`)
	f.Fuzz(func(t *testing.T, in string) {
		for _, r := range []schema.Rules{narrow(), {}} {
			got := schema.Normalize(json.RawMessage(in), r)
			if r.Whole {
				require.NoError(t, strict(got.JSON), "%s", got.JSON)
			}
			require.LessOrEqual(t, len(got.JSON), 200_000)
			require.LessOrEqual(t, nodes(t, got.JSON), 20_000)
		}
	})
}

func BenchmarkNormalize(b *testing.B) {
	in := json.RawMessage(`{"type":"object","properties":{"order":{"type":"string"},"lines":{"type":"array","items":{"$ref":"#/$defs/Line"}}},` +
		`"required":["order"],"$defs":{"Line":{"type":"object","properties":{"item":{"type":"string","enum":["latte","mocha"]},"qty":{"type":"integer","minimum":1}}}}}`)
	b.ReportAllocs()
	for b.Loop() {
		schema.Normalize(in, schema.Rules{})
	}
}
