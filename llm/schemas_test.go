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
	tools := []loop.Spec{{Schema: json.RawMessage(`{}`)}, {Schema: json.RawMessage(`{"type":"object","properties":{"a":{}}}`)}}
	first := s.Of(tools)
	assert.Equal(t, []json.RawMessage{json.RawMessage(`{"type":"object","properties":{}}`), tools[1].Schema}, first)
	assert.Same(t, &first[0], &s.Of(tools)[0], "the same list")
	other := slices.Clone(tools)
	other[0].Schema = json.RawMessage(`{"type":"object","properties":{"b":{}}}`)
	assert.Equal(t, other[0].Schema, s.Of(other)[0], "another list")
	assert.Equal(t, tools[1].Schema, s.Of(tools[1:])[0], "a part of the first")
	assert.Empty(t, s.Of(nil))
}
