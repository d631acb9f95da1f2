package agent_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
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
	asked   []*acp.RequestPermissionRequest
	permit  func(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error)
	seen    chan acp.SessionUpdate // gets every update too, if it is not nil
	files   map[string]string
}

func (p *peer) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	p.mu.Lock()
	p.updates = append(p.updates, n.Update)
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

type memStore struct{ logs map[acp.SessionID]*memLog }

func (s *memStore) Create(_ context.Context, id acp.SessionID, _ string, _ time.Time) (agent.Log, error) {
	l := &memLog{}
	s.logs[id] = l
	return l, nil
}

// stand is an agent at one end of a pipe and a client at the other.
type stand struct {
	conn    *acp.AgentConn
	peer    *peer
	store   *memStore
	session acp.SessionID
	stop    func() // ends both; done at the end of the test too
}

type kitFunc func(context.Context, agent.Setup) (*agent.Kit, error)

func kitOf(m loop.Model, tools ...loop.Tool) kitFunc {
	return func(context.Context, agent.Setup) (*agent.Kit, error) {
		return &agent.Kit{Model: m, Tools: tools, System: "be brief"}, nil
	}
}

func newStand(t *testing.T, open kitFunc, p *peer) *stand {
	t.Helper()
	s := &stand{peer: p, store: &memStore{logs: map[acp.SessionID]*memLog{}}}
	agentEnd, clientEnd := acp.Pipe()
	next := 0
	var served *agent.Agent
	bound, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- acp.Serve(context.Background(), agentEnd, func(c *acp.ClientConn) acp.Agent {
			served = agent.New(c, agent.Options{
				Info: acp.Implementation{Name: "test", Version: "1"}, Log: log.New(io.Discard), Store: s.store, Open: open,
				NewID: func() acp.SessionID { next++; return acp.SessionID("sess_000000000000000" + string(rune('0'+next))) },
				Now:   time.Now,
			})
			close(bound)
			return served
		}, acp.Options{})
	}()
	<-bound
	s.conn = acp.Dial(context.Background(), clientEnd, p, acp.Options{})
	s.stop = sync.OnceFunc(func() {
		require.NoError(t, s.conn.Close())
		require.NoError(t, <-done)
		require.NoError(t, served.Close())
	})
	t.Cleanup(s.stop)
	caps := acp.ClientCapabilities{}
	if p.files != nil {
		caps.FS = acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}
	}
	_, err := s.conn.Initialize(context.Background(), &acp.InitializeRequest{ProtocolVersion: acp.LatestVersion, ClientCapabilities: caps})
	require.NoError(t, err)
	s.session = s.open(t)
	return s
}

func (s *stand) open(t *testing.T) acp.SessionID {
	t.Helper()
	r, err := s.conn.NewSession(context.Background(), &acp.NewSessionRequest{Cwd: filepath.Clean("/w")})
	require.NoError(t, err)
	return r.SessionID
}

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
