package cart

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// processFile names the orders' file to a test binary that is to be a cart on stdio.
const processFile = "CART_TEST_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(processFile); path != "" {
		os.Exit(beCart(path))
	}
	goleak.VerifyTestMain(m)
}

func beCart(path string) int {
	book, err := OpenFile(context.Background(), path)
	if err == nil {
		err = Serve(context.Background(), os.Stdin, os.Stdout, Options{Caller: "ada", Book: book}) //nolint:forbidigo // here the test binary is the cart
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// A process is a cart of its own on a file, spoken to over stdio.
type process struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startProcess(t *testing.T, path string) *process {
	t.Helper()
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0])}
	p.cmd.Env = append(os.Environ(), processFile+"="+path)
	p.cmd.Stderr = os.Stderr
	var err error
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.out = bufio.NewReader(out)
	require.NoError(t, p.cmd.Start())
	return p
}

// calls has the process call a tool and gives the structured content.
func (p *process) calls(t *testing.T, tool, args string) map[string]any {
	t.Helper()
	p.sends(t, tool, args)
	return p.hears(t)
}

func (p *process) sends(t *testing.T, tool, args string) {
	t.Helper()
	_, err := io.WriteString(p.in, modern(7, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args), "{}")+"\n")
	require.NoError(t, err)
}

func (p *process) hears(t *testing.T) map[string]any {
	t.Helper()
	line, err := p.out.ReadString('\n')
	require.NoError(t, err)
	result := resultOf(t, decoded(t, line))
	require.Equal(t, false, result["isError"], "%v", result["content"])
	structured, _ := result["structuredContent"].(map[string]any)
	return structured
}

// fills starts an order with one cookie on it.
func (p *process) fills(t *testing.T) string {
	t.Helper()
	order, _ := p.calls(t, "create_order", "{}")["order"].(string)
	p.calls(t, "add_item", fmt.Sprintf(`{"order":%q,"item":"oat cookie"}`, order))
	return order
}

func (p *process) kill(t *testing.T) {
	t.Helper()
	require.NoError(t, p.cmd.Process.Kill())
	_, _ = io.Copy(io.Discard, p.out)
	require.Error(t, p.cmd.Wait())
}

func (p *process) end(t *testing.T) {
	t.Helper()
	assert.NoError(t, p.in.Close())
	assert.NoError(t, p.cmd.Wait())
}
