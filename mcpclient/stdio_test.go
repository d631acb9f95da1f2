//go:build unix

package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// requireNobody says that no process lives whose id a stub noted in dir. Zombies that init has yet to fetch are dead.
func requireNobody(t *testing.T, dir string) {
	t.Helper()
	noted, err := os.ReadFile(filepath.Join(dir, "pids"))
	require.NoError(t, err)
	for field := range strings.FieldsSeq(string(noted)) {
		pid, err := strconv.Atoi(field)
		require.NoError(t, err)
		if syscall.Kill(pid, 0) != nil {
			continue
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err == nil {
			_, after, _ := strings.Cut(string(stat), ") ")
			require.True(t, strings.HasPrefix(after, "Z"), "process %d lives: %s", pid, stat)
		}
	}
}

// TestShutdown is case C026: nothing is left, however the server behaves and whatever starts it.
func TestShutdown(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]*stub{
		"well-behaved":             {},
		"with a child":             {Child: true},
		"deaf":                     {Deaf: true},
		"deaf, with a deaf child":  {Deaf: true, Child: true},
		"dies, with a child":       {Child: true},
		"goes quiet, with a child": {Child: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.Dir = t.TempDir()
			server := s.server(t)
			server.Args = []string{"-c", `"$0"; :`, server.Command}
			if strings.HasPrefix(name, "goes") { // else the shell would keep the output open
				server.Args[1] = `exec "$0"`
			}
			server.Command = "sh"
			c := open(t, server, Options{})
			all := tools(t, c)
			var err error
			if strings.HasPrefix(name, "dies") {
				_, err = all["die"].Run(t.Context(), job(`{}`), nil)
				require.ErrorIs(t, err, ErrEnded)
				<-c.conn.gone // without anyone closing the client
				requireNobody(t, s.Dir)
			}
			if strings.HasPrefix(name, "goes") {
				_, err = all["hush"].Run(t.Context(), job(`{}`), nil)
				require.ErrorIs(t, err, ErrEnded)
				<-c.conn.gone
				requireNobody(t, s.Dir)
			}
			require.NoError(t, c.Close())
			require.NoError(t, c.Close())
			requireNobody(t, s.Dir)
			require.Error(t, c.Err())
		})
	}
}

// TestDeath: a server that dies fails the calls under way and all later ones at once, with its last words.
func TestDeath(t *testing.T) {
	t.Parallel()
	c := open(t, modern().server(t), Options{})
	all := tools(t, c)
	failed := make(chan error)
	go func() {
		_, err := all["never"].Run(t.Context(), job(`{}`), nil)
		failed <- err
	}()
	_, err := all["die"].Run(t.Context(), job(`{}`), nil)
	for _, err := range []error{err, <-failed} {
		require.ErrorIs(t, err, ErrEnded)
		require.ErrorContains(t, err, "server shop has ended (exit status 5); its last words on stderr: out of [31mmilk")
	}
	_, err = all["quick"].Run(t.Context(), job(`{}`), nil)
	require.ErrorContains(t, err, "has ended (exit status 5)")
	require.ErrorIs(t, c.Err(), ErrEnded)
	_, err = c.Tools(t.Context())
	require.ErrorIs(t, err, ErrEnded)
}

func TestClosedClient(t *testing.T) {
	t.Parallel()
	c, err := Connect(t.Context(), modern().server(t), Options{})
	require.NoError(t, err)
	all := tools(t, c)
	failed := make(chan error)
	go func() {
		_, err := all["never"].Run(t.Context(), job(`{}`), nil)
		failed <- err
	}()
	require.Equal(t, "done", text(run(t, all["quick"], `{}`)))
	require.NoError(t, c.Close())
	require.Error(t, <-failed)
	_, err = all["quick"].Run(t.Context(), job(`{}`), nil)
	require.ErrorIs(t, err, ErrClosed)
}

func text(r loop.Result) string { return loop.TextOf(r.Content) }

// TestSlowCalls is case C027: a call without an answer ends in time, holds up no other, and is cancelled.
func TestSlowCalls(t *testing.T) {
	t.Parallel()
	for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s.Dir = t.TempDir()
			server := s.server(t)
			server.Timeout = 1500 * time.Millisecond
			c := open(t, server, Options{})
			all := tools(t, c)
			failed := make(chan error)
			go func() {
				_, err := all["never"].Run(t.Context(), job(`{}`), nil)
				failed <- err
			}()
			assert.Equal(t, "done", text(run(t, all["quick"], `{}`)))
			err := <-failed
			require.ErrorIs(t, err, ErrTimeout)
			require.ErrorContains(t, err, "whether it took effect is not known")

			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				_, err := all["never"].Run(ctx, job(`{}`), nil)
				failed <- err
			}()
			assert.Equal(t, "done", text(run(t, all["quick"], `{}`)))
			require.Eventually(t, func() bool { return calls(t, s.Dir, "never") == 2 }, time.Minute, 5*time.Millisecond)
			cancel()
			require.ErrorIs(t, <-failed, context.Canceled)
			assert.Equal(t, "done", text(run(t, all["quick"], `{}`)))
			assert.Eventually(t, func() bool { // it is sent aside, and nobody waits for it
				in, err := os.ReadFile(filepath.Join(s.Dir, "in"))
				return err == nil && strings.Count(string(in), `"notifications/cancelled"`) == 2
			}, time.Minute, 5*time.Millisecond)
			require.NoError(t, c.Close())
			assert.Empty(t, c.conn.pending)
			assert.Empty(t, c.conn.kept)
		})
	}
}

// TestProgressOverAPipe: it is told in both eras.
func TestProgressOverAPipe(t *testing.T) {
	t.Parallel()
	for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s.Tools = []string{`{"name":"work","inputSchema":{}}`}
			var shown kept
			r, err := tools(t, open(t, s.server(t), Options{}))["work"].Run(t.Context(), job(`{"n":1000}`), shown.report)
			require.NoError(t, err)
			assert.Equal(t, "done", text(r))
			list := shown.all()
			assert.Equal(t, "1000 of 1000: brewing", list[len(list)-1])
		})
	}
}

// TestAFullPipe: where a server reads no more, each call ends in its own time, also what does not fit into the pipe, and
// nothing is left in the end.
func TestAFullPipe(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Dir = t.TempDir()
	server := s.server(t)
	server.Timeout = time.Second
	c := open(t, server, Options{})
	all := tools(t, c)
	_, err := all["freeze"].Run(t.Context(), job(`{}`), nil)
	require.ErrorIs(t, err, ErrTimeout)
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			args, err := json.Marshal(map[string]string{"x": strings.Repeat("x", 1<<20)})
			if assert.NoError(t, err) {
				_, err = all["quick"].Run(t.Context(), job(string(args)), nil)
				assert.ErrorIs(t, err, ErrTimeout)
			}
		})
	}
	group.Wait()
	require.NoError(t, c.Close())
	requireNobody(t, s.Dir)
	assert.Empty(t, c.conn.watches)
}

// TestGivingUp: what is under way at a server that is given up fails, and says that nobody knows what came of it.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Dir = t.TempDir()
	c := open(t, s.server(t), Options{})
	never := tools(t, c)["never"]
	failed := make(chan error)
	go func() {
		_, err := never.Run(t.Context(), job(`{}`), nil)
		failed <- err
	}()
	require.Eventually(t, func() bool { return calls(t, s.Dir, "never") == 1 }, time.Minute, 2*time.Millisecond)
	c.giveUp()
	err := <-failed
	require.ErrorIs(t, err, ErrEnded)
	require.ErrorContains(t, err, "server shop hangs")
	require.ErrorContains(t, err, "whether the request took effect is not known")
	_, err = never.Run(t.Context(), job(`{}`), nil)
	require.ErrorIs(t, err, ErrEnded)
	require.NotContains(t, err.Error(), "took effect", "nothing was sent")
	require.NoError(t, c.Close())
	requireNobody(t, s.Dir)
	assert.Equal(t, 1, calls(t, s.Dir, "never"))
}

// TestLongLines is case C024.
func TestLongLines(t *testing.T) {
	t.Parallel()
	c := open(t, modern().server(t), Options{})
	all := tools(t, c)
	for _, n := range []int{65535, 65536, 1048577, 8 << 20} {
		assert.Len(t, text(run(t, all["big"], fmt.Sprintf(`{"n":%d}`, n))), n)
	}
	_, err := all["big"].Run(t.Context(), job(fmt.Sprintf(`{"n":%d}`, maxLine+1)), nil)
	require.ErrorContains(t, err, "more than the limit of 67108864; ask for less")
	assert.Equal(t, "done", text(run(t, all["quick"], `{}`)))
}

// TestJunk is case C025: what is no message is skipped and logged, not once a line.
func TestJunk(t *testing.T) {
	t.Parallel()
	for _, s := range []*stub{modern(), {}} {
		s.Noise = true
		o, logs := logged()
		c := open(t, s.server(t), o)
		all := tools(t, c)
		for range 50 {
			require.Equal(t, "done", text(run(t, all["quick"], `{}`)))
		}
		assert.Contains(t, logs.String(), "server output skipped")
		assert.Contains(t, logs.String(), "server=shop")
		assert.Less(t, strings.Count(logs.String(), "server output skipped"), 100)
	}
}

// TestServerAsks: a server's requests are answered in the handshake era only, and input_required is an error.
func TestServerAsks(t *testing.T) {
	t.Parallel()
	for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s.Dir = t.TempDir()
			c, err := Connect(t.Context(), s.server(t), Options{})
			require.NoError(t, err)
			all := tools(t, c)
			_, err = all["ask"].Run(t.Context(), job(`{}`), nil)
			require.ErrorIs(t, err, ErrInput)
			for _, result := range []string{`{"resultType":"task"}`, `{"resultType":""}`, `[]`, `{"content":7}`} {
				_, err = all["give"].Run(t.Context(), job(`{"result":`+result+`}`), nil)
				if result == `{"resultType":""}` {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, ErrInvalid, result)
				}
			}
			require.NoError(t, c.Close())
			in, err := os.ReadFile(filepath.Join(s.Dir, "in"))
			require.NoError(t, err)
			answers := strings.Count(string(in), `"id":77`) + strings.Count(string(in), `"id":78`)
			assert.Equal(t, map[string]int{EraModern: 0, EraLegacy: 2}[era], answers)
			assert.NotContains(t, string(in), "elicitation\":")
		})
	}
}

// TestEnvironment is case C069.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	environ := []string{"PATH=/bin", "HOME=/h", "LANG=C", "ANTHROPIC_API_KEY=k-a", "GITHUB_TOKEN=k-g", "FOO=1", "TERM=x"}
	got := environment(environ, map[string]string{"HOME": "/own"})
	assert.Equal(t, []string{"PATH=/bin", "LANG=C", "TERM=x", "HOME=/own"}, got)

	o, logs := logged()
	o.Environ = append(environ, "PATH="+os.Getenv("PATH"))
	_, err := Connect(t.Context(), Server{Name: "shop", Command: "sh", Args: []string{"-c", "env >&2"}}, o)
	require.Error(t, err)
	assert.NotContains(t, logs.String()+err.Error(), "k-")
	assert.Contains(t, logs.String(), "HOME=/h")
}

// TestArguments: arguments and keys reach the server as they are, and answers come back as they are.
func TestArguments(t *testing.T) {
	t.Parallel()
	for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			echo := tools(t, open(t, s.server(t), Options{}))["echo"]
			j := job(`{"n":12345678901234567890,"s":"<&>\u2028"}`)
			j.Key = "key-1"
			got, err := echo.Run(t.Context(), j, nil)
			require.NoError(t, err)
			assert.Contains(t, string(got.Raw), `"n":12345678901234567890`)
			assert.Contains(t, text(got), `"n":12345678901234567890`)
			var said struct {
				Args map[string]any `json:"args"`
				Meta map[string]any `json:"meta"`
			}
			require.NoError(t, json.Unmarshal(got.Raw, &said))
			assert.Equal(t, "<&>\u2028", said.Args["s"])
			assert.Equal(t, "key-1", said.Meta[keyMeta])
			got = run(t, echo, `{}`)
			assert.NotContains(t, string(got.Raw), keyMeta)
			_, err = (&Tool{client: echo.client, name: "unknown"}).Run(t.Context(), job(`{}`), nil)
			var rpc *RPCError
			require.ErrorAs(t, err, &rpc)
			assert.Equal(t, &RPCError{Server: "shop", Code: -32602, Message: "unknown tool: unknown"}, rpc)
		})
	}
}

// What is not wanted any more is not begun, though there may be room for it.
func TestNothingIsSentTooLate(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	p := &pipe{conn: newConn(Server{Name: "shop"}, Options{}.withDefaults()), proc: &process{stdin: w}, wlock: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		require.ErrorIs(t, p.send(ctx, message{data: []byte("late")}), context.Canceled)
	}
	require.NoError(t, w.Close())
	sent, err := io.ReadAll(r)
	require.NoError(t, err)
	assert.Empty(t, string(sent))
	require.NoError(t, r.Close())
}

// TestServerThatDoesNotRead: calls to it end in time, and no half message is left on the line.
func TestServerThatDoesNotRead(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	c := newConn(Server{Name: "shop"}, Options{}.withDefaults())
	p := &pipe{conn: c, proc: &process{stdin: w}, wlock: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	big := strings.Repeat("x", 1<<20)
	sent := make(chan error)
	go func() { sent <- p.send(ctx, message{data: []byte(big)}) }()
	first := make([]byte, 1)
	_, err = io.ReadFull(r, first) // it has begun, and more than a pipe holds is left
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-sent, context.Canceled)
	require.ErrorIs(t, p.send(ctx, message{data: []byte("never begun")}), context.Canceled)
	go func() {
		err := p.send(context.WithoutCancel(ctx), message{data: []byte("next")})
		_ = w.Close()
		sent <- err
	}()
	in := newLines(io.MultiReader(bytes.NewReader(first), r), maxLine)
	line, err := in.next()
	require.NoError(t, err)
	assert.Len(t, line, len(big))
	line, err = in.next()
	require.NoError(t, err)
	assert.Equal(t, "next", string(line))
	require.NoError(t, <-sent)
	require.NoError(t, r.Close())
}
