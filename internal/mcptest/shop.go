package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Shop is an MCP server over Streamable HTTP with one tool, buy, for those who have a token. At the same address is its
// authorization server: one that registers every client, and whose page consents at once. Its methods may be called from
// any goroutine.
type Shop struct {
	URL string // of the MCP server

	base string
	mcp  http.Handler

	mu        sync.Mutex
	life      int                   // seconds of the next tokens
	redirects map[string]string     // of clients, by id
	codes     map[string]url.Values // what a page was asked for, by the code that it gave
	access    map[string]bool       // tokens that are good
	refresh   map[string]bool
	seen      Counts
}

// Counts are what a shop has seen so far.
type Counts struct {
	Clients  int // that registered
	Pages    int // sign-in pages that were opened
	Codes    int // codes that were redeemed
	Renewals int // refresh tokens that were used
	Sales    int // calls of the tool
}

// NewShop starts a shop for as long as the test.
func NewShop(t *testing.T) *Shop {
	t.Helper()
	s := &Shop{
		life: 3600, redirects: map[string]string{}, codes: map[string]url.Values{},
		access: map[string]bool{}, refresh: map[string]bool{},
	}
	inner := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	buy := &mcp.Tool{Name: "buy", Description: "Buys what there is."}
	mcp.AddTool(inner, buy, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.seen.Sales++
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("sale %d", s.seen.Sales)}}}, nil, nil
	})
	s.mcp = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return inner },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", s.serve)
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", s.resource)
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.metadata)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.page)
	mux.HandleFunc("POST /token", s.token)
	server := httptest.NewUnstartedServer(mux)
	s.base = "http://" + server.Listener.Addr().String() // before anybody can ask for it
	s.URL = s.base + "/mcp"
	server.Start()
	t.Cleanup(server.Close)
	return s
}

// Counts tells what the shop has seen.
func (s *Shop) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// Live sets for how many seconds the tokens are good that are given from now on, as their answers say.
func (s *Shop) Live(seconds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.life = seconds
}

// Revoke makes all tokens bad but those that renew them; with all, these too.
func (s *Shop) Revoke(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.access)
	if all {
		clear(s.refresh)
	}
}

// Secrets are the tokens that were given and are good. They may be in no log.
func (s *Shop) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, tokens := range []map[string]bool{s.access, s.refresh} {
		for token := range tokens {
			out = append(out, token)
		}
	}
	return out
}

func (s *Shop) serve(w http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	good := s.access[token]
	s.mu.Unlock()
	if !good {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer resource_metadata=%q", s.base+"/.well-known/oauth-protected-resource/mcp"))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	s.mcp.ServeHTTP(w, r)
}

func writeJSON(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
