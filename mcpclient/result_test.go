package mcpclient

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// Structured content that only repeats what the content has does not reach the model twice: servers wrap a file's text, or
// the very list of blocks with its images, into an object. What says more is kept.
func TestStructuredContentIsNotRepeated(t *testing.T) {
	t.Parallel()
	text, image := loop.Text{Text: "one\ntwo\n"}, loop.Image{Data: []byte("png"), MIME: "image/png"}
	const content = `{"type":"text","text":"one\ntwo\n"},{"type":"image","data":"cG5n","mimeType":"image/png"}`
	for name, c := range map[string]struct {
		structured string
		more       loop.Blocks
	}{
		"a text in an object":       {`{"content":"one\ntwo\n"}`, nil},
		"the list in an object":     {`{"content":[` + content + `]}`, nil},
		"both":                      {`{"text":"one\ntwo\n","content":[` + content + `]}`, nil},
		"the text itself":           {`"one\ntwo\n"`, nil},
		"another text":              {`{"content":"one"}`, loop.Blocks{loop.Text{Text: `{"content":"one"}`}}},
		"a text and more":           {`{"content":"one\ntwo\n","lines":2}`, loop.Blocks{loop.Text{Text: `{"content":"one\ntwo\n","lines":2}`}}},
		"part of the list":          {`{"content":[{"type":"text","text":"one\ntwo\n"}]}`, loop.Blocks{loop.Text{Text: `{"content":[{"type":"text","text":"one\ntwo\n"}]}`}}},
		"an empty object":           {`{}`, loop.Blocks{loop.Text{Text: `{}`}}},
		"an object with no content": {`{"content":null}`, loop.Blocks{loop.Text{Text: `{"content":null}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := decodeResult(json.RawMessage(`{"content":[` + content + `],"structuredContent":` + c.structured + `}`))
			require.NoError(t, err)
			assert.Equal(t, append(loop.Blocks{text, image}, c.more...), got.Content)
			assert.JSONEq(t, c.structured, string(got.Raw), "programs get it all the same")
		})
	}
}

// Where there is no text, models are shown the structured content in its place, image data and all; so there is one.
func TestRepeatedImagesHaveAText(t *testing.T) {
	t.Parallel()
	const content = `[{"type":"image","data":"cG5n","mimeType":"image/png"}]`
	got, err := decodeResult(json.RawMessage(`{"content":` + content + `,"structuredContent":{"content":` + content + `}}`))
	require.NoError(t, err)
	assert.Equal(t, loop.Blocks{
		loop.Image{Data: []byte("png"), MIME: "image/png"}, loop.Text{Text: "(The structured content is the same.)"},
	}, got.Content)
}

// A tool that wants to be run as a task is not offered: each call of it would fail.
func TestToolsThatNeedATask(t *testing.T) {
	t.Parallel()
	c := &Client{server: Server{Name: "s"}, log: Options{}.withDefaults().Log}
	const tool = `{"name":"t","inputSchema":{"type":"object"},"execution":{"taskSupport":"`
	_, err := c.tool(json.RawMessage(tool + `required"}}`))
	require.ErrorContains(t, err, "task")
	for _, support := range []string{"optional", "forbidden", ""} {
		_, err := c.tool(json.RawMessage(tool + support + `"}}`))
		require.NoError(t, err, support)
	}
	_, err = c.tool(json.RawMessage(`{"name":"t","inputSchema":{"type":"object"},"execution":7}`))
	require.NoError(t, err, "what it says of its execution must be understood only where it counts")
}
