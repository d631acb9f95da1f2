//go:build unix

package mcpclient

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestForgottenSession is case C031: a server that has restarted does not know the session any more.
func TestForgottenSession(t *testing.T) {
	t.Parallel()
	type on = map[string]func(http.ResponseWriter, *got)
	// forgetful is a server that has forgotten its sessions after some calls. It counts what it does.
	forgetful := func(calls int, again string) (*web, *atomic.Int64) {
		s := &web{Legacy: true, Session: "s1"}
		var mu sync.Mutex
		var done atomic.Int64
		left, begun := calls, 0
		valid := func(m *got) bool {
			mu.Lock()
			defer mu.Unlock()
			switch m.Header.Get("Mcp-Session-Id") {
			case "s1":
				left--
				return left >= 0
			case "s2":
				return again != "forgets"
			}
			return false
		}
		s.On = on{
			methodInitialize: func(w http.ResponseWriter, m *got) {
				mu.Lock()
				begun++
				n := begun
				mu.Unlock()
				switch {
				case n > 1 && again == "gone":
					w.WriteHeader(http.StatusNotFound)
					return
				case n > 1 && again == "none":
					result(w, m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"w","version":"1"}}`)
					return
				}
				w.Header().Set("Mcp-Session-Id", fmt.Sprint("s", min(n, 2)))
				result(w, m, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"w","version":"1"}}`)
			},
			"tools/call": func(w http.ResponseWriter, m *got) {
				if !valid(m) {
					m.ID = nil
					fail(w, m, http.StatusNotFound, -32001, "Session not found", "null")
					return
				}
				done.Add(1)
				result(w, m, `{"content":[{"type":"text","text":"done"}]}`)
			},
		}
		return s, &done
	}

	t.Run("one call", func(t *testing.T) {
		t.Parallel()
		s, done := forgetful(2, "")
		_, all := s.start(t).connected(t, Options{})
		for range 4 {
			assert.Equal(t, "done", text(run(t, all["echo"], `{}`)))
		}
		assert.EqualValues(t, 4, done.Load(), "each call is done once")
		begun := s.all(methodInitialize)
		require.Len(t, begun, 2)
		assert.Empty(t, begun[1].Header.Get("Mcp-Session-Id"))
		assert.Empty(t, begun[1].Header.Get("Mcp-Protocol-Version"))
		assert.Len(t, s.all("notifications/initialized"), 2)
		calls := s.all("tools/call")
		require.Len(t, calls, 5)
		assert.Equal(t, "s2", calls[4].Header.Get("Mcp-Session-Id"))
		for _, m := range calls {
			assert.Equal(t, "2025-06-18", m.Header.Get("Mcp-Protocol-Version"))
		}
	})
	t.Run("calls side by side", func(t *testing.T) {
		t.Parallel()
		s, done := forgetful(0, "")
		_, all := s.start(t).connected(t, Options{})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				r, err := all["echo"].Run(t.Context(), job(`{}`), nil)
				if assert.NoError(t, err) {
					assert.Equal(t, "done", text(r))
				}
			})
		}
		wg.Wait()
		assert.EqualValues(t, 8, done.Load())
		assert.Len(t, s.all(methodInitialize), 2, "one new session for all")
	})
	for again, want := range map[string]struct {
		err      string
		sessions int
	}{
		"gone":    {"a new one cannot be begun: server shop answered with HTTP 404", 2},
		"forgets": {"has forgotten the session as soon as it had begun it", 2},
		"none":    {"Session not found (code -32001)", 2},
	} {
		t.Run("the new one is "+again, func(t *testing.T) {
			t.Parallel()
			s, done := forgetful(0, again)
			_, all := s.start(t).connected(t, Options{})
			_, err := all["echo"].Run(t.Context(), job(`{}`), nil)
			require.ErrorContains(t, err, want.err)
			assert.Zero(t, done.Load())
			assert.Len(t, s.all(methodInitialize), want.sessions, "no loop")
		})
	}
	t.Run("no session at all", func(t *testing.T) {
		t.Parallel()
		s := (&web{Legacy: true, On: on{"tools/call": func(w http.ResponseWriter, _ *got) { w.WriteHeader(http.StatusNotFound) }}}).start(t)
		_, all := s.connected(t, Options{})
		_, err := all["echo"].Run(t.Context(), job(`{}`), nil)
		require.ErrorContains(t, err, "HTTP 404 Not Found")
		assert.Len(t, s.all(methodInitialize), 1)
	})
	t.Run("a method that is not known", func(t *testing.T) {
		t.Parallel()
		s := (&web{Legacy: true, Session: "s1", On: on{"tools/call": func(w http.ResponseWriter, m *got) {
			fail(w, m, http.StatusNotFound, -32601, "no such method", "null")
		}}}).start(t)
		_, all := s.connected(t, Options{})
		_, err := all["echo"].Run(t.Context(), job(`{}`), nil)
		require.ErrorContains(t, err, "no such method (code -32601)")
		assert.Len(t, s.all(methodInitialize), 1)
	})
	t.Run("its end", func(t *testing.T) {
		t.Parallel()
		s := (&web{Legacy: true, Session: "s1"}).start(t)
		c, err := Connect(t.Context(), s.server(), Options{})
		require.NoError(t, err)
		require.NoError(t, c.Close())
		ends := s.all(http.MethodDelete)
		require.Len(t, ends, 1)
		assert.Equal(t, "s1", ends[0].Header.Get("Mcp-Session-Id"))
		assert.Equal(t, "2025-11-25", ends[0].Header.Get("Mcp-Protocol-Version"))
		require.ErrorIs(t, c.Err(), ErrClosed)
		_, err = c.Tools(t.Context())
		require.ErrorIs(t, err, ErrClosed)
	})
}

// TestBrokenStream is the end of case C033: a stream that breaks before the answer is taken up again where the server can,
// and the request is sent again where nothing can happen twice.
func TestBrokenStream(t *testing.T) {
	t.Parallel()
	type on = map[string]func(http.ResponseWriter, *got)
	answer := `data: {"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}` + "\n\n"
	tool := func(more string) string { return `{"name":"echo","inputSchema":{"type":"object"}` + more + `}` }
	for name, c := range map[string]struct {
		tools  string
		legacy bool
		trust  bool
		first  func(http.ResponseWriter, *got) // how the first call is answered
		key    string
		calls  int
		lost   bool
	}{
		"a stream that ends":   {first: func(w http.ResponseWriter, m *got) { stream(w, m, ": begun\n\n") }, calls: 1, lost: true},
		"a stream that is cut": {first: func(w http.ResponseWriter, m *got) { stream(w, m, `data: {"json`); cut(w) }, calls: 1, lost: true},
		"a body that is cut": {first: func(w http.ResponseWriter, _ *got) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", "99")
			w.WriteHeader(200)
			flush(w)
			cut(w)
		}, calls: 1, lost: true},
		"no answer at all":            {first: func(w http.ResponseWriter, _ *got) { cut(w) }, calls: 1, lost: true},
		"an id, but a modern server":  {first: func(w http.ResponseWriter, m *got) { stream(w, m, "id: 1\ndata:\n\n") }, calls: 1, lost: true},
		"it only reads":               {tools: tool(`,"annotations":{"readOnlyHint":true}`), trust: true, first: func(w http.ResponseWriter, _ *got) { cut(w) }, calls: 2},
		"it says that it only reads":  {tools: tool(`,"annotations":{"readOnlyHint":true}`), first: func(w http.ResponseWriter, _ *got) { cut(w) }, calls: 1, lost: true},
		"it honours the key":          {tools: tool(`,"_meta":{"dev.cartagent/idempotencyKey":true}`), key: "k1", first: func(w http.ResponseWriter, _ *got) { cut(w) }, calls: 2},
		"it honours a key, and none":  {tools: tool(`,"_meta":{"dev.cartagent/idempotencyKey":true}`), first: func(w http.ResponseWriter, _ *got) { cut(w) }, calls: 1, lost: true},
		"it ignores the key":          {key: "k1", first: func(w http.ResponseWriter, _ *got) { cut(w) }, calls: 1, lost: true},
		"legacy, no id":               {legacy: true, first: func(w http.ResponseWriter, m *got) { stream(w, m, ": begun\n\n") }, calls: 1, lost: true},
		"legacy, to be taken up":      {legacy: true, first: func(w http.ResponseWriter, m *got) { stream(w, m, "id: 7\nretry: 10\ndata:\n\n") }, calls: 1},
		"legacy, cut, to be taken up": {legacy: true, first: func(w http.ResponseWriter, m *got) { stream(w, m, "id: 7\nretry: 10\ndata:\n\n", `data: {"js`); cut(w) }, calls: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &web{Tools: c.tools, Legacy: c.legacy}
			var mu sync.Mutex
			n := 0
			var id string
			s.On = on{
				"tools/call": func(w http.ResponseWriter, m *got) {
					mu.Lock()
					n++
					first := n == 1
					id = string(m.ID)
					mu.Unlock()
					if first {
						c.first(w, m)
						return
					}
					stream(w, m, answer)
				},
				http.MethodGet: func(w http.ResponseWriter, m *got) {
					if m.Header.Get("Last-Event-ID") != "7" {
						w.WriteHeader(http.StatusMethodNotAllowed)
						return
					}
					mu.Lock()
					defer mu.Unlock()
					stream(w, m, strings.ReplaceAll(answer, "ID", id))
				},
			}
			server := s.start(t).server()
			server.Trusted = c.trust
			client := open(t, server, Options{})
			j := job(`{}`)
			j.Key = c.key
			r, err := tools(t, client)["echo"].Run(t.Context(), j, nil)
			if c.lost {
				require.ErrorIs(t, err, ErrLost)
				require.ErrorContains(t, err, "whether the call took effect is not known")
			} else {
				require.NoError(t, err)
				assert.Equal(t, "done", text(r))
			}
			calls := s.all("tools/call")
			require.Len(t, calls, c.calls)
			if c.calls == 2 {
				assert.NotEqual(t, string(calls[0].ID), string(calls[1].ID), "under a new id")
			}
		})
	}

	t.Run("a list", func(t *testing.T) {
		t.Parallel()
		n := 0
		s := &web{}
		s.On = on{"tools/list": func(w http.ResponseWriter, m *got) {
			if n++; n == 1 {
				cut(w)
				return
			}
			s.usual(w, m, m.Method)
		}}
		_, all := s.start(t).connected(t, Options{})
		assert.Len(t, all, 1)
	})
}

// TestResumeGivesUp: a stream that cannot be taken up again is lost, and one that the server ends again and again without
// anything new as well.
func TestResumeGivesUp(t *testing.T) {
	t.Parallel()
	for name, get := range map[string]func(http.ResponseWriter, *got){
		"405":      func(w http.ResponseWriter, _ *got) { w.WriteHeader(http.StatusMethodNotAllowed) },
		"404":      func(w http.ResponseWriter, _ *got) { w.WriteHeader(http.StatusNotFound) },
		"always 0": func(w http.ResponseWriter, m *got) { stream(w, m, ": nothing new\n\n") },
		"503":      func(w http.ResponseWriter, _ *got) { w.WriteHeader(http.StatusServiceUnavailable) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := (&web{Legacy: true, On: map[string]func(http.ResponseWriter, *got){
				"tools/call": func(w http.ResponseWriter, m *got) { stream(w, m, "id: 7\nretry: 1\ndata:\n\n") },
				"GET": func(w http.ResponseWriter, m *got) {
					if m.Header.Get("Last-Event-ID") == "" {
						w.WriteHeader(http.StatusMethodNotAllowed)
						return
					}
					get(w, m)
				},
			}}).start(t)
			_, all := s.connected(t, Options{})
			_, err := all["echo"].Run(t.Context(), job(`{}`), nil)
			require.ErrorIs(t, err, ErrLost)
			assert.LessOrEqual(t, len(s.all("GET")), 1+maxResumes)
		})
	}
}

// TestPing: what a legacy server asks on its own stream and on that of a call is answered, and a modern one gets no answer.
func TestPing(t *testing.T) {
	t.Parallel()
	for _, legacy := range []bool{true, false} {
		t.Run(fmt.Sprint("legacy ", legacy), func(t *testing.T) {
			t.Parallel()
			answered := make(chan string, 8)
			s := &web{Legacy: legacy, Session: "s1"}
			ask := func(id int, method string) string {
				return fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":%q}\n\n", id, method)
			}
			s.On = map[string]func(http.ResponseWriter, *got){
				"GET": func(w http.ResponseWriter, m *got) {
					stream(w, m, "retry: 1\n\n", ask(77, "ping"))
					<-m.Context().Done()
				},
				"": func(w http.ResponseWriter, m *got) { // an answer
					assert.Equal(t, "s1", m.Header.Get("Mcp-Session-Id"))
					answered <- m.Body
					w.WriteHeader(http.StatusAccepted)
				},
				"tools/call": func(w http.ResponseWriter, m *got) {
					stream(w, m, ask(78, "ping")+ask(79, "roots/list")+ask(80, "sampling/createMessage")+ask(81, "elicitation/create"))
					if legacy {
						for range 5 {
							<-answered
						}
					}
					stream(w, m, `data: {"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}`+"\n\n")
				},
			}
			_, all := s.start(t).connected(t, Options{})
			assert.Equal(t, "done", text(run(t, all["echo"], `{}`)))
			bodies := ""
			for _, m := range s.all("") {
				if m.Method == "" && m.Request.Method == http.MethodPost {
					bodies += m.Body + "\n"
				}
			}
			if !legacy {
				assert.Empty(t, bodies)
				return
			}
			assert.Contains(t, bodies, `"id":77,"result":{}`)
			assert.Contains(t, bodies, `"id":78,"result":{}`)
			assert.Contains(t, bodies, `"id":79,"result":{"roots":[]}`)
			assert.Contains(t, bodies, `"id":80,"error"`)
			assert.Contains(t, bodies, `"id":81,"error"`)
		})
	}
}

// TestCancelHTTP: the end of its stream tells a modern server that a call is given up, a message a legacy one.
func TestCancelHTTP(t *testing.T) {
	t.Parallel()
	for _, legacy := range []bool{true, false} {
		for _, begun := range []bool{true, false} {
			t.Run(fmt.Sprint("legacy ", legacy, " begun ", begun), func(t *testing.T) {
				t.Parallel()
				asked, gone, told := make(chan struct{}), make(chan struct{}), make(chan string, 1)
				s := (&web{Legacy: legacy, On: map[string]func(http.ResponseWriter, *got){
					"tools/call": func(w http.ResponseWriter, m *got) {
						if begun {
							stream(w, m, ": wait\n\n")
						}
						close(asked)
						<-m.Context().Done()
						close(gone)
					},
					"notifications/cancelled": func(w http.ResponseWriter, m *got) {
						told <- m.Body
						w.WriteHeader(http.StatusAccepted)
					},
				}}).start(t)
				c, all := s.connected(t, Options{})
				ctx, cancel := context.WithCancel(t.Context())
				go func() { <-asked; cancel() }()
				_, err := all["echo"].Run(ctx, job(`{}`), nil)
				require.ErrorIs(t, err, context.Canceled)
				<-gone
				if legacy {
					call := s.all("tools/call")[0]
					assert.Contains(t, <-told, `"requestId":`+string(call.ID))
				}
				require.NoError(t, c.Close())
				assert.Len(t, s.all("notifications/cancelled"), map[bool]int{true: 1}[legacy])
				assert.Empty(t, c.conn.pending)
				assert.Empty(t, c.conn.kept)
				assert.Empty(t, c.conn.failed)
			})
		}
	}
}

// TestTimeoutHTTP: each request has its own time, and what it stalls stalls no other. Its end is told as that of a cancel.
func TestTimeoutHTTP(t *testing.T) {
	t.Parallel()
	for _, legacy := range []bool{true, false} {
		t.Run(fmt.Sprint("legacy ", legacy), func(t *testing.T) {
			t.Parallel()
			gone, told := make(chan struct{}), make(chan string, 1)
			s := (&web{Legacy: legacy, Tools: echoTool + `,{"name":"never","inputSchema":{"type":"object"}}`}).start(t)
			s.On = map[string]func(http.ResponseWriter, *got){
				"tools/call": func(w http.ResponseWriter, m *got) {
					if m.Params.Name == "never" {
						<-m.Context().Done()
						close(gone)
						return
					}
					s.usual(w, m, m.Method)
				},
				"notifications/cancelled": func(w http.ResponseWriter, m *got) {
					told <- m.Body
					w.WriteHeader(http.StatusAccepted)
				},
			}
			server := s.server()
			server.Timeout = time.Second
			c := open(t, server, Options{})
			all := tools(t, c)
			failed := make(chan error)
			go func() {
				_, err := all["never"].Run(t.Context(), job(`{}`), nil)
				failed <- err
			}()
			assert.Equal(t, "done", text(run(t, all["echo"], `{}`)))
			err := <-failed
			require.ErrorIs(t, err, ErrTimeout)
			require.ErrorContains(t, err, "it was waited for ")
			<-gone
			if legacy {
				assert.Contains(t, <-told, `"requestId":`)
			}
			assert.Equal(t, "done", text(run(t, all["echo"], `{}`)))
			require.NoError(t, c.Close())
			assert.Len(t, s.all("notifications/cancelled"), map[bool]int{true: 1}[legacy])
		})
	}
}

// TestPair speaks the HTTP+SSE of 2024-11-05, asked for and found.
func TestPair(t *testing.T) {
	t.Parallel()
	type on = map[string]func(http.ResponseWriter, *got)
	for name, c := range map[string]struct {
		kind, endpoint string
		err            string
	}{
		"asked for":           {TypeSSE, "/messages?id=1", ""},
		"found":               {"", "messages?id=1", ""},
		"another origin":      {TypeSSE, "http://127.0.0.1:1/messages", "it wants messages at another origin"},
		"another scheme":      {TypeSSE, "https://HOST/messages", "it wants messages at another origin"},
		"its own whole":       {TypeSSE, "http://HOST/messages?id=1", ""},
		"nothing like a path": {TypeSSE, "http://[", "it wants messages at another origin"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, end := make(chan string), make(chan struct{})
			s := &web{Legacy: true}
			s.On = on{
				methodDiscover: func(w http.ResponseWriter, _ *got) { w.WriteHeader(http.StatusMethodNotAllowed) },
				"GET": func(w http.ResponseWriter, m *got) {
					assert.Equal(t, "k", m.Header.Get("X-Key"))
					endpoint := strings.ReplaceAll(c.endpoint, "HOST", m.Host)
					stream(w, m, ": hi\n\nevent: endpoint\ndata: "+endpoint+"\n\n")
					for {
						select {
						case data := <-out:
							stream(w, m, "event: message\ndata: "+data+"\n\n")
						case <-end:
							return
						case <-m.Context().Done():
							return
						}
					}
				},
			}
			say := func(w http.ResponseWriter, m *got, result string) {
				w.WriteHeader(http.StatusAccepted)
				select {
				case out <- `{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`:
				case <-end:
				}
			}
			s.On[methodInitialize] = func(w http.ResponseWriter, m *got) {
				if m.URL.Path == "/mcp" {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				assert.Equal(t, "/messages?id=1", m.URL.String())
				assert.Equal(t, "k", m.Header.Get("X-Key"))
				say(w, m, `{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"w","version":"1"}}`)
			}
			s.On["tools/list"] = func(w http.ResponseWriter, m *got) { say(w, m, `{"tools":[`+echoTool+`]}`) }
			s.On["tools/call"] = func(w http.ResponseWriter, m *got) { say(w, m, `{"content":[{"type":"text","text":"done"}]}`) }
			server := s.start(t).server()
			server.Type, server.Headers = c.kind, map[string]string{"X-Key": "k"}
			client, err := Connect(t.Context(), server, Options{})
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, EraLegacy, client.Era())
			assert.Equal(t, "2024-11-05", client.Version())
			all := tools(t, client)
			assert.Equal(t, "done", text(run(t, all["echo"], `{}`)))
			assert.Empty(t, s.all("tools/call")[0].Header.Get("Mcp-Protocol-Version"), "it came later")
			require.NoError(t, client.Err())

			s.On["tools/call"] = func(http.ResponseWriter, *got) { close(end) }
			_, err = all["echo"].Run(t.Context(), job(`{}`), nil)
			require.ErrorIs(t, err, ErrEnded)
			require.ErrorIs(t, client.Err(), ErrEnded)
			require.NoError(t, client.Close())
			assert.Empty(t, s.all(http.MethodDelete))
		})
	}
}
