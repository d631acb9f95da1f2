package acp

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fullAgent has every optional method.
type fullAgent struct{ agentStub }

func (*fullAgent) LoadSession(*LoadSessionRequest) (func(context.Context) (*LoadSessionResponse, error), error) {
	return nothing[LoadSessionResponse], nil
}

func (*fullAgent) ResumeSession(*ResumeSessionRequest) (func(context.Context) (*ResumeSessionResponse, error), error) {
	return nothing[ResumeSessionResponse], nil
}

func (*fullAgent) CloseSession(*CloseSessionRequest) (func(context.Context) (*CloseSessionResponse, error), error) {
	return nothing[CloseSessionResponse], nil
}

func (*fullAgent) ListSessions(ctx context.Context, _ *ListSessionsRequest) (*ListSessionsResponse, error) {
	return nothing[ListSessionsResponse](ctx)
}

func (*fullAgent) DeleteSession(*DeleteSessionRequest) (func(context.Context) (*DeleteSessionResponse, error), error) {
	return nothing[DeleteSessionResponse], nil
}

func (*fullAgent) Authenticate(ctx context.Context, _ *AuthenticateRequest) (*AuthenticateResponse, error) {
	return nothing[AuthenticateResponse](ctx)
}

func (*fullAgent) Logout(ctx context.Context, _ *LogoutRequest) (*LogoutResponse, error) {
	return nothing[LogoutResponse](ctx)
}

func (*fullAgent) SetSessionMode(*SetSessionModeRequest) (func(context.Context) (*SetSessionModeResponse, error), error) {
	return nothing[SetSessionModeResponse], nil
}

func (*fullAgent) SetSessionConfigOption(*SetSessionConfigOptionRequest) (func(context.Context) (*SetSessionConfigOptionResponse, error), error) {
	return nothing[SetSessionConfigOptionResponse], nil
}

func (*fullAgent) Extension(_ context.Context, method string, params json.RawMessage) (any, error) {
	if method != "_echo" {
		return nil, ErrMethodNotFound
	}
	return params, nil
}

func nothing[R any](context.Context) (*R, error) { return nil, nil }

// fullClient has every optional method and answers with zero values.
type fullClient struct {
	clientStub
	completed chan ElicitationID
}

func (*fullClient) ReadTextFile(context.Context, *ReadTextFileRequest) (*ReadTextFileResponse, error) {
	return &ReadTextFileResponse{Content: "text"}, nil
}

func (*fullClient) WriteTextFile(ctx context.Context, _ *WriteTextFileRequest) (*WriteTextFileResponse, error) {
	return nothing[WriteTextFileResponse](ctx)
}

func (*fullClient) CreateTerminal(context.Context, *CreateTerminalRequest) (*CreateTerminalResponse, error) {
	return &CreateTerminalResponse{TerminalID: "t"}, nil
}

func (*fullClient) TerminalOutput(context.Context, *TerminalOutputRequest) (*TerminalOutputResponse, error) {
	return &TerminalOutputResponse{Output: "out"}, nil
}

func (*fullClient) WaitForTerminalExit(ctx context.Context, _ *WaitForTerminalExitRequest) (*WaitForTerminalExitResponse, error) {
	return nothing[WaitForTerminalExitResponse](ctx)
}

func (*fullClient) KillTerminal(ctx context.Context, _ *KillTerminalRequest) (*KillTerminalResponse, error) {
	return nothing[KillTerminalResponse](ctx)
}

func (*fullClient) ReleaseTerminal(ctx context.Context, _ *ReleaseTerminalRequest) (*ReleaseTerminalResponse, error) {
	return nothing[ReleaseTerminalResponse](ctx)
}

func (*fullClient) CreateElicitation(context.Context, *CreateElicitationRequest) (*CreateElicitationResponse, error) {
	return &CreateElicitationResponse{Action: ElicitationDeclineAction{}}, nil
}

func (c *fullClient) CompleteElicitation(_ context.Context, n *CompleteElicitationNotification) error {
	c.completed <- n.ElicitationID
	return nil
}

func (*fullClient) Extension(_ context.Context, _ string, params json.RawMessage) (any, error) {
	return params, nil
}

// meta is the protocol's own list of methods.
func meta(tb testing.TB) (agent, client map[string]string) {
	tb.Helper()
	data, err := os.ReadFile("testdata/meta.json")
	require.NoError(tb, err)
	var m struct {
		AgentMethods, ClientMethods map[string]string
	}
	require.NoError(tb, json.Unmarshal(data, &m))
	require.NotEmpty(tb, m.AgentMethods)
	require.NotEmpty(tb, m.ClientMethods)
	return m.AgentMethods, m.ClientMethods
}

// served is what a method needs to exist on a side: it is a notification or a request there.
func assertServed(t *testing.T, methods map[string]string, requests map[string]accept, notes map[string]func(json.RawMessage) error) {
	t.Helper()
	var want, got []string
	for _, method := range methods {
		want = append(want, method)
	}
	for method := range requests {
		got = append(got, method)
	}
	for method := range notes {
		assert.NotContains(t, requests, method)
		got = append(got, method)
	}
	assert.ElementsMatch(t, want, got)
}

func TestEveryMethodIsServed(t *testing.T) {
	t.Parallel()
	agent, client := meta(t)
	requests, notes, _ := agentMethods(&fullAgent{}, &ClientConn{})
	assertServed(t, agent, requests, notes)
	requests, notes = clientMethods(&fullClient{}, nil)
	assertServed(t, client, requests, notes)

	requests, _, _ = agentMethods(&agentStub{}, &ClientConn{})
	assert.Len(t, requests, 3, "initialize, session/new and session/prompt")
	requests, _ = clientMethods(&clientStub{}, nil)
	assert.Len(t, requests, 1, "session/request_permission")
}

// Each method of an agent, from the client's call to the answer.
func TestCallsToTheAgent(t *testing.T) {
	t.Parallel()
	conn := join(t, func(*ClientConn) Agent { return &fullAgent{} }, &clientStub{})
	ctx := t.Context()
	check := func(got any, err error) func(want any) {
		t.Helper()
		return func(want any) {
			t.Helper()
			require.NoError(t, err)
			assert.Equal(t, want, got)
		}
	}
	check(conn.Initialize(ctx, &InitializeRequest{ProtocolVersion: 1}))(&InitializeResponse{ProtocolVersion: 1})
	check(conn.Authenticate(ctx, &AuthenticateRequest{MethodID: "m"}))(&AuthenticateResponse{})
	check(conn.Logout(ctx, &LogoutRequest{}))(&LogoutResponse{})
	check(conn.NewSession(ctx, &NewSessionRequest{Cwd: "/"}))(&NewSessionResponse{SessionID: "s"})
	check(conn.LoadSession(ctx, &LoadSessionRequest{SessionID: "s", Cwd: "/"}))(&LoadSessionResponse{})
	check(conn.ResumeSession(ctx, &ResumeSessionRequest{SessionID: "s", Cwd: "/"}))(&ResumeSessionResponse{})
	check(conn.ListSessions(ctx, &ListSessionsRequest{}))(&ListSessionsResponse{Sessions: []SessionInfo{}})
	check(conn.CloseSession(ctx, &CloseSessionRequest{SessionID: "s"}))(&CloseSessionResponse{})
	check(conn.DeleteSession(ctx, &DeleteSessionRequest{SessionID: "s"}))(&DeleteSessionResponse{})
	check(conn.Prompt(ctx, &PromptRequest{SessionID: "s", Prompt: ContentBlocks{}}))(&PromptResponse{StopReason: StopEndTurn})
	check(conn.SetSessionMode(ctx, &SetSessionModeRequest{SessionID: "s", ModeID: "m"}))(&SetSessionModeResponse{})
	check(conn.SetSessionConfigOption(ctx, &SetSessionConfigOptionRequest{
		SessionID: "s", ConfigID: "c", Value: SelectValue{Value: "v"},
	}))(&SetSessionConfigOptionResponse{ConfigOptions: SessionConfigOptions{}})
	require.NoError(t, conn.Cancel(ctx, &CancelNotification{SessionID: "s"}))
	_, err := conn.NewSession(ctx, &NewSessionRequest{Cwd: "relative"})
	var refusal *Error
	require.ErrorAs(t, err, &refusal)
	assert.Equal(t, int64(CodeInvalidParams), refusal.Code)
}

func TestExtensions(t *testing.T) {
	t.Parallel()
	w := connectAs(t, func(*ClientConn) Agent { return &fullAgent{} }, Options{})
	w.initialize(`{}`)
	assertSameMessage(t, `{"jsonrpc":"2.0","id":1,"result":{"a":[1e999]}}`, w.ask(`{"jsonrpc":"2.0","id":1,"method":"_echo","params":{"a": [1e999]}}`))
	assertSameMessage(t, `{"jsonrpc":"2.0","id":1,"result":null}`, w.ask(`{"jsonrpc":"2.0","id":1,"method":"_echo"}`))
	refused(t, w.ask(`{"jsonrpc":"2.0","id":1,"method":"_other"}`), "1", CodeMethodNotFound)

	agentEnd, clientEnd := Pipe()
	conn := Dial(context.WithoutCancel(t.Context()), clientEnd, &fullClient{}, Options{})
	w = newWire(t, agentEnd)
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":[2]}`, w.ask(`{"jsonrpc":"2.0","id":1,"method":"_any","params":[2]}`))
	require.NoError(t, conn.Close())
	w.close()
}

// gatedCalls are a client's methods with the capability each needs.
func gatedCalls(c *ClientConn) map[string][]func(context.Context) error {
	const s = SessionID("s")
	drop := func(_ any, err error) error { return err }
	elicit := func(mode ElicitationMode) func(context.Context) error {
		return func(ctx context.Context) error {
			return drop(c.CreateElicitation(ctx, &CreateElicitationRequest{
				Message: "m", Mode: mode, Scope: ElicitationSessionScope{SessionID: s},
			}))
		}
	}
	return map[string][]func(context.Context) error{
		`{"fs":{"readTextFile":true}}`: {func(ctx context.Context) error {
			return drop(c.ReadTextFile(ctx, &ReadTextFileRequest{SessionID: s, Path: "/f"}))
		}},
		`{"fs":{"writeTextFile":true}}`: {func(ctx context.Context) error {
			return drop(c.WriteTextFile(ctx, &WriteTextFileRequest{SessionID: s, Path: "/f"}))
		}},
		`{"terminal":true}`: {
			func(ctx context.Context) error {
				return drop(c.CreateTerminal(ctx, &CreateTerminalRequest{SessionID: s, Command: "c"}))
			},
			func(ctx context.Context) error {
				return drop(c.TerminalOutput(ctx, &TerminalOutputRequest{SessionID: s, TerminalID: "t"}))
			},
			func(ctx context.Context) error {
				return drop(c.WaitForTerminalExit(ctx, &WaitForTerminalExitRequest{SessionID: s, TerminalID: "t"}))
			},
			func(ctx context.Context) error {
				return drop(c.KillTerminal(ctx, &KillTerminalRequest{SessionID: s, TerminalID: "t"}))
			},
			func(ctx context.Context) error {
				return drop(c.ReleaseTerminal(ctx, &ReleaseTerminalRequest{SessionID: s, TerminalID: "t"}))
			},
		},
		`{"elicitation":{"form":{}}}`: {elicit(ElicitationFormMode{})},
		`{"elicitation":{"url":{}}}`: {
			elicit(ElicitationURLMode{ElicitationID: "e", URL: "https://example.com"}),
			func(ctx context.Context) error {
				return c.CompleteElicitation(ctx, &CompleteElicitationNotification{ElicitationID: "e"})
			},
		},
	}
}

// A method whose capability is missing sends nothing; one that is offered arrives, and comes back.
func TestCapabilitiesGate(t *testing.T) {
	t.Parallel()
	declared := []string{`{}`, `null`, `{"elicitation":{}}`, `{"elicitation":{"form":null,"url":null}}`, `{"fs":{}}`}
	for caps := range gatedCalls(nil) {
		declared = append(declared, caps)
	}
	for _, caps := range declared {
		t.Run(caps, func(t *testing.T) {
			t.Parallel()
			agent := &agentStub{}
			var lines recorder
			agentEnd, clientEnd := Pipe()
			lines.ReadWriteCloser = agentEnd
			served := make(chan error, 1)
			go func() {
				served <- Serve(context.WithoutCancel(t.Context()), &lines, func(c *ClientConn) Agent { agent.client = c; return agent }, Options{})
			}()
			client := &fullClient{completed: make(chan ElicitationID, 1)}
			conn := Dial(context.WithoutCancel(t.Context()), clientEnd, client, Options{})
			var offered ClientCapabilities
			require.NoError(t, json.Unmarshal([]byte(caps), &offered))
			_, err := conn.Initialize(t.Context(), &InitializeRequest{ProtocolVersion: 1, ClientCapabilities: offered})
			require.NoError(t, err)
			assert.Equal(t, offered, agent.client.Capabilities())
			for needed, all := range gatedCalls(agent.client) {
				for _, call := range all {
					before := lines.count()
					err := call(t.Context())
					if needed != caps {
						require.ErrorIs(t, err, ErrNotOffered, "%s", needed)
						assert.Equal(t, before, lines.count(), "%s", needed)
						continue
					}
					require.NoError(t, err)
					assert.Equal(t, before+1, lines.count())
				}
			}
			if caps == `{"elicitation":{"url":{}}}` {
				assert.Equal(t, ElicitationID("e"), <-client.completed)
			}
			require.NoError(t, conn.Close())
			require.NoError(t, <-served)
		})
	}
}

func TestNothingIsOfferedBeforeInitialize(t *testing.T) {
	t.Parallel()
	agent := &agentStub{}
	connect(t, agent, Options{}).probeRefused()
	assert.Equal(t, ClientCapabilities{}, agent.client.Capabilities())
	for _, all := range gatedCalls(agent.client) {
		for _, call := range all {
			require.ErrorIs(t, call(t.Context()), ErrNotOffered)
		}
	}
}
