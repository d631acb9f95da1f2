package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// tokenFile stores a token of a server, as signing in does, and gives its file.
func tokenFile(t *testing.T, state, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	require.NoError(t, err)
	sum := sha256.Sum256([]byte(server))
	file := filepath.Join(state, "mcp-auth", strings.ReplaceAll(u.Host, ":", "_")+"-"+hex.EncodeToString(sum[:8])+".json")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `{"cartagent":1,"server":%q,"issuer":"https://as.example",`+
		`"tokenEndpoint":"https://as.example/token","clientId":"x","accessToken":"planted"}`, server), 0o600))
	return file
}

// Tokens are forgotten by the server's name, by its address, and with the server, unless another one has them too.
func TestTokensAreForgotten(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	state := filepath.Join(home, "state")
	env := map[string]string{
		"CARTAGENT_CONFIG_DIR": filepath.Join(home, "config"), "CARTAGENT_STATE_DIR": state, "FAR_HOST": "far.example",
	}
	command := func(want int, args ...string) string {
		var out, errs bytes.Buffer
		code := execute(t.Context(), append([]string{"mcp"}, args...), console{out: &out, err: &errs, in: strings.NewReader(""), env: func(k string) string { return env[k] }})
		assert.Equal(t, want, code, errs.String())
		assert.Empty(t, out.String())
		assert.NotContains(t, errs.String(), "planted")
		return errs.String()
	}
	for name, address := range map[string]string{
		"far": "https://${FAR_HOST}/mcp", "twin": "HTTPS://far.example:443/mcp", "near": "http://127.0.0.1:9/mcp", "away": "https://${AWAY:-away.example}",
	} {
		command(0, "add", name, address)
	}
	command(0, "add", "cart", "--", "cartagent", "cart")
	far, near := tokenFile(t, state, "https://far.example/mcp"), tokenFile(t, state, "http://127.0.0.1:9/mcp")
	away, passed := tokenFile(t, state, "https://away.example"), tokenFile(t, state, "https://passed.example/mcp")

	assert.Contains(t, command(2, "logout", "cart"), "the server cart has a command, and no tokens are kept for those")
	said := command(2, "logout", "passed")
	assert.Contains(t, said, `there is no server "passed"; one that is not configured goes by its URL`)
	assert.Contains(t, said, "There are tokens of http://127.0.0.1:9/mcp, https://away.example, https://far.example/mcp, https://passed.example/mcp")
	assert.Contains(t, command(2, "logout", "ftp://x"), "is not the address of a server")
	command(2, "logout")

	assert.Contains(t, command(0, "logout", "https://passed.example/mcp"), "the tokens of https://passed.example/mcp are forgotten")
	assert.NoFileExists(t, passed)
	assert.Contains(t, command(0, "logout", "near"), "the tokens of near are forgotten; it will want you to sign in again")
	assert.NoFileExists(t, near)
	assert.Contains(t, command(0, "logout", "near"), "there were no tokens of near to forget")

	assert.NotContains(t, command(0, "remove", "far"), "tokens")
	assert.FileExists(t, far, "another server has its address")
	assert.Contains(t, command(0, "remove", "twin"), "its tokens are forgotten")
	assert.NoFileExists(t, far)
	assert.Contains(t, command(0, "remove", "away"), "its tokens are forgotten")
	assert.NoFileExists(t, away)
	assert.NotContains(t, command(0, "remove", "near"), "tokens")
	assert.NotContains(t, command(0, "remove", "cart"), "tokens")
}

// A server of a project that is off can be signed out of as well.
func TestTokensOfAnUntrustedProject(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	state, project := filepath.Join(home, "state"), filepath.Join(home, "project")
	require.NoError(t, os.Mkdir(project, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(project, ".mcp.json"), []byte(`{"mcpServers":{"shop":{"url":"https://shop.example/mcp"},`+
		`"odd":{"url":"https://${SHOP}/mcp"}}}`), 0o600))
	command := func(want int, args ...string) string {
		var errs bytes.Buffer
		env := map[string]string{"CARTAGENT_CONFIG_DIR": filepath.Join(home, "config"), "CARTAGENT_STATE_DIR": state}
		code := execute(t.Context(), args, console{out: &errs, err: &errs, in: strings.NewReader(""), env: func(k string) string { return env[k] }})
		assert.Equal(t, want, code, errs.String())
		return errs.String()
	}
	file := tokenFile(t, state, "https://shop.example/mcp")
	assert.Contains(t, command(0, "mcp", "logout", "--cwd", project, "shop"), "are forgotten")
	assert.NoFileExists(t, file)
	assert.Contains(t, command(2, "mcp", "logout", "--cwd", project, "odd"), "give its URL instead")
}

// A server that is tried from the command line has as long to start as in a session: some are downloaded first.
func TestListedServersHaveTheTimeOfASession(t *testing.T) {
	t.Parallel()
	l := &listed{ready: &serverSpec{}}
	assert.Equal(t, connecting, l.options(console{env: func(string) string { return "" }}, nil).Setup)
}
