package agent

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"

	"github.com/cartagent/cartagent/acp"
)

// displays says whether the client shows terminals that it does not run: only where it runs none itself.
func displays(c acp.ClientCapabilities) bool {
	return !c.Terminal && string(c.Meta["terminal_output"]) == "true"
}

// display is what display-only terminals have shown so far, by their calls. It belongs to the session's sink.
type display map[acp.ToolCallID]string

// displayTerminal is an update as a client with display-only terminals gets it: a command's output appears in a
// terminal that has the call's id, instead of in the call. Updates of other calls stay as they are. A relative cwd of
// the command starts at dir.
func displayTerminal(u acp.SessionUpdate, shown display, dir string) acp.SessionUpdate {
	switch v := u.(type) {
	case acp.ToolCall:
		if v.Name != "terminal" || v.Kind != acp.KindExecute {
			return u
		}
		shown[v.ToolCallID] = ""
		v.Meta = withMeta(v.Meta, "terminal_info", terminalInfo{v.ToolCallID, commandDir(v.RawInput, dir)})
		v.Content = append(v.Content, acp.Terminal{TerminalID: acp.TerminalID(v.ToolCallID)})
		return v
	case acp.ToolCallUpdate:
		before, ours := shown[v.ToolCallID]
		if !ours {
			return u
		}
		return displayed(v, shown, before)
	default:
		return u
	}
}

func displayed(u acp.ToolCallUpdate, shown display, before string) acp.SessionUpdate {
	settled := u.Status != nil && (*u.Status == acp.StatusCompleted || *u.Status == acp.StatusFailed)
	var end terminalEnd
	ran := settled && json.Unmarshal(u.RawOutput, &end) == nil
	if text := contentText(u.Content); text != "" && (ran || !settled) {
		if more := appended(before, text); more != "" {
			u.Meta = withMeta(u.Meta, "terminal_output", terminalOutput{u.ToolCallID, more})
			shown[u.ToolCallID] = before + more
		}
		u.Content = nil // the terminal stays
	}
	if settled {
		delete(shown, u.ToolCallID)
		exit := terminalExit{ID: u.ToolCallID}
		if ran && end.Exit >= 0 {
			exit.Code = &end.Exit
		}
		if ran && end.Signal != "" {
			exit.Signal = &end.Signal
		}
		u.Meta = withMeta(u.Meta, "terminal_exit", exit)
	}
	return u
}

// What the _meta of display-only terminals holds.
type (
	terminalInfo struct {
		ID  acp.ToolCallID `json:"terminal_id"`
		Cwd string         `json:"cwd"`
	}
	terminalOutput struct {
		ID   acp.ToolCallID `json:"terminal_id"`
		Data string         `json:"data"`
	}
	terminalExit struct {
		ID     acp.ToolCallID `json:"terminal_id"`
		Code   *int           `json:"exit_code"`
		Signal *string        `json:"signal"`
	}
)

// terminalEnd is what a command's raw output says of its end.
type terminalEnd struct {
	Exit   int    `json:"exit"`
	Signal string `json:"signal"`
}

func withMeta(meta map[string]json.RawMessage, key string, value any) map[string]json.RawMessage {
	raw, err := json.Marshal(value)
	if err != nil {
		return meta
	}
	meta = maps.Clone(meta)
	if meta == nil {
		meta = make(map[string]json.RawMessage, 1)
	}
	meta[key] = raw
	return meta
}

// commandDir is the folder that a command's arguments name.
func commandDir(args json.RawMessage, dir string) string {
	var in struct {
		Cwd string `json:"cwd"`
	}
	if err := json.Unmarshal(args, &in); err != nil || in.Cwd == "" {
		return dir
	}
	if filepath.IsAbs(in.Cwd) {
		return filepath.Clean(in.Cwd)
	}
	return filepath.Join(dir, in.Cwd)
}

func contentText(content acp.ToolCallContents) string {
	var out strings.Builder
	for _, c := range content {
		if item, ok := c.(acp.ContentItem); ok {
			if text, ok := item.Content.(acp.TextContent); ok {
				out.WriteString(text.Text)
			}
		}
	}
	return out.String()
}

// anchorBytes is how much of what was shown is looked for in what is to be shown.
const anchorBytes = 256

// appended is what has to be added to what a terminal has shown, so that it shows the text too: the whole output so
// far, or its last lines. Where they do not meet, a line says that something is missing.
func appended(before, text string) string {
	if rest, ok := strings.CutPrefix(text, before); ok {
		return rest
	}
	anchor := before[max(0, len(before)-anchorBytes):]
	if i := strings.LastIndex(text, anchor); i >= 0 {
		return text[i+len(anchor):]
	}
	for n := min(len(before), len(text)); n > 0; n-- {
		if strings.HasSuffix(before, text[:n]) {
			return text[n:]
		}
	}
	gap := "[…]\n"
	if !strings.HasSuffix(before, "\n") {
		gap = "\n" + gap
	}
	return gap + text
}
