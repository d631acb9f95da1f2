package agent_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sizes is a question with few answers.
var sizes = loop.Question{Message: "Which size?", Schema: json.RawMessage(
	`{"type":"object","properties":{"size":{"type":"string","enum":["small","large"]}},"required":["size"]}`)}

// wanting is a kit with a command of a server that has to know something first.
func wanting(q loop.Question, m loop.Model) kitFunc {
	return func(_ context.Context, s agent.Setup) (*agent.Kit, error) {
		return &agent.Kit{
			Model: func(string, string) (loop.Model, error) { return m, nil },
			Commands: func() []agent.SlashCommand {
				return []agent.SlashCommand{{Name: "order", Expand: func(ctx context.Context, _ string) (loop.Blocks, error) {
					a, err := s.Ask(ctx, "shop", q)
					if err != nil {
						return nil, err
					}
					return loop.Blocks{loop.Text{Text: string(a.Action) + " " + string(a.Content)}}, nil
				}}}
			},
		}, nil
	}
}

// What a server wants to know before a prompt the person is asked as they would be about a call.
func TestAQuestionBeforeAPrompt(t *testing.T) {
	t.Parallel()
	page := loop.Question{Message: "Sign the form.", URL: "https://shop.example/form"}
	odd := loop.Question{Message: "What is your name?", Schema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}
	all := acp.ClientCapabilities{Elicitation: &acp.ElicitationCapabilities{
		Form: &acp.ElicitationFormCapabilities{}, URL: &acp.ElicitationURLCapabilities{},
	}}
	for name, c := range map[string]struct {
		question loop.Question
		caps     acp.ClientCapabilities
		fill     acp.ElicitationAction
		press    acp.PermissionOptionID
		want     string // in the prompt
		err      string
	}{
		"form":           {question: sizes, caps: all, fill: acp.ElicitationAcceptAction{Content: map[string]acp.ElicitationContentValue{"size": acp.StringContent("large")}}, want: `accept {"size":"large"}`},
		"form, declined": {question: sizes, caps: all, fill: acp.ElicitationDeclineAction{}, want: "decline "},
		"buttons":        {question: sizes, press: "answer_1", want: `accept {"size":"small"}`},
		"none of these":  {question: sizes, press: "none", want: "decline "},
		"page":           {question: page, caps: all, fill: acp.ElicitationAcceptAction{}, want: "accept "},
		"page, declined": {question: page, caps: all, fill: acp.ElicitationDeclineAction{}, want: "decline "},
		"no forms":       {question: odd, err: "shop asks: What is your name? (this client shows no forms). Say it again with the answer"},
		"no pages":       {question: page, err: "shop asks: Sign the form. You would have to open https://shop.example/form"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &peer{caps: c.caps}
			var asked *acp.CreateElicitationRequest
			p.fill = func(q *acp.CreateElicitationRequest) (acp.ElicitationAction, error) {
				asked = q
				return c.fill, nil
			}
			p.permit = func(_ context.Context, q *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
				assert.Equal(t, "shop asks: Which size?", *q.ToolCall.Title)
				assert.NotEmpty(t, q.ToolCall.ToolCallID)
				return choose(c.press), nil
			}
			model := scripted.New(scripted.Say("well"))
			s := newStand(t, wanting(c.question, model), p)
			_, err := s.prompt("/order")
			require.NoError(t, err)
			if c.err != "" {
				assert.Contains(t, p.text(), c.err)
				assert.Empty(t, model.Requests())
				return
			}
			assert.Contains(t, loop.TextOf(model.Requests()[0].Messages[0].Content), c.want)
			if c.fill != nil {
				assert.Equal(t, acp.ElicitationSessionScope{SessionID: s.session}, asked.Scope, "it is about no call")
				assert.Contains(t, asked.Message, "shop asks: ")
			}
		})
	}
}
