package openai

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
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cartagent/cartagent/llm"
	"github.com/cartagent/cartagent/loop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is a provider that checks each request as strictly as the real one and gives one answer after the other,
// the last one again and again.
type server struct {
	mu      sync.Mutex
	bodies  [][]byte
	answers []http.HandlerFunc
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = strict(r, body)
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

func (s *server) sent(n int) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[n]
}

func (s *server) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.bodies)
}

func file(t *testing.T, name string) http.HandlerFunc {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return sse(string(data))
}

func sse(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}
}

// stream is a body of events, each one JSON value.
func stream(events ...string) http.HandlerFunc {
	return sse("data: " + strings.Join(events, "\n\ndata: ") + "\n\n")
}

func status(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// serve starts a server with the answers and a model that asks it and never really waits.
func serve(t *testing.T, answers ...http.HandlerFunc) (*server, *Model) {
	t.Helper()
	s := &server{answers: answers}
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, at(t, h, Config{})
}

// at makes a model that asks the server and never really waits.
func at(t *testing.T, h *httptest.Server, c Config) *Model {
	t.Helper()
	c.Model, c.Key, c.BaseURL, c.Client = "gpt-5", "k-o", h.URL+"/v1/", h.Client()
	c.Retry = llm.Retry{
		Jitter: func() float64 { return 0 },
		Wait:   func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	m, err := New(c)
	require.NoError(t, err)
	return m
}

func ask(texts ...string) loop.Request {
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

// read returns the chunks before the reply, joined by bars and thoughts in brackets, and the reply.
func read(ctx context.Context, m loop.Model, r loop.Request) (string, *loop.Reply, error) {
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

func failure(t *testing.T, err error) loop.Failure {
	t.Helper()
	var f *loop.Failure
	require.ErrorAs(t, err, &f)
	assert.NotContains(t, f.Message, "k-o")
	return *f
}
