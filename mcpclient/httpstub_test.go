//go:build unix

package mcpclient

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// web is a scripted MCP server over HTTP. What it has no answer for in On is answered as a small server of its era does.
type web struct {
	*httptest.Server
	Legacy  bool
	Session string                                         // of a legacy one: the id that it gives; none when empty
	Tools   string                                         // tools/list's entries
	On      map[string]func(w http.ResponseWriter, m *got) // by the message's method, or "GET" and "DELETE"

	mu   sync.Mutex
	seen []*got
}

// got is a request that the server got.
type got struct {
	*http.Request
	Body   string
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string                     `json:"name"`
		URI       string                     `json:"uri"`
		Arguments json.RawMessage            `json:"arguments"`
		State     *string                    `json:"requestState"`
		Responses json.RawMessage            `json:"inputResponses"`
		Meta      map[string]json.RawMessage `json:"_meta"`
	} `json:"params"`
}

const echoTool = `{"name":"echo","inputSchema":{"type":"object"}}`

// start starts the server.
func (s *web) start(tb testing.TB) *web {
	tb.Helper()
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	tb.Cleanup(s.Close)
	return s
}

func (s *web) server() Server { return Server{Name: "shop", URL: s.URL + "/mcp", Timeout: busy} }

func (s *web) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m := &got{Request: r, Body: string(body)}
	key := r.Method
	if r.Method == http.MethodPost {
		if json.Unmarshal(body, m) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		key = m.Method
	}
	m.Request = r
	s.mu.Lock()
	s.seen = append(s.seen, m)
	s.mu.Unlock()
	if on := s.On[key]; on != nil {
		on(w, m)
		return
	}
	s.usual(w, m, key)
}

// usual is what a small server answers.
func (s *web) usual(w http.ResponseWriter, m *got, key string) {
	tools := s.Tools
	if tools == "" {
		tools = echoTool
	}
	switch {
	case key == http.MethodGet || key == http.MethodDelete:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case key == methodDiscover && !s.Legacy:
		result(w, m, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}}}`)
	case key == methodInitialize && s.Legacy:
		if s.Session != "" {
			w.Header().Set("Mcp-Session-Id", s.Session)
		}
		result(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"1"}}`)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case key == "tools/list":
		result(w, m, `{"tools":[`+tools+`]}`)
	case key == "tools/call":
		result(w, m, `{"content":[{"type":"text","text":"done"}]}`)
	case s.Legacy:
		w.WriteHeader(http.StatusBadRequest)
	default:
		fail(w, m, http.StatusNotFound, -32601, "method not found", "null")
	}
}

func result(w http.ResponseWriter, m *got, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func fail(w http.ResponseWriter, m *got, status, code int, text, data string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	id := string(m.ID)
	if id == "" {
		id = "null"
	}
	_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":%s}}`, id, code, text, data)
}

// stream answers with pieces of a stream of events, each a chunk. ID stands for the id of the request.
func stream(w http.ResponseWriter, m *got, pieces ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, p := range pieces {
		_, _ = io.WriteString(w, strings.ReplaceAll(p, "ID", string(m.ID)))
		flush(w)
	}
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

// cut ends the connection in the middle of the answer.
func cut(w http.ResponseWriter) {
	if h, ok := w.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			_ = conn.Close()
		}
	}
}

// all are the requests so far of a method, or of GET and DELETE; all of them for "".
func (s *web) all(method string) []*got {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*got
	for _, m := range s.seen {
		if method == "" || m.Method == method || m.Request.Method == method {
			out = append(out, m)
		}
	}
	return out
}

// connected is a client of the server, and its tools.
func (s *web) connected(tb testing.TB, o Options) (*Client, map[string]*Tool) {
	tb.Helper()
	c, err := Connect(tb.Context(), s.server(), o)
	require.NoError(tb, err)
	tb.Cleanup(func() { assert.NoError(tb, c.Close()) })
	return c, tools(tb, c)
}
