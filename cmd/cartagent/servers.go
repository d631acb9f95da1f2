package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/mcpclient"
)

// servers are a session's MCP servers: those that connected, with their tools, and why the others did not.
type servers struct {
	clients []*mcpclient.Client
	tools   []loop.Tool
	missing []string // "NAME is not available: why"
	states  []agent.Server
	prompts []agent.SlashCommand
}

// connect connects the servers of the configuration and those that the client passed, side by side. One that fails is
// named and left out. The offline model gets its cart where no server takes orders.
func (p *program) connect(ctx context.Context, s agent.Setup) *servers {
	wanted, refused := p.wanted(s)
	out := &servers{states: refused}
	out.join(ctx, p, mcpclient.Unique(wanted))
	if s.Model == offlineModel && !out.takesOrders() {
		if own, err := p.own(); err != nil {
			out.states = append(out.states, agent.Server{Name: "cart", Why: err.Error()})
		} else {
			out.join(ctx, p, []mcpclient.Server{{Name: "cart", Command: own, Args: []string{"cart"}, Dir: s.Roots[0], Trusted: true}})
		}
	}
	if len(out.clients) > 0 {
		byName := make(map[string]*mcpclient.Client, len(out.clients))
		for _, c := range out.clients {
			byName[c.Name()] = c
		}
		out.tools = append(out.tools, mcpclient.ReadTool(func() map[string]*mcpclient.Client { return byName }))
	}
	for _, v := range out.states {
		if v.Why != "" {
			p.log.Warn("mcp server", "session", s.Session, "server", v.Name, "problem", v.Why)
			out.missing = append(out.missing, v.Name+" is not available: "+v.Why)
		}
	}
	return out
}

// join connects servers side by side and adds what they offer, in the order in which they were named.
func (s *servers) join(ctx context.Context, p *program, wanted []mcpclient.Server) {
	clients := make([]*mcpclient.Client, len(wanted))
	offered := make([][]loop.Tool, len(wanted))
	prompts := make([][]mcpclient.Prompt, len(wanted))
	errs := make([]error, len(wanted))
	var group sync.WaitGroup
	for i, w := range wanted {
		group.Go(func() {
			if clients[i], errs[i] = mcpclient.Connect(ctx, w, mcpclient.Options{Log: p.log, Version: version()}); errs[i] == nil {
				offered[i], errs[i] = clients[i].Tools(ctx)
			}
			if errs[i] != nil {
				return
			}
			var err error
			if prompts[i], err = clients[i].Prompts(ctx); err != nil { // its tools are there all the same
				p.log.Warn("mcp server", "server", w.Name, "problem", err)
			}
		})
	}
	group.Wait()
	for i, w := range wanted {
		state := agent.Server{Name: w.Name, Tools: len(offered[i])}
		if clients[i] != nil {
			s.clients = append(s.clients, clients[i])
			s.tools = append(s.tools, offered[i]...)
			state.Era = clients[i].Era()
			for _, prompt := range prompts[i] {
				s.prompts = append(s.prompts, promptCommand(clients[i], prompt))
			}
		}
		if errs[i] != nil {
			state.Why = errs[i].Error()
		}
		s.states = append(s.states, state)
	}
}

// promptCommand is a server's prompt as a slash command.
func promptCommand(client *mcpclient.Client, p mcpclient.Prompt) agent.SlashCommand {
	return agent.SlashCommand{
		Name: client.Name() + ":" + p.Name, Description: cmp.Or(p.Description, p.Title, "A prompt of "+client.Name()), Hint: p.Hint(),
		Expand: func(ctx context.Context, text string) (loop.Blocks, error) {
			args, err := mcpclient.ParseArguments(text, p)
			if err != nil {
				return nil, err
			}
			return client.Prompt(ctx, p.Name, args)
		},
	}
}

// takesOrders says whether there is a tool to start an order with, by the name that the cart gives it.
func (s *servers) takesOrders() bool {
	return slices.ContainsFunc(s.tools, func(t loop.Tool) bool {
		remote, ok := t.(*mcpclient.Tool)
		return ok && remote.Original() == "create_order"
	})
}

func (s *servers) close() error {
	var group sync.WaitGroup
	errs := make([]error, len(s.clients))
	for i, c := range s.clients {
		group.Go(func() { errs[i] = c.Close() })
	}
	group.Wait()
	return errors.Join(errs...)
}
