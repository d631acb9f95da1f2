//nolint:forbidigo // an example says on standard output what happens
package acp_test

import (
	"context"
	"fmt"

	"github.com/cartagent/cartagent/acp"
)

// echo is an agent that says what it hears.
type echo struct{ client *acp.ClientConn }

func (e *echo) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	return &acp.InitializeResponse{
		ProtocolVersion: acp.LatestVersion,
		AgentInfo:       &acp.Implementation{Name: "echo", Version: "1"},
	}, nil
}

func (e *echo) NewSession(context.Context, *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	return &acp.NewSessionResponse{SessionID: "s1"}, nil
}

func (e *echo) Prompt(r *acp.PromptRequest) (func(context.Context) (*acp.PromptResponse, error), error) {
	return func(ctx context.Context) (*acp.PromptResponse, error) {
		for _, block := range r.Prompt {
			update := &acp.SessionNotification{SessionID: r.SessionID, Update: acp.AgentMessageChunk{Content: block}}
			if err := e.client.SessionUpdate(ctx, update); err != nil {
				return nil, err
			}
		}
		return &acp.PromptResponse{StopReason: acp.StopEndTurn}, nil
	}, nil
}

func (e *echo) Cancel(*acp.CancelNotification) {} // its turns are too short for that

// screen is a client that shows what the agent says.
type screen struct{}

func (screen) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	chunk, ok := n.Update.(acp.AgentMessageChunk)
	if !ok {
		return nil
	}
	if text, ok := chunk.Content.(acp.TextContent); ok {
		fmt.Println("agent:", text.Text)
	}
	return nil
}

func (screen) RequestPermission(context.Context, *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	return &acp.RequestPermissionResponse{Outcome: acp.Cancelled{}}, nil
}

// An agent that echoes. A program would serve acp.Stdio(os.Stdin, os.Stdout) instead of one end of a pipe.
func ExampleServe() {
	agentEnd, clientEnd := acp.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- acp.Serve(context.Background(), agentEnd, func(client *acp.ClientConn) acp.Agent {
			return &echo{client: client}
		}, acp.Options{})
	}()

	ctx := context.Background()
	agent := acp.Dial(ctx, clientEnd, screen{}, acp.Options{})
	hello, err := agent.Initialize(ctx, &acp.InitializeRequest{ProtocolVersion: acp.LatestVersion})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("connected to", hello.AgentInfo.Name)
	fmt.Println("closed:", agent.Close(), <-served)
	// Output:
	// connected to echo
	// closed: <nil> <nil>
}

// A client that opens a session, sends a prompt and shows the answer as it comes.
func ExampleDial() {
	agentEnd, clientEnd := acp.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- acp.Serve(context.Background(), agentEnd, func(client *acp.ClientConn) acp.Agent {
			return &echo{client: client}
		}, acp.Options{})
	}()

	ctx := context.Background()
	agent := acp.Dial(ctx, clientEnd, screen{}, acp.Options{})
	if _, err := agent.Initialize(ctx, &acp.InitializeRequest{ProtocolVersion: acp.LatestVersion}); err != nil {
		fmt.Println(err)
		return
	}
	session, err := agent.NewSession(ctx, &acp.NewSessionRequest{Cwd: "/tmp"})
	if err != nil {
		fmt.Println(err)
		return
	}
	end, err := agent.Prompt(ctx, &acp.PromptRequest{
		SessionID: session.SessionID,
		Prompt:    acp.ContentBlocks{acp.TextContent{Text: "hello"}, acp.TextContent{Text: "goodbye"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the turn ended:", end.StopReason)
	if err := agent.Close(); err != nil {
		fmt.Println(err)
	}
	if err := <-served; err != nil {
		fmt.Println(err)
	}
	// Output:
	// agent: hello
	// agent: goodbye
	// the turn ended: end_turn
}
