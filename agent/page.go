package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	done := &acp.CompleteElicitationNotification{ElicitationID: id}
	if err := s.agent.client.CompleteElicitation(context.WithoutCancel(ctx), done); err != nil {
		s.agent.o.Log.Debug("telling that a page is done", "session", s.id, "err", err)
	}
}
