package agent

import (
	"encoding/json"
	"slices"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
)

// UpdateFor is how a client is told of an event, live. UserText is what the client sent itself, so there is no update.
// It is pure, and the one place where the loop's events become the protocol's updates.
func UpdateFor(e loop.Event) (acp.SessionUpdate, bool) {
	switch v := e.(type) {
	case loop.UserText:
		return nil, false
	case loop.AgentText:
		return acp.AgentMessageChunk{Content: acp.TextContent{Text: v.Text}, MessageID: messageID(v.MessageID)}, true
	case loop.AgentThought:
		return acp.AgentThoughtChunk{Content: acp.TextContent{Text: v.Text}, MessageID: messageID(v.MessageID)}, true
	case loop.ToolProposed:
		name, _ := json.Marshal(v.Call.Tool)
		return acp.ToolCall{
			ToolCallID: acp.ToolCallID(v.Call.ID), Title: v.Title, Name: v.Call.Tool, Kind: acp.ToolKind(v.Kind),
			Status: acp.StatusPending, RawInput: v.Call.Args,
			Meta: map[string]json.RawMessage{"tool_name": name},
		}, true
	case loop.ToolPreviewed:
		u := acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(v.CallID), Locations: locationsOf(v.Preview.Locations)}
		if v.Preview.Title != "" {
			u.Title = &v.Preview.Title
		}
		if len(v.Preview.Display) > 0 {
			u.Content = contentsOf(v.Preview.Display)
		}
		return u, u.Title != nil || u.Locations != nil || u.Content != nil
	case loop.ToolStarted:
		return acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(v.CallID), Status: new(acp.StatusInProgress)}, true
	case loop.ToolInterrupted:
		return acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(v.CallID), Status: new(acp.StatusPending)}, true
	case loop.ToolProgress:
		return acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(v.CallID), Content: contentsOf(v.Part)}, true
	case loop.ToolFinished:
		return finished(v.Result), true
	case loop.PlanChanged:
		return planOf(v.Entries), true
	case loop.TitleChanged:
		return acp.SessionInfoUpdate{Title: acp.Some(v.Title)}, true
	case loop.CompactionStarted:
		return acp.CompactionUpdate{CompactionID: acp.CompactionID(v.ID), Status: acp.CompactionInProgress}, true
	case loop.CompactionSummary:
		return acp.CompactionSummaryChunk{CompactionID: acp.CompactionID(v.ID), Content: acp.TextContent{Text: v.Text}}, true
	case loop.CompactionFinished:
		return acp.CompactionUpdate{CompactionID: acp.CompactionID(v.ID), Status: acp.CompactionStatus(v.Status)}, true
	case loop.UsageChanged: // it takes the size of the window, which the event does not know
		return nil, false
	}
	return nil, false
}

// LoadUpdateFor is UpdateFor for a client that loads the session: it has the prompts too, and no terminal any more.
func LoadUpdateFor(e loop.Event) (acp.SessionUpdate, bool) {
	switch v := e.(type) {
	case loop.UserText:
		return acp.UserMessageChunk{Content: wireBlock(v.Part), MessageID: messageID(v.MessageID)}, true
	case loop.ToolProgress:
		v.Part = withoutTerminals(v.Part)
		if len(v.Part) == 0 {
			return nil, false
		}
		e = v
	case loop.ToolFinished:
		if v.Result.Display = withoutTerminals(v.Result.Display); len(v.Result.Display) == 0 {
			v.Result.Display = nil
		}
		e = v
	default: // as it was live
	}
	return UpdateFor(e)
}

// worded says in the agent's words what a client without the capability session.compaction would not be told. told says
// whether e is such a thing at all; then u is nil where there is nothing to say.
func worded(e loop.Event) (u acp.SessionUpdate, told bool) {
	say := func(id, text string) acp.SessionUpdate {
		return acp.AgentMessageChunk{Content: acp.TextContent{Text: text}, MessageID: messageID(id)}
	}
	switch v := e.(type) {
	case loop.CompactionStarted:
		return nil, true
	case loop.CompactionSummary:
		return say(v.ID, "The conversation so far was replaced by this summary:\n\n"+v.Text), true
	case loop.CompactionFinished:
		if v.Status == loop.CompactionFailed {
			return say(v.ID, "The conversation could not be summarized; nothing was changed."), true
		}
		return nil, true
	default:
		return nil, false
	}
}

func withoutTerminals(blocks loop.Blocks) loop.Blocks {
	return slices.DeleteFunc(slices.Clone(blocks), func(b loop.Block) bool {
		_, gone := b.(loop.Terminal)
		return gone
	})
}

func planOf(entries []loop.PlanEntry) acp.Plan {
	out := acp.Plan{Entries: make([]acp.PlanEntry, len(entries))}
	for i, e := range entries {
		out.Entries[i] = acp.PlanEntry{
			Content: e.Content, Priority: acp.PlanEntryPriority(e.Priority), Status: acp.PlanEntryStatus(e.Status),
		}
	}
	return out
}

func finished(r loop.Result) acp.SessionUpdate {
	u := acp.ToolCallUpdate{
		ToolCallID: acp.ToolCallID(r.CallID), Status: new(acp.StatusCompleted), RawOutput: r.Raw,
	}
	if r.Failed {
		u.Status = new(acp.StatusFailed)
	}
	shown := r.Content
	if r.Display != nil {
		shown = r.Display
	}
	if content := contentsOf(shown); len(content) > 0 {
		u.Content = content
	}
	return u
}

func messageID(id string) *acp.MessageID {
	if id == "" {
		return nil
	}
	m := acp.MessageID(id)
	return &m
}

func locationsOf(places []loop.Location) []acp.ToolCallLocation {
	var out []acp.ToolCallLocation
	for _, p := range places {
		l := acp.ToolCallLocation{Path: p.Path}
		if p.Line > 0 {
			line := uint32(p.Line) // of a file that was read: it fits
			l.Line = &line
		}
		out = append(out, l)
	}
	return out
}

func contentsOf(blocks loop.Blocks) acp.ToolCallContents {
	out := make(acp.ToolCallContents, 0, len(blocks))
	for _, b := range blocks {
		switch v := b.(type) {
		case loop.Diff:
			out = append(out, acp.Diff{Path: v.Path, OldText: v.Old, NewText: v.New})
		case loop.Terminal:
			out = append(out, acp.Terminal{TerminalID: acp.TerminalID(v.ID)})
		case loop.Plan: // it is an update of its own
		case loop.Text, loop.Thought, loop.Image, loop.Audio, loop.Link, loop.Resource, loop.Other:
			out = append(out, acp.ContentItem{Content: wireBlock(b)})
		}
	}
	return out
}
