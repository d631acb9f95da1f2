package tools

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// After an interruption, write and edit tell by the file whether they were done.
func TestLanded(t *testing.T) {
	t.Parallel()
	edit := m{"path": "f", "edits": []Edit{{Old: "one", New: "two"}}}
	for name, c := range map[string]struct {
		tool   string
		args   m
		before map[string]string
		does   func(t *testing.T, b *bench) // to the file, after the preview; nil: the call itself runs
		want   loop.Finding
	}{
		"written":         {tool: "write", args: m{"path": "a/new", "content": "x\n"}, want: loop.FoundDone},
		"written over":    {tool: "write", args: m{"path": "f", "content": "x"}, before: file("one"), want: loop.FoundDone},
		"written a blank": {tool: "write", args: m{"path": "f", "content": ""}, want: loop.FoundDone},
		"over a binary":   {tool: "write", args: m{"path": "f", "content": "x"}, before: file("\x00"), want: loop.FoundDone},
		"not written":     {tool: "write", args: m{"path": "f", "content": "x"}, does: nothing, want: loop.FoundUndone},
		"not a blank":     {tool: "write", args: m{"path": "f", "content": ""}, does: nothing, want: loop.FoundUndone},
		"not over":        {tool: "write", args: m{"path": "f", "content": "x"}, before: file("one"), does: nothing, want: loop.FoundUndone},
		"as it was":       {tool: "write", args: m{"path": "f", "content": "one"}, before: file("one"), does: nothing, want: loop.FoundDone},
		"edited":          {tool: "edit", args: edit, before: file("one\r\n"), want: loop.FoundDone},
		"not edited":      {tool: "edit", args: edit, before: file("one"), does: nothing, want: loop.FoundUndone},
		"changed by others": {
			tool: "edit", args: edit, before: file("one"), want: loop.FoundUnknown,
			does: func(t *testing.T, b *bench) {
				t.Helper()
				put(t, b.dir, file("one and more"))
			},
		},
		"removed by others": {
			tool: "edit", args: edit, before: file("one"), want: loop.FoundUnknown,
			does: func(t *testing.T, b *bench) {
				t.Helper()
				require.NoError(t, os.Remove(filepath.Join(b.dir, "f")))
			},
		},
		"led elsewhere": {
			tool: "write", args: m{"path": "d/f", "content": "x"}, before: map[string]string{"d/f": "one", "e/f": "x"}, want: loop.FoundUnknown,
			does: func(t *testing.T, b *bench) {
				t.Helper()
				require.NoError(t, os.RemoveAll(filepath.Join(b.dir, "d")))
				require.NoError(t, os.Symlink("e", filepath.Join(b.dir, "d")))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t, c.before)
			call := callOf(t, c.tool, c.args)
			p, err := b.tool(c.tool).Preview(t.Context(), call)
			require.NoError(t, err)
			j := loop.Job{Call: call, Preview: p}
			if c.does == nil {
				_, err = b.tool(c.tool).Run(t.Context(), j, nil)
				require.NoError(t, err)
			} else {
				c.does(t, b)
			}
			later := open(t, Options{}, b.dir).tool(c.tool)
			checker, ok := later.(loop.Checker)
			require.True(t, ok)
			found, result, _ := checker.Check(t.Context(), j)
			assert.Equal(t, c.want, found)
			if found == loop.FoundDone {
				assert.Contains(t, loop.TextOf(result.Content), "it was done")
				assert.Equal(t, p.Display, result.Display, "the client sees what it would have seen")
			}
			if found == loop.FoundUndone {
				_, err = later.Run(t.Context(), j, nil)
				require.NoError(t, err, "it can be run as it was shown")
			}
		})
	}
}

// A process that dies in the middle of a write leaves its half of a file. Who goes on with the call takes it away, and
// nothing else: neither what another call is just writing, nor what merely has such a name.
func TestLandedTidiesUp(t *testing.T) {
	t.Parallel()
	edit := m{"path": "d/f", "edits": []Edit{{Old: "one", New: "two"}}}
	for name, c := range map[string]struct {
		tool string
		args m
		done bool
	}{
		"write": {tool: "write", args: m{"path": "d/f", "content": "x"}},
		"edit":  {tool: "edit", args: edit},
		"done":  {tool: "write", args: m{"path": "d/f", "content": "one"}, done: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setUp(t, map[string]string{"d/f": "one", "d/.cartagent-MINE": "the person's", "d/" + tempName("sess_b/call_1_1"): "of another"})
			call := callOf(t, c.tool, c.args)
			p, err := b.tool(c.tool).Preview(t.Context(), call)
			require.NoError(t, err)
			j := loop.Job{Call: call, Preview: p, Key: "sess_a/call_1_1"}
			left := filepath.Join(b.dir, "d", tempName(j.Key))
			require.NoError(t, os.WriteFile(left, []byte("ha"), 0o600))
			found, _, err := open(t, Options{}, b.dir).tool(c.tool).(loop.Checker).Check(t.Context(), j)
			require.NoError(t, err)
			assert.NoFileExists(t, left)
			assert.Equal(t, "the person's", b.read(t, "d/.cartagent-MINE"))
			assert.Equal(t, "of another", b.read(t, "d/"+tempName("sess_b/call_1_1")))
			assert.Equal(t, c.done, found == loop.FoundDone)
			if !c.done {
				assert.Equal(t, loop.FoundUndone, found)
				_, err = b.tool(c.tool).Run(t.Context(), j, nil)
				require.NoError(t, err)
				assert.NoFileExists(t, left)
			}
		})
	}
}

// The name that a call's half of a file has is that of its key: so it can be found again.
func TestHalfOfAFileIsNamedByItsCall(t *testing.T) {
	t.Parallel()
	b := setUp(t, file("one"))
	call := callOf(t, "write", m{"path": "f", "content": "two"})
	p, err := b.tool("write").Preview(t.Context(), call)
	require.NoError(t, err)
	// Where something has that name already the write fails, since it takes nobody's place.
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, tempName("sess_a/call_1_1")), nil, 0o600))
	_, err = b.tool("write").Run(t.Context(), loop.Job{Call: call, Preview: p, Key: "sess_a/call_1_1"}, nil)
	require.ErrorContains(t, err, "file exists")
	for _, key := range []string{"sess_a/call_1_2", ""} {
		_, err = b.tool("write").Run(t.Context(), loop.Job{Call: call, Preview: p, Key: key}, nil)
		require.NoError(t, err)
		p.Digests[0].Sum = sumOf([]byte("two"))
	}
}

// file is a workspace with one file, f.
func file(content string) map[string]string { return map[string]string{"f": content} }

func nothing(*testing.T, *bench) {}
