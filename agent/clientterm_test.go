package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
	"github.com/charmbracelet/log"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// bare is an agent that does nothing but open a connection.
type bare struct{}

func (bare) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	return &acp.InitializeResponse{ProtocolVersion: acp.LatestVersion}, nil
}

func (bare) NewSession(context.Context, *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	return nil, acp.ErrMethodNotFound
}

func (bare) Prompt(*acp.PromptRequest) (func(context.Context) (*acp.PromptResponse, error), error) {
	return nil, acp.ErrMethodNotFound
}

func (bare) Cancel(*acp.CancelNotification) {}

// dial is the agent's view of a client that has said what it can do. The connection ends with hangUp, and with the test.
func dial(t *testing.T, client acp.Client, caps acp.ClientCapabilities) (conn *acp.ClientConn, hangUp func()) {
	t.Helper()
	agentEnd, clientEnd := acp.Pipe()
	bound, done := make(chan *acp.ClientConn, 1), make(chan error, 1)
	go func() {
		done <- acp.Serve(context.Background(), agentEnd, func(c *acp.ClientConn) acp.Agent {
			bound <- c
			return bare{}
		}, acp.Options{})
	}()
	far := acp.Dial(context.Background(), clientEnd, client, acp.Options{})
	hangUp = sync.OnceFunc(func() {
		require.NoError(t, far.Close())
		require.NoError(t, <-done)
	})
	t.Cleanup(hangUp)
	_, err := far.Initialize(context.Background(), &acp.InitializeRequest{ProtocolVersion: acp.LatestVersion, ClientCapabilities: caps})
	require.NoError(t, err)
	return <-bound, hangUp
}

// host is a client with terminals. Its calls are noted; what is nil does the ordinary thing.
type host struct {
	mu     sync.Mutex
	calls  []string
	asked  kept[*acp.CreateTerminalRequest]
	create func(context.Context) (*acp.CreateTerminalResponse, error)
	wait   func(context.Context) (*acp.WaitForTerminalExitResponse, error)
	output func(context.Context) (*acp.TerminalOutputResponse, error)
	kill   func(context.Context) (*acp.KillTerminalResponse, error)
}

func (h *host) note(call string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = append(h.calls, call)
}

func (h *host) noted() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.calls)
}

func (*host) SessionUpdate(context.Context, *acp.SessionNotification) error { return nil }

func (*host) RequestPermission(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	return nil, acp.ErrMethodNotFound
}

func (h *host) CreateTerminal(ctx context.Context, r *acp.CreateTerminalRequest) (*acp.CreateTerminalResponse, error) {
	h.note("create")
	h.asked.add(r)
	if h.create != nil {
		return h.create(ctx)
	}
	return &acp.CreateTerminalResponse{TerminalID: "t1"}, nil
}

func (h *host) WaitForTerminalExit(ctx context.Context, r *acp.WaitForTerminalExitRequest) (*acp.WaitForTerminalExitResponse, error) {
	h.note("wait " + string(r.TerminalID))
	if h.wait != nil {
		return h.wait(ctx)
	}
	return &acp.WaitForTerminalExitResponse{ExitCode: new(uint32(7))}, nil
}

func (h *host) TerminalOutput(ctx context.Context, r *acp.TerminalOutputRequest) (*acp.TerminalOutputResponse, error) {
	h.note("output " + string(r.TerminalID))
	if h.output != nil {
		return h.output(ctx)
	}
	return &acp.TerminalOutputResponse{Output: "hello\n", Truncated: true}, nil
}

func (h *host) KillTerminal(ctx context.Context, r *acp.KillTerminalRequest) (*acp.KillTerminalResponse, error) {
	h.note("kill " + string(r.TerminalID))
	if h.kill != nil {
		return h.kill(ctx)
	}
	return &acp.KillTerminalResponse{}, nil
}

func (h *host) ReleaseTerminal(_ context.Context, r *acp.ReleaseTerminalRequest) (*acp.ReleaseTerminalResponse, error) {
	h.note("release " + string(r.TerminalID))
	return &acp.ReleaseTerminalResponse{}, nil
}

func hung[R any](ctx context.Context) (*R, error) { //nolint:unparam // it stands in for the client's methods, which have results
	<-ctx.Done()
	return nil, ctx.Err()
}

func failing[R any](err error) func(context.Context) (*R, error) {
	return func(context.Context) (*R, error) { return nil, err }
}

func hostTerminal(t *testing.T, h *host) (term Terminal, hangUp func()) {
	t.Helper()
	conn, hangUp := dial(t, h, acp.ClientCapabilities{Terminal: true})
	return clientTerminal(conn, "sess_1", log.New(io.Discard)), hangUp
}

var ls = Command{Line: "ls -la | head", Dir: "/w", Env: []string{"PAGER=cat", "X=a=b"}, Limit: 1000, CallID: "call_1_1"}

func TestClientTerminalIsUsedWhereOffered(t *testing.T) {
	t.Parallel()
	conn, _ := dial(t, &host{}, acp.ClientCapabilities{})
	assert.Nil(t, clientTerminal(conn, "sess_1", log.New(io.Discard)))

	h := &host{}
	term, _ := hostTerminal(t, h)
	var shown []loop.Block
	exit, err := term.Run(t.Context(), ls, func(b loop.Block) {
		h.note("report")
		shown = append(shown, b)
	})
	require.NoError(t, err)
	assert.Equal(t, Exit{Output: "hello\n", Truncated: true, Code: 7, Display: loop.Blocks{loop.Terminal{ID: "t1"}}}, exit)
	assert.Equal(t, []loop.Block{loop.Terminal{ID: "t1"}}, shown)
	assert.Equal(t, []string{"create", "report", "wait t1", "output t1", "release t1"}, h.noted())
	assert.Equal(t, []*acp.CreateTerminalRequest{{
		SessionID: "sess_1", Command: "/bin/sh", Args: []string{"-c", "ls -la | head"}, Cwd: "/w",
		Env:             []acp.EnvVariable{{Name: "PAGER", Value: "cat"}, {Name: "X", Value: "a=b"}},
		OutputByteLimit: new(uint64(1000)),
	}}, h.asked.all(), "C022: the client is told how much to keep")
}

// However a client misbehaves, a terminal that it made is released, and a command that it may have started is not
// started again.
func TestClientTerminalTroubles(t *testing.T) {
	t.Parallel()
	broken := errors.New("out of order")
	lost := &acp.Error{Code: acp.CodeInternalError, Message: "lost"}
	cases := map[string]struct {
		host  *host
		want  Exit
		err   string
		own   bool // it may run as an own process
		calls []string
	}{
		"ended by a signal": {
			host: &host{wait: func(context.Context) (*acp.WaitForTerminalExitResponse, error) {
				return &acp.WaitForTerminalExitResponse{Signal: new("SIGSEGV")}, nil
			}},
			want:  Exit{Output: "hello\n", Truncated: true, Code: -1, Signal: "SIGSEGV"},
			calls: []string{"create", "wait t1", "output t1", "release t1"},
		},
		"the exit is told with the output": {
			host: &host{
				wait: func(context.Context) (*acp.WaitForTerminalExitResponse, error) { return nil, nil },
				output: func(context.Context) (*acp.TerminalOutputResponse, error) {
					return &acp.TerminalOutputResponse{Output: "x", ExitStatus: &acp.TerminalExitStatus{ExitCode: new(uint32(3))}}, nil
				},
			},
			want:  Exit{Output: "x", Code: 3},
			calls: []string{"create", "wait t1", "output t1", "release t1"},
		},
		"no output": {
			host:  &host{output: failing[acp.TerminalOutputResponse](lost)},
			want:  Exit{Output: "[the client did not hand over the output: lost (code -32603)]\n", Code: 7},
			calls: []string{"create", "wait t1", "output t1", "release t1"},
		},
		"no exit": {
			host:  &host{wait: failing[acp.WaitForTerminalExitResponse](lost)},
			err:   "the client lost track of the command, which may have done its work (lost (code -32603)); it printed:\nhello\n",
			want:  Exit{Output: "hello\n", Truncated: true, Code: -1},
			calls: []string{"create", "wait t1", "kill t1", "output t1", "release t1"},
		},
		"refused": {
			host: &host{create: failing[acp.CreateTerminalResponse](&acp.Error{Code: acp.CodeInternalError, Message: "no pty"})},
			err:  "the client runs no commands: no pty (code -32603)", own: true, calls: []string{"create"},
		},
		"fails": {
			host: &host{create: failing[acp.CreateTerminalResponse](broken)},
			err:  "the client runs no commands: Internal error (code -32603)", own: true, calls: []string{"create"},
		},
		"not known": {
			host: &host{create: failing[acp.CreateTerminalResponse](acp.ErrMethodNotFound)},
			err:  "the client runs no commands: Method not found (code -32601)", own: true, calls: []string{"create"},
		},
		"without an id": {
			host:  &host{create: func(context.Context) (*acp.CreateTerminalResponse, error) { return &acp.CreateTerminalResponse{}, nil }},
			err:   "the client started the command in a terminal without an id; what became of it is not known",
			calls: []string{"create"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			term, _ := hostTerminal(t, c.host)
			exit, err := term.Run(t.Context(), ls, func(loop.Block) {})
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.err)
			}
			assert.Equal(t, c.own, errors.Is(err, ErrNoTerminal))
			exit.Display = nil
			assert.Equal(t, c.want, exit)
			assert.Equal(t, c.calls, c.host.noted())
		})
	}
}

func TestAClientWithoutTheMethodIsAskedOnce(t *testing.T) {
	t.Parallel()
	h := &host{create: failing[acp.CreateTerminalResponse](acp.ErrMethodNotFound)}
	term, _ := hostTerminal(t, h)
	for range 3 {
		_, err := term.Run(t.Context(), ls, func(loop.Block) {})
		require.ErrorIs(t, err, ErrNoTerminal)
	}
	assert.Equal(t, []string{"create"}, h.noted())
}

func TestAClientThatNeverStartsACommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &host{create: hung[acp.CreateTerminalResponse]}
		term, hangUp := hostTerminal(t, h)
		began := time.Now()
		_, err := term.Run(t.Context(), ls, func(loop.Block) {})
		require.EqualError(t, err, "the client did not say within 30s whether it started the command; check what it did before you run it again")
		require.NotErrorIs(t, err, ErrNoTerminal, "it must not run twice")
		assert.Equal(t, acp.CallTimeout, time.Since(began))
		_, err = term.Run(t.Context(), ls, func(loop.Block) {})
		require.ErrorIs(t, err, ErrNoTerminal, "the next command does not wait again")
		hangUp()
	})
}

// C021: a cancel or a timeout kills the command and frees the terminal at once, whenever it comes and whatever the
// client does then.
func TestC021CancelFreesTheTerminal(t *testing.T) {
	t.Parallel()
	stop := errors.New("the time is up")
	cases := map[string]struct {
		host  *host
		took  time.Duration
		want  Exit
		calls []string
	}{
		"while it runs": {
			host:  &host{wait: hung[acp.WaitForTerminalExitResponse]},
			want:  Exit{Output: "hello\n", Truncated: true, Code: -1, Display: loop.Blocks{loop.Terminal{ID: "t1"}}},
			calls: []string{"create", "wait t1", "kill t1", "output t1", "release t1"},
		},
		"and it does not listen": {
			host: &host{
				wait: hung[acp.WaitForTerminalExitResponse], kill: hung[acp.KillTerminalResponse],
				output: hung[acp.TerminalOutputResponse],
			},
			took: terminalGrace,
			want: Exit{
				Output: "[the client did not hand over the output: context canceled]\n", Code: -1,
				Display: loop.Blocks{loop.Terminal{ID: "t1"}},
			},
			calls: []string{"create", "wait t1", "kill t1", "release t1"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				term, hangUp := hostTerminal(t, c.host)
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Minute, func() { cancel(stop) })
				began := time.Now()
				exit, err := term.Run(ctx, ls, func(loop.Block) {})
				require.ErrorIs(t, err, stop)
				assert.Equal(t, time.Minute+c.took, time.Since(began))
				assert.Equal(t, c.want, exit)
				assert.Equal(t, c.calls, c.host.noted())
				hangUp()
			})
		})
	}
}

func TestACancelWhileTheTerminalIsMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &host{wait: hung[acp.WaitForTerminalExitResponse], create: func(context.Context) (*acp.CreateTerminalResponse, error) {
			<-time.After(2 * time.Second)
			return &acp.CreateTerminalResponse{TerminalID: "t2"}, nil
		}}
		term, hangUp := hostTerminal(t, h)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := term.Run(ctx, ls, func(loop.Block) {})
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, []string{"create", "kill t2", "output t2", "release t2"}, h.noted())
		hangUp()
	})
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

func contents(s string) acp.ToolCallContents {
	return acp.ToolCallContents{acp.ContentItem{Content: acp.TextContent{Text: s}}}
}

func TestDisplayTerminal(t *testing.T) {
	t.Parallel()
	yes := map[string]json.RawMessage{"terminal_output": raw("true")}
	assert.True(t, displays(acp.ClientCapabilities{Meta: yes}))
	assert.False(t, displays(acp.ClientCapabilities{Meta: yes, Terminal: true}), "a real terminal is better")
	assert.False(t, displays(acp.ClientCapabilities{}))

	shown := display{}
	show := func(u acp.SessionUpdate) acp.SessionUpdate { return displayTerminal(u, shown, "/w") }
	call := acp.ToolCall{
		ToolCallID: "c1", Title: "make", Name: "terminal", Kind: acp.KindExecute, RawInput: raw(`{"command":"make","cwd":"sub"}`),
		Meta: map[string]json.RawMessage{"tool_name": raw(`"terminal"`)},
	}
	announced := call
	announced.Content = acp.ToolCallContents{acp.Terminal{TerminalID: "c1"}}
	announced.Meta = map[string]json.RawMessage{
		"tool_name": raw(`"terminal"`), "terminal_info": raw(`{"terminal_id":"c1","cwd":"/w/sub"}`),
	}
	assert.Equal(t, announced, show(call))
	assert.Len(t, call.Meta, 1, "the update that came is not changed")

	started := acp.ToolCallUpdate{ToolCallID: "c1", Status: new(acp.StatusInProgress)}
	assert.Equal(t, started, show(started))
	assert.Equal(t, acp.ToolCallUpdate{
		ToolCallID: "c1", Meta: map[string]json.RawMessage{"terminal_output": raw(`{"terminal_id":"c1","data":"one\ntwo\n"}`)},
	}, show(acp.ToolCallUpdate{ToolCallID: "c1", Content: contents("one\ntwo\n")}))
	assert.Equal(t, acp.ToolCallUpdate{
		ToolCallID: "c1", Meta: map[string]json.RawMessage{"terminal_output": raw(`{"terminal_id":"c1","data":"three\n"}`)},
	}, show(acp.ToolCallUpdate{ToolCallID: "c1", Content: contents("two\nthree\n")}))
	output := raw(`{"exit":2}`)
	assert.Equal(t, acp.ToolCallUpdate{
		ToolCallID: "c1", Status: new(acp.StatusFailed), RawOutput: output, Meta: map[string]json.RawMessage{
			"terminal_output": raw(`{"terminal_id":"c1","data":"[exit 2]"}`),
			"terminal_exit":   raw(`{"terminal_id":"c1","exit_code":2,"signal":null}`),
		},
	}, show(acp.ToolCallUpdate{
		ToolCallID: "c1", Status: new(acp.StatusFailed), RawOutput: output, Content: contents("one\ntwo\nthree\n[exit 2]"),
	}))
	assert.Empty(t, shown)

	refused := acp.ToolCallUpdate{ToolCallID: "c1", Status: new(acp.StatusFailed), Content: contents("Not run.")}
	assert.Equal(t, refused, show(refused), "a call that is over")
	show(call)
	refused.Meta = map[string]json.RawMessage{"terminal_exit": raw(`{"terminal_id":"c1","exit_code":null,"signal":null}`)}
	assert.Equal(t, refused, show(acp.ToolCallUpdate{ToolCallID: "c1", Status: new(acp.StatusFailed), Content: contents("Not run.")}),
		"the words of a command that did not run are shown in place of the terminal")
	show(call)
	killed := show(acp.ToolCallUpdate{ToolCallID: "c1", Status: new(acp.StatusFailed), RawOutput: raw(`{"exit":-1,"signal":"killed"}`)})
	assert.Equal(t, raw(`{"terminal_id":"c1","exit_code":null,"signal":"killed"}`), killed.(acp.ToolCallUpdate).Meta["terminal_exit"])

	for _, other := range []acp.SessionUpdate{
		acp.ToolCall{ToolCallID: "c2", Name: "shop__terminal", Kind: acp.KindOther},
		acp.ToolCallUpdate{ToolCallID: "c2", Content: contents("x")},
		acp.AgentMessageChunk{Content: acp.TextContent{Text: "x"}},
	} {
		assert.Equal(t, other, show(other))
	}
}

func TestAppended(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789abcde\n", 100)
	for name, c := range map[string]struct{ before, text, want string }{
		"nothing yet":           {"", "a\n", "a\n"},
		"nothing new":           {"a\n", "a\n", ""},
		"more":                  {"a\n", "a\nb\n", "b\n"},
		"a window that slides":  {"a\nb\nc\n", "b\nc\nd\n", "d\n"},
		"a line that goes on":   {"a\nb", "bcd\n", "cd\n"},
		"a gap":                 {"a\n", "x\ny\n", "[…]\nx\ny\n"},
		"a gap within a line":   {"a", "x\n", "\n[…]\nx\n"},
		"the end of a long one": {long + "x\n", "abcde\n" + "x\n" + "[exit 0]", "[exit 0]"},
		"the whole at the end":  {"head\n" + long, "head\n[9 bytes left out]\n" + long + "end\n", "end\n"},
	} {
		assert.Equal(t, c.want, appended(c.before, c.text), name)
	}
}
