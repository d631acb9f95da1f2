package cart

import (
	"context"
	"io"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// connect joins a client of the official library to a cart over two pipes.
func connect(t *testing.T, o Options, client *mcp.ClientOptions, session *mcp.ClientSessionOptions) *mcp.ClientSession {
	t.Helper()
	fromClient, toCart := io.Pipe()
	fromCart, toClient := io.Pipe()
	var wg sync.WaitGroup
	wg.Go(func() {
		assert.NoError(t, Serve(t.Context(), fromClient, toClient, o))
		assert.NoError(t, toClient.Close())
	})
	c := mcp.NewClient(&mcp.Implementation{Name: "peer", Version: "1"}, client)
	cs, err := c.Connect(t.Context(), &mcp.IOTransport{Reader: fromCart, Writer: toCart}, session)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, cs.Close())
		wg.Wait()
	})
	return cs
}

func peerCall(t *testing.T, cs *mcp.ClientSession, tool string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	result, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	require.NoError(t, err)
	return result
}

// accepting are the options of a client whose person chooses that size, and the questions it was asked.
func accepting(size string, asked *[]string) *mcp.ClientOptions {
	return &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{},
		ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			if asked != nil {
				*asked = append(*asked, r.Params.Message)
			}
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"size": size}}, nil
		},
	}
}

func TestPeerOrders(t *testing.T) {
	t.Parallel()
	var asked []string
	cs := connect(t, Options{}, accepting("medium", &asked), nil)
	assert.Equal(t, Version, cs.InitializeResult().ProtocolVersion)
	orderAsPeer(t, cs)
	assert.Equal(t, []string{"Which size of latte (small $4.00, medium $4.75, large $5.50)?"}, asked)
}

// orderAsPeer has a client whose person chooses a medium size see and use all that the cart has.
func orderAsPeer(t *testing.T, cs *mcp.ClientSession) {
	t.Helper()
	assert.Contains(t, cs.InitializeResult().Instructions, "create_order")

	var names []string
	for tool, err := range cs.Tools(t.Context(), nil) {
		require.NoError(t, err)
		names = append(names, tool.Name)
	}
	assert.Equal(t, []string{"create_order", "add_item", "remove_item", "get_order", "place_order", "cancel_order"}, names)

	made, ok := peerCall(t, cs, "create_order", nil).StructuredContent.(map[string]any)
	require.True(t, ok)
	order := made["order"]
	added := peerCall(t, cs, "add_item", map[string]any{"order": order, "item": "latte"})
	assert.False(t, added.IsError)
	assert.True(t, peerCall(t, cs, "add_item", map[string]any{"order": order, "item": "cardamom bun"}).IsError)

	want := map[string]any{
		"order": order, "number": 1.0, "totalCents": 475.0,
		"lines": []any{map[string]any{"item": "latte", "size": "medium", "cents": 475.0}},
	}
	for range 2 {
		placed, err := cs.CallTool(t.Context(), &mcp.CallToolParams{
			Meta: mcp.Meta{metaKey: "once"}, Name: "place_order", Arguments: map[string]any{"order": order},
		})
		require.NoError(t, err)
		assert.False(t, placed.IsError)
		assert.Equal(t, want, placed.StructuredContent)
	}

	menu, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "menu://today"})
	require.NoError(t, err)
	assert.Contains(t, menu.Contents[0].Text, `"drip coffee"`)
	prompt, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "catering_reply", Arguments: map[string]string{"event": "a fair", "people": "9"}})
	require.NoError(t, err)
	assert.Len(t, prompt.Messages, 1)

	_, err = cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "refund_order"})
	var failure *jsonrpc.Error
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, int64(codeInvalidParams), failure.Code)
}

func TestPeerOfTheHandshakeEraOrders(t *testing.T) {
	t.Parallel()
	cs := connect(t, Options{Legacy: true}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	assert.Equal(t, "2025-11-25", cs.InitializeResult().ProtocolVersion)
	orderAsOldPeer(t, cs)
}

// orderAsOldPeer orders as clients did before 2026-07-28.
func orderAsOldPeer(t *testing.T, cs *mcp.ClientSession) {
	t.Helper()
	require.NoError(t, cs.Ping(t.Context(), nil))
	made, ok := peerCall(t, cs, "create_order", nil).StructuredContent.(map[string]any)
	require.True(t, ok)
	assert.True(t, peerCall(t, cs, "add_item", map[string]any{"order": made["order"], "item": "latte"}).IsError)
	assert.False(t, peerCall(t, cs, "add_item", map[string]any{"order": made["order"], "item": "latte", "size": "large"}).IsError)
	placed, ok := peerCall(t, cs, "place_order", map[string]any{"order": made["order"]}).StructuredContent.(map[string]any)
	require.True(t, ok)
	assert.InDelta(t, 1, placed["number"], 0)
	prompts, err := cs.ListPrompts(t.Context(), nil)
	require.NoError(t, err)
	assert.Len(t, prompts.Prompts, 2)
}
