package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/cartagent/cartagent/mcpclient"
	"github.com/cartagent/cartagent/mcpclient/oauth"
	"github.com/charmbracelet/log"
)

// The states of a listed server.
const (
	stateConnected = "connected"
	stateFailed    = "failed"
	stateOff       = "off" // it is a project's, and not trusted
)

// listed is a server and what became of it. What it was configured with is as the file has it, and of variables and
// headers the names only.
type listed struct {
	Name    string   `json:"name,omitempty"` // empty for a file that could not be read
	From    string   `json:"from"`           // the file
	State   string   `json:"state"`
	Why     string   `json:"why,omitempty"`
	Era     string   `json:"era,omitempty"`
	Version string   `json:"protocolVersion,omitempty"`
	Tools   []string `json:"tools"`
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
	Env     []string `json:"env,omitempty"`
	Headers []string `json:"headers,omitempty"`
	Trusted bool     `json:"trusted,omitempty"`

	ready  *serverSpec // nil where it cannot be connected
	tokens *oauth.Store
}

// all lists the servers of the configuration and of the project in the folder, those that are off too, and the folder.
func (w whichServers) all(c console) (out []*listed, work string, err error) {
	work, err = workdir(w.cwd)
	if err != nil {
		return nil, "", usageError(err)
	}
	cfg, err := loadConfig(c.env, flags{mcpConfig: w.mcpConfig})
	if err != nil {
		return nil, "", err
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.MCP)) {
		spec := cfg.MCP[name]
		out = append(out, spec.listed(name, &spec))
	}
	project := cfg.projectIn(work)
	ours := func(name string) bool { _, there := cfg.MCP[name]; return there }
	for _, name := range slices.Sorted(maps.Keys(project.mcp)) {
		if spec := project.mcp[name]; !ours(name) {
			out = append(out, spec.listed(name, &spec))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(project.broken)) {
		if b := project.broken[name]; !ours(name) {
			l := b.spec.listed(name, nil)
			l.State, l.Why = stateFailed, b.err.Error()
			out = append(out, l)
		}
	}
	for _, o := range project.off {
		if len(o.file.mcp) == 0 {
			out = append(out, &listed{From: o.file.path(), State: stateOff, Why: o.why})
		}
		for _, name := range slices.Sorted(maps.Keys(o.file.mcp)) {
			spec := o.file.mcp[name]
			l := spec.listed(name, nil)
			l.State, l.Why = stateOff, o.why
			out = append(out, l)
		}
	}
	store := cfg.tokens()
	for _, l := range out {
		l.tokens = store
	}
	return out, work, nil
}

// options are what a client needs to connect to the server.
func (l *listed) options(c console, logger *log.Logger) mcpclient.Options {
	return mcpclient.Options{
		Log: logger, Version: version(), Setup: connecting,
		Authorize: signIn(l.tokens, signerAt(c), logger, func(string) serverSpec { return *l.ready }),
	}
}

// listed is how a server is shown: as it is written, whatever its variables are.
func (s *serverSpec) listed(name string, ready *serverSpec) *listed {
	w := s
	if s.written != nil {
		w = s.written
	}
	l := &listed{
		Name: name, From: s.file, Command: w.Command, Args: w.Args, URL: w.URL, Trusted: w.Trusted, Tools: []string{},
		Env: slices.Sorted(maps.Keys(w.Env)), Headers: slices.Sorted(maps.Keys(w.Headers)), Type: "stdio", ready: ready,
	}
	if w.URL != "" {
		if l.Type = w.Type; l.Type == "" {
			l.Type = mcpclient.TypeHTTP
		}
	}
	return l
}

// listServers connects to the servers side by side and prints what became of them.
func listServers(ctx context.Context, c console, w whichServers, asJSON bool) error {
	all, work, err := w.all(c)
	if err != nil {
		return err
	}
	logger := c.serverLog()
	var group sync.WaitGroup
	for _, l := range all {
		if l.ready != nil {
			group.Go(func() { l.connect(ctx, c, work, logger) })
		}
	}
	group.Wait()
	if ctx.Err() != nil {
		return &exitCode{code: exitCancelled, err: errors.New("interrupted")}
	}
	text := c.listText(all)
	if asJSON {
		if all == nil {
			all = []*listed{}
		}
		text, err = compactJSON(map[string]any{"servers": all})
		if err != nil {
			return &exitCode{code: exitError, err: err}
		}
	}
	if _, err := io.WriteString(c.out, text); err != nil {
		return &exitCode{code: exitError, err: fmt.Errorf("writing the list: %w", err)}
	}
	if slices.ContainsFunc(all, func(l *listed) bool { return l.State != stateConnected }) {
		return &exitCode{code: exitError}
	}
	return nil
}

// serverLog is where servers are logged. What they write may have secrets in it, so that is only where the person wants
// a log.
func (c console) serverLog() *log.Logger {
	if c.env("CARTAGENT_LOG") == "" {
		return log.New(io.Discard)
	}
	return newLogger(c)
}

// connect finds out what the server is, and closes it again.
func (l *listed) connect(ctx context.Context, c console, work string, logger *log.Logger) {
	fail := func(err error) { l.State, l.Why = stateFailed, l.ready.conceal(err.Error()) }
	client, err := mcpclient.Connect(ctx, l.ready.server(l.Name, work), l.options(c, logger))
	if err != nil {
		fail(err)
		return
	}
	l.State, l.Era, l.Version = stateConnected, client.Era(), client.Version()
	tools, err := client.Tools(ctx)
	if err != nil {
		fail(err)
	}
	for _, t := range tools {
		if remote, ok := t.(*mcpclient.Tool); ok {
			l.Tools = append(l.Tools, remote.Original())
		}
	}
	if err := client.Close(); err != nil {
		logger.Warn("closing a server", "server", l.Name, "err", l.ready.conceal(err.Error()))
	}
}

// listText is the list for a person.
func (c console) listText(all []*listed) string {
	if len(all) == 0 {
		return "No MCP servers are configured. `cartagent mcp add NAME -- COMMAND` adds one.\n"
	}
	var b strings.Builder
	for _, l := range all {
		if l.Name == "" {
			fmt.Fprintf(&b, "%s: %s\n  %s\n", shown(l.From), l.State, l.Why)
			continue
		}
		fmt.Fprintf(&b, "%s: %s", l.Name, l.State)
		if l.State == stateConnected {
			fmt.Fprintf(&b, ", %s, %s, %d tools", l.Era, l.Version, len(l.Tools))
		}
		b.WriteString("\n")
		for _, row := range []struct{ label, text string }{
			{"why", l.Why},
			{"tools", strings.Join(shownAll(l.Tools), ", ")},
			{"command", commandOf(l)},
			{"url", l.URL},
			{"env", strings.Join(shownAll(l.Env), ", ")},
			{"headers", strings.Join(l.Headers, ", ")},
			{"from", l.From},
		} {
			if row.text != "" {
				fmt.Fprintf(&b, "  %-8s %s\n", row.label, row.text)
			}
		}
	}
	return b.String()
}

func commandOf(l *listed) string {
	if l.Command == "" {
		return ""
	}
	return commandLine(l.Command, l.Args)
}

func shownAll(words []string) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = shown(w)
	}
	return out
}

// compactJSON is a value as one line.
func compactJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.String(), err
}
