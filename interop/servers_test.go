package interop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everythingChecks are what everything.mjs puts each of its servers through, modernChecks the same of modern-client.mjs.
var (
	everythingChecks = []string{
		"connected", "tools", "a call", "several calls at once", "arguments that do not fit", "structured content", "an image",
		"resources in results", "resources by mcp_read", "a resource that a prompt names", "prompts as slash commands",
		"a form", "a page", "a long-running tool", "a resource that comes to be",
	}
	modernChecks = []string{
		"connected", "a call", "a failure", "all kinds of content", "resources by mcp_read", "prompts as slash commands",
		"a choice", "two questions at once", "a page", "a long-running tool", "a tool that comes to be",
	}
	filesChecks = []string{"connected", "files: write, edit, read", "files: an image", "files: out of its folder", "memory: a graph", "end"}
)

const (
	serversFolder    = "mcp-servers"
	everythingServer = "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
)

// TestServers has cartagent use MCP servers of others, which the official TypeScript client of ACP passes in session/new:
// as commands, over Streamable HTTP, and over HTTP+SSE. The model calls what the client says, so that each tool, resource,
// prompt and question goes all the way from the server to the client and to the model.
func TestServers(t *testing.T) {
	t.Parallel()
	needServers(t)
	for _, forms := range []bool{true, false} {
		name := map[bool]string{true: "forms", false: "buttons"}[forms]
		t.Run("everything, "+name, func(t *testing.T) {
			t.Parallel()
			drive(t, driven{
				script: "everything.mjs", forms: forms, checks: each(everythingChecks, "stdio", "http", "sse"),
				servers: []object{
					stdioServer(t, "stdio", everythingServer),
					{"name": "http", "type": "http", "url": startServer(t, everythingServer, "streamableHttp") + "/mcp", "headers": []any{}},
					{"name": "sse", "type": "sse", "url": startServer(t, everythingServer, "sse") + "/sse", "headers": []any{}},
				},
			})
		})
		t.Run("modern, "+name, func(t *testing.T) {
			t.Parallel()
			drive(t, driven{
				script: "modern-client.mjs", forms: forms, checks: each(modernChecks, "stdio", "http"),
				servers: []object{
					stdioServer(t, "stdio", "modern.mjs"), httpServer("http", startServer(t, "modern.mjs", "http")+"/mcp"),
				},
			})
		})
	}
	t.Run("files and memory", func(t *testing.T) {
		t.Parallel()
		folder, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		memory := stdioServer(t, "memory", "node_modules/@modelcontextprotocol/server-memory/dist/index.js")
		memory["env"] = []object{{"name": "MEMORY_FILE_PATH", "value": filepath.Join(t.TempDir(), "memory.jsonl")}}
		drive(t, driven{
			script: "files.mjs", checks: filesChecks, env: []string{"INTEROP_FOLDER=" + folder},
			servers: []object{stdioServer(t, "files", "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", folder), memory},
		})
	})
}

// `cartagent run` uses a configured server of others, once the person has agreed to the call.
func TestRunWithServers(t *testing.T) {
	t.Parallel()
	needServers(t)
	file := filepath.Join(t.TempDir(), "servers.json")
	script, err := filepath.Abs(filepath.Join(serversFolder, everythingServer))
	require.NoError(t, err)
	data, err := json.Marshal(object{"mcpServers": object{"everything": object{"command": node(t), "args": []string{script}}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, data, 0o600))
	env := startToolModel(t).environ(environ(t, "0s"))
	run := func(flags ...string) (string, int) {
		args := append([]string{"run", "--mcp-config", file}, flags...)
		cmd := exec.CommandContext(t.Context(), built(t), append(args, `call everything__get-sum {"a":40,"b":2}`)...)
		cmd.Env = env
		out, err := cmd.Output()
		if err != nil {
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, code := run("--yes")
	assert.Zero(t, code, out)
	assert.Contains(t, out, "everything: ")
	assert.Contains(t, out, "The sum of 40 and 2 is 42.")
	out, code = run()
	assert.Equal(t, 5, code, "nobody can be asked")
	assert.NotContains(t, out, "42.")
}

// needServers ends a test where the servers, or what drives them, are missing.
func needServers(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the race detector sees nothing of other programs")
	}
	for folder, module := range map[string]string{
		"interop": "node_modules/@agentclientprotocol/sdk", "interop/mcp-servers": "mcp-servers/" + everythingServer,
	} {
		if _, err := os.Stat(module); err != nil {
			need(t, "what this needs is not installed: run `npm install --no-save --ignore-scripts` in "+folder)
		}
	}
}

// each are the checks of every server by name.
func each(checks []string, servers ...string) []string {
	var out []string
	for _, s := range servers {
		for _, c := range checks {
			out = append(out, s+": "+c)
		}
	}
	return append(out, "end")
}

// stdioServer is a server of mcp-servers as session/new has it.
func stdioServer(t *testing.T, name, script string, args ...string) object {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(serversFolder, script))
	require.NoError(t, err)
	return object{"name": name, "command": node(t), "args": append([]string{path}, args...), "env": []any{}}
}

// httpServer is a server over Streamable HTTP as session/new has it.
func httpServer(name, url string, headers ...object) object {
	return object{"name": name, "type": "http", "url": url, "headers": append([]object{}, headers...)}
}

var listening = regexp.MustCompile(`^listens on (http://127\.0\.0\.1:[0-9]+)$`)

// startServer starts a server of mcp-servers on a free port for as long as the test, and gives its address.
func startServer(t *testing.T, script string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), node(t), append([]string{"--import", "./listens.mjs", script}, args...)...)
	cmd.Dir = serversFolder
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	drained := make(chan struct{})
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Kill())
		<-drained
		_ = cmd.Wait() // it was killed
	})
	var at string
	for at == "" && lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			at = m[1]
		}
	}
	go func() { // what it logs must not hold it up
		defer close(drained)
		for lines.Scan() {
		}
	}()
	require.NotEmpty(t, at, "%s does not say where it listens", script)
	return at
}

// driven is a script of mcp-servers with the servers that it passes, and the checks that it makes.
type driven struct {
	script  string
	servers []object
	forms   bool
	env     []string
	checks  []string
}

func drive(t *testing.T, d driven) {
	t.Helper()
	servers, err := json.Marshal(d.servers)
	require.NoError(t, err)
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, node(t), filepath.Join(serversFolder, d.script), built(t), "acp")
	cmd.Env = append(startToolModel(t).environ(environ(t, "0s")),
		"INTEROP_SERVERS="+string(servers), "INTEROP_FORMS="+strconv.FormatBool(d.forms))
	cmd.Env = append(cmd.Env, d.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second
	runErr := cmd.Run()
	var seen []string
	for _, m := range checkLine.FindAllStringSubmatch(stdout.String(), -1) {
		seen = append(seen, m[2])
		assert.Equal(t, "ok", m[1], "%s: %s", m[2], m[3])
	}
	assert.Equal(t, d.checks, seen)
	require.NoError(t, runErr, "%s\n%s", &stdout, &stderr)
}
