package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// far is a Terminal made of a function.
type far func(context.Context, Command, func(loop.Block)) (Exit, error)

func (f far) Run(ctx context.Context, c Command, report func(loop.Block)) (Exit, error) {
	return f(ctx, c, report)
}

func elsewhere(t *testing.T, f far) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	put(t, dir, map[string]string{"sub/x": ""})
	return open(t, Options{Terminal: f}, dir)
}

func TestACommandRunsInTheTerminal(t *testing.T) {
	t.Parallel()
	var got Command
	var shown []loop.Block
	live := loop.Terminal{ID: "t1"}
	b := elsewhere(t, func(_ context.Context, c Command, report func(loop.Block)) (Exit, error) {
		got = c
		report(live)
		return Exit{Output: "\x1b[1mbold\x1b[0m\r\n 10%\r 100%\r\n\x1b]0;title\x07end", Code: 3, Display: loop.Blocks{live}}, nil
	})
	tool, c := b.tool("terminal"), callOf(t, "terminal", m{"command": "make", "cwd": "sub"})
	p, err := tool.Preview(t.Context(), c)
	require.NoError(t, err)
	res, err := tool.Run(t.Context(), loop.Job{Call: c, Preview: p}, func(part loop.Block) { shown = append(shown, part) })
	require.NoError(t, err)
	assert.Equal(t, Command{
		Line: "make", Dir: filepath.Join(b.dir, "sub"), Env: []string{"PAGER=cat", "GIT_PAGER=cat"}, Limit: elsewhereLimit, CallID: "call_1_1",
	}, got)
	assert.Equal(t, []loop.Block{live}, shown)
	assert.Equal(t, loop.Result{
		CallID: "call_1_1", Content: text("bold\n 100%\nend\n[exit 3]"), Display: loop.Blocks{live},
		Raw: json.RawMessage(`{"exit":3}`), Failed: true,
	}, res)
}

func TestHowACommandElsewhereEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		exit Exit
		err  error
		want string
		raw  string
	}{
		"well":    {exit: Exit{Output: "x\n"}, want: "x\n[exit 0]", raw: `{"exit":0}`},
		"signal":  {exit: Exit{Code: -1, Signal: "SIGSEGV"}, want: "[ended by signal: SIGSEGV]", raw: `{"exit":-1,"signal":"SIGSEGV"}`},
		"unknown": {exit: Exit{Code: -1}, want: "[ended; its exit code is not known]", raw: `{"exit":-1}`},
		"cut": {
			exit: Exit{Output: "tail\n", Truncated: true},
			want: "[the beginning is missing: the terminal kept the last 5 bytes; to see it send the output to a file and read that]\ntail\n[exit 0]",
			raw:  `{"exit":0,"truncated":true}`,
		},
		"lost": {err: errors.New("the client lost track of it"), want: "!running the command: the client lost track of it"},
		"none": {err: fmt.Errorf("%w: no pty", ErrNoTerminal), want: "own\n[exit 0]", raw: `{"exit":0}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := elsewhere(t, func(context.Context, Command, func(loop.Block)) (Exit, error) { return c.exit, c.err })
			res, err := b.try(t, "terminal", m{"command": "echo own"})
			if why, fails := strings.CutPrefix(c.want, "!"); fails {
				require.EqualError(t, err, why)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, loop.TextOf(res.Content))
			assert.JSONEq(t, c.raw, string(res.Raw))
			assert.Equal(t, !strings.HasSuffix(c.want, "[exit 0]"), res.Failed)
		})
	}
}

// C022: however much a client hands over, the model gets the head and the tail, and is told what is missing.
func TestC022MuchOutputElsewhere(t *testing.T) {
	t.Parallel()
	b := elsewhere(t, func(context.Context, Command, func(loop.Block)) (Exit, error) {
		return Exit{Output: "HEAD\n" + repeat("0123456\n", 50_000) + "TAIL\n", Code: 7}, nil
	})
	res, err := b.try(t, "terminal", m{"command": "much"})
	require.NoError(t, err)
	out := loop.TextOf(res.Content)
	assert.True(t, strings.HasPrefix(out, "HEAD\n0123456\n"))
	assert.True(t, strings.HasSuffix(out, "0123456\nTAIL\n[exit 7]"))
	assert.Contains(t, out, "bytes left out")
	assert.Less(t, len(out), tailHead+tailEnd+200)
	assert.JSONEq(t, fmt.Sprintf(`{"exit":7,"bytesLeftOut":%d}`, 400_010-tailHead-tailEnd), string(res.Raw))
}

func TestACommandElsewhereIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := elsewhere(t, func(ctx context.Context, _ Command, _ func(loop.Block)) (Exit, error) {
			<-ctx.Done()
			return Exit{Output: "half", Code: -1, Display: loop.Blocks{loop.Terminal{ID: "t1"}}}, context.Cause(ctx)
		})
		res, err := b.try(t, "terminal", m{"command": "wait", "timeout": 60})
		require.NoError(t, err)
		assert.Equal(t, loop.Result{
			CallID:  "call_1_1",
			Content: text("half\n[stopped after 1m0s: the time is up. A longer timeout can be given, at most 3600 seconds]"),
			Display: loop.Blocks{loop.Terminal{ID: "t1"}}, Raw: json.RawMessage(`{"exit":-1,"timedOut":true}`), Failed: true,
		}, res)

		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("the person cancelled")
		tool, c := b.tool("terminal"), callOf(t, "terminal", m{"command": "wait"})
		p, err := tool.Preview(ctx, c)
		require.NoError(t, err)
		cancel(stop)
		_, err = tool.Run(ctx, loop.Job{Call: c, Preview: p}, func(loop.Block) {})
		require.ErrorIs(t, err, stop)
		assert.Equal(t, "the command was stopped: the person cancelled\nhalf", err.Error())
	})
}

func TestPlainOutput(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\n":                        "plain\n",
		"a\r\nb\r\n":                     "a\nb\n",
		"1%\r2%\r3%\r\n":                 "3%\n",
		"1%\r2%":                         "2%",
		"end\r":                          "end",
		"\x1b[38;5;1mred\x1b[m \x1b[2Kx": "red x",
		"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1b(B\x1b=\x1bMx\x1bPq#1\x1b\\y":         "xy",
		"half \x1b[3":                              "half \x1b[3",
	} {
		assert.Equal(t, want, plainOutput(in), "%q", in)
	}
}
