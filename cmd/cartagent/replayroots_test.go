package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The files of additional folders are in a recording as those of the workspace are, wherever the folders lie: what was
// read, edited, written, listed and made by commands there is played again without any of the folders, and verified.
func TestAdditionalFoldersAreRecorded(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]string{"apart": "other/more", "inside": "work/more", "around": ".", "beside by name": "work-2"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			work, more := filepath.Join(base, "work"), filepath.Join(base, filepath.FromSlash(place))
			config := t.TempDir()
			for file, content := range map[string]string{
				filepath.Join(work, "a.txt"): "ours\n", filepath.Join(more, "b.txt"): "one\n", filepath.Join(more, "sub", "c.txt"): "deep\n",
				filepath.Join(config, "config.json"): `{"permissions":[{"tool":"terminal","verdict":"allow"},{"tool":"edit","verdict":"allow"},{"tool":"write","verdict":"allow"}]}`,
			} {
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
				require.NoError(t, os.WriteFile(file, []byte(content), 0o600))
			}
			b, made, fresh := filepath.Join(more, "b.txt"), filepath.Join(more, "sub", "made.txt"), filepath.Join(more, "new.txt")
			step := func(tool string, args object) scripted.Reply {
				raw, err := json.Marshal(args)
				require.NoError(t, err)
				return scripted.Reply{Calls: []loop.Call{{Tool: tool, Args: raw}}}
			}
			model := stubModel(t, []scripted.Reply{
				step("read", object{"path": b}),
				step("edit", object{"path": b, "edits": []object{{"old": "one", "new": "two"}}}),
				step("write", object{"path": fresh, "content": "new\n"}),
				step("list", object{"path": filepath.Join(more, "sub")}),
				step("terminal", object{"command": "cp c.txt made.txt", "cwd": filepath.Join(more, "sub")}),
				step("read", object{"path": made}),
				step("search", object{"pattern": "deep", "path": filepath.Join(more, "sub")}),
				step("read", object{"path": "a.txt"}),
				{Text: []string{"Done in " + more + "."}},
			})
			dir := t.TempDir()
			p := startAgentWith(t, []string{"--record", dir}, "CARTAGENT_CONFIG_DIR="+config,
				"CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=key-of-a-test", "OPENAI_BASE_URL="+model)
			p.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
			p.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"additionalDirectories":[%q],"mcpServers":[]}}`, work, more)
			id := regexp.MustCompile(`sess_[a-z0-9]+`).FindString(p.until(t, `"id":1`))
			p.send(t, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"Work in both"}]}}`, id)
			assert.Contains(t, p.until(t, `"id":2`), "end_turn")
			p.end(t, p.closeInput)
			made2, err := os.ReadFile(made)
			require.NoError(t, err)
			require.Equal(t, "deep\n", string(made2))
			require.NoError(t, os.RemoveAll(base))

			file := filepath.Join(dir, id+".txtar")
			data, err := os.ReadFile(file)
			require.NoError(t, err, p.stderr)
			assert.NotContains(t, string(data), base, "no path of this machine")
			v := replayFile(t.Context(), replayFlags{}, file)
			require.NoError(t, v.unusable)
			assert.Empty(t, v.differences)
			assert.Empty(t, v.unverified)
			assert.NoDirExists(t, base)
			v = replayFile(t.Context(), replayFlags{update: true}, file)
			require.NoError(t, v.unusable)
			assert.Equal(t, "unchanged", v.rewritten)

			s := recordedIn(t, file)
			in := "/workspace-2/"
			if name == "inside" {
				in = "more/"
			}
			assert.Equal(t, "one\n", s.Before[in+"b.txt"])
			assert.Equal(t, "two\n", s.After[in+"b.txt"])
			assert.Equal(t, "new\n", s.After[in+"new.txt"])
			assert.Equal(t, "deep\n", s.After[in+"sub/made.txt"])
			s.After[in+"new.txt"] = "newer\n"
			r, err := playHere(t.Context(), s, nil)
			require.NoError(t, err)
			require.NotEmpty(t, r.Differences())
			assert.Equal(t, `file `+in+`new.txt, line 1: recorded "newer\n", now "new\n"`, r.Differences()[0])
		})
	}
}

// So are those of a session that is loaded, by its log from before too, with one folder more than it had, and once more
// with another one while it is recorded.
func TestAdditionalFoldersOfALoadedSession(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	path := func(name string) string { return filepath.Join(base, name) }
	for _, name := range []string{"work", "one", "two", "three"} {
		require.NoError(t, os.Mkdir(path(name), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(path(name), name+".txt"), []byte("in "+name+"\n"), 0o600))
	}
	step := func(name string) scripted.Reply {
		raw, err := json.Marshal(object{"path": filepath.Join(path(name), name+".txt")})
		require.NoError(t, err)
		return scripted.Reply{Calls: []loop.Call{{Tool: "read", Args: raw}}}
	}
	said := scripted.Reply{Text: []string{"Read."}}
	model := stubModel(t, []scripted.Reply{step("one"), said, step("one"), step("two"), said, step("three"), said})
	dir, state := t.TempDir(), t.TempDir()
	start := func(flags ...string) *agentProcess {
		p := startAgentWith(t, flags, "CARTAGENT_STATE_DIR="+state, "CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=key-of-a-test", "OPENAI_BASE_URL="+model)
		p.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
		return p
	}
	prompt := func(p *agentProcess, n int, id string) {
		p.send(t, `{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"Read"}]}}`, n, id)
		assert.Contains(t, p.until(t, fmt.Sprintf(`"id":%d`, n)), "end_turn")
	}
	p := start()
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"additionalDirectories":[%q],"mcpServers":[]}}`, path("work"), path("one"))
	id := regexp.MustCompile(`sess_[a-z0-9]+`).FindString(p.until(t, `"id":1`))
	prompt(p, 2, id)
	p.end(t, p.closeInput)

	p = start("--record", dir)
	const load = `{"jsonrpc":"2.0","id":%d,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"additionalDirectories":[%q,%q],"mcpServers":[]}}`
	p.send(t, load, 1, id, path("work"), path("one"), path("two"))
	p.until(t, `"id":1`)
	prompt(p, 2, id)
	p.send(t, `{"jsonrpc":"2.0","id":3,"method":"session/close","params":{"sessionId":%q}}`, id)
	p.until(t, `"id":3`)
	p.send(t, load, 4, id, path("work"), path("three"), path("one"))
	p.until(t, `"id":4`)
	prompt(p, 5, id)
	p.end(t, p.closeInput)
	require.NoError(t, os.RemoveAll(base))

	file := filepath.Join(dir, id+".txtar")
	data, err := os.ReadFile(file)
	require.NoError(t, err, p.stderr)
	assert.NotContains(t, string(data), base)
	v := replayFile(t.Context(), replayFlags{}, file)
	require.NoError(t, v.unusable)
	assert.Empty(t, v.differences)
	assert.Empty(t, v.unverified)
	s := recordedIn(t, file)
	assert.Equal(t, map[string]string{
		"/workspace-2/one.txt": "in one\n", "/workspace-3/two.txt": "in two\n", "/workspace-4/three.txt": "in three\n",
	}, s.Before)
}
