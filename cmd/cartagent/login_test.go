package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cartagent/cartagent/loop"
	"github.com/charmbracelet/log"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const plantedKey = "sk-planted-0123456789-wxyz"

// command runs a command line in this process with that environment, and nothing of the real one.
func command(t *testing.T, env map[string]string, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = execute(t.Context(), args, console{
		in: strings.NewReader(stdin), out: &out, err: &errs, env: func(name string) string { return env[name] },
	})
	return code, out.String(), errs.String()
}

// providerStub is a provider that knows one key, with what it was asked.
type providerStub struct {
	url string

	mu   sync.Mutex
	seen []*http.Request
}

func startProvider(t *testing.T, answer http.HandlerFunc) *providerStub {
	t.Helper()
	p := &providerStub{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.seen = append(p.seen, r.Clone(t.Context()))
		p.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	p.url = server.URL
	return p
}

func (p *providerStub) requests() []*http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.seen)
}

func says(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// A login asks the provider for its models with the key in the header that it wants, and stores the key.
func TestLoginChecksAndStores(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env     string
		suffix  string // of the address
		headers map[string]string
	}{
		"anthropic": {"ANTHROPIC_BASE_URL", "", map[string]string{
			"X-Api-Key": plantedKey, "Anthropic-Version": "2023-06-01", "Authorization": "",
		}},
		"openai": {"OPENAI_BASE_URL", "/v1/", map[string]string{
			"Authorization": "Bearer " + plantedKey, "X-Api-Key": "",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stub := startProvider(t, says(http.StatusOK, `{"data":[]}`))
			dir := filepath.Join(t.TempDir(), "config")
			env := map[string]string{"CARTAGENT_CONFIG_DIR": dir, c.env: stub.url + c.suffix}
			code, stdout, stderr := command(t, env, " "+plantedKey+"\r\n", "login", "--provider", name, "--key-stdin")
			require.Equal(t, exitOK, code, stderr)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, filepath.Join(dir, "credentials.json"))
			assert.Contains(t, stderr, "the model in use is "+name+"/")
			assert.NotContains(t, stderr, plantedKey)

			asked := stub.requests()
			require.Len(t, asked, 1)
			assert.Equal(t, "GET /v1/models", asked[0].Method+" "+asked[0].URL.String())
			for h, want := range c.headers {
				assert.Equal(t, want, asked[0].Header.Get(h), h)
			}
			data, err := os.ReadFile(filepath.Join(dir, "credentials.json"))
			require.NoError(t, err)
			want, err := json.Marshal(object{name: object{"key": plantedKey, "baseUrl": stub.url + c.suffix}})
			require.NoError(t, err)
			assert.JSONEq(t, string(want), string(data))

			// What is stored holds without the variable, at the address that it was checked with.
			cfg, err := loadConfig(func(v string) string { return map[string]string{"CARTAGENT_CONFIG_DIR": dir}[v] }, flags{})
			require.NoError(t, err)
			assert.Equal(t, credentials{plantedKey, stub.url + c.suffix, true}, cfg.keys[name])
			assert.True(t, strings.HasPrefix(cfg.Model, name+"/"), cfg.Model)
		})
	}
}

// What is not taken is not stored, and why is said without the key, even where the provider repeats it.
func TestLoginByAScriptNamesTheProvider(t *testing.T) {
	t.Parallel()
	code, _, stderr := command(t, map[string]string{"CARTAGENT_CONFIG_DIR": t.TempDir()}, plantedKey, "login", "--key-stdin")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--key-stdin needs --provider")
	assert.NotContains(t, stderr, plantedKey)
}

func TestLoginThatStoresNothing(t *testing.T) {
	t.Parallel()
	refuses := startProvider(t, says(http.StatusUnauthorized, `{"error":{"message":"Incorrect API key: `+plantedKey+`"}}`))
	other := startProvider(t, says(http.StatusNotFound, "no such page "+plantedKey))
	moved := startProvider(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, refuses.url+"/elsewhere", http.StatusFound)
	})
	for name, c := range map[string]struct {
		base, stdin string
		args        []string
		code        int
		want        string
	}{
		"refused":      {refuses.url, plantedKey, nil, exitUsage, "no key is stored: 127.0.0.1"},
		"cannot say":   {other.url, plantedKey, nil, exitError, "(404: no such page ***)"},
		"moved":        {moved.url, plantedKey, nil, exitError, "(302"},
		"no answer":    {"http://127.0.0.1:1", plantedKey, nil, exitError, "connection refused"},
		"no address":   {"localhost:1", plantedKey, nil, exitUsage, "OPENAI_BASE_URL is no address of a server"},
		"flag address": {"", plantedKey, []string{"--base-url", "x"}, exitUsage, "--base-url is no address of a server"},
		"empty":        {refuses.url, " \n", nil, exitUsage, "it is empty"},
		"two lines":    {refuses.url, plantedKey + "\n" + plantedKey, nil, exitUsage, "it has spaces"},
		"other":        {refuses.url, plantedKey, []string{"--provider", "acme"}, exitUsage, `there is no provider "acme"`},
		"empty name":   {refuses.url, plantedKey, []string{"--provider", ""}, exitUsage, `"--provider" flag: it is empty`},
		"status":       {refuses.url, plantedKey, []string{"--status"}, exitUsage, "status"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := map[string]string{"CARTAGENT_CONFIG_DIR": t.TempDir(), "OPENAI_BASE_URL": c.base}
			args := append([]string{"login", "--provider", "openai", "--key-stdin"}, c.args...)
			code, stdout, stderr := command(t, env, c.stdin, args...)
			assert.Equal(t, c.code, code, stderr)
			assert.Contains(t, stderr, c.want)
			assert.NotContains(t, stdout+stderr, plantedKey)
			left, err := os.ReadDir(env["CARTAGENT_CONFIG_DIR"])
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
	t.Run("nowhere to store it", func(t *testing.T) {
		t.Parallel()
		code, _, stderr := command(t, nil, plantedKey, "login", "--provider", "openai", "--key-stdin", "--no-check")
		assert.Equal(t, exitError, code)
		assert.Contains(t, stderr, "set HOME or CARTAGENT_CONFIG_DIR")
	})
	for _, args := range [][]string{{"login"}, {"acp", "--login", "--model", "openai/x"}} {
		t.Run(args[0]+" without a terminal", func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := command(t, map[string]string{"HOME": t.TempDir()}, "1\n"+plantedKey+"\n", args...)
			assert.Equal(t, exitUsage, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, "--key-stdin")
		})
	}
}

// An interrupt while the provider is silent ends the login at once.
func TestLoginInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	silent := startProvider(t, func(_ http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	var errs bytes.Buffer
	dir := t.TempDir()
	code := execute(ctx, []string{"login", "--provider", "openai", "--key-stdin", "--base-url", silent.url}, console{
		in: strings.NewReader(plantedKey), out: io.Discard, err: &errs,
		env: func(name string) string { return map[string]string{"CARTAGENT_CONFIG_DIR": dir}[name] },
	})
	assert.Equal(t, exitCancelled, code)
	assert.Equal(t, "cartagent: interrupted; no key is stored\n", errs.String())
	assert.NoFileExists(t, filepath.Join(dir, keyFileName))
}

func TestLoginStatusAndLogout(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	env := map[string]string{"CARTAGENT_CONFIG_DIR": dir}
	status := func() string {
		t.Helper()
		code, stdout, stderr := command(t, env, "", "login", "--status")
		require.Equal(t, exitOK, code, stderr)
		assert.Empty(t, stderr)
		assert.NotContains(t, stdout, "planted")
		assert.NotContains(t, stdout, "s3cret")
		return strings.ReplaceAll(stdout, dir, "DIR")
	}
	const where = "stored in  DIR/credentials.json\n"
	assert.Equal(t, "anthropic  no key\nopenai     no key\n"+
		"model      barista/cart, the offline one, since there is no key\n"+where, status())

	for _, p := range []string{"anthropic", "openai"} {
		code, _, stderr := command(t, env, plantedKey, "login", "--provider", p, "--key-stdin", "--no-check")
		require.Equal(t, exitOK, code, stderr)
	}
	env["OPENAI_API_KEY"], env["OPENAI_BASE_URL"] = "sk-of-the-environment-abcd", "https://me:s3cret@example.com/v1?s3cret"
	assert.Equal(t, "anthropic  key …wxyz, stored\nopenai     key …abcd, set by OPENAI_API_KEY, at https://example.com/v1\n"+
		"model      anthropic/claude-sonnet-5-5, whose key is there; choose another with CARTAGENT_MODEL or --model\n"+where, status())

	code, stdout, stderr := command(t, env, "", "logout", "--provider", "anthropic")
	require.Equal(t, exitOK, code)
	assert.Empty(t, stdout)
	assert.Equal(t, "cartagent: the stored key for Anthropic is forgotten\n", stderr)
	env["CARTAGENT_MODEL"], env["OPENAI_API_KEY"] = "anthropic/x", "short-abcd"
	assert.Equal(t, "anthropic  no key\nopenai     key (not shown), set by OPENAI_API_KEY, at https://example.com/v1\n"+
		"model      anthropic/x, as configured. Anthropic needs a key: run `cartagent login`, or set ANTHROPIC_API_KEY, or choose another model.\n"+
		where, status())

	_, _, stderr = command(t, env, "", "logout")
	assert.Equal(t, "cartagent: the stored keys are forgotten\n"+
		"cartagent: OPENAI_API_KEY is set in the environment and stays in force; unset it there\n", stderr)
	assert.NoFileExists(t, filepath.Join(dir, keyFileName))
	_, _, stderr = command(t, env, "", "logout", "--provider", "anthropic")
	assert.Equal(t, "cartagent: there was no stored key to forget\n", stderr)
	code, _, stderr = command(t, env, "", "logout", "--provider", "acme")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "anthropic, openai")
}

// A login while the environment has a key says which one counts.
func TestLoginBesideTheEnvironment(t *testing.T) {
	t.Parallel()
	env := map[string]string{"CARTAGENT_CONFIG_DIR": t.TempDir(), "OPENAI_API_KEY": "sk-of-the-environment-abcd"}
	code, _, stderr := command(t, env, plantedKey, "login", "--provider", "OpenAI", "--key-stdin", "--no-check")
	require.Equal(t, exitOK, code)
	assert.Contains(t, stderr, "OPENAI_API_KEY is set, and wins over the stored key")
	_, stdout, _ := command(t, env, "", "login", "--status")
	assert.Contains(t, stdout, "…abcd, set by OPENAI_API_KEY\n")
}

// The agent of a running process takes keys as they are: none, one that another process stores, a newer one, none.
func TestLoginReachesARunningAgent(t *testing.T) {
	t.Parallel()
	var good atomic.Value
	good.Store("none yet")
	stub := startProvider(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+good.Load().(string) {
			says(http.StatusUnauthorized, `{"error":{"message":"no"}}`)(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	p := startAgent(t, "CARTAGENT_LOG=debug", "CARTAGENT_MODEL=openai/stub", "OPENAI_BASE_URL="+stub.url)
	id := p.open(t, "")
	prompt := func() string {
		t.Helper()
		p.send(t, `{"jsonrpc":"2.0","id":9,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"Hi"}]}}`, id)
		return p.until(t, `"id":9`)
	}
	other := func(stdin string, args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), binary(t), args...)
		cmd.Env, cmd.Stdin = p.cmd.Env, strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		assert.NotContains(t, string(out), "planted")
	}
	answer := prompt()
	assert.Contains(t, answer, `"code":-32000`)
	assert.Contains(t, answer, "run `cartagent login`, or set OPENAI_API_KEY")

	good.Store(plantedKey)
	other(plantedKey, "login", "--provider", "openai", "--key-stdin")
	assert.Contains(t, prompt(), `"stopReason":"end_turn"`)

	const another = "sk-planted-another"
	good.Store(another)
	answer = prompt()
	assert.Contains(t, answer, `"code":-32000`)
	assert.Contains(t, answer, "refused the stored key (401: no): run `cartagent login`.")
	other(another, "login", "--provider", "openai", "--key-stdin")
	assert.Contains(t, prompt(), `"stopReason":"end_turn"`)

	other("", "logout")
	assert.Contains(t, prompt(), `"code":-32000`)
	p.end(t, p.closeInput)
	assert.NotContains(t, strings.Join(p.lines, "")+p.stderr.String(), "planted")
}

// testProgram is a program with that configuration folder and environment.
func testProgram(t *testing.T, env map[string]string) (*program, *bytes.Buffer) {
	t.Helper()
	cfg, err := loadConfig(func(name string) string { return env[name] }, flags{})
	require.NoError(t, err)
	logs := &bytes.Buffer{}
	return newProgram(cfg, log.New(logs)), logs
}

// A key that is refused is read again before the person is bothered; a second refusal is one.
func TestLoginDuringARequest(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := keyFileIn(dir)
	stub := startProvider(t, func(w http.ResponseWriter, r *http.Request) {
		// Meanwhile, in another process:
		assert.NoError(t, file.store("anthropic", credentials{key: "sk-planted-new", baseURL: "http://" + r.Host}))
		says(http.StatusUnauthorized, `{"error":{"type":"authentication_error","message":"invalid x-api-key"}}`)(w, r)
	})
	require.NoError(t, file.store("anthropic", credentials{key: "sk-planted-old", baseURL: stub.url}))
	p, logs := testProgram(t, map[string]string{"CARTAGENT_CONFIG_DIR": dir})
	model, err := p.models.get(p.cfg.Model, "")
	require.NoError(t, err)
	var errs []error
	for _, err := range model.Stream(t.Context(), loop.Request{}) {
		errs = append(errs, err)
	}
	require.Len(t, errs, 1)
	var failure *loop.Failure
	require.ErrorAs(t, errs[0], &failure)
	assert.Equal(t, loop.FailAuth, failure.Kind)
	assert.Contains(t, failure.Message, "refused the stored key (401: invalid x-api-key): run `cartagent login`.")
	var keys []string
	for _, r := range stub.requests() {
		keys = append(keys, r.Header.Get("X-Api-Key"))
	}
	assert.Equal(t, []string{"sk-planted-old", "sk-planted-new"}, keys)
	assert.NotContains(t, logs.String(), "planted")
}

// A model is made once for a name and a level, and again for another key. Logging out leaves it without one.
func TestLoginModels(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := keyFileIn(dir)
	p, _ := testProgram(t, map[string]string{"CARTAGENT_CONFIG_DIR": dir})
	first := func() string { return p.models.offered("", "")[0].ID }
	assert.Equal(t, offlineModel, first())
	_, err := p.models.get("openai/a", "")
	require.EqualError(t, err, "OpenAI needs a key: run `cartagent login`, or set OPENAI_API_KEY, or choose another model.")

	require.NoError(t, file.store("openai", credentials{key: plantedKey}))
	assert.Equal(t, "openai/gpt-5.5", first(), "a login chooses the model where nobody has")
	model, err := p.models.get("openai/a", "")
	require.NoError(t, err)
	high, err := p.models.get("openai/a", "high")
	require.NoError(t, err)
	assert.NotSame(t, model, high)
	again, err := p.models.get("openai/a", asItIs)
	require.NoError(t, err)
	assert.Same(t, model, again)
	made, err := model.(*keyed).current()
	require.NoError(t, err)
	same, err := model.(*keyed).current()
	require.NoError(t, err)
	assert.Same(t, made.model, same.model)

	require.NoError(t, p.forget())
	assert.NoFileExists(t, file.path)
	assert.Equal(t, "openai/gpt-5.5", first(), "a logout does not choose another")
	for _, err := range model.Stream(t.Context(), loop.Request{}) {
		require.ErrorContains(t, err, "OpenAI needs a key: run `cartagent login`")
	}
	_, err = p.models.get("openai/a", "")
	require.ErrorContains(t, err, "OpenAI needs a key")
	require.NoError(t, p.forget(), "there is nothing left to forget")

	// A file that became unreadable leaves the keys of before in force.
	require.NoError(t, file.store("openai", credentials{key: plantedKey}))
	assert.Equal(t, plantedKey, p.models.ring.now()["openai"].key)
	require.NoError(t, os.WriteFile(file.path, []byte("{"), 0o600))
	_, err = p.models.get("openai/a", "")
	require.NoError(t, err)
	require.NoError(t, p.forget(), "an unreadable file is forgotten too")
	assert.Empty(t, p.models.ring.now()["openai"].key)
}
