package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// planted are secrets, each where programs have them, by what it is.
func planted() map[string]string {
	return map[string]string{
		"OpenAI key": "sk-planted-openai-0123456789", "Anthropic key": "sk-ant-planted-0123456789", "stored key": "sk-stored-planted-0123456789",
		"server's variable": "planted-variable-0123456789", "header": "planted-header-0123456789",
		"client's header": "planted-clients-header-0123456789", "client's variable": "planted-clients-variable-0123456789",
		"OAuth secret": "planted-client-secret-0123456789", "OAuth token": "planted-access-token-0123456789",
	}
}

// blabbing is an MCP server over HTTP that is signed in to by OAuth, whose errors repeat all that it was sent.
func blabbing(t *testing.T, token string) string {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "blab", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "fail", Description: "fails"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{}, nil, nil
	})
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	mux := http.NewServeMux()
	var base string
	answer := func(format string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, strings.ReplaceAll(format, "BASE", base))
		}
	}
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", answer(`{"resource":"BASE/mcp","authorization_servers":["BASE"]}`))
	mux.HandleFunc("/.well-known/oauth-authorization-server", answer(`{"issuer":"BASE","authorization_endpoint":"BASE/authorize",
		"token_endpoint":"BASE/token","response_types_supported":["code"],"code_challenge_methods_supported":["S256"],
		"grant_types_supported":["client_credentials"],"token_endpoint_auth_methods_supported":["client_secret_basic"]}`))
	mux.HandleFunc("/token", answer(fmt.Sprintf(`{"access_token":%q,"token_type":"Bearer","expires_in":3600}`, token)))
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+base+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(`"tools/call"`)) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, "bad request with %v", r.Header)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	})
	listening := httptest.NewServer(mux)
	t.Cleanup(listening.Close)
	base = listening.URL
	return base + "/mcp"
}

// TestNoSecretIsKept: a session in which all goes wrong that can, with peers that repeat what they were sent, leaves no
// key, no token and no value of a header or a variable in the state folder, but where they are kept on purpose.
func TestNoSecretIsKept(t *testing.T) {
	t.Parallel()
	secret := planted()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(map[bool]int{true: http.StatusUnauthorized, false: http.StatusBadRequest}[strings.Contains(r.URL.Path, "refused")])
		_, _ = fmt.Fprintf(w, `{"error":{"message":%q,"type":"x"}}`, fmt.Sprintf("no good: %v", r.Header))
	}))
	t.Cleanup(refusing.Close)

	home := t.TempDir()
	state, config := filepath.Join(home, "state"), filepath.Join(home, "config")
	require.NoError(t, os.Mkdir(config, 0o700))
	servers := fmt.Sprintf(`{"mcpServers":{
		"blab":{"url":%q,"headers":{"X-Key":%q},"oauth":{"grant":"client_credentials","clientId":"me","clientSecret":%q}},
		"dies":{"command":"sh","args":["-c","env; env >&2; exit 3"],"env":{"SECRET":%q}}}}`,
		blabbing(t, secret["OAuth token"]), secret["header"], secret["OAuth secret"], secret["server's variable"])
	require.NoError(t, os.WriteFile(filepath.Join(config, "config.json"), []byte(servers), 0o600))
	env := func(model, base string) []string {
		return []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CARTAGENT_STATE_DIR=" + state, "CARTAGENT_CONFIG_DIR=" + config,
			"CARTAGENT_MODEL=" + model, "CARTAGENT_LOG=debug", "OPENAI_API_KEY=" + secret["OpenAI key"], "OPENAI_BASE_URL=" + base,
			"ANTHROPIC_API_KEY=" + secret["Anthropic key"], "ANTHROPIC_BASE_URL=" + base,
		}
	}
	run := func(env []string, args ...string) (string, string) {
		cmd := exec.CommandContext(t.Context(), binary(t), append([]string{"run", "--yes"}, args...)...)
		cmd.Dir, cmd.Env = home, env
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		_ = cmd.Run() // a refusal is what is wanted
		return out.String(), errs.String()
	}
	base := stubModel(t, []scripted.Reply{
		scripted.Ask("terminal", `{"command":"env; cat /proc/self/environ"}`),
		scripted.Ask("blab__fail", `{}`),
		{Text: []string{"Done."}},
	})
	out, errs := run(env("openai/stub", base), "Do it")
	require.Contains(t, out, "Done.", errs)
	require.Contains(t, out, "fail", "the tool of the server that was signed in to was called")
	for _, model := range []string{"openai/stub", "anthropic/claude-stub"} {
		for _, path := range []string{"/refused", "/bad"} {
			run(env(model, refusing.URL+path), "Do it again")
		}
	}

	p := startAgent(t, env("openai/stub", refusing.URL+"/bad")...)
	id := p.open(t, fmt.Sprintf(`{"type":"http","name":"far","url":%q,"headers":[{"name":"X-Key","value":%q}]},`+
		`{"name":"near","command":"sh","args":["-c","env >&2; exit 3"],"env":[{"name":"SECRET","value":%q}]}`,
		refusing.URL, secret["client's header"], secret["client's variable"]))
	p.send(t, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"/mcp"}]}}`, id)
	p.until(t, `"id":2`)
	p.send(t, `{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"hello"}]}}`, id)
	p.until(t, `"id":3`)
	p.end(t, p.closeInput)

	files := 0
	require.NoError(t, filepath.WalkDir(state, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			if e != nil && e.Name() == "mcp-auth" {
				return fs.SkipDir // tokens are kept there, as is said
			}
			return err
		}
		files++
		data, err := os.ReadFile(path)
		for what, value := range secret {
			assert.NotContains(t, string(data), value, "%s in %s", what, path)
		}
		return err
	}))
	assert.GreaterOrEqual(t, files, 6, "there are logs to look through")
}

// TestStoredKeysAreForNoTool: in a session that works right above them, and in an editor that would give everything.
func TestStoredKeysAreForNoTool(t *testing.T) {
	t.Parallel()
	base := stubModel(t, []scripted.Reply{
		scripted.Ask("read", `{"path":"config/credentials.json"}`),
		scripted.Ask("read", `{"path":"state/mcp-auth/shop.json"}`),
		scripted.Ask("search", `{"pattern":"planted-[a-z]+"}`),
		scripted.Ask("edit", `{"path":"config/credentials.json","edits":[{"old":"planted","new":"other"}]}`),
		{Text: []string{"Done."}},
	})
	p := startAgent(t, "CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+base)
	for name, text := range map[string]string{
		"config/credentials.json": `{"anthropic":{"key":"planted-stored"}}`, "config/credentials.json.123.tmp": `{"anthropic":{"key":"planted-left"}}`,
		"state/mcp-auth/shop.json": `{"access":"planted-token"}`, "notes": "planted-note",
	} {
		path := filepath.Join(p.home, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	p.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true,"writeTextFile":true}}}}`)
	p.until(t, `"id":0`)
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, p.home)
	var r struct{ Result struct{ SessionID string } }
	require.NoError(t, json.Unmarshal([]byte(p.until(t, `"id":1`)), &r))
	p.send(t, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}}`, r.Result.SessionID)
	p.until(t, `"id":2`)
	p.end(t, p.closeInput)
	all := strings.Join(p.lines, "")
	for _, secret := range []string{"planted-stored", "planted-left", "planted-token", "fs/read_text_file", "request_permission"} {
		assert.NotContains(t, all, secret)
	}
	assert.Contains(t, all, "planted-note")
	assert.GreaterOrEqual(t, strings.Count(all, "only cartagent itself may read"), 4)
}

// TestOurOwnConfigurationIsGuarded: in a session that works right above it and lets edits happen unasked. While keys stand
// in it, no tool reads it.
func TestOurOwnConfigurationIsGuarded(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	base := stubModel(t, []scripted.Reply{
		scripted.Ask("read", `{"path":"config/config.json"}`),
		scripted.Ask("write", `{"path":"notes","content":"mine"}`),
		scripted.Ask("write", `{"path":"config/trust.json","content":"{}"}`),
		scripted.Ask("write", `{"path":"state/sessions/other.jsonl","content":"{}"}`),
		scripted.Ask("write", `{"path":"project/.git/hooks/pre-commit","content":"echo"}`),
		{Text: []string{"Done."}},
	})
	config := filepath.Join(home, "config", "config.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(config), 0o700))
	require.NoError(t, os.WriteFile(config, []byte(`{"permissions":[{"tool":"write","verdict":"allow"}],
		"mcpServers":{"far":{"type":"http","url":"http://127.0.0.1:1/mcp","headers":{"X-Key":"planted-header"}}}}`), 0o600))
	p := startAgent(t, "CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+base,
		"CARTAGENT_CONFIG_DIR="+filepath.Dir(config), "CARTAGENT_STATE_DIR="+filepath.Join(home, "state"))
	p.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}`)
	p.until(t, `"id":0`)
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, home)
	var r struct{ Result struct{ SessionID string } }
	require.NoError(t, json.Unmarshal([]byte(p.until(t, `"id":1`)), &r))
	p.send(t, `{"jsonrpc":"2.0","id":"mode","method":"session/set_mode","params":{"sessionId":%q,"modeId":"accept-edits"}}`, r.Result.SessionID)
	p.until(t, `"id":"mode"`)
	p.send(t, `{"jsonrpc":"2.0","id":"go","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"go"}]}}`, r.Result.SessionID)
	for range 3 {
		var ask struct{ ID int64 }
		require.NoError(t, json.Unmarshal([]byte(p.until(t, `"method":"session/request_permission"`)), &ask))
		p.send(t, `{"jsonrpc":"2.0","id":%d,"result":{"outcome":{"outcome":"selected","optionId":"reject_once"}}}`, ask.ID)
	}
	p.until(t, `"id":"go"`)
	p.end(t, p.closeInput)
	all := strings.Join(p.lines, "")
	assert.NotContains(t, all, "planted-header")
	assert.Contains(t, all, "only cartagent itself may read")
	assert.FileExists(t, filepath.Join(home, "notes"))
	assert.NoFileExists(t, filepath.Join(home, "config", "trust.json"))
	assert.NoFileExists(t, filepath.Join(home, "state", "sessions", "other.jsonl"))
	assert.NoDirExists(t, filepath.Join(home, "project"))
}
