package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
)

// open is the session's kit, made if there is none for the model that is chosen.
func (s *session) open(ctx context.Context) (*Kit, error) {
	if err := s.opening.lock(ctx); err != nil {
		return nil, err
	}
	defer s.opening.unlock()
	if err := s.lifetime.Err(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	s.mu.Lock()
	s.stopOpening = stop
	s.mu.Unlock()
	defer context.AfterFunc(s.lifetime, stop)() //nolint:contextcheck // the session's end is one more reason to stop
	model := s.option(optionModel)
	if s.kit != nil && (s.kit.Fits == nil || s.kit.Fits(model)) {
		return s.kit, nil
	}
	if err := s.shutKit(); err != nil {
		s.agent.o.Log.Warn("closing what a session worked with", "session", s.id, "err", err)
	}
	s.mu.Lock()
	roots, servers, had := s.roots, s.servers, s.had
	s.mu.Unlock()
	kit, err := s.agent.o.Open(ctx, Setup{
		Session: s.id, Roots: roots, Servers: servers, Model: model, Client: s.agent.client, Offered: had,
		Terminal: clientTerminal(s.agent.client, s.id, s.agent.o.Log),
		Ask:      s.ask,
		Page:     s.pages(),
		PageDone: s.asker.pageDone,
		Files:    func(own Files) Files { return clientFiles(s.agent.client, s.id, own) },
	})
	if err == nil && errors.Join(ctx.Err(), s.lifetime.Err()) != nil { // a cancel in between: what was connected may be half of it
		if kit.Close != nil {
			err = kit.Close()
		}
		err = errors.Join(context.Canceled, err)
	}
	if err != nil {
		return nil, err
	}
	s.kit, s.noticed = kit, nil
	s.told = ""              // a client that was still busy with the response may have missed the first time
	s.unwatch = s.watch(kit) //nolint:contextcheck // it lives as long as the kit
	return kit, errors.Join(s.announce(ctx), s.notice(ctx))
}

// watch tells the client, until stop is called, what becomes different about a kit.
func (s *session) watch(kit *Kit) (stop func()) {
	if kit.Changed == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(s.lifetime)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-kit.Changed:
			case <-ctx.Done():
				return
			}
			if s.opening.lock(ctx) != nil {
				return
			}
			err := errors.Join(s.announce(ctx), s.notice(ctx))
			s.opening.unlock()
			if err != nil && ctx.Err() == nil {
				s.agent.o.Log.Warn("telling of a change", "session", s.id, "err", err)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// notice names what is off and the servers that do not work, each reason once, to clients that show such things; for the
// others the log has them, and /mcp. The caller holds opening.
func (s *session) notice(ctx context.Context) error {
	if caps := s.agent.client.Capabilities().Session; caps == nil || caps.Notices == nil {
		return nil
	}
	tell := func(about, why string, n acp.Notice) error {
		if why == "" || s.noticed[about] == why {
			return nil
		}
		if s.noticed == nil {
			s.noticed = make(map[string]string)
		}
		s.noticed[about] = why
		return s.update(ctx, n)
	}
	var errs []error
	for _, o := range s.kit.Off {
		errs = append(errs, tell(o.What, o.Why, acp.Notice{Severity: acp.SeverityInfo, Title: o.What + " is off", Description: o.Why}))
	}
	for _, v := range s.kit.servers() {
		errs = append(errs, tell("server "+v.Name, v.Why, acp.Notice{
			Severity: acp.SeverityWarning, Title: "The MCP server " + v.Name + " is not available", Description: v.Why,
		}))
	}
	return errors.Join(errs...)
}

func (s *session) closeKit() error {
	s.mu.Lock()
	stop := s.stopOpening
	s.mu.Unlock()
	if stop != nil {
		stop() // nobody waits for servers whose session is placed anew
	}
	s.opening <- struct{}{} // what was opened is closed, whoever still waits
	defer s.opening.unlock()
	return s.shutKit()
}

func (s *session) shutKit() error {
	kit := s.kit
	s.kit = nil
	if kit == nil {
		return nil
	}
	s.unwatch()
	if kit.Close == nil {
		return nil
	}
	return kit.Close()
}

// settled runs once the client knows of the session: it is told the commands, and what the client wanted connected
// begins to.
func (s *session) settled(ctx context.Context) {
	err := s.opening.lock(ctx)
	if err == nil {
		s.told = ""
		err = s.announce(ctx)
		s.opening.unlock()
	}
	s.mu.Lock()
	wanted := len(s.servers) > 0
	s.mu.Unlock()
	if err == nil && wanted {
		_, err = s.open(ctx)
	}
	if err != nil && ctx.Err() == nil && s.lifetime.Err() == nil {
		s.agent.o.Log.Warn("opening a session", "session", s.id, "err", err)
	}
}

func (s *session) runner(kit *Kit) (*loop.Runner, error) {
	model, err := kit.Model(s.option(optionModel), s.option(optionThinking))
	if err != nil {
		return nil, err
	}
	return &loop.Runner{
		Model: model, Tools: kit.tools(), Later: kit.tools, Log: s.log, Inbox: s.inbox, Gate: s.gate, Asker: s.asker,
		Key: func(callID string) string { return string(s.id) + "/" + callID },
		Crashed: func(what string, value any, stack []byte) {
			s.agent.o.Log.Error("panic", "session", s.id, "in", what, "panic", value, "stack", string(stack))
		},
	}, nil
}

// configure logs what the session works with, where that is news.
func (s *session) configure(r *loop.Runner, kit *Kit) (loop.State, error) {
	specs := make([]loop.Spec, len(r.Tools))
	for i, t := range r.Tools {
		specs[i] = t.Spec()
	}
	specs = inOrderOf(s.state.Specs(), specs)
	same := s.state.System() == kit.System && slices.EqualFunc(s.state.Specs(), specs, sameSpec) &&
		slices.EqualFunc(s.state.Configured(), kit.Rules, sameRule)
	if s.state.Turn() > 0 && same {
		return s.state, nil
	}
	s.offering(specs)
	return r.Configure(s.state, loop.Configured{Specs: specs, Rules: kit.Rules, System: kit.System})
}

// offering notes which tools the model is offered, for a kit that is made later.
func (s *session) offering(specs []loop.Spec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.had = specs
}

// inOrderOf sorts tools as they were, and those that are new behind them: what begins alike is in a provider's cache.
func inOrderOf(before, specs []loop.Spec) []loop.Spec {
	place := make(map[string]int, len(before))
	for i, s := range before {
		place[s.Name] = i
	}
	at := func(s loop.Spec) int {
		if i, known := place[s.Name]; known {
			return i
		}
		return len(before)
	}
	slices.SortStableFunc(specs, func(a, b loop.Spec) int { return at(a) - at(b) })
	return specs
}

func sameSpec(a, b loop.Spec) bool {
	sameSchema := string(a.Schema) == string(b.Schema)
	a.Schema, b.Schema = nil, nil
	return sameSchema && fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b)
}

func sameRule(a, b loop.Rule) bool { return fmt.Sprintf("%#v", a) == fmt.Sprintf("%#v", b) }
