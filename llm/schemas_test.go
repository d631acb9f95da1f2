package llm_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/cartagent/cartagent/llm"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
)

func TestSchemasAreMadeOnceForAList(t *testing.T) {
	t.Parallel()
	var s llm.Schemas
	raw := json.RawMessage(`{"type":"object","properties":{"a":{}}}`)
	tools := []loop.Spec{{Description: " d ", Schema: json.RawMessage(`{}`)}, {Schema: raw}}
	first := s.Of(tools)
	assert.Equal(t, []llm.ToolText{
		{Description: " d ", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}, {Schema: raw},
	}, first)
	assert.Same(t, &first[0], &s.Of(tools)[0], "the same list")
	other := slices.Clone(tools)
	other[0].Schema = json.RawMessage(`{"type":"object","properties":{"b":{}}}`)
	assert.Equal(t, other[0].Schema, s.Of(other)[0].Schema, "another list")
	assert.Equal(t, raw, s.Of(tools[1:])[0].Schema, "a part of the first")
	assert.Empty(t, s.Of(nil))
}

func TestSchemasTellWhatTheyDoNotSay(t *testing.T) {
	t.Parallel()
	var s llm.Schemas
	union := json.RawMessage(`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`)
	note := `Its arguments must fit this JSON Schema: ` + string(union)
	assert.Equal(t, []llm.ToolText{
		{Description: "Does it.\n\n" + note, Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
		{Description: note, Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
	}, s.Of([]loop.Spec{{Description: "Does it.", Schema: union}, {Schema: union}}))
}
