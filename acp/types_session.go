package acp

import (
	"context"
	"encoding/json"
)

// NewSessionRequest asks for a new session. Cwd and AdditionalDirectories are its roots; all are absolute paths.
type NewSessionRequest struct {
	Cwd                   string                     `json:"cwd" acp:"abs"`
	AdditionalDirectories []string                   `json:"additionalDirectories,omitzero" acp:"null,abs"`
	MCPServers            MCPServers                 `json:"mcpServers" acp:"null,absent"`
	Meta                  map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// NewSessionResponse names the new session.
type NewSessionResponse struct {
	SessionID     SessionID                  `json:"sessionId"`
	Modes         *SessionModeState          `json:"modes,omitzero" acp:"lenient"`
	ConfigOptions SessionConfigOptions       `json:"configOptions,omitzero" acp:"lenient,skip"`
	Meta          map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`

	// Then, if set, is run by the connection right after the line with this response has been written.
	Then func(context.Context) `json:"-"`
}

// LoadSessionRequest asks for an earlier session and a replay of its history.
type LoadSessionRequest struct {
	SessionID             SessionID                  `json:"sessionId"`
	Cwd                   string                     `json:"cwd" acp:"abs"`
	AdditionalDirectories []string                   `json:"additionalDirectories,omitzero" acp:"null,abs"`
	MCPServers            MCPServers                 `json:"mcpServers" acp:"null,absent"`
	Meta                  map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// LoadSessionResponse says that the session is loaded; its history has been sent before.
type LoadSessionResponse struct {
	Modes         *SessionModeState          `json:"modes,omitzero" acp:"lenient"`
	ConfigOptions SessionConfigOptions       `json:"configOptions,omitzero" acp:"lenient,skip"`
	Meta          map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`

	// Then, if set, is run by the connection right after the line with this response has been written.
	Then func(context.Context) `json:"-"`
}

// ResumeSessionRequest asks for an earlier session without a replay of its history.
type ResumeSessionRequest struct {
	SessionID             SessionID                  `json:"sessionId"`
	Cwd                   string                     `json:"cwd" acp:"abs"`
	AdditionalDirectories []string                   `json:"additionalDirectories,omitzero" acp:"null,abs"`
	MCPServers            MCPServers                 `json:"mcpServers,omitzero" acp:"null"`
	Meta                  map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ResumeSessionResponse says that the session goes on.
type ResumeSessionResponse struct {
	Modes         *SessionModeState          `json:"modes,omitzero" acp:"lenient"`
	ConfigOptions SessionConfigOptions       `json:"configOptions,omitzero" acp:"lenient,skip"`
	Meta          map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`

	// Then, if set, is run by the connection right after the line with this response has been written.
	Then func(context.Context) `json:"-"`
}

// ListSessionsRequest asks for a page of the sessions an agent knows, of one directory if Cwd is set. Cursor is the
// NextCursor of the page before.
type ListSessionsRequest struct {
	Cwd    *string                    `json:"cwd,omitzero" acp:"abs"`
	Cursor *string                    `json:"cursor,omitzero"`
	Meta   map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// ListSessionsResponse is a page of sessions. There are more if NextCursor is set.
type ListSessionsResponse struct {
	Sessions   []SessionInfo              `json:"sessions" acp:"lenient,skip"`
	NextCursor *string                    `json:"nextCursor,omitzero" acp:"lenient"`
	Meta       map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SessionInfo describes a session in a list. UpdatedAt is a time in ISO 8601.
type SessionInfo struct {
	SessionID             SessionID                  `json:"sessionId"`
	Cwd                   string                     `json:"cwd"`
	AdditionalDirectories []string                   `json:"additionalDirectories,omitzero" acp:"lenient,skip"`
	Title                 string                     `json:"title,omitzero" acp:"lenient"`
	UpdatedAt             string                     `json:"updatedAt,omitzero" acp:"lenient"`
	Meta                  map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// DeleteSessionRequest asks the agent to forget a session. An unknown one is no error.
type DeleteSessionRequest struct {
	SessionID SessionID                  `json:"sessionId"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// DeleteSessionResponse says that the session is gone.
type DeleteSessionResponse struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// CloseSessionRequest asks the agent to cancel what a session does and to free it.
type CloseSessionRequest struct {
	SessionID SessionID                  `json:"sessionId"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// CloseSessionResponse says that the session is closed.
type CloseSessionResponse struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SetSessionModeRequest puts a session in another mode.
type SetSessionModeRequest struct {
	SessionID SessionID                  `json:"sessionId"`
	ModeID    SessionModeID              `json:"modeId"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SetSessionModeResponse says that the session is in the mode asked for.
type SetSessionModeResponse struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SessionModeState is the mode a session is in and those it can be put in.
type SessionModeState struct {
	CurrentModeID  SessionModeID              `json:"currentModeId"`
	AvailableModes []SessionMode              `json:"availableModes" acp:"lenient,skip"`
	Meta           map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// SessionMode is a way an agent can work.
type SessionMode struct {
	ID          SessionModeID              `json:"id"`
	Name        string                     `json:"name"`
	Description string                     `json:"description,omitzero" acp:"lenient"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}
