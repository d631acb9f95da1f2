//go:build unix

package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// holdersOf are two holders of a log, of which the first has lost its lock and does not know it. It does what is in between
// after it has made sure of its lease and before it writes.
func holdersOf(t *testing.T, dir string, d *Dir) (between *func(), stale, other Log) {
	t.Helper()
	between = new(func())
	*between = func() {}
	slow, err := OpenDir(dir, Options{Now: func() time.Time {
		(*between)()
		return time.Unix(0, 0)
	}})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, slow.Close()) })
	stale, err = slow.Lease(t.Context(), testID)
	require.NoError(t, err)
	loseLock(t, stale)
	other, err = d.Lease(t.Context(), testID)
	require.NoError(t, err)
	stale.(*dirLog).mark = other.(*dirLog).mark // as if this one's were still there
	return between, stale, other
}

// TestHoldersThatMeet: where locks have no effect, the other holder writes after this one has made sure of its lease and
// before its own write. The second to write is told so, and has not written: no reader takes what it has left.
func TestHoldersThatMeet(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string][]string{
		"once": {"first"}, "for long": {"first", "and", "more"}, "beyond what is recent": slices.Repeat([]string{"more"}, maxRecent+9),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, inputs := logOf(t, dir, 2)
			d := openDir(t, dir)
			between, stale, other := holdersOf(t, dir, d)
			*between = func() {
				for _, text := range meanwhile {
					require.NoError(t, other.Append(said(text)...))
				}
			}
			err := stale.Append(said("second", "third")...)
			require.ErrorIs(t, err, ErrLost)
			require.ErrorContains(t, err, "at the same time")
			*between = func() {}
			path := filepath.Join(dir, "sessions", testID+logExt)
			requireLost(t, stale, path, "at the same time")
			requireLost(t, other, path, "somebody else has written")
			require.NoError(t, other.Close())

			want := append(inputs, said(meanwhile...)...)
			again, err := d.Lease(t.Context(), testID)
			require.NoError(t, err)
			require.Len(t, again.Warnings(), 2)
			assert.Contains(t, again.Warnings()[0], "record 3 is there from two writers; this one had lost the session")
			assert.Equal(t, want, collect(t, d.Inputs(t.Context(), testID, 0)))
			require.NoError(t, again.Append(said("on")...))
			require.NoError(t, again.Close())
			want = append(want, said("on")...)
			assert.Equal(t, want, collect(t, d.Inputs(t.Context(), testID, 0)))
			assert.Equal(t, want[3:], collect(t, d.Inputs(t.Context(), testID, 4)))
			report, err := d.Verify(t.Context(), testID)
			require.NoError(t, err)
			assert.Len(t, report.Problems, 2)
			assert.Equal(t, len(want), report.Records)
			var file strings.Builder
			problems, err := d.Export(t.Context(), testID, &file, nil)
			require.NoError(t, err)
			assert.Len(t, problems, 2)
			report, err = VerifyFile(t.Context(), strings.NewReader(file.String()))
			require.NoError(t, err)
			assert.Empty(t, report.Problems, "an export has the session alone")
			assert.Equal(t, len(want), report.Records)
		})
	}
}

// TestHoldersThatMeetOften: however often that was, each record that a holder was told is written is read.
func TestHoldersThatMeetOften(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, want := logOf(t, dir, 2)
	d := openDir(t, dir)
	for round := range 3 * maxSearches {
		between, stale, other := holdersOf(t, dir, d)
		first := said(fmt.Sprint("first of ", round))
		*between = func() { require.NoError(t, other.Append(first...)) }
		require.ErrorIs(t, stale.Append(said("second", "third")...), ErrLost)
		require.NoError(t, stale.Close())
		require.NoError(t, other.Close())
		want = append(want, first...)
		require.Equal(t, want, collect(t, d.Inputs(t.Context(), testID, 0)), "round %d", round)
	}
}

// TestHoldersThatRace: whatever two holders without locks and notes do at once, what one of them was told is written is
// read, in its order and once. Beside it there may be the append at which a holder was told that it has lost, as a whole.
func TestHoldersThatRace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	logOf(t, dir, 0)
	d := openDir(t, dir)
	var want []loop.Input
	met := 0
	for round := range 60 {
		var holders [2]Log
		for i := range holders {
			l, err := openDir(t, dir).Lease(t.Context(), testID)
			require.NoError(t, err)
			loseLock(t, l)
			own := l.(*dirLog)
			_ = own.note.Close()
			own.note = nil
			holders[i] = l
		}
		var written, failed [2][]loop.Input
		var errs [2]error
		var group sync.WaitGroup
		start := make(chan struct{})
		for i, l := range holders {
			group.Go(func() {
				<-start
				for n := 0; n < 20 && errs[i] == nil; n++ {
					in := said(fmt.Sprint(i, " of ", round, n), fmt.Sprint(i, " and so on ", round, n))
					if errs[i] = l.Append(in...); errs[i] == nil {
						written[i] = append(written[i], in...)
					} else {
						failed[i] = in
					}
				}
			})
		}
		close(start)
		group.Wait()
		for i, l := range holders {
			require.NoError(t, l.Close())
			if errs[i] != nil {
				require.ErrorIs(t, errs[i], ErrLost)
			}
			if errs[i] != nil && strings.Contains(errs[i].Error(), "at the same time") {
				met++
			}
		}
		got := collect(t, d.Inputs(t.Context(), testID, len(want)+1))
		var read [2][]loop.Input
		for _, in := range got {
			i := int(in.(loop.Streamed).Text[0] - '0')
			read[i] = append(read[i], in)
		}
		for i := range holders {
			if len(read[i]) > len(written[i]) {
				written[i] = append(written[i], failed[i]...)
			}
			require.Equal(t, written[i], read[i], "round %d", round)
		}
		want = append(want, got...)
	}
	assert.Equal(t, want, collect(t, d.Inputs(t.Context(), testID, 0)))
	t.Logf("they met %d times", met)
}

// TestPartOfAWriteIsTheOthersToo: a write that came too late takes back nothing, as the end of the file is another's.
func TestPartOfAWriteIsTheOthersToo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, inputs := logOf(t, dir, 2)
	d := openDir(t, dir)
	l, err := d.Lease(t.Context(), testID)
	require.NoError(t, err)
	path := filepath.Join(dir, "sessions", testID+logExt)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	require.NoError(t, err)
	_, err = f.WriteString("{\"from\":\"another\"}\n")
	require.NoError(t, errors.Join(err, f.Close()))
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	require.ErrorIs(t, l.(*dirLog).write([]byte("half of a rec")), ErrLost)
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(before)+"half of a rec", string(after))
	require.NoError(t, l.Close())
	assert.Equal(t, inputs, collect(t, d.Inputs(t.Context(), testID, 0)))
}
