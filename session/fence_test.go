//go:build unix

package session

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// loseLock takes the lock of a lease away, as a network's file system may that was out of reach for a while.
func loseLock(t *testing.T, l Log) {
	t.Helper()
	require.NoError(t, unlock(l.(*dirLog).f))
}

// requireLost says that nothing can be appended by l any more, whatever it tries.
func requireLost(t *testing.T, l Log, path, why string) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	for range 2 {
		err := l.Append(said("too late")...)
		require.ErrorIs(t, err, ErrLost)
		assert.Contains(t, err.Error(), why)
	}
	require.ErrorIs(t, l.Sync(), ErrLost)
	after, err := os.ReadFile(path)
	if err != nil {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	assert.Equal(t, before, after)
}

// TestStaleHolder: a holder that another process has taken the session from cannot append, whatever that one has done
// since, and takes nothing from it by closing.
func TestStaleHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, inputs := logOf(t, dir, 2)
	path := filepath.Join(dir, "sessions", testID+logExt)
	d := openDir(t, dir)
	stale, err := d.Lease(t.Context(), testID)
	require.NoError(t, err)
	require.NoError(t, stale.Append(said("in time")...))
	loseLock(t, stale)

	cmd := role(t, "hold", dir)
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(errs).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", line)

	requireLost(t, stale, path, "taken over by process ")
	require.NoError(t, stale.Close())
	_, err = d.Lease(t.Context(), testID)
	var locked *Locked
	require.ErrorAs(t, err, &locked)
	assert.Equal(t, cmd.Process.Pid, locked.PID, "closing has not taken the note of the new holder away")
	host, err := os.Hostname()
	require.NoError(t, err)
	assert.Contains(t, locked.Error(), "in use by process ")
	assert.Contains(t, locked.Error(), host)

	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	require.Error(t, cmd.Wait())
	requireWhole(t, d, append(inputs, append(said("in time"), said("from the other process")...)...))
}

// TestStaleHolderFindsOut: the same by each of the signs that there are.
func TestStaleHolderFindsOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(*testing.T, *Dir, Log)
		why       string
	}{
		"leased": {func(t *testing.T, d *Dir, _ Log) {
			t.Helper()
			l, err := d.Lease(t.Context(), testID)
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, l.Close()) })
		}, "taken over by process"},
		"leased and closed": {func(t *testing.T, d *Dir, _ Log) {
			t.Helper()
			l, err := d.Lease(t.Context(), testID)
			require.NoError(t, err)
			require.NoError(t, l.Close())
		}, "taken over by another process"},
		"written, and no note": {func(t *testing.T, d *Dir, stale Log) {
			t.Helper()
			require.NoError(t, stale.(*dirLog).note.Close())
			stale.(*dirLog).note = nil
			l, err := d.Lease(t.Context(), testID)
			require.NoError(t, err)
			require.NoError(t, l.Append(said("from the other")...))
			require.NoError(t, l.Close())
		}, "somebody else has written"},
		"deleted": {func(t *testing.T, d *Dir, _ Log) {
			t.Helper()
			require.NoError(t, d.Delete(t.Context(), testID))
		}, "deleted by another process"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			logOf(t, dir, 2)
			stale, err := openDir(t, dir).Lease(t.Context(), testID)
			require.NoError(t, err)
			loseLock(t, stale)
			c.meanwhile(t, openDir(t, dir), stale)
			requireLost(t, stale, filepath.Join(dir, "sessions", testID+logExt), c.why)
			require.NoError(t, stale.Close())
		})
	}
}

// TestDeadHolder: a note that a crash has left keeps nobody out.
func TestDeadHolder(t *testing.T) {
	t.Parallel()
	for name, note := range map[string]string{
		"a process": "1 elsewhere TOKEN\n", "an older version's": "1 elsewhere\n", "nothing": "", "noise": "\x00\xff not a note",
		"long": strings.Repeat("x", 10_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			_, inputs := logOf(t, dir, 1)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "sessions", testID+lockExt), []byte(note), 0o600))
			d := openDir(t, dir)
			l, err := d.Lease(t.Context(), testID)
			require.NoError(t, err)
			_, err = d.Lease(t.Context(), testID)
			var locked *Locked
			require.ErrorAs(t, err, &locked)
			assert.Equal(t, os.Getpid(), locked.PID)
			require.NoError(t, l.Append(said("mine")...))
			require.NoError(t, l.Close())
			assert.NoFileExists(t, filepath.Join(dir, "sessions", testID+lockExt))
			requireWhole(t, d, append(inputs, said("mine")...))
		})
	}
}

// TestDamageLeavesHistoryPaired is case C064: whatever records are missing, doubled or out of order, what a model would be
// sent has a result for each call and a call for each result.
func TestDamageLeavesHistoryPaired(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := openDir(t, dir)
	l, err := d.Create(t.Context(), Info{ID: testID})
	require.NoError(t, err)
	prompt := func(text string) loop.Input { return loop.Prompted{Content: loop.Blocks{loop.Text{Text: text}}} }
	calls := loop.Message{Role: loop.RoleAssistant, Calls: []loop.Call{loop.NewCall("", "look", `{"a":1}`), loop.NewCall("", "look", "")}}
	result := func(id string) loop.Input {
		return loop.Finished{Result: loop.Result{CallID: id, Content: loop.Blocks{loop.Text{Text: "seen"}}}}
	}
	require.NoError(t, l.Append(
		loop.Configured{Specs: []loop.Spec{{Name: "look", Parallel: true, ReadOnly: true, Default: loop.Allow}}},
		prompt("look twice"), loop.Replied{Message: calls, Stop: loop.StopEndTurn},
		loop.Previewed{CallID: "call_1_1"}, loop.Previewed{CallID: "call_1_2"},
		loop.Intended{CallID: "call_1_1"}, loop.Intended{CallID: "call_1_2"},
		result("call_1_1"), result("call_1_2"),
		loop.Streamed{Kind: loop.ChunkText, Text: "Done."},
		loop.Replied{Message: loop.Message{Role: loop.RoleAssistant, Content: loop.Blocks{loop.Text{Text: "Done."}}}, Stop: loop.StopEndTurn},
	))
	require.NoError(t, l.Close())
	state := requirePaired(t, d)
	require.Len(t, state.History(), 5, "the whole log makes a whole turn")
	path := filepath.Join(dir, "sessions", testID+logExt)
	file, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.SplitAfter(strings.TrimSuffix(string(file), "\n"), "\n")
	lines[len(lines)-1] += "\n"
	for i := 1; i < len(lines); i++ {
		before, line, after := strings.Join(lines[:i], ""), lines[i], strings.Join(lines[i+1:], "")
		for _, text := range []string{
			before + after, before, before + line + line + after, before + after + line, before + line[:len(line)/2] + "\n" + after,
		} {
			put(t, dir, []byte(text))
			requirePaired(t, d)
		}
	}
}

// requirePaired folds the session and a next prompt, as load does, and checks its history.
func requirePaired(t *testing.T, d *Dir) loop.State {
	t.Helper()
	inputs := collect(t, d.Inputs(t.Context(), testID, 0))
	inputs = append(inputs, loop.Interrupted{}, loop.Prompted{Content: loop.Blocks{loop.Text{Text: "go on"}}})
	state, _ := loop.Replay(func(yield func(loop.Input) bool) {
		for _, in := range inputs {
			if !yield(in) {
				return
			}
		}
	})
	var open []loop.Call
	for _, m := range state.History() {
		require.Len(t, m.Results, len(open))
		for i, r := range m.Results {
			require.Equal(t, open[i].ID, r.CallID)
		}
		open = m.Calls
	}
	return state
}
