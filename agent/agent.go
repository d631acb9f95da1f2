package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
	"github.com/charmbracelet/log"
)

// Options are what an agent is made of. Log, Store, Open, Models, NewID and Now are required.
type Options struct {
	Info  acp.Implementation
	Log   *log.Logger
	Store Store
	// Open makes what a session works with. It is called when the session first needs it, again after it failed, and
	// again for another model where Kit.Fits says so.
	Open func(context.Context, Setup) (*Kit, error)
	// Models are those that can be chosen in a folder, or with an empty cwd anywhere; the first one is what a session has
	// that has chosen none. The one that a session has chosen before is among them as long as it can be used, wherever
	// that was.
	Models func(cwd, chosen string) []Model
	// Check says early, and cheaply, why a session with that model could not work: a missing key, for example. May be
	// nil.
	Check func(model string) error
	// Folder says why no session could work in a folder, an absolute path: it is not there, or it is a file. May be nil.
	Folder func(name string) error
	// Commands are the slash commands of a folder, known before anything is opened: its skills. May be nil.
	Commands func(cwd string) []SlashCommand
	// MCP says which MCP servers Open can connect besides those on stdio.
	MCP acp.MCPCapabilities
	// Logout forgets stored keys; nil where there are none to forget.
	Logout func() error
	// Bypass offers the mode in which nothing asks.
	Bypass bool
	// NewID makes the ids of sessions, which match ^sess_[a-z0-9]{16,}$.
	NewID func() acp.SessionID
	Now   func() time.Time
}

// Model is a model that a session may choose.
type Model struct {
	ID, Name string
	Thinking []string // its levels of thought, the one that holds by itself first; empty where it has none
	Window   int      // its context window in tokens; 0 where that is not known
	Offline  bool     // it is built in, and keeps no window
}

// Info describes a stored session.
type Info struct {
	ID      acp.SessionID
	Cwd     string
	Updated time.Time
}

// Store keeps the logs of sessions. Its errors wrap acp.ErrNotFound for a session that is not there, ErrLocked for one
// that another process has, ErrVersion for one of a newer format, and ErrCursor for a cursor that it did not make.
type Store interface {
	// Create makes an empty log that only the caller may write, until it is closed.
	Create(ctx context.Context, id acp.SessionID, cwd string, created time.Time) (Log, error)
	// Lease opens the log of a stored session likewise.
	Lease(ctx context.Context, id acp.SessionID) (Log, error)
	// Inputs reads a stored session, which may be leased, from its beginning.
	Inputs(ctx context.Context, id acp.SessionID) iter.Seq2[loop.Input, error]
	// List is a page of the stored sessions, newest first: those of a folder, or all where cwd is empty. next is empty
	// at the end.
	List(ctx context.Context, cwd, cursor string, limit int) (page []Info, next string, err error)
	// Delete forgets a session. One that is not there is no error.
	Delete(ctx context.Context, id acp.SessionID) error
}

// The errors of a Store, beside acp.ErrNotFound.
var (
	ErrLocked  = errors.New("the session is in use")
	ErrVersion = errors.New("the session was written by a newer version")
	ErrCursor  = errors.New("the cursor is not one of ours")
)

// Log is the log of one session.
type Log interface {
	loop.Log
	Close() error
}

// Setup says for which session a Kit is wanted.
type Setup struct {
	Session acp.SessionID
	// Roots are the folders that tools may touch, absolute; the first is the one that relative paths start from.
	Roots []string
	// Servers are the MCP servers that the client wants connected.
	Servers []acp.MCPServer
	// Model is the one that the session has chosen.
	Model string
	// Offered are the tools that the session had, in their order; nil for a new one.
	Offered []loop.Spec
	// Client is what the session's client offers: files and terminals.
	Client *acp.ClientConn
	// Terminal runs commands in the client; nil where it offers none.
	Terminal Terminal
	// Ask puts a server's question that is about no call, as before a prompt, to the person.
	Ask func(ctx context.Context, server string, q loop.Question) (loop.Answer, error)
	// Page shows the person pages to open; nil where the client cannot.
	Page Page
	// PageDone is called when the person is done at the page of a tool's question; it tells the client, and returns at once.
	// Of a page that the client was not shown it knows nothing.
	PageDone func(callID, questionID string)
	// Files puts the client's view of files, unsaved changes included, before the given one. It is the identity where
	// the client offers none.
	Files func(Files) Files
}

// Files reads and writes whole files by absolute path.
type Files interface {
	ReadFile(ctx context.Context, name string) ([]byte, error)
	WriteFile(ctx context.Context, name string, data []byte) error
}

// Kit is what a session works with. It belongs to its session, which closes it.
type Kit struct {
	// Model is asked, thinking at that level (empty: as it does by itself).
	Model func(name, thinking string) (loop.Model, error)
	// Tools are those of the next turn. What comes while the session is open comes at the end. May be nil.
	Tools func() []loop.Tool
	// System is the system prompt, the same for as long as the session lives.
	System string
	// Context is told to the model along with the session's first prompt: the date, the workspace, its instructions.
	Context loop.Blocks
	Rules   loop.Rules
	// Commands are slash commands beside those of Options.Commands: the prompts of its servers. May be nil.
	Commands func() []SlashCommand
	// Servers are its MCP servers, those that failed too. May be nil.
	Servers func() []Server
	// Off is what of its folder's own configuration is not in force.
	Off []Off
	// Changed has something to receive after Tools, Commands or Servers have changed. May be nil.
	Changed <-chan struct{}
	// Resource reads what the person names in a prompt as @server:uri. It is nil without an error where the session has no
	// such server, or the server no such resource: then the words are just words. May be nil.
	Resource func(ctx context.Context, server, uri string) (loop.Blocks, error)
	// Fits says whether the kit serves another model as well; nil: any.
	Fits  func(model string) bool
	Close func() error
}

func (k *Kit) tools() []loop.Tool {
	if k.Tools == nil {
		return nil
	}
	return k.Tools()
}

func (k *Kit) servers() []Server {
	if k.Servers == nil {
		return nil
	}
	return k.Servers()
}

// Server is the state of an MCP server.
type Server struct {
	Name  string
	State string // connected, or whatever else it is, in a word
	Era   string
	Why   string // it does not work; empty where it does, or where that is still to be seen
	Tools int
}

// Off is something that could be in force and is not, and why: also what to do about it.
type Off struct{ What, Why string }

// Agent serves sessions to one client. It implements acp.Agent and all of its optional methods.
type Agent struct {
	o      Options
	client *acp.ClientConn

	mu       sync.Mutex
	sessions map[acp.SessionID]*session
	leaving  map[acp.SessionID]<-chan struct{} // closed once nothing holds the session's log any more
	closed   bool
}

// New makes an agent for a client, as acp.Serve wants it bound.
func New(client *acp.ClientConn, o Options) *Agent {
	return &Agent{o: o, client: client, sessions: make(map[acp.SessionID]*session), leaving: make(map[acp.SessionID]<-chan struct{})}
}

// Initialize implements acp.Agent.
func (a *Agent) Initialize(_ context.Context, r *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	info := a.o.Info
	caps := acp.AgentCapabilities{
		LoadSession:        true,
		PromptCapabilities: acp.PromptCapabilities{Image: true, EmbeddedContext: true},
		MCPCapabilities:    a.o.MCP,
		SessionCapabilities: acp.SessionCapabilities{
			List: &acp.SessionListCapabilities{}, Resume: &acp.SessionResumeCapabilities{},
			Close: &acp.SessionCloseCapabilities{}, Delete: &acp.SessionDeleteCapabilities{},
			AdditionalDirectories: &acp.SessionAdditionalDirectoriesCapabilities{},
		},
	}
	if a.o.Logout != nil {
		caps.Auth.Logout = &acp.LogoutCapabilities{}
	}
	return &acp.InitializeResponse{
		ProtocolVersion: acp.LatestVersion, AgentInfo: &info, AgentCapabilities: caps,
		AuthMethods: authMethods(r.ClientCapabilities),
	}, nil
}

// NewSession implements acp.Agent. Nothing is started but the session's log: servers, model and tools wait for the
// first prompt, except that servers which the client passed begin to connect right away.
func (a *Agent) NewSession(ctx context.Context, r *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	if err := a.folders(r); err != nil {
		return nil, err
	}
	if err := a.check(a.defaultModel(r.Cwd)); err != nil {
		return nil, err
	}
	id := a.o.NewID()
	s := newSession(a, id)
	s.place(r.Cwd, r.AdditionalDirectories, r.MCPServers)
	created, err := a.o.Store.Create(ctx, id, s.cwd(), a.o.Now())
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		a.o.Log.Error("creating a session's log", "session", id, "err", err)
		return nil, storageFailure(err)
	}
	s.log = created
	s.pin()
	if err := a.admit(s); err != nil {
		return nil, errors.Join(err, created.Close())
	}
	return &acp.NewSessionResponse{SessionID: id, Modes: s.modes(), ConfigOptions: s.configOptions(), Then: s.settled}, nil
}

// folders says which of the folders of a new session could not be worked in. One that is loaded is not asked: what was
// said in it can be read also when its folder is gone.
func (a *Agent) folders(r *acp.NewSessionRequest) error {
	if a.o.Folder == nil {
		return nil
	}
	if err := a.o.Folder(r.Cwd); err != nil {
		return acp.InvalidParams("params/cwd: %v; open the session in a folder that is there", err)
	}
	for i, dir := range r.AdditionalDirectories {
		if err := a.o.Folder(dir); err != nil {
			return acp.InvalidParams("params/additionalDirectories/%d: %v; leave it out, or name a folder that is there", i, err)
		}
	}
	return nil
}

// admit puts a session among the open ones.
func (a *Agent) admit(s *session) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return acp.ErrClosed
	}
	a.sessions[s.id] = s
	return nil
}

// Prompt implements acp.Agent.
func (a *Agent) Prompt(r *acp.PromptRequest) (func(context.Context) (*acp.PromptResponse, error), error) {
	s := a.session(r.SessionID)
	if s == nil {
		return nil, notOpen(r.SessionID)
	}
	prompt := loop.Prompted{Content: contentOf(r.Prompt), Trace: traceOf(r.Meta)}
	if len(prompt.Content) == 0 {
		return nil, acp.InvalidParams("params/prompt: it must have at least one content block")
	}
	t, err := s.reserve()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*acp.PromptResponse, error) {
		reason, err := s.play(ctx, t, prompt)
		if err != nil {
			return nil, err
		}
		return &acp.PromptResponse{StopReason: acp.StopReason(reason)}, nil
	}, nil
}

func notOpen(id acp.SessionID) error {
	return fmt.Errorf("there is no open session %q: %w", id, acp.ErrNotFound)
}

// Cancel implements acp.Agent.
func (a *Agent) Cancel(n *acp.CancelNotification) {
	if s := a.session(n.SessionID); s != nil {
		s.cancel()
	}
}

func (a *Agent) session(id acp.SessionID) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil && !s.isClosed() {
		return s
	}
	return nil
}

// Close ends every session and frees what they hold. It is called once the connection is over.
func (a *Agent) Close() error {
	a.mu.Lock()
	a.closed = true
	sessions := make([]*session, 0, len(a.sessions))
	for _, s := range a.sessions {
		sessions = append(sessions, s)
	}
	clear(a.sessions)
	a.mu.Unlock()
	var group sync.WaitGroup
	errs := make([]error, len(sessions))
	for i, s := range sessions {
		group.Go(func() { errs[i] = s.close(loop.ErrGone) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// promptError is what a client is told when a session cannot work or a turn failed.
func promptError(err error) error {
	var failure *loop.Failure
	switch {
	case errors.Is(err, loop.ErrStorage):
		return storageFailure(err)
	case !errors.As(err, &failure):
		return err
	case failure.Kind == loop.FailAuth:
		return &acp.Error{Code: acp.CodeAuthRequired, Message: failure.Message}
	}
	return &acp.Failure{Kind: string(failure.Kind), Message: failure.Message}
}

func storageFailure(err error) error {
	return errors.Join(&acp.Failure{
		Kind:    "storage",
		Message: "The session's log cannot be written. Make room on the disk or make the state folder writable, then load the session again.",
	}, err)
}

// contentOf is a prompt as the loop has it.
func contentOf(prompt acp.ContentBlocks) loop.Blocks {
	out := make(loop.Blocks, len(prompt))
	for i, b := range prompt {
		out[i] = blockOf(b)
	}
	return out
}
