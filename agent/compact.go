package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

const summarize = "Summarize this conversation for yourself, so that you can go on from the summary alone: what the user wants, " +
	"what was done and found out (with paths and names), what is left, and what the user said about how to do it. " +
	"Answer with the summary only and call no tool."

// compact replaces the history by the model's own summary of it. What it has begun it also tells, so the text to answer
// with is empty then.
func (s *session) compact(ctx context.Context, kit *Kit, c typedCommand) (string, error) {
	m, _ := s.agent.model(s.cwd(), s.option(optionModel))
	switch {
	case m.Offline:
		return "The offline model keeps no window that could fill up.", nil
	case s.state.Interrupted():
		return "There is a call that waits for an answer; send a message first, and it will be asked again.", nil
	case len(s.state.History()) < 3:
		return "There is nothing to compact yet.", nil
	}
	runner, err := s.runner(kit)
	if err != nil {
		return "", err
	}
	request := loop.Request{System: s.state.System(), Tools: s.state.Specs(), Messages: append(s.state.History(), loop.Message{
		Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: summarize}},
	})}
	begin := loop.Compacting{MessageID: fmt.Sprintf("compact_%d_user", s.state.Compactions()+1), Content: c.content}
	if err := s.applyOwned(ctx, begin); err != nil {
		return "", err
	}
	var summary string
	err = s.attend(ctx, func() (err error) {
		summary, err = s.summary(ctx, runner.Model, request)
		return err
	})
	switch {
	case err == nil:
		// What came with the first prompt would be gone with it.
		where := append(slices.Clip(kit.Context), loop.Text{Text: "This is a summary of the conversation so far."})
		return "", s.applyOwned(ctx, loop.Compacted{Context: where, Summary: summary})
	case s.broken != nil:
		return "", err
	case ctx.Err() != nil:
		return "", errors.Join(err, s.applyOwned(context.WithoutCancel(ctx), loop.Cancelled{}))
	}
	failure, known := errors.AsType[*loop.Failure](err)
	if !known {
		failure = &loop.Failure{Kind: loop.FailInternal, Message: err.Error()}
	}
	return "", errors.Join(err, s.applyOwned(ctx, loop.ModelFailed{Failure: *failure}))
}

// summary asks the model with the same prefix as always, so that its cache serves.
func (s *session) summary(ctx context.Context, model loop.Model, request loop.Request) (string, error) {
	for chunk, err := range model.Stream(ctx, request) {
		if err != nil {
			return "", err
		}
		if r := chunk.Reply; r != nil && len(r.Message.Calls) == 0 && (r.Stop == loop.StopEndTurn || r.Stop == "") {
			if text := strings.TrimSpace(loop.TextOf(r.Message.Content)); text != "" {
				return text, nil
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return "", &loop.Failure{Kind: loop.FailIncomplete, Message: "The model gave no complete summary; nothing was changed."}
}
