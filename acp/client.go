package acp

import (
	"context"
	"encoding/json"
	"io"
	"strings"
)

// Client is the client's side of ACP, as a program implements it. What a client offers beyond this it says by its
// capabilities and by implementing the small interfaces below.
type Client interface {
	// SessionUpdate takes the next update. It is called in the reader's goroutine: updates come in order, those before
	// a response are taken before the call for it returns, and one that blocks holds up the agent. It must not call
	// the agent.
	SessionUpdate(context.Context, *SessionNotification) error
	// RequestPermission asks the person, in a goroutine of its own. Its context ends when the agent no longer wants
	// to know.
	RequestPermission(context.Context, *RequestPermissionRequest) (*RequestPermissionResponse, error)
}

// The optional methods of a client.
type (
	// FileReader serves fs/read_text_file.
	FileReader interface {
		ReadTextFile(context.Context, *ReadTextFileRequest) (*ReadTextFileResponse, error)
	}
	// FileWriter serves fs/write_text_file.
	FileWriter interface {
		WriteTextFile(context.Context, *WriteTextFileRequest) (*WriteTextFileResponse, error)
	}
	// TerminalHost serves terminal/*.
	TerminalHost interface {
		CreateTerminal(context.Context, *CreateTerminalRequest) (*CreateTerminalResponse, error)
		TerminalOutput(context.Context, *TerminalOutputRequest) (*TerminalOutputResponse, error)
		WaitForTerminalExit(context.Context, *WaitForTerminalExitRequest) (*WaitForTerminalExitResponse, error)
		KillTerminal(context.Context, *KillTerminalRequest) (*KillTerminalResponse, error)
		ReleaseTerminal(context.Context, *ReleaseTerminalRequest) (*ReleaseTerminalResponse, error)
	}
	// Elicitor serves elicitation/create.
	Elicitor interface {
		CreateElicitation(context.Context, *CreateElicitationRequest) (*CreateElicitationResponse, error)
	}
	// ElicitationObserver hears of elicitation/complete, in the reader's goroutine.
	ElicitationObserver interface {
		CompleteElicitation(context.Context, *CompleteElicitationNotification) error
	}
)

// AgentConn is the agent as a client sees it. Its methods may be called from any goroutine and block until the agent
// has answered; when their context ends before, the agent is sent $/cancel_request and they return at once. The agent's
// refusals are of type *Error.
type AgentConn struct{ conn *conn }

// Dial begins to speak ACP on rwc, to the agent at its other end, until ctx ends or Close. Call Initialize first.
func Dial(ctx context.Context, rwc io.ReadWriteCloser, client Client, o Options) *AgentConn {
	c := newConn(ctx, rwc, o)
	c.requests, c.notifications = clientMethods(client, c)
	if ext, ok := client.(Extender); ok {
		c.fallback = func(method string) accept {
			if !strings.HasPrefix(method, "_") {
				return nil
			}
			return func(params json.RawMessage) (job, error) {
				return job{run: func(ctx context.Context) (any, error) { return ext.Extension(ctx, method, params) }}, nil
			}
		}
	}
	c.start(ctx)
	return &AgentConn{conn: c}
}

func clientMethods(client Client, c *conn) (map[string]accept, map[string]func(json.RawMessage) error) {
	requests := map[string]accept{"session/request_permission": plain(client.RequestPermission)}
	if v, ok := client.(FileReader); ok {
		requests["fs/read_text_file"] = plain(v.ReadTextFile)
	}
	if v, ok := client.(FileWriter); ok {
		requests["fs/write_text_file"] = plain(v.WriteTextFile)
	}
	if v, ok := client.(TerminalHost); ok {
		requests["terminal/create"] = plain(v.CreateTerminal)
		requests["terminal/output"] = plain(v.TerminalOutput)
		requests["terminal/wait_for_exit"] = plain(v.WaitForTerminalExit)
		requests["terminal/kill"] = plain(v.KillTerminal)
		requests["terminal/release"] = plain(v.ReleaseTerminal)
	}
	if v, ok := client.(Elicitor); ok {
		requests["elicitation/create"] = plain(v.CreateElicitation)
	}
	for method, take := range requests {
		requests[method] = ending(take)
	}
	notes := map[string]func(json.RawMessage) error{"session/update": observe(c, client.SessionUpdate)}
	if v, ok := client.(ElicitationObserver); ok {
		notes["elicitation/complete"] = observe(c, v.CompleteElicitation)
	}
	return requests, notes
}

func observe[P any](c *conn, take func(context.Context, *P) error) func(json.RawMessage) error {
	return func(params json.RawMessage) error {
		p, err := decodeParams[P](params)
		if err != nil {
			return err
		}
		return take(c.base, p)
	}
}

// Close ends the connection, and with it the agent, if it is one that ends with its input. It waits for requests of
// the agent's that are under way.
func (a *AgentConn) Close() error {
	a.conn.close()
	return a.conn.wait()
}

// Done is closed when the connection is over.
func (a *AgentConn) Done() <-chan struct{} { return a.conn.rpc.DisconnectNotify() }

func tell[R any](ctx context.Context, a *AgentConn, method string, params any) (*R, error) {
	result := new(R)
	if err := a.conn.call(ctx, method, params, result); err != nil {
		return nil, err
	}
	return result, nil
}

// Initialize negotiates version and capabilities. The caller checks the version that the agent chose.
func (a *AgentConn) Initialize(ctx context.Context, r *InitializeRequest) (*InitializeResponse, error) {
	return tell[InitializeResponse](ctx, a, "initialize", r)
}

// Authenticate logs in by one of the agent's methods, but not by one of type terminal.
func (a *AgentConn) Authenticate(ctx context.Context, r *AuthenticateRequest) (*AuthenticateResponse, error) {
	return tell[AuthenticateResponse](ctx, a, "authenticate", r)
}

// Logout forgets the login.
func (a *AgentConn) Logout(ctx context.Context, r *LogoutRequest) (*LogoutResponse, error) {
	return tell[LogoutResponse](ctx, a, "logout", r)
}

// NewSession opens a session.
func (a *AgentConn) NewSession(ctx context.Context, r *NewSessionRequest) (*NewSessionResponse, error) {
	return tell[NewSessionResponse](ctx, a, "session/new", r)
}

// LoadSession opens a stored session; its history comes as updates before this returns.
func (a *AgentConn) LoadSession(ctx context.Context, r *LoadSessionRequest) (*LoadSessionResponse, error) {
	return tell[LoadSessionResponse](ctx, a, "session/load", r)
}

// ResumeSession opens a stored session without its history.
func (a *AgentConn) ResumeSession(ctx context.Context, r *ResumeSessionRequest) (*ResumeSessionResponse, error) {
	return tell[ResumeSessionResponse](ctx, a, "session/resume", r)
}

// ListSessions lists stored sessions, a page at a time.
func (a *AgentConn) ListSessions(ctx context.Context, r *ListSessionsRequest) (*ListSessionsResponse, error) {
	return tell[ListSessionsResponse](ctx, a, "session/list", r)
}

// CloseSession ends a session's turns and frees it.
func (a *AgentConn) CloseSession(ctx context.Context, r *CloseSessionRequest) (*CloseSessionResponse, error) {
	return tell[CloseSessionResponse](ctx, a, "session/close", r)
}

// DeleteSession forgets a stored session.
func (a *AgentConn) DeleteSession(ctx context.Context, r *DeleteSessionRequest) (*DeleteSessionResponse, error) {
	return tell[DeleteSessionResponse](ctx, a, "session/delete", r)
}

// Prompt plays a turn and returns its stop reason. To end it early use Cancel, and wait on.
func (a *AgentConn) Prompt(ctx context.Context, r *PromptRequest) (*PromptResponse, error) {
	return tell[PromptResponse](ctx, a, "session/prompt", r)
}

// Cancel ends the session's turns. It does not wait for them.
func (a *AgentConn) Cancel(_ context.Context, n *CancelNotification) error {
	return a.conn.notify("session/cancel", n)
}

// SetSessionMode changes a session's mode.
func (a *AgentConn) SetSessionMode(ctx context.Context, r *SetSessionModeRequest) (*SetSessionModeResponse, error) {
	return tell[SetSessionModeResponse](ctx, a, "session/set_mode", r)
}

// SetSessionConfigOption changes an option of a session's; the response has all of them.
func (a *AgentConn) SetSessionConfigOption(ctx context.Context, r *SetSessionConfigOptionRequest) (*SetSessionConfigOptionResponse, error) {
	return tell[SetSessionConfigOptionResponse](ctx, a, "session/set_config_option", r)
}
