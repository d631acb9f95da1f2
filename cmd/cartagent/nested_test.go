package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/tools"
	"github.com/charmbracelet/log"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// C061: the instructions of a folder come when work enters it, once.
func TestC061NestedInstructionsCome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"AGENTS.md": "be kind", "main.go": "package main\n", "shop/AGENTS.md": "currency GBP", "shop/api/x.go": "package api\n", "shop/y.go": "package shop\n",
	} {
		at := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(at), 0o755))
		require.NoError(t, os.WriteFile(at, []byte(text), 0o600))
	}
	space, err := tools.Open([]string{dir})
	require.NoError(t, err)
	defer func() { assert.NoError(t, space.Close()) }()
	all := newGuide(dir, log.New(io.Discard)).over(tools.All(tools.Options{Workspace: space}))
	read := all[0]
	require.Equal(t, "read", read.Spec().Name)
	for _, tc := range []struct {
		path string
		told bool
	}{{"main.go", false}, {"shop/api/x.go", true}, {"shop/y.go", false}, {filepath.Join(dir, "shop", "y.go"), false}} {
		r, err := read.Run(t.Context(), loop.Job{Call: loop.NewCall("", "read", `{"path":"`+tc.path+`"}`)}, func(loop.Block) {})
		require.NoError(t, err)
		text := loop.TextOf(r.Content)
		assert.Contains(t, text, "package")
		assert.Equal(t, tc.told, len(r.Content) > 1, tc.path)
		if tc.told {
			assert.Contains(t, text, "currency GBP")
			assert.NotContains(t, loop.TextOf(r.Display), "currency GBP")
		}
		assert.NotContains(t, text, "be kind", "the first prompt brings that")
	}
}
