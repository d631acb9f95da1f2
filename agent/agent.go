package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
	"github.com/charmbracelet/log"
)

// Options are what an agent is made of. Log, Store, Open, NewID and Now are required.
type Options struct {
	Info  acp.Implementation
	Log   *log.Logger
	Store Store
	// Open makes what a session works with. It is called when the session first needs it, and again after it failed.
	Open func(context.Context, Setup) (*Kit, error)
	// Check says early, and cheaply, why no session could work: a missing key, for example. May be nil.
	Check func() error
	// NewID makes the ids of sessions, which match ^sess_[a-z0-9]{16,}$.
	NewID func() acp.SessionID
	Now   func() time.Time
}

// Store keeps the logs of sessions.
type Store interface {
	// Create makes an empty log that only the caller may write, until it is closed.
	Create(ctx context.Context, id acp.SessionID, cwd string, created time.Time) (Log, error)
}

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
	Model loop.Model
	Tools []loop.Tool
	// System is the system prompt, the same for as long as the session lives.
	System string
	// Context is told to the model along with the session's first prompt: the date, the workspace, its instructions.
	Context loop.Blocks
	Rules   loop.Rules
	Close   func() error
}

// Agent serves sessions to one client. It implements acp.Agent.
type Agent struct {
	o      Options
	client *acp.ClientConn

	mu       sync.Mutex
	sessions map[acp.SessionID]*session
	closed   bool
}

// New makes an agent for a client, as acp.Serve wants it bound.
func New(client *acp.ClientConn, o Options) *Agent {
	return &Agent{o: o, client: client, sessions: make(map[acp.SessionID]*session)}
}

// Initialize implements acp.Agent.
func (a *Agent) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	info := a.o.Info
	return &acp.InitializeResponse{
		ProtocolVersion: acp.LatestVersion,
		AgentInfo:       &info,
		AgentCapabilities: acp.AgentCapabilities{
			PromptCapabilities: acp.PromptCapabilities{Image: true, EmbeddedContext: true},
		},
	}, nil
}

// NewSession implements acp.Agent. Nothing is started but the session's log: servers, model and tools wait for the
// first prompt, except that servers which the client passed begin to connect right away.
func (a *Agent) NewSession(ctx context.Context, r *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	if a.o.Check != nil {
		if err := a.o.Check(); err != nil {
			return nil, promptError(err)
		}
	}
	id := a.o.NewID()
	created, err := a.o.Store.Create(ctx, id, r.Cwd, a.o.Now())
	if err != nil {
		a.o.Log.Error("creating a session's log", "session", id, "err", err)
		return nil, storageFailure(err)
	}
	s := &session{
		agent: a, id: id, log: created,
		roots: append([]string{filepath.Clean(r.Cwd)}, r.AdditionalDirectories...), servers: r.MCPServers,
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, errors.Join(acp.ErrClosed, created.Close())
	}
	a.sessions[id] = s
	response := &acp.NewSessionResponse{SessionID: id}
	if len(r.MCPServers) > 0 {
		response.Then = s.prepare
	}
	return response, nil
}

// Prompt implements acp.Agent.
func (a *Agent) Prompt(r *acp.PromptRequest) (func(context.Context) (*acp.PromptResponse, error), error) {
	s := a.session(r.SessionID)
	if s == nil {
		return nil, fmt.Errorf("there is no open session %q: %w", r.SessionID, acp.ErrNotFound)
	}
	content := contentOf(r.Prompt)
	if len(content) == 0 {
		return nil, acp.InvalidParams("params/prompt: it must have at least one content block")
	}
	t, err := s.reserve()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*acp.PromptResponse, error) {
		reason, err := s.play(ctx, t, content)
		if err != nil {
			return nil, err
		}
		return &acp.PromptResponse{StopReason: acp.StopReason(reason)}, nil
	}, nil
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
	return a.sessions[id]
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
		group.Go(func() { errs[i] = s.close() })
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
		Message: "The session's log cannot be written. Make room on the disk or make the state folder writable, then open the session again.",
	}, err)
}

// contentOf is a prompt as the loop has it.
func contentOf(prompt acp.ContentBlocks) loop.Blocks {
	return slices.Collect(func(yield func(loop.Block) bool) {
		for _, b := range prompt {
			if !yield(blockOf(b)) {
				return
			}
		}
	})
}
