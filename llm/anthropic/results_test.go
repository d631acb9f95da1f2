package anthropic

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// TestResultsOfAllKinds is case C041 at the provider: what a tool has given reaches the model, or is named in a line.
func TestResultsOfAllKinds(t *testing.T) {
	t.Parallel()
	m, err := New(Config{Model: "m", Key: "k"})
	require.NoError(t, err)
	png := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 1000)...)
	content := loop.Blocks{
		loop.Text{Text: "here"},
		loop.Image{Data: png, MIME: "image/png"},
		loop.Audio{Data: make([]byte, 14_000), MIME: "audio/wav"},
		loop.Link{URI: "menu://today", Name: "Menu"},
		loop.Resource{URI: "hours://week", Text: "9 to 5"},
		loop.Resource{URI: "file:///a.pdf", MIME: "application/pdf", Blob: []byte("%PDF")},
		loop.Other{Type: "poem", Raw: json.RawMessage("{}")},
	}
	lines := []string{
		"here", "[1 audio/wav block, 14 kB, not forwardable to this model]", "[resource link Menu: menu://today]",
		`<resource uri=\"hours://week\">\n9 to 5\n</resource>`,
		"[1 application/pdf block, 4 B, not forwardable to this model] from file:///a.pdf", "[1 poem block, 2 B, not forwardable to this model]",
	}
	for _, failed := range []bool{false, true} {
		call := loop.NewCall("", "look", "")
		call.ID = "c"
		r := loop.Request{Messages: []loop.Message{
			{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: "hi"}}},
			{Role: loop.RoleAssistant, Calls: []loop.Call{call}},
			{Role: loop.RoleTool, Results: []loop.Result{{CallID: "c", Content: content, Failed: failed, Raw: json.RawMessage(`{"total":9}`)}}},
		}}
		body, err := m.encode(r)
		require.NoError(t, err)
		for _, line := range lines {
			assert.Contains(t, string(body), line)
		}
		assert.NotContains(t, string(body), "total", "structured content is among the texts, where it is to be shown")
		if failed { // such a result holds nothing but text
			assert.Contains(t, string(body), "[1 image/png block, 1 kB, not forwardable to this model]")
		} else {
			assert.Contains(t, string(body), `"type":"image"`)
		}
	}
}
