package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// TestTornTail is case C065: the last record cut at every byte.
func TestTornTail(t *testing.T) {
	t.Parallel()
	good, inputs := logOf(t, t.TempDir(), 4)
	last := bytes.LastIndexByte(good[:len(good)-1], '\n') + 1
	dir := t.TempDir()
	put(t, dir, nil)
	d := openDir(t, dir)
	for cut := last; cut <= len(good); cut++ {
		path := put(t, dir, good[:cut])
		want := inputs[:3:3]
		if cut >= len(good)-1 {
			want = inputs[:4:4]
		}
		require.Equal(t, want, collect(t, d.Inputs(t.Context(), testID, 0)), "cut at %d", cut)
		l, err := d.Lease(t.Context(), testID)
		require.NoError(t, err)
		if torn := cut > last && cut < len(good)-1; torn {
			require.Len(t, l.Warnings(), 1)
			require.Contains(t, l.Warnings()[0], fmt.Sprintf("torn; its last %d bytes are dropped", cut-last))
		} else {
			require.Empty(t, l.Warnings())
		}
		untouched, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, good[:cut], untouched, "a lease alone changes nothing")
		require.NoError(t, l.Append(said("new")...))
		require.NoError(t, l.Close())
		requireWhole(t, d, append(want, said("new")...))
	}
}

// requireWhole says that the session holds want and has no damage.
func requireWhole(t *testing.T, d *Dir, want []loop.Input) {
	t.Helper()
	require.Equal(t, want, collect(t, d.Inputs(t.Context(), testID, 0)))
	l, err := d.Lease(t.Context(), testID)
	require.NoError(t, err)
	require.Empty(t, l.Warnings())
	require.NoError(t, l.Close())
}

// TestDamage is case C065: what else may have happened to a file. Nothing is glued or silently dropped.
func TestDamage(t *testing.T) {
	t.Parallel()
	good, inputs := logOf(t, t.TempDir(), 5)
	lines := strings.SplitAfter(strings.TrimSuffix(string(good), "\n"), "\n") // the last without its newline
	join := func(parts ...string) string { return strings.Join(parts, "") }
	nuls := strings.Repeat("\x00", 300)
	at := func(ns ...int) []loop.Input {
		var out []loop.Input
		for _, n := range ns {
			out = append(out, inputs[n-1])
		}
		return out
	}
	stub := lines[3][:20]
	for name, c := range map[string]struct {
		file     string
		want     []loop.Input
		warnings []string
	}{
		"NULs as a line": {join(lines[0], lines[1], nuls, "\n", lines[2], lines[3]), at(1, 2, 3), []string{"NUL"}},
		"NULs over a record": {
			join(lines[0], lines[1], strings.Repeat("\x00", len(lines[2])-1), "\n", lines[3]), at(1, 3), []string{"NUL"},
		},
		"NULs at the end":           {join(lines[0], lines[1], nuls), at(1), []string{"torn"}},
		"NULs behind a record":      {join(lines[0], lines[1][:len(lines[1])-1], nuls), at(1), []string{"300 other bytes"}},
		"NULs before a record":      {join(lines[0], nuls, lines[1], lines[2]), at(1, 2), []string{"NUL"}},
		"two on a line":             {join(lines[0], strings.TrimSpace(lines[1]), lines[2], lines[3]), at(1, 2, 3), []string{"share"}},
		"two at the end":            {join(lines[0], strings.TrimSpace(lines[1]), strings.TrimSpace(lines[2])), at(1, 2), []string{"share"}},
		"header and record glued":   {join(strings.TrimSpace(lines[0]), lines[1], lines[2]), at(1, 2), []string{"behind the header"}},
		"glued onto a stub":         {join(lines[0], lines[1], lines[2], stub, lines[4]), at(1, 2, 4), []string{"no record"}},
		"half a line in the middle": {join(lines[0], lines[1], stub, "\n", lines[4]), at(1, 4), []string{"no record"}},
		"a line missing":            {join(lines[0], lines[1], lines[3]), at(1, 3), []string{"record 3 follows record 1"}},
		"a line twice":              {join(lines[0], lines[1], lines[1], lines[2]), at(1, 2), []string{"twice"}},
		"lines swapped":             {join(lines[0], lines[2], lines[1]), at(2, 1), []string{"follows record 0", "record 1 follows record 2"}},
		"blank lines":               {join(lines[0], "\n", lines[1], " \r\n", lines[2]), at(1, 2), nil},
		"another program's line":    {join(lines[0], lines[1], "{\"hello\":1}\n", lines[2]), at(1, 2), []string{"no record"}},
		"the header damaged":        {join("{\"cart\n", lines[1], lines[2]), at(1, 2), []string{"header", "no record"}},
		"the header missing":        {join(lines[1], lines[2]), at(1, 2), []string{"header"}},
		"the header torn":           {"{\"cart", nil, []string{"header", "torn"}},
		"empty":                     {"", nil, []string{"empty"}},
		"changed": {
			join(lines[0], strings.Replace(lines[1], "text 0", "text 9", 1), lines[2]),
			append([]loop.Input{loop.Streamed{Kind: loop.ChunkText, Text: `text 9 {"n":1,"at":"`}}, at(2)...),
			[]string{"record 1 was changed"},
		},
		"of another session": {join(strings.Replace(lines[0], testID, "sess_other", 1)), nil, []string{"another session"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path := put(t, dir, []byte(c.file))
			d := openDir(t, dir)
			require.Equal(t, c.want, collect(t, d.Inputs(t.Context(), testID, 0)))
			l, err := d.Lease(t.Context(), testID)
			require.NoError(t, err)
			require.Len(t, l.Warnings(), len(c.warnings), "%q", l.Warnings())
			for i, w := range c.warnings {
				assert.Contains(t, l.Warnings()[i], w)
				assert.Contains(t, l.Warnings()[i], testID)
			}
			require.NoError(t, l.Append(said("new", "er")...))
			require.NoError(t, l.Close())
			require.Equal(t, append(c.want, said("new", "er")...), collect(t, d.Inputs(t.Context(), testID, 0)))
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			if !strings.Contains(strings.Join(c.warnings, " "), "torn") {
				assert.True(t, strings.HasPrefix(string(after), strings.TrimRight(c.file, "\x00")), "what was there stays")
			}
			l, err = d.Lease(t.Context(), testID)
			require.NoError(t, err)
			assert.LessOrEqual(t, len(l.Warnings()), len(c.warnings), "%q", l.Warnings())
			require.NoError(t, l.Close())
		})
	}
}

// TestDamagedRecordIsNotSearched: what a damaged record quotes is not taken for a record.
func TestDamagedRecordIsNotSearched(t *testing.T) {
	t.Parallel()
	good, inputs := logOf(t, t.TempDir(), 1)
	inner := `{"n":7,"at":"","kind":"Cancelled","body":{},"hash":"` + strings.Repeat("0", 64) + `"}`
	line := `{"n":2,"at":"","kind":"X","body":` + inner + `,"ha` + "\n"
	dir := t.TempDir()
	put(t, dir, append(good, line...))
	d := openDir(t, dir)
	assert.Equal(t, inputs, collect(t, d.Inputs(t.Context(), testID, 0)))
}

func TestForeignRecordsSurvive(t *testing.T) {
	t.Parallel()
	good, inputs := logOf(t, t.TempDir(), 2)
	dir := t.TempDir()
	hash := strings.Repeat("a", 64)
	foreign := `{"kind":"Dreamt","n":3,"extra":[1],"at":"x","body":{"of":"sheep"},"hash":"` + hash + `"}` + "\n" +
		`{"n":4,"at":"x","kind":"Streamed","body":{"kind":"text","text":"t","later":1},"hash":"` + hash + `","f":2}` + "\n" +
		`{"n":5,"at":"x","kind":"Prompted","body":null,"body_sha256":"` + hash + `","hash":"` + hash + `"}` + "\n" +
		`{"n":6,"at":"x","kind":"Streamed","body":[],"hash":"` + hash + `"}` + "\n"
	path := put(t, dir, append(good, foreign...))
	d := openDir(t, dir)
	want := append(inputs,
		loop.Unknown{Kind: "Dreamt", Body: json.RawMessage(`{"of":"sheep"}`)},
		loop.Streamed{Kind: loop.ChunkText, Text: "t"},
		loop.Unknown{Kind: "Prompted", Body: json.RawMessage("null")},
		loop.Unknown{Kind: "Streamed", Body: json.RawMessage("[]")},
	)
	assert.Equal(t, want, collect(t, d.Inputs(t.Context(), testID, 0)))
	l, err := d.Lease(t.Context(), testID)
	require.NoError(t, err)
	require.NoError(t, l.Append(said("new")...))
	require.NoError(t, l.Close())
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Contains(t, string(after), foreign)
}

// TestRedactedRecordKeepsTheChain: the chain proves a body that is no longer there.
func TestRedactedRecordKeepsTheChain(t *testing.T) {
	t.Parallel()
	good, _ := logOf(t, t.TempDir(), 3)
	lines := strings.SplitAfter(string(good), "\n")
	var r record
	require.NoError(t, json.Unmarshal([]byte(lines[2]), &r))
	lines[2] = fmt.Sprintf(`{"n":2,"at":%q,"kind":"Streamed","body":null,"body_sha256":"%x","hash":%q}`+"\n",
		r.At, sha256.Sum256(r.Body), r.Hash)
	dir := t.TempDir()
	put(t, dir, []byte(strings.Join(lines, "")))
	d := openDir(t, dir)
	l, err := d.Lease(t.Context(), testID)
	require.NoError(t, err)
	assert.Empty(t, l.Warnings())
	require.NoError(t, l.Close())
}

// FuzzLog: whatever a file holds, it opens, says the same twice, and takes an input that comes back last.
func FuzzLog(f *testing.F) {
	good, _ := logOf(f, f.TempDir(), 3)
	f.Add(good)
	f.Add([]byte(nil))
	f.Add(good[:len(good)-9])
	f.Add(bytes.ReplaceAll(good, []byte("\n"), nil))
	f.Add(append([]byte("\x00\x00\n"), good...))
	f.Add(append(good[:300:300], good...))
	f.Fuzz(func(t *testing.T, file []byte) {
		dir := t.TempDir()
		put(t, dir, file)
		d := openDir(t, dir)
		l, err := d.Lease(t.Context(), testID)
		if errors.Is(err, ErrVersion) {
			return
		}
		require.NoError(t, err)
		before := collect(t, d.Inputs(t.Context(), testID, 0))
		require.NoError(t, l.Append(said("new")...))
		require.NoError(t, l.Close())
		require.Equal(t, append(before, said("new")...), collect(t, d.Inputs(t.Context(), testID, 0)))
		_, err = d.List(t.Context(), Filter{})
		require.NoError(t, err)
	})
}

// FuzzScan: checking the hashes changes nothing about what is read.
func FuzzScan(f *testing.F) {
	good, _ := logOf(f, f.TempDir(), 3)
	lines := bytes.SplitAfter(good, []byte("\n"))
	f.Add(good)
	f.Add(bytes.ReplaceAll(good, []byte("\n"), nil))
	f.Add(bytes.Join([][]byte{lines[0], lines[1], lines[1], lines[3], lines[2]}, nil))
	f.Add(bytes.ReplaceAll(good, []byte("text 1"), []byte("text 9")))
	f.Add(bytes.ReplaceAll(good, []byte("Streamed"), []byte("Dreamt")))
	f.Fuzz(func(t *testing.T, file []byte) {
		read := func(verify bool) (*scanner, []loop.Input, error) {
			var got []loop.Input
			s := newScanner(testID, bytes.NewReader(file))
			s.verify = verify
			s.visit = func(_ *record, in loop.Input) bool {
				got = append(got, in)
				return true
			}
			err := s.run()
			return s, got, err
		}
		a, strict, err := read(true)
		b, quick, err2 := read(false)
		require.Equal(t, err, err2)
		require.Equal(t, strict, quick)
		require.Equal(t, []any{a.info, a.last, a.keep, a.open}, []any{b.info, b.last, b.keep, b.open})
	})
}
