package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const killedDir = "CARTAGENT_TEST_KILLED_DIR"

// A SIGKILL to this process takes the shell of a running command with it. The test binary runs itself as that process.
func TestC026WeAreKilled(t *testing.T) {
	t.Parallel()
	needProc(t)
	if dir := os.Getenv(killedDir); dir != "" {
		b := open(t, Options{}, dir)
		b.do(t, "terminal", m{"command": "echo $$ > pids; echo up > gate; read x < gate; sleep 300; :"})
		return
	}
	dir := t.TempDir()
	gate := filepath.Join(dir, "gate")
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestC026WeAreKilled$")
	cmd.Env = append(os.Environ(), killedDir+"="+dir)
	require.NoError(t, cmd.Start())
	up, err := os.ReadFile(gate) // waits for the command
	require.NoError(t, err)
	require.Equal(t, "up\n", string(up))
	require.False(t, gone(t, filepath.Join(dir, "pids")))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	assert.Eventually(t, func() bool { return gone(t, filepath.Join(dir, "pids")) }, time.Minute, 5*time.Millisecond)
}
