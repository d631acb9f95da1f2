package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
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
