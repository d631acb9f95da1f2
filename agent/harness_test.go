package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/charmbracelet/log"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is a client that keeps what it is told and answers permission requests by its function.
type peer struct {
	mu      sync.Mutex
	updates []acp.SessionUpdate
	aside   []acp.SessionUpdate
	asked   []*acp.RequestPermissionRequest
	permit  func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error)
	fill    func(*acp.CreateElicitationRequest) (acp.ElicitationAction, error)
	seen    chan acp.SessionUpdate // gets every update too, if it is not nil
	files   map[string]string
	caps    acp.ClientCapabilities

	commands func(cwd string) []agent.SlashCommand // of the agent's, as are the rest
	check    func(model string) error
	logout   func() error
	bypass   bool
}

func (p *peer) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	p.mu.Lock()
	switch n.Update.(type) {
	case acp.AvailableCommandsUpdate, acp.SessionInfoUpdate, acp.UsageUpdate: // they go along with the rest
		p.aside = append(p.aside, n.Update)
	default:
		p.updates = append(p.updates, n.Update)
	}
	p.mu.Unlock()
	if p.seen != nil {
		p.seen <- n.Update
	}
	return nil
}

func (p *peer) RequestPermission(ctx context.Context, r *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	p.mu.Lock()
	p.asked = append(p.asked, r)
	permit := p.permit
	p.mu.Unlock()
	if permit == nil {
		return choose("allow_once"), nil
	}
	return permit(ctx, r)
}

func (p *peer) CreateElicitation(_ context.Context, r *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
	if p.fill == nil {
		return nil, acp.ErrMethodNotFound
	}
	action, err := p.fill(r)
	return &acp.CreateElicitationResponse{Action: action}, err
}

func choose(option acp.PermissionOptionID) *acp.RequestPermissionResponse {
	return &acp.RequestPermissionResponse{Outcome: acp.Selected{OptionID: option}}
}

// all takes the updates so far.
func (p *peer) all() []acp.SessionUpdate {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.updates
	p.updates = nil
	return out
}

func (p *peer) text() string {
	out := ""
	for _, u := range p.all() {
		if c, ok := u.(acp.AgentMessageChunk); ok {
			if t, ok := c.Content.(acp.TextContent); ok {
				out += t.Text
			}
		}
	}
	return out
}

// memLog keeps inputs in memory and fails on demand.
type memLog struct {
	mu     sync.Mutex
	inputs []loop.Input
	fail   error
	closed bool
}

func (l *memLog) Append(in ...loop.Input) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return l.fail
	}
	l.inputs = append(l.inputs, in...)
	return nil
}

func (l *memLog) Sync() error { return nil }

func (l *memLog) Close() error { l.closed = true; return nil }

// memStore keeps logs in memory.
type memStore struct {
	mu    sync.Mutex
	logs  map[acp.SessionID]*memLog
	order []agent.Info // newest first
	lease error        // what the next Lease fails with
}

func (s *memStore) Lease(_ context.Context, id acp.SessionID) (agent.Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease != nil {
		return nil, s.lease
	}
	if l := s.logs[id]; l != nil {
		l.closed = false
		return l, nil
	}
	return nil, acp.ErrNotFound
}

func (s *memStore) Inputs(_ context.Context, id acp.SessionID) iter.Seq2[loop.Input, error] {
	s.mu.Lock()
	l := s.logs[id]
	s.mu.Unlock()
	return func(yield func(loop.Input, error) bool) {
		if l == nil {
			yield(nil, acp.ErrNotFound)
			return
		}
		l.mu.Lock()
		inputs := slices.Clone(l.inputs)
		l.mu.Unlock()
		for _, in := range inputs {
			if !yield(in, nil) {
				return
			}
		}
	}
}

func (s *memStore) List(_ context.Context, cwd, cursor string, limit int) (page []agent.Info, next string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := 0
	if cursor != "" {
		if from, err = strconv.Atoi(cursor); err != nil {
			return nil, "", agent.ErrCursor
		}
	}
	for i, info := range s.order {
		if i < from || cwd != "" && info.Cwd != cwd {
			continue
		}
		if len(page) == limit {
			return page, strconv.Itoa(i), nil
		}
		page = append(page, info)
	}
	return page, "", nil
}

func (s *memStore) Delete(_ context.Context, id acp.SessionID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.logs[id] == nil {
		return acp.ErrNotFound
	}
	delete(s.logs, id)
	s.order = slices.DeleteFunc(s.order, func(i agent.Info) bool { return i.ID == id })
	return nil
}

func (s *memStore) Create(_ context.Context, id acp.SessionID, cwd string, created time.Time) (agent.Log, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &memLog{}
	s.logs[id] = l
	s.order = append([]agent.Info{{ID: id, Cwd: cwd, Updated: created}}, s.order...)
	return l, nil
}

// stand is an agent at one end of a pipe and a client at the other.
type stand struct {
	conn    *acp.AgentConn
	peer    *peer
	store   *memStore
	session acp.SessionID

	initialize *acp.InitializeRequest
	served     *agent.Agent
	stop       func() // ends both; done at the end of the test too
}

type kitFunc func(context.Context, agent.Setup) (*agent.Kit, error)

func kitOf(m loop.Model, tools ...loop.Tool) kitFunc {
	return func(context.Context, agent.Setup) (*agent.Kit, error) {
		return &agent.Kit{
			Model: func(string, string) (loop.Model, error) { return m, nil }, Tools: always(tools), System: "be brief",
		}, nil
	}
}

func newStand(t *testing.T, open kitFunc, p *peer) *stand {
	t.Helper()
	return newStandOn(t, open, p, &memStore{logs: map[acp.SessionID]*memLog{}})
}

// newStandOn is newStand with a store that may have sessions already.
func newStandOn(t *testing.T, open kitFunc, p *peer, store *memStore) *stand {
	t.Helper()
	s := connect(t, open, p, store)
	_, err := s.conn.Initialize(s.ctx(), s.initialize)
	require.NoError(t, err)
	s.session = s.open(t)
	return s
}

// bare is a connection that is initialized and has no session.
func bare(t *testing.T, p *peer, store *memStore) (*acp.AgentConn, *acp.InitializeResponse) {
	t.Helper()
	s := connect(t, kitOf(scripted.New()), p, store)
	info, err := s.conn.Initialize(s.ctx(), s.initialize)
	require.NoError(t, err)
	return s.conn, info
}

// agentOptions are what an agent is made of in these tests.
func agentOptions(open kitFunc, p *peer, store *memStore) agent.Options {
	return agent.Options{
		Info: acp.Implementation{Name: "test", Version: "1"}, Log: log.New(io.Discard), Store: store, Open: open,
		Models: func(string, string) []agent.Model {
			return []agent.Model{{ID: "test/one", Name: "One", Window: 1000, Thinking: []string{"default", "high"}}, {ID: "test/two", Name: "Two"}}
		},
		Commands: p.commands, Check: p.check, Logout: p.logout, Bypass: p.bypass,
		NewID: func() acp.SessionID {
			store.mu.Lock()
			defer store.mu.Unlock()
			return acp.SessionID(fmt.Sprintf("sess_%016d", len(store.order)+1))
		},
		Now: time.Now,
	}
}

func connect(t *testing.T, open kitFunc, p *peer, store *memStore) *stand {
	t.Helper()
	s := &stand{peer: p, store: store}
	agentEnd, clientEnd := acp.Pipe()
	var served *agent.Agent
	bound, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- acp.Serve(context.Background(), agentEnd, func(c *acp.ClientConn) acp.Agent {
			served = agent.New(c, agentOptions(open, p, store))
			close(bound)
			return served
		}, acp.Options{})
	}()
	<-bound
	s.served = served
	s.conn = acp.Dial(context.Background(), clientEnd, p, acp.Options{})
	s.stop = sync.OnceFunc(func() {
		require.NoError(t, s.conn.Close())
		require.NoError(t, <-done)
		require.NoError(t, served.Close())
	})
	t.Cleanup(s.stop)
	caps := p.caps
	if p.files != nil {
		caps.FS = acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	}
	s.initialize = &acp.InitializeRequest{ProtocolVersion: acp.LatestVersion, ClientCapabilities: caps}
	return s
}

func (s *stand) open(t *testing.T) acp.SessionID {
	t.Helper()
	r, err := s.conn.NewSession(context.Background(), &acp.NewSessionRequest{Cwd: filepath.Clean("/w")})
	require.NoError(t, err)
	return r.SessionID
}

// ctx outlasts the test, so that its cleanup can still ask.
func (s *stand) ctx() context.Context { return context.Background() }

func (s *stand) prompt(text string) (acp.StopReason, error) {
	r, err := s.conn.Prompt(context.Background(), &acp.PromptRequest{
		SessionID: s.session, Prompt: acp.ContentBlocks{acp.TextContent{Text: text}},
	})
	if err != nil {
		return "", err
	}
	return r.StopReason, nil
}

func (s *stand) cancel(t *testing.T) {
	t.Helper()
	require.NoError(t, s.conn.Cancel(context.Background(), &acp.CancelNotification{SessionID: s.session}))
}

// tool is a tool made of functions; any may be nil.
type tool struct {
	spec    loop.Spec
	preview func(loop.Call) (loop.Preview, error)
	run     func(context.Context, loop.Job, func(loop.Block)) (loop.Result, error)
}

func (t *tool) Spec() loop.Spec { return t.spec }

func (t *tool) Preview(_ context.Context, c loop.Call) (loop.Preview, error) {
	if t.preview == nil {
		return loop.Preview{Title: "Do " + c.Tool}, nil
	}
	return t.preview(c)
}

func (t *tool) Run(ctx context.Context, j loop.Job, report func(loop.Block)) (loop.Result, error) {
	if t.run == nil {
		return loop.Result{Content: loop.Blocks{loop.Text{Text: "done " + string(j.Call.Args)}}}, nil
	}
	return t.run(ctx, j, report)
}

var errBroken = errors.New("it broke")

// always is a part of a kit that does not change.
func always[T any](v T) func() T { return func() T { return v } }
