package loop

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCancelInEveryStage cancels a turn of two calls (the second waits for the first) wherever the first can be.
func TestCancelInEveryStage(t *testing.T) {
	t.Parallel()
	const id = "call_1_1"
	const before, during = "Cancelled before it ran.",
		"Cancelled while it was running. It may have taken effect in part or in whole: check before doing it again."
	for name, row := range map[string]struct {
		tool   string
		inputs []Input
		want   string
	}{
		"previewing":    {"edit", nil, before},
		"deciding":      {"edit", []Input{previewed(id)}, before},
		"intending":     {"sell", []Input{previewed(id)}, before},
		"running":       {"sell", []Input{previewed(id), Intended{CallID: id}}, during},
		"answering":     {"sell", []Input{previewed(id), Intended{CallID: id}, Asked{CallID: id}}, during},
		"running again": {"sell", []Input{previewed(id), Intended{CallID: id}, Asked{CallID: id}, Answered{CallID: id}}, during},
		"settled":       {"sell", ran(id), "done call_1_1"},
		"denied":        {"nuke", []Input{previewed(id)}, "Not run: a permission rule forbids it. Do not try the same in another way."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begin(t)
			p.in(prompt("hi"), calls(row.tool, "edit"))
			p.in(row.inputs...)
			effects := p.in(Cancelled{})
			assert.Equal(t, EndTurn{Reason: StopCancelled}, effects[len(effects)-1])
			assert.Equal(t, map[string]string{id: row.want, "call_1_2": before}, p.settledOnce())
			assert.True(t, p.s.Idle())
			assert.Empty(t, p.s.Unsettled())
			require.NoError(t, paired(p.s.History()))
			p.ignores(Cancelled{}, previewed(id), Decided{CallID: id, Outcome: AllowOnce}, Intended{CallID: id}, finished(id, "late"),
				Asked{CallID: id}, Answered{CallID: id}, Progressed{CallID: id}, says("late"), Streamed{Kind: ChunkText, Text: "late"}, ModelFailed{})

			sent := only[AskModel](p.in(prompt("what did I ask first?")))[0].Request.Messages
			require.NoError(t, paired(sent))
			assert.Equal(t, user("hi"), sent[0], "the session lives on")
			p.in(says("You said hi."))
			p.replays()
		})
	}
}

// A held call is one that has been previewed and waits for the question before it.
func TestCancelBesideAQuestion(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.in(prompt("hi"), calls("query", "query", "look"), previewed("call_1_1"), previewed("call_1_2"), previewed("call_1_3"),
		Intended{CallID: "call_1_3"})
	effects := p.in(Cancelled{})
	assert.Equal(t, []string{"ToolFinished call_1_1", "ToolFinished call_1_2", "ToolFinished call_1_3", "EndTurn cancelled"}, names(effects))
	require.NoError(t, paired(p.s.History()))
	p.replays()
}

func TestCancelWhileTheModelAnswers(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		streamed []Input
		left     []Message
	}{
		"before the first byte": {nil, nil},
		"in a thought":          {[]Input{Streamed{Kind: ChunkThought, Text: "hm"}}, nil},
		"in the text": {
			[]Input{Streamed{Kind: ChunkText, Text: "On"}, Streamed{Kind: ChunkText, Text: "e l"}},
			[]Message{{Role: RoleAssistant, ID: "msg_1_1", Content: Blocks{Text{Text: "One l"}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := begin(t)
			p.in(prompt("hi"))
			p.in(row.streamed...)
			assert.Equal(t, []Effect{EndTurn{Reason: StopCancelled}}, p.in(Cancelled{}))
			assert.Equal(t, append([]Message{user("hi")}, row.left...), p.s.History())
			p.ignores(says("late"), Cancelled{})
			p.replays()
		})
	}
}

func TestCancelWhenIdle(t *testing.T) {
	t.Parallel()
	p := begin(t)
	p.ignores(Cancelled{})
	p.in(prompt("hi"), says("hello"))
	p.ignores(Cancelled{})
}
