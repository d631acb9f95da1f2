package loop

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestModesDecide(t *testing.T) {
	t.Parallel()
	edit := Spec{Name: "edit", Kind: KindEdit}
	run := Spec{Name: "terminal", Kind: KindExecute}
	read := Spec{Name: "read", Kind: KindRead, ReadOnly: true, Default: Allow}
	fetch := Spec{Name: "shop__look", Kind: KindOther, ReadOnly: true}
	denyRm := Rules{{Tool: "terminal", Prefix: []string{"rm"}, Verdict: Deny, Why: "no"}}
	askDocs := Rules{{Tool: "edit", Prefix: []string{"docs"}, Verdict: Ask}}
	words := func(w ...string) Preview { return Preview{Subjects: []Subject{{Words: w}}} }
	for name, c := range map[string]struct {
		mode    string
		rules   Rules
		spec    Spec
		preview Preview
		want    Verdict
	}{
		"ask: an edit asks":                        {ModeAsk, nil, edit, words("a"), Ask},
		"no mode is ask":                           {"", nil, edit, words("a"), Ask},
		"an unknown mode is ask":                   {"yolo", nil, run, words("ls"), Ask},
		"accept-edits: an edit is free":            {ModeAcceptEdits, nil, edit, words("a"), Allow},
		"accept-edits: a command asks":             {ModeAcceptEdits, nil, run, words("ls"), Ask},
		"accept-edits: a rule may still ask":       {ModeAcceptEdits, askDocs, edit, words("docs"), Ask},
		"accept-edits: what needs caution asks":    {ModeAcceptEdits, nil, edit, Preview{Caution: "odd"}, Ask},
		"plan: reading is free":                    {ModePlan, nil, read, words("a"), Allow},
		"plan: a read-only tool follows the rules": {ModePlan, nil, fetch, Preview{}, Ask},
		"plan: no edit":                            {ModePlan, nil, edit, words("a"), Deny},
		"plan: no command, whatever rules allow":   {ModePlan, Rules{{Tool: "terminal", Verdict: Allow}}, run, words("ls"), Deny},
		"bypass: a command is free":                {ModeBypass, nil, run, Preview{Caution: "odd"}, Allow},
		"bypass: a denial holds":                   {ModeBypass, denyRm, run, words("rm", "x"), Deny},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, _ := Step(State{}, Configured{Rules: c.rules})
			s, effects := Step(s, Chosen{Option: OptionMode, Value: c.mode})
			assert.Empty(t, effects)
			verdict, why := s.decide(c.spec, c.preview)
			assert.Equal(t, c.want, verdict)
			if c.want == Deny {
				assert.NotEmpty(t, why, "a denial says why")
			}
		})
	}
}

// A mode that is chosen in mid-turn decides what waits for the person behind another question.
func TestModeInMidTurn(t *testing.T) {
	t.Parallel()
	p := beginWith(t, Configured{Specs: []Spec{{Name: "a", Parallel: true}, {Name: "b", Parallel: true}}})
	p.in(Prompted{Content: Blocks{Text{Text: "go"}}},
		Replied{Message: Message{Calls: []Call{NewCall("", "a", ""), NewCall("", "b", "")}}},
		Previewed{CallID: "call_1_1"}, Previewed{CallID: "call_1_2"})
	effects := p.in(Chosen{Option: OptionMode, Value: ModeBypass})
	assert.Equal(t, []string{"Intend call_1_2"}, names(effects), "the one that was asked about still is")
	assert.Equal(t, ModeBypass, p.s.Option(OptionMode))
	p.in(Cancelled{})
	p.replays()
}

func TestOptionsAreKept(t *testing.T) {
	t.Parallel()
	p := beginWith(t, Configured{})
	p.in(Chosen{Option: "model", Value: "a/b"}, Chosen{Option: "alpha", Value: "1"}, Chosen{Option: "model", Value: "c/d"})
	assert.Equal(t, "c/d", p.s.Option("model"))
	assert.Equal(t, "1", p.s.Option("alpha"))
	assert.Empty(t, p.s.Option("other"))
	p.replays()
}

func TestTitles(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 20)
	for name, c := range map[string]struct {
		content Blocks
		want    string
	}{
		"its first words":       {Blocks{Text{Text: "Fix the  test\nplease"}}, "Fix the test"},
		"the first line of any": {Blocks{Image{}, Text{Text: "\n \n\tHello\u202e\x1b[2J "}}, "Hello [2J"},
		"cut between words":     {Blocks{Text{Text: long}}, strings.TrimSpace(long[:60]) + "…"},
		"cut in a long word":    {Blocks{Text{Text: strings.Repeat("é", 200)}}, strings.Repeat("é", 60) + "…"},
		"no words":              {Blocks{Text{Text: " \n"}, Image{}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, TitleOf(c.content))
		})
	}
	s, _ := Step(State{}, Prompted{Content: Blocks{Text{Text: "One"}}})
	assert.Equal(t, "One", s.Title())
	s, effects := Step(s, Replied{Stop: StopEndTurn})
	assert.Equal(t, []Effect{Emit{Event: TitleChanged{Title: "One"}}, EndTurn{Reason: StopEndTurn}}, effects)
	s, _ = Step(s, Prompted{Content: Blocks{Text{Text: "Two"}}})
	_, effects = Step(s, Replied{Stop: StopEndTurn})
	assert.Equal(t, []Effect{EndTurn{Reason: StopEndTurn}}, effects, "it is told once")
}

func TestPlansAndUsageAreTold(t *testing.T) {
	t.Parallel()
	p := beginWith(t, Configured{Specs: []Spec{{Name: "plan", Default: Allow}}})
	entries := []PlanEntry{{Content: "look", Status: "pending", Priority: "high"}}
	p.in(Prompted{Content: Blocks{Text{Text: "go"}}},
		Replied{Message: Message{Calls: []Call{NewCall("", "plan", "")}}, Usage: Usage{Input: 7}},
		Previewed{CallID: "call_1_1"}, Intended{CallID: "call_1_1"})
	effects := p.in(Finished{Result: Result{CallID: "call_1_1", Display: Blocks{Plan{Entries: entries}}}})
	require.Len(t, effects, 3)
	assert.Equal(t, Emit{Event: PlanChanged{Entries: entries}}, effects[0])
	assert.Contains(t, p.events, UsageChanged{Usage: Usage{Input: 7}})
	p.in(Cancelled{})
	p.replays()
}

// A note is told and replayed, and the model never hears of it.
func TestNotes(t *testing.T) {
	t.Parallel()
	p := beginWith(t, Configured{})
	note := Noted{MessageID: "u", Content: Blocks{Text{Text: "/help"}}, Text: "There is help."}
	effects := p.in(note)
	assert.Equal(t, []Effect{
		Emit{Event: UserText{MessageID: "u", Part: Text{Text: "/help"}}},
		Emit{Event: AgentText{MessageID: "note_1", Text: "There is help."}},
	}, effects)
	assert.Equal(t, 1, p.s.Notes())
	assert.Empty(t, p.s.History())
	p.in(Prompted{Content: Blocks{Text{Text: "go"}}})
	p.ignores(note)
	p.replays()
}

// A prompt's trace context goes with every request and job of its turn, and into nothing that the model reads.
func TestTrace(t *testing.T) {
	t.Parallel()
	p := beginWith(t, Configured{Specs: []Spec{{Name: "a", Default: Allow}}})
	trace := Trace{"traceparent": "00-1"}
	asked := only[AskModel](p.in(Prompted{Content: Blocks{Text{Text: "go"}}, Trace: trace}))
	assert.Equal(t, trace, asked[0].Request.Trace)
	p.in(Replied{Message: Message{Calls: []Call{NewCall("", "a", "")}}}, Previewed{CallID: "call_1_1"})
	jobs := only[RunTool](p.in(Intended{CallID: "call_1_1"}))
	assert.Equal(t, trace, jobs[0].Job.Trace)
	p.in(Cancelled{})
	asked = only[AskModel](p.in(Prompted{Content: Blocks{Text{Text: "on"}}}))
	assert.Empty(t, asked[0].Request.Trace, "the next prompt has its own")
}

func TestRevoking(t *testing.T) {
	t.Parallel()
	p := beginWith(t, Configured{Specs: []Spec{{Name: "sell"}, {Name: "buy"}}})
	p.in(Prompted{Content: Blocks{Text{Text: "go"}}},
		Replied{Message: Message{Calls: []Call{NewCall("", "sell", ""), NewCall("", "buy", "")}}},
		Previewed{CallID: "call_1_1"}, Decided{CallID: "call_1_1", Outcome: AllowAlways}, Intended{CallID: "call_1_1"})
	p.ignores(Revoked{Rule: 0})
	p.in(Cancelled{})
	require.Len(t, p.s.Added(), 1)
	p.ignores(Revoked{Rule: 1}, Revoked{Rule: -1})
	p.in(Revoked{Rule: 0})
	assert.Empty(t, p.s.Added())
	p.replays()
}
