package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
)

// pageSize is how many sessions session/list gives at a time.
const pageSize = 50

// LoadSession implements acp.Loader.
func (a *Agent) LoadSession(r *acp.LoadSessionRequest) (func(context.Context) (*acp.LoadSessionResponse, error), error) {
	reload, err := a.reopen(r.SessionID)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*acp.LoadSessionResponse, error) {
		s, err := reload(ctx, func(s *session) { s.place(r.Cwd, r.AdditionalDirectories, r.MCPServers) }, true)
		if err != nil {
			return nil, err
		}
		return &acp.LoadSessionResponse{Modes: s.modes(), ConfigOptions: s.configOptions(), Then: s.settled}, nil
	}, nil
}

// ResumeSession implements acp.Resumer.
func (a *Agent) ResumeSession(r *acp.ResumeSessionRequest) (func(context.Context) (*acp.ResumeSessionResponse, error), error) {
	reload, err := a.reopen(r.SessionID)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (*acp.ResumeSessionResponse, error) {
		s, err := reload(ctx, func(s *session) { s.place(r.Cwd, r.AdditionalDirectories, r.MCPServers) }, false)
		if err != nil {
			return nil, err
		}
		return &acp.ResumeSessionResponse{Modes: s.modes(), ConfigOptions: s.configOptions(), Then: s.settled}, nil
	}, nil
}

type reload func(ctx context.Context, place func(*session), replay bool) (*session, error)

// reopen reserves a session to be read from its log, open already or not. Prompts that come meanwhile wait behind it.
func (a *Agent) reopen(id acp.SessionID) (reload, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, known := a.sessions[id]
	if a.closed {
		return nil, acp.ErrClosed
	}
	if !known || s.isClosed() {
		s = newSession(a, id)
		s.after = a.leaving[id]
		a.sessions[id] = s
	}
	t, err := s.reserve()
	if err != nil {
		return nil, err
	}
	t.loads = true
	return func(ctx context.Context, place func(*session), replay bool) (*session, error) {
		defer s.release(t)
		if !s.enter(ctx, t) {
			return nil, acp.ErrCancelled
		}
		defer s.leave()
		err := s.reload(t.ctx, place, replay) //nolint:contextcheck // the ticket's context ends with ctx, or with a cancel that came before the work began
		if err != nil && s.log == nil {
			a.forgetUnless(s, func() bool { return s.loadsWait(t) })
		}
		return s, err
	}, nil
}

// forget takes a session out of the open ones, if it is still the one by that name.
func (a *Agent) forget(s *session) { a.forgetUnless(s, func() bool { return false }) }

// forgetUnless is forget, unless there is a reason to keep the session, which nobody can get at meanwhile.
func (a *Agent) forgetUnless(s *session, keep func() bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if keep() {
		return
	}
	if a.sessions[s.id] == s {
		delete(a.sessions, s.id)
	}
	s.shut()
	s.end()
}

// reload makes the session anew from its log, for its owner: it ends honestly a turn that was interrupted, and tells
// the client the history, or, without a replay, only what that end has changed, and how full the window is. One that
// fails leaves open what was open, and nothing else.
func (s *session) reload(ctx context.Context, place func(*session), replay bool) error {
	store := s.agent.o.Store
	wasOpen := s.log != nil
	switch {
	case wasOpen:
		if err := errors.Join(s.closeKit(), s.log.Close()); err != nil {
			s.agent.o.Log.Warn("closing a session", "session", s.id, "err", err)
		}
		s.log = nil
	case s.after != nil:
		select {
		case <-s.after:
		case <-ctx.Done():
			return acp.ErrCancelled
		}
	}
	leased, err := store.Lease(context.WithoutCancel(ctx), s.id) // what was open stays open
	if err != nil {
		return leaseError(s.id, err)
	}
	state, events, err := s.fold(ctx)
	if err != nil && ctx.Err() != nil {
		if wasOpen { // with the state that it has, which is that of the log
			s.log = leased
			return acp.ErrCancelled
		}
		return errors.Join(acp.ErrCancelled, leased.Close())
	}
	if err != nil {
		s.agent.o.Log.Error("reading a session", "session", s.id, "err", err)
		return errors.Join(&acp.Failure{Kind: "storage", Message: "The session's log cannot be read."}, err, leased.Close())
	}
	s.log, s.state, s.broken = leased, state, nil
	s.offering(state.Specs())
	place(s)
	s.restore()
	settled := s.settle() // before anything is sent: the client may go away, or give up, in the middle of it
	if used := state.Usage(); used != (loop.Usage{}) {
		settled = append(settled, loop.UsageChanged{Usage: used}) // a history is told without it
	}
	if replay {
		err = s.tell(ctx, events, s.loaded)
	}
	if err == nil {
		err = s.tell(ctx, settled, s.updateFor)
	}
	if err != nil && !wasOpen { // the client does not have it: it must not keep it from others
		err = errors.Join(err, leased.Close())
		s.log = nil
	}
	return err
}

// tell sends the updates for events, as long as ctx holds.
func (s *session) tell(ctx context.Context, events []loop.Event, updateFor func(loop.Event) (acp.SessionUpdate, bool)) error {
	for _, e := range events {
		if ctx.Err() != nil {
			return acp.ErrCancelled
		}
		if u, ok := updateFor(e); ok {
			if err := s.update(ctx, s.displayed(u)); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return acp.ErrCancelled
	}
	return nil
}

// loaded is LoadUpdateFor, as this client and the person want it.
func (s *session) loaded(e loop.Event) (acp.SessionUpdate, bool) { return s.wanted(e, LoadUpdateFor) }

// settle ends a turn that the log has no end of, and takes back a mode that this process does not offer. It returns
// what came of that.
func (s *session) settle() (events []loop.Event) {
	var owed []loop.Input
	if !s.state.Idle() && !s.state.Interrupted() {
		owed = append(owed, loop.Interrupted{})
	}
	if logged := s.state.Option(optionMode); logged != "" && logged != s.option(optionMode) {
		owed = append(owed, loop.Chosen{Option: optionMode, Value: s.option(optionMode)})
	}
	for _, in := range owed {
		_ = s.record(in) // a log that cannot be written can still be read: the next prompt says so
		events = append(events, s.step(in)...)
	}
	return events
}

func (s *session) fold(ctx context.Context) (loop.State, []loop.Event, error) {
	var failed error
	state, events := loop.Replay(func(yield func(loop.Input) bool) {
		for in, err := range s.agent.o.Store.Inputs(ctx, s.id) {
			if err != nil {
				failed = err
				return
			}
			if !yield(in) {
				return
			}
		}
	})
	return state, events, failed
}

func leaseError(id acp.SessionID, err error) error {
	switch {
	case errors.Is(err, acp.ErrNotFound):
		return fmt.Errorf("there is no session %q: %w", id, acp.ErrNotFound)
	case errors.Is(err, ErrLocked):
		return errors.Join(&acp.Failure{Kind: "locked", Message: err.Error()}, err)
	case errors.Is(err, ErrVersion):
		return errors.Join(&acp.Failure{Kind: "storage", Message: "The session was written by a newer version of this program: upgrade to open it."}, err)
	}
	return errors.Join(&acp.Failure{Kind: "storage", Message: "The session's log cannot be opened."}, err)
}

// ListSessions implements acp.Lister.
func (a *Agent) ListSessions(ctx context.Context, r *acp.ListSessionsRequest) (*acp.ListSessionsResponse, error) {
	cwd, cursor := "", ""
	if r.Cwd != nil && *r.Cwd != "" {
		cwd = filepath.Clean(*r.Cwd)
	}
	if r.Cursor != nil {
		cursor = *r.Cursor
	}
	page, next, err := a.o.Store.List(ctx, cwd, cursor, pageSize)
	switch {
	case errors.Is(err, ErrCursor):
		return nil, acp.InvalidParams("params/cursor: it is not one that session/list has given")
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		a.o.Log.Error("listing sessions", "err", err)
		return nil, errors.Join(&acp.Failure{Kind: "storage", Message: "The stored sessions cannot be read."}, err)
	}
	out := &acp.ListSessionsResponse{Sessions: make([]acp.SessionInfo, 0, len(page))}
	for _, i := range page {
		info := acp.SessionInfo{SessionID: i.ID, Cwd: i.Cwd, Title: a.title(ctx, i.ID)}
		if !i.Updated.IsZero() {
			info.UpdatedAt = i.Updated.UTC().Format("2006-01-02T15:04:05.000Z07:00")
		}
		out.Sessions = append(out.Sessions, info)
	}
	if next != "" {
		out.NextCursor = &next
	}
	return out, nil
}

// title is a stored session's title, from its first prompt that has one.
func (a *Agent) title(ctx context.Context, id acp.SessionID) string {
	for in, err := range a.o.Store.Inputs(ctx, id) {
		if err != nil {
			return ""
		}
		if p, ok := in.(loop.Prompted); ok {
			if title := loop.TitleOf(p.Content); title != "" {
				return title
			}
		}
	}
	return ""
}

// CloseSession implements acp.Closer.
func (a *Agent) CloseSession(r *acp.CloseSessionRequest) (func(context.Context) (*acp.CloseSessionResponse, error), error) {
	s := a.leave(r.SessionID)
	if s == nil {
		return nil, notOpen(r.SessionID)
	}
	return func(context.Context) (*acp.CloseSessionResponse, error) {
		a.end(s)
		return nil, nil //nolint:nilnil // an empty result
	}, nil
}

// leave shuts an open session, which its caller must end; nil if there is none. Who opens it again waits for that end.
func (a *Agent) leave(id acp.SessionID) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[id]
	if s == nil || !s.shut() {
		return nil
	}
	a.leaving[id] = s.gone
	return s
}

// end closes a session that was left.
func (a *Agent) end(s *session) {
	if err := s.close(nil); err != nil {
		a.o.Log.Warn("closing a session", "session", s.id, "err", err)
	}
	a.forget(s)
	a.left(s.id, s.gone)
}

// left takes back what leave, or a deletion, has others wait for, unless these wait for something else by now.
func (a *Agent) left(id acp.SessionID, gone <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.leaving[id] == gone {
		delete(a.leaving, id)
	}
}

// DeleteSession implements acp.Deleter. An open session is closed first. Who asks for the session behind this waits, and
// does not find it.
func (a *Agent) DeleteSession(r *acp.DeleteSessionRequest) (func(context.Context) (*acp.DeleteSessionResponse, error), error) {
	id := r.SessionID
	s := a.leave(id)
	deleted := make(chan struct{})
	a.mu.Lock()
	before := a.leaving[id]
	a.leaving[id] = deleted
	a.mu.Unlock()
	return func(ctx context.Context) (*acp.DeleteSessionResponse, error) {
		defer a.left(id, deleted)
		defer close(deleted)
		if s != nil {
			a.end(s)
		}
		if before != nil {
			<-before
		}
		err := a.o.Store.Delete(ctx, id)
		if err != nil && !errors.Is(err, acp.ErrNotFound) {
			return nil, leaseError(id, err)
		}
		return nil, nil //nolint:nilnil // an empty result
	}, nil
}
