package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
	"github.com/charmbracelet/log"
)

// MaxWaiting is how many prompts may wait for a session behind the one that runs.
const MaxWaiting = 16

// session is one conversation. What is its owner's is touched only by who holds own: the turn that runs, or whoever
// works on the session between turns.
type session struct {
	agent *Agent
	id    acp.SessionID
	inbox chan loop.Input // to the turn that runs
	own   chan struct{}   // holds a token while the session has an owner
	gate  *gate
	asker *asker

	after <-chan struct{} // closed when an earlier one by that id is gone; nil if there was none
	gone  chan struct{}   // closed when everything that the session held is free, and the earlier one is gone
	free  sync.Once       // closes gone

	mu     sync.Mutex
	queue  []*ticket // the first one runs
	closed bool
	chosen map[string]string // the options, as they were last chosen

	had        []loop.Spec // guarded by mu: the tools that the model was offered
	shownPages atomic.Int64

	choosing <-chan struct{} // guarded by mu: closed once the last one in line to set an option is done

	stopOpening context.CancelFunc // guarded by mu: gives up the making of the latest kit

	roots    []string // guarded by mu, as are the servers
	servers  []acp.MCPServer
	opening  latch // held while the kit is made
	kit      *Kit
	unwatch  func()            // ends the watch over the kit
	told     string            // the commands that the client knows, as text
	noticed  map[string]string // what the client was told of servers that do not work
	lifetime context.Context   //nolint:containedctx // what is opened for the session ends with it
	end      context.CancelFunc

	log    Log        // the owner's; nil until the session is loaded
	state  loop.State // the owner's
	broken error      // the owner's: why the state is no longer that of the log
	shown  display    // the owner's: the terminals that the client shows by itself
}

func newSession(a *Agent, id acp.SessionID) *session {
	s := &session{
		agent: a, id: id, inbox: make(chan loop.Input), own: make(chan struct{}, 1), chosen: make(map[string]string),
		gate: newGate(a.client, id), asker: newAsker(a.client, id), shown: make(display), opening: make(latch, 1),
		gone: make(chan struct{}),
	}
	s.asker.gate = s.gate
	s.lifetime, s.end = context.WithCancel(context.Background())
	return s
}

// place says where the session works, as its client has it now.
func (s *session) place(cwd string, more []string, servers []acp.MCPServer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roots = []string{filepath.Clean(cwd)}
	for _, dir := range more {
		s.roots = append(s.roots, filepath.Clean(dir))
	}
	s.servers = servers
}

// latch is a lock whose wait can be given up.
type latch chan struct{}

func (l latch) lock(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l latch) unlock() { <-l }

// ticket is a prompt's place in the queue. It exists from the moment that the prompt was read, so that a cancel which
// comes next finds it.
type ticket struct {
	turn   chan struct{}   // closed when its turn has come
	ctx    context.Context //nolint:containedctx // a cancel may come before the work that it is for has begun
	cancel context.CancelCauseFunc
	loads  bool // it is no turn: the client's cancel is not for it
}

func (s *session) reserve() (*ticket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, notOpen(s.id)
	case len(s.queue) > MaxWaiting:
		return nil, fmt.Errorf("%d prompts wait for this session already: %w", MaxWaiting, acp.ErrBusy)
	}
	t := &ticket{turn: make(chan struct{})}
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	s.queue = append(s.queue, t)
	if len(s.queue) == 1 {
		close(t.turn)
	}
	return t, nil
}

// release gives up a ticket's place. If its turn had come, the next one's has.
func (s *session) release(t *ticket) {
	t.cancel(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.queue, t)
	s.queue = slices.Delete(s.queue, i, i+1)
	if i == 0 && len(s.queue) > 0 {
		close(s.queue[0].turn)
	}
}

// loadsWait says whether a load other than that ticket's waits for the session.
func (s *session) loadsWait(but *ticket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.queue, func(t *ticket) bool { return t != but && t.loads })
}

// cancel ends the running turn and those that wait.
func (s *session) cancel() { s.stop(nil, false) }

// stop ends the turns that run and wait, for that cause, and with loads the loads too.
func (s *session) stop(cause error, loads bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.queue {
		if loads || !t.loads {
			t.cancel(cause)
		}
	}
}

// enter waits for the ticket's turn, and for the session. It says whether both came before the ticket was cancelled;
// then the caller owns the session until leave.
func (s *session) enter(ctx context.Context, t *ticket) bool {
	context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), acp.ErrClosed) {
			t.cancel(loop.ErrGone)
		}
		t.cancel(nil)
	})
	select {
	case <-t.turn:
	case <-t.ctx.Done():
		return false
	}
	select {
	case s.own <- struct{}{}:
	case <-t.ctx.Done():
		return false
	}
	if t.ctx.Err() != nil { // both came at once
		s.leave()
		return false
	}
	return true
}

func (s *session) leave() { <-s.own }

// play waits for the ticket's turn and plays it.
func (s *session) play(ctx context.Context, t *ticket, prompt loop.Prompted) (loop.StopReason, error) {
	defer s.release(t)
	if !s.enter(ctx, t) {
		return loop.StopCancelled, nil
	}
	defer s.leave()
	switch {
	case s.log == nil:
		return "", notOpen(s.id)
	case s.broken != nil:
		return "", promptError(s.broken)
	}
	reason, err := s.turn(t.ctx, prompt) //nolint:contextcheck // the ticket's context ends with ctx, or with a cancel that came before the work began
	switch {
	case err == nil:
		return reason, nil
	case t.ctx.Err() != nil && errors.Is(err, context.Canceled):
		return loop.StopCancelled, nil
	case errors.Is(err, loop.ErrStorage):
		s.broken = err
		if !s.state.Idle() && !s.state.Interrupted() { // the client must not wait for calls that nothing comes of
			err = errors.Join(err, s.tell(ctx, s.step(loop.Interrupted{}), s.updateFor)) // as who loads it will see it
		}
	}
	s.report("turn", err)
	return "", promptError(err)
}

// turn answers a prompt: by a command of ours, or by the model.
func (s *session) turn(ctx context.Context, prompt loop.Prompted) (loop.StopReason, error) {
	var kit *Kit
	err := s.attend(ctx, func() (err error) {
		kit, err = s.open(ctx)
		return err
	})
	if err != nil && (ctx.Err() != nil || !needsNothing(prompt.Content)) {
		return "", err
	}
	extra, done, err := s.command(ctx, kit, prompt.Content)
	switch {
	case err != nil:
		return "", err
	case done:
		if err := s.log.Sync(); err != nil {
			return "", fmt.Errorf("%w: %w", loop.ErrStorage, err)
		}
		return loop.StopEndTurn, nil
	}
	err = s.attend(ctx, func() error {
		named, err := mentioned(ctx, kit, prompt.Content)
		prompt.Context = append(slices.Clip(extra), named...)
		return err
	})
	if err != nil {
		return "", err
	}
	return s.run(ctx, kit, prompt)
}

// attend does, for the owner, something that takes its time, and applies what comes in meanwhile.
func (s *session) attend(ctx context.Context, do func() error) error {
	done, crashed := make(chan error, 1), make(chan string, 1)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				crashed <- fmt.Sprintf("%v\n%s", v, debug.Stack())
			}
		}()
		done <- do()
	}()
	for {
		select {
		case what := <-crashed:
			panic(what) // it is the owner's, as it would be without the goroutine
		case in := <-s.inbox:
			if err := s.applyOwned(ctx, in); err != nil {
				select {
				case what := <-crashed:
					panic(what)
				case doErr := <-done:
					return errors.Join(err, doErr)
				}
			}
		case err := <-done:
			return err
		}
	}
}

// report logs an error. A failure that the person is told in words is no news for who watches the log.
func (s *session) report(what string, err error) {
	level := log.ErrorLevel
	if _, told := errors.AsType[*loop.Failure](err); told {
		level = log.InfoLevel
	}
	s.agent.o.Log.Log(level, what, "session", s.id, "turn", s.state.Turn(), "err", err)
}

func (s *session) run(ctx context.Context, kit *Kit, prompt loop.Prompted) (loop.StopReason, error) {
	runner, err := s.runner(kit)
	if err != nil {
		return "", err
	}
	prompt.MessageID = fmt.Sprintf("msg_%d_user", s.state.Turn()+1)
	if len(s.state.History()) == 0 { // the first prompt, or the first after one that the model refused
		prompt.Context = append(slices.Clip(kit.Context), prompt.Context...)
	}
	if s.state, err = s.configure(runner, kit); err != nil {
		return "", err
	}
	var reason loop.StopReason
	s.state, reason, err = runner.Run(ctx, s.state, prompt, s.send)
	return reason, err
}

// apply logs and applies an input that is no part of a turn: through the turn that runs, if one does.
func (s *session) apply(ctx context.Context, in loop.Input) error {
	select {
	case s.inbox <- in:
		return nil
	case s.own <- struct{}{}:
		defer s.leave()
		return s.applyOwned(ctx, in)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// applyOwned is apply for the session's owner. What the input causes is sent.
func (s *session) applyOwned(ctx context.Context, in loop.Input) error {
	if err := s.record(in); err != nil {
		return err
	}
	for _, e := range s.step(in) {
		if err := s.send(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// record logs an input, for the owner.
func (s *session) record(in loop.Input) error {
	switch {
	case s.log == nil:
		return notOpen(s.id)
	case s.broken != nil:
		return promptError(s.broken)
	}
	if err := s.log.Append(in); err != nil {
		s.broken = fmt.Errorf("%w: %w", loop.ErrStorage, err)
		return promptError(s.broken)
	}
	return nil
}

// step applies an input that is logged already and returns the events that it causes.
func (s *session) step(in loop.Input) (events []loop.Event) {
	var effects []loop.Effect
	s.state, effects = loop.Step(s.state, in)
	for _, e := range effects {
		if emit, ok := e.(loop.Emit); ok {
			events = append(events, emit.Event)
		}
	}
	return events
}

// send tells the client of an event.
func (s *session) send(ctx context.Context, e loop.Event) error {
	u, ok := s.updateFor(e)
	if !ok {
		return nil
	}
	return s.update(ctx, s.displayed(u))
}

// displayed is an update with what clients that only show terminals need of it. It is for the owner.
func (s *session) displayed(u acp.SessionUpdate) acp.SessionUpdate {
	if !displays(s.agent.client.Capabilities()) {
		return u
	}
	return displayTerminal(u, s.shown, s.cwd())
}

func (s *session) cwd() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.roots) == 0 { // it is being loaded
		return ""
	}
	return s.roots[0]
}

func (s *session) update(ctx context.Context, u acp.SessionUpdate) error {
	return s.agent.client.SessionUpdate(ctx, &acp.SessionNotification{SessionID: s.id, Update: u})
}

// updateFor is UpdateFor, as this client and the person want it.
func (s *session) updateFor(e loop.Event) (acp.SessionUpdate, bool) {
	if v, ok := e.(loop.UsageChanged); ok {
		return s.usage(v.Usage)
	}
	return s.wanted(e, UpdateFor)
}

// wanted is as, less what the person does not want to see, and in words where the client has no more than those.
func (s *session) wanted(e loop.Event, as func(loop.Event) (acp.SessionUpdate, bool)) (acp.SessionUpdate, bool) {
	if _, thought := e.(loop.AgentThought); thought && s.option(optionThoughts) == "false" {
		return nil, false
	}
	if caps := s.agent.client.Capabilities().Session; caps == nil || caps.Compaction == nil {
		if u, told := worded(e); told {
			return u, u != nil
		}
	}
	return as(e)
}

// shut ends the session for everyone who comes from now on. It says whether it was open until then.
func (s *session) shut() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := !s.closed
	s.closed = true
	return was
}

func (s *session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// close ends the session's turns for that cause, waits for who owns it, and frees everything.
func (s *session) close(cause error) error {
	defer s.free.Do(func() { close(s.gone) })
	s.shut()
	s.stop(cause, true)
	s.end()
	s.gate.close()
	s.asker.silence.close()
	s.own <- struct{}{}
	defer s.leave()
	err := s.closeKit()
	if s.log != nil {
		err = errors.Join(err, s.log.Close())
		s.log = nil
	}
	if s.after != nil {
		<-s.after
	}
	return err
}
