package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/cartagent/cartagent/acp"
)

// Page shows the person a page to open, with a sentence about it, once they agree to. It waits for the agreement, not
// for what they do there; whoever asked ends ctx when the page has served its purpose, and the client is told.
type Page func(ctx context.Context, about, address string) error

// ErrDeclined is Page's error where the person does not want to open it.
var ErrDeclined = errors.New("the user declined")

// pages is the session's way to show pages; nil where its client has none.
func (s *session) pages() Page {
	if e := s.agent.client.Capabilities().Elicitation; e == nil || e.URL == nil {
		return nil
	}
	return s.showPage
}

func (s *session) showPage(ctx context.Context, about, address string) error {
	id := acp.ElicitationID(fmt.Sprintf("%s/page_%d", s.id, s.shownPages.Add(1)))
	answer, err := s.agent.client.CreateElicitation(ctx, &acp.CreateElicitationRequest{
		Message: strings.TrimSpace(about), Mode: acp.ElicitationURLMode{ElicitationID: id, URL: address},
		Scope: acp.ElicitationSessionScope{SessionID: s.id},
	})
	switch {
	case err != nil && ctx.Err() != nil: // it has served its purpose before the client has said that it shows it
		s.pageDone(ctx, id)
		return fmt.Errorf("showing a page: %w", err)
	case err != nil:
		return fmt.Errorf("showing a page: %w", err)
	}
	if _, ok := answer.Action.(acp.ElicitationAcceptAction); !ok {
		return ErrDeclined
	}
	context.AfterFunc(ctx, func() { s.pageDone(ctx, id) })
	return nil
}

// pageDone tells the client that a page is of no more use.
func (s *session) pageDone(ctx context.Context, id acp.ElicitationID) {
	if err := complete(ctx, s.agent.client, id); err != nil {
		s.agent.o.Log.Debug("telling that a page is done", "session", s.id, "err", err)
	}
}

// complete tells the client that a page has served its purpose.
func complete(ctx context.Context, client *acp.ClientConn, id acp.ElicitationID) error {
	return client.CompleteElicitation(context.WithoutCancel(ctx), &acp.CompleteElicitationNotification{ElicitationID: id})
}

// openPages are the pages of tools' questions that the client was shown and may have open, each with what tells it that
// the page is done.
type openPages struct {
	mu   sync.Mutex
	done map[acp.ElicitationID]func()
}

// add notes a page before it is shown: a server may know before the client answers that the person is done there. drop is
// for one that is not opened.
func (p *openPages) add(ctx context.Context, client *acp.ClientConn, id acp.ElicitationID) (drop func()) {
	ctx, done := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { _ = complete(ctx, client, id) }) // a client that is gone has no page open
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done == nil {
		p.done = make(map[acp.ElicitationID]func())
	}
	p.done[id] = done
	return func() {
		stop()
		done()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.done, id)
	}
}

// complete has the client told that a page is done, once, if it was shown. It does not wait for the client.
func (p *openPages) complete(id acp.ElicitationID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if done := p.done[id]; done != nil {
		delete(p.done, id)
		done()
	}
}
