package tools

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cartagent/cartagent/loop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a workspace with its tools.
type bench struct {
	dir   string
	ws    *Workspace
	tools []loop.Tool
}

// setUp makes a workspace in a fresh folder with the files given by their paths.
func setUp(tb testing.TB, files map[string]string) *bench {
	tb.Helper()
	dir, err := filepath.EvalSymlinks(tb.TempDir())
	require.NoError(tb, err)
	put(tb, dir, files)
	return open(tb, Options{}, dir)
}

func put(tb testing.TB, dir string, files map[string]string) {
	tb.Helper()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(tb, os.WriteFile(path, []byte(content), 0o644))
	}
}

func open(tb testing.TB, o Options, roots ...string) *bench {
	tb.Helper()
	ws, err := Open(roots)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, ws.Close()) })
	o.Workspace = ws
	return &bench{dir: roots[0], ws: ws, tools: All(o)}
}

func (b *bench) tool(name string) loop.Tool {
	i := slices.IndexFunc(b.tools, func(t loop.Tool) bool { return t.Spec().Name == name })
	return b.tools[i]
}

func callOf(tb testing.TB, name string, args any) loop.Call {
	tb.Helper()
	raw, ok := args.(string)
	if !ok {
		j, err := json.Marshal(args)
		require.NoError(tb, err)
		raw = string(j)
	}
	c := loop.NewCall("", name, raw)
	c.ID = "call_1_1"
	return c
}

// try previews and runs a call, as the loop does.
func (b *bench) try(tb testing.TB, name string, args any) (loop.Result, error) {
	tb.Helper()
	tool, c := b.tool(name), callOf(tb, name, args)
	p, err := tool.Preview(tb.Context(), c)
	if err != nil {
		return loop.Result{}, err
	}
	return tool.Run(tb.Context(), loop.Job{Call: c, Preview: p}, func(loop.Block) {})
}

// do is try where nothing may go wrong; it gives the texts of the result, block by block.
func (b *bench) do(tb testing.TB, name string, args any) []string {
	tb.Helper()
	res, err := b.try(tb, name, args)
	require.NoError(tb, err)
	require.Equal(tb, "call_1_1", res.CallID)
	var out []string
	for _, block := range res.Content {
		text, ok := block.(loop.Text)
		require.True(tb, ok, "%T", block)
		out = append(out, text.Text)
	}
	return out
}

func (b *bench) read(tb testing.TB, name string) string {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, name))
	require.NoError(tb, err)
	return string(data)
}

type m = map[string]any

func repeat(s string, n int) string { return strings.Repeat(s, n) }
