package tools

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hiding is a home folder as a workspace, in which the keys and the tokens of the person are kept.
func hiding(t *testing.T) *bench {
	t.Helper()
	b := setUp(t, map[string]string{
		"conf/credentials.json": "planted key\n", "conf/config.json": "planted nothing\n", "state/mcp-auth/shop.json": "planted token\n",
		"notes.txt": "planted note\n",
	})
	conf, auth := filepath.Join(b.dir, "conf/credentials.json"), filepath.Join(b.dir, "state/mcp-auth")
	b.ws.Hide(func() []string { return []string{conf, auth, filepath.Join(b.dir, "none")} })
	return b
}

func TestSecretsAreForNoTool(t *testing.T) {
	t.Parallel()
	b := hiding(t)
	require.NoError(t, os.Symlink("conf/credentials.json", filepath.Join(b.dir, "link")))
	require.NoError(t, os.Symlink("conf", filepath.Join(b.dir, "folder")))
	require.NoError(t, os.Link(filepath.Join(b.dir, "conf/credentials.json"), filepath.Join(b.dir, "name")))
	require.NoError(t, os.Link(filepath.Join(b.dir, "state/mcp-auth/shop.json"), filepath.Join(b.dir, "token")))
	for _, name := range []string{
		"conf/credentials.json", "conf/../conf/credentials.json", "link", "folder/credentials.json", "name", "token",
		"state/mcp-auth/shop.json", "/proc/self/root" + b.dir + "/conf/credentials.json",
	} {
		for tool, args := range map[string]m{
			"read": {"path": name}, "write": {"path": name, "content": "mine"}, "search": {"pattern": "planted", "path": name},
			"edit": {"path": name, "edits": []Edit{{Old: "planted", New: "mine"}}},
		} {
			_, err := b.try(t, tool, args)
			require.ErrorIs(t, err, ErrSecret, "%s %s", tool, name)
			assert.Contains(t, err.Error(), name, "%s %s", tool, name)
		}
		_, err := b.ws.ReadFile(t.Context(), name)
		require.ErrorIs(t, err, ErrSecret, name)
		require.ErrorIs(t, b.ws.WriteFile(t.Context(), name, nil), ErrSecret, name)
	}
	for tool, args := range map[string]m{
		"list": {"path": "state/mcp-auth"}, "search": {"pattern": "planted", "path": "state/mcp-auth"},
		"write": {"path": "state/mcp-auth/mine.json", "content": "mine"}, "terminal": {"command": "ls", "cwd": "state/mcp-auth"},
	} {
		_, err := b.try(t, tool, args)
		require.ErrorIs(t, err, ErrSecret, tool)
	}
	assert.Equal(t, "planted key\n", b.read(t, "conf/credentials.json"))
	assert.Equal(t, []string{"planted note\n"}, b.do(t, "read", m{"path": "notes.txt"}))
	assert.Equal(t, []string{"planted nothing\n"}, b.do(t, "read", m{"path": "conf/config.json"}))
}

func TestASearchPassesSecretsBy(t *testing.T) {
	t.Parallel()
	b := hiding(t)
	require.NoError(t, os.Link(filepath.Join(b.dir, "conf/credentials.json"), filepath.Join(b.dir, "name")))
	found := b.do(t, "search", m{"pattern": "planted.*"})
	require.Len(t, found, 2)
	assert.Equal(t, "conf/config.json\n1:planted nothing\n\nnotes.txt\n1:planted note\n", found[0])
	for _, name := range []string{"conf/credentials.json", "name", "state/mcp-auth/shop.json"} {
		assert.Contains(t, found[1], name+" (it holds keys")
	}
}

// A session that was opened right where the secrets are has no other way in.
func TestSecretsBeneathTheirOwnRoot(t *testing.T) {
	t.Parallel()
	outer := hiding(t)
	for _, dir := range []string{"state/mcp-auth", "conf"} {
		b := open(t, Options{}, filepath.Join(outer.dir, dir))
		b.ws.Hide(outer.ws.roots[0].hidden)
		_, err := b.try(t, "read", m{"path": map[string]string{"conf": "credentials.json", "state/mcp-auth": "shop.json"}[dir]})
		require.ErrorIs(t, err, ErrSecret, dir)
	}
	deep := filepath.Join(outer.dir, "state/mcp-auth/deep")
	require.NoError(t, os.MkdirAll(deep, 0o700))
	b := open(t, Options{}, deep)
	b.ws.Hide(outer.ws.roots[0].hidden)
	_, err := b.try(t, "write", m{"path": "more.json", "content": "mine"})
	require.ErrorIs(t, err, ErrSecret)
}
