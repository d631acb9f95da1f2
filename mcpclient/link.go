package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cartagent/cartagent/loop"
)

// link is a host's hold on one server, from one process to the next.
type link struct {
	host   *Host
	server Server

	// Guarded by the host's mu:
	state   State
	client  *Client // nil unless connected
	tools   []*Tool // of the client
	prompts []Prompt
	closing error // what went wrong when the last client was closed
}

// run connects the server again and again, until it fails for good or the host ends.
func (l *link) run() {
	ctx := l.host.ctx
	for n := 0; ; {
		c, err := l.connect(ctx)
		err = l.server.conceal(err)
		var lasted time.Duration
		if err == nil {
			began := time.Now()
			select {
			case <-c.Done():
			case <-ctx.Done():
			}
			lasted, err = time.Since(began), l.server.conceal(c.Err())
			l.down(c, err)
		}
		if ctx.Err() != nil {
			return
		}
		if n++; lasted >= l.host.o.Steady {
			n = 1
		}
		wait, again := l.host.o.Retry(n)
		if !again || c == nil && n == 1 { // what never came is configured wrong, or takes longer than anybody waits
			l.move(PhaseFailed, err)
			l.host.o.Log.Warn("mcp server failed", "server", l.server.Name, "starts", n, "err", err)
			return
		}
		l.move(PhaseRestarting, err)
		l.host.o.Log.Warn("mcp server is started again", "server", l.server.Name, "wait", wait, "err", err)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return
		}
	}
}

// connect makes a client and learns what it offers.
func (l *link) connect(ctx context.Context) (*Client, error) {
	c, err := Connect(ctx, l.server, l.host.o.Options)
	if err != nil {
		return nil, err
	}
	listed, err := c.Tools(ctx)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	tools := make([]*Tool, 0, len(listed))
	for _, t := range listed {
		if own, ok := t.(*Tool); ok {
			tools = append(tools, own)
		}
	}
	var prompts []Prompt
	if c.session.InitializeResult().Capabilities.Prompts != nil { // one that has none need not answer
		if prompts, err = c.Prompts(ctx); err != nil { // its tools are there all the same
			l.host.o.Log.Warn("mcp server", "server", l.server.Name, "problem", err)
		}
	}
	l.up(c, tools, prompts)
	return c, nil
}

func (l *link) up(c *Client, tools []*Tool, prompts []Prompt) {
	h := l.host
	h.mu.Lock()
	defer h.mu.Unlock()
	l.client, l.tools, l.prompts = c, tools, prompts
	l.state = State{Name: l.server.Name, Phase: PhaseConnected, Era: c.Era(), Version: c.Version(), Tools: len(tools)}
	for _, t := range tools {
		known := slices.ContainsFunc(h.tools, func(k loop.Tool) bool { return k.Spec().Name == t.spec.Name })
		if !known {
			h.tools = append(h.tools, &remoteTool{link: l, original: t.name, spec: t.spec})
		}
	}
	h.tell()
}

// down lets go of a client that is of no more use.
func (l *link) down(c *Client, why error) {
	l.host.mu.Lock()
	l.client, l.tools, l.prompts = nil, nil, nil
	if why != nil {
		l.state.Phase, l.state.Why = PhaseRestarting, why.Error()
	}
	l.host.tell()
	l.host.mu.Unlock()
	err := c.Close()
	l.host.mu.Lock()
	l.closing = err
	l.host.mu.Unlock()
}

// move changes the phase, and keeps what is known of the server.
func (l *link) move(to Phase, why error) {
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	l.state.Phase, l.state.Why = to, why.Error()
	l.host.tell()
}

// await is the client and its tools, waiting while the server is on its way.
func (l *link) await(ctx context.Context) (*Client, []*Tool, error) {
	limit, cancel := context.WithTimeout(ctx, l.host.o.Setup)
	defer cancel()
	for {
		l.host.mu.Lock()
		c, tools, state, moved := l.client, l.tools, l.state, l.host.moved
		l.host.mu.Unlock()
		switch {
		case c != nil && c.Err() == nil:
			return c, tools, nil
		case state.Phase == PhaseFailed:
			return nil, nil, fmt.Errorf("the MCP server %s is not available: %s", l.server.Name, state.Why)
		case l.host.ctx.Err() != nil:
			return nil, nil, fmt.Errorf("server %s: %w", l.server.Name, ErrClosed)
		}
		select {
		case <-moved:
		case <-l.host.ctx.Done():
		case <-limit.Done():
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			return nil, nil, fmt.Errorf("the MCP server %s is %s and was not ready in time; nothing was sent, call again later",
				l.server.Name, state.Phase)
		}
	}
}

// remoteTool is a tool of a server that may be started again: it is what was offered, and calls what is there.
type remoteTool struct {
	link     *link
	original string
	spec     loop.Spec
}

// Spec is loop.Tool's: the tool as it was first listed.
func (r *remoteTool) Spec() loop.Spec { return r.spec }

// Preview is loop.Tool's. A server that is on its way is waited for.
func (r *remoteTool) Preview(ctx context.Context, c loop.Call) (loop.Preview, error) {
	t, err := r.current(ctx)
	if err != nil {
		return loop.Preview{}, err
	}
	p, err := t.Preview(ctx, c)
	err = r.link.server.conceal(err)
	if err == nil && p.Caution == "" {
		if what := differences(r.spec, t.spec); what != "" {
			p.Caution = "the server has changed the tool's " + what + " since it was listed"
		}
	}
	return p, err
}

// Run is loop.Tool's.
func (r *remoteTool) Run(ctx context.Context, j loop.Job, report func(loop.Block)) (loop.Result, error) {
	t, err := r.current(ctx)
	if err != nil {
		return loop.Result{}, err
	}
	res, err := t.Run(ctx, j, report)
	return res, r.link.server.conceal(err)
}

func (r *remoteTool) current(ctx context.Context) (*Tool, error) {
	_, tools, err := r.link.await(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tools {
		if t.spec.Name == r.spec.Name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("the MCP server %s has no tool %s any more", r.link.server.Name, r.original)
}

// differences names what is not the same about two descriptions of a tool.
func differences(a, b loop.Spec) string {
	switch {
	case a.Description != b.Description || a.Title != b.Title:
		return "description"
	case string(a.Schema) != string(b.Schema):
		return "arguments"
	case a.ReadOnly != b.ReadOnly || a.Keyed != b.Keyed:
		return "hints"
	}
	return ""
}
