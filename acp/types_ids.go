package acp

import (
	"strconv"
)

// ProtocolVersion is the version of the wire protocol. Whatever integer the peer names is passed through.
type ProtocolVersion int

// LatestVersion is the only protocol version this package speaks.
const LatestVersion ProtocolVersion = 1

// Identifiers. All are opaque strings; only the side that made one knows what is in it.
type (
	// SessionID names a session of an agent.
	SessionID string
	// MessageID names a message: chunks with the same id belong together. It is unique in its session.
	MessageID string
	// ToolCallID names a tool call. It is unique in its session.
	ToolCallID string
	// TerminalID names a terminal that the client has created.
	TerminalID string
	// AuthMethodID names a way to log in.
	AuthMethodID string
	// SessionModeID names a mode of a session.
	SessionModeID string
	// SessionConfigID names a configuration option of a session.
	SessionConfigID string
	// SessionConfigValueID names a value of a configuration option.
	SessionConfigValueID string
	// SessionConfigGroupID names a group of values of a configuration option.
	SessionConfigGroupID string
	// PermissionOptionID names an answer to a permission request.
	PermissionOptionID string
	// ElicitationID names an elicitation by URL.
	ElicitationID string
	// CompactionID names one compaction of a session's context.
	CompactionID string
)

// Role says whom content is for.
type Role string

// The roles.
const (
	RoleAssistant Role = "assistant"
	RoleUser      Role = "user"
)

func (r Role) known() bool { return r == RoleAssistant || r == RoleUser }

// RequestID is the id of a JSON-RPC request: an integer, a string or, in its zero value, null. It is comparable.
type RequestID struct {
	kind idKind
	num  int64
	str  string
}

type idKind uint8

const (
	idNull idKind = iota
	idNumber
	idString
)

// NumberID is the request id that is the integer n.
func NumberID(n int64) RequestID { return RequestID{kind: idNumber, num: n} }

// StringID is the request id that is the string s.
func StringID(s string) RequestID { return RequestID{kind: idString, str: s} }

// IsNull reports whether the id is null.
func (id RequestID) IsNull() bool { return id.kind == idNull }

// Number returns the id as an integer and whether it is one.
func (id RequestID) Number() (int64, bool) { return id.num, id.kind == idNumber }

// Text returns the id as a string and whether it is one.
func (id RequestID) Text() (string, bool) { return id.str, id.kind == idString }

// String writes the id as JSON, so that 1 and "1" look different in a log.
func (id RequestID) String() string { return string(id.appendJSON(nil)) }

// MarshalJSON implements [encoding/json.Marshaler].
func (id RequestID) MarshalJSON() ([]byte, error) { return id.appendJSON(nil), nil }

// UnmarshalJSON implements [encoding/json.Unmarshaler]. An id that is no integer, string or null is an error.
func (id *RequestID) UnmarshalJSON(b []byte) error { return unmarshal(b, id) }

func (id RequestID) appendJSON(dst []byte) []byte {
	switch id.kind {
	case idNumber:
		return strconv.AppendInt(dst, id.num, 10)
	case idString:
		return appendString(dst, id.str)
	case idNull:
	}
	return append(dst, "null"...)
}
