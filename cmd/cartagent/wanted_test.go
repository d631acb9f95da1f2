package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/mcpclient"
	"github.com/charmbracelet/log"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The servers of the configuration come first, then those of the client, of whatever type.
func TestWantedServers(t *testing.T) {
	t.Parallel()
	cfg, err := configured(t, `{"mcpServers": {"b": {"command": "./b"}, "a": {"url": "https://a/b"}}}`, nil)
	require.NoError(t, err)
	work := t.TempDir()
	client := []acp.MCPServer{
		acp.MCPServerStdio{Name: "s", Command: "/bin/s", Args: []string{"x"}, Env: []acp.EnvVariable{{Name: "K", Value: "V"}}},
		acp.MCPServerHTTP{Name: "h", URL: "https://h/mcp", Headers: []acp.HTTPHeader{{Name: "A", Value: "B"}}},
		acp.MCPServerSSE{Name: "e", URL: "https://e/sse"},
		acp.RawMCPServer{Type: "telepathy"},
	}
	wanted, refused := newProgram(cfg, log.New(io.Discard)).wanted(agent.Setup{Roots: []string{work}, Servers: client})
	assert.Equal(t, []mcpclient.Server{
		{Name: "a", URL: "https://a/b", Dir: work},
		{Name: "b", Command: "./b", Dir: work},
		{Name: "s", Command: "/bin/s", Args: []string{"x"}, Env: map[string]string{"K": "V"}, Dir: work, Secrets: []string{"V"}},
		{Name: "h", Type: mcpclient.TypeHTTP, URL: "https://h/mcp", Headers: map[string]string{"A": "B"}, Secrets: []string{"B"}},
		{Name: "e", Type: mcpclient.TypeSSE, URL: "https://e/sse", Headers: map[string]string{}},
	}, wanted)
	require.Len(t, refused, 1)
	assert.Equal(t, "of type telepathy", refused[0].Name)
	assert.Contains(t, refused[0].Why, "stdio, http and sse")
}

// The offline model's cart has a name of its own, also where a server that takes no orders is called so.
func TestTheOfflineCartIsNotMistaken(t *testing.T) {
	t.Parallel()
	cfg, err := configured(t, `{"mcpServers": {"cart": {"command": "/nonexistent/cart"}}}`, nil)
	require.NoError(t, err)
	p := newProgram(cfg, log.New(io.Discard))
	p.own = func() (string, error) { return "/nonexistent/cartagent", nil }
	s := p.connect(t.Context(), agent.Setup{Roots: []string{t.TempDir()}, Model: offlineModel})
	defer func() { assert.NoError(t, s.host.Close()) }()
	var names []string
	for _, v := range s.states() {
		names = append(names, v.Name)
	}
	assert.Equal(t, []string{"cart", "cart-2"}, names)
}

// A project's command that is a path begins in the project's folder; one that is a name is looked up.
func TestProjectCommands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	abs := filepath.Join(dir, "x")
	for command, want := range map[string]string{
		"npx": "npx", "./serve": filepath.Join(dir, "serve"), "bin/serve": filepath.Join(dir, "bin", "serve"), abs: abs,
	} {
		s := serverSpec{Command: command, dir: dir}
		got := s.server("a", "/elsewhere")
		assert.Equal(t, want, got.Command)
		assert.Equal(t, dir, got.Dir)
	}
}

// A resource that a prompt names is read once its server is there, and a server whose name has a space is typed without it.
func TestWhatPromptsName(t *testing.T) {
	t.Parallel()
	cfg, err := configured(t, `{}`, nil)
	require.NoError(t, err)
	p := newProgram(cfg, log.New(io.Discard))
	p.patience = 0 // so that nothing is there yet
	s := p.connect(t.Context(), agent.Setup{Roots: []string{t.TempDir()}, Servers: []acp.MCPServer{
		acp.MCPServerStdio{Name: "Tea House", Command: binary(t), Args: []string{"cart"}}, acp.MCPServerStdio{Name: "gone", Command: "/nonexistent/server"},
	}})
	defer func() { assert.NoError(t, s.host.Close()) }()
	menu, err := s.resource(t.Context(), "Tea_House", "menu://today")
	require.NoError(t, err)
	require.Len(t, menu, 1)
	assert.Contains(t, menu[0].(loop.Resource).Text, "latte")
	none, err := s.resource(t.Context(), "Tea_House", "menu://tomorrow")
	require.NoError(t, err)
	assert.Empty(t, none)
	none, err = s.resource(t.Context(), "nobody", "menu://today")
	require.NoError(t, err)
	assert.Empty(t, none)
	_, err = s.resource(t.Context(), "gone", "menu://today")
	require.ErrorContains(t, err, "the MCP server gone is not available")
	var names []string
	for _, c := range s.commands() {
		names = append(names, c.Name)
	}
	assert.Equal(t, []string{"Tea_House:weekly_special", "Tea_House:catering_reply"}, names)
}
