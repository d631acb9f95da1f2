package loop

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAllowedCall(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"))
	reply := Replied{Message: Message{Content: Blocks{Text{Text: "Let me see."}}, Calls: []Call{NewCall("r1", "sell", `{"n":1}`)}}}
	call := Call{ID: "call_1_1", Ref: "r1", Tool: "sell", Args: json.RawMessage(`{"n":1}`)}
	assert.Equal(t, []Effect{
		Emit{Event: AgentText{MessageID: "msg_1_1", Text: "Let me see."}},
		Emit{Event: ToolProposed{Call: call, Title: "sell", Kind: KindOther}},
		PreviewCall{Call: call},
	}, p.in(reply))
	assert.Empty(t, reply.Message.Calls[0].ID, "the input is left as it was")
	assert.Equal(t, []Call{call}, p.s.Unsettled())

	preview := Preview{Title: "Sell one", Digests: []Digest{{Path: "/a"}}}
	assert.Equal(t, []Effect{
		Emit{Event: ToolPreviewed{CallID: "call_1_1", Preview: preview}},
		Intend{Call: call},
	}, p.in(Previewed{CallID: "call_1_1", Preview: preview}))
	assert.Equal(t, []Effect{
		Emit{Event: ToolStarted{CallID: "call_1_1"}},
		RunTool{Job: Job{Call: call, Preview: preview, Key: "k"}},
	}, p.in(Intended{CallID: "call_1_1", Key: "k"}))
	assert.Equal(t, []Effect{
		Emit{Event: ToolProgress{CallID: "call_1_1", Part: Blocks{Text{Text: "50%"}}}},
	}, p.in(Progressed{CallID: "call_1_1", Part: Blocks{Text{Text: "50%"}}}))

	result := Result{CallID: "call_1_1", Content: Blocks{Text{Text: "sold"}}, Raw: json.RawMessage(`{"ok":true}`)}
	history := []Message{
		user("hi"),
		{Role: RoleAssistant, ID: "msg_1_1", Content: reply.Message.Content, Calls: []Call{call}},
		{Role: RoleTool, Results: []Result{result}},
	}
	assert.Equal(t, []Effect{
		Emit{Event: ToolFinished{Result: result}},
		AskModel{Request: Request{System: "Be brief.", Tools: specs(), Messages: history}},
	}, p.in(Finished{Result: result}))
	assert.Empty(t, p.s.Unsettled())
	p.in(says("Sold."))
	p.replays()
}

func TestProposedTitles(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"), calls("edit", "look", "nobody"))
	assert.Equal(t, []Event{
		ToolProposed{Call: Call{ID: "call_1_1", Ref: "ref", Tool: "edit", Args: json.RawMessage(`{}`)}, Title: "Edit a file", Kind: KindEdit},
		ToolProposed{Call: Call{ID: "call_1_2", Ref: "ref", Tool: "look", Args: json.RawMessage(`{}`)}, Title: "look", Kind: KindRead},
		ToolProposed{Call: Call{ID: "call_1_3", Ref: "ref", Tool: "nobody", Args: json.RawMessage(`{}`)}, Title: "nobody", Kind: KindOther},
	}, p.events[1:4])
}

// A call that cannot even be previewed is settled with what is wrong, and the model is asked again.
func TestUnfitCalls(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		specs []Spec
		call  Call
		want  string
	}{
		"unknown tool": {specs()[:2], NewCall("", "buy", "{}"), `There is no tool "buy". The tools are: look, query.`},
		"no tools":     {nil, NewCall("", "buy", "{}"), `There is no tool "buy": there are no tools.`},
		"no name":      {specs()[:1], NewCall("", "", "{}"), `There is no tool "". The tools are: look.`},
		"not found yet": {
			[]Spec{{Name: "look"}, {Name: SearchTool}},
			NewCall("", "buy", "{}"),
			`There is no tool "buy". The tools are: look, tool_search. tool_search finds more of them: what it finds is listed from your next reply on.`,
		},
		"bad arguments": {
			specs(), NewCall("", "sell", "[]"), "Not run: the arguments must be a JSON object, not an array.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := beginWith(t, Configured{Specs: row.specs})
			p.in(prompt("hi"))
			effects := p.in(Replied{Message: Message{Calls: []Call{row.call}}})
			assert.Equal(t, []string{"ToolProposed call_1_1", "ToolFinished call_1_1", "AskModel"}, names(effects))
			sent := only[AskModel](effects)[0].Request.Messages
			assert.Equal(t, []Result{Failed("call_1_1", row.want)}, sent[len(sent)-1].Results)
			require.NoError(t, paired(sent))
			p.replays()
		})
	}
}

func TestPreviewThatFails(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"), calls("sell"))
	effects := p.in(Previewed{CallID: "call_1_1", Failure: "no such file"})
	assert.Equal(t, []string{"ToolFinished call_1_1", "AskModel"}, names(effects))
	assert.Equal(t, map[string]string{"call_1_1": "no such file"}, p.settledOnce())
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	allowed, denied := []string{"Intend call_1_1"}, []string{"ToolFinished call_1_1", "AskModel"}
	rule := func(v Verdict) Rules {
		return Rules{{Tool: "edit", Prefix: []string{"/a"}, Exact: true, Verdict: v, Why: "you chose so in this session"}}
	}
	for name, row := range map[string]struct {
		decided Decided
		want    []string
		text    string
		rules   Rules
	}{
		"allow once":    {Decided{Outcome: AllowOnce}, allowed, "", nil},
		"allow always":  {Decided{Outcome: AllowAlways}, allowed, "", rule(Allow)},
		"reject once":   {Decided{Outcome: RejectOnce}, denied, refused, nil},
		"reject always": {Decided{Outcome: RejectAlways}, denied, refused, rule(Deny)},
		"dismissed": {
			Decided{Outcome: Dismissed},
			denied,
			"Not run: the user closed the question without an answer. Ask in words what they want.", nil,
		},
		"unavailable": {
			Decided{Outcome: Unavailable, Why: "no terminal"},
			denied,
			"Not run: this needs the user's permission, and nobody can be asked here (no terminal). " +
				"Do not try the same in another way; say what you could not do.", nil,
		},
		"unavailable, no reason": {
			Decided{Outcome: Unavailable},
			denied,
			"Not run: this needs the user's permission, and nobody can be asked here. " +
				"Do not try the same in another way; say what you could not do.", nil,
		},
		"nothing":     {Decided{}, denied, refused, nil},
		"nonsense":    {Decided{Outcome: "yes please"}, denied, refused, nil},
		"other words": {Decided{Outcome: "ALLOW_ONCE"}, denied, refused, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begin(t)
			p.in(prompt("hi"), calls("edit"))
			preview := Preview{Subjects: []Subject{{Words: []string{"/a"}}}}
			asked := only[AskUser](p.in(Previewed{CallID: "call_1_1", Preview: preview}))
			require.Equal(t, []AskUser{{
				Call:    Call{ID: "call_1_1", Ref: "ref", Tool: "edit", Args: json.RawMessage(`{}`)},
				Preview: preview,
				Options: []Option{
					{AllowOnce, "Allow once"},
					{AllowAlways, "Always allow edit of /a in this session"},
					{RejectOnce, "Reject"},
					{RejectAlways, "Always reject edit of /a in this session"},
				},
			}}, asked)
			row.decided.CallID = "call_1_1"
			effects := p.in(row.decided)
			assert.Equal(t, row.want, names(effects))
			if row.text != "" {
				assert.Equal(t, map[string]string{"call_1_1": row.text}, p.settledOnce())
				p.ignores(Intended{CallID: "call_1_1"}, finished("call_1_1", "ran anyway"))
			}
			assert.Equal(t, row.rules, p.s.Rules())
			p.ignores(row.decided, Decided{CallID: "call_1_1", Outcome: AllowAlways})
			p.replays()
		})
	}
}

// An answer counts only if it was among the options.
func TestAnswersThatWereNotOffered(t *testing.T) {
	t.Parallel()
	for _, outcome := range []Outcome{AllowAlways, RejectAlways} {
		p := begin(t)
		p.in(prompt("hi"), calls("edit"))
		effects := p.in(Previewed{CallID: "call_1_1", Preview: Preview{Caution: "it pipes into a shell"}})
		assert.Equal(t, []Option{{AllowOnce, "Allow once"}, {RejectOnce, "Reject"}}, only[AskUser](effects)[0].Options)
		assert.Equal(t, []string{"ToolFinished call_1_1", "AskModel"}, names(p.in(Decided{CallID: "call_1_1", Outcome: outcome})))
		assert.Empty(t, p.s.Rules())
		p.replays()
	}
}

// A rule that asks cannot be answered away, so always allowing is not offered; always rejecting is.
func TestAskRuleIsAskedEachTime(t *testing.T) {
	t.Parallel()
	p := beginWith(t, Configured{Specs: specs(), Rules: Rules{{Tool: "sell", Prefix: []string{"big"}, Verdict: Ask}}})
	p.in(prompt("hi"), calls("sell"))
	effects := p.in(touching("call_1_1", "big"))
	assert.Equal(t, []Option{
		{AllowOnce, "Allow once"},
		{RejectOnce, "Reject"},
		{RejectAlways, "Always reject sell of big in this session"},
	}, only[AskUser](effects)[0].Options)
	p.in(Decided{CallID: "call_1_1", Outcome: RejectAlways}, calls("sell"))
	assert.Equal(t, []string{"ToolPreviewed call_1_2", "ToolFinished call_1_2", "AskModel"}, names(p.in(touching("call_1_2", "big"))))
}

// Rules that come while the question is open win over its answer.
func TestForbiddenWhileAskedAbout(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"), calls("edit"), previewed("call_1_1"))
	p.in(Configured{Specs: specs(), Rules: Rules{{Tool: "*", Verdict: Deny, Why: "plan mode"}}})
	assert.Equal(t, []string{"ToolFinished call_1_1", "AskModel"}, names(p.in(Decided{CallID: "call_1_1", Outcome: AllowOnce})))
	assert.Equal(t, map[string]string{
		"call_1_1": "Not run: a permission rule forbids it (plan mode). Do not try the same in another way.",
	}, p.settledOnce())
}

func TestDeniedByRule(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"), calls("nuke", "sell"))
	effects := p.in(previewed("call_1_1"))
	assert.Equal(t, []string{"ToolPreviewed call_1_1", "ToolFinished call_1_1", "PreviewCall call_1_2"}, names(effects))
	p.ignores(Decided{CallID: "call_1_1", Outcome: AllowOnce}, Intended{CallID: "call_1_1"})
	p.in(ran("call_1_2")...)
	assert.Equal(t, map[string]string{
		"call_1_1": "Not run: a permission rule forbids it. Do not try the same in another way.",
		"call_1_2": "done call_1_2",
	}, p.settledOnce())
	p.replays()
}

func TestOrder(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"))
	// look look sell look query: the first two side by side, sell alone behind them, then the last two.
	effects := p.in(calls("look", "look", "sell", "look", "query"))
	assert.Equal(t, []string{"PreviewCall call_1_1", "PreviewCall call_1_2"}, names(effects)[5:])
	assert.Equal(t, []string{"ToolPreviewed call_1_2", "Intend call_1_2"}, names(p.in(previewed("call_1_2"))))
	assert.Equal(t, []string{"ToolStarted call_1_2", "RunTool call_1_2"}, names(p.in(Intended{CallID: "call_1_2"})))
	assert.Equal(t, []string{"ToolFinished call_1_2"}, names(p.in(finished("call_1_2", "second"))))
	p.in(previewed("call_1_1"), Intended{CallID: "call_1_1"})
	assert.Equal(t, []string{"ToolFinished call_1_1", "PreviewCall call_1_3"}, names(p.in(finished("call_1_1", "first"))),
		"a serial call waits for the parallel ones before it")
	p.in(previewed("call_1_3"), Intended{CallID: "call_1_3"})
	assert.Equal(t, []string{"ToolFinished call_1_3", "PreviewCall call_1_4", "PreviewCall call_1_5"},
		names(p.in(finished("call_1_3", "third"))), "parallel calls wait for the serial one before them")
	assert.Equal(t, []string{"ToolPreviewed call_1_5", "AskUser call_1_5"}, names(p.in(previewed("call_1_5"))))
	p.in(previewed("call_1_4"), Intended{CallID: "call_1_4"}, finished("call_1_4", "fourth"))
	p.in(Decided{CallID: "call_1_5", Outcome: AllowOnce}, Intended{CallID: "call_1_5"})
	effects = p.in(finished("call_1_5", "fifth"))
	assert.Equal(t, []string{"ToolFinished call_1_5", "AskModel"}, names(effects))
	messages := only[AskModel](effects)[0].Request.Messages
	var results []string
	for _, r := range messages[len(messages)-1].Results {
		results = append(results, r.CallID+" "+TextOf(r.Content))
	}
	assert.Equal(t, []string{"call_1_1 first", "call_1_2 second", "call_1_3 third", "call_1_4 fourth", "call_1_5 fifth"}, results)
	p.settledOnce()
	p.replays()
}

func TestSerialCallsWaitForASerialOne(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"))
	assert.Equal(t, []string{"PreviewCall call_1_1"}, names(p.in(calls("edit", "sell", "nobody", "look")))[5:],
		"an unknown tool in the middle holds nobody up and is settled at once")
	p.in(previewed("call_1_1"))
	assert.Equal(t, []string{"ToolFinished call_1_1", "PreviewCall call_1_2"}, names(p.in(Decided{CallID: "call_1_1", Outcome: RejectOnce})))
	assert.Equal(t, []string{"ToolFinished call_1_2", "PreviewCall call_1_4"}, names(p.in(Previewed{CallID: "call_1_2", Failure: "no"})))
	p.in(ran("call_1_4")...)
	assert.Len(t, p.settledOnce(), 4)
	p.replays()
}

// Questions of permission come one at a time, and what the answer decides is not asked about again.
func TestOneQuestionAtATime(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		first Outcome
		want  []string
	}{
		"allow once":    {AllowOnce, []string{"Intend call_1_1", "AskUser call_1_2"}},
		"allow always":  {AllowAlways, []string{"Intend call_1_1", "Intend call_1_2", "AskUser call_1_3"}},
		"reject once":   {RejectOnce, []string{"ToolFinished call_1_1", "AskUser call_1_2"}},
		"reject always": {RejectAlways, []string{"ToolFinished call_1_1", "ToolFinished call_1_2", "AskUser call_1_3"}},
		"dismissed":     {Dismissed, []string{"ToolFinished call_1_1", "AskUser call_1_2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begin(t)
			p.in(prompt("hi"), calls("query", "query", "query"))
			assert.Equal(t, []string{"ToolPreviewed call_1_1", "AskUser call_1_1"}, names(p.in(touching("call_1_1", "a"))))
			assert.Equal(t, []string{"ToolPreviewed call_1_2"}, names(p.in(touching("call_1_2", "a"))))
			assert.Equal(t, []string{"ToolPreviewed call_1_3"}, names(p.in(touching("call_1_3", "b"))))
			p.ignores(Decided{CallID: "call_1_2", Outcome: AllowOnce}, Decided{CallID: "call_1_3", Outcome: AllowAlways})
			assert.Equal(t, row.want, names(p.in(Decided{CallID: "call_1_1", Outcome: row.first})))
			p.in(Cancelled{})
			assert.Len(t, p.settledOnce(), 3)
			p.replays()
		})
	}
}

// A call that the rules allow does not wait for a question about one before it.
func TestAllowedBesideAQuestion(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"), calls("query", "look"), previewed("call_1_1"))
	assert.Equal(t, []string{"ToolPreviewed call_1_2", "Intend call_1_2"}, names(p.in(previewed("call_1_2"))))
}

func TestAlwaysHoldsInLaterTurns(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"), calls("edit"), touching("call_1_1", "/a"), Decided{CallID: "call_1_1", Outcome: AllowAlways},
		Intended{CallID: "call_1_1"}, finished("call_1_1", "x"), says("ok"), Compacted{Summary: "all done"},
		Configured{Specs: specs(), System: "anew"})
	p.in(prompt("more"), calls("edit", "edit", "edit"))
	assert.Equal(t, []string{"ToolPreviewed call_2_1", "Intend call_2_1"}, names(p.in(touching("call_2_1", "/a"))))
	p.in(Intended{CallID: "call_2_1"}, finished("call_2_1", "x"))
	assert.Equal(t, []string{"ToolPreviewed call_2_2", "AskUser call_2_2"}, names(p.in(touching("call_2_2", "/b"))), "another file")
	p.in(Decided{CallID: "call_2_2", Outcome: RejectOnce})
	assert.Equal(t, []string{"ToolPreviewed call_2_3", "AskUser call_2_3"}, names(p.in(touching("call_2_3", "/a", "/b"))), "one more file")
	p.replays()
}

func TestQuestionsOfATool(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"), calls("sell"), previewed("call_1_1"), Intended{CallID: "call_1_1", Key: "k"})
	q1 := Question{ID: "q1", Message: "Which size?", Schema: json.RawMessage(`{}`), State: json.RawMessage(`"one"`)}
	q2 := Question{ID: "q2", Message: "Sure?", State: json.RawMessage(`"two"`)}
	call := p.s.Unsettled()[0]
	assert.Equal(t, []Effect{AskForm{Call: call, Question: q1}}, p.in(Asked{CallID: "call_1_1", Question: q1}))
	p.ignores(finished("call_1_1", "early"), Progressed{CallID: "call_1_1"}, Asked{CallID: "call_1_1", Question: q2}, Intended{CallID: "call_1_1"})

	a1 := Answer{ID: "q1", Action: AnswerAccept, Content: json.RawMessage(`{"size":"small"}`), State: json.RawMessage(`"one"`)}
	job := Job{Call: call, Preview: Preview{Title: "call_1_1"}, Key: "k", Answers: []Answer{a1}}
	assert.Equal(t, []Effect{RunTool{Job: job}},
		p.in(Answered{CallID: "call_1_1", Answer: Answer{ID: "forged", Action: AnswerAccept, Content: a1.Content, State: json.RawMessage(`"forged"`)}}),
		"the id and the state are the question's, whatever came back")
	p.ignores(Answered{CallID: "call_1_1", Answer: a1})

	p.in(Asked{CallID: "call_1_1", Question: q2})
	job.Answers = []Answer{a1, {ID: "q2", Action: AnswerDecline, State: json.RawMessage(`"two"`)}}
	assert.Equal(t, []Effect{RunTool{Job: job}}, p.in(Answered{CallID: "call_1_1", Answer: Answer{Action: AnswerDecline}}))
	p.in(finished("call_1_1", "sold"), says("ok"))
	assert.Equal(t, map[string]string{"call_1_1": "sold"}, p.settledOnce())
	assert.Len(t, slices.DeleteFunc(slices.Clone(p.events), func(e Event) bool { _, ok := e.(ToolStarted); return !ok }), 1,
		"running again is not another start")
	p.replays()
}

// Two answers to the same question lead to two states, each with its own.
func TestAnswersBranch(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"), calls("sell"), previewed("call_1_1"), Intended{CallID: "call_1_1"})
	answer := func(a AnswerAction) Answered { return Answered{CallID: "call_1_1", Answer: Answer{Action: a}} }
	for range 6 {
		p.in(Asked{CallID: "call_1_1"})
		_, yes := Step(p.s, answer(AnswerAccept))
		_, no := Step(p.s, answer(AnswerDecline))
		accepted, declined := only[RunTool](yes)[0].Job.Answers, only[RunTool](no)[0].Job.Answers
		assert.Equal(t, AnswerAccept, accepted[len(accepted)-1].Action)
		assert.Equal(t, AnswerDecline, declined[len(declined)-1].Action)
		p.in(answer(AnswerCancel))
	}
}

func TestQuestionThatCannotBePut(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"), calls("sell", "sell"), previewed("call_1_1"), Intended{CallID: "call_1_1"}, Asked{CallID: "call_1_1"})
	assert.Equal(t, []string{"ToolFinished call_1_1", "PreviewCall call_1_2"}, names(p.in(Answered{CallID: "call_1_1", Failure: "no forms here"})))
	p.in(Cancelled{})
	assert.Equal(t, "no forms here", p.settledOnce()["call_1_1"])
}

// Inputs about a call fit in one stage only; in every other they are late, early or a repetition.
func TestInputsFitOneStage(t *testing.T) {
	t.Parallel()
	const id = "call_1_1"
	all := map[string]Input{
		"Prompted": prompt("again"), "Streamed": Streamed{Kind: ChunkText, Text: "x"}, "Replied": says("x"), "ModelFailed": ModelFailed{},
		"Previewed": previewed(id), "Decided": Decided{CallID: id, Outcome: AllowOnce}, "Intended": Intended{CallID: id},
		"Asked": Asked{CallID: id}, "Answered": Answered{CallID: id}, "Progressed": Progressed{CallID: id},
		"Finished": finished(id, "x"), "Compacted": Compacted{Summary: "x"}, "Cancelled": Cancelled{}, "Interrupted": Interrupted{}, "Compacting": Compacting{},
	}
	p := begin(t)
	for _, stage := range []struct {
		enter []Input
		fits  []string
	}{
		{nil, []string{"Prompted", "Compacting"}},
		{[]Input{prompt("hi")}, []string{"Streamed", "Replied", "ModelFailed", "Cancelled", "Interrupted"}},
		{[]Input{calls("query", "query")}, []string{"Previewed", "Cancelled", "Interrupted"}},                                                           // previewing
		{[]Input{previewed("call_1_2"), previewed(id)}, []string{"Cancelled", "Interrupted"}},                                                           // held
		{[]Input{Decided{CallID: "call_1_2", Outcome: RejectOnce}}, []string{"Decided", "Cancelled", "Interrupted"}},                                    // deciding
		{[]Input{Decided{CallID: id, Outcome: AllowOnce}}, []string{"Intended", "Cancelled", "Interrupted"}},                                            // intending
		{[]Input{Intended{CallID: id}}, []string{"Asked", "Progressed", "Finished", "Cancelled", "Interrupted"}},                                        // running
		{[]Input{Asked{CallID: id}}, []string{"Answered", "Cancelled", "Interrupted"}},                                                                  // answering
		{[]Input{Answered{CallID: id}}, []string{"Asked", "Progressed", "Finished", "Cancelled", "Interrupted"}},                                        // running again
		{[]Input{finished(id, "x")}, []string{"Streamed", "Replied", "ModelFailed", "Cancelled", "Interrupted"}},                                        // the model again
		{[]Input{calls("sell", "sell"), previewed("call_1_3"), Intended{CallID: "call_1_3"}}, []string{"Cancelled", "Interrupted"}},                     // call 1 is of the batch before
		{[]Input{finished("call_1_3", "x"), Previewed{CallID: "call_1_4", Failure: "x"}, says("bye")}, []string{"Compacted", "Prompted", "Compacting"}}, // idle
		{[]Input{Compacting{}}, []string{"Compacted", "ModelFailed", "Cancelled", "Interrupted"}},
	} {
		p.in(stage.enter...)
		var fit []string
		for name, in := range all {
			next, effects := Step(p.s, in)
			if len(effects) > 0 || snapshot(next) != snapshot(p.s) {
				fit = append(fit, name)
			}
		}
		assert.ElementsMatch(t, stage.fits, fit, "after %#v", stage.enter)
		for _, foreign := range []string{"", "call_1_9", "call_0_1", "ref", "\x00"} {
			p.ignores(previewed(foreign), Decided{CallID: foreign, Outcome: AllowOnce}, Intended{CallID: foreign}, Asked{CallID: foreign},
				Answered{CallID: foreign}, Progressed{CallID: foreign}, finished(foreign, "x"))
		}
	}
	p.replays()
}
