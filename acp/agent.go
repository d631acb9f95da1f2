package acp

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync/atomic"
	"time"
)

// Agent is the agent's side of ACP, as a program implements it. Initialize, Cancel and the functions that return work
// are called in the reader's goroutine, in the order in which the client sent them, and must not block; everything
// else, the work included, runs in a goroutine of its own and ends soon after its context does.
//
// What an agent does beyond this it says by implementing the small interfaces below; a method of one that it does not
// implement is answered -32601.
type Agent interface {
	// Initialize negotiates version and capabilities. The connection refuses every other request before it.
	Initialize(context.Context, *InitializeRequest) (*InitializeResponse, error)
	// NewSession opens a session. Its response may name what to send right behind it.
	NewSession(context.Context, *NewSessionRequest) (*NewSessionResponse, error)
	// Prompt reserves the session's turn and returns the turn, which ends with a stop reason also when it was
	// cancelled. The turn's context ends with the connection, with the client's input, and by $/cancel_request.
	Prompt(*PromptRequest) (func(context.Context) (*PromptResponse, error), error)
	// Cancel ends the session's turns, waiting ones too. One without turns, or unknown, is ignored.
	Cancel(*CancelNotification)
}

// The optional methods of an agent, each offered by a capability of its InitializeResponse.
type (
	// Loader replays a stored session (loadSession). The work sends the history and then returns.
	Loader interface {
		LoadSession(*LoadSessionRequest) (func(context.Context) (*LoadSessionResponse, error), error)
	}
	// Resumer takes a stored session up without a replay (sessionCapabilities.resume).
	Resumer interface {
		ResumeSession(*ResumeSessionRequest) (func(context.Context) (*ResumeSessionResponse, error), error)
	}
	// Lister lists stored sessions (sessionCapabilities.list).
	Lister interface {
		ListSessions(context.Context, *ListSessionsRequest) (*ListSessionsResponse, error)
	}
	// Closer cancels a session's turns and frees what it holds (sessionCapabilities.close).
	Closer interface {
		CloseSession(*CloseSessionRequest) (func(context.Context) (*CloseSessionResponse, error), error)
	}
	// Deleter forgets a stored session (sessionCapabilities.delete).
	Deleter interface {
		DeleteSession(*DeleteSessionRequest) (func(context.Context) (*DeleteSessionResponse, error), error)
	}
	// Authenticator logs in by one of its authMethods.
	Authenticator interface {
		Authenticate(context.Context, *AuthenticateRequest) (*AuthenticateResponse, error)
	}
	// Logouter forgets the login (auth.logout).
	Logouter interface {
		Logout(context.Context, *LogoutRequest) (*LogoutResponse, error)
	}
	// ModeSetter changes a session's mode, where its sessions have modes. Like Prompt, its method is called in the order
	// in which the requests were read and must not block; what it returns is the work.
	ModeSetter interface {
		SetSessionMode(*SetSessionModeRequest) (func(context.Context) (*SetSessionModeResponse, error), error)
	}
	// ConfigSetter changes a session's options, where its sessions have options. Its method is called as that of ModeSetter.
	ConfigSetter interface {
		SetSessionConfigOption(*SetSessionConfigOptionRequest) (func(context.Context) (*SetSessionConfigOptionResponse, error), error)
	}
	// Extender serves extension methods, whose names begin with an underscore. It returns ErrMethodNotFound, wrapped
	// or not, for those that it does not know.
	Extender interface {
		Extension(ctx context.Context, method string, params json.RawMessage) (any, error)
	}
)

// Serve speaks ACP on rwc, as the agent that bind makes for this connection's client, until the input ends, the peer
// cannot be reached or ctx ends. Then turns are cancelled, other requests are answered, and Serve returns: nil, or what
// broke the connection. It closes rwc. Where that cannot interrupt a read, as with standard input, the read is left
// behind.
func Serve(ctx context.Context, rwc io.ReadWriteCloser, bind func(*ClientConn) Agent, o Options) error {
	c := newConn(ctx, rwc, o)
	client := &ClientConn{conn: c}
	c.requests, c.notifications, c.fallback = agentMethods(bind(client), client)
	c.start(ctx)
	return c.wait()
}

// served gates an agent's methods behind initialize.
type served struct {
	client *ClientConn
	table  map[string]accept
}

func agentMethods(a Agent, client *ClientConn) (map[string]accept, map[string]func(json.RawMessage) error, func(string) accept) {
	s := &served{client: client, table: make(map[string]accept)}
	s.table["initialize"] = func(params json.RawMessage) (job, error) {
		p, err := decodeParams[InitializeRequest](params)
		if err != nil {
			return job{}, err
		}
		client.caps.Store(&p.ClientCapabilities)
		result, err := a.Initialize(client.conn.base, p)
		if err != nil {
			return job{}, err
		}
		client.ready.Store(true)
		return job{done: result}, nil
	}
	add(s, "session/new", plain(a.NewSession))
	add(s, "session/prompt", turn(a.Prompt))
	s.addOptional(a)
	fallback := func(method string) accept {
		ext, ok := a.(Extender)
		if !ok || !strings.HasPrefix(method, "_") {
			return nil
		}
		return s.gated(func(params json.RawMessage) (job, error) {
			return job{run: func(ctx context.Context) (any, error) { return ext.Extension(ctx, method, params) }}, nil
		})
	}
	notes := map[string]func(json.RawMessage) error{
		"session/cancel": func(params json.RawMessage) error {
			p, err := decodeParams[CancelNotification](params)
			if err == nil {
				a.Cancel(p)
			}
			return err
		},
	}
	return s.table, notes, fallback
}

func (s *served) addOptional(a Agent) {
	if v, ok := a.(Loader); ok {
		add(s, "session/load", reserved(v.LoadSession))
	}
	if v, ok := a.(Resumer); ok {
		add(s, "session/resume", reserved(v.ResumeSession))
	}
	if v, ok := a.(Lister); ok {
		add(s, "session/list", plain(v.ListSessions))
	}
	if v, ok := a.(Closer); ok {
		add(s, "session/close", reserved(v.CloseSession))
	}
	if v, ok := a.(Deleter); ok {
		add(s, "session/delete", reserved(v.DeleteSession))
	}
	if v, ok := a.(Authenticator); ok {
		add(s, "authenticate", plain(v.Authenticate))
	}
	if v, ok := a.(Logouter); ok {
		add(s, "logout", plain(v.Logout))
	}
	if v, ok := a.(ModeSetter); ok {
		add(s, "session/set_mode", reserved(v.SetSessionMode))
	}
	if v, ok := a.(ConfigSetter); ok {
		add(s, "session/set_config_option", reserved(v.SetSessionConfigOption))
	}
}

func (s *served) gated(take accept) accept {
	return func(params json.RawMessage) (job, error) {
		if !s.client.ready.Load() {
			return job{}, InvalidRequest("the connection is not initialized: send initialize first")
		}
		return take(params)
	}
}

func add(s *served, method string, take accept) { s.table[method] = s.gated(take) }

// plain makes an accept of a method that is nothing but work.
func plain[P, R any](method func(context.Context, *P) (*R, error)) accept {
	return func(params json.RawMessage) (job, error) {
		p, err := decodeParams[P](params)
		if err != nil {
			return job{}, err
		}
		return job{run: func(ctx context.Context) (any, error) { return known(method(ctx, p)) }}, nil
	}
}

// reserved makes an accept of a method that reserves something before its work.
func reserved[P, R any](method func(*P) (func(context.Context) (*R, error), error)) accept {
	return func(params json.RawMessage) (job, error) {
		p, err := decodeParams[P](params)
		if err != nil {
			return job{}, err
		}
		run, err := method(p)
		if err != nil {
			return job{}, err
		}
		return job{run: func(ctx context.Context) (any, error) { return known(run(ctx)) }}, nil
	}
}

func turn[P, R any](method func(*P) (func(context.Context) (*R, error), error)) accept {
	return ending(reserved(method))
}

// ending makes an accept whose work ends with the peer's input.
func ending(take accept) accept {
	return func(params json.RawMessage) (job, error) {
		j, err := take(params)
		j.ends = true
		return j, err
	}
}

// known makes a missing result an empty object.
func known[R any](result *R, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	if result == nil {
		result = new(R)
	}
	return result, nil
}

func (r *NewSessionResponse) then() func(context.Context)    { return r.Then }
func (r *LoadSessionResponse) then() func(context.Context)   { return r.Then }
func (r *ResumeSessionResponse) then() func(context.Context) { return r.Then }

// ClientConn is the client as an agent sees it. Its methods may be called from any goroutine once the client has sent
// initialize. One that needs a capability which the client has not declared returns ErrNotOffered and sends nothing.
type ClientConn struct {
	conn  *conn
	caps  atomic.Pointer[ClientCapabilities]
	ready atomic.Bool
}

// CallTimeout bounds calls that only a machine answers: files and terminals, but not the wait for a command's exit.
const CallTimeout = 30 * time.Second

// Capabilities are those that the client declared; none before initialize.
func (c *ClientConn) Capabilities() ClientCapabilities {
	if caps := c.caps.Load(); caps != nil {
		return *caps
	}
	return ClientCapabilities{}
}

// SessionUpdate sends an update. It returns when the bytes are written, so a client that does not read holds it up.
func (c *ClientConn) SessionUpdate(_ context.Context, n *SessionNotification) error {
	return c.conn.notify("session/update", n)
}

// RequestPermission asks the person, and waits as long as ctx lasts.
func (c *ClientConn) RequestPermission(ctx context.Context, r *RequestPermissionRequest) (*RequestPermissionResponse, error) {
	return ask[RequestPermissionResponse](ctx, c, "session/request_permission", r, true)
}

// ReadTextFile reads a file as the client has it, unsaved changes included (fs.readTextFile).
func (c *ClientConn) ReadTextFile(ctx context.Context, r *ReadTextFileRequest) (*ReadTextFileResponse, error) {
	ctx, stop := context.WithTimeout(ctx, CallTimeout)
	defer stop()
	return ask[ReadTextFileResponse](ctx, c, "fs/read_text_file", r, c.Capabilities().FS.ReadTextFile)
}

// WriteTextFile writes a file through the client (fs.writeTextFile).
func (c *ClientConn) WriteTextFile(ctx context.Context, r *WriteTextFileRequest) (*WriteTextFileResponse, error) {
	ctx, stop := context.WithTimeout(ctx, CallTimeout)
	defer stop()
	return ask[WriteTextFileResponse](ctx, c, "fs/write_text_file", r, c.Capabilities().FS.WriteTextFile)
}

// CreateTerminal starts a command in the client (terminal). The terminal must be released.
func (c *ClientConn) CreateTerminal(ctx context.Context, r *CreateTerminalRequest) (*CreateTerminalResponse, error) {
	ctx, stop := context.WithTimeout(ctx, CallTimeout)
	defer stop()
	return ask[CreateTerminalResponse](ctx, c, "terminal/create", r, c.Capabilities().Terminal)
}

// TerminalOutput is what the command has printed so far (terminal).
func (c *ClientConn) TerminalOutput(ctx context.Context, r *TerminalOutputRequest) (*TerminalOutputResponse, error) {
	ctx, stop := context.WithTimeout(ctx, CallTimeout)
	defer stop()
	return ask[TerminalOutputResponse](ctx, c, "terminal/output", r, c.Capabilities().Terminal)
}

// WaitForTerminalExit waits for the command's exit, as long as ctx lasts (terminal).
func (c *ClientConn) WaitForTerminalExit(ctx context.Context, r *WaitForTerminalExitRequest) (*WaitForTerminalExitResponse, error) {
	return ask[WaitForTerminalExitResponse](ctx, c, "terminal/wait_for_exit", r, c.Capabilities().Terminal)
}

// KillTerminal ends the command; its terminal stays valid (terminal). Like ReleaseTerminal it is not taken back when ctx
// ends before the client has answered.
func (c *ClientConn) KillTerminal(ctx context.Context, r *KillTerminalRequest) (*KillTerminalResponse, error) {
	ctx, stop := context.WithTimeout(ctx, CallTimeout)
	defer stop()
	return ask[KillTerminalResponse](ctx, c, "terminal/kill", r, c.Capabilities().Terminal)
}

// ReleaseTerminal ends the command and frees its terminal (terminal).
func (c *ClientConn) ReleaseTerminal(ctx context.Context, r *ReleaseTerminalRequest) (*ReleaseTerminalResponse, error) {
	ctx, stop := context.WithTimeout(ctx, CallTimeout)
	defer stop()
	return ask[ReleaseTerminalResponse](ctx, c, "terminal/release", r, c.Capabilities().Terminal)
}

// CreateElicitation puts a form or a URL to the person, and waits as long as ctx lasts (elicitation.form or .url).
func (c *ClientConn) CreateElicitation(ctx context.Context, r *CreateElicitationRequest) (*CreateElicitationResponse, error) {
	return ask[CreateElicitationResponse](ctx, c, "elicitation/create", r, c.elicits(r.Mode))
}

func (c *ClientConn) elicits(mode ElicitationMode) bool {
	offered := c.Capabilities().Elicitation
	if offered == nil {
		return false
	}
	switch mode.(type) {
	case ElicitationFormMode:
		return offered.Form != nil
	case ElicitationURLMode:
		return offered.URL != nil
	case RawElicitationMode:
	}
	return false
}

// CompleteElicitation says that what a URL was opened for is done (elicitation.url).
func (c *ClientConn) CompleteElicitation(_ context.Context, n *CompleteElicitationNotification) error {
	if e := c.Capabilities().Elicitation; e == nil || e.URL == nil {
		return ErrNotOffered
	}
	return c.conn.notify("elicitation/complete", n)
}

func ask[R any](ctx context.Context, c *ClientConn, method string, params any, offered bool) (*R, error) {
	if !offered {
		return nil, ErrNotOffered
	}
	result := new(R)
	if err := c.conn.call(ctx, method, params, result); err != nil {
		return nil, err
	}
	return result, nil
}
