package acp

import "encoding/json"

// ToolCall announces a tool call. A Kind or Status that is empty means [KindOther] or [StatusPending].
type ToolCall struct {
	ToolCallID ToolCallID                 `json:"toolCallId"`
	Title      string                     `json:"title"`
	Name       string                     `json:"name,omitzero" acp:"lenient"`
	Kind       ToolKind                   `json:"kind,omitzero" acp:"lenient"`
	Status     ToolCallStatus             `json:"status,omitzero" acp:"lenient"`
	Content    ToolCallContents           `json:"content,omitzero" acp:"lenient,skip"`
	Locations  []ToolCallLocation         `json:"locations,omitzero" acp:"lenient,skip"`
	RawInput   json.RawMessage            `json:"rawInput,omitzero" acp:"lenient"`
	RawOutput  json.RawMessage            `json:"rawOutput,omitzero" acp:"lenient"`
	Meta       map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ToolCallUpdate changes a tool call. What is nil stays as it is; a list that is not nil replaces the one before.
type ToolCallUpdate struct {
	ToolCallID ToolCallID                 `json:"toolCallId"`
	Kind       *ToolKind                  `json:"kind,omitzero" acp:"lenient"`
	Status     *ToolCallStatus            `json:"status,omitzero" acp:"lenient"`
	Title      *string                    `json:"title,omitzero" acp:"lenient"`
	Name       *string                    `json:"name,omitzero" acp:"lenient"`
	Content    ToolCallContents           `json:"content,omitzero" acp:"lenient,skip"`
	Locations  []ToolCallLocation         `json:"locations,omitzero" acp:"lenient,skip"`
	RawInput   json.RawMessage            `json:"rawInput,omitzero" acp:"lenient"`
	RawOutput  json.RawMessage            `json:"rawOutput,omitzero" acp:"lenient"`
	Meta       map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ToolKind is the kind of thing a tool does.
type ToolKind string

// The kinds of tool.
const (
	KindRead       ToolKind = "read"
	KindEdit       ToolKind = "edit"
	KindDelete     ToolKind = "delete"
	KindMove       ToolKind = "move"
	KindSearch     ToolKind = "search"
	KindExecute    ToolKind = "execute"
	KindThink      ToolKind = "think"
	KindFetch      ToolKind = "fetch"
	KindSwitchMode ToolKind = "switch_mode"
	KindOther      ToolKind = "other"
)

func (k ToolKind) known() bool {
	switch k {
	case KindRead, KindEdit, KindDelete, KindMove, KindSearch, KindExecute, KindThink, KindFetch, KindSwitchMode, KindOther:
		return true
	}
	return false
}

// ToolCallStatus says how far a tool call is. There is none for a cancelled one: it has failed.
type ToolCallStatus string

// The states of a tool call.
const (
	StatusPending    ToolCallStatus = "pending"
	StatusInProgress ToolCallStatus = "in_progress"
	StatusCompleted  ToolCallStatus = "completed"
	StatusFailed     ToolCallStatus = "failed"
)

func (s ToolCallStatus) known() bool {
	switch s {
	case StatusPending, StatusInProgress, StatusCompleted, StatusFailed:
		return true
	}
	return false
}

// ToolCallLocation is a place a tool call works on. Line counts from 1.
type ToolCallLocation struct {
	Path string                     `json:"path"`
	Line *uint32                    `json:"line,omitzero" acp:"lenient"`
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ToolCallContent is what a tool call has to show: [ContentItem], [Diff], [Terminal] or [RawToolCallContent].
//
//sumtype:decl
type ToolCallContent interface{ toolCallContent() }

// ToolCallContents is a list of things to show.
type ToolCallContents []ToolCallContent

// ContentItem shows a piece of content. The schema calls it Content.
type ContentItem struct {
	Content ContentBlock               `json:"content"`
	Meta    map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// Diff shows a change of the file at Path, which is absolute. A nil OldText means that the file is new.
type Diff struct {
	Path    string                     `json:"path"`
	OldText *string                    `json:"oldText,omitzero" acp:"lenient"`
	NewText string                     `json:"newText"`
	Meta    map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// Terminal shows a terminal of the client, live.
type Terminal struct {
	TerminalID TerminalID                 `json:"terminalId"`
	Meta       map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// RawToolCallContent is something to show of a type this package does not know.
type RawToolCallContent struct {
	Type string          `json:"-"`
	Raw  json.RawMessage `json:"-"`
}

func (ContentItem) toolCallContent()        {}
func (Diff) toolCallContent()               {}
func (Terminal) toolCallContent()           {}
func (RawToolCallContent) toolCallContent() {}
