package loop

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func everyBlock() Blocks {
	old := ""
	return Blocks{
		Text{Text: "a <b> & \u2028 ☕"},
		Text{},
		Plan{Entries: []PlanEntry{{Content: "look", Status: "pending", Priority: "high"}}},
		Thought{Text: "hm", Provider: "p", State: json.RawMessage(`{"sig":"<&>"}`)},
		Thought{},
		Image{Data: []byte{0, 255}, MIME: "image/png", URI: "file:///a"},
		Audio{Data: []byte{1}, MIME: "audio/wav"},
		Link{URI: "file:///a", Name: "a", Title: "A", Description: "d", MIME: "text/plain", Size: 1 << 40},
		Resource{URI: "u", MIME: "m", Text: "t"},
		Resource{URI: "u", Blob: []byte{1}},
		Resource{URI: "u", Blob: []byte{}}, // an empty blob is a blob
		Diff{Path: "/a", New: "n"},
		Diff{Path: "/a", Old: &old, New: "n"}, // an empty file is not a new one
		Terminal{ID: "t"},
		Other{Type: "hologram", Raw: json.RawMessage(`{"type":"hologram","depth":3}`)},
	}
}

// everyInput has each kind of input twice, as empty and as full as can be.
func everyInput() []Input {
	preview := Preview{
		Title: "t", Locations: []Location{{Path: "/a", Line: 3}, {Path: "/b"}},
		Subjects: []Subject{{Words: []string{"env", "x"}, Also: [][]string{{"x"}}}},
		Display:  everyBlock(), Digests: []Digest{{Path: "/a", Sum: "00"}, {Path: "/b"}}, Caution: "c",
	}
	call := Call{ID: "call_1_1", Ref: "r", Tool: "look", Args: json.RawMessage(`{"n":10000000000000000001}`), Bad: "b"}
	return []Input{
		Configured{},
		Configured{
			Specs: []Spec{{
				Name: "n", Title: "t", Description: "d", Schema: json.RawMessage(`{}`), Kind: KindEdit,
				ReadOnly: true, Parallel: true, Keyed: true, Default: Deny,
				Fingerprint: Fingerprint{Description: "d", Schema: "s", Hints: "h"},
			}, {Name: "m", Schema: json.RawMessage(`true`)}},
			Rules: Rules{
				{Tool: "*", Prefix: []string{"a"}, Exact: true, Verdict: Allow, Why: "w", Match: []string{"a"}, Miss: []string{"b"}},
				{Tool: "n", Verdict: Ask, Fingerprint: Fingerprint{Hints: "h"}},
				{Tool: "n", Verdict: Deny},
			},
			Limits: Limits{Requests: 1, Repeats: 2}, System: "s",
		},
		Chosen{Option: "mode", Value: "plan"},
		Noted{MessageID: "m", Content: everyBlock(), Text: "<ok>"},
		Revoked{Rule: 2},
		Prompted{Content: Blocks{}},
		Prompted{MessageID: "m", Content: everyBlock(), Context: everyBlock()},
		Streamed{},
		Streamed{Kind: ChunkThought, Text: " <x>\n"},
		Replied{},
		Replied{
			Message: Message{Role: RoleAssistant, ID: "m", Content: everyBlock(), Calls: []Call{call, NewCall("", "x", "")}},
			Stop:    StopMaxTokens, Usage: Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4},
		},
		ModelFailed{},
		ModelFailed{Failure: Failure{Kind: FailTooLong, Message: "m"}},
		Previewed{},
		Previewed{CallID: "c", Preview: preview, Failure: "f"},
		Decided{},
		Decided{CallID: "c", Outcome: AllowAlways, Why: "w"},
		Intended{},
		Intended{CallID: "c", Key: "k"},
		Checked{},
		Checked{CallID: "c", Finding: FoundDone, Result: Result{CallID: "c", Content: everyBlock()}},
		Asked{},
		Asked{CallID: "c", Question: Question{ID: "q", Message: "m", Schema: json.RawMessage(`{}`), URL: "u", Fleeting: true, State: json.RawMessage(`"s"`)}},
		Answered{},
		Answered{CallID: "c", Answer: Answer{ID: "q", Action: AnswerAccept, Content: json.RawMessage(`{}`), State: json.RawMessage(`"s"`)}, Failure: "f"},
		Progressed{Part: Blocks{}},
		Progressed{CallID: "c", Part: everyBlock()},
		Finished{},
		Finished{Result: Result{CallID: "c", Content: everyBlock(), Display: everyBlock(), Raw: json.RawMessage(`[1]`), Failed: true}},
		Compacting{},
		Compacting{MessageID: "u", Content: everyBlock()},
		Compacted{},
		Compacted{Keep: 3, Context: everyBlock(), Summary: "s"},
		Cancelled{},
		Interrupted{},
		Unknown{Kind: "Teleported", Body: json.RawMessage(`{"to": "<moon>"}`)},
	}
}

func TestCodecRoundTrip(t *testing.T) {
	t.Parallel()
	kinds := map[string]bool{}
	for _, in := range everyInput() {
		kind, body, err := EncodeInput(in)
		require.NoError(t, err)
		kinds[kind] = true
		got, err := DecodeInput(kind, body)
		require.NoError(t, err, "%s", body)
		assert.Equal(t, in, got, "%s", body)
		assert.NotContains(t, string(body), `\u003c`, "people read this")
		assert.NotContains(t, string(body), "\n")
	}
	assert.Len(t, kinds, 21, "every kind of input, and one that nobody knows")
}

func TestCodecForms(t *testing.T) {
	t.Parallel()
	for want, in := range map[string]Input{
		`Prompted {"messageId":"u","content":[{"type":"text","text":"hi"}]}`: prompt("hi"),
		`Streamed {"kind":"text","text":"a"}`:                                Streamed{Kind: ChunkText, Text: "a"},
		`Intended {"call":"c"}`:                                              Intended{CallID: "c"},
		`Previewed {"call":"c"}`:                                             Previewed{CallID: "c"},
		`Cancelled {}`:                                                       Cancelled{},
		`Progressed {"call":"c","part":[{"type":"thought"}]}`:                Progressed{CallID: "c", Part: Blocks{Thought{}}},
		`Configured {"specs":[{"name":"x","description":"","schema":{}}],"rules":[{"tool":"x","verdict":"ask"}]}`: Configured{
			Specs: []Spec{{Name: "x", Schema: json.RawMessage(`{}`)}}, Rules: Rules{{Tool: "x"}},
		},
		`Finished {"result":{"call":"c","content":[{"type":"other","kind":"x","raw":{"type":"x"}}]}}`: Finished{
			Result: Result{CallID: "c", Content: Blocks{Other{Type: "x", Raw: json.RawMessage(`{"type":"x"}`)}}},
		},
	} {
		kind, body, err := EncodeInput(in)
		require.NoError(t, err)
		assert.Equal(t, want, kind+" "+string(body))
	}
}

func TestDecodeForeign(t *testing.T) {
	t.Parallel()
	in, err := DecodeInput("Teleported", json.RawMessage(`{"to":  "moon"}`))
	require.NoError(t, err)
	assert.Equal(t, Unknown{Kind: "Teleported", Body: json.RawMessage(`{"to":  "moon"}`)}, in)

	in, err = DecodeInput("Streamed", json.RawMessage(`{"kind":"text","text":"a","later":{"x":1}}`))
	require.NoError(t, err)
	assert.Equal(t, Streamed{Kind: ChunkText, Text: "a"}, in, "fields of a later build")

	in, err = DecodeInput("Prompted", json.RawMessage(`{"content":[{"type":"hologram","depth":3},{"type":"text","text":"a"}]}`))
	require.NoError(t, err)
	want := Prompted{Content: Blocks{Other{Type: "hologram", Raw: json.RawMessage(`{"type":"hologram","depth":3}`)}, Text{Text: "a"}}}
	assert.Equal(t, want, in)
	kind, body, err := EncodeInput(in)
	require.NoError(t, err)
	again, err := DecodeInput(kind, body)
	require.NoError(t, err)
	assert.Equal(t, want, again)

	in, err = DecodeInput("Prompted", json.RawMessage(`{"content":null}`))
	require.NoError(t, err)
	assert.Equal(t, Prompted{}, in)
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for kind, bodies := range map[string][]string{
		"Streamed":   {``, `{`, `[]`, `"x"`, `{"text":1}`},
		"Prompted":   {`{"content":{}}`, `{"content":[5]}`, `{"content":[{"type":3}]}`, `{"content":[{"type":"text","text":[]}]}`, `{"content":[{"type":"image","data":"*"}]}`},
		"Configured": {`{"rules":[{"tool":"x","verdict":"maybe"}]}`, `{"rules":[{"tool":"x","verdict":1}]}`},
	} {
		for _, body := range bodies {
			_, err := DecodeInput(kind, json.RawMessage(body))
			assert.ErrorContains(t, err, "decoding a "+kind+" input: ", body)
		}
	}
}

func TestEncodeErrors(t *testing.T) {
	t.Parallel()
	for _, in := range []Input{
		nil, &Prompted{},
		Prompted{Content: Blocks{nil}},
		Prompted{Content: Blocks{&Text{}}},
		Prompted{Content: Blocks{Other{Raw: json.RawMessage(`{`)}}},
		Finished{Result: Result{Raw: json.RawMessage(`nonsense`)}},
	} {
		_, _, err := EncodeInput(in)
		assert.ErrorContains(t, err, "encoding a", "%#v", in)
	}
}

// A log that is read back replays to what was there when it was written.
func TestReplayFromJSON(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(Prompted{MessageID: "u", Content: everyBlock(), Context: everyBlock()}, calls("query", "sell", "nobody"))
	p.in(touching("call_1_1", "a"), Decided{CallID: "call_1_1", Outcome: AllowAlways}, Intended{CallID: "call_1_1", Key: "k"},
		Progressed{CallID: "call_1_1", Part: everyBlock()}, finished("call_1_1", "x"), previewed("call_1_2"), Cancelled{})
	p.in(prompt("more"), Streamed{Kind: ChunkText, Text: "a"}, ModelFailed{Failure: Failure{Kind: FailNetwork, Message: "m"}})
	var read []Input
	for _, in := range p.inputs {
		kind, body, err := EncodeInput(in)
		require.NoError(t, err)
		back, err := DecodeInput(kind, body)
		require.NoError(t, err)
		read = append(read, back)
	}
	s, events := Replay(slices.Values(read))
	assert.Equal(t, p.events, events)
	assert.Equal(t, p.s, s)
}

func TestTextOf(t *testing.T) {
	t.Parallel()
	assert.Empty(t, TextOf(nil))
	assert.Equal(t, "a\nb", TextOf(Blocks{Text{}, Text{Text: "a"}, Thought{Text: "hm"}, Text{Text: "b"}}))
}
