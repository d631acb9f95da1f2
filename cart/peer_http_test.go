package cart

import (
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withToken sends a bearer token along, as a client that was given one does.
type withToken struct {
	token string
	next  http.RoundTripper
}

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.token)
	return w.next.RoundTrip(r)
}

// peer is a client of the official library, connected over HTTP.
func peer(t *testing.T, url, token string, client *mcp.ClientOptions, session *mcp.ClientSessionOptions) *mcp.ClientSession {
	t.Helper()
	transport := &http.Transport{}
	c := mcp.NewClient(&mcp.Implementation{Name: "peer", Version: "1"}, client)
	cs, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: withToken{token, transport}},
	}, session)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, cs.Close())
		transport.CloseIdleConnections()
	})
	return cs
}

func TestPeerOrdersOverHTTP(t *testing.T) {
	t.Parallel()
	url := website(t, Options{}, HTTPOptions{Tokens: tokens(t, "ada a-token\nbob b-token")})
	cs := peer(t, url, "a-token", accepting("medium", nil), nil)
	assert.Equal(t, Version, cs.InitializeResult().ProtocolVersion)
	orderAsPeer(t, cs)

	made, ok := peerCall(t, cs, "create_order", nil).StructuredContent.(map[string]any)
	require.True(t, ok)
	other := peer(t, url, "b-token", &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}, nil)
	assert.True(t, peerCall(t, other, "get_order", map[string]any{"order": made["order"]}).IsError, "the order is another caller's")
}

func TestPeerOfTheHandshakeEraOrdersOverHTTP(t *testing.T) {
	t.Parallel()
	url := website(t, Options{Legacy: true}, HTTPOptions{})
	cs := peer(t, url, "", &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	assert.Equal(t, "2025-11-25", cs.InitializeResult().ProtocolVersion)
	orderAsOldPeer(t, cs)
}
