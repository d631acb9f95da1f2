// Package llmtest is what the tests of providers' adapters have in common: a provider to ask, and what to ask it.
package llmtest

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// Strict says what the real provider would find wrong with a request.
type Strict func(r *http.Request, body []byte) error

// Server is a provider that checks each request as strictly as the real one and gives one answer after the other,
// the last one again and again.
type Server struct {
	strict  Strict
	mu      sync.Mutex
	bodies  [][]byte
	answers []http.HandlerFunc
}

// Serve starts a server with the answers. It ends with the test.
func Serve(t *testing.T, strict Strict, answers ...http.HandlerFunc) (*Server, *httptest.Server) {
	t.Helper()
	s := &Server{strict: strict, answers: answers}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, h
}

// ServeHTTP is http.Handler's.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = s.strict(r, body)
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, body)
	n := min(len(s.bodies), len(s.answers)) - 1
	s.mu.Unlock()
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
			"type": "invalid_request_error", "code": nil, "message": err.Error(),
		}})
		return
	}
	s.answers[n](w, r)
}

// Sent is the body of the nth request, from 0.
func (s *Server) Sent(n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[n]
}

// Requests is how many requests there were.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

// File answers with a recorded stream of events, from the testdata of the package under test.
func File(t *testing.T, name string) http.HandlerFunc {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return SSE(string(data))
}

// SSE answers with a stream of events, as it is written.
func SSE(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}
}

// Stream answers with events, each one JSON value.
func Stream(events ...string) http.HandlerFunc {
	return SSE("data: " + strings.Join(events, "\n\ndata: ") + "\n\n")
}

// Status answers with a status and a body of JSON.
func Status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// Ask is a request of texts, the person's and the model's in turn.
func Ask(texts ...string) loop.Request {
	var r loop.Request
	for i, text := range texts {
		m := loop.Message{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: text}}}
		if i%2 == 1 {
			m.Role = loop.RoleAssistant
		}
		r.Messages = append(r.Messages, m)
	}
	return r
}

// Read returns the chunks before the reply, joined by bars and thoughts in brackets, and the reply.
func Read(ctx context.Context, m loop.Model, r loop.Request) (string, *loop.Reply, error) {
	var parts []string
	for c, err := range m.Stream(ctx, r) {
		switch {
		case err != nil:
			return strings.Join(parts, "|"), nil, err
		case c.Kind == loop.ChunkReply:
			return strings.Join(parts, "|"), c.Reply, nil
		case c.Kind == loop.ChunkThought:
			parts = append(parts, "("+c.Text+")")
		default:
			parts = append(parts, c.Text)
		}
	}
	return strings.Join(parts, "|"), nil, nil
}

// Failure is what a request failed with. Its text must not hold the key.
func Failure(t *testing.T, err error, key string) loop.Failure {
	t.Helper()
	var f *loop.Failure
	require.ErrorAs(t, err, &f)
	require.NotContains(t, f.Message, key)
	return *f
}
