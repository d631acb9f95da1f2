package anthropic

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/llm/internal/llmtest"
	"github.com/cartagent/cartagent/loop"
)

func TestResetIsRetried(t *testing.T) {
	t.Parallel()
	s, m := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, llmtest.File(t, "text.sse"))
	_, reply, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	require.NoError(t, err)
	assert.Equal(t, loop.StopEndTurn, reply.Stop)
	assert.Equal(t, 2, s.Requests())
	assert.Equal(t, s.Sent(0), s.Sent(1), "the same bytes again")
}

func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	h := httptest.NewServer(http.NotFoundHandler())
	h.Close()
	m, err := New(Config{Model: "m", Key: "k-a", BaseURL: h.URL})
	require.NoError(t, err)
	_, _, err = llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	f := failure(t, err)
	assert.Equal(t, loop.FailNetwork, f.Kind)
	assert.Contains(t, f.Message, "(connection refused): check ANTHROPIC_BASE_URL.")
}

func TestKeyDoesNotFollowARedirect(t *testing.T) {
	t.Parallel()
	var visits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	t.Cleanup(other.Close)
	_, m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	_, _, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
	assert.Contains(t, failure(t, err).Message, "has moved elsewhere (307): check ANTHROPIC_BASE_URL.")
	assert.Zero(t, visits.Load())
}

// A tool round is two requests: they share a connection.
func TestConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	var conns atomic.Int32
	h := httptest.NewUnstartedServer(llmtest.File(t, "text.sse"))
	h.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	h.Start()
	t.Cleanup(h.Close)
	m, err := New(Config{Model: "m", Key: "k-a", BaseURL: h.URL, Client: h.Client()})
	require.NoError(t, err)
	for range 5 {
		_, _, err := llmtest.Read(t.Context(), m, llmtest.Ask("hi"))
		require.NoError(t, err)
	}
	assert.Equal(t, int32(1), conns.Load())
}

// The time of a chunk from the socket to the consumer, HTTP on loopback included.
func BenchmarkChunkOverHTTP(b *testing.B) {
	events := []byte("event: content_block_delta\ndata: " + half + "\n\n")
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "data: "+start+"\n\ndata: "+textOpen+"\n\n")
		for r.Context().Err() == nil {
			if _, err := w.Write(events); err != nil {
				return
			}
			_ = http.NewResponseController(w).Flush()
		}
	}))
	b.Cleanup(h.Close)
	m, err := New(Config{Model: "m", Key: "k-a", BaseURL: h.URL, Client: h.Client()})
	require.NoError(b, err)
	b.ReportAllocs()
	n := 0
	b.ResetTimer()
	for _, err := range m.Stream(b.Context(), llmtest.Ask("hi")) {
		require.NoError(b, err)
		if n++; n >= b.N {
			break
		}
	}
}
