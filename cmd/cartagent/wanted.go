package main

import (
	"maps"
	"slices"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/mcpclient"
)

// wanted lists the servers to connect for a session, in a stable order: those of the configuration, those of the
// project that it does not have, those that the client passed. Beside them it lists those that cannot be connected.
func (p *program) wanted(s agent.Setup) (wanted []mcpclient.Server, refused []agent.Server) {
	work := s.Roots[0]
	for _, name := range slices.Sorted(maps.Keys(p.cfg.MCP)) {
		spec := p.cfg.MCP[name]
		wanted = append(wanted, spec.server(name, work))
	}
	project := p.cfg.projectIn(work)
	for _, name := range slices.Sorted(maps.Keys(project.mcp)) {
		if _, ours := p.cfg.MCP[name]; !ours {
			spec := project.mcp[name]
			wanted = append(wanted, spec.server(name, work))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(project.broken)) {
		if _, ours := p.cfg.MCP[name]; !ours {
			refused = append(refused, agent.Server{Name: name, State: string(mcpclient.PhaseFailed), Why: project.broken[name].err.Error()})
		}
	}
	for _, server := range s.Servers {
		switch v := server.(type) {
		case acp.MCPServerStdio:
			env := make(map[string]string, len(v.Env))
			for _, e := range v.Env {
				env[e.Name] = e.Value
			}
			wanted = append(wanted, withSecrets(mcpclient.Server{Name: v.Name, Command: v.Command, Args: v.Args, Env: env, Dir: work}))
		case acp.MCPServerHTTP:
			wanted = append(wanted, withSecrets(mcpclient.Server{Name: v.Name, Type: mcpclient.TypeHTTP, URL: v.URL, Headers: headers(v.Headers)}))
		case acp.MCPServerSSE:
			wanted = append(wanted, withSecrets(mcpclient.Server{Name: v.Name, Type: mcpclient.TypeSSE, URL: v.URL, Headers: headers(v.Headers)}))
		case acp.RawMCPServer:
			refused = append(refused, agent.Server{Name: "of type " + v.Type, State: string(mcpclient.PhaseFailed), Why: "servers of that type are not supported; those of types stdio, http and sse are"})
		}
	}
	return wanted, refused
}

func headers(list []acp.HTTPHeader) map[string]string {
	out := make(map[string]string, len(list))
	for _, h := range list {
		out[h.Name] = h.Value
	}
	return out
}
