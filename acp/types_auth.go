package acp

import "encoding/json"

// AuthMethod is a way to log in: [AuthMethodAgent], [AuthMethodTerminal] or [RawAuthMethod].
//
//sumtype:decl
type AuthMethod interface{ authMethod() }

// AuthMethods is a list of ways to log in.
type AuthMethods []AuthMethod

// AuthMethodAgent is carried out by the agent itself when the client calls authenticate.
type AuthMethodAgent struct {
	ID          AuthMethodID               `json:"id"`
	Name        string                     `json:"name"`
	Description string                     `json:"description,omitzero" acp:"lenient"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// AuthMethodTerminal is carried out by the client: it runs the agent's command with Args and Env added in a terminal
// and waits for exit code 0. It may be offered only where [AuthCapabilities] has Terminal.
type AuthMethodTerminal struct {
	ID          AuthMethodID               `json:"id"`
	Name        string                     `json:"name"`
	Description string                     `json:"description,omitzero" acp:"lenient"`
	Args        []string                   `json:"args,omitzero" acp:"null"`
	Env         map[string]string          `json:"env,omitzero" acp:"null"`
	Meta        map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// RawAuthMethod is a way to log in of a type this package does not know.
type RawAuthMethod struct {
	Type string          `json:"-"`
	Raw  json.RawMessage `json:"-"`
}

func (AuthMethodAgent) authMethod()    {}
func (AuthMethodTerminal) authMethod() {}
func (RawAuthMethod) authMethod()      {}

// AuthenticateRequest asks the agent to log in by a method it has offered.
type AuthenticateRequest struct {
	MethodID AuthMethodID               `json:"methodId"`
	Meta     map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// AuthenticateResponse says that the login worked.
type AuthenticateResponse struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// LogoutRequest asks the agent to forget its login.
type LogoutRequest struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// LogoutResponse says that the login is forgotten.
type LogoutResponse struct {
	Meta map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}

// CancelRequestNotification asks the side that is working on a request to stop. Either side may send it.
type CancelRequestNotification struct {
	RequestID RequestID                  `json:"requestId"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty" acp:"lenient"`
}
