package session

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// shown is what an export holds.
func exported(t *testing.T, dir string, redact Outline) []byte {
	t.Helper()
	var out bytes.Buffer
	problems, err := openDir(t, dir).Export(t.Context(), testID, &out, redact)
	require.NoError(t, err)
	require.Empty(t, problems)
	return out.Bytes()
}

func TestExportAndImport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inputs, blob := withBlob(t, dir)
	l, err := openDir(t, dir).Lease(t.Context(), testID)
	require.NoError(t, err)
	require.NoError(t, l.Append(inputs[1], loop.Unknown{Kind: "Dreamt", Body: json.RawMessage(`{"of":{"$blob":1}}`)}))
	require.NoError(t, l.Close())
	log, err := os.ReadFile(filepath.Join(dir, "sessions", testID+logExt))
	require.NoError(t, err)

	file := exported(t, dir, nil)
	r, err := VerifyFile(t.Context(), bytes.NewReader(file))
	require.NoError(t, err)
	assert.Empty(t, r.Problems)
	assert.Equal(t, 5, r.Records)
	assert.Equal(t, 1, bytes.Count(file, []byte(`"blobs":`)), "each blob is there once")
	var read []loop.Input
	for rec, err := range RecordsOf(t.Context(), bytes.NewReader(file)) {
		require.NoError(t, err)
		read = append(read, rec.Input)
	}
	assert.Equal(t, collect(t, openDir(t, dir).Inputs(t.Context(), testID, 0)), read)

	to := t.TempDir()
	d := openDir(t, to)
	info, err := d.Import(t.Context(), bytes.NewReader(file))
	require.NoError(t, err)
	assert.Equal(t, testID, info.ID)
	assert.Equal(t, "/w", info.Cwd)
	again, err := os.ReadFile(filepath.Join(to, "sessions", testID+logExt))
	require.NoError(t, err)
	assert.Equal(t, string(log), string(again), "the log is the same to the byte")
	assert.FileExists(t, filepath.Join(to, "sessions", testID+blobsExt, filepath.Base(blob)))
	requireWhole(t, d, read)
	page, err := d.List(t.Context(), Filter{Cwd: "/w"})
	require.NoError(t, err)
	assert.Len(t, page.Sessions, 1)

	_, err = d.Import(t.Context(), bytes.NewReader(file))
	require.ErrorIs(t, err, ErrExists)
	requireWhole(t, d, read)
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	withBlob(t, dir)
	good := string(exported(t, dir, nil))
	lines := strings.SplitAfter(good, "\n")
	redacted := string(exported(t, dir, func(loop.Input) (loop.Input, bool) { return nil, true }))
	for name, c := range map[string]struct {
		file string
		want string
		is   error
	}{
		"empty":          {"", "the file is empty", ErrDamaged},
		"another file":   {"hello\nworld\n", "line 1: the header", ErrDamaged},
		"changed":        {strings.Replace(good, "small", "large", 1), "line 2: record 1 was changed", ErrDamaged},
		"a line missing": {lines[0] + lines[2], "line 2: record 2 follows record 0", ErrDamaged},
		"torn":           {good[:len(good)-9], "line 4: the end of the file is torn", ErrDamaged},
		"no blob":        {strings.Replace(good, `"blobs":`, `"blob":`, 1), "is missing", ErrDamaged},
		"a wrong blob":   {strings.Replace(good, "YSBsaW5l", "YSBsaW5m", 1), "is damaged", ErrDamaged},
		"a bad id":       {strings.Replace(good, testID, "sess_../../../../etc", 1), "line 1: ", ErrDamaged},
		"newer":          {`{"cartagent":2}` + "\n", "upgrade", ErrVersion},
		"redacted":       {redacted, "redacted", ErrRedacted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := t.TempDir()
			d := openDir(t, to)
			_, err := d.Import(t.Context(), strings.NewReader(c.file))
			require.ErrorIs(t, err, c.is)
			assert.Contains(t, err.Error(), c.want)
			left, err := os.ReadDir(filepath.Join(to, "sessions"))
			require.NoError(t, err)
			assert.Empty(t, left, "nothing is left behind")
		})
	}
}

func TestExportRedacted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	withBlob(t, dir)
	file := exported(t, dir, func(in loop.Input) (loop.Input, bool) {
		text := in.(loop.Streamed).Text
		return loop.Streamed{Kind: loop.ChunkText, Text: "XX"}, text != "after"
	})
	assert.NotContains(t, string(file), "small")
	assert.NotContains(t, string(file), "a line of")
	assert.NotContains(t, string(file), "blobs")
	assert.Contains(t, string(file), `"body":null,"body_sha256":"`)
	r, err := VerifyFile(t.Context(), bytes.NewReader(file))
	require.NoError(t, err)
	assert.Empty(t, r.Problems)
	assert.Equal(t, 2, r.Redacted)
	var read []loop.Input
	for rec, err := range RecordsOf(t.Context(), bytes.NewReader(file)) {
		require.NoError(t, err)
		read = append(read, rec.Input)
	}
	assert.Equal(t, said("XX", "XX", "after"), read)
	full, err := VerifyFile(t.Context(), bytes.NewReader(exported(t, dir, nil)))
	require.NoError(t, err)
	assert.Equal(t, full.Hash, r.Hash, "the chain is the same")
}

// TestExportDamaged: what is damaged is left out, with a word about it, and does not come out redacted or not.
func TestExportDamaged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, _ := logOf(t, dir, 3)
	put(t, dir, bytes.Replace(good, []byte(`{"n":2,`), []byte(`secret"n":2,`), 1))
	var out bytes.Buffer
	problems, err := openDir(t, dir).Export(t.Context(), testID, &out, nil)
	require.NoError(t, err)
	require.NotEmpty(t, problems)
	assert.Equal(t, 3, problems[0].Line)
	assert.NotContains(t, out.String(), "secret")

	put(t, dir, good[10:])
	_, err = openDir(t, dir).Export(t.Context(), testID, &out, nil)
	require.ErrorContains(t, err, "the header of its log is damaged")
}

func TestVerifyHeads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, _ := logOf(t, dir, 3)
	d := openDir(t, dir)
	r, err := d.Verify(t.Context(), testID, 0, 2, 9)
	require.NoError(t, err)
	require.Empty(t, r.Problems)
	header, _, _ := bytes.Cut(good, []byte("\n"))
	var second record
	require.NoError(t, json.Unmarshal(bytes.Split(good, []byte("\n"))[2], &second))
	assert.Equal(t, map[int]string{0: sumOf(header), 2: second.Hash, 9: ""}, r.Heads)
	_, err = d.Verify(t.Context(), "sess_aaaaaaaaaaaaaaaa")
	require.ErrorIs(t, err, ErrNotFound)
}
