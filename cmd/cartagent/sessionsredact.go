package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cartagent/cartagent/loop"
)

// outlineOf is what a redacted export says in place of an input: its structure with sizes for texts, the names of tools,
// the ids of calls, outcomes and tokens. Whatever it does not copy is gone, so a field that is new stays in. private is
// false for inputs that have nothing in them but such things.
func outlineOf(in loop.Input) (outline loop.Input, private bool) {
	switch v := in.(type) {
	case loop.Intended, loop.Cancelled, loop.Interrupted, loop.Revoked:
		return in, false
	case loop.Chosen:
		if v.Option == "mode" || v.Option == "model" {
			return in, false
		}
		return loop.Chosen{Option: v.Option, Value: gone(v.Value)}, true
	case loop.Configured:
		out := loop.Configured{Limits: v.Limits, System: gone(v.System)}
		for _, s := range v.Specs {
			out.Specs = append(out.Specs, loop.Spec{
				Name: s.Name, Kind: s.Kind, ReadOnly: s.ReadOnly, Parallel: s.Parallel, Keyed: s.Keyed, Default: s.Default,
				Description: gone(s.Description), Schema: json.RawMessage(`{}`),
			})
		}
		return out, true
	case loop.Prompted:
		return loop.Prompted{MessageID: v.MessageID, Content: goneBlocks(v.Content), Context: goneBlocks(v.Context)}, true
	case loop.Noted:
		return loop.Noted{MessageID: v.MessageID, Content: goneBlocks(v.Content), Text: gone(v.Text)}, true
	case loop.Streamed:
		return loop.Streamed{Kind: v.Kind, Text: strings.Repeat("█", min(utf8.RuneCountInString(v.Text), maxBars))}, true
	case loop.Replied:
		return loop.Replied{Message: goneMessage(v.Message), Stop: v.Stop, Usage: v.Usage}, true
	case loop.ModelFailed:
		return loop.ModelFailed{Failure: loop.Failure{Kind: v.Failure.Kind, Message: gone(v.Failure.Message)}}, true
	case loop.Compacting:
		return loop.Compacting{MessageID: v.MessageID, Content: goneBlocks(v.Content)}, true
	case loop.Compacted:
		return loop.Compacted{Keep: v.Keep, Context: goneBlocks(v.Context), Summary: gone(v.Summary)}, true
	default:
		return outlineOfCall(in), true
	}
}

// outlineOfCall is outlineOf for what happens to a call. Nothing is known of an input of a kind that is not here.
func outlineOfCall(in loop.Input) loop.Input {
	switch v := in.(type) {
	case loop.Previewed:
		return loop.Previewed{CallID: v.CallID, Preview: loop.Preview{Display: goneBlocks(v.Preview.Display)}, Failure: gone(v.Failure)}
	case loop.Decided:
		return loop.Decided{CallID: v.CallID, Outcome: v.Outcome, Why: gone(v.Why)}
	case loop.Asked:
		return loop.Asked{CallID: v.CallID, Question: loop.Question{
			ID: v.Question.ID, Message: gone(v.Question.Message), Fleeting: v.Question.Fleeting,
		}}
	case loop.Answered:
		return loop.Answered{CallID: v.CallID, Answer: loop.Answer{ID: v.Answer.ID, Action: v.Answer.Action}, Failure: gone(v.Failure)}
	case loop.Progressed:
		return loop.Progressed{CallID: v.CallID, Part: goneBlocks(v.Part)}
	case loop.Finished:
		return loop.Finished{Result: goneResult(v.Result)}
	default:
		return nil
	}
}

// maxBars is how much of a chunk is shown as black bars.
const maxBars = 500

// gone is what stands for a text.
func gone(text string) string {
	if text == "" {
		return ""
	}
	return fmt.Sprintf("[redacted, %d characters]", utf8.RuneCountInString(text))
}

func goneMessage(m loop.Message) loop.Message {
	out := loop.Message{Role: m.Role, ID: m.ID, Content: goneBlocks(m.Content)}
	for _, c := range m.Calls {
		args := json.RawMessage(`{}`)
		if len(c.Args) > len("{}") {
			args = fmt.Appendf(nil, `{"redacted":"%d bytes"}`, len(c.Args))
		}
		out.Calls = append(out.Calls, loop.Call{ID: c.ID, Tool: c.Tool, Args: args, Bad: gone(c.Bad)})
	}
	for _, r := range m.Results {
		out.Results = append(out.Results, goneResult(r))
	}
	return out
}

func goneResult(r loop.Result) loop.Result {
	return loop.Result{CallID: r.CallID, Content: goneBlocks(r.Content), Display: goneBlocks(r.Display), Failed: r.Failed}
}

func goneBlocks(blocks loop.Blocks) loop.Blocks {
	if blocks == nil {
		return nil
	}
	out := make(loop.Blocks, len(blocks))
	for i, b := range blocks {
		out[i] = goneBlock(b)
	}
	return out
}

// goneBlock keeps of a block what kind it was, and how large.
func goneBlock(b loop.Block) loop.Block {
	words := func(what string, n int) loop.Block {
		return loop.Text{Text: fmt.Sprintf("[redacted %s, %s]", what, size(n))}
	}
	switch v := b.(type) {
	case loop.Text:
		return loop.Text{Text: gone(v.Text)}
	case loop.Thought:
		return loop.Thought{Text: gone(v.Text)}
	case loop.Image:
		return words("image", len(v.Data))
	case loop.Audio:
		return words("audio", len(v.Data))
	case loop.Link:
		return words("link", len(v.URI))
	case loop.Resource:
		return words("resource", len(v.Text)+len(v.Blob))
	case loop.Diff:
		old := 0
		if v.Old != nil {
			old = len(*v.Old)
		}
		return loop.Text{Text: fmt.Sprintf("[redacted diff, from %s to %s]", size(old), size(len(v.New)))}
	case loop.Terminal:
		return loop.Terminal{}
	case loop.Plan:
		out := loop.Plan{}
		for _, e := range v.Entries {
			out.Entries = append(out.Entries, loop.PlanEntry{Content: gone(e.Content), Status: e.Status, Priority: e.Priority})
		}
		return out
	case loop.Other:
		return words("block", len(v.Raw))
	}
	return loop.Text{Text: "[redacted]"}
}
