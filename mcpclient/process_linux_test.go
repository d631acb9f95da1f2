package mcpclient

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestKilledClient is a part of case C026: a deaf server does not outlive a client that is killed.
func TestKilledClient(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "alive")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	conf, err := json.Marshal(&stub{Deaf: true, Alive: fifo})
	require.NoError(t, err)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), clientVar+"="+string(conf))
	errs, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	alive, err := os.Open(fifo) // waits for the server
	require.NoError(t, err)
	line, err := bufio.NewReader(errs).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "connected\n", line)

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	rest, err := io.ReadAll(alive) // returns when the server is dead
	require.NoError(t, err)
	assert.Empty(t, rest)
	require.NoError(t, alive.Close())
}

// TestNothingLeaks is a part of case C070: servers that come and go leave no file and no process behind.
func TestNothingLeaks(t *testing.T) { // not parallel: it counts the files of the whole process
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(list)
	}
	cycle := func(i int) {
		s := []*stub{modern(), {}, {Discover: "exit"}, {Early: "no"}}[i%4]
		s.Dir = t.TempDir()
		c, err := Connect(t.Context(), s.server(t), Options{})
		if s.Early != "" {
			require.Error(t, err)
			requireNobody(t, s.Dir)
			return
		}
		require.NoError(t, err)
		all := tools(t, c)
		if i%2 == 0 {
			_, err := all["die"].Run(t.Context(), job(`{}`), nil)
			require.ErrorIs(t, err, ErrEnded)
		}
		require.NoError(t, c.Close())
		requireNobody(t, s.Dir)
	}
	cycle(0)
	before := files()
	for i := range 20 {
		cycle(i)
	}
	assert.LessOrEqual(t, files(), before+1)
}
