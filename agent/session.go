package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
	"github.com/charmbracelet/log"
)

// MaxWaiting is how many prompts may wait for a session behind the one that runs.
const MaxWaiting = 16

// session is one conversation. Its state is owned by the turn at the head of the queue, and changes hands only between
// turns.
type session struct {
	agent   *Agent
	id      acp.SessionID
	roots   []string
	servers []acp.MCPServer
	log     Log

	mu     sync.Mutex
	queue  []*ticket // the first one runs
	closed bool

	opening sync.Mutex // held while the kit is made
	kit     *Kit

	state  loop.State // the running turn's own
	broken error      // why the state is no longer that of the log; the running turn's own
}

// ticket is a prompt's place in the queue. It exists from the moment that the prompt was read, so that a cancel which
// comes next finds it.
type ticket struct {
	turn   chan struct{}   // closed when its turn has come
	ctx    context.Context //nolint:containedctx // a cancel may come before the work that it is for has begun
	cancel context.CancelFunc
}

func (s *session) reserve() (*ticket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, fmt.Errorf("session %q is closed: %w", s.id, acp.ErrNotFound)
	case len(s.queue) > MaxWaiting:
		return nil, fmt.Errorf("%d prompts wait for this session already: %w", MaxWaiting, acp.ErrBusy)
	}
	t := &ticket{turn: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancel(context.Background())
	s.queue = append(s.queue, t)
	if len(s.queue) == 1 {
		close(t.turn)
	}
	return t, nil
}

// release gives up a ticket's place. If its turn had come, the next one's has.
func (s *session) release(t *ticket) {
	t.cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queue, t)
	s.queue = slices.Delete(s.queue, i, i+1)
	if i == 0 && len(s.queue) > 0 {
		close(s.queue[0].turn)
	}
}

// cancel ends the running turn and those that wait.
func (s *session) cancel() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.queue {
		t.cancel()
	}
}

// play waits for the ticket's turn and plays it.
func (s *session) play(ctx context.Context, t *ticket, content loop.Blocks) (loop.StopReason, error) {
	defer s.release(t)
	defer context.AfterFunc(ctx, t.cancel)()
	select {
	case <-t.turn:
	case <-t.ctx.Done():
		return loop.StopCancelled, nil
	}
	if s.broken != nil {
		return "", promptError(s.broken)
	}
	kit, err := s.open(t.ctx)
	switch {
	case t.ctx.Err() != nil:
		return loop.StopCancelled, nil
	case err != nil:
		s.report("opening a session", err)
		return "", promptError(err)
	}
	reason, err := s.run(t.ctx, kit, content)
	if errors.Is(err, loop.ErrStorage) {
		s.broken = err
	}
	if err != nil {
		s.report("turn", err)
		return "", promptError(err)
	}
	return reason, nil
}

// report logs an error. A failure that the person is told in words is no news for who watches the log.
func (s *session) report(what string, err error) {
	level := log.ErrorLevel
	var told *loop.Failure
	if errors.As(err, &told) {
		level = log.InfoLevel
	}
	s.agent.o.Log.Log(level, what, "session", s.id, "turn", s.state.Turn(), "err", err)
}

func (s *session) run(ctx context.Context, kit *Kit, content loop.Blocks) (loop.StopReason, error) {
	o := s.agent.o
	runner := &loop.Runner{
		Model: kit.Model, Tools: kit.Tools, Log: s.log,
		Gate: &gate{client: s.agent.client, session: s.id},
		Key:  func(callID string) string { return string(s.id) + "/" + callID },
		Crashed: func(what string, value any, stack []byte) {
			o.Log.Error("panic", "session", s.id, "in", what, "panic", value, "stack", string(stack))
		},
	}
	prompt := loop.Prompted{MessageID: fmt.Sprintf("msg_%d_user", s.state.Turn()+1), Content: content}
	if s.state.Turn() == 0 {
		prompt.Context = kit.Context
	}
	var err error
	if s.state, err = s.configure(runner, kit); err != nil {
		return "", err
	}
	var reason loop.StopReason
	s.state, reason, err = runner.Run(ctx, s.state, prompt, s.send)
	return reason, err
}

// configure logs what the session works with, where that is news.
func (s *session) configure(r *loop.Runner, kit *Kit) (loop.State, error) {
	specs := make([]loop.Spec, len(kit.Tools))
	for i, t := range kit.Tools {
		specs[i] = t.Spec()
	}
	if s.state.Turn() > 0 && s.state.System() == kit.System && slices.EqualFunc(s.state.Specs(), specs, sameSpec) {
		return s.state, nil
	}
	return r.Configure(s.state, loop.Configured{Specs: specs, Rules: kit.Rules, System: kit.System})
}

func sameSpec(a, b loop.Spec) bool {
	sameSchema := string(a.Schema) == string(b.Schema)
	a.Schema, b.Schema = nil, nil
	return sameSchema && fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b)
}

// send is the turn's sink.
func (s *session) send(ctx context.Context, e loop.Event) error {
	u, ok := UpdateFor(e)
	if !ok {
		return nil
	}
	return s.agent.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: s.id, Update: u})
}

// prepare makes the kit before it is needed.
func (s *session) prepare(ctx context.Context) {
	if _, err := s.open(ctx); err != nil {
		s.agent.o.Log.Warn("opening a session", "session", s.id, "err", err)
	}
}

// open is the session's kit, made at the first call.
func (s *session) open(ctx context.Context) (*Kit, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.kit != nil {
		return s.kit, nil
	}
	kit, err := s.agent.o.Open(ctx, Setup{
		Session: s.id, Roots: s.roots, Servers: s.servers,
		Files: func(own Files) Files { return clientFiles(s.agent.client, s.id, own) },
	})
	if err != nil {
		return nil, err
	}
	s.kit = kit
	return kit, nil
}

// close cancels the session's turns, waits for the kit if it is being made, and frees everything.
func (s *session) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.opening.Lock()
	defer s.opening.Unlock()
	var err error
	if s.kit != nil && s.kit.Close != nil {
		err = s.kit.Close()
	}
	return errors.Join(err, s.log.Close())
}
