package llm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

// Tidy returns the messages in the form that strict providers insist on, whatever they were: they begin with a user
// message, no two neighbours have the same role (between two user messages comes a word in place of the answer), no
// message is empty, each message with calls is followed by one with
// exactly their results in their order, and nothing else has results. It changes nothing that is already so, and it
// works from front to back, so the same history with more behind it is tidied to the same messages with more behind
// them. What in points at is not changed.
func Tidy(in []loop.Message) []loop.Message {
	var out []loop.Message
	var results []loop.Result // those seen since the last call
	for i, m := range in {
		switch m.Role {
		case loop.RoleUser:
			out, results = addUser(settle(out, results), m), nil
		case loop.RoleAssistant:
			out, results = addAssistant(settle(out, results), m, i), nil
		case loop.RoleTool:
			results = append(results, m.Results...)
		}
	}
	return settle(out, results)
}

// noAnswer stands between two user messages in a row: the first had no answer, because its turn was cancelled, broke off
// or failed before anything was said.
const noAnswer = "(no answer)"

func last(out []loop.Message) (loop.Message, bool) {
	if len(out) == 0 {
		return loop.Message{}, false
	}
	return out[len(out)-1], true
}

func addUser(out []loop.Message, m loop.Message) []loop.Message {
	content := seen(m.Content, false)
	if len(content) == 0 {
		content = loop.Blocks{loop.Text{Text: "(empty message)"}}
	}
	if prev, ok := last(out); ok && prev.Role == loop.RoleUser {
		// Not joined with it: it may have been sent as it is, and answered by nothing.
		out = append(out, loop.Message{Role: loop.RoleAssistant, Content: loop.Blocks{loop.Text{Text: noAnswer}}})
	}
	return append(out, loop.Message{Role: loop.RoleUser, Content: content})
}

func addAssistant(out []loop.Message, m loop.Message, at int) []loop.Message {
	content := seen(m.Content, true)
	if len(m.Calls) == 0 && len(seen(m.Content, false)) == 0 {
		return out // nothing was said: a thought alone is no message
	}
	calls := slices.Clone(m.Calls)
	for i := range calls {
		if calls[i].ID == "" {
			calls[i].ID = fmt.Sprintf("call_m%d_%d", at, i)
		}
	}
	prev, ok := last(out)
	switch {
	case ok && prev.Role == loop.RoleAssistant:
		prev.Content = slices.Concat(prev.Content, content)
		prev.Calls = calls
		return append(out[:len(out)-1], prev)
	case !ok:
		out = addUser(out, loop.Message{Content: loop.Blocks{loop.Text{Text: "(the conversation began earlier)"}}})
	}
	return append(out, loop.Message{Role: loop.RoleAssistant, Content: content, Calls: calls})
}

// settle puts the results of the last message's calls behind it. A call without one gets one that says so, and
// a result of another call is dropped.
func settle(out []loop.Message, results []loop.Result) []loop.Message {
	prev, ok := last(out)
	if !ok || prev.Role != loop.RoleAssistant || len(prev.Calls) == 0 {
		return out
	}
	paired := make([]loop.Result, 0, len(prev.Calls))
	for _, c := range prev.Calls {
		i := slices.IndexFunc(results, func(r loop.Result) bool { return r.CallID == c.ID })
		if i < 0 {
			paired = append(paired, interrupted(c.ID))
			continue
		}
		paired = append(paired, results[i])
	}
	return append(out, loop.Message{Role: loop.RoleTool, Results: paired})
}

func interrupted(callID string) loop.Result {
	return loop.Failed(callID, "The call was interrupted, and its outcome is unknown. Look before you repeat it.")
}

// seen leaves out the blocks that hold nothing for a model: blank text, plans, and thoughts unless they are wanted.
func seen(in loop.Blocks, thoughts bool) loop.Blocks {
	var out loop.Blocks
	for _, b := range in {
		switch b := b.(type) {
		case loop.Text:
			if strings.TrimSpace(b.Text) == "" {
				continue
			}
		case loop.Thought:
			if !thoughts {
				continue
			}
		case nil, loop.Plan: // a plan is for clients
			continue
		case loop.Image, loop.Audio, loop.Link, loop.Resource, loop.Diff, loop.Terminal, loop.Other:
		}
		out = append(out, b)
	}
	return out
}

// ResultContent is what a model is told of a result: its content, else its machine-readable outcome, else that there
// was no output. It is never empty.
func ResultContent(r loop.Result) loop.Blocks {
	content := seen(r.Content, false)
	hasText := slices.ContainsFunc(content, func(b loop.Block) bool {
		switch b.(type) {
		case loop.Text, loop.Resource:
			return true
		case loop.Thought, loop.Image, loop.Audio, loop.Link, loop.Diff, loop.Terminal, loop.Plan, loop.Other:
		}
		return false
	})
	if raw := strings.TrimSpace(string(r.Raw)); !hasText && raw != "" && raw != "null" {
		content = append(content, loop.Text{Text: raw})
	}
	if len(content) == 0 {
		content = loop.Blocks{loop.Text{Text: "(no output)"}}
	}
	return content
}

// ToolName is name in the letters that every provider accepts, for a call of a tool that does not exist.
func ToolName(name string) string {
	if name == "" {
		return "unknown"
	}
	ok := func(r rune) bool {
		return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	if len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool { return !ok(r) }) {
		return name
	}
	clean := strings.Map(func(r rune) rune {
		if ok(r) {
			return r
		}
		return '_'
	}, name)
	return clean[:min(len(clean), 64)]
}
