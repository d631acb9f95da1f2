package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

// maxOptions is how many answers a question may offer.
const maxOptions = 20

type askArgs struct {
	Question string   `json:"question"`
	Options  []string `json:"options,omitempty" jsonschema:"the possible answers, if they are few"`
}

func askTool() loop.Tool {
	return Define(loop.Spec{
		Name: "ask", Title: "Ask the user", Description: describe("ask"), Kind: loop.KindOther,
		ReadOnly: true, Default: loop.Allow,
	}, previewAsk, runAsk)
}

func previewAsk(_ context.Context, in askArgs) (loop.Preview, error) {
	question := strings.TrimSpace(in.Question)
	switch {
	case question == "":
		return loop.Preview{}, fmt.Errorf("%w: \"question\" is empty", ErrArguments)
	case len(in.Options) == 1:
		return loop.Preview{}, fmt.Errorf("%w: one option is no choice; give two or more, or none and the user types the answer", ErrArguments)
	case len(in.Options) > maxOptions:
		return loop.Preview{}, fmt.Errorf("%w: %d options are too many; give at most %d, or none and the user types the answer",
			ErrArguments, len(in.Options), maxOptions)
	}
	for i, o := range in.Options {
		if strings.TrimSpace(o) == "" {
			return loop.Preview{}, fmt.Errorf("%w: \"options[%d]\" is empty", ErrArguments, i)
		}
		if slices.Contains(in.Options[:i], o) {
			return loop.Preview{}, fmt.Errorf("%w: \"options[%d]\" is there twice: %q", ErrArguments, i, o)
		}
	}
	first, _, _ := strings.Cut(question, "\n")
	return loop.Preview{Title: first}, nil
}

// formID names the one question of a call.
const formID = "answer"

func runAsk(ctx context.Context, in askArgs, j loop.Job, _ func(loop.Block)) (loop.Result, error) {
	if _, err := previewAsk(ctx, in); err != nil {
		return loop.Result{}, err
	}
	i := slices.IndexFunc(j.Answers, func(a loop.Answer) bool { return a.ID == formID })
	if i < 0 {
		schema, err := json.Marshal(formOf(in.Options))
		if err != nil {
			return loop.Result{}, fmt.Errorf("making the form: %w", err)
		}
		return loop.Result{}, &loop.NeedsAnswer{Question: loop.Question{
			ID: formID, Message: strings.TrimSpace(in.Question), Schema: schema,
		}}
	}
	switch a := j.Answers[i]; a.Action {
	case loop.AnswerAccept:
		var content struct {
			Answer *string `json:"answer"`
		}
		if err := json.Unmarshal(a.Content, &content); err != nil || content.Answer == nil {
			return loop.Result{}, errors.New("the answer that came back cannot be read; ask in words instead")
		}
		return loop.Result{Content: text("The user answered: " + *content.Answer)}, nil
	case loop.AnswerDecline:
		return loop.Result{Content: text("The user does not want to answer this. Go on without it, or say what you cannot do.")}, nil
	case loop.AnswerCancel:
	}
	return loop.Result{Content: text("The user closed the question without an answer. Do not ask the same again in this way.")}, nil
}

// form is the schema of a question's answer.
type form struct {
	Type       string               `json:"type"`
	Properties map[string]formField `json:"properties"`
	Required   []string             `json:"required"`
}

type formField struct {
	Type  string   `json:"type"`
	Title string   `json:"title"`
	Enum  []string `json:"enum,omitempty"`
}

func formOf(options []string) form {
	return form{
		Type: "object", Required: []string{"answer"},
		Properties: map[string]formField{"answer": {Type: "string", Title: "Answer", Enum: options}},
	}
}
