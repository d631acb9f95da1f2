package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// projectSession opens a session in the folder with a client that shows notices, asks for /mcp, and returns everything
// that came for it.
func (p *agentProcess) projectSession(t *testing.T, cwd string) string {
	t.Helper()
	p.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"session":{"notices":{}}}}}`)
	p.until(t, `"id":0`)
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, cwd)
	var r struct{ Result struct{ SessionID string } }
	require.NoError(t, json.Unmarshal([]byte(p.until(t, `"id":1`)), &r))
	from := len(p.lines)
	p.send(t, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"/mcp"}]}}`, r.Result.SessionID)
	p.until(t, `"id":2`)
	return strings.Join(p.lines[from:], "")
}

// Over ACP nobody is asked: a notice and /mcp say what is off and what turns it on.
func TestTrustOverACP(t *testing.T) {
	t.Parallel()
	p := startAgent(t)
	cwd := filepath.Join(p.home, "work")
	require.NoError(t, os.Mkdir(cwd, 0o755))
	text := `{"mcpServers": {"tea": {"command": "sh", "args": ["-c", "touch started; exec cartagent cart"]}}}`
	require.NoError(t, os.WriteFile(filepath.Join(cwd, projectServers), []byte(text), 0o644))
	said := p.projectSession(t, cwd)
	assert.Contains(t, said, `"title":"The project's .mcp.json is off"`, "the notice")
	assert.Contains(t, said, "The project's .mcp.json is off: it is not trusted: look at it and run `cartagent trust ", "/mcp")
	assert.NotContains(t, said, "| tea |")
	assert.NoFileExists(t, filepath.Join(cwd, "started"))
	p.end(t, p.closeInput)
	assert.Contains(t, p.stderr.String(), "the project's .mcp.json is off", "the log, for clients that show no notices")

	env := []string{"CARTAGENT_CONFIG_DIR=" + filepath.Join(p.home, "config")}
	cmd := exec.CommandContext(t.Context(), binary(t), "trust", "--yes", cwd)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	again := startAgent(t, env...)
	said = again.projectSession(t, cwd)
	assert.Contains(t, said, "| tea | connected | modern | 6 |")
	assert.NotContains(t, said, "is off")
	assert.FileExists(t, filepath.Join(cwd, "started"), "it runs in the project's folder")
	again.end(t, again.closeInput)
}

// A project's text cannot draw on the terminal on which the person decides.
func TestShown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain/path.x":         "plain/path.x",
		"日本":                   "日本",
		"":                     `""`,
		"two words":            `"two words"`,
		"a\"b":                 `"a\"b"`,
		"\x1b[2K\rharmless":    `"\x1b[2K\rharmless"`,
		"a\nb":                 `"a\nb"`,
		"\u202egnp.exe":        `"\u202egnp.exe"`,
		"zero\u200bwidth":      `"zero\u200bwidth"`,
		"no\xffutf8":           `"no\xffutf8"`,
		"non\u00a0break space": `"non\u00a0break space"`,
	} {
		assert.Equal(t, want, shown(text))
	}
}

// Files that are none, or too many bytes of one, are refused; one that is not there is nothing.
func TestProjectFiles(t *testing.T) {
	t.Parallel()
	at := func(t *testing.T) (dir, file string) {
		t.Helper()
		dir, err := filepath.EvalSymlinks(t.TempDir())
		require.NoError(t, err)
		return dir, filepath.Join(dir, projectServers)
	}
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		dir, _ := at(t)
		assert.Empty(t, projectFiles(dir))
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".agents"), nil, 0o644))
		assert.Empty(t, projectFiles(dir), "a file where the folder would be")
		assert.Empty(t, projectFiles(filepath.Join(dir, "gone")))
	})
	t.Run("a folder", func(t *testing.T) {
		t.Parallel()
		dir, file := at(t)
		require.NoError(t, os.Mkdir(file, 0o755))
		require.Len(t, projectFiles(dir), 1)
		assert.ErrorContains(t, projectFiles(dir)[0].err, "it is no regular file")
	})
	t.Run("too large", func(t *testing.T) {
		t.Parallel()
		dir, file := at(t)
		require.NoError(t, os.WriteFile(file, []byte("{}"+strings.Repeat(" ", maxProjectFile)), 0o644))
		require.Len(t, projectFiles(dir), 1)
		assert.ErrorContains(t, projectFiles(dir)[0].err, "it is larger than 1024 KiB")
	})
	t.Run("order", func(t *testing.T) {
		t.Parallel()
		dir, _ := at(t)
		below := filepath.Join(dir, "a", "b")
		require.NoError(t, os.MkdirAll(below, 0o755))
		require.NoError(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
		for _, folder := range []string{dir, filepath.Join(dir, "a"), below} {
			require.NoError(t, os.MkdirAll(filepath.Join(folder, ".agents"), 0o755))
			for _, name := range []string{projectServers, projectConfig} {
				require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(`{}`), 0o644))
			}
		}
		var got []string
		for _, f := range projectFiles(below) {
			require.NoError(t, f.err)
			got = append(got, f.path())
		}
		want := []string{
			filepath.Join(below, ".agents", "config.json"), filepath.Join(below, ".mcp.json"),
			filepath.Join(dir, ".agents", "config.json"), filepath.Join(dir, ".mcp.json"),
		}
		assert.Equal(t, want, got, "the nearest first; not those in between")
	})
}
