package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/cartagent/cartagent/internal/mcptest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var pageAddress = regexp.MustCompile(`\r\n  (http://127\.0\.0\.1:\S+)\r\n`)

// `mcp list` on a terminal shows the address to sign in at, and goes on once the person has. What it got serves commands
// that have no terminal, which before could only say what to do.
func TestSignInOnATerminal(t *testing.T) {
	t.Parallel()
	shop, home := mcptest.NewShop(t), t.TempDir()
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home,
		"CARTAGENT_STATE_DIR=" + filepath.Join(home, "state"), "CARTAGENT_CONFIG_DIR=" + filepath.Join(home, "config"),
	}
	command := func(args ...string) (out, errs string, err error) {
		cmd := exec.CommandContext(t.Context(), binary(t), args...)
		var stdout, stderr bytes.Buffer
		cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = env, home, &stdout, &stderr
		err = cmd.Run()
		return stdout.String(), stderr.String(), err
	}
	_, errs, err := command("mcp", "add", "shop", shop.URL)
	require.NoError(t, err, errs)

	out, _, err := command("mcp", "list")
	require.Error(t, err)
	assert.Contains(t, out, "shop: failed")
	assert.Contains(t, out, "nobody can be asked here; run `cartagent mcp list` once in a terminal")
	_, errs, err = command("mcp", "call", "shop", "buy", "{}")
	require.Error(t, err)
	assert.Contains(t, errs, "run `cartagent mcp list` once in a terminal")
	assert.Zero(t, shop.Counts())

	p := startTyping(t, env[1:], "mcp", "list")
	page := p.shows(t, pageAddress)[1]
	assert.Contains(t, p.shown.String(), "the MCP server shop wants you to sign in. Open this address in a browser on this machine:")
	other := startTyping(t, env[1:], "mcp", "list")
	other.shows(t, regexp.MustCompile(`another cartagent has shown you the page for that: this one waits until you are done there`))
	said, err := mcptest.Visit(t.Context(), page)
	require.NoError(t, err)
	assert.Contains(t, said, "Signed in")
	for _, p := range []*typist{p, other} {
		p.shows(t, regexp.MustCompile(`(?s)shop: connected.*tools +buy`))
		assert.Zero(t, p.end(t), p.shown.String())
	}
	assert.NotRegexp(t, pageAddress, other.shown.String())

	out, errs, err = command("mcp", "call", "shop", "buy", "{}")
	require.NoError(t, err, errs)
	assert.Equal(t, "sale 1\n", out)
	assert.Equal(t, mcptest.Counts{Clients: 1, Pages: 1, Codes: 1, Sales: 1}, shop.Counts())
	for _, secret := range shop.Secrets() {
		assert.NotContains(t, p.shown.String(), secret)
	}

	_, errs, err = command("mcp", "logout", "shop")
	require.NoError(t, err, errs)
	assert.Contains(t, errs, "the tokens of shop are forgotten")
	_, errs, err = command("mcp", "call", "shop", "buy", "{}")
	require.Error(t, err)
	assert.Contains(t, errs, "run `cartagent mcp list` once in a terminal")
}

// shows reads what the terminal shows until it has the pattern, and gives what that matches.
func (p *typist) shows(t *testing.T, pattern *regexp.Regexp) []string {
	t.Helper()
	buf := make([]byte, 1024)
	for {
		if m := pattern.FindStringSubmatch(p.shown.String()); m != nil {
			return m
		}
		n, err := p.keyboard.Read(buf)
		require.NoError(t, err, "waiting for %s after %q", pattern, p.shown.String())
		p.shown.Write(buf[:n])
	}
}
