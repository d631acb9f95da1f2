package interop

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cartChecks are what cart.mjs puts a cart through.
var cartChecks = []string{
	"connect", "tools", "a size is asked for", "a rule of the cart is a result", "a wrong call is an error",
	"one key places one order", "resources and prompts", "close",
}

// TestCartClients has the official TypeScript client order at the cart, over both transports and in both eras.
func TestCartClients(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the race detector sees nothing of other programs")
	}
	if _, err := os.Stat("node_modules/@modelcontextprotocol/client"); err != nil {
		need(t, "the client is not installed: run `npm install --no-save --ignore-scripts` in interop")
	}
	tokens := filepath.Join(t.TempDir(), "tokens")
	require.NoError(t, os.WriteFile(tokens, []byte("ada let-me-in\n"), 0o600))
	for _, row := range []struct {
		name, era string
		http      bool
		flags     []string
	}{
		{name: "stdio", era: "modern"},
		{name: "stdio, handshake", era: "legacy", flags: []string{"--legacy"}},
		{name: "http", era: "modern", http: true},
		{name: "http, token", era: "modern", http: true, flags: []string{"--token-file", tokens}},
		{name: "http, handshake", era: "legacy", http: true, flags: []string{"--legacy"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			flags := append([]string{"--store", filepath.Join(t.TempDir(), "orders.db")}, row.flags...)
			args := append([]string{"cart.mjs", built(t), "cart"}, flags...)
			if row.http {
				args = []string{"cart.mjs", startCart(t, flags...)}
			}
			ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
			defer stop()
			cmd := exec.CommandContext(ctx, node(t), args...)
			cmd.Env = append(environ(t, "0s"), "CART_ERA="+row.era, "CART_TOKEN=let-me-in")
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			cmd.WaitDelay = 5 * time.Second
			runErr := cmd.Run()
			var seen []string
			for _, m := range checkLine.FindAllStringSubmatch(stdout.String(), -1) {
				seen = append(seen, m[2])
				assert.Equal(t, "ok", m[1], "%s: %s", m[2], m[3])
			}
			assert.Equal(t, cartChecks, seen)
			require.NoError(t, runErr, "%s\n%s", &stdout, &stderr)
		})
	}
}

var listens = regexp.MustCompile(`listens on (http://127\.0\.0\.1:[0-9]+/mcp)`)

// startCart starts the cart over HTTP for as long as the test, and gives its URL.
func startCart(t *testing.T, flags ...string) string {
	t.Helper()
	// Its end is the clean-up's, which comes after that of the test's context.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), built(t), append([]string{"cart", "--http", "127.0.0.1:0"}, flags...)...)
	cmd.Env = environ(t, "0s")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(stderr)
	var url string
	for url == "" && lines.Scan() {
		if m := listens.FindStringSubmatch(lines.Text()); m != nil {
			url = m[1]
		}
	}
	require.NotEmpty(t, url, "the cart does not say where it listens")
	drained := make(chan struct{})
	go func() { // what it logs must not hold it up
		defer close(drained)
		for lines.Scan() {
		}
	}()
	t.Cleanup(func() {
		assert.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		<-drained
		assert.NoError(t, cmd.Wait(), "it ends well on SIGTERM")
	})
	return url
}
