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
		"lines twice": {
			join(lines[0], lines[1], lines[2], lines[3], lines[1], lines[2], lines[3], lines[4]), at(1, 2, 3, 4),
			[]string{"record 1 is there twice", "record 2 is there twice", "record 3 is there twice"},
		},
		"lines swapped":          {join(lines[0], lines[2], lines[1]), at(2, 1), []string{"follows record 0", "record 1 follows record 2"}},
		"blank lines":            {join(lines[0], "\n", lines[1], " \r\n", lines[2]), at(1, 2), nil},
		"another program's line": {join(lines[0], lines[1], "{\"hello\":1}\n", lines[2]), at(1, 2), []string{"no record"}},
		"the header damaged":     {join("{\"cart\n", lines[1], lines[2]), at(1, 2), []string{"header", "no record"}},
		"the header missing":     {join(lines[1], lines[2]), at(1, 2), []string{"header"}},
		"the header torn":        {"{\"cart", nil, []string{"header", "torn"}},
		"empty":                  {"", nil, []string{"empty"}},
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

// TestGiantLine: what is too long for a record is passed over without being read into memory, wherever it is.
func TestGiantLine(t *testing.T) {
	t.Parallel()
	good, inputs := logOf(t, t.TempDir(), 3)
	lines := bytes.SplitAfter(good, []byte("\n"))
	giant := bytes.Repeat([]byte{0}, 3*readSize)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, c := range map[string]struct {
		file []byte
		want []loop.Input
		line int
		text string
		keep int
	}{
		"in the middle": {
			join(lines[0], lines[1], giant, []byte("\n"), lines[2], lines[3]), inputs, 3, "98304 bytes is damaged: it is too long", 0,
		},
		"at the end":   {join(good, giant), inputs, 5, "torn; its last 98304 bytes", len(good)},
		"at the start": {join(giant, good[10:]), inputs, 1, "too long for a record", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []loop.Input
			s := newScanner(testID, bytes.NewReader(c.file))
			s.limit, s.verify = 2*readSize, true
			s.visit = func(_ *record, in loop.Input) bool {
				got = append(got, in)
				return true
			}
			require.NoError(t, s.run())
			assert.Equal(t, c.want, got)
			require.Len(t, s.problems, 1)
			assert.Equal(t, c.line, s.problems[0].Line)
			assert.Contains(t, s.problems[0].Text, c.text)
			if c.keep == 0 {
				c.keep = len(c.file)
			}
			assert.Equal(t, int64(c.keep), s.keep)
			assert.LessOrEqual(t, cap(s.long), 4*readSize)
		})
	}
}

// TestLongRecord is case C065: a record that is longer than what is read at once.
func TestLongRecord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openDir(t, dir)
	l, err := d.Create(t.Context(), Info{ID: testID})
	require.NoError(t, err)
	var blocks loop.Blocks
	for range 100 {
		blocks = append(blocks, loop.Text{Text: strings.Repeat("just under the limit ", 3000)})
	}
	inputs := []loop.Input{loop.Prompted{Content: blocks}, said("after")[0]}
	require.NoError(t, l.Append(inputs...))
	require.NoError(t, l.Close())
	requireWhole(t, d, inputs)
	assert.NoDirExists(t, dir+"/sessions/"+testID+blobsExt)
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
	sum := strings.Repeat("0", hashLen)
	f.Add(bytes.ReplaceAll(good, []byte(`"text 1 `), []byte(`{"$blob":"`+sum+`"},"text":"`)))
	f.Add(bytes.ReplaceAll(good, []byte(`"hash"`), []byte(`"blobs":{"`+sum+`":"AAAA"},"hash"`)))
	f.Add(bytes.ReplaceAll(good, []byte(`"body":{`), []byte(`"body":null,"body_sha256":"`+sum+`","outline":{`)))
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
		requireAgreed(t, d)
	})
}

// requireAgreed: verify, the records and an export say the same of a log, and what verify finds whole can be imported.
func requireAgreed(t *testing.T, d *Dir) {
	t.Helper()
	r, err := d.Verify(t.Context(), testID)
	require.NoError(t, err)
	l, err := d.Lease(t.Context(), testID)
	require.NoError(t, err)
	require.Len(t, l.Warnings(), len(r.Problems))
	require.NoError(t, l.Close())
	var inputs []loop.Input
	for rec, err := range d.Records(t.Context(), testID) {
		require.NoError(t, err)
		inputs = append(inputs, rec.Input)
	}
	if r.Redacted == 0 { // a record that is redacted may show its outline
		require.Equal(t, collect(t, d.Inputs(t.Context(), testID, 0)), inputs)
	}
	var file bytes.Buffer
	if _, err := d.Export(t.Context(), testID, &file, nil); err != nil {
		require.NotEmpty(t, r.Problems)
		return
	}
	again, err := VerifyFile(t.Context(), bytes.NewReader(file.Bytes()))
	require.NoError(t, err)
	if len(r.Problems) > 0 {
		return
	}
	require.Empty(t, again.Problems)
	require.Equal(t, []any{r.Hash, r.Records}, []any{again.Hash, again.Records})
	_, err = openDir(t, t.TempDir()).Import(t.Context(), &file)
	if r.Redacted > 0 {
		require.ErrorIs(t, err, ErrRedacted)
	} else {
		require.NoError(t, err)
	}
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
