package session

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// logOf makes a session with n inputs and gives the bytes of its file.
func logOf(tb testing.TB, dir string, n int) ([]byte, []loop.Input) {
	tb.Helper()
	d := openDir(tb, dir)
	l, err := d.Create(tb.Context(), Info{ID: testID, Cwd: "/w"})
	require.NoError(tb, err)
	var inputs []loop.Input
	for i := range n {
		inputs = append(inputs, loop.Streamed{Kind: loop.ChunkText, Text: fmt.Sprintf("text %d {\"n\":1,\"at\":\"", i)})
	}
	require.NoError(tb, l.Append(inputs...))
	require.NoError(tb, l.Close())
	b, err := os.ReadFile(filepath.Join(dir, "sessions", testID+logExt))
	require.NoError(tb, err)
	return b, inputs
}

func put(tb testing.TB, dir string, b []byte) string {
	tb.Helper()
	path := filepath.Join(dir, "sessions", testID+logExt)
	require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(tb, os.WriteFile(path, b, 0o600))
	return path
}

// TestFileFormat holds the bytes against the published format, the hashes computed anew.
func TestFileFormat(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openDir(t, dir)
	l, err := d.Create(t.Context(), Info{ID: testID, Cwd: "/w/<x>"})
	require.NoError(t, err)
	require.NoError(t, l.Append(said("a", "b<")...))
	require.NoError(t, l.Append(loop.Unknown{Kind: "é\n", Body: json.RawMessage("{ \"x\" :\n1 }")}))
	require.NoError(t, l.Sync())
	require.NoError(t, l.Close())

	got, err := os.ReadFile(filepath.Join(dir, "sessions", testID+logExt))
	require.NoError(t, err)
	head := `{"cartagent":1,"session":"` + testID + `","cwd":"/w/<x>","created":"2026-11-30T12:00:01.123456789Z"}`
	hash := func(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }
	want, prev := head+"\n", hash(head)
	for i, r := range []struct{ at, kind, quoted, body string }{
		{"2026-11-30T12:00:02.123456789Z", "Streamed", `"Streamed"`, `{"kind":"text","text":"a"}`},
		{"2026-11-30T12:00:02.123456789Z", "Streamed", `"Streamed"`, `{"kind":"text","text":"b<"}`},
		{"2026-11-30T12:00:03.123456789Z", "é\n", `"é\n"`, `{"x":1}`},
	} {
		prev = hash(fmt.Sprintf("%s\n%d\n%s\n%s\n%s\n", prev, i+1, r.at, r.kind, hash(r.body)))
		want += fmt.Sprintf(`{"n":%d,"at":"%s","kind":%s,"body":%s,"hash":"%s"}`+"\n", i+1, r.at, r.quoted, r.body, prev)
	}
	assert.Equal(t, want, string(got))

	fi, err := os.Stat(filepath.Join(dir, "sessions", testID+logExt))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), fi.Mode().Perm())
	fi, err = os.Stat(filepath.Join(dir, "sessions"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), fi.Mode().Perm())
	entries, err := os.ReadDir(filepath.Join(dir, "sessions"))
	require.NoError(t, err)
	assert.Len(t, entries, 2, "a closed log leaves no note of its lease")
	fi, err = os.Stat(filepath.Join(dir, "sessions", indexName))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), fi.Mode().Perm())
}

func TestOpenFolderIsClosedToOthers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sessions"), 0o755))
	openDir(t, dir)
	fi, err := os.Stat(filepath.Join(dir, "sessions"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), fi.Mode().Perm())
}

func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, inputs := logOf(t, dir, 2)
	path := put(t, dir, good[:len(good)-5])
	require.NoError(t, os.Chmod(path, 0o400))
	d := openDir(t, dir)
	l, err := d.Lease(t.Context(), testID)
	require.NoError(t, err)
	assert.Equal(t, inputs[:1], collect(t, d.Inputs(t.Context(), testID, 0)))
	err = l.Append(said("x")...)
	require.ErrorIs(t, err, ErrStorage)
	assert.Contains(t, err.Error(), "read-only")
	require.NoError(t, l.Sync())
	_, err = d.Lease(t.Context(), testID)
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, l.Close())
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, good[:len(good)-5], after)
}

func TestNewerFormatIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, []byte(`{"cartagent":2,"session":"`+testID+`","cwd":"/w"}`+"\n"))
	d := openDir(t, dir)
	_, err := d.Lease(t.Context(), testID)
	require.ErrorIs(t, err, ErrVersion)
	for _, err := range d.Inputs(t.Context(), testID, 0) {
		require.ErrorIs(t, err, ErrVersion)
	}
	// It is listed nevertheless, also by its folder as far as that can be read: what is not shown would be thought lost.
	for _, f := range []Filter{{}, {Cwd: "/w"}, {Cwd: "/w", Limit: 1}} {
		page, err := openDir(t, dir).List(t.Context(), f)
		require.NoError(t, err)
		require.Len(t, page.Sessions, 1)
		assert.Equal(t, testID, page.Sessions[0].ID)
		assert.Equal(t, "/w", page.Sessions[0].Cwd)
	}
	require.NoError(t, d.Delete(t.Context(), testID))
}

func TestStoreThatCannotBeMade(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	_, err := OpenDir(path, Options{})
	require.ErrorIs(t, err, ErrStorage)
}

// TestBadInputsLeaveNoTrace: of an append that cannot be encoded nothing is written.
func TestBadInputsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			l, err := s.Create(t.Context(), Info{ID: testID})
			require.NoError(t, err)
			for _, bad := range []loop.Input{
				nil,
				loop.Unknown{Kind: "x", Body: json.RawMessage("{")},
				loop.Unknown{Kind: "x"},
				loop.Unknown{Body: json.RawMessage("{}")},
				loop.Unknown{Kind: "x", Body: json.RawMessage("{}\n{}")},
				loop.Prompted{Content: loop.Blocks{loop.Thought{State: json.RawMessage("]")}}},
			} {
				require.Error(t, l.Append(said("a")[0], bad), "%#v", bad)
			}
			require.NoError(t, l.Append(said("b")...))
			require.NoError(t, l.Close())
			assert.Equal(t, said("b"), collect(t, s.Inputs(t.Context(), testID, 0)))
			l, err = s.Lease(t.Context(), testID)
			require.NoError(t, err)
			assert.Empty(t, l.Warnings())
		})
	}
}

func TestConcurrentAppends(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			if d, ok := s.(*Dir); ok {
				d.opts = Options{Now: time.Now}
			}
			l, err := s.Create(t.Context(), Info{ID: testID})
			require.NoError(t, err)
			done := make(chan error)
			for range 8 {
				go func() {
					var errs []error
					for range 50 {
						errs = append(errs, l.Append(said("x", "y")...))
					}
					done <- errors.Join(append(errs, l.Sync())...)
				}()
			}
			for range 8 {
				require.NoError(t, <-done)
			}
			require.NoError(t, l.Close())
			assert.Len(t, collect(t, s.Inputs(t.Context(), testID, 0)), 800)
			l, err = s.Lease(t.Context(), testID)
			require.NoError(t, err)
			assert.Empty(t, l.Warnings())
			require.NoError(t, l.Close())
		})
	}
}
