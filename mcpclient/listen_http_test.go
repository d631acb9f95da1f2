//go:build unix

package mcpclient

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSubscriptionsOverHTTP: the SDK's server tells of a new tool on a stream that stays open, and the list is read again.
func TestSubscriptionsOverHTTP(t *testing.T) {
	t.Parallel()
	peer := mcp.NewServer(&mcp.Implementation{Name: "peer", Version: "1"}, nil)
	add := func(n int) {
		mcp.AddTool(peer, &mcp.Tool{Name: fmt.Sprint("t", n)}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{}, nil, nil
		})
	}
	add(0)
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return peer },
		&mcp.StreamableHTTPOptions{Stateless: true, PropagateRequestCancellation: true})
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	news := make(chan Change, 100)
	o, logs := logged()
	o.Changed = func(ch Change) { news <- ch }
	c := open(t, Server{Name: "far", URL: server.URL}, o)
	require.Equal(t, EraModern, c.Era())
	list, err := c.Tools(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	for n := 1; ; n++ { // until the subscription is open nobody hears of it
		add(n)
		select {
		case ch := <-news:
			assert.Equal(t, Change{Kind: ChangedTools}, ch)
			list, err = c.Tools(t.Context())
			require.NoError(t, err)
			assert.Greater(t, len(list), 1)
			return
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
			require.Fail(t, "no change was told", logs.String())
		}
		require.Less(t, n, 500, "no change was told: %s", logs)
	}
}
