package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asker is an agent whose turns ask for permission, and say how that went.
func asker(asked chan<- error) *agentStub {
	agent := &agentStub{}
	agent.prompt = turnOf(func(ctx context.Context) (StopReason, error) {
		r, err := agent.client.RequestPermission(ctx, &RequestPermissionRequest{
			SessionID: "s", ToolCall: ToolCallUpdate{ToolCallID: "t"},
			Options: []PermissionOption{{OptionID: "yes", Name: "Yes", Kind: PermissionAllowOnce}},
		})
		asked <- err
		if ctx.Err() != nil {
			return StopCancelled, nil //nolint:nilerr // a turn that was cancelled ends so, without an error
		}
		if err != nil {
			return "", err
		}
		if _, ok := r.Outcome.(Selected); !ok {
			return StopRefusal, nil
		}
		return StopEndTurn, nil
	})
	return agent
}

const askPrompt = `{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[]}}`

func TestPermission(t *testing.T) {
	t.Parallel()
	const question = `{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},
		"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"}]}}`
	tests := []struct{ name, answer, result string }{
		{"allowed", `"result":{"outcome":{"outcome":"selected","optionId":"yes"}}`, `"result":{"stopReason":"end_turn"}`},
		{"cancelled", `"result":{"outcome":{"outcome":"cancelled"}}`, `"result":{"stopReason":"refusal"}`},
		{"unknown outcome", `"result":{"outcome":{"outcome":"later","x":1e999}}`, `"result":{"stopReason":"refusal"}`},
		{"refused", `"error":{"code":-32000,"message":"who are you","data":{"a":[1]}}`, `"error":{"code":-32000,"message":"who are you","data":{"a":[1]}}`},
		{"error and result", `"result":{},"error":{"code":5,"message":"no"}`, `"error":{"code":5,"message":"no"}`},
		{"error with odd data", `"error":{"code":5,"message":"no","data":1e999}`, `"error":{"code":5,"message":"no","data":1e999}`},
		{"error that is null", `"error":null,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}`, `"result":{"stopReason":"end_turn"}`},
		{"error that cannot be read", `"error":"no"`, `"error":{"code":-32603,"message":"the peer answered with an error that cannot be read"}`},
		{"result without outcome", `"result":{}`, `"error":{"code":-32603,"message":"Internal error","data":{"kind":"internal"}}`},
		{"result that is null", `"result":null`, `"error":{"code":-32603,"message":"Internal error","data":{"kind":"internal"}}`},
		{"no result", `"more":1`, `"error":{"code":-32603,"message":"Internal error","data":{"kind":"internal"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan error, 1)
			w := ready(t, asker(asked), Options{})
			assert.JSONEq(t, question, w.ask(askPrompt))
			w.probe() // (d): others are answered while the question is open, whose id is that of the prompt
			w.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":5}}`)
			assertSameMessage(t, `{"jsonrpc":"2.0","id":1,`+tt.result+`}`, w.ask(`{"jsonrpc":"2.0","id":1,`+tt.answer+`}`))
			w.send(`{"jsonrpc":"2.0","id":1,` + tt.answer + `,"error":{"code":9,"message":"late"}}`)
			w.probe()
		})
	}
}

// A response without its version is refused, and does not leave the question open.
func TestPermissionAnsweredBadly(t *testing.T) {
	t.Parallel()
	asked := make(chan error, 1)
	w := ready(t, asker(asked), Options{})
	w.ask(askPrompt)
	refused(t, w.ask(`{"id":1,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}`), "null", CodeInvalidRequest)
	refused(t, w.next(), "1", CodeInternalError)
	var failure *Error
	require.ErrorAs(t, <-asked, &failure)
	w.probe()
}

// assertSameMessage compares messages whose numbers float64 cannot hold.
func assertSameMessage(tb testing.TB, want, got string) {
	tb.Helper()
	decode := func(text string) map[string]any {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var m map[string]any
		require.NoError(tb, d.Decode(&m), "%s", text)
		return m
	}
	assert.Equal(tb, decode(want), decode(got))
}

// That nobody waits for a terminal's end any more does not take that end back.
func TestTheEndOfATerminalLasts(t *testing.T) {
	t.Parallel()
	agent := &agentStub{}
	giveUps := make(chan context.CancelFunc)
	agent.prompt = turnOf(func(ctx context.Context) (StopReason, error) {
		c := agent.client
		for _, call := range []func(context.Context) error{
			func(ctx context.Context) error {
				_, err := c.KillTerminal(ctx, &KillTerminalRequest{SessionID: "s", TerminalID: "t"})
				return err
			},
			func(ctx context.Context) error {
				_, err := c.ReleaseTerminal(ctx, &ReleaseTerminalRequest{SessionID: "s", TerminalID: "t"})
				return err
			},
			func(ctx context.Context) error {
				_, err := c.TerminalOutput(ctx, &TerminalOutputRequest{SessionID: "s", TerminalID: "t"})
				return err
			},
		} {
			calling, giveUp := context.WithCancel(ctx)
			giveUps <- giveUp
			assert.ErrorIs(t, call(calling), context.Canceled)
		}
		return StopEndTurn, nil
	})
	w := connect(t, agent, Options{})
	w.initialize(`{"terminal":true}`)
	w.send(askPrompt)
	for _, method := range []string{"terminal/kill", "terminal/release", "terminal/output"} {
		giveUp := <-giveUps
		assert.Contains(t, w.next(), `"method":"`+method+`"`)
		giveUp()
	}
	last := w.next() + w.next() // the two may come in any order
	assert.Contains(t, last, `"$/cancel_request","params":{"requestId":3}`)
	assert.Contains(t, last, `"stopReason":"end_turn"`)
}

// A cancelled request takes its own question back; what comes for it later is ignored.
func TestCancelDuringPermission(t *testing.T) {
	t.Parallel()
	const (
		cancelPrompt = `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`
		answer       = `{"jsonrpc":"2.0","id":1,"result":{"outcome":{"outcome":"cancelled"}}}`
	)
	for name, late := range map[string]bool{"never answered": false, "answered late": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan error, 1)
			w := ready(t, asker(asked), Options{})
			w.ask(askPrompt)
			w.send(cancelPrompt)
			got := []string{w.next(), w.next()} // the two may come in any order
			if strings.Contains(got[1], "$/cancel_request") {
				got[0], got[1] = got[1], got[0]
			}
			assert.JSONEq(t, cancelPrompt, got[0])
			assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}`, got[1])
			require.ErrorIs(t, <-asked, context.Canceled)
			if late {
				w.send(answer, answer)
			}
			w.probe()
			assert.Contains(t, w.ask(askPrompt), `"id":2`)
		})
	}
}

// Nothing is kept of calls that were given up, though the peer never answers them.
func TestGivenUpCallsAreForgotten(t *testing.T) {
	t.Parallel()
	agentEnd, clientEnd := Pipe()
	w := newWire(t, clientEnd)
	conn := Dial(context.WithoutCancel(t.Context()), agentEnd, &clientStub{}, Options{})
	for i := range 500 {
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := conn.NewSession(ctx, &NewSessionRequest{Cwd: "/"})
			failed <- err
		}()
		assert.Equal(t, strconv.Itoa(i+1), string(parse(t, w.next()).ID))
		cancel()
		require.ErrorIs(t, <-failed, context.Canceled)
		require.JSONEq(t, fmt.Sprintf(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`, i+1), w.next())
	}
	// Whatever the reader had to do for the calls it has done when it answers the second of these.
	for range 2 {
		refused(t, w.ask(`{"jsonrpc":"2.0","id":1,"method":"nope"}`), "1", CodeMethodNotFound)
	}
	assert.Empty(t, conn.conn.stream.calls.waiting)
	assert.Empty(t, conn.conn.stream.calls.abandoned)
	assert.Zero(t, pendingCalls(conn.conn))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := conn.NewSession(ctx, &NewSessionRequest{Cwd: "/"})
	require.ErrorIs(t, err, context.Canceled, "and sends nothing")
	refused(t, w.ask(`{"jsonrpc":"2.0","id":1,"method":"nope"}`), "1", CodeMethodNotFound)
	require.NoError(t, conn.Close())
	w.close()
}

// pendingCalls is how many calls jsonrpc2 remembers.
func pendingCalls(c *conn) int {
	return reflect.ValueOf(c.rpc).Elem().FieldByName("pending").Len()
}

// A call whose bytes nobody reads can be given up too.
func TestGivingUpAnUnreadCall(t *testing.T) {
	t.Parallel()
	agentEnd, clientEnd := Pipe() // nobody reads at clientEnd
	conn := Dial(context.WithoutCancel(t.Context()), agentEnd, &clientStub{}, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := conn.NewSession(ctx, &NewSessionRequest{Cwd: "/"})
		failed <- err
	}()
	_, err := clientEnd.Read(make([]byte, 1)) // now it is being written
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	require.NoError(t, conn.Close())
	require.NoError(t, clientEnd.Close())
}

func TestCancelRequest(t *testing.T) {
	t.Parallel()
	cancelOf := func(id string) string {
		return `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":` + id + `}}`
	}
	tests := []struct {
		name string
		stop func(context.Context) error
	}{
		{"its context's error", func(ctx context.Context) error { return ctx.Err() }},
		{"its context's error, wrapped", func(ctx context.Context) error { return fmt.Errorf("reading /etc/secret: %w", ctx.Err()) }},
		{"its context's cause", context.Cause},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := ready(t, &agentStub{newSession: func(ctx context.Context, r *NewSessionRequest) (*NewSessionResponse, error) {
				if r.Cwd != "/wait" {
					return &NewSessionResponse{SessionID: "s"}, nil
				}
				<-ctx.Done()
				return nil, tt.stop(ctx)
			}}, Options{})
			for _, id := range []string{"4", "-4", `"4"`, "null"} {
				w.send(`{"jsonrpc":"2.0","id":`+id+`,"method":"session/new","params":{"cwd":"/wait"}}`, cancelOf("44"), cancelOf(`"44"`))
				w.probe()
				assert.Equal(t, "Request cancelled", refused(t, w.ask(cancelOf(id)), id, CodeCancelled))
			}
		})
	}
	t.Run("of a turn", func(t *testing.T) {
		t.Parallel()
		w := ready(t, &agentStub{prompt: turnOf(func(ctx context.Context) (StopReason, error) {
			<-ctx.Done()
			assert.ErrorIs(t, context.Cause(ctx), ErrCancelled)
			return StopCancelled, nil
		})}, Options{})
		w.send(askPrompt)
		assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"cancelled"}}`, w.ask(cancelOf("1")))
	})
}

// deaf is a peer that does not read any more; that it has ended is still to be seen.
type deaf struct{ *io.PipeReader }

func (deaf) Write([]byte) (int, error) { return 0, syscall.EPIPE }

// A call that could not be written has no answer: its peer is gone, even before its own end of the connection shows that.
func TestACallToAPeerThatIsGone(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	conn := Dial(context.WithoutCancel(t.Context()), deaf{r}, &clientStub{}, Options{})
	_, err := conn.NewSession(t.Context(), &NewSessionRequest{Cwd: "/"})
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, w.Close())
	require.ErrorIs(t, conn.Close(), syscall.EPIPE)
}
