package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cartagent/cartagent/loop"
)

// link is a host's hold on one server, from one process to the next.
type link struct {
	host   *Host
	server Server
	news   chan struct{} // has something once the server has told of another list

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
			l.stay(ctx, c)
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

// relistPause is how long after a list was read again the next one may be: some servers tell of a change whenever they are
// asked for one.
const relistPause = time.Second

// stay keeps up with what a server offers until it ends. One that hangs would cost each call its whole timeout for ever, so
// it is ended, to be started again.
func (l *link) stay(ctx context.Context, c *Client) {
	news := l.news
	var rested <-chan time.Time
	for {
		select {
		case <-news:
			if err := l.learn(ctx, c); err != nil && ctx.Err() == nil && c.Err() == nil {
				l.host.o.Log.Warn("mcp server", "server", l.server.Name, "problem", err)
			}
			news, rested = nil, time.After(relistPause)
		case <-rested:
			news = l.news
		case <-c.conn.mute:
			if c.alive(ctx) || ctx.Err() != nil || c.Err() != nil {
				continue
			}
			c.giveUp()
			return
		case <-c.Done():
			return
		case <-ctx.Done():
			return
		}
	}
}

// connect makes a client and learns what it offers.
func (l *link) connect(ctx context.Context) (*Client, error) {
	o := l.host.o.Options
	o.Changed = func(ch Change) {
		if tell := l.host.o.Changed; tell != nil {
			tell(ch)
		}
		if ch.Kind == ChangedTools || ch.Kind == ChangedPrompts {
			select {
			case l.news <- struct{}{}:
			default: // the one before is still to be looked at
			}
		}
	}
	c, err := Connect(ctx, l.server, o)
	if err != nil {
		return nil, err
	}
	if err := l.learn(ctx, c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// learn lists what a server offers, as far as it is not known to hold.
func (l *link) learn(ctx context.Context, c *Client) error {
	listed, err := c.Tools(ctx)
	if err != nil {
		return err
	}
	var prompts []Prompt
	if c.session.InitializeResult().Capabilities.Prompts != nil { // one that has none need not answer
		if prompts, err = c.Prompts(ctx); err != nil { // its tools are there all the same
			l.host.o.Log.Warn("mcp server", "server", l.server.Name, "problem", err)
		}
	}
	l.up(c, ownTools(listed), prompts)
	return nil
}

func ownTools(listed []loop.Tool) []*Tool {
	tools := make([]*Tool, 0, len(listed))
	for _, t := range listed {
		if own, ok := t.(*Tool); ok {
			tools = append(tools, own)
		}
	}
	return tools
}

func (l *link) up(c *Client, tools []*Tool, prompts []Prompt) {
	h := l.host
	h.mu.Lock()
	defer h.mu.Unlock()
	l.client, l.tools, l.prompts = c, tools, prompts
	l.state = State{Name: l.server.Name, Phase: PhaseConnected, Era: c.Era(), Version: c.Version(), Tools: len(tools)}
	for _, t := range tools {
		own := &remoteTool{link: l, original: t.name, spec: t.spec}
		switch i := slices.IndexFunc(h.tools, func(k loop.Tool) bool { return k.Spec().Name == t.spec.Name }); {
		case i < 0:
			h.tools = append(h.tools, own)
		case h.tools[i].(*remoteTool).recalled:
			h.tools[i] = own // who was given the other one is asked about what has changed
		}
	}
	h.tools = slices.DeleteFunc(h.tools, func(k loop.Tool) bool {
		r, ok := k.(*remoteTool)
		return ok && r.recalled && r.link == l // it has it no more
	})
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
	recalled bool // it was offered by another host; this one's server has yet to list it

	mu    sync.Mutex
	shown map[string]shown // calls that were previewed and have yet to run, by their ids
}

// shown is a tool as it was when a call was previewed.
type shown struct {
	spec loop.Spec
	at   time.Time
}

// Spec is loop.Tool's: the tool as it was first listed.
func (r *remoteTool) Spec() loop.Spec { return r.spec }

// Preview is loop.Tool's. A server that is on its way is waited for.
func (r *remoteTool) Preview(ctx context.Context, c loop.Call) (loop.Preview, error) {
	t, err := r.latest(ctx)
	if err != nil {
		return loop.Preview{}, err
	}
	p, err := t.Preview(ctx, c)
	if err = r.link.server.conceal(err); err == nil {
		r.show(c.ID, t.spec)
	}
	if err == nil && p.Caution == "" {
		if what := differences(r.spec, t.spec); len(what) > 0 {
			named := inWords(what)
			p.Caution = "the server has changed the tool's " + named + " since it was listed"
			text := "The server " + r.link.server.Name + " has changed this tool since it was listed: its " + named + "."
			if slices.Contains(what, differsText) {
				text += " It now says: " + printable(t.spec.Title+" "+t.spec.Description, maxDifference)
			}
			if slices.Contains(what, differsArgs) {
				text += "\nIts arguments are now: " + printable(string(t.spec.Schema), maxDifference)
			}
			p.Display = append(loop.Blocks{loop.Text{Text: text}}, p.Display...)
		}
	}
	return p, err
}

// Run is loop.Tool's. A tool that takes other arguments, or says that it does something else, since the person was shown the
// call is not called: where an answer took its time, that is looked at once more.
func (r *remoteTool) Run(ctx context.Context, j loop.Job, report func(loop.Block)) (loop.Result, error) {
	was, known := r.take(j.Call.ID)
	find := r.current
	if known && r.link.host.o.Now().Sub(was.at) > promptly {
		find = r.latest
	}
	t, err := find(ctx)
	if err != nil {
		return loop.Result{}, err
	}
	if known {
		// Words alone hold no call up: some change by the minute, and the next preview shows them.
		what := slices.DeleteFunc(differences(was.spec, t.spec), func(one string) bool { return one == differsText })
		if len(what) > 0 {
			return loop.Result{}, fmt.Errorf("the MCP server %s has changed the tool's %s since this call was shown, so nothing was sent; "+
				"call again if it is still to be called", r.link.server.Name, inWords(what))
		}
	}
	res, err := t.Run(ctx, j, report)
	res.Content = Fitted(res.Content)
	return res, r.link.server.conceal(err)
}

// show keeps how the tool was when a call was previewed.
func (r *remoteTool) show(id string, spec loop.Spec) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.shown) >= maxShown {
		clear(r.shown) // calls that were never let run
	}
	if r.shown == nil {
		r.shown = make(map[string]shown)
	}
	r.shown[id] = shown{spec, r.link.host.o.Now()}
}

// take is how the tool was when a call was previewed, once: a call that was sent goes on. It is not known of calls that an
// earlier process has previewed.
func (r *remoteTool) take(id string) (shown, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, ok := r.shown[id]
	delete(r.shown, id)
	return was, ok
}

// latest is current by a list that still holds: a modern server has said for how long, and what it says after that may be
// something else than what the person has seen.
func (r *remoteTool) latest(ctx context.Context) (*Tool, error) {
	c, known, err := r.link.await(ctx)
	if err != nil {
		return nil, err
	}
	if c.Era() == EraModern {
		limit, cancel := context.WithTimeout(ctx, maxAside)
		defer cancel()
		if listed, err := c.Tools(limit); err == nil {
			known = ownTools(listed)
			r.link.list(c, known)
		}
	}
	return r.among(known)
}

// list keeps what a client's server has, as it says now.
func (l *link) list(c *Client, tools []*Tool) {
	l.host.mu.Lock()
	defer l.host.mu.Unlock()
	if l.client == c {
		l.tools = tools
	}
}

func (r *remoteTool) current(ctx context.Context) (*Tool, error) {
	_, tools, err := r.link.await(ctx)
	if err != nil {
		return nil, err
	}
	return r.among(tools)
}

func (r *remoteTool) among(tools []*Tool) (*Tool, error) {
	for _, t := range tools {
		if t.spec.Name == r.spec.Name {
			return t, nil
		}
	}
	return nil, fmt.Errorf("the MCP server %s has no tool %s any more", r.link.server.Name, r.original)
}

// What may not be the same about two descriptions of a tool.
const (
	differsText  = "description"
	differsArgs  = "arguments"
	differsHints = "hints"

	maxDifference = 1000        // bytes of what it is now
	maxShown      = 1000        // calls
	promptly      = time.Second // from a preview to a call that nobody was asked about
)

// differences names what is not the same about two descriptions of a tool.
func differences(a, b loop.Spec) (what []string) {
	was, is := a.Fingerprint, b.Fingerprint
	if was.Description != is.Description {
		what = append(what, differsText)
	}
	if was.Schema != is.Schema {
		what = append(what, differsArgs)
	}
	if was.Hints != is.Hints || a.Keyed != b.Keyed {
		what = append(what, differsHints)
	}
	return what
}

// inWords joins words by commas and an and.
func inWords(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}
