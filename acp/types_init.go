package acp

import "encoding/json"

// InitializeRequest opens a connection: the client says what it speaks and what it can do.
type InitializeRequest struct {
	ProtocolVersion    ProtocolVersion            `json:"protocolVersion"`
	ClientCapabilities ClientCapabilities         `json:"clientCapabilities,omitzero" acp:"lenient"`
	ClientInfo         *Implementation            `json:"clientInfo,omitzero" acp:"lenient"`
	Meta               map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// InitializeResponse answers [InitializeRequest] with the version to speak and what the agent can do.
type InitializeResponse struct {
	ProtocolVersion   ProtocolVersion            `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities          `json:"agentCapabilities,omitzero" acp:"lenient"`
	AuthMethods       AuthMethods                `json:"authMethods,omitzero" acp:"lenient,skip"`
	AgentInfo         *Implementation            `json:"agentInfo,omitzero" acp:"lenient"`
	Meta              map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// Implementation names a program: an agent or a client.
type Implementation struct {
	Name    string                     `json:"name"`
	Title   string                     `json:"title,omitzero" acp:"lenient"`
	Version string                     `json:"version"`
	Meta    map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ClientCapabilities says what an agent may ask of its client. What is absent, false or malformed is not offered.
type ClientCapabilities struct {
	FS          FileSystemCapabilities     `json:"fs,omitzero" acp:"lenient"`
	Terminal    bool                       `json:"terminal,omitzero" acp:"lenient"`
	Session     *ClientSessionCapabilities `json:"session,omitzero" acp:"lenient"`
	Auth        AuthCapabilities           `json:"auth,omitzero" acp:"lenient"`
	Elicitation *ElicitationCapabilities   `json:"elicitation,omitzero" acp:"lenient"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// FileSystemCapabilities says which file methods a client has.
type FileSystemCapabilities struct {
	ReadTextFile  bool                       `json:"readTextFile,omitzero" acp:"lenient"`
	WriteTextFile bool                       `json:"writeTextFile,omitzero" acp:"lenient"`
	Meta          map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ClientSessionCapabilities says what of a session a client can show.
type ClientSessionCapabilities struct {
	Compaction    *CompactionCapabilities           `json:"compaction,omitzero" acp:"lenient"`
	ConfigOptions *SessionConfigOptionsCapabilities `json:"configOptions,omitzero" acp:"lenient"`
	Notices       *NoticeCapabilities               `json:"notices,omitzero" acp:"lenient"`
	Meta          map[string]json.RawMessage        `json:"_meta,omitempty" acp:"lenient"`
}

// CompactionCapabilities lets an agent send [CompactionUpdate] and [CompactionSummaryChunk], when present.
type CompactionCapabilities struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// NoticeCapabilities lets an agent send [Notice], when present.
type NoticeCapabilities struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SessionConfigOptionsCapabilities says which kinds of configuration option a client knows besides the select.
type SessionConfigOptionsCapabilities struct {
	Boolean *BooleanConfigOptionCapabilities `json:"boolean,omitzero" acp:"lenient"`
	Meta    map[string]json.RawMessage       `json:"_meta,omitempty" acp:"lenient"`
}

// BooleanConfigOptionCapabilities lets an agent offer a [SessionConfigBoolean], when present.
type BooleanConfigOptionCapabilities struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// AuthCapabilities says which ways to log in a client can carry out.
type AuthCapabilities struct {
	Terminal bool                       `json:"terminal,omitzero" acp:"lenient"`
	Meta     map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ElicitationCapabilities says which elicitations a client can show. An empty object offers none.
type ElicitationCapabilities struct {
	Form *ElicitationFormCapabilities `json:"form,omitzero" acp:"lenient"`
	URL  *ElicitationURLCapabilities  `json:"url,omitzero" acp:"lenient"`
	Meta map[string]json.RawMessage   `json:"_meta,omitempty" acp:"lenient"`
}

// ElicitationFormCapabilities lets an agent ask by form, when present.
type ElicitationFormCapabilities struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ElicitationURLCapabilities lets an agent send the person to a URL, when present.
type ElicitationURLCapabilities struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// AgentCapabilities says what a client may ask of the agent. What is absent, false or malformed is not offered.
type AgentCapabilities struct {
	LoadSession         bool                       `json:"loadSession,omitzero" acp:"lenient"`
	PromptCapabilities  PromptCapabilities         `json:"promptCapabilities,omitzero" acp:"lenient"`
	MCPCapabilities     MCPCapabilities            `json:"mcpCapabilities,omitzero" acp:"lenient"`
	SessionCapabilities SessionCapabilities        `json:"sessionCapabilities,omitzero" acp:"lenient"`
	Auth                AgentAuthCapabilities      `json:"auth,omitzero" acp:"lenient"`
	Meta                map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// PromptCapabilities says which content an agent takes in a prompt besides text and resource links.
type PromptCapabilities struct {
	Image           bool                       `json:"image,omitzero" acp:"lenient"`
	Audio           bool                       `json:"audio,omitzero" acp:"lenient"`
	EmbeddedContext bool                       `json:"embeddedContext,omitzero" acp:"lenient"`
	Meta            map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// MCPCapabilities says which MCP servers an agent can reach besides those on stdio.
type MCPCapabilities struct {
	HTTP bool                       `json:"http,omitzero" acp:"lenient"`
	SSE  bool                       `json:"sse,omitzero" acp:"lenient"`
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SessionCapabilities says which session methods an agent has besides new, prompt and cancel.
type SessionCapabilities struct {
	List                  *SessionListCapabilities                  `json:"list,omitzero" acp:"lenient"`
	Delete                *SessionDeleteCapabilities                `json:"delete,omitzero" acp:"lenient"`
	AdditionalDirectories *SessionAdditionalDirectoriesCapabilities `json:"additionalDirectories,omitzero" acp:"lenient"`
	Resume                *SessionResumeCapabilities                `json:"resume,omitzero" acp:"lenient"`
	Close                 *SessionCloseCapabilities                 `json:"close,omitzero" acp:"lenient"`
	Meta                  map[string]json.RawMessage                `json:"_meta,omitempty" acp:"lenient"`
}

// SessionListCapabilities offers session/list, when present.
type SessionListCapabilities struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SessionDeleteCapabilities offers session/delete, when present.
type SessionDeleteCapabilities struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SessionAdditionalDirectoriesCapabilities offers sessions with more than one root, when present.
type SessionAdditionalDirectoriesCapabilities struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SessionResumeCapabilities offers session/resume, when present.
type SessionResumeCapabilities struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SessionCloseCapabilities offers session/close, when present.
type SessionCloseCapabilities struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// AgentAuthCapabilities says what an agent offers around logging in.
type AgentAuthCapabilities struct {
	Logout *LogoutCapabilities        `json:"logout,omitzero" acp:"lenient"`
	Meta   map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// LogoutCapabilities offers logout, when present.
type LogoutCapabilities struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}
