package loop

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func user(text string) Message {
	return Message{Role: RoleUser, ID: "u", Content: Blocks{Text{Text: text}}}
}

func TestPlainTurn(t *testing.T) {
	t.Parallel()
	p := begin(t)
	first := Prompted{MessageID: "u", Content: Blocks{Text{Text: "hi"}, Link{URI: "file:///a", Name: "a"}}, Context: Blocks{Text{Text: "It is Monday."}}}
	sent := Message{Role: RoleUser, ID: "u", Content: Blocks{Text{Text: "It is Monday."}, Text{Text: "hi"}, Link{URI: "file:///a", Name: "a"}}}
	require.Equal(t, []Effect{
		Emit{Event: UserText{MessageID: "u", Part: Text{Text: "hi"}}},
		Emit{Event: UserText{MessageID: "u", Part: Link{URI: "file:///a", Name: "a"}}},
		AskModel{Request: Request{System: "Be brief.", Tools: specs(), Messages: []Message{sent}}},
	}, p.in(first))
	assert.False(t, p.s.Idle())

	require.Equal(t, []Effect{
		Emit{Event: AgentThought{MessageID: "msg_1_1_thought", Text: "hm"}},
		Emit{Event: AgentText{MessageID: "msg_1_1", Text: "hel"}},
		Emit{Event: AgentText{MessageID: "msg_1_1", Text: "lo"}},
	}, p.in(Streamed{Kind: ChunkThought, Text: "hm"}, Streamed{Kind: ChunkText, Text: "hel"}, Streamed{Kind: ChunkText, Text: ""},
		Streamed{Kind: ChunkText, Text: "lo"}))

	content := Blocks{Thought{Text: "hm", Provider: "p", State: json.RawMessage(`"s"`)}, Text{Text: "hello"}}
	usage := Usage{Input: 3, Output: 2}
	require.Equal(t, []Effect{EndTurn{Reason: StopEndTurn}},
		p.in(Replied{Message: Message{Role: RoleAssistant, Content: content}, Stop: StopEndTurn, Usage: usage}))
	assert.True(t, p.s.Idle())
	assert.Equal(t, usage, p.s.Usage())
	assert.Equal(t, 1, p.s.Turn())
	history := []Message{sent, {Role: RoleAssistant, ID: "msg_1_1", Content: content}}
	assert.Equal(t, history, p.s.History())

	effects := p.in(prompt("more"))
	require.Equal(t, AskModel{Request: Request{System: "Be brief.", Tools: specs(), Messages: append(history, user("more"))}}, effects[1])
	p.in(says("ok"))
	assert.Equal(t, 2, p.s.Turn())
	p.replays()
}

func TestReplyThatWasNotStreamed(t *testing.T) {
	t.Parallel()
	reply := Replied{Message: Message{Content: Blocks{Thought{Text: "hm"}, Text{Text: "one"}, Text{}, Image{MIME: "image/png"}, Text{Text: "two"}}}}
	p := begin(t)
	p.in(prompt("hi"))
	assert.Equal(t, []Effect{
		Emit{Event: AgentThought{MessageID: "msg_1_1_thought", Text: "hm"}},
		Emit{Event: AgentText{MessageID: "msg_1_1", Text: "one"}},
		Emit{Event: AgentText{MessageID: "msg_1_1", Text: "two"}},
		EndTurn{Reason: StopEndTurn},
	}, p.in(reply))

	p.in(prompt("hi"), Streamed{Kind: ChunkText, Text: "onetwo"})
	assert.Equal(t, []Effect{
		Emit{Event: AgentThought{MessageID: "msg_2_1_thought", Text: "hm"}}, // only the text had been streamed
		EndTurn{Reason: StopEndTurn},
	}, p.in(reply))
	p.replays()
}

func TestEndsOfAReply(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		reply   Replied
		want    []Effect
		history []Message
	}{
		"an empty reply leaves no message": {
			Replied{Stop: StopEndTurn}, []Effect{EndTurn{Reason: StopEndTurn}}, []Message{user("hi")},
		},
		"a stop that the core does not know is an end": {
			Replied{Stop: "other"}, []Effect{EndTurn{Reason: StopEndTurn}}, []Message{user("hi")},
		},
		"cut text stays": {
			Replied{Message: Message{Content: Blocks{Text{Text: "half"}}}, Stop: StopMaxTokens},
			[]Effect{Emit{Event: AgentText{MessageID: "msg_1_1", Text: "half"}}, EndTurn{Reason: StopMaxTokens}},
			[]Message{user("hi"), {Role: RoleAssistant, ID: "msg_1_1", Content: Blocks{Text{Text: "half"}}}},
		},
		"a refusal takes the turn out of history": {
			Replied{Message: Message{Content: Blocks{Text{Text: "no"}}, Calls: []Call{{Tool: "sell"}}}, Stop: StopRefusal},
			[]Effect{Emit{Event: AgentText{MessageID: "msg_1_1", Text: "no"}}, EndTurn{Reason: StopRefusal}},
			[]Message{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begin(t)
			p.in(prompt("hi"))
			assert.Equal(t, row.want, p.in(row.reply))
			assert.ElementsMatch(t, row.history, p.s.History())
			assert.True(t, p.s.Idle())
			p.replays()
		})
	}
}

func TestRefusalLeavesWhatCameBefore(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"), says("hello"))
	before := p.s.History()
	p.in(prompt("bad"), calls("look"))
	p.in(ran("call_2_1")...)
	assert.Len(t, p.s.History(), 5)
	p.in(Replied{Stop: StopRefusal})
	assert.Equal(t, before, p.s.History())
	p.in(prompt("good"), says("fine"))
	assert.Equal(t, []Message{before[0], before[1], user("good"), {Role: RoleAssistant, ID: "msg_3_1", Content: Blocks{Text{Text: "fine"}}}}, p.s.History())
	p.replays()
}

func TestModelFailure(t *testing.T) {
	t.Parallel()
	failure := Failure{Kind: FailNetwork, Message: "The connection broke."}
	for name, row := range map[string]struct {
		streamed []Input
		left     []Message
	}{
		"at once":         {nil, nil},
		"after a thought": {[]Input{Streamed{Kind: ChunkThought, Text: "hm"}}, nil},
		"in its text": {
			[]Input{Streamed{Kind: ChunkText, Text: "a"}, Streamed{Kind: ChunkThought, Text: "b"}, Streamed{Kind: ChunkThought, Text: "c"}, Streamed{Kind: ChunkText, Text: "d"}},
			[]Message{{Role: RoleAssistant, ID: "msg_1_1", Content: Blocks{Text{Text: "a"}, Thought{Text: "bc"}, Text{Text: "d"}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begin(t)
			p.in(prompt("hi"))
			p.in(row.streamed...)
			assert.Equal(t, []Effect{FailTurn{Failure: failure}}, p.in(ModelFailed{Failure: failure}))
			assert.True(t, p.s.Idle())
			assert.Equal(t, append([]Message{user("hi")}, row.left...), p.s.History())
			p.replays()
		})
	}
}

func TestCutCalls(t *testing.T) {
	t.Parallel()
	cut := calls("sell", "look")
	cut.Stop = StopMaxTokens
	p := begin(t)
	p.in(prompt("hi"))
	effects := p.in(cut)
	assert.Equal(t, []string{
		"ToolProposed call_1_1", "ToolProposed call_1_2", "ToolFinished call_1_1", "ToolFinished call_1_2", "AskModel",
	}, names(effects))
	assert.Contains(t, TextOf(only[AskModel](effects)[0].Request.Messages[2].Results[0].Content), "cut off by its token limit")
	require.NoError(t, paired(p.s.History()))

	p.in(calls("look"))
	p.in(ran("call_1_3")...) // a whole reply between two cut ones
	p.in(cut)
	assert.False(t, p.s.Idle())
	effects = p.in(cut)
	assert.Equal(t, EndTurn{Reason: StopMaxTokens}, effects[len(effects)-1])
	assert.Len(t, p.settledOnce(), 7)
	require.NoError(t, paired(p.s.History()))

	p.in(prompt("again"), cut) // the count is the turn's
	assert.False(t, p.s.Idle())
	p.replays()
}

func TestRequestLimit(t *testing.T) {
	t.Parallel()
	p := beginWith(t, Configured{Specs: specs(), Limits: Limits{Requests: 2}})
	p.in(prompt("hi"), calls("look"))
	p.in(ran("call_1_1")...)
	p.in(calls("look"))
	effects := p.in(ran("call_1_2")...)
	assert.Equal(t, EndTurn{Reason: StopMaxRequests}, effects[len(effects)-1])
	assert.Empty(t, only[AskModel](effects))
	require.NoError(t, paired(p.s.History()))
	assert.Len(t, only[AskModel](p.in(prompt("more"))), 1)
	p.replays()
}

func TestRequestLimitByDefault(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"))
	for n := range DefaultRequests {
		require.False(t, p.s.Idle(), n)
		reply := calls("look")
		reply.Message.Calls[0].Args = json.RawMessage(`{"n":` + strings.Repeat("1", n+1) + `}`)
		p.s, _ = Step(p.s, reply)
		for _, in := range ran(p.s.Unsettled()[0].ID) {
			p.s, _ = Step(p.s, in)
		}
	}
	assert.True(t, p.s.Idle())
	assert.Len(t, p.s.History(), 1+2*DefaultRequests)
}

func TestRepeats(t *testing.T) {
	t.Parallel()
	image := func(id string, data byte) Finished {
		return Finished{Result: Result{CallID: id, Content: Blocks{Image{MIME: "image/png", Data: []byte{data}}}}}
	}
	id := func(n int) string { return "call_1_" + string(rune('0'+n)) }
	for name, row := range map[string]struct {
		limits Limits
		tool   func(n int) string
		result func(n int) Finished
		ends   int // after so many batches; 0: not within six
	}{
		"the same": {
			Limits{}, func(int) string { return "look" }, func(n int) Finished { return finished(id(n), "same") }, DefaultRepeats,
		},
		"the same, a limit set": {
			Limits{Repeats: 2}, func(int) string { return "look" }, func(n int) Finished { return finished(id(n), "same") }, 2,
		},
		"another result": {
			Limits{Repeats: 2}, func(int) string { return "look" }, func(n int) Finished { return finished(id(n), id(n)) }, 0,
		},
		"another picture": {
			Limits{Repeats: 2}, func(int) string { return "look" }, func(n int) Finished { return image(id(n), byte(n)) }, 0,
		},
		"another tool in between": {
			Limits{Repeats: 2}, func(n int) string { return []string{"look", "sell"}[n%2] }, func(n int) Finished { return finished(id(n), "same") }, 0,
		},
		"same text, now failed": {
			Limits{Repeats: 2}, func(int) string { return "look" }, func(n int) Finished {
				f := finished(id(n), "same")
				f.Result.Failed = n%2 == 0
				return f
			}, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := beginWith(t, Configured{Specs: specs(), Limits: row.limits})
			p.in(prompt("hi"))
			ended := 0
			for n := 1; n <= 6 && ended == 0; n++ {
				p.in(calls(row.tool(n)), previewed(id(n)), Intended{CallID: id(n)})
				effects := p.in(row.result(n))
				if end := only[EndTurn](effects); len(end) > 0 {
					assert.Equal(t, []EndTurn{{Reason: StopMaxRequests}}, end)
					ended = n
				}
			}
			assert.Equal(t, row.ends, ended)
			require.NoError(t, paired(p.s.History()))
			p.replays()
		})
	}
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("one"), calls("look", "look"))
	p.in(ran("call_1_1")...)
	p.in(ran("call_1_2")...)
	p.in(says("first"), prompt("two"), says("second"))
	h := p.s.History() // user, calls, results, text, user, text
	require.Len(t, h, 6)
	summary := Message{Role: RoleUser, Content: Blocks{Text{Text: "sum"}}}
	for keep, from := range map[int]int{0: 6, 1: 5, 2: 4, 3: 3, 4: 1, 5: 1} {
		next, effects := Step(p.s, Compacted{Keep: keep, Summary: "sum"})
		assert.Empty(t, effects)
		assert.Equal(t, append([]Message{summary}, h[from:]...), next.History(), "keep %d", keep)
		require.NoError(t, paired(next.History()))
	}
	p.ignores(Compacted{Keep: 6}, Compacted{Keep: 7}, Compacted{Keep: -1})

	p.in(Compacted{Keep: 2, Summary: "sum"}, prompt("three"))
	p.ignores(Compacted{Keep: 0, Summary: "mid-turn"})
	p.in(Replied{Stop: StopRefusal})
	assert.Equal(t, []Message{summary, h[4], h[5]}, p.s.History())
	p.in(prompt("four"), calls("look"))
	assert.Equal(t, "call_4_1", p.s.Unsettled()[0].ID, "ids stay unique after a compaction")
	p.ignores(Compacted{Keep: 0, Summary: "mid-turn"})
	p.in(ran("call_4_1")...)
	p.in(says("fourth"))
	p.replays()
}

// A compaction is told from its beginning to its one end, and changes something only if that is its summary.
func TestCompactionIsTold(t *testing.T) {
	t.Parallel()
	ask := Compacting{MessageID: "u", Content: prompt("/compact").Content}
	begun := func(id string) []Effect {
		return []Effect{Emit{UserText{MessageID: "u", Part: Text{Text: "/compact"}}}, Emit{CompactionStarted{ID: id}}}
	}
	p := begin(t)
	p.in(prompt("one"), says("first"))
	h := p.s.History()
	for i, row := range []struct {
		end    Input
		status CompactionStatus
	}{
		{Cancelled{}, CompactionCancelled},
		{ModelFailed{Failure: Failure{Kind: FailNetwork}}, CompactionFailed},
		{Compacted{Keep: 2, Summary: "nothing is replaced"}, CompactionFailed},
	} {
		id := []string{"compaction_1", "compaction_2", "compaction_3"}[i]
		assert.Equal(t, begun(id), p.in(ask))
		assert.False(t, p.s.Idle())
		p.ignores(prompt("meanwhile"), ask, Noted{Content: ask.Content}, says("x"), Streamed{Kind: ChunkText, Text: "x"}, Revoked{})
		assert.Equal(t, []Effect{Emit{CompactionFinished{ID: id, Status: row.status}}}, p.in(row.end))
		assert.True(t, p.s.Idle())
		assert.Equal(t, h, p.s.History())
	}
	assert.Equal(t, begun("compaction_4"), p.in(ask))
	assert.Equal(t, []Effect{
		Emit{CompactionSummary{ID: "compaction_4", Text: "sum"}}, Emit{CompactionFinished{ID: "compaction_4", Status: CompactionCompleted}},
	}, p.in(Compacted{Context: Blocks{Text{Text: "where"}}, Summary: "sum"}))
	assert.Equal(t, []Message{{Role: RoleUser, Content: Blocks{Text{Text: "where"}, Text{Text: "sum"}}}}, p.s.History())
	assert.Equal(t, 4, p.s.Compactions())
	p.in(prompt("two"), says("second"))
	p.replays()
}

func TestConfiguredAgain(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"), calls("query"), previewed("call_1_1"), Decided{CallID: "call_1_1", Outcome: AllowAlways})
	deny := Rule{Tool: "edit", Verdict: Deny}
	p.in(Configured{Specs: specs()[:3], Rules: Rules{deny}, System: "Now be long."})
	assert.Equal(t, specs()[:3], p.s.Specs())
	assert.Equal(t, "Now be long.", p.s.System())
	assert.Equal(t, Rules{deny, {Tool: "query", Exact: true, Verdict: Allow, Why: "you chose so in this session"}}, p.s.Rules())
	effects := p.in(Intended{CallID: "call_1_1"}, finished("call_1_1", "x"))
	assert.Equal(t, "Now be long.", only[AskModel](effects)[0].Request.System)
	p.replays()
}

// TestBranches steps twice from one state: histories that share their beginning must not write over each other.
func TestBranches(t *testing.T) {
	t.Parallel()
	p := begin(t)
	for range 5 {
		p.in(prompt("hi"), says("hello"))
	}
	replayed, _ := Replay(func(yield func(Input) bool) {
		for _, in := range p.inputs {
			if !yield(in) {
				return
			}
		}
	})
	refused := begin(t)
	refused.in(p.inputs[1:]...)
	refused.in(prompt("bad"), calls("look"), Cancelled{}, prompt("bad"), Replied{Stop: StopRefusal})
	for name, s := range map[string]State{"stepped": p.s, "replayed": replayed, "cut back": refused.s} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := snapshot(s)
			h := s.History()
			words := []string{"a", "b", "c", "d"}
			branches := make([]State, len(words))
			var group sync.WaitGroup
			for i, w := range words {
				group.Go(func() { // the race detector sees a shared write
					next, _ := Step(s, prompt(w))
					branches[i], _ = Step(next, says(w+w))
				})
			}
			group.Wait()
			for i, w := range words {
				next := branches[i].History()
				require.Equal(t, h, next[:len(h)])
				require.Len(t, next, len(h)+2)
				assert.Equal(t, w, TextOf(next[len(h)].Content))
				assert.Equal(t, w+w, TextOf(next[len(h)+1].Content))
			}
			assert.Equal(t, before, snapshot(s))
			_ = append(h, user("a caller's own"))
			assert.Equal(t, before, snapshot(s))
		})
	}
}

func TestUnknownAndForeignInputs(t *testing.T) {
	t.Parallel()
	p := begin(t)
	for _, stage := range [][]Input{{}, {prompt("hi")}, {calls("edit")}, {previewed("call_1_1")}} {
		p.in(stage...)
		p.ignores(nil, Unknown{Kind: "Teleported", Body: json.RawMessage(`{}`)}, &Prompted{}, &Cancelled{},
			Streamed{Kind: ChunkReply, Text: "x"}, Streamed{Kind: "sound", Text: "x"}, Streamed{Kind: ChunkText})
	}
}
