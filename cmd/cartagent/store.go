package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/session"
)

// sessionStore is session.Store as agent wants it, opened when it is first needed.
type sessionStore struct {
	open func() (session.Store, error)
	// warn hears of what is damaged in a session that is opened.
	warn func(session, problem string)
}

func (s sessionStore) Create(ctx context.Context, id acp.SessionID, cwd string, created time.Time) (agent.Log, error) {
	store, err := s.open()
	if err != nil {
		return nil, err
	}
	return store.Create(ctx, session.Info{ID: string(id), Cwd: cwd, Created: created})
}

func (s sessionStore) Lease(ctx context.Context, id acp.SessionID) (agent.Log, error) {
	store, err := s.open()
	if err != nil {
		return nil, err
	}
	leased, err := store.Lease(ctx, string(id))
	if err != nil {
		return nil, translated(err)
	}
	for _, w := range leased.Warnings() {
		s.warn(string(id), w)
	}
	return leased, nil
}

func (s sessionStore) Inputs(ctx context.Context, id acp.SessionID) iter.Seq2[loop.Input, error] {
	return func(yield func(loop.Input, error) bool) {
		store, err := s.open()
		if err != nil {
			yield(nil, err)
			return
		}
		for in, err := range store.Inputs(ctx, string(id), 0) {
			if !yield(in, translated(err)) {
				return
			}
		}
	}
}

func (s sessionStore) List(ctx context.Context, cwd, cursor string, limit int) ([]agent.Info, string, error) {
	store, err := s.open()
	if err != nil {
		return nil, "", err
	}
	page, err := store.List(ctx, session.Filter{Cwd: cwd, After: cursor, Limit: limit})
	if err != nil {
		return nil, "", translated(err)
	}
	out := make([]agent.Info, len(page.Sessions))
	for i, info := range page.Sessions {
		out[i] = agent.Info{ID: acp.SessionID(info.ID), Cwd: info.Cwd, Updated: info.Updated}
	}
	return out, page.Next, nil
}

func (s sessionStore) Delete(ctx context.Context, id acp.SessionID) error {
	store, err := s.open()
	if err != nil {
		return err
	}
	return translated(store.Delete(ctx, string(id)))
}

// translated is an error of the store in the words of the agent.
func translated(err error) error {
	var locked *session.Locked
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrNotFound):
		return fmt.Errorf("%w: %w", acp.ErrNotFound, err)
	case errors.As(err, &locked):
		return fmt.Errorf("%w: process %d on %s has it", agent.ErrLocked, locked.PID, locked.Host)
	case errors.Is(err, session.ErrVersion):
		return fmt.Errorf("%w: %w", agent.ErrVersion, err)
	case errors.Is(err, session.ErrCursor):
		return fmt.Errorf("%w: %w", agent.ErrCursor, err)
	}
	return err
}
