package session

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// idOf is an id for a test, in whose order i stands.
func idOf(i int) string { return fmt.Sprintf("sess_%016d", i) }

// made makes a session that was written last at that time.
func made(tb testing.TB, s Store, info Info) Info {
	tb.Helper()
	l, err := s.Create(tb.Context(), info)
	require.NoError(tb, err)
	require.NoError(tb, l.Close())
	info.Created = wall(info.Created)
	info.Updated = info.Created
	if d, ok := s.(*Dir); ok {
		require.NoError(tb, os.Chtimes(filepath.Join(d.root.Name(), info.ID+logExt), info.Created, info.Created))
	}
	return info
}

func pageFor(tb testing.TB, s Store, f Filter) Page {
	tb.Helper()
	page, err := s.List(tb.Context(), f)
	require.NoError(tb, err)
	return page
}

// walk lists page by page. between runs after each.
func walk(tb testing.TB, s Store, f Filter, between func(int)) []string {
	tb.Helper()
	var ids []string
	for n := 1; ; n++ {
		page := pageFor(tb, s, f)
		for _, info := range page.Sessions {
			ids = append(ids, info.ID)
		}
		if page.Next == "" {
			return ids
		}
		require.Len(tb, page.Sessions, f.Limit)
		between(n)
		f.After = page.Next
	}
}

func TestStoreLists(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			assert.Empty(t, pageFor(t, s, Filter{}))
			base := time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.FixedZone("", 3600))
			var all []Info
			for i, cwd := range []string{"/a", "/b \"ü\"\n", "/a"} {
				all = append(all, made(t, s, Info{ID: idOf(i), Cwd: cwd, Created: base.Add(time.Duration(i) * time.Minute)}))
			}
			want := []Info{all[2], all[1], all[0]}
			for range 2 { // without and with what the first time taught
				assert.Equal(t, Page{Sessions: want}, pageFor(t, s, Filter{}))
				assert.Equal(t, Page{Sessions: want}, pageFor(t, s, Filter{Limit: 3}))
				assert.Equal(t, Page{Sessions: want}, pageFor(t, s, Filter{Limit: math.MaxInt}))
				assert.Equal(t, Page{Sessions: []Info{all[2], all[0]}}, pageFor(t, s, Filter{Cwd: "/a"}))
				assert.Equal(t, Page{Sessions: []Info{all[1]}}, pageFor(t, s, Filter{Cwd: all[1].Cwd, Limit: 1}))
				assert.Empty(t, pageFor(t, s, Filter{Cwd: "/c", Limit: 1}).Sessions)
			}
			first := pageFor(t, s, Filter{Limit: 1})
			assert.Equal(t, want[:1], first.Sessions)
			assert.Equal(t, Page{Sessions: want[1:]}, pageFor(t, s, Filter{After: first.Next}))
			assert.Equal(t, Page{Sessions: want[2:]}, pageFor(t, s, Filter{After: first.Next, Cwd: "/a", Limit: 5}))
		})
	}
}

// TestPagesAreInOrder: each session once, whatever the size of a page, also where times are equal.
func TestPagesAreInOrder(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			base := time.Unix(1_700_000_000, 0)
			const many = 60
			for i := range many {
				made(t, s, Info{ID: idOf(i * 37 % many), Cwd: "/w", Created: base.Add(time.Duration(i%5) * time.Nanosecond)})
			}
			var want []string
			for _, info := range pageFor(t, s, Filter{}).Sessions {
				want = append(want, info.ID)
			}
			require.Len(t, want, many)
			for _, limit := range []int{1, 2, 7, 12, 29, 30, 31, 59, 60} {
				f := Filter{Limit: limit, Cwd: "/w"}
				assert.Equal(t, want, walk(t, s, f, func(int) {}), "pages of %d", limit)
			}
		})
	}
}

// TestPagesWhileSessionsChange: what goes, comes and is written between two pages moves nothing else.
func TestPagesWhileSessionsChange(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			base := time.Unix(1_700_000_000, 0)
			for i := range 9 { // 8 is the newest
				made(t, s, Info{ID: idOf(i), Created: base.Add(time.Duration(i) * time.Second)})
			}
			got := walk(t, s, Filter{Limit: 2}, func(page int) {
				switch page {
				case 1: // 8 and 7 were shown: the cursor's own session goes, and one to come
					require.NoError(t, s.Delete(t.Context(), idOf(7)))
					require.NoError(t, s.Delete(t.Context(), idOf(5)))
				case 2: // 6 and 4 were shown: one of them is written, one to come as well, and there is a new one
					for _, i := range []int{6, 2} {
						l, err := s.Lease(t.Context(), idOf(i))
						require.NoError(t, err)
						require.NoError(t, l.Append(said("x")...))
						require.NoError(t, l.Close())
					}
					made(t, s, Info{ID: idOf(100), Created: base.Add(time.Hour)})
				}
			})
			assert.Equal(t, []string{idOf(8), idOf(7), idOf(6), idOf(4), idOf(3), idOf(1), idOf(0)}, got)
		})
	}
}

func TestBadCursors(t *testing.T) {
	t.Parallel()
	good := position{updated: time.Unix(1_700_000_000, 5), id: testID}.cursor()
	raw, err := base64.RawURLEncoding.DecodeString(good)
	require.NoError(t, err)
	encode := base64.RawURLEncoding.EncodeToString
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			assert.Empty(t, pageFor(t, s, Filter{After: good}).Sessions)
			for _, bad := range []string{
				" ", "x", "?", "0", good + "=", good + "\n", good[:len(good)-1] + "\n" + good[len(good)-1:], good + good,
				encode(raw[:cursorTime]), encode(raw[:cursorTime-1]), encode(raw[:len(raw)-5]), encode(raw[1:]),
				encode(append(raw, '/')), base64.StdEncoding.EncodeToString(append(raw, "~~~"...)),
				encode([]byte(strings.Replace(string(raw), "\x00\x00\x00\x05", "\xff\xff\xff\xff", 1))),
				strings.Repeat("a", 1<<20), testID,
			} {
				_, err := s.List(t.Context(), Filter{After: bad, Limit: 3})
				require.ErrorIs(t, err, ErrCursor, "%.80q", bad)
				assert.Contains(t, err.Error(), "begin with the first page")
				assert.Less(t, len(err.Error()), 400)
			}
		})
	}
}

// TestReadingStopsEarly: who wants the first inputs does not pay for the rest.
func TestReadingStopsEarly(t *testing.T) {
	t.Parallel()
	good, inputs := logOf(t, t.TempDir(), 1000)
	rest := bytes.NewReader(good)
	s := newScanner(testID, rest)
	var got []loop.Input
	s.visit = func(_ *record, in loop.Input) bool {
		got = append(got, in)
		return len(got) < 3
	}
	require.NoError(t, s.run())
	assert.Equal(t, inputs[:3], got)
	assert.GreaterOrEqual(t, rest.Len(), len(good)-readSize)
}

// FuzzCursor: a cursor is refused, or it is the one way to write a position.
func FuzzCursor(f *testing.F) {
	f.Add(position{updated: time.Unix(1_700_000_000, 999_999_999), id: testID}.cursor(), int64(0), int64(0))
	f.Add(position{id: testID}.cursor(), int64(-62135596800), int64(1))
	f.Add("AAAA", int64(math.MaxInt64), int64(7))
	f.Fuzz(func(t *testing.T, after string, sec, nsec int64) {
		p, err := Filter{After: after}.position()
		switch {
		case err != nil:
			require.ErrorIs(t, err, ErrCursor)
		case after != "":
			require.Equal(t, after, p.cursor())
			require.NoError(t, CheckID(p.id))
			require.False(t, p.before(Info{ID: p.id, Updated: p.updated}), "it is behind its own session")
		}
		want := position{updated: time.Unix(sec, nsec&0x1fffffff).UTC(), id: testID}
		got, err := Filter{After: want.cursor()}.position()
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

// FuzzPlain: what is taken for a record at a glance is what a JSON decoder makes of it.
func FuzzPlain(f *testing.F) {
	good, _ := logOf(f, f.TempDir(), 2)
	for line := range bytes.Lines(good) {
		f.Add(bytes.TrimSpace(line))
	}
	two := bytes.Join(bytes.Split(bytes.TrimSpace(good), []byte("\n"))[1:], nil)
	f.Add(two)
	f.Add(bytes.Replace(two, []byte(`"n":2`), []byte(`"n":02`), 1))
	f.Add([]byte(`{"n":1,"at":"x","kind":"K","body":{},"n":2,"body":{},"hash":"` + strings.Repeat("0", hashLen) + `"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var quick, slow record
		if !quick.plain(line) || !json.Valid(quick.Body) {
			return
		}
		require.NoError(t, json.Unmarshal(line, &slow))
		require.True(t, slow.whole())
		require.Equal(t, slow, quick)
		again := quick
		require.True(t, again.plain(line))
		require.Equal(t, slow, again)
	})
}
