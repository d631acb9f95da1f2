package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/mcpclient"
)

// connecting is how long a server may take until it is given up. Some are downloaded first.
const connecting = time.Minute

// servers are a session's MCP servers, and those that were wanted and cannot be.
type servers struct {
	host    *mcpclient.Host
	shelf   *mcpclient.Shelf
	refused []agent.Server
}

// connect begins to connect the servers of the configuration and those that the client passed. It waits for them for as
// long as the program is patient; those that come later join the session then. The offline model gets its cart where no
// server takes orders.
func (p *program) connect(ctx context.Context, s agent.Setup) *servers {
	wanted, refused := p.wanted(s)
	host := mcpclient.NewHost(mcpclient.HostOptions{Options: mcpclient.Options{
		Log: p.log.With("session", s.Session), Version: version(), Setup: connecting, Asks: true, Eras: p.eras,
		Elicit: asking(s), Completed: s.PageDone, Authorize: signIn(p.tokens, p.signer(s), p.log.With("session", s.Session), p.cfg.specIn(s.Roots[0])),
	}, Known: s.Offered})
	out := &servers{host: host, shelf: mcpclient.NewShelf(host, p.budget(s.Model)), refused: refused}
	for _, r := range refused {
		p.log.Warn("mcp server", "session", s.Session, "server", r.Name, "problem", r.Why)
	}
	wanted = mcpclient.Unique(wanted)
	host.Add(wanted...)
	p.settle(ctx, host)
	if s.Model != offlineModel || host.Has("create_order") {
		return out
	}
	cart, err := p.cart(s.Roots[0])
	if err != nil {
		out.refused = append(out.refused, agent.Server{Name: "cart", State: string(mcpclient.PhaseFailed), Why: err.Error()})
		return out
	}
	cart = mcpclient.Unique(append(wanted, cart))[len(wanted)] // another may have its name
	host.Add(cart)
	ctx, cancel := context.WithTimeout(ctx, connecting) // without it the model can do nothing
	defer cancel()
	if _, err := host.Client(ctx, cart.Name); err != nil {
		p.log.Debug("the cart is not there yet", "session", s.Session, "err", err)
	}
	return out
}

// asking puts the questions of servers that are about no call to the person.
func asking(s agent.Setup) mcpclient.ElicitFunc {
	if s.Ask == nil {
		return nil
	}
	return func(ctx context.Context, q mcpclient.Question) (mcpclient.Answer, error) {
		a, err := s.Ask(ctx, q.Server, loop.Question{ID: q.Key, Message: q.Message, Schema: q.Schema, URL: q.URL})
		return mcpclient.Answer{Action: string(a.Action), Content: a.Content}, err
	}
}

// budget is how much of a model's window servers' tools may take: a tenth, at about four bytes a token. The offline model
// has none that could fill up.
func (p *program) budget(model string) mcpclient.Budget {
	if model == offlineModel {
		return mcpclient.Budget{}
	}
	return mcpclient.Budget{Tools: mcpclient.DefaultTools, Bytes: p.cfg.window(model) / 10 * 4}
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

func (p *program) settle(ctx context.Context, host *mcpclient.Host) {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	host.Settle(ctx)
}

// states are all servers, as they are now.
func (s *servers) states() []agent.Server {
	out := slices.Clone(s.refused)
	for _, v := range s.host.States() {
		out = append(out, agent.Server{Name: v.Name, State: string(v.Phase), Era: v.Era, Tools: v.Tools, Why: v.Why})
	}
	return out
}

// missing says which servers a model has to do without, for now or altogether.
func missing(states []agent.Server) []string {
	var out []string
	for _, v := range states {
		switch {
		case v.Why != "":
			out = append(out, v.Name+" is not available: "+v.Why)
		case v.State == string(mcpclient.PhaseConnecting):
			out = append(out, v.Name+" is still starting; its tools may come later.")
		}
	}
	return out
}

// tools are those of the servers, and the one to read their resources with.
func (s *servers) tools() []loop.Tool {
	if len(s.host.States()) == 0 {
		return nil
	}
	return append([]loop.Tool{mcpclient.ReadTool(s.host.Clients)}, s.shelf.Tools()...)
}

// resource reads a resource that a prompt names, once its server is there. It gives nothing where there is no such server
// or resource.
func (s *servers) resource(ctx context.Context, server, uri string) (loop.Blocks, error) {
	var names []string
	for _, v := range s.host.States() {
		names = append(names, v.Name)
	}
	name, ok := mcpclient.Meant(names, server)
	if !ok {
		return nil, nil
	}
	client, err := s.host.Client(ctx, name)
	if err != nil {
		return nil, err
	}
	blocks, err := client.ReadResource(ctx, uri)
	if mcpclient.NoResource(err) {
		return nil, nil
	}
	return mcpclient.Fitted(blocks), err
}

// commands are the prompts of the servers as slash commands.
func (s *servers) commands() []agent.SlashCommand {
	var out []agent.SlashCommand
	for _, p := range s.host.Prompts() {
		out = append(out, agent.SlashCommand{
			Name: mcpclient.Typed(p.Server) + ":" + p.Name, Description: cmp.Or(p.Description, p.Title, "A prompt of "+p.Server), Hint: p.Hint(),
			Expand: func(ctx context.Context, text string) (loop.Blocks, error) {
				args, err := mcpclient.ParseArguments(text, p.Prompt)
				if err != nil {
					return nil, err
				}
				client, err := s.host.Client(ctx, p.Server)
				if err != nil {
					return nil, err
				}
				blocks, err := client.Prompt(ctx, p.Name, args)
				return mcpclient.Fitted(blocks), err
			},
		})
	}
	return out
}
