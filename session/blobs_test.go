package session

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// withBlob makes a session with a small, a large and a small input. It gives them and the path of the one blob.
func withBlob(t *testing.T, dir string) (inputs []loop.Input, blob string) {
	t.Helper()
	d := openDir(t, dir)
	l, err := d.Create(t.Context(), Info{ID: testID, Cwd: "/w"})
	require.NoError(t, err)
	text := strings.Repeat("a line of a file\n", 5000)
	inputs = said("small", text, "after")
	require.NoError(t, l.Append(inputs...))
	require.NoError(t, l.Close())
	return inputs, filepath.Join(dir, "sessions", testID+blobsExt, sumOf([]byte(text)))
}

func TestBlob(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inputs, blob := withBlob(t, dir)
	data, err := os.ReadFile(blob)
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("a line of a file\n", 5000), string(data))
	for path, mode := range map[string]os.FileMode{blob: 0o600, filepath.Dir(blob): 0o700} {
		fi, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, mode, fi.Mode().Perm())
	}
	file, err := os.ReadFile(filepath.Join(dir, "sessions", testID+logExt))
	require.NoError(t, err)
	assert.Less(t, len(file), 2000)
	assert.Contains(t, string(file), `"body":{"kind":"text","text":{"$blob":"`+filepath.Base(blob)+`"}},"hash":`)

	d := openDir(t, dir)
	requireWhole(t, d, inputs)
	r, err := d.Verify(t.Context(), testID)
	require.NoError(t, err)
	assert.Empty(t, r.Problems)

	l, err := d.Lease(t.Context(), testID)
	require.NoError(t, err)
	require.NoError(t, l.Append(inputs[1]), "the same again")
	require.NoError(t, l.Close())
	requireWhole(t, d, append(inputs, inputs[1]))
	entries, err := os.ReadDir(filepath.Dir(blob))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "the same payload is kept once")

	require.NoError(t, d.Delete(t.Context(), testID))
	assert.NoDirExists(t, filepath.Dir(blob))
}

// TestLostBlob: a blob that is gone or damaged is named, and the session can be read and gone on with.
func TestLostBlob(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		harm func(path string) error
		want string
	}{
		"missing":  {os.Remove, "is missing"},
		"cut":      {func(p string) error { return os.Truncate(p, 9) }, "is damaged"},
		"changed":  {func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte("x"), 85_000), 0o600) }, "is damaged"},
		"a folder": {func(p string) error { return os.Rename(filepath.Dir(p), p+"x") }, "is missing"},
		"a link": {func(p string) error {
			if err := os.Rename(p, p+"x"); err != nil {
				return err
			}
			return os.Symlink(p+"x", p)
		}, "is no file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			inputs, blob := withBlob(t, dir)
			if name == "a folder" {
				require.NoError(t, os.Remove(blob))
			} else {
				require.NoError(t, c.harm(blob))
			}
			d := openDir(t, dir)
			got := collect(t, d.Inputs(t.Context(), testID, 0))
			require.Len(t, got, 3)
			assert.Equal(t, []loop.Input{inputs[0], inputs[2]}, []loop.Input{got[0], got[2]})
			assert.Contains(t, got[1].(loop.Streamed).Text, "[What was here is lost: the blob "+testID+blobsExt+"/")
			r, err := d.Verify(t.Context(), testID)
			require.NoError(t, err)
			require.Len(t, r.Problems, 1)
			assert.Equal(t, 3, r.Problems[0].Line)
			assert.Contains(t, r.Problems[0].Text, c.want)
			l, err := d.Lease(t.Context(), testID)
			require.NoError(t, err)
			require.Len(t, l.Warnings(), 1)
			assert.Contains(t, l.Warnings()[0], c.want)
			require.NoError(t, l.Append(inputs[1]), "the same payload again mends what was damaged")
			require.NoError(t, l.Close())
			requireWhole(t, d, append(inputs, inputs[1]))
		})
	}
}

// TestBlobWithoutRecord: a crash between a blob and its record leaves nothing for ever.
func TestBlobWithoutRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inputs, blob := withBlob(t, dir)
	stray := filepath.Join(filepath.Dir(blob), strings.Repeat("0", 64))
	require.NoError(t, os.WriteFile(stray, nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(blob), "X"+tempExt), nil, 0o600))
	d := openDir(t, dir)
	requireWhole(t, d, inputs)
	entries, err := os.ReadDir(filepath.Dir(blob))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	assert.Equal(t, filepath.Base(blob), entries[0].Name())
}

// TestDamagedRecordKeepsItsBlob: what a damaged line names, or named, may be all that is left of it.
func TestDamagedRecordKeepsItsBlob(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(line []byte) []byte{
		"its beginning":    func(line []byte) []byte { return bytes.Replace(line, []byte(`{"n":2,`), []byte(`"n":2,`), 1) },
		"the blob's name":  func(line []byte) []byte { return bytes.Replace(line, []byte(`{"$blob":"`), []byte(`{"$blob":"x`), 1) },
		"NULs over it":     func(line []byte) []byte { return bytes.Repeat([]byte{0}, len(line)) },
		"the line is gone": func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, blob := withBlob(t, dir)
			path := filepath.Join(dir, "sessions", testID+logExt)
			file, err := os.ReadFile(path)
			require.NoError(t, err)
			lines := bytes.SplitAfter(file, []byte("\n"))
			lines[2] = harm(bytes.TrimSuffix(lines[2], []byte("\n")))
			if lines[2] != nil {
				lines[2] = append(lines[2], '\n')
			}
			require.NoError(t, os.WriteFile(path, bytes.Join(lines, nil), 0o600))
			d := openDir(t, dir)
			l, err := d.Lease(t.Context(), testID)
			require.NoError(t, err)
			require.NotEmpty(t, l.Warnings())
			require.NoError(t, l.Close())
			assert.FileExists(t, blob)
		})
	}
}

func TestSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inputs, blob := withBlob(t, dir)
	folder := filepath.Join(dir, "sessions")
	gone := "sess_" + strings.Repeat("g", 20)
	old := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	left := []string{gone + blobsExt + "/" + strings.Repeat("0", 64), gone + lockExt, "." + testID + importExt + "-X"}
	for _, name := range left {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		require.NoError(t, os.Chtimes(path, old, old))
	}
	require.NoError(t, os.Chtimes(filepath.Join(folder, gone+blobsExt), old, old))
	other := filepath.Join(folder, "notes.txt")
	require.NoError(t, os.WriteFile(other, nil, 0o600))
	d := openDir(t, dir)
	n, err := d.Sweep(t.Context())
	require.NoError(t, err)
	assert.Equal(t, len(left), n)
	assert.FileExists(t, other)
	assert.FileExists(t, blob)
	requireWhole(t, d, inputs)
}
