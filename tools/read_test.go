package tools

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

func TestC019Windows(t *testing.T) {
	t.Parallel()
	b := setUp(t, map[string]string{"f.txt": "l1\nl2\nl3", "empty": "", "crlf": "a\r\nb\r\n"})
	for _, c := range []struct {
		args m
		want []string
	}{
		{m{"path": "f.txt"}, []string{"l1\nl2\nl3"}},
		{m{"path": "f.txt", "limit": 2}, []string{"l1\nl2\n", "[lines 1-2 of 3; next: line=3]"}},
		{m{"path": "f.txt", "line": 1, "limit": 1}, []string{"l1\n", "[lines 1-1 of 3; next: line=2]"}},
		{m{"path": "f.txt", "line": 3}, []string{"l3"}},
		{m{"path": "f.txt", "line": 4}, []string{"[line 4 is past the end: the file has 3 lines]"}},
		{m{"path": "f.txt", "line": 2, "limit": 99}, []string{"l2\nl3"}},
		{m{"path": "empty"}, []string{"[the file is empty]"}},
		{m{"path": "crlf", "line": 2}, []string{"b\r\n"}},
		{m{"path": "crlf", "line": 3}, []string{"[line 3 is past the end: the file has 2 lines]"}},
	} {
		assert.Equal(t, c.want, b.do(t, "read", c.args), "%v", c.args)
	}
	for _, args := range []m{
		{"path": "f.txt", "line": 0}, {"path": "f.txt", "line": -1}, {"path": "f.txt", "limit": 0}, {"path": "f.txt", "line": 1.5},
	} {
		_, err := b.try(t, "read", args)
		require.ErrorIs(t, err, ErrArguments, "%v", args)
	}
}

func TestReadCutsByLinesAndBytes(t *testing.T) {
	t.Parallel()
	b := setUp(t, map[string]string{
		"many": repeat("x\n", 5321), "wide": repeat(repeat("y", 999)+"\n", 100), "huge": "a" + repeat("é", 3<<19) + "\nnext\n",
		"second": "short\n" + repeat("z", 200<<10) + "\n",
	})
	got := b.do(t, "read", m{"path": "many"})
	assert.Equal(t, []string{repeat("x\n", 2000), "[lines 1-2000 of 5321; next: line=2001]"}, got)

	got = b.do(t, "read", m{"path": "wide"})
	assert.Equal(t, []string{repeat(repeat("y", 999)+"\n", 65), "[lines 1-65 of 100; next: line=66]"}, got)

	got = b.do(t, "read", m{"path": "huge"})
	require.Len(t, got, 2)
	assert.True(t, utf8.ValidString(got[0]))
	assert.Equal(t, "a"+repeat("é", readBytes/2-1), got[0])
	assert.Equal(t, "[line 1 of 2 is cut: 65535 of its 3145730 bytes; search shows other parts of it; next: line=2]", got[1])
	assert.Equal(t, []string{"next\n"}, b.do(t, "read", m{"path": "huge", "line": 2}))

	assert.Equal(t, []string{"short\n", "[lines 1-1 of 2; next: line=2]"}, b.do(t, "read", m{"path": "second"}))
	got = b.do(t, "read", m{"path": "second", "line": 2})
	assert.Equal(t, "[line 2 of 2 is cut: 65536 of its 204801 bytes; search shows other parts of it]", got[1])
}

func TestReadOtherThanText(t *testing.T) {
	t.Parallel()
	var pic bytes.Buffer
	require.NoError(t, png.Encode(&pic, image.NewGray(image.Rect(0, 0, 4, 4))))
	b := setUp(t, map[string]string{
		"a.bin": "ab\x00cd", "p.png": pic.String(), "latin1": "caf\xe9\n", "utf16": "\xff\xfea\x00b\x00",
		"docs/readme.md": "x", "big.png": pic.String() + repeat("\x00", maxPicture),
	})
	assert.Equal(t, []string{"[a.bin is a binary file (application/octet-stream) of 5 bytes and is not shown]"},
		b.do(t, "read", m{"path": "a.bin"}))
	assert.Contains(t, b.do(t, "read", m{"path": "utf16"})[0], "UTF-16 text")
	assert.Equal(t, []string{"caf\uFFFD\n", "[not valid UTF-8: U+FFFD stands for other bytes]"}, b.do(t, "read", m{"path": "latin1"}))
	assert.Contains(t, b.do(t, "read", m{"path": "big.png"})[0], "is a picture (image/png)")
	res, err := b.try(t, "read", m{"path": "p.png"})
	require.NoError(t, err)
	assert.Equal(t, loop.Blocks{loop.Image{Data: pic.Bytes(), MIME: "image/png"}}, res.Content)

	for path, want := range map[string]string{
		"docs/redme.md": "docs/redme.md does not exist; near it: docs/readme.md", "docs": "docs is a folder; use list",
		"dosc/readme.md": "dosc/readme.md does not exist; near it: docs", "qqqqqqqq": "list shows what is in .",
		"": "the path is empty", "a\x00b": "NUL byte",
	} {
		_, err := b.try(t, "read", m{"path": path})
		require.ErrorContains(t, err, want, path)
	}
}

// Memory stays small however large the file is.
func TestC022ReadIsBounded(t *testing.T) {
	b := setUp(t, nil)
	f, err := os.Create(filepath.Join(b.dir, "sparse"))
	require.NoError(t, err)
	_, err = f.WriteString("first\n" + repeat("text line\n", 2000))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(1<<30))
	require.NoError(t, f.Close())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := b.do(t, "read", m{"path": "sparse", "limit": 1})
	runtime.ReadMemStats(&after)
	assert.Equal(t, []string{"first\n", "[lines 1-1 of more than 2001; next: line=2]"}, got)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
}

// clientFS stands for an editor's buffers: what is in them comes before what is on disk.
type clientFS struct {
	buffers map[string]string
	written map[string]string
}

func (c *clientFS) ReadFile(_ context.Context, name string) ([]byte, error) {
	if s, ok := c.buffers[name]; ok {
		return []byte(s), nil
	}
	return nil, fs.ErrNotExist
}

func (c *clientFS) WriteFile(_ context.Context, name string, data []byte) error {
	c.written[name] = string(data)
	return nil
}

func TestClientFilesystem(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	put(t, dir, map[string]string{"a.txt": "on disk\n"})
	a, unsaved := filepath.Join(dir, "a.txt"), filepath.Join(dir, "unsaved.txt")
	client := &clientFS{buffers: map[string]string{a: "in the editor\n", unsaved: "new\n"}, written: map[string]string{}}
	b := open(t, Options{FS: client}, dir)
	assert.Equal(t, []string{"in the editor\n"}, b.do(t, "read", m{"path": "a.txt"}))
	assert.Equal(t, []string{"new\n"}, b.do(t, "read", m{"path": "unsaved.txt"}))
	_, err = b.try(t, "read", m{"path": "none.txt"})
	require.ErrorContains(t, err, "does not exist")
	b.do(t, "edit", m{"path": "a.txt", "edits": []Edit{{Old: "editor", New: "buffer"}}})
	b.do(t, "write", m{"path": "fresh.txt", "content": "f"})
	assert.Equal(t, map[string]string{a: "in the buffer\n", filepath.Join(dir, "fresh.txt"): "f"}, client.written)
	assert.Equal(t, "on disk\n", b.read(t, "a.txt"))
	_, err = b.try(t, "write", m{"path": "/etc/passwd", "content": "x"})
	require.ErrorIs(t, err, ErrOutside)
}

func TestNearest(t *testing.T) {
	t.Parallel()
	names := strings.Fields("main.go main_test.go README.md readme.txt go.mod")
	assert.Equal(t, []string{"README.md", "readme.txt"}, nearest("Readme.md", names, 3))
	assert.Empty(t, nearest("zebra", names, 3))
}
