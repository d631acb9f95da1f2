package loop

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestChangedTools is what becomes of an always-answer when its tool is no longer what it was.
func TestChangedTools(t *testing.T) {
	t.Parallel()
	was := Fingerprint{Description: "d1", Schema: "s1", Hints: "h1"}
	for name, row := range map[string]struct {
		before, after Fingerprint
		answer        Outcome
		asked         bool   // the second call is put to the person
		what          string // as the question says
	}{
		"the same":                {was, was, AllowAlways, false, ""},
		"a description":           {was, Fingerprint{"d2", "s1", "h1"}, AllowAlways, true, "its description"},
		"a schema":                {was, Fingerprint{"d1", "s2", "h1"}, AllowAlways, true, "its schema"},
		"hints":                   {was, Fingerprint{"d1", "s1", "h2"}, AllowAlways, true, "its hints"},
		"two of them":             {was, Fingerprint{"d1", "s2", "h2"}, AllowAlways, true, "its schema and its hints"},
		"all":                     {was, Fingerprint{"d2", "s2", "h2"}, AllowAlways, true, "its description, its schema and its hints"},
		"one of ours, as ever":    {Fingerprint{}, Fingerprint{}, AllowAlways, false, ""},
		"one of ours no more":     {Fingerprint{}, was, AllowAlways, true, "where it comes from"},
		"one of ours by now":      {was, Fingerprint{}, AllowAlways, true, "where it comes from"},
		"allowed once":            {was, Fingerprint{"d2", "s1", "h1"}, AllowOnce, true, ""},
		"rejected for ever":       {was, Fingerprint{"d2", "s2", "h2"}, RejectAlways, false, ""},
		"rejected once, the same": {was, was, RejectOnce, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := Spec{Name: "shop__buy", Schema: json.RawMessage(`{}`), Fingerprint: row.before}
			p := beginWith(t, Configured{Specs: []Spec{spec}})
			p.in(prompt("buy"), calls("shop__buy"))
			preview := Preview{Title: "Buy"}
			effects := p.in(Previewed{CallID: "call_1_1", Preview: preview})
			require.IsType(t, AskUser{}, effects[len(effects)-1])
			assert.Equal(t, preview, effects[len(effects)-1].(AskUser).Preview) //nolint:forcetypeassert // as required above
			p.in(Decided{CallID: "call_1_1", Outcome: row.answer})
			if row.answer == AllowAlways || row.answer == AllowOnce {
				p.in(Intended{CallID: "call_1_1"}, Finished{Result: Result{CallID: "call_1_1"}})
			}
			p.in(says("Done."))

			spec.Fingerprint = row.after
			p.in(Configured{Specs: []Spec{spec}}, prompt("again"), calls("shop__buy"))
			preview.Display = Blocks{Text{Text: "a menu"}}
			effects = p.in(Previewed{CallID: "call_2_1", Preview: preview})
			i := slices.IndexFunc(effects, func(e Effect) bool { _, ok := e.(AskUser); return ok })
			require.Equal(t, row.asked, i >= 0, "%#v", effects)
			if i < 0 {
				return
			}
			ask := effects[i].(AskUser) //nolint:forcetypeassert // that is how it was found
			if row.what == "" {
				assert.Equal(t, preview, ask.Preview)
				return
			}
			text := "The tool shop__buy has changed since you allowed it: " + row.what + ". Look at it again before you allow it."
			assert.Equal(t, Blocks{Text{Text: text}, Text{Text: "a menu"}}, ask.Preview.Display)
			assert.Contains(t, ask.Options, Option{AllowAlways, "Always allow shop__buy in this session"})
			require.Len(t, p.s.Added(), 1)
			assert.Equal(t, row.what, p.s.Added()[0].Changed(spec))

			p.in(Decided{CallID: "call_2_1", Outcome: AllowAlways})
			require.Len(t, p.s.Added(), 1, "the new rule stands in the place of the old one")
			assert.Equal(t, row.after, p.s.Added()[0].Fingerprint)
			assert.Empty(t, p.s.Added()[0].Changed(spec))
			effects = p.in(Intended{CallID: "call_2_1"})
			assert.Equal(t, preview, effects[len(effects)-1].(RunTool).Job.Preview, "the tool gets its own preview") //nolint:forcetypeassert // it runs
			p.in(Finished{Result: Result{CallID: "call_2_1"}}, calls("shop__buy"))
			assert.IsType(t, Intend{}, p.in(Previewed{CallID: "call_2_2", Preview: preview})[1], "allowed from then on")
			p.replays()
		})
	}
}

// TestRulesAndFingerprints: rules of the configuration name a tool, whatever it says of itself.
func TestRulesAndFingerprints(t *testing.T) {
	t.Parallel()
	spec := Spec{Name: "shop__buy", Fingerprint: Fingerprint{Schema: "s"}}
	for _, row := range []struct {
		rule Rule
		want Verdict
	}{
		{Rule{Tool: "shop__buy", Verdict: Allow}, Allow},
		{Rule{Tool: "*", Verdict: Allow}, Allow},
		{Rule{Tool: "shop__buy", Verdict: Allow, Fingerprint: Fingerprint{Schema: "s"}}, Allow},
		{Rule{Tool: "shop__buy", Verdict: Allow, Fingerprint: Fingerprint{Schema: "t"}}, Ask},
		{Rule{Tool: "shop__buy", Exact: true, Verdict: Allow}, Ask},
		{Rule{Tool: "shop__buy", Exact: true, Verdict: Deny}, Deny},
		{Rule{Tool: "shop__buy", Verdict: Deny, Fingerprint: Fingerprint{Schema: "t"}}, Deny},
	} {
		got, _ := Rules{row.rule}.Decide(spec, Preview{})
		assert.Equal(t, row.want, got, "%#v", row.rule)
	}
	assert.Empty(t, Rule{Tool: "other", Exact: true, Verdict: Allow}.Changed(spec))
}

// TestOldLogs: what earlier versions wrote knows of no fingerprints, and is read.
func TestOldLogs(t *testing.T) {
	t.Parallel()
	in, err := DecodeInput("Configured", json.RawMessage(`{"specs":[{"name":"a","description":"d","schema":{}}],"rules":[{"tool":"a","verdict":"allow"}]}`))
	require.NoError(t, err)
	assert.Equal(t, Configured{
		Specs: []Spec{{Name: "a", Description: "d", Schema: json.RawMessage(`{}`)}}, Rules: Rules{{Tool: "a", Verdict: Allow}},
	}, in)
	kind, body, err := EncodeInput(in)
	require.NoError(t, err)
	assert.Equal(t, "Configured", kind)
	assert.NotContains(t, string(body), "fingerprint")
}
