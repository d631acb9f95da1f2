//go:build unix

package mcpclient

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// toolOf reads a tool of a server that is there in name only.
func toolOf(t *testing.T, trusted bool, raw string) *Tool {
	t.Helper()
	o, _ := logged()
	c := &Client{server: Server{Name: "shop", Trusted: trusted}, log: o.Log}
	tool, err := c.tool(json.RawMessage(raw))
	require.NoError(t, err)
	return tool
}

// TestHints: what a tool says of itself counts for servers that the user trusts, and there only where it makes sense.
func TestHints(t *testing.T) {
	t.Parallel()
	type want struct {
		reads, again bool
	}
	for hints, expected := range map[string]want{
		`{}`:                    {false, false},
		`{"readOnlyHint":true}`: {true, false},
		`{"readOnlyHint":true,"destructiveHint":false}`:  {true, false},
		`{"readOnlyHint":true,"destructiveHint":true}`:   {false, false},
		`{"destructiveHint":false}`:                      {false, false},
		`{"idempotentHint":true}`:                        {false, true},
		`{"idempotentHint":true,"destructiveHint":true}`: {false, true},
		`null`: {false, false},
	} {
		raw := `{"name":"x","inputSchema":{},"annotations":` + hints + `}`
		trusted, other := toolOf(t, true, raw).Spec(), toolOf(t, false, raw).Spec()
		assert.Equal(t, expected, want{trusted.ReadOnly, trusted.Keyed}, hints)
		assert.Equal(t, expected.reads, trusted.Default == loop.Allow, hints)
		assert.Equal(t, want{}, want{other.ReadOnly, other.Keyed}, hints)
		assert.Equal(t, loop.Ask, other.Default, hints)
	}
}

// TestFingerprints: each part of a tool that the person looks at before allowing it has its own.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	of := func(raw string) loop.Fingerprint { return toolOf(t, false, raw).Spec().Fingerprint }
	base := of(`{"name":"x","title":"t","description":"d","inputSchema":{"type":"object","maximum":12345678901234567890},"annotations":{"readOnlyHint":true,"title":"a"}}`)
	same := of(`{"annotations":{"title":"a", "readOnlyHint":true},"inputSchema":{"maximum":12345678901234567890,"type":"object"},"description":"d","title":"t","name":"x","_meta":{"n":1},"icons":[]}`)
	assert.Equal(t, base, same, "order and what is not shown are no difference")
	for part, raw := range map[string]string{
		"title":       `{"name":"x","title":"t2","description":"d","inputSchema":{"type":"object","maximum":12345678901234567890},"annotations":{"readOnlyHint":true,"title":"a"}}`,
		"description": `{"name":"x","title":"t","description":"d2","inputSchema":{"type":"object","maximum":12345678901234567890},"annotations":{"readOnlyHint":true,"title":"a"}}`,
		"schema":      `{"name":"x","title":"t","description":"d","inputSchema":{"type":"object","maximum":12345678901234567891},"annotations":{"readOnlyHint":true,"title":"a"}}`,
		"hints":       `{"name":"x","title":"t","description":"d","inputSchema":{"type":"object","maximum":12345678901234567890},"annotations":{"readOnlyHint":false,"title":"a"}}`,
		"no hints":    `{"name":"x","title":"t","description":"d","inputSchema":{"type":"object","maximum":12345678901234567890}}`,
	} {
		got := of(raw)
		assert.Equal(t, part == "title" || part == "description", got.Description != base.Description, part)
		assert.Equal(t, part == "schema", got.Schema != base.Schema, part)
		assert.Equal(t, strings.HasSuffix(part, "hints"), got.Hints != base.Hints, part)
	}
	moved := of(`{"name":"x","title":"td","description":"","inputSchema":{}}`)
	assert.NotEqual(t, of(`{"name":"x","title":"t","description":"d","inputSchema":{}}`).Description, moved.Description)
}

// TestOutputSchemas: structured content is held against the tool's own output schema.
func TestOutputSchemas(t *testing.T) {
	t.Parallel()
	tool := func(schema string) *Tool {
		return toolOf(t, false, `{"name":"x","inputSchema":{},"outputSchema":`+schema+`}`)
	}
	total := `{"type":"object","properties":{"total":{"type":"integer"},"ids":{"type":"array","uniqueItems":true}},"required":["total"]}`
	for name, c := range map[string]struct {
		schema, result string
		wrong          string // a part of what the model is told; empty where it fits
	}{
		"it fits":                {total, `{"content":[],"structuredContent":{"total":9}}`, ""},
		"big integers":           {total, `{"structuredContent":{"total":12345678901234567890,"ids":[9007199254740993,9007199254740992]}}`, ""},
		"the same twice":         {total, `{"structuredContent":{"total":1,"ids":[9007199254740993,9007199254740993]}}`, "uniqueItems"},
		"another type":           {total, `{"content":[{"type":"text","text":"nine"}],"structuredContent":{"total":"nine"}}`, `at total: type: nine has type "string", want "integer"`},
		"a part of an integer":   {total, `{"structuredContent":{"total":9.5}}`, "at total: type"},
		"something is missing":   {total, `{"structuredContent":{}}`, `missing properties: ["total"]`},
		"nothing":                {total, `{"content":[{"type":"text","text":"nine"}]}`, "it has no structured content"},
		"null":                   {total, `{"structuredContent":null}`, `type: null has type "null", want "object"`},
		"a failure need not fit": {total, `{"content":[{"type":"text","text":"sold out"}],"isError":true}`, ""},
		"any JSON":               {`{"type":"array","items":{"type":"number"}}`, `{"structuredContent":[1,2.5]}`, ""},
		"null as promised":       {`{"type":"null"}`, `{"structuredContent":null}`, ""},
		"no schema":              {`null`, `{"content":[{"type":"text","text":"hi"}]}`, ""},
		"true":                   {`true`, `{"content":[{"type":"text","text":"hi"}]}`, ""},
		"one that is none":       {`7`, `{"content":[{"type":"text","text":"hi"}]}`, ""},
		"one that is far away":   {`{"$ref":"https://example.com/x"}`, `{"content":[{"type":"text","text":"hi"}]}`, ""},
		"a number beyond all":    {total, `{"structuredContent":{"total":1e999}}`, "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plain, err := decodeResult(json.RawMessage(c.result))
			require.NoError(t, err)
			got := tool(c.schema).conform(plain)
			if c.wrong == "" {
				assert.Equal(t, plain, got)
				return
			}
			assert.True(t, got.Failed)
			assert.Equal(t, plain.Raw, got.Raw)
			require.Len(t, got.Content, len(plain.Content)+1)
			assert.Equal(t, plain.Content, got.Content[1:], "the data is shown all the same")
			text := loop.TextOf(got.Content[:1])
			assert.Contains(t, text, "The result does not fit the output schema of shop__x: ")
			assert.Contains(t, text, c.wrong)
			assert.Contains(t, text, "The call may have taken effect")
		})
	}
}

// TestOutputSchemaInUse goes through a server, digits and all.
func TestOutputSchemaInUse(t *testing.T) {
	t.Parallel()
	for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s.Tools = []string{`{"name":"give","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}}`}
			give := tools(t, open(t, s.server(t), Options{}))["give"]
			good := run(t, give, `{"result":{"content":[],"structuredContent":{"id":12345678901234567890}}}`)
			assert.Equal(t, loop.Result{
				CallID: "call_1_1", Raw: json.RawMessage(`{"id":12345678901234567890}`),
				Content: loop.Blocks{loop.Text{Text: `{"id":12345678901234567890}`}},
			}, good)
			bad := run(t, give, `{"result":{"content":[],"structuredContent":{"id":"x"}}}`)
			assert.True(t, bad.Failed)
			assert.Equal(t, loop.Blocks{loop.Text{Text: `{"id":"x"}`}}, bad.Content[1:])
		})
	}
}
