package mcpclient

import (
	"slices"

	"github.com/cartagent/cartagent/loop"
)

// A session that goes on in another process has been offered tools already, and a provider keeps what begins alike. So a
// server that is not there yet, or does not come, keeps its tools in their place: a call waits for it, or says why it does
// not come.

// recall gives the tools that the session had of this server, as far as their names tell, until it lists them itself. What
// may be done without asking only a server that the person trusts can say by the log. The caller holds the host's mu.
func (l *link) recall() []loop.Tool {
	var out []loop.Tool
	for _, spec := range l.host.o.Known {
		original, ours := originalName(l.server.Name, spec.Name)
		if !ours || slices.ContainsFunc(l.host.tools, func(t loop.Tool) bool { return t.Spec().Name == spec.Name }) {
			continue
		}
		if !l.server.Trusted {
			spec.Default, spec.ReadOnly = loop.Ask, false
		}
		out = append(out, &remoteTool{link: l, original: original, spec: spec, recalled: true})
	}
	return out
}

// renew gives the tools as they are now, without those that are no more.
func renew(tools []loop.Tool, now map[string]loop.Tool) []loop.Tool {
	var out []loop.Tool
	for _, t := range tools {
		if t := now[t.Spec().Name]; t != nil {
			out = append(out, t)
		}
	}
	return out
}
