package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A person sees what the result has; a program gets it as MCP writes it.
func TestResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		block      loop.Block
		text, json string
	}{
		"text":          {loop.Text{Text: "a\nb <c>\n"}, "a\nb <c>", `{"type":"text","text":"a\nb <c>\n"}`},
		"an image":      {loop.Image{Data: []byte("png"), MIME: "image/png"}, "[image, image/png, 3 bytes]", `{"type":"image","data":"cG5n","mimeType":"image/png"}`},
		"a sound":       {loop.Audio{Data: []byte("wav!"), MIME: "audio/wav"}, "[audio, audio/wav, 4 bytes]", `{"type":"audio","data":"d2F2IQ==","mimeType":"audio/wav"}`},
		"a link":        {loop.Link{URI: "a://b", Name: "n m"}, `[link to "n m", a://b]`, `{"type":"resource_link","uri":"a://b","name":"n m"}`},
		"a resource":    {loop.Resource{URI: "a://b", MIME: "text/plain", Text: "t"}, "t", `{"type":"resource","resource":{"uri":"a://b","mimeType":"text/plain","text":"t"}}`},
		"binary":        {loop.Resource{URI: "a://b", Blob: []byte("xy")}, `[resource a://b, "", 2 bytes]`, `{"type":"resource","resource":{"uri":"a://b","blob":"eHk="}}`},
		"an other":      {loop.Other{Type: "later", Raw: json.RawMessage(`{"type":"later","n":10000000000000001}`)}, `{"type":"later","n":10000000000000001}`, `{"type":"later","n":10000000000000001}`},
		"an odd sender": {loop.Image{MIME: "\x1b[2Jx"}, `[image, "\x1b[2Jx", 0 bytes]`, `{"type":"image","data":null,"mimeType":"\u001b[2Jx"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := loop.Result{Content: loop.Blocks{c.block}, Raw: json.RawMessage(`{"n":10000000000000001}`)}
			var out strings.Builder
			require.NoError(t, printResult(console{out: &out}, r, false))
			assert.Equal(t, c.text+"\n", out.String())
			out.Reset()
			r.Failed = true
			var exit *exitCode
			require.ErrorAs(t, printResult(console{out: &out}, r, true), &exit)
			assert.Equal(t, exitError, exit.code)
			assert.Equal(t, 1, strings.Count(out.String(), "\n"), "one line")
			assert.Contains(t, out.String(), `"structuredContent":{"n":10000000000000001},"isError":true`)
			var back struct{ Content []json.RawMessage }
			require.NoError(t, json.Unmarshal([]byte(out.String()), &back))
			require.Len(t, back.Content, 1)
			assert.JSONEq(t, c.json, string(back.Content[0]))
		})
	}
}
