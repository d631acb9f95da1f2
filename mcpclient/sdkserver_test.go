//go:build unix

package mcpclient

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// TestSDKServer speaks to the servers of the official SDK: stateless and modern, with a session and legacy, and over HTTP+SSE.
func TestSDKServer(t *testing.T) {
	t.Parallel()
	type in struct {
		Drink string `json:"drink"`
	}
	cafe := func() *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "cafe", Version: "1"}, &mcp.ServerOptions{
			SupportedProtocolVersions: []string{"2026-07-28", "2025-11-25", "2024-11-05"},
		})
		mcp.AddTool(s, &mcp.Tool{Name: "order", InputSchema: map[string]any{
			"type": "object", "properties": map[string]any{"drink": map[string]any{"type": "string", "x-mcp-header": "Drink"}},
		}}, func(_ context.Context, _ *mcp.CallToolRequest, a in) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "one " + a.Drink}}}, nil, nil
		})
		mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			q := &mcp.ElicitParams{Mode: "form", Message: "Which size?", RequestedSchema: map[string]any{
				"type": "object", "properties": map[string]any{"size": map[string]any{"type": "string", "default": "L"}},
			}}
			if r.Params.RequestState == "s" {
				a, _ := r.Params.InputResponses["q"].(*mcp.ElicitResult)
				size, _ := a.Content["size"].(string)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "size " + size}}}, nil, nil
			}
			if v, _ := r.Params.Meta[mcp.MetaKeyProtocolVersion].(string); v == modernVersion {
				return &mcp.CallToolResult{RequestState: "s", InputRequests: mcp.InputRequestMap{"q": q}}, nil, nil
			}
			a, err := r.Session.Elicit(ctx, q)
			if err != nil {
				return nil, nil, err
			}
			size, _ := a.Content["size"].(string)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "size " + size}}}, nil, nil
		})
		mcp.AddTool(s, &mcp.Tool{Name: "work"}, func(ctx context.Context, r *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			for i := range 10 {
				if err := r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 10, Message: "brewing",
				}); err != nil {
					return nil, nil, err
				}
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "worked"}}}, nil, nil
		})
		s.AddResource(&mcp.Resource{URI: "menu://today", Name: "menu"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "menu://today", Text: "latte"}}}, nil
		})
		return s
	}
	for name, c := range map[string]struct {
		handler http.Handler
		kind    string
		era     string
	}{
		"stateless": {mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return cafe() }, &mcp.StreamableHTTPOptions{Stateless: true}), "", EraModern},
		"session": {legacyOnly(mcp.NewStreamableHTTPHandler(func() func(*http.Request) *mcp.Server {
			s := cafe()
			return func(*http.Request) *mcp.Server { return s }
		}(), nil)), "", EraLegacy},
		"HTTP+SSE": {mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return cafe() }, nil), TypeSSE, EraLegacy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(c.handler)
			t.Cleanup(s.Close)
			client := open(t, Server{Name: "cafe", URL: s.URL, Type: c.kind}, Options{
				Elicit: func(context.Context, Question) (Answer, error) { return Answer{Action: ActionAccept}, nil },
			})
			assert.Equal(t, c.era, client.Era())
			all := tools(t, client)
			assert.Equal(t, "one größer", text(run(t, all["order"], `{"drink":"größer"}`)))
			assert.Equal(t, "one ", text(run(t, all["order"], `{"drink":""}`)))
			assert.Equal(t, "size L", text(run(t, all["ask"], `{}`)))
			var shown kept
			worked, err := all["work"].Run(t.Context(), job(`{}`), shown.report)
			require.NoError(t, err)
			assert.Equal(t, "worked", text(worked))
			require.NotEmpty(t, shown.all())
			assert.Equal(t, "10 of 10: brewing", shown.all()[len(shown.all())-1])
			blocks, err := client.ReadResource(t.Context(), "menu://today")
			require.NoError(t, err)
			assert.Equal(t, loop.Blocks{loop.Resource{URI: "menu://today", Text: "latte"}}, blocks)
		})
	}
}

// legacyOnly is a server that does not know the probe.
func legacyOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") == modernVersion {
			http.Error(w, "Bad Request: Unsupported protocol version", http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
