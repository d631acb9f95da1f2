package session

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

var (
	_ Store = (*Dir)(nil)
	_ Store = (*Mem)(nil)
)

const testID = "sess_0123456789abcdef"

// ticking is a clock that goes on by a second whenever it is read.
func ticking() Options {
	t := time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC)
	return Options{Now: func() time.Time {
		t = t.Add(time.Second)
		return t
	}}
}

func openDir(tb testing.TB, path string) *Dir {
	tb.Helper()
	d, err := OpenDir(path, ticking())
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, d.Close()) })
	return d
}

func collect(tb testing.TB, seq iter.Seq2[loop.Input, error]) []loop.Input {
	tb.Helper()
	var out []loop.Input
	for in, err := range seq {
		require.NoError(tb, err)
		out = append(out, in)
	}
	return out
}

func said(texts ...string) []loop.Input {
	out := make([]loop.Input, len(texts))
	for i, t := range texts {
		out[i] = loop.Streamed{Kind: loop.ChunkText, Text: t}
	}
	return out
}

// stores are the kinds of store, each with what makes an empty one.
func stores() map[string]func(*testing.T) Store {
	return map[string]func(*testing.T) Store{
		"dir": func(t *testing.T) Store {
			t.Helper()
			return openDir(t, t.TempDir())
		},
		"mem": func(*testing.T) Store { return NewMem(ticking()) },
	}
}

func TestStoreKeepsInputs(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			ctx := t.Context()
			l, err := s.Create(ctx, Info{ID: testID, Cwd: "/w/café <&>"})
			require.NoError(t, err)
			inputs := []loop.Input{
				loop.Configured{System: "be <brief> & kind"},
				loop.Prompted{MessageID: "m1", Content: loop.Blocks{loop.Text{Text: "line\nline\u2028x"}}},
				loop.Streamed{Kind: loop.ChunkText, Text: strings.Repeat("x", 200<<10)},
				loop.Unknown{Kind: "Later \"kind\"", Body: json.RawMessage(`{"a":[1,12345678901234567890]}`)},
				loop.Cancelled{},
			}
			require.NoError(t, l.Append(inputs[:2]...))
			require.NoError(t, l.Append())
			require.NoError(t, l.Append(inputs[2:]...))
			require.NoError(t, l.Sync())
			assert.Equal(t, inputs, collect(t, s.Inputs(ctx, testID, 0)), "while it is leased")
			require.NoError(t, l.Close())
			require.NoError(t, l.Close())
			require.ErrorIs(t, l.Append(inputs[0]), ErrClosed)
			require.ErrorIs(t, l.Sync(), ErrClosed)

			l, err = s.Lease(ctx, testID)
			require.NoError(t, err)
			assert.Equal(t, "/w/café <&>", l.Info().Cwd)
			assert.Equal(t, 2026, l.Info().Created.Year())
			assert.Empty(t, l.Warnings())
			require.NoError(t, l.Append(said("more")...))
			require.NoError(t, l.Close())
			want := append(inputs[:5:5], said("more")...)
			assert.Equal(t, want, collect(t, s.Inputs(ctx, testID, 1)))
			assert.Equal(t, want[4:], collect(t, s.Inputs(ctx, testID, 5)))
			assert.Empty(t, collect(t, s.Inputs(ctx, testID, 7)))
			for in, err := range s.Inputs(ctx, testID, 0) {
				require.NoError(t, err)
				assert.Equal(t, want[0], in)
				break
			}
		})
	}
}

func TestStoreHasOneWriter(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			ctx := t.Context()
			l, err := s.Create(ctx, Info{ID: testID})
			require.NoError(t, err)
			_, err = s.Create(ctx, Info{ID: testID})
			require.ErrorIs(t, err, ErrExists)

			host, err := os.Hostname()
			require.NoError(t, err)
			_, err = s.Lease(ctx, testID)
			require.ErrorIs(t, err, ErrLocked)
			var locked *Locked
			require.ErrorAs(t, err, &locked)
			assert.Equal(t, Locked{ID: testID, PID: os.Getpid(), Host: host}, *locked)
			assert.Contains(t, err.Error(), fmt.Sprintf("process %d on %s", os.Getpid(), host))
			require.ErrorIs(t, s.Delete(ctx, testID), ErrLocked)

			require.NoError(t, l.Close())
			again, err := s.Lease(ctx, testID)
			require.NoError(t, err)
			require.NoError(t, l.Close(), "the old lease must not end the new one")
			_, err = s.Lease(ctx, testID)
			require.ErrorIs(t, err, ErrLocked)
			require.NoError(t, again.Close())

			require.NoError(t, s.Delete(ctx, testID))
			_, err = s.Lease(ctx, testID)
			require.ErrorIs(t, err, ErrNotFound)
			require.ErrorIs(t, s.Delete(ctx, testID), ErrNotFound)
			for _, err := range s.Inputs(ctx, testID, 0) {
				require.ErrorIs(t, err, ErrNotFound)
			}
		})
	}
}

func TestStoreObeysItsContext(t *testing.T) {
	t.Parallel()
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			l, err := s.Create(t.Context(), Info{ID: testID})
			require.NoError(t, err)
			require.NoError(t, l.Append(said("a", "b", "c")...))
			require.NoError(t, l.Close())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var last error
			n := 0
			for in, err := range s.Inputs(ctx, testID, 0) {
				if last = err; err == nil {
					assert.Equal(t, said("a")[0], in)
					n++
					cancel()
				}
			}
			assert.Equal(t, 1, n)
			require.ErrorIs(t, last, context.Canceled)
			_, err = s.List(ctx, Filter{})
			require.ErrorIs(t, err, context.Canceled)
			_, err = s.Lease(ctx, testID)
			require.ErrorIs(t, err, context.Canceled)
		})
	}
}

// TestIDsNeverReachThePath is case C066.
func TestIDsNeverReachThePath(t *testing.T) {
	t.Parallel()
	bad := []string{
		"../../etc/passwd", "..%2f..", "/etc/passwd", "a/b", `a\b`, "C:x", ".", "..", "", strings.Repeat("a", 4096),
		"x\x00y", "CON", strings.ToUpper(testID), "sess_short", testID + "/../x", testID + "\n", "\n" + testID,
		"sess_" + strings.Repeat("a", 4096), testID + ".jsonl", "sess_0123456789abcdeé",
	}
	for name, open := range stores() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			ctx := t.Context()
			for _, id := range bad {
				_, err := s.Create(ctx, Info{ID: id})
				require.ErrorIs(t, err, ErrNotFound, "%.40q", id)
				assert.Less(t, len(err.Error()), 400)
				_, err = s.Lease(ctx, id)
				require.ErrorIs(t, err, ErrNotFound, "%.40q", id)
				require.ErrorIs(t, s.Delete(ctx, id), ErrNotFound, "%.40q", id)
				for _, err := range s.Inputs(ctx, id, 0) {
					require.ErrorIs(t, err, ErrNotFound, "%.40q", id)
				}
			}
			if d, ok := s.(*Dir); ok {
				entries, err := os.ReadDir(d.root.Name())
				require.NoError(t, err)
				assert.Empty(t, entries)
			}
			page, err := s.List(ctx, Filter{Cwd: "/w/../.."})
			require.NoError(t, err)
			assert.Empty(t, page)
		})
	}
	for range 100 {
		require.NoError(t, CheckID(NewID()))
	}
	one, other := NewID(), NewID()
	assert.NotEqual(t, one, other)
}

// TestLinksAreNotFollowed: a name in the folder that is a link or a folder is no session.
func TestLinksAreNotFollowed(t *testing.T) {
	t.Parallel()
	d := openDir(t, t.TempDir())
	outside := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(outside, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(d.root.Name(), testID+logExt)))
	other := "sess_aaaaaaaaaaaaaaaa"
	require.NoError(t, os.Mkdir(filepath.Join(d.root.Name(), other+logExt), 0o700))
	for _, id := range []string{testID, other} {
		_, err := d.Lease(t.Context(), id)
		require.ErrorIs(t, err, ErrNotFound)
		_, err = d.Create(t.Context(), Info{ID: id})
		require.ErrorIs(t, err, ErrExists)
	}
	page, err := d.List(t.Context(), Filter{})
	require.NoError(t, err)
	assert.Empty(t, page)
	kept, err := os.ReadFile(outside)
	require.NoError(t, err)
	assert.Equal(t, "secret", string(kept))
}
