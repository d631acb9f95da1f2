package tools

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

func TestPlan(t *testing.T) {
	t.Parallel()
	b := setUp(t, nil)
	res, err := b.try(t, "plan", `{"entries":[{"content":" Read it ","status":"completed","priority":"low"},{"content":"Fix it","status":"in_progress"}]}`)
	require.NoError(t, err)
	assert.Equal(t, loop.Result{CallID: "call_1_1", Content: text("Plan updated."), Display: loop.Blocks{loop.Plan{Entries: []loop.PlanEntry{
		{Content: "Read it", Status: "completed", Priority: "low"}, {Content: "Fix it", Status: "in_progress", Priority: "medium"},
	}}}}, res)
	res, err = b.try(t, "plan", `{"entries":[]}`)
	require.NoError(t, err)
	assert.Equal(t, loop.Blocks{loop.Plan{Entries: []loop.PlanEntry{}}}, res.Display, "a plan can be taken back")

	for args, want := range map[string]string{
		`{}`:                            `"entries" is missing`,
		`{"entries":["x"]}`:             `"entries[0]" must be an object, not a string`,
		`{"entries":[{"content":"x"}]}`: `"entries[0].status" is missing`,
		`{"entries":[{"content":" ","status":"pending"}]}`:                     `"entries[0].content" is empty: say what the step is`,
		`{"entries":[{"content":"x","status":"done"}]}`:                        `"entries[0].status" is "done"; it must be pending, in_progress or completed`,
		`{"entries":[{"content":"x","status":"pending","priority":"urgent"}]}`: `"entries[0].priority" is "urgent"; it must be high, medium or low`,
	} {
		_, err := b.try(t, "plan", args)
		require.ErrorIs(t, err, ErrArguments, args)
		assert.ErrorContains(t, err, want, args)
	}
}

func TestAsk(t *testing.T) {
	t.Parallel()
	b := setUp(t, nil)
	tool, c := b.tool("ask"), callOf(t, "ask", `{"question":"Which one?\nThe old or the new.","options":["old","new"]}`)
	p, err := tool.Preview(t.Context(), c)
	require.NoError(t, err)
	assert.Equal(t, loop.Preview{Title: "Which one?"}, p)

	_, err = b.try(t, "ask", `{"question":"Why?"}`)
	var needs *loop.NeedsAnswer
	require.ErrorAs(t, err, &needs)
	assert.JSONEq(t, `{"type":"object","properties":{"answer":{"type":"string","title":"Answer"}},"required":["answer"]}`, string(needs.Question.Schema))

	_, err = tool.Run(t.Context(), loop.Job{Call: c, Preview: p}, func(loop.Block) {})
	require.ErrorAs(t, err, &needs)
	assert.JSONEq(t, `{"type":"object","properties":{"answer":{"type":"string","title":"Answer","enum":["old","new"]}},"required":["answer"]}`,
		string(needs.Question.Schema))
	needs.Question.Schema = nil
	assert.Equal(t, loop.Question{ID: "answer", Message: "Which one?\nThe old or the new."}, needs.Question)

	for _, row := range []struct {
		answer loop.Answer
		want   string
	}{
		{loop.Answer{Action: loop.AnswerAccept, Content: []byte(`{"answer":"old"}`)}, "The user answered: old"},
		{loop.Answer{Action: loop.AnswerDecline}, "The user does not want to answer this. Go on without it, or say what you cannot do."},
		{loop.Answer{Action: loop.AnswerCancel}, "The user closed the question without an answer. Do not ask the same again in this way."},
	} {
		row.answer.ID = "answer"
		res, err := tool.Run(t.Context(), loop.Job{Call: c, Preview: p, Answers: []loop.Answer{row.answer}}, func(loop.Block) {})
		require.NoError(t, err)
		assert.Equal(t, loop.Result{CallID: "call_1_1", Content: text(row.want)}, res)
	}
	_, err = tool.Run(t.Context(), loop.Job{Call: c, Preview: p, Answers: []loop.Answer{
		{ID: "answer", Action: loop.AnswerAccept, Content: []byte(`{"answer":1}`)},
	}}, func(loop.Block) {})
	require.ErrorContains(t, err, "the answer that came back cannot be read")

	for args, want := range map[string]string{
		`{}`:                                   `"question" is missing`,
		`{"question":" "}`:                     `"question" is empty`,
		`{"question":"x","options":["a"]}`:     `one option is no choice`,
		`{"question":"x","options":["a",""]}`:  `"options[1]" is empty`,
		`{"question":"x","options":["a","a"]}`: `"options[1]" is there twice: "a"`,
		`{"question":"x","options":["a",1]}`:   `"options[1]" must be a string`,
		`{"question":"x","options":[` + repeat(`"a",`, 20) + `"b"]}`: `21 options are too many; give at most 20`,
	} {
		_, err := b.try(t, "ask", args)
		require.ErrorIs(t, err, ErrArguments, args)
		assert.ErrorContains(t, err, want, args)
	}
}
