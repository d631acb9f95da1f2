package tools

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// What decides what may run is changed with the person's word alone, whatever rules and modes allow.
func TestWhatDecidesIsGuarded(t *testing.T) {
	t.Parallel()
	b := setUp(t, map[string]string{
		"conf/config.json": "a\n", "sub/.git/config": "a\n", ".gitignore": "a\n", "git/config": "a\n", "dotfiles/trust.json": "a\n",
	})
	require.NoError(t, os.Symlink("conf", filepath.Join(b.dir, "folder")))
	require.NoError(t, os.Symlink("../dotfiles/trust.json", filepath.Join(b.dir, "conf/trust.json")))
	require.NoError(t, os.Link(filepath.Join(b.dir, "conf/config.json"), filepath.Join(b.dir, "name")))
	b.ws.Guard(func() []string {
		conf := filepath.Join(b.dir, "conf")
		return []string{conf, filepath.Join(conf, "config.json"), filepath.Join(conf, "trust.json"), filepath.Join(b.dir, "none")}
	})
	caution := func(name string) string {
		c := callOf(t, "write", m{"path": name, "content": "b\n"})
		p, err := b.tool("write").Preview(t.Context(), c)
		require.NoError(t, err, name)
		return p.Caution
	}
	for _, name := range []string{
		"conf/config.json", "conf/new.json", "conf/skills/x/SKILL.md", "folder/config.json", "name", "dotfiles/trust.json",
		"sub/.git/config", ".git/hooks/pre-commit", ".GIT/config", "sub/.git",
	} {
		if name == "sub/.git" {
			require.NoError(t, os.RemoveAll(filepath.Join(b.dir, name)))
		}
		assert.NotEmpty(t, caution(name), name)
	}
	for _, name := range []string{".gitignore", "git/config", "sub/.github/x", "none/x", "x"} {
		assert.Empty(t, caution(name), name)
	}
	c := callOf(t, "edit", m{"path": "name", "edits": []Edit{{Old: "a", New: "b"}}})
	p, err := b.tool("edit").Preview(t.Context(), c)
	require.NoError(t, err)
	verdict, why := loop.Rules{{Tool: "edit", Verdict: loop.Allow}}.Decide(b.tool("edit").Spec(), p)
	assert.Equal(t, loop.Ask, verdict)
	assert.Equal(t, "it can decide what cartagent allows and runs", why)
}
