package anthropic

import (
	"context"
	"net/http"
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
	m, err := New(Config{
		Model: "claude-sonnet-4-6", Key: "k-a", BaseURL: h.URL + "/v1/", Client: h.Client(),
		Retry: llm.Retry{
			Jitter: func() float64 { return 0 },
			Wait:   func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
		},
	})
	require.NoError(t, err)
	return s, m
}

func failure(t *testing.T, err error) loop.Failure {
	t.Helper()
	return llmtest.Failure(t, err, "k-a")
}
