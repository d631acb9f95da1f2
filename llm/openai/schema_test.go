package openai

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// TestOddSchemas is cases C036 and C037: no tool's schema makes the provider refuse the request.
func TestOddSchemas(t *testing.T) {
	t.Parallel()
	m, err := New(Config{Model: "m", Key: "k"})
	require.NoError(t, err)
	r := loop.Request{Messages: []loop.Message{{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: "hi"}}}}}
	for _, s := range []string{
		`{}`, `{"type":"object"}`, `{"properties":{}}`, `{"type":"object","additionalProperties":false}`, `true`, `null`,
		`{"type":["object","null"],"properties":{"a":{"type":"array"},"b":{"type":"object"},"c":true}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a b":{"type":"string"}},"required":["a b"]}`,
		`{"properties":{"a":{"default":1,"pattern":"^a","format":"x","const":"a","examples":[1],"title":"t"}},"additionalProperties":{}}`,
		`{"anyOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}}}]}`, `{"oneOf":[{"$ref":"#"}],"not":{}}`,
		`{"properties":{"l":{"type":"array","items":{"$ref":"#/$defs/L"}}},"$defs":{"L":{"type":"object","properties":{"c":{"$ref":"#/$defs/L"}}}}}`,
	} {
		r.Tools = append(r.Tools, loop.Spec{Name: "t", Description: "Does it.", Schema: json.RawMessage(s)})
	}
	body, err := m.encode(r, dialect{})
	require.NoError(t, err)
	require.NoError(t, strictTools(body))
	assert.Contains(t, string(body), `"description":"Does it.\n\nIts arguments must fit this JSON Schema: {\"anyOf\":[{\"properties\":{\"a\":{}},\"required\":[\"a\"]}`)
}
