//go:build unix

package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

const doneResult = `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}`

// TestKeepAlive is case C032: whatever goes before the answer on its stream, the answer is found.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	umlaut := `data: {"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"größe"}]}}` + "\n\n"
	half := strings.Index(umlaut, "ö") + 1
	big := strings.Repeat("y", 5<<20)
	for name, c := range map[string]struct {
		pieces []string
		want   string
	}{
		"comments":             {[]string{": hi\r\n\r\n", ":\n", "data: " + doneResult + "\n\n"}, "done"},
		"a keepalive event":    {[]string{"event: keepalive\ndata: {}\n\n", "data: " + doneResult + "\n\n"}, "done"},
		"empty data":           {[]string{"data:\n\ndata\n\n", "data: " + doneResult + "\n\n"}, "done"},
		"an id and a time":     {[]string{"id: 7\nretry: 100\n\n", "data: " + doneResult + "\n\n"}, "done"},
		"a beat":               {[]string{`data: {"type":"beat"}` + "\n\n", "data: " + doneResult + "\n\n"}, "done"},
		"no JSON":              {[]string{"data: ping\n\ndata: [\n\ndata: 7\n\ndata: null\n\n", "data: " + doneResult + "\n\n"}, "done"},
		"foreign answers":      {[]string{`data: {"jsonrpc":"2.0","id":999,"result":{}}` + "\n\n" + `data: {"jsonrpc":"2.0","id":"ID","result":{}}` + "\n\n", "data: " + doneResult + "\n\n"}, "done"},
		"two lines":            {[]string{"data: " + strings.Replace(doneResult, `,"result"`, ",\ndata: \"result\"", 1) + "\n\n"}, "done"},
		"CR":                   {[]string{": x\r\revent: message\rdata: " + doneResult + "\r\r"}, "done"},
		"no space":             {[]string{"data:" + doneResult + "\n\n"}, "done"},
		"a mark of the order":  {[]string{"\xef", "\xbb\xbfdata: " + doneResult + "\n\n"}, "done"},
		"a border in a letter": {[]string{umlaut[:half], umlaut[half:]}, "größe"},
		"5 MiB":                {[]string{strings.Replace("data: "+doneResult+"\n\n", "done", big, 1)}, big},
		"a line too few":       {[]string{"data: " + doneResult + "\n"}, "done"},
		"progress":             {[]string{`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}` + "\n\n", "data: " + doneResult + "\n\n"}, "done"},
		"another name":         {[]string{"event: response\ndata: " + doneResult + "\n\n"}, "done"},
		"an error without id":  {[]string{`data: {"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what?"}}` + "\n\n"}, ""},
	} {
		for _, legacy := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " legacy ", legacy), func(t *testing.T) {
				t.Parallel()
				s := (&web{Legacy: legacy, On: map[string]func(http.ResponseWriter, *got){
					"tools/call": func(w http.ResponseWriter, m *got) { stream(w, m, c.pieces...) },
				}}).start(t)
				_, all := s.connected(t, Options{})
				for range 2 {
					r, err := all["echo"].Run(t.Context(), job(`{}`), nil)
					if c.want == "" {
						require.ErrorContains(t, err, "what? (code -32600)")
						continue
					}
					require.NoError(t, err)
					require.Len(t, text(r), len(c.want))
					require.True(t, strings.EqualFold(c.want, text(r)), "%.100s", text(r))
				}
			})
		}
	}
}

// TestSizes is case C024 over HTTP: answers up to the limit arrive, one beyond it fails by itself, and the next call works.
func TestSizes(t *testing.T) {
	t.Parallel()
	s := (&web{On: map[string]func(http.ResponseWriter, *got){
		"tools/call": func(w http.ResponseWriter, m *got) {
			var n int
			var events bool
			_, _ = fmt.Sscanf(string(m.Params.Arguments), `{"n":%d,"events":%t}`, &n, &events)
			before, after, _ := strings.Cut(strings.ReplaceAll(doneResult, "ID", string(m.ID)), "done")
			w.Header().Set("Content-Type", "application/json")
			if events {
				w.Header().Set("Content-Type", "text/event-stream")
				before, after = "data: "+before, after+"\n\n"
			}
			_, _ = io.WriteString(w, before)
			chunk := strings.Repeat("x", 1<<16)
			for left := n; left > 0; left -= len(chunk) {
				if _, err := io.WriteString(w, chunk[:min(left, len(chunk))]); err != nil {
					return
				}
			}
			_, _ = io.WriteString(w, after)
		},
	}}).start(t)
	_, all := s.connected(t, Options{})
	for _, events := range []bool{false, true} {
		args := func(n int) string { return fmt.Sprintf(`{"n":%d,"events":%t}`, n, events) }
		for _, n := range []int{65535, 65536, 1048577, 8 << 20} {
			assert.Len(t, text(run(t, all["echo"], args(n))), n)
		}
		_, err := all["echo"].Run(t.Context(), job(args(maxLine+1+8<<20)), nil)
		require.ErrorContains(t, err, "more than the limit of 67108864; ask for less")
		assert.Len(t, text(run(t, all["echo"], args(3))), 3)
	}
}

// TestOddBodies is case C025 for answers that are one body.
func TestOddBodies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind, body string
		err        error
	}{
		"a mark of the order": {"application/json", "\xef\xbb\xbf" + doneResult + "\r\n", nil},
		"a charset":           {"application/json; charset=utf-8", doneResult, nil},
		"a batch":             {"application/json", "[" + doneResult + "]", nil},
		"a page":              {"text/html", "<html>", ErrInvalid},
		"no type":             {"", doneResult, ErrInvalid},
		"nothing":             {"application/json", "", ErrInvalid},
		"no JSON":             {"application/json", "hello", ErrInvalid},
		"another id":          {"application/json", strings.Replace(doneResult, "ID", "999", 1), ErrInvalid},
		"a string for an id":  {"application/json", strings.Replace(doneResult, "ID", `"ID"`, 1), ErrInvalid},
		"an unknown type":     {"application/json", strings.Replace(doneResult, `"content"`, `"resultType":"task","content"`, 1), ErrInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := (&web{On: map[string]func(http.ResponseWriter, *got){
				"tools/call": func(w http.ResponseWriter, m *got) {
					w.Header().Set("Content-Type", c.kind)
					_, _ = io.WriteString(w, strings.ReplaceAll(c.body, "ID", string(m.ID)))
				},
			}}).start(t)
			_, all := s.connected(t, Options{})
			r, err := all["echo"].Run(t.Context(), job(`{}`), nil)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "done", text(r))
		})
	}
}

// TestRedirects: what the configuration has for a server goes to its own origin only.
func TestRedirects(t *testing.T) {
	t.Parallel()
	target := (&web{}).start(t)
	secure := httptest.NewTLSServer(http.RedirectHandler(target.URL+"/mcp", http.StatusTemporaryRedirect))
	t.Cleanup(secure.Close)
	for name, c := range map[string]struct {
		code int
		to   string
		keys bool // they arrive
		err  string
	}{
		"307 to itself":  {307, "/real", true, ""},
		"308 to itself":  {308, "/real", true, ""},
		"301 to itself":  {301, "/real", true, ""},
		"302 to itself":  {302, "/real", true, ""},
		"307 to another": {307, target.URL + "/real", false, ""},
		"308 and back":   {308, target.URL + "/back", false, ""},
		"round":          {307, "/mcp", false, "round and round"},
		"303":            {303, "/real", false, "HTTP 303"},
		"nowhere":        {307, "", false, "nowhere"},
		"to a file":      {307, "file:///etc/passwd", false, "nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			var keys []string
			inner := &web{}
			s := httptest.NewServer(nil)
			t.Cleanup(s.Close)
			other := httptest.NewServer(nil)
			t.Cleanup(other.Close)
			serve := func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/mcp":
					if c.to != "" {
						w.Header().Set("Location", strings.ReplaceAll(c.to, target.URL, other.URL))
					}
					w.WriteHeader(c.code)
				case "/back":
					http.Redirect(w, r, s.URL+"/real", http.StatusTemporaryRedirect)
				default:
					mu.Lock()
					keys = append(keys, r.Header.Get("Authorization")+" "+r.Header.Get("X-Key"))
					mu.Unlock()
					inner.serve(w, r)
				}
			}
			s.Config.Handler, other.Config.Handler = http.HandlerFunc(serve), http.HandlerFunc(serve)
			client, err := Connect(t.Context(), Server{Name: "shop", URL: s.URL + "/mcp", Headers: map[string]string{
				"authorization": "Bearer t", "x-key": "k",
			}}, Options{})
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "done", text(run(t, tools(t, client)["echo"], `{}`)))
			require.NoError(t, client.Close())
			want := " "
			if c.keys {
				want = "Bearer t k"
			}
			assert.NotEmpty(t, keys)
			for _, k := range keys {
				assert.Equal(t, want, k)
			}
		})
	}
	t.Run("https to http", func(t *testing.T) {
		t.Parallel()
		c, r, err := dialURL(Server{Name: "shop", URL: secure.URL}, Options{}.withDefaults())
		require.NoError(t, err)
		r.client.Transport = secure.Client().Transport
		_, err = r.do(t.Context(), letter{method: http.MethodPost}) //nolint:bodyclose // there is none
		require.ErrorContains(t, err, "from https to http")
		c.discard()
	})
}

// login is an auth.OAuthHandler that gets its tokens from a list.
type login struct {
	mu     sync.Mutex
	tokens []string
	token  string
	asked  []string // status and challenge, for each Authorize
	err    error
	hold   chan struct{} // it waits for this
}

var _ auth.OAuthHandler = (*login)(nil)

func (l *login) TokenSource(context.Context) (oauth2.TokenSource, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.token == "" {
		return nil, nil
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: l.token}), nil
}

func (l *login) Authorize(ctx context.Context, _ *http.Request, resp *http.Response) error {
	_ = resp.Body.Close()
	if l.hold != nil {
		select {
		case <-l.hold:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = append(l.asked, fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("WWW-Authenticate")))
	if l.err != nil || len(l.tokens) == 0 {
		return l.err
	}
	l.token, l.tokens = l.tokens[0], l.tokens[1:]
	return nil
}

// guarded is a server that lets "a" list, and "b" call.
func guarded() *web {
	s := &web{}
	guard := func(scope string, tokens ...string) func(http.ResponseWriter, *got) {
		return func(w http.ResponseWriter, m *got) {
			token := strings.TrimPrefix(m.Header.Get("Authorization"), "Bearer ")
			if slices.Contains(tokens, token) {
				s.usual(w, m, m.Method)
				return
			}
			status := http.StatusUnauthorized
			if token == "a" {
				status = http.StatusForbidden
			}
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+scope+`"`)
			w.WriteHeader(status)
		}
	}
	s.On = map[string]func(http.ResponseWriter, *got){
		methodDiscover: guard("list", "a", "b"), "tools/list": guard("list", "a", "b"), "tools/call": guard("call", "b"),
	}
	return s
}

// TestAuthorize: the handler is asked at 401 and at 403, by one for all, and a request that it could not help fails.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	challenge := func(status int, scope string) string {
		return fmt.Sprintf(`%d Bearer error="insufficient_scope", scope="%s"`, status, scope)
	}
	connect := func(t *testing.T, l *login) (*web, *Client, error) {
		t.Helper()
		s := guarded().start(t)
		c, err := Connect(t.Context(), s.server(), Options{Authorize: func(Server) auth.OAuthHandler { return l }})
		if err == nil {
			t.Cleanup(func() { assert.NoError(t, c.Close()) })
		}
		return s, c, err
	}
	t.Run("step up", func(t *testing.T) {
		t.Parallel()
		l := &login{tokens: []string{"a", "b"}}
		_, c, err := connect(t, l)
		require.NoError(t, err)
		assert.Equal(t, EraModern, c.Era())
		assert.Equal(t, "done", text(run(t, tools(t, c)["echo"], `{}`)))
		assert.Equal(t, []string{challenge(401, "list"), challenge(403, "call")}, l.asked)
	})
	t.Run("side by side", func(t *testing.T) {
		t.Parallel()
		l := &login{tokens: []string{"a", "b"}}
		_, c, err := connect(t, l)
		require.NoError(t, err)
		echo := tools(t, c)["echo"]
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				_, err := echo.Run(t.Context(), job(`{}`), nil)
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		assert.Len(t, l.asked, 2)
	})
	t.Run("never enough", func(t *testing.T) {
		t.Parallel()
		l := &login{tokens: []string{"a", "a", "a", "a"}}
		s, c, err := connect(t, l)
		require.NoError(t, err)
		_, err = tools(t, c)["echo"].Run(t.Context(), job(`{}`), nil)
		require.ErrorIs(t, err, ErrAuth)
		require.ErrorContains(t, err, "HTTP 403")
		assert.Len(t, s.all("tools/call"), 2)
		assert.Len(t, l.asked, 2)
	})
	t.Run("no use", func(t *testing.T) {
		t.Parallel()
		l := &login{tokens: []string{"x", "x"}}
		_, _, err := connect(t, l)
		require.ErrorIs(t, err, ErrAuth)
		require.ErrorContains(t, err, "log in again")
		assert.Len(t, l.asked, 1)
	})
	t.Run("it fails", func(t *testing.T) {
		t.Parallel()
		l := &login{err: errors.New("the person has closed the window")}
		s, _, err := connect(t, l)
		require.ErrorIs(t, err, ErrAuth)
		require.ErrorIs(t, err, l.err)
		assert.Empty(t, s.all(methodInitialize))
	})
	t.Run("the person's time does not count", func(t *testing.T) {
		t.Parallel()
		l := &login{tokens: []string{"b"}, hold: make(chan struct{})}
		s := guarded().start(t)
		time.AfterFunc(1500*time.Millisecond, func() { close(l.hold) })
		c, err := Connect(t.Context(), s.server(), Options{
			Setup: time.Second, Probe: 20 * time.Millisecond,
			Authorize: func(Server) auth.OAuthHandler { return l },
		})
		require.NoError(t, err)
		assert.Equal(t, EraModern, c.Era())
		require.NoError(t, c.Close())
	})
	t.Run("given up", func(t *testing.T) {
		t.Parallel()
		l := &login{hold: make(chan struct{})}
		s := guarded().start(t)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		_, err := Connect(ctx, s.server(), Options{Authorize: func(Server) auth.OAuthHandler { return l }})
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("once, whatever is tried", func(t *testing.T) {
		t.Parallel()
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.WriteHeader(http.StatusNotFound)
		}))
		t.Cleanup(s.Close)
		l, made := &login{tokens: []string{"a", "b", "c"}}, 0
		_, err := Connect(t.Context(), Server{Name: "shop", URL: s.URL}, Options{Authorize: func(Server) auth.OAuthHandler {
			made++
			return l
		}})
		require.ErrorContains(t, err, "nor does it have a stream for HTTP+SSE")
		assert.Equal(t, 1, made)
		assert.Len(t, l.asked, 1)
	})
	t.Run("headers come first", func(t *testing.T) {
		t.Parallel()
		s := guarded().start(t)
		server := s.server()
		server.Headers = map[string]string{"Authorization": "Bearer a"}
		c, err := Connect(t.Context(), server, Options{Authorize: func(Server) auth.OAuthHandler {
			t.Error("asked for a login")
			return nil
		}})
		require.NoError(t, err)
		require.NoError(t, c.Close())
	})
	t.Run("no token for others", func(t *testing.T) {
		t.Parallel()
		other := guarded().start(t)
		s := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
		t.Cleanup(s.Close)
		l := &login{token: "a", tokens: []string{"a"}}
		_, err := Connect(t.Context(), Server{Name: "shop", URL: s.URL}, Options{Authorize: func(Server) auth.OAuthHandler { return l }})
		require.ErrorIs(t, err, ErrAuth)
		assert.Empty(t, l.asked)
		for _, m := range other.all("") {
			assert.Empty(t, m.Header.Get("Authorization"))
		}
	})
}

// TestHTTPLeaksNothing is a part of case C070: clients that come and go leave no file behind, whatever is under way.
func TestHTTPLeaksNothing(t *testing.T) { // not parallel: it counts the files of the whole process
	hang := func(w http.ResponseWriter, m *got) { stream(w, m, ": wait\n\n"); <-m.Context().Done() }
	s := (&web{Legacy: true, Session: "s", On: map[string]func(http.ResponseWriter, *got){"tools/call": hang, "GET": hang}}).start(t)
	files := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(list)
	}
	cycle := func() {
		c, err := Connect(t.Context(), s.server(), Options{})
		require.NoError(t, err)
		echo := tools(t, c)["echo"]
		failed := make(chan error)
		before := len(s.all("tools/call"))
		go func() {
			_, err := echo.Run(t.Context(), job(`{}`), nil)
			failed <- err
		}()
		require.Eventually(t, func() bool { return len(s.all("tools/call")) > before }, time.Minute, time.Millisecond)
		require.NoError(t, c.Close())
		require.ErrorIs(t, <-failed, ErrClosed)
	}
	cycle()
	before := files()
	for range 20 {
		cycle()
	}
	// The server closes its ends a moment later.
	require.Eventually(t, func() bool { return files() <= before+4 }, time.Minute, 10*time.Millisecond)
}
