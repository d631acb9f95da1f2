package openai

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/cartagent/cartagent/llm"
	"github.com/cartagent/cartagent/llm/internal/llmtest"
	"github.com/cartagent/cartagent/loop"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server with the answers and a model that asks it and never really waits.
func serve(t *testing.T, answers ...http.HandlerFunc) (*llmtest.Server, *Model) {
	t.Helper()
	s, h := llmtest.Serve(t, strict, answers...)
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

func failure(t *testing.T, err error) loop.Failure {
	t.Helper()
	return llmtest.Failure(t, err, "k-o")
}
