package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cartagent/cartagent/acp"
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
		if cart, err := p.cart(s.Roots[0]); err != nil {
			out.states = append(out.states, agent.Server{Name: "cart", Why: err.Error()})
		} else {
			out.join(ctx, p, []mcpclient.Server{cart})
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

// cart is the offline model's cart. Its orders are in the state folder, so they outlive the session, and their numbers go on
// from one session to the next, whichever process takes the order.
func (p *program) cart(dir string) (mcpclient.Server, error) {
	own, err := p.own()
	if err != nil {
		return mcpclient.Server{}, err
	}
	args := []string{"cart"}
	if p.cfg.state != "" {
		state, err := filepath.Abs(p.cfg.state) // the cart runs in another folder
		if err != nil {
			return mcpclient.Server{}, fmt.Errorf("finding the state folder: %w", err)
		}
		if err := os.MkdirAll(state, 0o700); err != nil {
			return mcpclient.Server{}, fmt.Errorf("making the state folder: %w", err)
		}
		args = append(args, "--store", filepath.Join(state, "cart.db"))
	}
	return mcpclient.Server{Name: "cart", Command: own, Args: args, Dir: dir, Trusted: true}, nil
}

// wanted lists the servers to connect, in a stable order, and those that cannot be.
func (p *program) wanted(s agent.Setup) (wanted []mcpclient.Server, refused []agent.Server) {
	for _, name := range slices.Sorted(maps.Keys(p.cfg.MCP)) {
		spec := p.cfg.MCP[name]
		timeout, _ := spec.timeout() // checked when it was read
		wanted = append(wanted, mcpclient.Server{
			Name: name, Command: spec.Command, Args: spec.Args, Env: spec.Env,
			Dir: s.Roots[0], Timeout: timeout, Trusted: spec.Trusted,
		})
	}
	for _, server := range s.Servers {
		switch v := server.(type) {
		case acp.MCPServerStdio:
			env := make(map[string]string, len(v.Env))
			for _, e := range v.Env {
				env[e.Name] = e.Value
			}
			wanted = append(wanted, mcpclient.Server{Name: v.Name, Command: v.Command, Args: v.Args, Env: env, Dir: s.Roots[0]})
		case acp.MCPServerHTTP:
			refused = append(refused, agent.Server{Name: v.Name, Why: "servers over HTTP are not supported"})
		case acp.MCPServerSSE:
			refused = append(refused, agent.Server{Name: v.Name, Why: "servers over HTTP are not supported"})
		case acp.RawMCPServer:
			refused = append(refused, agent.Server{Name: "of type " + v.Type, Why: "only servers with a command are supported"})
		}
	}
	return wanted, refused
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
