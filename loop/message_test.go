package loop

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Arguments as providers send them (C042): nothing is an empty object, an object in a string is that object, and the
// rest is told to the model. History has valid JSON in every case.
func TestNewCall(t *testing.T) {
	t.Parallel()
	const not = "the arguments must be a JSON object, not "
	for args, want := range map[string]struct{ args, bad string }{
		"":                   {`{}`, ""},
		" \n":                {`{}`, ""},
		"null":               {`{}`, ""},
		"{}":                 {`{}`, ""},
		` { "a" : [1, 2] } `: {`{"a":[1,2]}`, ""},
		`"{}"`:               {`{}`, ""},
		`"{\"a\": 1}"`:       {`{"a":1}`, ""},
		`"\"{}\""`:           {`{}`, ""},
		`""`:                 {`{}`, ""},
		`"null"`:             {`{}`, ""},
		`{"a":"<\u0000>"}`:   {`{"a":"<\u0000>"}`, ""},
		`{"n":1e400}`:        {`{"n":1e400}`, ""},
		"[]":                 {`{}`, not + "an array"},
		`"text"`:             {`{}`, not + "a string"},
		`"[]"`:               {`{}`, not + "a string"},
		"5":                  {`{}`, not + "a number"},
		"-1e9":               {`{}`, not + "a number"},
		"true":               {`{}`, not + "a boolean"},
		"false":              {`{}`, not + "a boolean"},
		`{"a":`:              {`{}`, "the arguments are not valid JSON (unexpected end of JSON input); send one JSON object"},
		`{}{}`:               {`{}`, "the arguments are not valid JSON (invalid character '{' after top-level value); send one JSON object"},
	} {
		assert.Equal(t, Call{Ref: "r", Tool: "x", Args: json.RawMessage(want.args), Bad: want.bad}, NewCall("r", "x", args), "%q", args)
	}
	deep := NewCall("", "x", strings.Repeat(`{"a":`, 20_000)+"1"+strings.Repeat("}", 20_000))
	assert.Contains(t, deep.Bad, "not valid JSON")
}

func FuzzNewCall(f *testing.F) {
	for _, s := range []string{"", "null", "{}", `"\"{}\""`, "[1]", "\xff", `{"a":"\xff"}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, args string) {
		c := NewCall("", "x", args)
		var object map[string]json.RawMessage
		if err := json.Unmarshal(c.Args, &object); err != nil || object == nil {
			t.Fatalf("%q became %q", args, c.Args)
		}
		if c.Bad != "" && string(c.Args) != "{}" {
			t.Fatalf("%q is bad and became %q", args, c.Args)
		}
		if _, _, err := EncodeInput(Replied{Message: Message{Calls: []Call{c}}}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestErrors(t *testing.T) {
	t.Parallel()
	require.EqualError(t, &Failure{Kind: FailAuth, Message: "Set a key."}, "Set a key.")
	require.EqualError(t, &NeedsAnswer{Question: Question{Message: "Which size?"}}, "the tool asks: Which size?")
	assert.Equal(t, Result{CallID: "c", Content: Blocks{Text{Text: "no"}}, Failed: true}, Failed("c", "no"))
}
