package acp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newLineReader reads lines only when asked for one.
func newLineReader(r io.Reader) func(testing.TB) string {
	in := bufio.NewReader(r)
	return func(tb testing.TB) string {
		tb.Helper()
		line, err := in.ReadString('\n')
		require.NoError(tb, err)
		require.NoError(tb, checkLine(line))
		return line[:len(line)-1]
	}
}

const (
	askInitialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`
	askSession    = `{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/"}}`
)

// What was asked before the end of the input is answered, also by what takes its time.
func TestEndRightBehindRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := connect(t, &agentStub{newSession: func(ctx context.Context, _ *NewSessionRequest) (*NewSessionResponse, error) {
			select {
			case <-time.After(3 * time.Second):
			case <-ctx.Done():
			}
			return &NewSessionResponse{SessionID: "s"}, ctx.Err()
		}}, Options{})
		begin := time.Now()
		w.raw(askInitialize + "\n" + askSession)
		w.closeInput()
		assert.Equal(t, []string{
			`{"id":0,"result":{"protocolVersion":1},"jsonrpc":"2.0"}`,
			`{"id":2,"result":{"sessionId":"s"},"jsonrpc":"2.0"}`,
		}, w.rest())
		<-w.over
		require.NoError(t, w.err)
		assert.Equal(t, 3*time.Second, time.Since(begin))
	})
}

// A turn ends with the input, at once, and its answer comes out. So it does when ctx ends.
func TestEndInATurn(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *wire, stop func()){
		"input":   func(w *wire, _ func()) { w.closeInput() },
		"context": func(_ *wire, stop func()) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				agent := &agentStub{}
				began := make(chan struct{}, 2)
				var asked, cause, said error // what the turn saw at its end
				agent.prompt = turnOf(func(ctx context.Context) (StopReason, error) {
					began <- struct{}{}
					_, asked = agent.client.RequestPermission(ctx, &RequestPermissionRequest{SessionID: "s", Options: []PermissionOption{}})
					<-ctx.Done()
					cause = context.Cause(ctx)
					said = agent.say(ctx, "bye")
					return StopCancelled, nil
				})
				agentEnd, clientEnd := Pipe()
				w := newWire(t, clientEnd)
				ctx, stop := context.WithCancel(t.Context())
				go func() {
					defer close(w.over)
					w.err = Serve(ctx, agentEnd, func(c *ClientConn) Agent { agent.client = c; return agent }, Options{})
				}()
				w.ask(askInitialize)
				w.send(askPrompt)
				<-began
				assert.Contains(t, w.next(), "session/request_permission")
				begin := time.Now()
				end(w, stop)
				rest := w.rest()
				<-w.over
				require.NoError(t, w.err)
				require.Error(t, asked)
				require.ErrorIs(t, cause, ErrClosed)
				require.NoError(t, said)
				assert.Zero(t, time.Since(begin))
				assert.Contains(t, rest, `{"id":1,"result":{"stopReason":"cancelled"},"jsonrpc":"2.0"}`)
				w.close()
				stop()
			})
		})
	}
}

// A request that has a question for the client, which cannot answer any more, does not wait for it.
func TestEndInAQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := &agentStub{}
		agent.newSession = func(ctx context.Context, _ *NewSessionRequest) (*NewSessionResponse, error) {
			_, err := agent.client.ReadTextFile(ctx, &ReadTextFileRequest{SessionID: "s", Path: "/f"})
			return nil, fmt.Errorf("reading the rules: %w", err)
		}
		w := connect(t, agent, Options{})
		w.initialize(`{"fs":{"readTextFile":true}}`)
		assert.Contains(t, w.ask(askSession), "fs/read_text_file")
		begin := time.Now()
		w.closeInput()
		assert.Contains(t, w.rest(), `{"id":2,"error":{"code":-32800,"message":"Request cancelled"},"jsonrpc":"2.0"}`)
		<-w.over
		require.NoError(t, w.err)
		assert.Zero(t, time.Since(begin))
	})
}

// A call that a machine should answer has a limit; one that a person answers has none.
func TestCallTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agent := &agentStub{}
		w := connect(t, agent, Options{})
		w.initialize(`{"fs":{"readTextFile":true}}`)
		begin := time.Now()
		_, err := agent.client.ReadTextFile(t.Context(), &ReadTextFileRequest{SessionID: "s", Path: "/f"})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, CallTimeout, time.Since(begin))
		ctx, stop := context.WithTimeout(t.Context(), 24*time.Hour)
		defer stop()
		_, err = agent.client.RequestPermission(ctx, &RequestPermissionRequest{SessionID: "s", Options: []PermissionOption{}})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, CallTimeout+24*time.Hour, time.Since(begin))
	})
}

// What does not end with its context is waited for only so long.
func TestEndWithAHandlerThatWillNot(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *wire, stop func()){
		"input":   func(w *wire, _ func()) { w.closeInput() },
		"context": func(_ *wire, stop func()) { stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				agent := &agentStub{
					prompt: turnOf(func(context.Context) (StopReason, error) { <-release; return StopEndTurn, nil }),
					newSession: func(ctx context.Context, _ *NewSessionRequest) (*NewSessionResponse, error) {
						<-ctx.Done() // ends only when its time is up
						return nil, ctx.Err()
					},
				}
				agentEnd, clientEnd := Pipe()
				w := newWire(t, clientEnd)
				ctx, stop := context.WithCancel(t.Context())
				go func() {
					defer close(w.over)
					w.err = Serve(ctx, agentEnd, func(*ClientConn) Agent { return agent }, Options{Grace: 8 * time.Second})
				}()
				w.ask(askInitialize)
				w.send(askPrompt, askSession)
				synctest.Wait()
				begin := time.Now()
				end(w, stop)
				assert.Equal(t, []string{`{"id":2,"error":{"code":-32800,"message":"Request cancelled"},"jsonrpc":"2.0"}`}, w.rest())
				<-w.over
				require.NoError(t, w.err)
				assert.Equal(t, 10*time.Second, time.Since(begin))
				close(release)
				w.close()
				stop()
			})
		})
	}
}

// A peer that reads nothing does not keep the agent from ending with ctx, even where the reader is stuck in an answer.
func TestEndWithAPeerThatReadsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		agentEnd, clientEnd := Pipe()
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- Serve(ctx, agentEnd, func(*ClientConn) Agent { return &agentStub{} }, Options{}) }()
		_, err := io.WriteString(clientEnd, "{}\n")
		require.NoError(t, err)
		synctest.Wait()
		begin := time.Now()
		stop()
		require.NoError(t, <-served)
		assert.LessOrEqual(t, time.Since(begin), 1500*time.Millisecond)
		require.NoError(t, clientEnd.Close())
	})
}

// brokenWriter is a connection whose other end has stopped listening, but not talking.
type brokenWriter struct {
	io.ReadWriteCloser
	left   int // lines that still come through
	writes int
}

var errBroken = errors.New("broken pipe")

func (b *brokenWriter) Write(p []byte) (int, error) {
	b.writes++
	if b.left == 0 {
		return 0, errBroken
	}
	b.left--
	return b.ReadWriteCloser.Write(p)
}

func TestBrokenOutput(t *testing.T) {
	t.Parallel()
	agent := &agentStub{}
	ended := make(chan error, 1)
	agent.prompt = turnOf(func(ctx context.Context) (StopReason, error) {
		var err error
		for err == nil {
			err = agent.say(ctx, "x")
		}
		<-ctx.Done() // ends without anybody's doing
		ended <- context.Cause(ctx)
		return "", err
	})
	agentEnd, clientEnd := Pipe()
	w := newWire(t, clientEnd)
	broken := &brokenWriter{ReadWriteCloser: agentEnd, left: 5}
	go func() {
		defer close(w.over)
		w.err = Serve(context.WithoutCancel(t.Context()), broken, func(c *ClientConn) Agent { agent.client = c; return agent }, Options{})
	}()
	w.send(askInitialize, askPrompt)
	<-w.over
	require.ErrorIs(t, w.err, errBroken)
	require.ErrorIs(t, <-ended, ErrClosed)
	assert.Equal(t, 6, broken.writes, "nothing is written behind a failure")
	require.ErrorIs(t, agent.say(t.Context(), "more"), ErrClosed)
	assert.Len(t, w.rest(), 5)
	w.close()
}

// Whoever closes a Pipe while the other end writes has ended the connection, not broken it.
func TestPeerClosesDuringAWrite(t *testing.T) {
	t.Parallel()
	agent := &agentStub{}
	writing := make(chan struct{})
	begin := sync.OnceFunc(func() { close(writing) })
	agent.prompt = turnOf(func(ctx context.Context) (StopReason, error) {
		for {
			if err := agent.say(ctx, "x"); err != nil {
				return "", err
			}
			begin()
		}
	})
	w := ready(t, agent, Options{})
	w.send(askPrompt)
	<-writing
	w.close()
	<-w.over
	require.NoError(t, w.err)
}

// brokenReader fails after what it has.
type brokenReader struct{ io.Reader }

func (b brokenReader) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) {
		err = errBroken
	}
	return n, err
}

func TestBrokenInput(t *testing.T) {
	t.Parallel()
	r, out := io.Pipe()
	lines := make(chan []byte, 1)
	go func() {
		all, err := io.ReadAll(r)
		assert.NoError(t, err)
		lines <- all
	}()
	in := brokenReader{strings.NewReader(askInitialize + "\n" + askSession + "\n")}
	err := Serve(t.Context(), Stdio(in, out), func(*ClientConn) Agent { return &agentStub{} }, Options{})
	require.ErrorIs(t, err, errBroken)
	assert.NotEmpty(t, <-lines)
}

// Over pipes of the system, as an agent is run.
func TestOverSystemPipes(t *testing.T) {
	t.Parallel()
	agentIn, toAgent, err := os.Pipe()
	require.NoError(t, err)
	fromAgent, agentOut, err := os.Pipe()
	require.NoError(t, err)
	agent := &agentStub{}
	streaming := make(chan struct{})
	begin := sync.OnceFunc(func() { close(streaming) })
	agent.prompt = turnOf(func(ctx context.Context) (StopReason, error) {
		for {
			if err := agent.say(ctx, "x"); err != nil {
				return "", err
			}
			begin()
		}
	})
	served := make(chan error, 1)
	go func() {
		served <- Serve(context.WithoutCancel(t.Context()), Stdio(agentIn, agentOut),
			func(c *ClientConn) Agent { agent.client = c; return agent }, Options{})
	}()
	lines := newLineReader(fromAgent)
	_, err = io.WriteString(toAgent, askInitialize+"\n"+askSession+"\n"+askPrompt+"\n")
	require.NoError(t, err)
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}`, lines(t))
	<-streaming
	require.NoError(t, fromAgent.Close()) // in the middle of the stream
	require.Error(t, <-served)
	require.NoError(t, toAgent.Close())
}

// recorder counts what is written.
type recorder struct {
	io.ReadWriteCloser
	written atomic.Int64
}

func (r *recorder) Write(p []byte) (int, error) {
	r.written.Add(1)
	return r.ReadWriteCloser.Write(p)
}

func (r *recorder) count() int { return int(r.written.Load()) }
