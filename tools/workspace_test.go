package tools

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// world is a workspace w beside an outside folder, with the links of C067 in w.
func world(t *testing.T) (base string, b *bench) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	put(t, base, map[string]string{
		"w/sub/in.txt": "inside\n", "w/a.txt": "a\n", "out/v.txt": "secret\n", "w2/x": "other\n", "extra/e.txt": "extra\n",
	})
	w := filepath.Join(base, "w")
	for name, target := range map[string]string{
		"d": filepath.Join(base, "out"), "f": filepath.Join(base, "out/v.txt"), "n": filepath.Join(base, "out/new.txt"),
		"ok": filepath.Join(w, "sub"), "rel": "sub", "relfile": "sub/in.txt", "up": "../out", "dangling": "sub/later.txt",
		"loop": "loop", "toextra": "../extra", "proc": "/proc/self/root",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(w, name)))
	}
	require.NoError(t, os.Link(filepath.Join(w, "a.txt"), filepath.Join(w, "hard")))
	require.NoError(t, os.Symlink(w, filepath.Join(base, "viaLink")))
	return base, open(t, Options{}, w, filepath.Join(base, "extra"))
}

func TestC067EveryEscapeIsRefused(t *testing.T) {
	t.Parallel()
	base, b := world(t)
	out := filepath.Join(base, "out")
	for name, leads := range map[string]string{
		"d/v.txt": out + "/v.txt", "f": out + "/v.txt", "n": out + "/new.txt", "up/v.txt": out + "/v.txt",
		"../w2/x": base + "/w2/x", base + "/w/../w2/x": base + "/w2/x", out + "/v.txt": out + "/v.txt",
		"proc" + out + "/v.txt": out + "/v.txt", "/proc/self/root" + out + "/v.txt": out + "/v.txt", base + "/w2": base + "/w2",
	} {
		for tool, args := range map[string]m{
			"read": {"path": name}, "write": {"path": name, "content": "pwn"}, "list": {"path": name},
			"search": {"pattern": "x", "path": name}, "terminal": {"command": "ls", "cwd": name},
			"edit": {"path": name, "edits": []Edit{{Old: "secret", New: "pwn"}}},
		} {
			_, err := b.try(t, tool, args)
			require.ErrorIs(t, err, ErrOutside, "%s %s", tool, name)
			assert.Contains(t, err.Error(), leads, "%s %s", tool, name)
			assert.Contains(t, err.Error(), "("+base+"/w, "+base+"/extra)")
		}
	}
	secret, err := os.ReadFile(filepath.Join(out, "v.txt"))
	require.NoError(t, err)
	assert.Equal(t, "secret\n", string(secret))
	assert.NoFileExists(t, filepath.Join(out, "new.txt"))
	_, err = b.try(t, "read", m{"path": "loop"})
	require.ErrorContains(t, err, "symbolic links")
}

func TestC067LinksInsideWork(t *testing.T) {
	t.Parallel()
	base, b := world(t)
	for name, want := range map[string]string{
		"ok/in.txt": "inside\n", "rel/in.txt": "inside\n", "relfile": "inside\n", "hard": "a\n", "toextra/e.txt": "extra\n",
		base + "/w/sub/in.txt": "inside\n", base + "/viaLink/sub/in.txt": "inside\n", base + "/extra/e.txt": "extra\n",
		"./sub/../a.txt": "a\n", "/proc/self/root" + base + "/w/a.txt": "a\n",
	} {
		assert.Equal(t, []string{want}, b.do(t, "read", m{"path": name}), name)
	}
	b.do(t, "write", m{"path": "dangling", "content": "late"})
	assert.Equal(t, "late", b.read(t, "sub/later.txt"))
	b.do(t, "edit", m{"path": "relfile", "edits": []Edit{{Old: "inside", New: "within"}}})
	assert.Equal(t, "within\n", b.read(t, "sub/in.txt"))
	info, err := os.Lstat(filepath.Join(b.dir, "relfile"))
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink, "the link is still a link")
}

func TestC067RootBehindALink(t *testing.T) {
	t.Parallel()
	base, _ := world(t)
	via := filepath.Join(base, "viaLink")
	b := open(t, Options{}, via)
	assert.Equal(t, []string{"inside\n"}, b.do(t, "read", m{"path": "ok/in.txt"}))
	p, err := b.tool("read").Preview(t.Context(), callOf(t, "read", m{"path": "sub/in.txt"}))
	require.NoError(t, err)
	assert.Equal(t, via+"/sub/in.txt", p.Locations[0].Path)
	assert.Equal(t, []string{"sub/in.txt"}, p.Subjects[0].Words)
	assert.Equal(t, [][]string{{via + "/sub/in.txt"}, {base + "/w/sub/in.txt"}}, p.Subjects[0].Also)
}

// A folder is exchanged for a link to the outside over and over while files beneath it are written.
func TestC067TheRaceLoses(t *testing.T) {
	t.Parallel()
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	put(t, base, map[string]string{"w/real/x.txt": "in", "out/x.txt": "out"})
	w := filepath.Join(base, "w")
	b := open(t, Options{}, w)
	require.NoError(t, os.Symlink(filepath.Join(base, "out"), filepath.Join(w, "link")))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(filepath.Join(w, "real"), filepath.Join(w, "d"))
			_ = os.Rename(filepath.Join(w, "d"), filepath.Join(w, "real"))
			_ = os.Rename(filepath.Join(w, "link"), filepath.Join(w, "d"))
			_ = os.Rename(filepath.Join(w, "d"), filepath.Join(w, "link"))
		}
	})
	for i := range 1000 {
		if data, err := b.ws.ReadFile(t.Context(), "d/x.txt"); err == nil {
			assert.NotEqual(t, "out", string(data))
		}
		if i%4 == 0 { // it often fails; where it writes is what counts
			_ = b.ws.WriteFile(t.Context(), "d/x.txt", []byte("in"))
		}
	}
	close(stop)
	wg.Wait()
	entries, err := os.ReadDir(filepath.Join(base, "out"))
	require.NoError(t, err)
	require.Len(t, entries, 1)
	data, err := os.ReadFile(filepath.Join(base, "out/x.txt"))
	require.NoError(t, err)
	assert.Equal(t, "out", string(data))
}

func TestOpenRefusesWhatIsNoFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, map[string]string{"f": ""})
	for _, roots := range [][]string{nil, {"relative"}, {filepath.Join(dir, "none")}, {dir, filepath.Join(dir, "f")}} {
		_, err := Open(roots)
		require.ErrorContains(t, err, "opening the workspace", "%v", roots)
	}
}

func TestWriteFileKeepsModeAndLeavesNoTraces(t *testing.T) {
	t.Parallel()
	b := setUp(t, map[string]string{"run.sh": "old"})
	require.NoError(t, os.Chmod(filepath.Join(b.dir, "run.sh"), 0o750))
	require.NoError(t, b.ws.WriteFile(t.Context(), "run.sh", []byte("new")))
	require.NoError(t, b.ws.WriteFile(t.Context(), filepath.Join(b.dir, "deep/er/new.txt"), []byte("x")))
	info, err := os.Stat(filepath.Join(b.dir, "run.sh"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o750), info.Mode())
	assert.Equal(t, "new", b.read(t, "run.sh"))
	require.ErrorContains(t, b.ws.WriteFile(t.Context(), "deep", nil), "it is a folder")
	require.ErrorContains(t, b.ws.WriteFile(t.Context(), "run.sh/x", nil), "not a directory")
	assert.Equal(t, []string{"deep/\ndeep/er/\ndeep/er/new.txt\nrun.sh\n"}, b.do(t, "list", m{"pattern": "**"}))
}
