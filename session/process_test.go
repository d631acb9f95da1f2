//go:build unix

package session

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// roleVar makes the test binary act as another process of a test.
const roleVar = "SESSION_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "hold":
		os.Exit(hold(os.Args[1]))
	case "full":
		os.Exit(full(os.Args[1]))
	case "work":
		os.Exit(workIn(os.Args[1], os.Args[2]))
	}
	os.Exit(m.Run())
}

// hold leases the session in dir, says so, and keeps it until it is killed.
func hold(dir string) int {
	d, err := OpenDir(dir, Options{})
	if err != nil {
		return 1
	}
	l, err := d.Lease(context.Background(), testID)
	if err != nil {
		return 2
	}
	if err := l.Append(said("from the other process")...); err != nil {
		return 3
	}
	os.Stderr.WriteString("held\n") //nolint:errcheck // the test sees it or not
	select {}
}

// full writes to the session in dir until the file may grow no more. It prints what came of it.
func full(dir string) int {
	signal.Ignore(unix.SIGXFSZ)
	d, err := OpenDir(dir, Options{})
	if err != nil {
		return 1
	}
	l, err := d.Lease(context.Background(), testID)
	if err != nil {
		return 2
	}
	path := filepath.Join(dir, "sessions", testID+logExt)
	before, err := os.ReadFile(path)
	if err != nil {
		return 3
	}
	small := unix.Rlimit{Cur: uint64(len(before) + 1000), Max: unix.RLIM_INFINITY}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &small); err != nil {
		return 4
	}
	for range 2 {
		if err := l.Append(said("fits?", strings.Repeat("no ", 5000))...); !errors.Is(err, ErrStorage) {
			return 5
		}
	}
	if err := l.Append(said(strings.Repeat("no ", payloadLimit))...); !errors.Is(err, ErrStorage) {
		return 8 // a blob that does not fit
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		return 6
	}
	if left, err := os.ReadDir(filepath.Join(dir, "sessions", testID+blobsExt)); err != nil || len(left) > 0 {
		return 9
	}
	if err := errors.Join(l.Append(said("small")...), l.Sync(), l.Close()); err != nil {
		return 7
	}
	return 0
}

// workIn is a worker on the sessions in dir.
func workIn(dir, worker string) int {
	w, err := strconv.Atoi(worker)
	if err != nil {
		return 1
	}
	d, err := OpenDir(dir, Options{})
	if err != nil {
		return 2
	}
	if err := errors.Join(work(context.Background(), d, w), d.Close()); err != nil {
		os.Stderr.WriteString(err.Error() + "\n") //nolint:errcheck // the test sees it or not
		return 3
	}
	return 0
}

func role(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe, args...)
	cmd.Env = append(os.Environ(), roleVar+"="+name)
	return cmd
}

// TestOtherProcess is case C065: two processes and one session. The lease ends with the process, however it ends.
func TestOtherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, inputs := logOf(t, dir, 1)
	d := openDir(t, dir)
	cmd := role(t, "hold", dir)
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(errs).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", line)

	_, err = d.Lease(t.Context(), testID)
	var locked *Locked
	require.ErrorAs(t, err, &locked)
	assert.Equal(t, cmd.Process.Pid, locked.PID)
	require.ErrorIs(t, d.Delete(t.Context(), testID), ErrLocked)
	assert.Len(t, collect(t, d.Inputs(t.Context(), testID, 0)), 2, "reading needs no lease")

	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	require.Error(t, cmd.Wait())
	l, err := d.Lease(t.Context(), testID)
	require.NoError(t, err)
	assert.Empty(t, l.Warnings())
	require.NoError(t, l.Close())
	requireWhole(t, d, append(inputs, said("from the other process")...))
}

// TestNoSpace is case C065: what does not fit leaves no trace, and what fits later is appended.
func TestNoSpace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, inputs := logOf(t, dir, 3)
	out, err := role(t, "full", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	requireWhole(t, openDir(t, dir), append(inputs, said("small")...))
}

// TestListWhileOtherProcessesWrite: processes that make, delete and list sessions do not mislead each other.
func TestListWhileOtherProcessesWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	openDir(t, dir)
	const workers = 3
	var cmds []*exec.Cmd
	var outs [workers]bytes.Buffer
	for w := range workers {
		cmd := role(t, "work", dir, strconv.Itoa(w))
		cmd.Stderr = &outs[w]
		require.NoError(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	for w, cmd := range cmds {
		require.NoError(t, cmd.Wait(), "%s", &outs[w])
	}
	requireWork(t, openDir(t, dir), workers)
}
