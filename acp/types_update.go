package acp

import "encoding/json"

// SessionNotification tells the client what happens in a session.
type SessionNotification struct {
	SessionID SessionID                  `json:"sessionId"`
	Update    SessionUpdate              `json:"update"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SessionUpdate is one thing that happened: [UserMessageChunk], [AgentMessageChunk], [AgentThoughtChunk], [ToolCall],
// [ToolCallUpdate], [Plan], [AvailableCommandsUpdate], [CurrentModeUpdate], [ConfigOptionUpdate],
// [SessionInfoUpdate], [UsageUpdate], [Notice], [CompactionUpdate], [CompactionSummaryChunk] or [RawUpdate].
// Each encodes with its "sessionUpdate".
//
//sumtype:decl
type SessionUpdate interface{ sessionUpdate() }

// UserMessageChunk is a piece of what the person said.
type UserMessageChunk struct {
	MessageID *MessageID                 `json:"messageId,omitzero" acp:"lenient"`
	Content   ContentBlock               `json:"content"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// AgentMessageChunk is a piece of what the agent says.
type AgentMessageChunk struct {
	MessageID *MessageID                 `json:"messageId,omitzero" acp:"lenient"`
	Content   ContentBlock               `json:"content"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// AgentThoughtChunk is a piece of what the agent thinks.
type AgentThoughtChunk struct {
	MessageID *MessageID                 `json:"messageId,omitzero" acp:"lenient"`
	Content   ContentBlock               `json:"content"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// Plan is what the agent means to do. It replaces the plan before.
type Plan struct {
	Entries []PlanEntry                `json:"entries" acp:"lenient,skip"`
	Meta    map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// AvailableCommandsUpdate holds the slash commands of the session. It replaces the list before.
type AvailableCommandsUpdate struct {
	AvailableCommands []AvailableCommand         `json:"availableCommands" acp:"lenient,skip"`
	Meta              map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// CurrentModeUpdate says which mode the session is in now.
type CurrentModeUpdate struct {
	CurrentModeID SessionModeID              `json:"currentModeId"`
	Meta          map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ConfigOptionUpdate holds all settings of the session as they are now.
type ConfigOptionUpdate struct {
	ConfigOptions SessionConfigOptions       `json:"configOptions" acp:"lenient,skip"`
	Meta          map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SessionInfoUpdate changes what is known of a session. What is absent stays as it is, what is null is cleared.
type SessionInfoUpdate struct {
	Title     Opt[string]                `json:"title,omitzero" acp:"lenient"`
	UpdatedAt Opt[string]                `json:"updatedAt,omitzero" acp:"lenient"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// UsageUpdate says how many tokens are in context, how many fit, and what the session has cost so far.
type UsageUpdate struct {
	Used uint64                     `json:"used"`
	Size uint64                     `json:"size"`
	Cost *Cost                      `json:"cost,omitzero" acp:"lenient"`
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// Notice is a message about the session that is shown once. It needs [NoticeCapabilities].
type Notice struct {
	Severity    NoticeSeverity             `json:"severity"`
	Title       string                     `json:"title"`
	Description string                     `json:"description,omitzero" acp:"lenient"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// CompactionUpdate shows or changes a compaction of the context. What is absent stays as it is, what is null is
// cleared. It needs [CompactionCapabilities].
type CompactionUpdate struct {
	CompactionID CompactionID               `json:"compactionId"`
	Status       CompactionStatus           `json:"status"`
	Summary      Opt[ContentBlocks]         `json:"summary,omitzero" acp:"lenient,skip"`
	Error        Opt[string]                `json:"error,omitzero" acp:"lenient"`
	Meta         map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// CompactionSummaryChunk is a piece of a compaction's summary. It needs [CompactionCapabilities].
type CompactionSummaryChunk struct {
	CompactionID CompactionID               `json:"compactionId"`
	Content      ContentBlock               `json:"content"`
	Meta         map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// RawUpdate is an update this package does not know.
type RawUpdate struct {
	SessionUpdate string          `json:"-"`
	Raw           json.RawMessage `json:"-"`
}

func (UserMessageChunk) sessionUpdate()        {}
func (AgentMessageChunk) sessionUpdate()       {}
func (AgentThoughtChunk) sessionUpdate()       {}
func (ToolCall) sessionUpdate()                {}
func (ToolCallUpdate) sessionUpdate()          {}
func (Plan) sessionUpdate()                    {}
func (AvailableCommandsUpdate) sessionUpdate() {}
func (CurrentModeUpdate) sessionUpdate()       {}
func (ConfigOptionUpdate) sessionUpdate()      {}
func (SessionInfoUpdate) sessionUpdate()       {}
func (UsageUpdate) sessionUpdate()             {}
func (Notice) sessionUpdate()                  {}
func (CompactionUpdate) sessionUpdate()        {}
func (CompactionSummaryChunk) sessionUpdate()  {}
func (RawUpdate) sessionUpdate()               {}
