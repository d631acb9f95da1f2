package acp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clientStub is a client without optional methods.
type clientStub struct {
	update     func(*SessionNotification) error
	permission func(context.Context, *RequestPermissionRequest) (*RequestPermissionResponse, error)
}

func (c *clientStub) SessionUpdate(_ context.Context, n *SessionNotification) error {
	if c.update != nil {
		return c.update(n)
	}
	return nil
}

func (c *clientStub) RequestPermission(ctx context.Context, r *RequestPermissionRequest) (*RequestPermissionResponse, error) {
	if c.permission != nil {
		return c.permission(ctx, r)
	}
	return &RequestPermissionResponse{Outcome: Selected{OptionID: "yes"}}, nil
}

// join connects an agent and a client; Close of what it returns ends both, and is checked.
func join(tb testing.TB, bind func(*ClientConn) Agent, client Client) *AgentConn {
	tb.Helper()
	agentEnd, clientEnd := Pipe()
	served := make(chan error, 1)
	go func() { served <- Serve(context.WithoutCancel(tb.Context()), agentEnd, bind, Options{}) }()
	conn := Dial(context.WithoutCancel(tb.Context()), clientEnd, client, Options{})
	tb.Cleanup(func() {
		assert.NoError(tb, conn.Close())
		assert.NoError(tb, <-served)
		<-conn.Done()
	})
	return conn
}

func TestClientSeesUpdatesInOrder(t *testing.T) {
	t.Parallel()
	const count = 500
	agent := &agentStub{}
	agent.prompt = turnOf(func(ctx context.Context) (StopReason, error) {
		for i := range count {
			if err := agent.say(ctx, fmt.Sprint(i)); err != nil {
				return "", err
			}
		}
		return StopEndTurn, nil
	})
	var seen, want []string
	client := &clientStub{update: func(n *SessionNotification) error {
		chunk, _ := n.Update.(AgentMessageChunk)
		text, _ := chunk.Content.(TextContent)
		seen = append(seen, text.Text)
		if len(seen)%100 == 0 {
			panic("a client may be wrong")
		}
		return errors.New("or displeased")
	}}
	conn := join(t, func(c *ClientConn) Agent { agent.client = c; return agent }, client)
	_, err := conn.Initialize(t.Context(), &InitializeRequest{ProtocolVersion: 1})
	require.NoError(t, err)
	for range 3 {
		r, err := conn.Prompt(t.Context(), &PromptRequest{SessionID: "s", Prompt: ContentBlocks{}})
		require.NoError(t, err)
		assert.Equal(t, &PromptResponse{StopReason: StopEndTurn}, r)
		for i := range count {
			want = append(want, fmt.Sprint(i))
		}
		assert.Equal(t, want, seen)
	}
}

// The person may think as long as they like: everything else goes on, other questions included.
func TestClientAsksConcurrently(t *testing.T) {
	t.Parallel()
	const count = 5
	var asked sync.WaitGroup
	asked.Add(count)
	client := &clientStub{permission: func(ctx context.Context, _ *RequestPermissionRequest) (*RequestPermissionResponse, error) {
		asked.Done()
		asked.Wait() // for all the others
		return &RequestPermissionResponse{Outcome: Selected{OptionID: "yes"}}, ctx.Err()
	}}
	agent := asker(make(chan error, count))
	conn := join(t, func(c *ClientConn) Agent { agent.client = c; return agent }, client)
	_, err := conn.Initialize(t.Context(), &InitializeRequest{ProtocolVersion: 1})
	require.NoError(t, err)
	var prompts sync.WaitGroup
	for range count {
		prompts.Go(func() {
			r, err := conn.Prompt(t.Context(), &PromptRequest{SessionID: "s", Prompt: ContentBlocks{}})
			if assert.NoError(t, err) {
				assert.Equal(t, &PromptResponse{StopReason: StopEndTurn}, r)
			}
		})
	}
	prompts.Wait()
}

// A cancelled prompt takes its question back from the client, whose answer nobody awaits.
func TestCancelCascadesToTheClient(t *testing.T) {
	t.Parallel()
	withdrawn := make(chan error, 1)
	opened := make(chan struct{})
	client := &clientStub{permission: func(ctx context.Context, _ *RequestPermissionRequest) (*RequestPermissionResponse, error) {
		close(opened)
		<-ctx.Done()
		withdrawn <- context.Cause(ctx)
		return nil, ctx.Err()
	}}
	asked := make(chan error, 1)
	agent := asker(asked)
	conn := join(t, func(c *ClientConn) Agent { agent.client = c; return agent }, client)
	_, err := conn.Initialize(t.Context(), &InitializeRequest{ProtocolVersion: 1})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := conn.Prompt(ctx, &PromptRequest{SessionID: "s", Prompt: ContentBlocks{}})
		failed <- err
	}()
	<-opened
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	require.ErrorIs(t, <-withdrawn, ErrCancelled)
	require.ErrorIs(t, <-asked, context.Canceled)
	_, err = conn.NewSession(t.Context(), &NewSessionRequest{Cwd: "/"})
	require.NoError(t, err)
}

// When the agent goes away, calls to it and questions of its end at once; answers that came before count.
func TestAgentGoesAway(t *testing.T) {
	t.Parallel()
	t.Run("wholly", func(t *testing.T) {
		t.Parallel()
		testAgentGoesAway(t, (*wire).finish)
	})
	t.Run("but still listens", func(t *testing.T) {
		t.Parallel()
		testAgentGoesAway(t, (*wire).closeInput)
	})
}

func testAgentGoesAway(t *testing.T, leave func(*wire)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		opened := make(chan struct{})
		client := &clientStub{permission: func(ctx context.Context, _ *RequestPermissionRequest) (*RequestPermissionResponse, error) {
			close(opened)
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		agentEnd, clientEnd := Pipe()
		conn := Dial(t.Context(), clientEnd, client, Options{})
		w := newWire(t, agentEnd)
		failed := make(chan error, 1)
		go func() {
			_, err := conn.Prompt(t.Context(), &PromptRequest{SessionID: "s", Prompt: ContentBlocks{}})
			failed <- err
		}()
		w.next()
		w.send(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[]}}`)
		<-opened
		begin := time.Now()
		leave(w)
		require.ErrorIs(t, <-failed, ErrClosed)
		<-conn.Done()
		assert.Zero(t, time.Since(begin))
		_, err := conn.NewSession(t.Context(), &NewSessionRequest{Cwd: "/"})
		require.ErrorIs(t, err, ErrClosed)
		require.ErrorIs(t, conn.Cancel(t.Context(), &CancelNotification{SessionID: "s"}), ErrClosed)
		require.NoError(t, conn.Close())
		require.NoError(t, conn.Close(), "once more")
		w.close()
	})
}

func TestAnswerRightBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for run := range 300 {
		agentEnd, clientEnd := Pipe()
		conn := Dial(context.WithoutCancel(t.Context()), clientEnd, &clientStub{}, Options{})
		go func() {
			lines := newLineReader(agentEnd)
			lines(t)
			_, err := io.WriteString(agentEnd, `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`) // and no newline
			assert.NoError(t, err)
			assert.NoError(t, agentEnd.Close())
		}()
		r, err := conn.NewSession(t.Context(), &NewSessionRequest{Cwd: "/"})
		require.NoError(t, err, "run %d", run)
		assert.Equal(t, &NewSessionResponse{SessionID: "s"}, r)
		require.NoError(t, conn.Close())
	}
}

func TestCloseEndsCalls(t *testing.T) {
	t.Parallel()
	agentEnd, clientEnd := Pipe()
	conn := Dial(context.WithoutCancel(t.Context()), clientEnd, &clientStub{}, Options{})
	w := newWire(t, agentEnd)
	failed := make(chan error, 1)
	go func() {
		_, err := conn.NewSession(context.WithoutCancel(t.Context()), &NewSessionRequest{Cwd: "/"})
		failed <- err
	}()
	w.next()
	require.NoError(t, conn.Close())
	require.ErrorIs(t, <-failed, ErrClosed)
	w.close()
}

func TestClientRefusesWhatItDoesNotHave(t *testing.T) {
	t.Parallel()
	agentEnd, clientEnd := Pipe()
	conn := Dial(context.WithoutCancel(t.Context()), clientEnd, &clientStub{}, Options{})
	w := newWire(t, agentEnd)
	for _, method := range []string{"fs/read_text_file", "terminal/create", "elicitation/create", "_x", "session/update", "session/prompt", "nope"} {
		refused(t, w.ask(`{"jsonrpc":"2.0","id":-3,"method":"`+method+`","params":{}}`), "-3", CodeMethodNotFound)
	}
	w.send(`{"jsonrpc":"2.0","method":"elicitation/complete","params":{"elicitationId":"e"}}`, `{"jsonrpc":"2.0","method":"session/update"}`)
	refused(t, w.ask("[]"), "null", CodeInvalidRequest)
	require.NoError(t, conn.Close())
	w.close()
}
