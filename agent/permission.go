package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
)

// Patience is how long a question to the person waits for its answer: a permission, a form or a page to open. A turn's
// cancel ends the wait at once. A question that nobody has answered by then is answered with no, and so are at once
// those that come after it in the session, until the client answers something.
const Patience = 30 * time.Minute

// gate asks the client's person. It implements loop.Gate. One gate serves a session for as long as it is open.
type gate struct {
	client  *acp.ClientConn
	session acp.SessionID
	silence silence
}

func newGate(client *acp.ClientConn, session acp.SessionID) *gate {
	return &gate{client: client, session: session}
}

// Ask waits for the person, within Patience. Whatever is not one of the options is no approval.
func (g *gate) Ask(ctx context.Context, c loop.Call, p loop.Preview, opts []loop.Option) (loop.Outcome, error) {
	options := make([]acp.PermissionOption, len(opts))
	for i, o := range opts {
		options[i] = acp.PermissionOption{
			OptionID: acp.PermissionOptionID(o.Kind), Name: o.Name, Kind: acp.PermissionOptionKind(o.Kind),
		}
	}
	update := acp.ToolCallUpdate{ToolCallID: acp.ToolCallID(c.ID), RawInput: c.Args, Locations: locationsOf(p.Locations)}
	if p.Title != "" {
		update.Title = &p.Title
	}
	if len(p.Display) > 0 {
		update.Content = contentsOf(p.Display)
	}
	answer, err := g.request(ctx, &acp.RequestPermissionRequest{SessionID: g.session, ToolCall: update, Options: options})
	if err != nil {
		return "", err
	}
	if chosen, ok := answer.(acp.Selected); ok {
		for _, o := range opts {
			if string(o.Kind) == string(chosen.OptionID) {
				return o.Kind, nil
			}
		}
		return loop.RejectOnce, nil
	}
	return loop.Dismissed, nil
}

// request puts a permission request to the person.
func (g *gate) request(ctx context.Context, r *acp.RequestPermissionRequest) (acp.RequestPermissionOutcome, error) {
	answer, err := patiently(ctx, &g.silence, func(ctx context.Context) (*acp.RequestPermissionResponse, error) {
		return g.client.RequestPermission(ctx, r)
	})
	switch {
	case errors.Is(err, acp.ErrMethodNotFound):
		return nil, errCannotAsk
	case errors.Is(err, acp.ErrClosed):
		return nil, loop.ErrGone
	case err != nil:
		return nil, err
	}
	return answer.Outcome, nil
}

// close takes back a question that nobody has answered, with the session that it belongs to.
func (g *gate) close() { g.silence.close() }

// errCannotAsk is why a client that does not know session/request_permission is not asked again.
var errCannotAsk = errors.New("the client cannot ask for permission")

// errNoAnswer is why a client that did not answer is not waited for again.
var errNoAnswer = fmt.Errorf("the user did not answer within %d minutes", int(Patience.Minutes()))

// silence remembers that a client does not answer one kind of question. The zero value is a client that may.
type silence struct {
	mu    sync.Mutex
	why   error              // nil while there is hope
	stale context.CancelFunc // ends the question whose answer would break the silence
}

// reason is why it is no use to ask; nil if it may be.
func (s *silence) reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// heard notes how a question was answered. A client that does not know the method never will; any other answer shows
// that somebody is there.
func (s *silence) heard(err error) {
	var refusal *acp.Error
	if err != nil && !errors.As(err, &refusal) {
		return // no answer: the wait or the connection ended
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(err, acp.ErrMethodNotFound):
		s.why = err
	case errors.Is(s.why, errNoAnswer):
		s.why = nil
	}
}

// fall notes that nobody has answered. stale ends the question, whose answer may come yet.
func (s *silence) fall(stale context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why, s.stale = errNoAnswer, stale
}

// broken notes that the client has answered something else.
func (s *silence) broken() { s.heard(nil) }

func (s *silence) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stale != nil {
		s.stale()
	}
}

// reply is what a client answered.
type reply[R any] struct {
	answer R
	err    error
}

// patiently asks the person and waits for the answer within Patience. A question that is given up for want of an
// answer stays with the client, for as long as the session lasts: it is by its late answer that the silence ends.
func patiently[R any](ctx context.Context, s *silence, ask func(context.Context) (R, error)) (R, error) {
	var none R
	if err := s.reason(); err != nil {
		return none, err
	}
	asking, stop := context.WithCancel(context.WithoutCancel(ctx))
	answered := make(chan reply[R], 1)
	go func() {
		defer stop()
		answer, err := ask(asking)
		answered <- reply[R]{answer, err}
	}()
	late := time.NewTimer(Patience)
	defer late.Stop()
	select {
	case r := <-answered:
		s.heard(r.err)
		return r.answer, r.err
	case <-ctx.Done():
		stop()
		return none, context.Cause(ctx)
	case <-late.C:
	}
	s.fall(stop)
	go func() {
		r := <-answered
		s.heard(r.err)
	}()
	return none, errNoAnswer
}
