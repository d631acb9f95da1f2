package main

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/tools"
)

// outside is what a session works with that is not of this build and not in its workspace: the model, the servers, the
// person's configuration, the clock.
type outside struct {
	now      time.Time
	platform string // as Go names it
	model    func(name, thinking string) (loop.Model, error)
	rules    loop.Rules
	off      []agent.Off
	servers  serverSet
	index    string          // of the servers' tools that are not listed
	changed  <-chan struct{} // has something to receive when something of the servers has changed
	// terminal runs commands for the tools, given the client's terminal (nil where it has none); nil: as own processes.
	terminal func(agent.Terminal) tools.Terminal
	// own may put something over the tools of this build.
	own func([]loop.Tool) []loop.Tool
	// prepare makes the workspace what a call is to find; nil where it is what it is.
	prepare func(c loop.Call, run bool) error
	close   func() error
}

// serverSet is the MCP servers of a session.
type serverSet interface {
	states() []agent.Server
	tools() []loop.Tool
	commands() []agent.SlashCommand
	resource(ctx context.Context, server, uri string) (loop.Blocks, error)
}

// live is the world as it is.
func (p *program) live(ctx context.Context, s agent.Setup) (*outside, error) {
	if _, err := p.models.get(s.Model, ""); err != nil {
		return nil, err
	}
	project := p.cfg.projectIn(s.Roots[0])
	servers := p.connect(ctx, s)
	out := &outside{
		now: p.now(), platform: runtime.GOOS, model: p.models.get, servers: servers, index: servers.shelf.Index(),
		rules: append(slices.Clip(p.cfg.Rules), project.rules...), changed: servers.host.Changed(),
		terminal: clientsTerminal, own: func(all []loop.Tool) []loop.Tool { return all }, close: servers.host.Close,
	}
	for _, o := range project.off {
		out.off = append(out.off, agent.Off{What: "The project's " + o.file.name, Why: o.why})
	}
	return out, nil
}

// clientsTerminal is the client's terminal as tools want it.
func clientsTerminal(t agent.Terminal) tools.Terminal {
	if t == nil {
		return nil
	}
	return editorTerminal{t}
}
