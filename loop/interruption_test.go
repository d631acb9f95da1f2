package loop

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A turn that is interrupted settles what was only proposed, and leaves to the next prompt what the person was asked and
// what may have been done.
func TestInterruptedCalls(t *testing.T) {
	t.Parallel()
	const id = "call_1_1"
	question := Question{ID: "q", Message: "Which size?", State: json.RawMessage(`{"round":1}`)}
	fleeting := question
	fleeting.Fleeting = true
	for name, row := range map[string]struct {
		tool   string
		before []Input // up to the interruption
		left   string  // the effect by which the next prompt comes back to the call; "" where it has settled
		says   string  // of the settled call
	}{
		"previewing":       {tool: "edit", says: "Interrupted before it ran."},
		"asked about":      {tool: "edit", before: []Input{previewed(id)}, left: "AskUser " + id},
		"about to run":     {tool: "sell", before: []Input{previewed(id)}, says: "Interrupted before it ran."},
		"running":          {tool: "sell", before: []Input{previewed(id), Intended{CallID: id, Key: "k"}}, left: "CheckCall " + id},
		"reading":          {tool: "look", before: []Input{previewed(id), Intended{CallID: id}}, left: "RunTool " + id},
		"running by a key": {tool: "order", before: []Input{previewed(id), Intended{CallID: id, Key: "k"}}, left: "RunTool " + id},
		"without its key":  {tool: "order", before: []Input{previewed(id), Intended{CallID: id}}, left: "CheckCall " + id},
		"asking":           {tool: "sell", before: []Input{previewed(id), Intended{CallID: id}, Asked{CallID: id, Question: question}}, left: "AskForm " + id},
		"asking in vain": {
			tool: "sell", before: []Input{previewed(id), Intended{CallID: id}, Asked{CallID: id, Question: fleeting}},
			says: "Interrupted while it waited for an answer; who asked is gone. It may have taken effect in part: check before doing it again.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := beginWith(t, Configured{Specs: append(specs(), Spec{Name: "order", Default: Allow, Keyed: true})})
			p.in(prompt("hi"), calls(row.tool))
			p.in(row.before...)
			effects := names(p.in(Interrupted{}))
			assert.Equal(t, "EndTurn cancelled", effects[len(effects)-1])
			if row.left == "" {
				assert.True(t, p.s.Idle())
				assert.Equal(t, row.says, p.settledOnce()[id])
				require.NoError(t, paired(p.s.History()))
				return
			}
			require.True(t, p.s.Interrupted())
			p.ignores(Interrupted{}, Cancelled{}, Compacting{}, Decided{CallID: id, Outcome: AllowOnce}, finished(id, "late"), Answered{CallID: id}, says("x"))
			p.in(Noted{Content: prompt("/mcp").Content, Text: "none"}) // commands are answered all the same
			assert.Equal(t, []string{"UserText", row.left}, names(p.in(prompt("go on"))))
			switch row.left {
			case "AskUser " + id:
				p.in(Decided{CallID: id, Outcome: RejectOnce})
			case "CheckCall " + id:
				assert.Equal(t, []string{"AskUser " + id}, names(p.in(Checked{CallID: id, Finding: FoundUnknown})))
				p.in(Decided{CallID: id, Outcome: RejectOnce})
			case "AskForm " + id:
				assert.Equal(t, []string{"RunTool " + id}, names(p.in(Answered{CallID: id, Answer: Answer{Action: AnswerAccept}})))
				p.in(finished(id, "done"))
			default:
				p.in(finished(id, "done"))
			}
			p.settledOnce()
			h := p.s.History()
			require.Len(t, h, 4)
			assert.Equal(t, []Role{RoleUser, RoleAssistant, RoleTool, RoleUser}, []Role{h[0].Role, h[1].Role, h[2].Role, h[3].Role})
			require.NoError(t, paired(h))
			p.in(says("ok"))
			assert.True(t, p.s.Idle())
			p.replays()
		})
	}
}

// A call in doubt runs again only by the person's word: no rule allows it, and a yes is not remembered.
func TestACallInDoubt(t *testing.T) {
	t.Parallel()
	const id = "call_1_1"
	p := beginWith(t, Configured{Specs: specs(), Rules: Rules{{Tool: "sell", Verdict: Allow}}})
	p.in(prompt("hi"), calls("sell"), previewed(id), Intended{CallID: id, Key: "k"}, Interrupted{})
	asks := only[AskUser](p.in(prompt("go on"), Checked{CallID: id, Finding: FoundUnknown}))
	require.Len(t, asks, 1)
	assert.Equal(t, []Option{{Kind: AllowOnce, Name: "Run it again"}, {Kind: RejectOnce, Name: "Leave it"}}, asks[0].Options)
	assert.Equal(t, "May be done already: "+id, asks[0].Preview.Title)
	assert.NotEmpty(t, asks[0].Preview.Caution)
	assert.Equal(t, Blocks{Text{Text: maybeDone}}, asks[0].Preview.Display, "the person reads what it is about")

	t.Run("interrupted once more", func(t *testing.T) {
		t.Parallel()
		s, _ := Step(p.s, Interrupted{})
		s, effects := Step(s, prompt("and on"))
		assert.Equal(t, []string{"UserText", "CheckCall " + id}, names(effects))
		s, _ = Step(s, Interrupted{})
		assert.True(t, s.Interrupted(), "a look is no answer")
	})
	t.Run("left", func(t *testing.T) {
		t.Parallel()
		for _, o := range []Outcome{RejectOnce, RejectAlways, AllowAlways, Dismissed, Unavailable, "odd"} {
			s, effects := Step(p.s, Decided{CallID: id, Outcome: o})
			assert.Equal(t, []string{"ToolFinished " + id, "AskModel"}, names(effects), "%s", o)
			assert.Contains(t, TextOf(s.History()[2].Results[0].Content), "whether it took effect is unknown")
			assert.Empty(t, s.Added())
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		s, _ := Step(p.s, Cancelled{})
		assert.Equal(t, inDoubt, TextOf(s.History()[2].Results[0].Content), "it is not said to have never run")
	})
	t.Run("run again", func(t *testing.T) {
		t.Parallel()
		s, effects := Step(p.s, Decided{CallID: id, Outcome: AllowOnce})
		assert.Equal(t, []string{"Intend " + id}, names(effects), "its intent is logged once more")
		s, effects = Step(s, Intended{CallID: id, Key: "k"})
		assert.Equal(t, []string{"ToolStarted " + id, "RunTool " + id}, names(effects))
		s, _ = Step(s, finished(id, "done"))
		assert.Equal(t, "done", TextOf(s.History()[2].Results[0].Content))
	})
}

// Prompts that come before the open calls are done follow them, in their order, also when the turn is cancelled.
func TestPromptsWaitForOpenCalls(t *testing.T) {
	t.Parallel()
	const id = "call_1_1"
	p := begin(t)
	p.in(prompt("one"), calls("edit", "look"), previewed(id), Interrupted{})
	assert.Equal(t, "Interrupted before it ran.", p.s.slots[1].result.Content[0].(Text).Text)
	p.in(prompt("two"), Interrupted{})
	p.in(prompt("three"))
	p.ignores(prompt("four"))
	p.in(Cancelled{})
	var texts []string
	for _, m := range p.s.History() {
		texts = append(texts, string(m.Role)+" "+TextOf(m.Content))
	}
	assert.Equal(t, []string{"user one", "assistant ", "tool ", "user two", "user three"}, texts)
	assert.Equal(t, 3, p.s.Turn())
	p.settledOnce()
	p.in(prompt("five"), calls("look"))
	assert.Equal(t, "call_4_1", p.s.Unsettled()[0].ID)
	p.in(Interrupted{})
	p.replays()
}

// An interruption between calls ends the turn like a cancel.
func TestInterruptedElsewhere(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.ignores(Interrupted{})
	p.in(prompt("hi"), Streamed{Kind: ChunkText, Text: "half"})
	assert.Equal(t, []string{"EndTurn cancelled"}, names(p.in(Interrupted{})))
	assert.Equal(t, "half", TextOf(p.s.History()[1].Content))
	p.in(Compacting{})
	assert.Equal(t, []Effect{Emit{CompactionFinished{ID: "compaction_1", Status: CompactionCancelled}}}, p.in(Interrupted{}))
	assert.True(t, p.s.Idle())
	p.replays()
}

// Where its tool can tell what has become of a call in doubt, nobody is asked: what is done has its result, and what is
// not is run by the word that allowed it.
func TestACallThatIsLookedInto(t *testing.T) {
	t.Parallel()
	const id = "call_1_1"
	begun := func(t *testing.T) *session {
		t.Helper()
		p := begin(t)
		p.in(prompt("hi"), calls("edit"), previewed(id), Decided{CallID: id, Outcome: AllowOnce}, Intended{CallID: id, Key: "k"}, Interrupted{})
		return p
	}
	t.Run("what it is asked", func(t *testing.T) {
		t.Parallel()
		p := begun(t)
		looks := only[CheckCall](p.in(prompt("go on")))
		require.Len(t, looks, 1)
		assert.Equal(t, Job{Call: looks[0].Job.Call, Preview: Preview{Title: id}, Key: "k"}, looks[0].Job)
		p.ignores(Decided{CallID: id, Outcome: AllowOnce}, finished(id, "late"), Intended{CallID: id}, Checked{CallID: "call_1_2", Finding: FoundDone})
	})
	for name, row := range map[string]struct {
		config  *Configured // that holds by the next prompt
		checked Checked
		leads   []string
		says    string
	}{
		"done": {
			checked: Checked{CallID: id, Finding: FoundDone, Result: Result{Content: Blocks{Text{Text: "was done"}}}},
			leads:   []string{"ToolFinished " + id, "AskModel"}, says: "was done",
		},
		"not done":  {checked: Checked{CallID: id, Finding: FoundUndone}, leads: []string{"Intend " + id}},
		"not clear": {checked: Checked{CallID: id, Finding: FoundUnknown}, leads: []string{"AskUser " + id}},
		"nothing":   {checked: Checked{CallID: id}, leads: []string{"AskUser " + id}},
		"forbidden meanwhile": {
			config:  &Configured{Specs: specs(), Rules: Rules{{Tool: "edit", Verdict: Deny}}},
			checked: Checked{CallID: id, Finding: FoundUndone},
			leads:   []string{"ToolFinished " + id, "AskModel"},
			says:    "Not run: a permission rule forbids it. Do not try the same in another way.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begun(t)
			if row.config != nil {
				p.in(*row.config)
			}
			p.in(prompt("go on"))
			assert.Equal(t, row.leads, names(p.in(row.checked)))
			switch row.leads[0] {
			case "Intend " + id:
				assert.Equal(t, []string{"ToolStarted " + id, "RunTool " + id}, names(p.in(Intended{CallID: id, Key: "k"})))
				p.in(finished(id, "done"))
			case "AskUser " + id:
				p.in(Decided{CallID: id, Outcome: AllowOnce}, Intended{CallID: id, Key: "k"}, finished(id, "done"))
			default:
				assert.Equal(t, row.says, TextOf(p.s.History()[2].Results[0].Content))
			}
			p.settledOnce()
			require.NoError(t, paired(p.s.History()))
			p.in(says("ok"))
			p.replays()
		})
	}
	t.Run("found not done, and interrupted again", func(t *testing.T) {
		t.Parallel()
		p := begun(t)
		p.in(prompt("go on"), Checked{CallID: id, Finding: FoundUndone}, Interrupted{})
		assert.Equal(t, "Interrupted before it ran.", p.settledOnce()[id])
		assert.True(t, p.s.Idle())
	})
}

// What a tool says of itself now counts as well as what it said when it was called.
func TestACallInDoubtOfAChangedTool(t *testing.T) {
	t.Parallel()
	const id = "call_1_1"
	keyed, plain := Spec{Name: "order", Default: Allow, Keyed: true}, Spec{Name: "order", Default: Allow}
	look := Spec{Name: "order", Default: Allow, ReadOnly: true}
	for name, row := range map[string]struct {
		before, now Spec
		leads       string
	}{
		"honours keys":           {keyed, keyed, "RunTool " + id},
		"honours keys no longer": {keyed, plain, "CheckCall " + id},
		"honours keys only now":  {plain, keyed, "CheckCall " + id},
		"reads no longer":        {look, plain, "CheckCall " + id},
		"is gone":                {keyed, Spec{Name: "other"}, "CheckCall " + id},
		"read, and is gone":      {look, Spec{Name: "other"}, "RunTool " + id},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := beginWith(t, Configured{Specs: []Spec{row.before}})
			p.in(prompt("hi"), calls("order"), previewed(id), Intended{CallID: id, Key: "k"}, Interrupted{}, Configured{Specs: []Spec{row.now}})
			effects := p.in(prompt("go on"))
			assert.Equal(t, row.leads, names(effects)[1])
			if row.now.Name == "other" && !row.before.ReadOnly {
				p.in(Checked{CallID: id, Finding: FoundUnknown}, Decided{CallID: id, Outcome: AllowOnce})
				assert.Equal(t, toolGone, p.settledOnce()[id], "what cannot be run again may be done all the same")
			}
		})
	}
}
