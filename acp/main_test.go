package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// agentStub is an agent made of functions; one that is nil has a plain answer. It has no optional methods.
type agentStub struct {
	client     *ClientConn
	initialize func(context.Context, *InitializeRequest) (*InitializeResponse, error)
	newSession func(context.Context, *NewSessionRequest) (*NewSessionResponse, error)
	prompt     func(*PromptRequest) (func(context.Context) (*PromptResponse, error), error)
	cancel     func(*CancelNotification)
}

func (a *agentStub) Initialize(ctx context.Context, r *InitializeRequest) (*InitializeResponse, error) {
	if a.initialize != nil {
		return a.initialize(ctx, r)
	}
	return &InitializeResponse{ProtocolVersion: LatestVersion}, nil
}

func (a *agentStub) NewSession(ctx context.Context, r *NewSessionRequest) (*NewSessionResponse, error) {
	if a.newSession != nil {
		return a.newSession(ctx, r)
	}
	return &NewSessionResponse{SessionID: "s"}, nil
}

func (a *agentStub) Prompt(r *PromptRequest) (func(context.Context) (*PromptResponse, error), error) {
	if a.prompt != nil {
		return a.prompt(r)
	}
	return func(context.Context) (*PromptResponse, error) { return &PromptResponse{StopReason: StopEndTurn}, nil }, nil
}

func (a *agentStub) Cancel(n *CancelNotification) {
	if a.cancel != nil {
		a.cancel(n)
	}
}

// say sends text of the agent's.
func (a *agentStub) say(ctx context.Context, text string) error {
	return a.client.SessionUpdate(ctx, &SessionNotification{
		SessionID: "s", Update: AgentMessageChunk{Content: TextContent{Text: text}},
	})
}

// turnOf makes a prompt function of a turn that needs no reservation.
func turnOf(run func(context.Context) (StopReason, error)) func(*PromptRequest) (func(context.Context) (*PromptResponse, error), error) {
	return func(*PromptRequest) (func(context.Context) (*PromptResponse, error), error) {
		return func(ctx context.Context) (*PromptResponse, error) {
			stop, err := run(ctx)
			if err != nil {
				return nil, err
			}
			return &PromptResponse{StopReason: stop}, nil
		}, nil
	}
}

// untilDone is a turn that lasts until it is cancelled, and ends as an agent has to.
func untilDone(ctx context.Context) (StopReason, error) {
	<-ctx.Done()
	return StopCancelled, nil
}

// wire is the other end of a connection, line by line.
type wire struct {
	t     testing.TB
	end   io.ReadWriteCloser
	lines chan string
	over  chan struct{} // closed when Serve has returned
	err   error         // what it returned
	close func()
}

// connect serves an agent. The wire reads eagerly, so the agent is never held up.
func connect(tb testing.TB, agent *agentStub, o Options) *wire {
	tb.Helper()
	return connectAs(tb, func(c *ClientConn) Agent { agent.client = c; return agent }, o)
}

func connectAs(tb testing.TB, bind func(*ClientConn) Agent, o Options) *wire {
	tb.Helper()
	agentEnd, clientEnd := Pipe()
	w := newWire(tb, clientEnd)
	go func() {
		defer close(w.over)
		w.err = Serve(context.WithoutCancel(tb.Context()), agentEnd, bind, o)
	}()
	tb.Cleanup(func() { w.close(); <-w.over })
	return w
}

func newWire(tb testing.TB, end io.ReadWriteCloser) *wire {
	tb.Helper()
	w := &wire{t: tb, end: end, lines: make(chan string, 1<<14), over: make(chan struct{})}
	w.close = sync.OnceFunc(func() { assert.NoError(tb, end.Close()) })
	go func() {
		defer close(w.lines)
		in := bufio.NewReader(end)
		for {
			line, err := in.ReadString('\n')
			if line != "" {
				w.lines <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return w
}

// ready is connect with initialize done.
func ready(tb testing.TB, agent *agentStub, o Options) *wire {
	tb.Helper()
	w := connect(tb, agent, o)
	w.initialize(`{}`)
	return w
}

func (w *wire) initialize(caps string) {
	w.t.Helper()
	answer := w.ask(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":1,"clientCapabilities":` + caps + `}}`)
	require.JSONEq(w.t, `{"jsonrpc":"2.0","id":"init","result":{"protocolVersion":1}}`, answer)
}

func (w *wire) send(lines ...string) {
	w.t.Helper()
	for _, line := range lines {
		w.raw(line + "\n")
	}
}

func (w *wire) raw(text string) {
	w.t.Helper()
	_, err := io.WriteString(w.end, text)
	require.NoError(w.t, err)
}

// next is the next line that came, which has to be a message.
func (w *wire) next() string {
	w.t.Helper()
	line, ok := <-w.lines
	require.True(w.t, ok, "the connection ended")
	require.NoError(w.t, checkLine(line))
	return line[:len(line)-1]
}

func (w *wire) ask(line string) string {
	w.t.Helper()
	w.send(line)
	return w.next()
}

// rest is what comes until the connection is over.
func (w *wire) rest() []string {
	w.t.Helper()
	var all []string
	for line := range w.lines {
		require.NoError(w.t, checkLine(line))
		all = append(all, line[:len(line)-1])
	}
	return all
}

// closeInput ends what the agent reads, and only that.
func (w *wire) closeInput() {
	w.t.Helper()
	end, ok := w.end.(*pipeEnd)
	require.True(w.t, ok)
	require.NoError(w.t, end.PipeWriter.Close())
}

// finish ends the connection.
func (w *wire) finish() { w.close() }

// probe asks for a session, to see that the connection works.
func (w *wire) probe() {
	w.t.Helper()
	answer := w.ask(`{"jsonrpc":"2.0","id":"probe","method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
	require.JSONEq(w.t, `{"jsonrpc":"2.0","id":"probe","result":{"sessionId":"s"}}`, answer)
}

// probeRefused sees that the connection works before it is initialized.
func (w *wire) probeRefused() {
	w.t.Helper()
	refused(w.t, w.ask(`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"}}`), "1", CodeInvalidRequest)
}

// checkLine says what is wrong with a line of output, its end included.
func checkLine(line string) error {
	var message map[string]json.RawMessage
	switch err := json.Unmarshal([]byte(line), &message); {
	case err != nil:
		return fmt.Errorf("line %.200q: %w", line, err)
	case line[len(line)-1] != '\n':
		return errors.New("a line without an end")
	case len(line) > 1 && line[len(line)-2] == '\r':
		return errors.New("a line that ends with CR")
	case string(message["jsonrpc"]) != `"2.0"`:
		return fmt.Errorf("line %.200q is not JSON-RPC", line)
	case message["method"] != nil:
		return nil
	case message["id"] == nil, (message["result"] == nil) == (message["error"] == nil):
		return fmt.Errorf("line %.200q is no response", line)
	}
	return nil
}

// response is a response, for tests that look into one.
type response struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

func parse(tb testing.TB, line string) response {
	tb.Helper()
	var r response
	require.NoError(tb, json.Unmarshal([]byte(line), &r))
	return r
}

// refused checks that a line is an error with a code for a request, and returns its message.
func refused(tb testing.TB, line, id string, code int64) string {
	tb.Helper()
	r := parse(tb, line)
	require.NotNil(tb, r.Error, "%s", line)
	assert.Equal(tb, code, r.Error.Code, "%s", line)
	assert.Equal(tb, id, string(r.ID), "%s", line)
	assert.NotEmpty(tb, r.Error.Message)
	return r.Error.Message
}
