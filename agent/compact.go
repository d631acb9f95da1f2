package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
)

const summarize = "Summarize this conversation for yourself, so that you can go on from the summary alone: what the user wants, " +
	"what was done and found out (with paths and names), what is left, and what the user said about how to do it. " +
	"Answer with the summary only and call no tool."

// compact replaces the history by the model's own summary of it.
func (s *session) compact(ctx context.Context, kit *Kit, _ string) (string, error) {
	m, _ := s.agent.model(s.cwd(), s.option(optionModel))
	before := len(s.state.History())
	switch {
	case m.Offline:
		return "The offline model keeps no window that could fill up.", nil
	case before < 3:
		return "There is nothing to compact yet.", nil
	}
	runner, err := s.runner(kit)
	if err != nil {
		return "", err
	}
	request := loop.Request{System: s.state.System(), Tools: s.state.Specs(), Messages: append(s.state.History(), loop.Message{
		Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: summarize}},
	})}
	id := acp.CompactionID(fmt.Sprintf("compaction_%d", s.state.Notes()+1+s.aborted))
	caps := s.agent.client.Capabilities().Session
	shows := caps != nil && caps.Compaction != nil
	tell := func(u acp.CompactionUpdate) error {
		if !shows {
			return nil
		}
		u.CompactionID = id
		return s.update(ctx, u)
	}
	if err := tell(acp.CompactionUpdate{Status: acp.CompactionInProgress}); err != nil {
		return "", err
	}
	var summary string
	err = s.attend(ctx, func() (err error) {
		summary, err = s.summary(ctx, runner.Model, request)
		return err
	})
	if err != nil {
		s.aborted++
		status := acp.CompactionFailed
		if ctx.Err() != nil {
			status = acp.CompactionCancelled
		}
		return "", errors.Join(err, tell(acp.CompactionUpdate{Status: status}))
	}
	whole := "This is a summary of the conversation so far.\n\n" + summary
	if where := loop.TextOf(kit.Context); where != "" { // what came with the first prompt is gone with it
		whole = where + "\n\n" + whole
	}
	if err := s.applyOwned(ctx, loop.Compacted{Summary: whole}); err != nil {
		return "", err
	}
	if shows {
		chunk := acp.CompactionSummaryChunk{CompactionID: id, Content: acp.TextContent{Text: summary}}
		err := errors.Join(s.update(ctx, chunk), tell(acp.CompactionUpdate{Status: acp.CompactionCompleted}))
		return fmt.Sprintf("Compacted %d messages.", before), err
	}
	return fmt.Sprintf("Compacted %d messages into this summary:\n\n%s", before, summary), nil
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
