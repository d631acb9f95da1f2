package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// shop makes a folder with sessions: 0 to 8, the folder of each named by what is left on division by three.
func shop(t *testing.T) (string, *Dir) {
	t.Helper()
	dir := t.TempDir()
	d := openDir(t, dir)
	for i := range 9 {
		made(t, d, Info{ID: idOf(i), Cwd: fmt.Sprint("/", i%3), Created: time.Unix(1_700_000_000+int64(i), 0)})
	}
	return dir, d
}

func idsFor(tb testing.TB, s Store, f Filter) []string {
	tb.Helper()
	ids := []string{}
	for _, info := range pageFor(tb, s, f).Sessions {
		ids = append(ids, info.ID)
		if f.Cwd != "" {
			assert.Equal(tb, f.Cwd, info.Cwd)
		}
	}
	return ids
}

func requireShop(t *testing.T, d *Dir) {
	t.Helper()
	for _, limit := range []int{0, 5} {
		require.Equal(t, []string{idOf(6), idOf(3), idOf(0)}, idsFor(t, d, Filter{Cwd: "/0", Limit: limit}))
		require.Equal(t, []string{idOf(8), idOf(5), idOf(2)}, idsFor(t, d, Filter{Cwd: "/2", Limit: limit}))
	}
	require.Len(t, idsFor(t, d, Filter{}), 9)
}

// TestIndexHeals: whatever became of the index, the list is right, to a store in use and to a new one; and then the
// index is right as well.
func TestIndexHeals(t *testing.T) {
	t.Parallel()
	ghost := string(appendEntry(nil, '+', idOf(99), origin{cwd: "/0", created: time.Unix(1, 0).UTC()}))
	for name, change := range map[string]func(string) string{
		"as it was":        func(s string) string { return s },
		"empty":            func(string) string { return "" },
		"half":             func(s string) string { return s[:len(s)/2] },
		"the other half":   func(s string) string { return s[len(s)/2:] },
		"no last newline":  func(s string) string { return s[:len(s)-1] },
		"a folder changed": func(s string) string { return strings.ReplaceAll(s, `"/0"`, `"/2"`) },
		"an id changed":    func(s string) string { return strings.ReplaceAll(s, idOf(3), idOf(4)) },
		"a sum changed":    func(s string) string { return strings.ReplaceAll(s, "0\n", "1\n") },
		"glued lines":      func(s string) string { return strings.ReplaceAll(s, "\n", "") },
		"torn lines":       func(s string) string { return strings.ReplaceAll(s, " ", "\n") },
		"NULs":             func(s string) string { return strings.Repeat("\x00", len(s)) },
		"NULs behind":      func(s string) string { return s + strings.Repeat("\x00", 5000) },
		"JSON":             func(string) string { return `{"sessions":[]}` + "\n" },
		"twice":            func(s string) string { return s + s },
		"a ghost":          func(s string) string { return ghost + s + ghost },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, d := shop(t)
			requireShop(t, d)
			path := filepath.Join(dir, "sessions", indexName)
			was, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, []byte(change(string(was))), 0o600))
			fresh := openDir(t, dir)
			requireShop(t, fresh)
			requireShop(t, d)
			requireIndexed(t, d)
		})
	}
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		_, d := shop(t)
		requireShop(t, d)
		require.NoError(t, d.root.Remove(indexName))
		requireShop(t, d)
		requireIndexed(t, d)
	})
	t.Run("a folder in its place", func(t *testing.T) {
		t.Parallel()
		dir, d := shop(t)
		require.NoError(t, d.root.Remove(indexName))
		require.NoError(t, d.root.Mkdir(indexName, 0o700))
		requireShop(t, d)
		requireShop(t, d)
		requireShop(t, openDir(t, dir))
	})
}

// requireIndexed says that the index on disk knows all sessions of the folder.
func requireIndexed(t *testing.T, d *Dir) {
	t.Helper()
	x := newIndex(d.root)
	x.refresh()
	ids, err := d.ids()
	require.NoError(t, err)
	for _, id := range ids {
		info, whole, err := d.describe(id)
		require.NoError(t, err)
		require.True(t, whole)
		require.Equal(t, infoOrigin(info), x.known[id], id)
	}
	fi, err := d.root.Stat(indexName)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), fi.Mode().Perm())
}

// TestIndexIsCorrected: an entry that is whole and wrong is found out when its session is to be shown.
func TestIndexIsCorrected(t *testing.T) {
	t.Parallel()
	dir, d := shop(t)
	for _, i := range []int{0, 3} {
		require.NoError(t, d.index.add(appendEntry(nil, '+', idOf(i), origin{cwd: "/wrong", created: time.Unix(9, 0).UTC()})))
	}
	assert.Empty(t, idsFor(t, d, Filter{Cwd: "/wrong", Limit: 50}))
	requireShop(t, d)
	requireShop(t, openDir(t, dir))
	requireIndexed(t, d)
}

// TestLogsWithoutEntry: logs that came by other ways than Create are found, and those that went are not.
func TestLogsWithoutEntry(t *testing.T) {
	t.Parallel()
	dir, d := shop(t)
	requireShop(t, d)
	log, err := os.ReadFile(filepath.Join(d.root.Name(), idOf(0)+logExt))
	require.NoError(t, err)
	put := func(id, cwd string) {
		text := strings.NewReplacer(idOf(0), id, `"/0"`, strconv.Quote(cwd)).Replace(string(log))
		require.NoError(t, os.WriteFile(filepath.Join(d.root.Name(), id+logExt), []byte(text), 0o600))
	}
	put(idOf(50), "/new")
	assert.Equal(t, []string{idOf(50)}, idsFor(t, d, Filter{Cwd: "/new", Limit: 2}))
	require.NoError(t, d.root.Remove(idOf(50)+logExt))
	assert.Empty(t, idsFor(t, d, Filter{Cwd: "/new", Limit: 2}))
	put(idOf(50), "/newer")
	assert.Equal(t, []string{idOf(50)}, idsFor(t, d, Filter{Cwd: "/newer", Limit: 2}))

	require.NoError(t, d.Delete(t.Context(), idOf(4)))
	put(idOf(4), "/other") // in a folder that this store did not see without it
	fresh := openDir(t, dir)
	assert.Equal(t, []string{idOf(4)}, idsFor(t, fresh, Filter{Cwd: "/other"}))
	assert.Equal(t, []string{idOf(7), idOf(1)}, idsFor(t, fresh, Filter{Cwd: "/1"}))

	require.NoError(t, d.Delete(t.Context(), idOf(1)))
	made(t, d, Info{ID: idOf(1), Cwd: "/made again", Created: time.Unix(5, 0)})
	for _, s := range []*Dir{d, fresh} {
		assert.Equal(t, []string{idOf(1)}, idsFor(t, s, Filter{Cwd: "/made again", Limit: 1}))
		assert.Equal(t, []string{idOf(7)}, idsFor(t, s, Filter{Cwd: "/1", Limit: 3}))
	}
}

// TestOddLogsAreListed: what no index can remember is read each time.
func TestOddLogsAreListed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := put(t, dir, []byte("{\"cart")) // its header is being written, or lost
	d := openDir(t, dir)
	assert.Equal(t, []string{testID}, idsFor(t, d, Filter{}))
	good, err := headerLine(Info{ID: testID, Cwd: "/late"})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, good, 0o600))
	assert.Equal(t, []string{testID}, idsFor(t, d, Filter{Cwd: "/late"}))

	made(t, d, Info{ID: idOf(1), Cwd: "/no\xfftext", Created: time.Unix(5, 0)})
	want := Info{ID: idOf(1), Cwd: "/no\ufffdtext", Created: time.Unix(5, 0).UTC(), Updated: time.Unix(5, 0).UTC()}
	for range 2 {
		assert.Equal(t, []Info{want}, pageFor(t, d, Filter{Cwd: want.Cwd}).Sessions)
	}
	if os.Getuid() == 0 {
		return // who may read all
	}
	require.NoError(t, os.Chmod(path, 0))
	require.NoError(t, d.root.Remove(indexName))
	assert.Equal(t, []string{testID, idOf(1)}, idsFor(t, d, Filter{}))
}

// TestIndexStaysSmall: what is of no more use in the file goes in time, and a store that reads along notices nothing.
func TestIndexStaysSmall(t *testing.T) {
	t.Parallel()
	dir, d := shop(t)
	other := openDir(t, dir)
	requireShop(t, other)
	for range 3 {
		for i := range 2000 {
			d.index.created(Info{ID: idOf(1000 + i), Cwd: "/gone"})
			d.index.deleted(idOf(1000 + i))
		}
		requireShop(t, d)
		fi, err := d.root.Stat(indexName)
		require.NoError(t, err)
		assert.Less(t, fi.Size(), int64(minWaste))
		requireShop(t, d)
		requireShop(t, other)
		requireIndexed(t, d)
	}
	for i := range 2000 { // never deleted, only not there
		d.index.created(Info{ID: idOf(1000 + i), Cwd: "/gone"})
	}
	requireShop(t, other)
	fi, err := d.root.Stat(indexName)
	require.NoError(t, err)
	assert.Less(t, fi.Size(), int64(minWaste))
	requireShop(t, d)
	requireIndexed(t, d)
}

// TestListWhileOthersWrite: several stores on one folder make and delete sessions and list them.
func TestListWhileOthersWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const workers = 4
	var wg sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		d, err := OpenDir(dir, Options{})
		require.NoError(t, err)
		wg.Go(func() { errs[w] = errors.Join(work(t.Context(), d, w), d.Close()) })
	}
	wg.Wait()
	require.NoError(t, errors.Join(errs...))
	requireWork(t, openDir(t, dir), workers)
}

// eachWorker is how many sessions a worker makes.
const eachWorker = 30

// work makes sessions in a folder that is w's own, and deletes every second. What it lists must be what it made.
func work(ctx context.Context, d *Dir, w int) error {
	cwd := fmt.Sprint("/", w)
	live := map[string]bool{}
	for i := range eachWorker {
		id := idOf(w*1000 + i)
		l, err := d.Create(ctx, Info{ID: id, Cwd: cwd})
		if err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
		live[id] = true
		if i%2 == 1 {
			if err := d.Delete(ctx, id); err != nil {
				return err
			}
			delete(live, id)
		}
		if i%10 == 5 && w == 0 {
			_ = d.root.Remove(indexName) // what it does to the others is the test
		}
		page, err := d.List(ctx, Filter{Cwd: cwd, Limit: i % 3 * eachWorker})
		if err != nil {
			return err
		}
		for _, info := range page.Sessions {
			if !live[info.ID] || info.Cwd != cwd {
				return fmt.Errorf("%s lists %+v", cwd, info)
			}
		}
		if len(page.Sessions) != len(live) {
			return fmt.Errorf("%s lists %d sessions of %d", cwd, len(page.Sessions), len(live))
		}
	}
	return nil
}

func requireWork(tb testing.TB, d *Dir, workers int) {
	tb.Helper()
	for w := range workers {
		ids := idsFor(tb, d, Filter{Cwd: fmt.Sprint("/", w)})
		var want []string
		for i := 0; i < eachWorker; i += 2 {
			want = append(want, idOf(w*1000+i))
		}
		require.ElementsMatch(tb, want, ids)
	}
	require.Len(tb, idsFor(tb, d, Filter{}), workers*eachWorker/2)
}

// FuzzIndex: whatever the file holds, the list is that of the folder, and what was whole in the file was taken.
func FuzzIndex(f *testing.F) {
	entry := appendEntry(nil, '+', testID, origin{cwd: "/w", created: time.Unix(1, 2).UTC()})
	f.Add(entry)
	f.Add(append(entry[:20:20], entry...))
	f.Add(sealed(nil, "- "+testID+" "))
	f.Add(sealed(nil, "+ x 2020-01-01T00:00:00Z \"\\n "))
	f.Add(bytes.Repeat([]byte("\x00"), 100))
	f.Fuzz(func(t *testing.T, file []byte) {
		d := openDir(t, t.TempDir())
		info := made(t, d, Info{ID: testID, Cwd: "/w", Created: time.Unix(7, 0)})
		require.NoError(t, d.root.WriteFile(indexName, file, 0o600))
		for range 2 {
			require.Equal(t, Page{Sessions: []Info{info}}, pageFor(t, d, Filter{Limit: 1}))
			require.Equal(t, Page{Sessions: []Info{info}}, pageFor(t, d, Filter{Cwd: "/w", Limit: 1}))
		}
		for line := range bytes.Lines(file) {
			if op, id, o, ok := parseEntry(bytes.TrimSuffix(line, []byte("\n"))); ok && op != '-' {
				_, id2, o2, ok := parseEntry(bytes.TrimSuffix(appendEntry(nil, op, id, o), []byte("\n")))
				if ok { // a cwd that is no text is not written
					require.Equal(t, id, id2)
					require.True(t, o.created.Equal(o2.created))
					require.Equal(t, o.cwd, o2.cwd)
				}
			}
		}
	})
}
