package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const cartMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// cartProcess is `cartagent cart` with those flags, on stdio.
type cartProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startStdioCart(t *testing.T, flags ...string) *cartProcess {
	t.Helper()
	p := &cartProcess{cmd: exec.CommandContext(t.Context(), binary(t), append([]string{"cart"}, flags...)...)}
	var err error
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(out)
	require.NoError(t, p.cmd.Start())
	return p
}

func (p *cartProcess) send(t *testing.T, tool, args string) {
	t.Helper()
	_, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s,"name":%q,"arguments":%s}}`+"\n", cartMeta, tool, args)
	require.NoError(t, err)
}

func (p *cartProcess) call(t *testing.T, tool, args string) string {
	t.Helper()
	p.send(t, tool, args)
	line, err := p.out.ReadString('\n')
	require.NoError(t, err)
	return line
}

func (p *cartProcess) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Signal(syscall.SIGKILL))
	_, _ = io.Copy(io.Discard, p.out)
	require.Error(t, p.cmd.Wait())
}

// A cart with a store may be killed at any time: what it told is so, and a key that is sent again places no second order.
func TestCartSurvivesSIGKILL(t *testing.T) {
	t.Parallel()
	store := filepath.Join(t.TempDir(), "orders.db")
	p := startStdioCart(t, "--store", store)
	handle := regexp.MustCompile(`ord_[A-Z0-9]+`).FindString(p.call(t, "create_order", "{}"))
	p.kill(t)
	p = startStdioCart(t, "--store", store)
	assert.Contains(t, p.call(t, "add_item", fmt.Sprintf(`{"order":%q,"item":"latte","size":"large"}`, handle)), `"totalCents":550`)
	p.kill(t)
	place := fmt.Sprintf(`{"order":%q,"idempotency_key":"k"}`, handle)
	for range 3 {
		p = startStdioCart(t, "--store", store)
		p.send(t, "place_order", place)
		p.kill(t) // placed or not, nobody was told
	}
	p = startStdioCart(t, "--store", store)
	first := p.call(t, "place_order", place)
	assert.Contains(t, first, `"number":1`)
	p.kill(t)
	p = startStdioCart(t, "--store", store)
	assert.Equal(t, first, p.call(t, "place_order", place))
	next := regexp.MustCompile(`ord_[A-Z0-9]+`).FindString(p.call(t, "create_order", "{}"))
	p.call(t, "add_item", fmt.Sprintf(`{"order":%q,"item":"oat cookie"}`, next))
	assert.Contains(t, p.call(t, "place_order", fmt.Sprintf(`{"order":%q}`, next)), `"number":2`, "one order was placed before this one")
	require.NoError(t, p.in.Close())
	require.NoError(t, p.cmd.Wait())
}

// The cart over HTTP says where it listens, serves there, and ends well when it is told to.
func TestCartOverHTTP(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]os.Signal{"sigterm": syscall.SIGTERM, "sigint": syscall.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary(t), "cart", "--http", "127.0.0.1:0", "--rate", "1",
				"--store", filepath.Join(t.TempDir(), "orders.db"))
			stderr, err := cmd.StderrPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			said := bufio.NewScanner(stderr)
			require.True(t, said.Scan())
			_, url, found := strings.Cut(said.Text(), "listens on ")
			require.True(t, found, said.Text())
			for _, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url,
					strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{`+cartMeta+`}}`))
				require.NoError(t, err)
				r.Header = http.Header{
					"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
					"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/list"},
				}
				resp, err := http.DefaultClient.Do(r)
				require.NoError(t, err)
				assert.Equal(t, want, resp.StatusCode)
				require.NoError(t, resp.Body.Close())
			}
			require.NoError(t, cmd.Process.Signal(sig))
			for said.Scan() { // to its end, so that nothing holds it up
			}
			require.NoError(t, cmd.Wait())
		})
	}
}
