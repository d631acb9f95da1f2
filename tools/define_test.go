package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

func ExampleDefine() {
	type args struct {
		Item string `json:"item" jsonschema:"as on the menu"`
		Size string `json:"size,omitempty"`
	}
	brew := Define(
		loop.Spec{Name: "brew", Description: "Brew a coffee.", Kind: loop.KindOther},
		func(_ context.Context, in args) (loop.Preview, error) {
			return loop.Preview{Title: "Brew a " + in.Item}, nil
		},
		func(_ context.Context, in args, _ loop.Job, _ func(loop.Block)) (loop.Result, error) {
			return loop.Result{Content: loop.Blocks{loop.Text{Text: in.Item + " is ready"}}}, nil
		},
	)
	ctx := context.Background()
	call := loop.NewCall("", "brew", `{"item":"latte"}`)
	p, err := brew.Preview(ctx, call)
	fmt.Println(p.Title, err)
	res, err := brew.Run(ctx, loop.Job{Call: call, Preview: p}, nil)
	fmt.Println(loop.TextOf(res.Content), err)
	_, err = brew.Preview(ctx, loop.NewCall("", "brew", `{"item":1}`))
	fmt.Println(err)
	fmt.Println(string(brew.Spec().Schema))
	// Output:
	// Brew a latte <nil>
	// latte is ready <nil>
	// bad arguments: "item" must be a string, not 1
	// {"type":"object","properties":{"item":{"type":"string","description":"as on the menu"},"size":{"type":"string"}},"required":["item"],"additionalProperties":false}
}

func TestArgumentsAreStrict(t *testing.T) {
	t.Parallel()
	b := setUp(t, map[string]string{"a.txt": "x"})
	for _, c := range []struct{ tool, args, want string }{
		{"read", `{}`, `"path" is missing: it is required and must be a string`},
		{"read", `{"path":null}`, `"path" is missing: it is required and must be a string`},
		{"read", `{"path":7}`, `"path" must be a string, not 7`},
		{"read", `{"path":"a.txt","line":1.5}`, `"line" must be an integer, not 1.5`},
		{"read", `{"path":"a.txt","line":"1"}`, `"line" must be an integer, not a string`},
		{"read", `{"path":"a.txt","line":99999999999999999999}`, `"line" must be an integer, not 99999999999999999999`},
		{"read", `{"path":"a.txt","offset":1}`, `unknown argument "offset": the arguments are path, line, limit`},
		{"read", `[1]`, "the arguments must be a JSON object, not an array"},
		{"read", `{"path":`, "the arguments are not valid JSON (unexpected end of JSON input); send one JSON object"},
		{"edit", `{"path":"a.txt","edits":{}}`, `"edits" must be an array, not an object`},
		{"edit", `{"path":"a.txt","edits":[{"old":"x"}]}`, `"edits[0].new" is missing: it is required and must be a string`},
		{
			"edit", `{"path":"a.txt","edits":[{"old":"x","new":"y","every":true}]}`,
			`unknown argument "edits[0].every": the arguments are old, new, all`,
		},
		{"edit", `{"path":"a.txt","edits":["x"]}`, `"edits[0]" must be an object, not a string`},
		{"search", `{"pattern":"x","ignore_case":"yes"}`, `"ignore_case" must be a boolean, not a string`},
	} {
		_, err := b.try(t, c.tool, c.args)
		require.ErrorIs(t, err, ErrArguments, "%s %s", c.tool, c.args)
		assert.Equal(t, "bad arguments: "+c.want, err.Error(), "%s %s", c.tool, c.args)
	}
	assert.Equal(t, []string{"x"}, b.do(t, "read", `{"path":"a.txt","line":null}`))
}

func TestSpecsAreSmallAndRight(t *testing.T) {
	t.Parallel()
	b := setUp(t, nil)
	type brief struct {
		Kind               loop.Kind
		ReadOnly, Parallel bool
		Default            loop.Verdict
	}
	got := map[string]brief{}
	size := 0
	for _, tool := range b.tools {
		s := tool.Spec()
		got[s.Name] = brief{s.Kind, s.ReadOnly, s.Parallel, s.Default}
		require.NotEmpty(t, s.Description)
		require.LessOrEqual(t, len(s.Description), 450, s.Name)
		require.True(t, json.Valid(s.Schema))
		size += len(s.Description) + len(s.Schema)
	}
	free := brief{loop.KindSearch, true, true, loop.Allow}
	assert.Equal(t, map[string]brief{
		"read": {loop.KindRead, true, true, loop.Allow}, "list": free, "search": free,
		"write": {Kind: loop.KindEdit}, "edit": {Kind: loop.KindEdit}, "terminal": {Kind: loop.KindExecute},
		"plan": {Kind: loop.KindThink, ReadOnly: true, Default: loop.Allow},
		"ask":  {Kind: loop.KindOther, ReadOnly: true, Default: loop.Allow},
	}, got)
	assert.Less(t, size, 4500, "the first request has a budget")
}
