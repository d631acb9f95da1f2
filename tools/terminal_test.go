//go:build unix

package tools

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

func TestTerminal(t *testing.T) {
	t.Parallel()
	b := setUp(t, map[string]string{"sub/x": ""})
	for _, c := range []struct {
		args m
		want string
	}{
		{m{"command": "echo out; echo err >&2"}, "out\nerr\n[exit 0]"},
		{m{"command": "printf x; exit 7"}, "x\n[exit 7]"},
		{m{"command": "ls", "cwd": "sub"}, "x\n[exit 0]"},
		{m{"command": "pwd"}, b.dir + "\n[exit 0]"},
		{m{"command": "cat"}, "[exit 0]"},
		{m{"command": "printf 'a\\000b\\377c'"}, "a\uFFFDb\uFFFDc\n[exit 0]"},
		{m{"command": "kill -KILL $$"}, "[ended by signal: killed]"},
		{m{"command": "no-such-program-here"}, ""},
	} {
		res, err := b.try(t, "terminal", c.args)
		require.NoError(t, err)
		got := loop.TextOf(res.Content)
		if c.want == "" {
			assert.Contains(t, got, "no-such-program-here: ")
			assert.Contains(t, got, "\n[exit 127]")
			continue
		}
		assert.Equal(t, c.want, got, "%v", c.args)
		assert.Equal(t, !strings.Contains(c.want, "exit 0"), res.Failed)
	}
	for _, c := range []struct {
		args m
		want string
	}{
		{m{"command": " "}, `"command" is empty`},
		{m{"command": "a\x00b"}, "NUL byte"},
		{m{"command": "ls", "timeout": 0}, "from 1 to 3600 seconds"},
		{m{"command": "ls", "timeout": 3601}, "from 1 to 3600 seconds"},
		{m{"command": "ls", "cwd": "none"}, "does not exist"},
		{m{"command": "ls", "cwd": "sub/x"}, "no folder"},
	} {
		_, err := b.try(t, "terminal", c.args)
		require.ErrorContains(t, err, c.want, "%v", c.args)
	}
	p, err := b.tool("terminal").Preview(t.Context(), callOf(t, "terminal", m{"command": "go test ./... > out", "cwd": "sub"}))
	require.NoError(t, err)
	assert.Equal(t, loop.Preview{
		Title: "go test ./... > out", Locations: []loop.Location{{Path: filepath.Join(b.dir, "sub")}},
		Subjects: []loop.Subject{{Words: []string{"go", "test", "./..."}}}, Caution: "it redirects output into a file",
	}, p)
}

// What is kept is small however much is printed, and has the head, the tail and the exit code.
func TestC022MuchOutput(t *testing.T) {
	b := setUp(t, nil)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	res, err := b.try(t, "terminal", m{"command": "printf 'HEAD\\n'; seq 1 3000000; printf 'TAIL\\n'; exit 7"})
	require.NoError(t, err)
	zeros, err := b.try(t, "terminal", m{"command": "head -c 300000000 /dev/zero"})
	require.NoError(t, err)
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "bytes allocated in all")

	out := loop.TextOf(res.Content)
	assert.True(t, strings.HasPrefix(out, "HEAD\n1\n2\n"))
	assert.True(t, strings.HasSuffix(out, "\n3000000\nTAIL\n[exit 7]"))
	assert.Less(t, len(out), tailHead+tailEnd+200)
	var o outcome
	require.NoError(t, json.Unmarshal(res.Raw, &o))
	const all = 5 + 22888896 + 5
	assert.Equal(t, outcome{Exit: 7, LeftOut: all - tailHead - tailEnd}, o)
	head, rest, _ := strings.Cut(out, "[")
	n, _, _ := strings.Cut(rest, " bytes left out")
	_, tail, _ := strings.Cut(rest, "]\n")
	gone, err := strconv.Atoi(n)
	require.NoError(t, err)
	assert.Equal(t, all, len(head)+gone+len(strings.TrimSuffix(tail, "[exit 7]")), "every byte is shown or counted")

	_, err = json.Marshal(zeros.Content)
	require.NoError(t, err)
	assert.NotContains(t, loop.TextOf(zeros.Content), "\x00")
}

func TestTailKeepsWholeRunes(t *testing.T) {
	t.Parallel()
	w := newTail()
	for range 20_000 {
		_, err := w.Write([]byte("aéß"))
		require.NoError(t, err)
	}
	assert.NotContains(t, w.String(), "\uFFFD")
	assert.Equal(t, int64(100_000-tailHead-tailEnd), w.leftOut())
}

// gone waits until no process of the group is left but those that only their parent has not collected yet.
func gone(t *testing.T, pidFile string) bool {
	t.Helper()
	data, err := os.ReadFile(pidFile)
	require.NoError(t, err)
	for field := range strings.FieldsSeq(string(data)) {
		stat, err := os.ReadFile("/proc/" + field + "/stat")
		if err != nil {
			continue
		}
		_, state, _ := strings.Cut(string(stat), ") ")
		if !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X") {
			return false
		}
	}
	return true
}

func needProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("it looks processes up in /proc")
	}
}

const deaf = `trap '' TERM; (trap '' TERM; exec sleep 300) & echo $! $$ > pids; echo ready; wait; sleep 300`

// A cancel ends the whole group, also what does not listen to SIGTERM, in under a second.
func TestC026CancelEndsTheGroup(t *testing.T) {
	t.Parallel()
	needProc(t)
	b := setUp(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	tool, c := b.tool("terminal"), callOf(t, "terminal", m{"command": deaf})
	p, err := tool.Preview(ctx, c)
	require.NoError(t, err)
	stop := errors.New("the person cancelled")
	_, err = tool.Run(ctx, loop.Job{Call: c, Preview: p}, func(part loop.Block) {
		if strings.Contains(loop.TextOf([]loop.Block{part}), "ready") {
			cancel(stop)
		}
	})
	require.ErrorIs(t, err, stop)
	assert.Equal(t, "the command was stopped: the person cancelled\nready\n", err.Error())
	assert.Eventually(t, func() bool { return gone(t, filepath.Join(b.dir, "pids")) }, time.Minute, 5*time.Millisecond)
}

func TestC026TimeoutEndsTheGroup(t *testing.T) {
	t.Parallel()
	needProc(t)
	b := setUp(t, nil)
	res, err := b.try(t, "terminal", m{"command": deaf, "timeout": 1})
	require.NoError(t, err)
	assert.True(t, res.Failed)
	assert.Equal(t, "ready\n[stopped after 1s: the time is up. A longer timeout can be given, at most 3600 seconds]", loop.TextOf(res.Content))
	assert.Eventually(t, func() bool { return gone(t, filepath.Join(b.dir, "pids")) }, time.Minute, 5*time.Millisecond)
}

// The call returns when the shell has ended, whatever still holds its output, and closing the workspace ends the rest.
func TestC021BackgroundProcesses(t *testing.T) {
	t.Parallel()
	needProc(t)
	const note = "[exit 0; a background process keeps running; what it prints is no longer read]"
	for name, c := range map[string]struct{ command, want string }{
		"holds the pipe": {"sleep 300 & echo $! > pids; echo started", "started\n" + note},
		"is silent":      {"nohup yes >/dev/null 2>&1 & echo $! > pids; echo x", "x\n" + note},
		"keeps talking":  {"(exec yes tick) & echo $! > pids", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ws, err := Open([]string{dir})
			require.NoError(t, err)
			b := &bench{dir: dir, ws: ws, tools: All(Options{Workspace: ws})}
			got := b.do(t, "terminal", m{"command": c.command, "timeout": 20})
			require.Len(t, got, 1)
			if c.want != "" {
				assert.Equal(t, c.want, got[0])
			}
			require.NoError(t, ws.Close())
			assert.Eventually(t, func() bool { return gone(t, filepath.Join(dir, "pids")) }, time.Minute, 5*time.Millisecond)
		})
	}
}

func TestC021NothingLeaks(t *testing.T) {
	needProc(t)
	b := setUp(t, nil)
	fds := func() int {
		e, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(e)
	}
	b.do(t, "terminal", m{"command": "true"})
	routines, files := runtime.NumGoroutine(), fds()
	for range 50 {
		b.do(t, "terminal", m{"command": "sleep 300 >/dev/null 2>&1 & echo x"})
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), routines+5)
	assert.LessOrEqual(t, fds(), files+5)
}

func TestC069CommandsGetNoKeys(t *testing.T) {
	t.Parallel()
	environ := []string{
		"ANTHROPIC_API_KEY=k-a", "OPENAI_API_KEY=k-o", "GEMINI_API_KEY=k-m", "GITHUB_TOKEN=k-g", "AWS_SECRET_ACCESS_KEY=k-s", "FOO=1",
		"PATH=" + os.Getenv("PATH"), "HOME=/home/x", "LANG=C", "LC_ALL=C", "TERM=xterm-256color", "GOCACHE=/c",
	}
	env := TerminalEnv(environ)
	assert.Equal(t, []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/x", "LANG=C", "LC_ALL=C", "GOCACHE=/c", "TERM=dumb"}, env)
	b := open(t, Options{Env: env}, t.TempDir())
	out := b.do(t, "terminal", m{"command": "env"})[0]
	assert.NotContains(t, out, "k-")
	assert.NotContains(t, out, "FOO")
	assert.Contains(t, out, "TERM=dumb\n")
	assert.Contains(t, out, "PWD="+b.dir+"\n")
}

func TestProgressShowsTheLastLines(t *testing.T) {
	t.Parallel()
	b := setUp(t, nil)
	require.NoError(t, syscall.Mkfifo(filepath.Join(b.dir, "gate"), 0o600))
	tool, c := b.tool("terminal"), callOf(t, "terminal", m{"command": "seq 1 50; cat gate; echo done"})
	p, err := tool.Preview(t.Context(), c)
	require.NoError(t, err)
	var first string
	res, err := tool.Run(t.Context(), loop.Job{Call: c, Preview: p}, func(part loop.Block) {
		text := loop.TextOf([]loop.Block{part})
		if first == "" && strings.HasSuffix(text, "50\n") {
			first = text
			if err := os.WriteFile(filepath.Join(b.dir, "gate"), []byte("through\n"), 0o600); err != nil {
				t.Error(err)
			}
		}
	})
	require.NoError(t, err)
	assert.True(t, strings.HasPrefix(first, "31\n"), first)
	assert.True(t, strings.HasSuffix(loop.TextOf(res.Content), "50\nthrough\ndone\n[exit 0]"))
}

// Whether a command that ends at once has shown its output is not decided by who looks first.
func TestQuickOutputIsReportedOnce(t *testing.T) {
	t.Parallel()
	for range 200 {
		out, shown := newTail(), []string(nil)
		err := watch(out, func(part loop.Block) { shown = append(shown, loop.TextOf([]loop.Block{part})) }, func() error {
			_, err := out.Write([]byte("ok\n"))
			return err
		})
		require.NoError(t, err)
		require.Equal(t, []string{"ok\n"}, shown)
	}
	silent := newTail()
	require.NoError(t, watch(silent, func(loop.Block) { t.Error("nothing was printed") }, func() error { return nil }))
}
