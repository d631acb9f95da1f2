package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// everyAgent has every method an agent can have. A prompt's turn lasts until it is cancelled.
type everyAgent struct{ cancelled atomic.Bool }

func (*everyAgent) Initialize(context.Context, *InitializeRequest) (*InitializeResponse, error) {
	return &InitializeResponse{ProtocolVersion: LatestVersion}, nil
}

func (*everyAgent) NewSession(context.Context, *NewSessionRequest) (*NewSessionResponse, error) {
	return &NewSessionResponse{SessionID: "s"}, nil
}

func (*everyAgent) Prompt(*PromptRequest) (func(context.Context) (*PromptResponse, error), error) {
	return func(ctx context.Context) (*PromptResponse, error) {
		<-ctx.Done()
		return &PromptResponse{StopReason: StopCancelled}, nil
	}, nil
}

func (a *everyAgent) Cancel(*CancelNotification) { a.cancelled.Store(true) }

func (*everyAgent) LoadSession(*LoadSessionRequest) (func(context.Context) (*LoadSessionResponse, error), error) {
	return func(context.Context) (*LoadSessionResponse, error) { return &LoadSessionResponse{}, nil }, nil
}

func (*everyAgent) ResumeSession(*ResumeSessionRequest) (func(context.Context) (*ResumeSessionResponse, error), error) {
	return func(context.Context) (*ResumeSessionResponse, error) { return &ResumeSessionResponse{}, nil }, nil
}

func (*everyAgent) CloseSession(*CloseSessionRequest) (func(context.Context) (*CloseSessionResponse, error), error) {
	return func(context.Context) (*CloseSessionResponse, error) { return &CloseSessionResponse{}, nil }, nil
}

func (*everyAgent) ListSessions(context.Context, *ListSessionsRequest) (*ListSessionsResponse, error) {
	return &ListSessionsResponse{}, nil
}

func (*everyAgent) DeleteSession(*DeleteSessionRequest) (func(context.Context) (*DeleteSessionResponse, error), error) {
	return func(context.Context) (*DeleteSessionResponse, error) { return &DeleteSessionResponse{}, nil }, nil
}

func (*everyAgent) Authenticate(context.Context, *AuthenticateRequest) (*AuthenticateResponse, error) {
	return &AuthenticateResponse{}, nil
}

func (*everyAgent) Logout(context.Context, *LogoutRequest) (*LogoutResponse, error) {
	return &LogoutResponse{}, nil
}

func (*everyAgent) SetSessionMode(*SetSessionModeRequest) (func(context.Context) (*SetSessionModeResponse, error), error) {
	return func(context.Context) (*SetSessionModeResponse, error) { return &SetSessionModeResponse{}, nil }, nil
}

func (*everyAgent) SetSessionConfigOption(*SetSessionConfigOptionRequest) (func(context.Context) (*SetSessionConfigOptionResponse, error), error) {
	return func(context.Context) (*SetSessionConfigOptionResponse, error) {
		return &SetSessionConfigOptionResponse{}, nil
	}, nil
}

// everyClient has every method a client can have.
type everyClient struct{ updates, completed atomic.Bool }

func (c *everyClient) SessionUpdate(context.Context, *SessionNotification) error {
	c.updates.Store(true)
	return nil
}

func (c *everyClient) CompleteElicitation(context.Context, *CompleteElicitationNotification) error {
	c.completed.Store(true)
	return nil
}

func (*everyClient) RequestPermission(context.Context, *RequestPermissionRequest) (*RequestPermissionResponse, error) {
	return &RequestPermissionResponse{Outcome: Cancelled{}}, nil
}

func (*everyClient) ReadTextFile(context.Context, *ReadTextFileRequest) (*ReadTextFileResponse, error) {
	return &ReadTextFileResponse{}, nil
}

func (*everyClient) WriteTextFile(context.Context, *WriteTextFileRequest) (*WriteTextFileResponse, error) {
	return &WriteTextFileResponse{}, nil
}

func (*everyClient) CreateTerminal(context.Context, *CreateTerminalRequest) (*CreateTerminalResponse, error) {
	return &CreateTerminalResponse{TerminalID: "t"}, nil
}

func (*everyClient) TerminalOutput(context.Context, *TerminalOutputRequest) (*TerminalOutputResponse, error) {
	return &TerminalOutputResponse{}, nil
}

func (*everyClient) WaitForTerminalExit(context.Context, *WaitForTerminalExitRequest) (*WaitForTerminalExitResponse, error) {
	return &WaitForTerminalExitResponse{}, nil
}

func (*everyClient) KillTerminal(context.Context, *KillTerminalRequest) (*KillTerminalResponse, error) {
	return &KillTerminalResponse{}, nil
}

func (*everyClient) ReleaseTerminal(context.Context, *ReleaseTerminalRequest) (*ReleaseTerminalResponse, error) {
	return &ReleaseTerminalResponse{}, nil
}

func (*everyClient) CreateElicitation(context.Context, *CreateElicitationRequest) (*CreateElicitationResponse, error) {
	return &CreateElicitationResponse{Action: ElicitationDeclineAction{}}, nil
}

// goodParams are params that a method takes.
var goodParams = map[string]string{
	"initialize":                 `{"protocolVersion":1}`,
	"authenticate":               `{"methodId":"m"}`,
	"session/new":                `{"cwd":"/w","mcpServers":[]}`,
	"session/load":               `{"sessionId":"s","cwd":"/w","mcpServers":[]}`,
	"session/resume":             `{"sessionId":"s","cwd":"/w"}`,
	"session/set_mode":           `{"sessionId":"s","modeId":"m"}`,
	"session/set_config_option":  `{"sessionId":"s","configId":"c","value":"v"}`,
	"session/prompt":             `{"sessionId":"s","prompt":[]}`,
	"session/request_permission": `{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[]}`,
	"session/update":             `{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[]}}`,
	"fs/read_text_file":          `{"sessionId":"s","path":"/a"}`,
	"fs/write_text_file":         `{"sessionId":"s","path":"/a","content":""}`,
	"terminal/create":            `{"sessionId":"s","command":"c"}`,
	"elicitation/create":         `{"sessionId":"s","message":"m","mode":"url","url":"u","elicitationId":"e"}`,
	"elicitation/complete":       `{"elicitationId":"e"}`,
}

func methodsOf(t *testing.T, side string) []string {
	t.Helper()
	var meta map[string]json.RawMessage
	var names map[string]string
	require.NoError(t, json.Unmarshal(must(os.ReadFile("testdata/meta.json")), &meta))
	require.NoError(t, json.Unmarshal(meta[side], &names))
	var out []string
	for _, key := range keys(names) {
		out = append(out, names[key])
	}
	return out
}

// peer is an end of a connection that is spoken to line by line.
type peer struct {
	t   *testing.T
	in  *bufio.Reader
	out io.Writer
	id  int
}

func (p *peer) send(format string, args ...any) {
	p.t.Helper()
	_, err := fmt.Fprintf(p.out, format+"\n", args...)
	require.NoError(p.t, err)
}

func (p *peer) line() string {
	p.t.Helper()
	line, err := p.in.ReadString('\n')
	require.NoError(p.t, err)
	return line
}

// ask sends a request that must be answered with a result.
func (p *peer) ask(method string) {
	p.t.Helper()
	params := goodParams[method]
	if params == "" {
		params = `{"sessionId":"s","terminalId":"t"}`
	}
	p.id++
	p.send(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, p.id, method, params)
	if method == "session/prompt" {
		p.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%d}}`, p.id)
	}
	var answer struct {
		ID     int             `json:"id"`
		Result json.RawMessage `json:"result"`
	}
	line := p.line()
	require.NoError(p.t, json.Unmarshal([]byte(line), &answer), line)
	assert.Equal(p.t, p.id, answer.ID, method)
	assert.Regexp(p.t, `^\{`, string(answer.Result), "%s: %s", method, line)
}

func (p *peer) tell(method string) {
	p.t.Helper()
	params := goodParams[method]
	if params == "" {
		params = `{"sessionId":"s"}`
	}
	p.send(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

func TestEveryAgentMethodIsDispatched(t *testing.T) {
	t.Parallel()
	near, far := Pipe()
	agent := &everyAgent{}
	done := make(chan error, 1)
	go func() { done <- Serve(t.Context(), near, func(*ClientConn) Agent { return agent }, Options{}) }()
	p := &peer{t: t, in: bufio.NewReader(far), out: far}
	p.ask("initialize")
	for _, method := range methodsOf(t, "agentMethods") {
		switch method {
		case "initialize":
		case "session/cancel":
			p.tell(method)
		default:
			p.ask(method)
		}
	}
	p.ask("session/new")
	assert.True(t, agent.cancelled.Load(), "session/cancel")
	require.NoError(t, far.Close())
	require.NoError(t, <-done)
}

func TestEveryClientMethodIsDispatched(t *testing.T) {
	t.Parallel()
	near, far := Pipe()
	client := &everyClient{}
	conn := Dial(t.Context(), far, client, Options{})
	p := &peer{t: t, in: bufio.NewReader(near), out: near}
	for _, method := range methodsOf(t, "clientMethods") {
		switch method {
		case "session/update", "elicitation/complete":
			p.tell(method)
		default:
			p.ask(method)
		}
	}
	p.ask("fs/read_text_file")
	assert.True(t, client.updates.Load(), "session/update")
	assert.True(t, client.completed.Load(), "elicitation/complete")
	require.NoError(t, conn.Close())
	<-conn.Done()
}
