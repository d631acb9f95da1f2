package acp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// sink takes what is written to it, and has nothing to read until it is closed.
type sink struct {
	io.Reader
	io.Closer
}

func (sink) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkUpdateOut is one chunk of text, from the agent to the writer.
func BenchmarkUpdateOut(b *testing.B) {
	idle, end := io.Pipe()
	agent := &agentStub{}
	bound := make(chan struct{})
	served := make(chan error, 1)
	go func() {
		served <- Serve(context.WithoutCancel(b.Context()), sink{idle, idle}, func(c *ClientConn) Agent {
			agent.client = c
			close(bound)
			return agent
		}, Options{})
	}()
	<-bound
	message := MessageID("01J9ZV3T5N8Q")
	note := &SessionNotification{SessionID: "01J9ZV3T5N8Q2K7M", Update: AgentMessageChunk{
		MessageID: &message, Content: TextContent{Text: "a few words, as they come: \"quoted\",\n"},
	}}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if err := agent.client.SessionUpdate(ctx, note); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, end.Close())
	require.NoError(b, <-served)
}

// BenchmarkRequest is a prompt of some size, from the line that asks to the line that answers.
func BenchmarkRequest(b *testing.B) {
	for name, size := range map[string]int{"100B": 100, "1MiB": 1 << 20} {
		b.Run(name, func(b *testing.B) {
			agentEnd, clientEnd := Pipe()
			served := make(chan error, 1)
			go func() {
				served <- Serve(context.WithoutCancel(b.Context()), agentEnd, func(*ClientConn) Agent { return &agentStub{} }, Options{})
			}()
			in := bufio.NewReader(clientEnd)
			ask := func(line string) {
				if _, err := io.WriteString(clientEnd, line); err != nil {
					b.Fatal(err)
				}
				if _, err := in.ReadSlice('\n'); err != nil {
					b.Fatal(err)
				}
			}
			ask(askInitialize + "\n")
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"%s"}]}}`+"\n",
				strings.Repeat("x", size))
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			for b.Loop() {
				ask(line)
			}
			require.NoError(b, clientEnd.Close())
			require.NoError(b, <-served)
		})
	}
}

// BenchmarkCall is a question of the agent's to the client and its answer, both ends included.
func BenchmarkCall(b *testing.B) {
	conn := join(b, func(*ClientConn) Agent { return &fullAgent{} }, &clientStub{})
	if _, err := conn.Initialize(b.Context(), &InitializeRequest{ProtocolVersion: 1}); err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.NewSession(ctx, &NewSessionRequest{Cwd: "/"}); err != nil {
			b.Fatal(err)
		}
	}
}
