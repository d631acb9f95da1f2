package acp

import "encoding/json"

// RequestPermissionRequest asks the person whether a tool call may go on.
type RequestPermissionRequest struct {
	SessionID SessionID                  `json:"sessionId"`
	ToolCall  ToolCallUpdate             `json:"toolCall"`
	Options   []PermissionOption         `json:"options"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// PermissionOption is an answer the person can give.
type PermissionOption struct {
	OptionID PermissionOptionID         `json:"optionId"`
	Name     string                     `json:"name"`
	Kind     PermissionOptionKind       `json:"kind"`
	Meta     map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// PermissionOptionKind says what an answer means. To remember the "always" ones is up to the agent.
type PermissionOptionKind string

// The kinds of answer.
const (
	PermissionAllowOnce    PermissionOptionKind = "allow_once"
	PermissionAllowAlways  PermissionOptionKind = "allow_always"
	PermissionRejectOnce   PermissionOptionKind = "reject_once"
	PermissionRejectAlways PermissionOptionKind = "reject_always"
)

func (k PermissionOptionKind) known() bool {
	switch k {
	case PermissionAllowOnce, PermissionAllowAlways, PermissionRejectOnce, PermissionRejectAlways:
		return true
	}
	return false
}

// RequestPermissionResponse is the answer to a permission request.
type RequestPermissionResponse struct {
	Outcome RequestPermissionOutcome   `json:"outcome"`
	Meta    map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// RequestPermissionOutcome is what the person did: [Selected], [Cancelled] or [RawPermissionOutcome]. Only a
// Selected with an id that was offered can be a yes.
//
//sumtype:decl
type RequestPermissionOutcome interface{ requestPermissionOutcome() }

// Selected says which option was chosen.
type Selected struct {
	OptionID PermissionOptionID         `json:"optionId"`
	Meta     map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// Cancelled says that the turn was cancelled before an option was chosen.
type Cancelled struct{}

// RawPermissionOutcome is an outcome this package does not know. It is never a yes.
type RawPermissionOutcome struct {
	Outcome string          `json:"-"`
	Raw     json.RawMessage `json:"-"`
}

func (Selected) requestPermissionOutcome()             {}
func (Cancelled) requestPermissionOutcome()            {}
func (RawPermissionOutcome) requestPermissionOutcome() {}
