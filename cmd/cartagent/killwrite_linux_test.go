package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A process that is killed in the middle of a write, when its half of the file is there and not yet in its place: who goes
// on writes the file once more, as a whole, and takes the half away, but nothing of others that looks like it.
func TestKilledInTheMiddleOfAWrite(t *testing.T) {
	t.Parallel()
	binary, err := exec.LookPath("cartagent-faulty")
	require.NoError(t, err)
	content := strings.Repeat("a line of a large file\n", 200_000)
	args, err := json.Marshal(object{"path": "out.txt", "content": content})
	require.NoError(t, err)
	for try := range 20 { // the kill may come too late
		home := t.TempDir()
		dir := filepath.Join(home, "work")
		require.NoError(t, os.Mkdir(dir, 0o700))
		others := filepath.Join(dir, ".cartagent-OTHERS")
		require.NoError(t, os.WriteFile(others, []byte("half"), 0o600))
		url := stubModel(t, []scripted.Reply{
			{Calls: []loop.Call{{Tool: "write", Args: args}}}, {Text: []string{"Written."}},
		})
		run := func(args ...string) *exec.Cmd {
			cmd := exec.CommandContext(t.Context(), binary, append([]string{"run", "--yes", "--cwd", dir}, args...)...)
			cmd.Env = []string{
				"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CARTAGENT_MODEL=openai/m", "OPENAI_API_KEY=key-of-a-test", "OPENAI_BASE_URL=" + url,
			}
			return cmd
		}
		if !killAtHalf(t, run("Write it"), dir) {
			continue
		}
		w := world{state: filepath.Join(home, ".local", "state", "cartagent")}
		w.find(t)
		said, err := run("--session", string(w.id), "Go on").CombinedOutput()
		require.NoError(t, err, string(said))
		got, err := os.ReadFile(filepath.Join(dir, "out.txt"))
		require.NoError(t, err)
		assert.Len(t, got, len(content))
		assert.Equal(t, []string{others}, halves(t, dir), "at try %d", try+1)
		require.NoError(t, w.sound(t.Context()))
		return
	}
	t.Fatal("no kill came in the middle of a write")
}

// halves are the files that are not yet whole.
func halves(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, ".cartagent-*"))
	require.NoError(t, err)
	return found
}

// killAtHalf starts a process and kills it when it begins to write a file. It says whether it came in time.
func killAtHalf(t *testing.T, cmd *exec.Cmd, dir string) bool {
	t.Helper()
	before := len(halves(t, dir))
	watch, err := syscall.InotifyInit1(syscall.IN_CLOEXEC | syscall.IN_NONBLOCK)
	require.NoError(t, err)
	events := os.NewFile(uintptr(watch), "inotify")
	_, err = syscall.InotifyAddWatch(watch, dir, syscall.IN_CREATE)
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	never := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer never.Stop()
	go func() {
		var event [4096]byte
		if _, err := events.Read(event[:]); err == nil {
			_ = cmd.Process.Kill()
		}
	}()
	ended := cmd.Wait()
	require.NoError(t, events.Close())
	_, err = os.Stat(filepath.Join(dir, "out.txt"))
	return fmt.Sprint(ended) == "signal: killed" && err != nil && len(halves(t, dir)) > before
}
