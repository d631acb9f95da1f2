//go:build unix

package mcpclient

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// TestHTTPEras is the part of case C033 about what servers say to server/discover, and what comes of it.
func TestHTTPEras(t *testing.T) {
	t.Parallel()
	status := func(code int, body string) func(http.ResponseWriter, *got) {
		return func(w http.ResponseWriter, _ *got) {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	rpc := func(code, rpcCode int, data string) func(http.ResponseWriter, *got) {
		return func(w http.ResponseWriter, m *got) { fail(w, m, code, rpcCode, "no", data) }
	}
	old := func(w http.ResponseWriter, m *got) { // it says so to whatever it is asked, with or without an id
		m.ID = nil
		fail(w, m, 400, -32000, "Bad Request: no session", "null")
	}
	refusals := func(n int, data string) func(http.ResponseWriter, *got) {
		return func(w http.ResponseWriter, m *got) {
			if n--; n >= 0 {
				fail(w, m, 400, -32022, "unsupported version", data)
				return
			}
			result(w, m, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
		}
	}
	type want struct {
		era string
		err string
	}
	legacy, modern := want{era: EraLegacy}, want{era: EraModern}
	for name, c := range map[string]struct {
		discover func(http.ResponseWriter, *got)
		legacy   bool // it takes initialize
		want     want
	}{
		"a result":                      {nil, false, modern},
		"400, empty":                    {status(400, ""), true, legacy},
		"400, a session is missing":     {old, true, legacy},
		"404, a page":                   {status(404, "<html>not found</html>"), true, legacy},
		"404, -32601":                   {rpc(404, -32601, "null"), true, legacy},
		"405":                           {status(405, ""), true, legacy},
		"406":                           {status(406, "no"), true, legacy},
		"422":                           {status(422, `{"detail":[]}`), true, legacy},
		"500":                           {status(500, "what?"), true, legacy},
		"200, -32601":                   {rpc(200, -32601, "null"), true, legacy},
		"200, -32602":                   {rpc(200, -32602, "null"), true, legacy},
		"200, a page":                   {status(200, "<html>"), true, legacy},
		"200, no versions":              {func(w http.ResponseWriter, m *got) { result(w, m, `{"hello":1}`) }, true, legacy},
		"the end of the connection":     {func(w http.ResponseWriter, _ *got) { cut(w) }, true, legacy},
		"a stream without an answer":    {func(w http.ResponseWriter, m *got) { stream(w, m, ": nothing\n\n") }, true, legacy},
		"-32022 with ours, once":        {refusals(1, `{"supported":["2026-07-28"]}`), false, modern},
		"-32022 with ours, again":       {refusals(9, `{"supported":["2026-07-28"]}`), false, modern},
		"-32022 with an older one":      {refusals(1, `{"supported":["2025-11-25"]}`), true, legacy},
		"-32022 with a foreign one":     {refusals(1, `{"supported":["2031-01-01"]}`), true, want{err: "it has 2031-01-01; this client has 2026-07-28, 2025-11-25"}},
		"-32022 without any":            {refusals(1, `null`), true, want{err: "none that it would name"}},
		"-32021":                        {rpc(400, -32021, `{"requiredCapabilities":{"roots":{}}}`), true, want{err: "code -32021"}},
		"-32020":                        {rpc(400, -32020, "null"), true, want{err: "code -32020"}},
		"401":                           {status(401, ""), true, want{err: "authorization (HTTP 401)"}},
		"401, a modern error":           {rpc(401, -32022, `{"supported":["2026-07-28"]}`), true, want{err: "authorization (HTTP 401)"}},
		"403":                           {status(403, "not you"), true, want{err: "it says: not you"}},
		"429":                           {status(429, ""), true, want{err: "HTTP 429 Too Many Requests; try again later"}},
		"503":                           {status(503, "busy"), true, want{err: "HTTP 503"}},
		"neither era":                   {status(400, ""), false, want{err: "nor does it have a stream for HTTP+SSE"}},
		"later versions only, a result": {func(w http.ResponseWriter, m *got) { result(w, m, `{"supportedVersions":["2099-01-01"]}`) }, true, want{err: "it has 2099-01-01"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := (&web{Legacy: c.legacy, On: map[string]func(http.ResponseWriter, *got){}}).start(t)
			if c.discover != nil {
				s.On[methodDiscover] = c.discover
			}
			client, err := Connect(t.Context(), s.server(), Options{})
			if c.want.err != "" {
				require.ErrorContains(t, err, c.want.err)
				require.ErrorContains(t, err, "connecting to MCP server shop")
				if !strings.Contains(c.want.err, "nor does") {
					assert.Empty(t, s.all(methodInitialize), "it does not fall back")
				}
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want.era, client.Era())
			assert.Equal(t, "done", text(run(t, tools(t, client)["echo"], `{}`)))
			require.NoError(t, client.Close())
			if c.want.era == EraModern {
				assert.Empty(t, s.all(methodInitialize))
				assert.Empty(t, s.all(http.MethodGet), "a modern server has no stream of its own")
				assert.Empty(t, s.all(http.MethodDelete))
				return
			}
			assert.Len(t, s.all(methodInitialize), 1)
			for _, m := range s.all(http.MethodPost) {
				version := map[string]string{methodDiscover: modernVersion, methodInitialize: ""}
				want, ok := version[m.Method]
				if !ok {
					want = legacyVersion
				}
				assert.Equal(t, want, m.Header.Get("MCP-Protocol-Version"), m.Method)
				if m.Method != methodDiscover {
					assert.NotContains(t, m.Body, "io.modelcontextprotocol/")
					assert.Empty(t, m.Header.Get("Mcp-Method"))
				}
			}
		})
	}
}

// TestAuthError: what the person reads where no login is set up.
func TestAuthError(t *testing.T) {
	t.Parallel()
	s := (&web{On: map[string]func(http.ResponseWriter, *got){
		methodDiscover: func(w http.ResponseWriter, m *got) {
			if m.Header.Get("Authorization") == "Bearer good" {
				result(w, m, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`)
				return
			}
			w.WriteHeader(http.StatusUnauthorized)
		},
	}}).start(t)
	_, err := Connect(t.Context(), s.server(), Options{})
	require.ErrorIs(t, err, ErrAuth)
	require.ErrorContains(t, err, `put a token into its headers in the configuration, such as "Authorization": "Bearer …", or log in`)
	with := s.server()
	with.Headers = map[string]string{"authorization": "Bearer secret-old"}
	_, err = Connect(t.Context(), with, Options{})
	require.ErrorIs(t, err, ErrAuth)
	require.ErrorContains(t, err, "put a token there that is still good")
	assert.NotContains(t, err.Error(), "secret-old")
	with.Headers = map[string]string{"authorization": "Bearer good"}
	c, err := Connect(t.Context(), with, Options{})
	require.NoError(t, err)
	require.NoError(t, c.Close())
}

// TestSlowProbe: a modern server that takes longer for its first answer than the probe waits is modern all the same, and one
// that never answers it is legacy.
func TestSlowProbe(t *testing.T) {
	t.Parallel()
	for era, s := range map[string]*web{EraModern: {}, EraLegacy: {Legacy: true}} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			tried := make(chan struct{})
			s.On = map[string]func(http.ResponseWriter, *got){
				methodDiscover: func(w http.ResponseWriter, m *got) {
					if s.Legacy {
						<-m.Context().Done()
						return
					}
					select {
					case <-tried:
					case <-m.Context().Done():
					}
					s.usual(w, m, methodDiscover)
				},
				methodInitialize: func(w http.ResponseWriter, m *got) {
					s.usual(w, m, methodInitialize)
					close(tried)
				},
			}
			s.start(t)
			c, err := Connect(t.Context(), s.server(), Options{Probe: 50 * time.Millisecond})
			require.NoError(t, err)
			assert.Equal(t, era, c.Era())
			assert.Equal(t, "done", text(run(t, tools(t, c)["echo"], `{}`)))
			require.NoError(t, c.Close())
		})
	}
}

// TestSlowRefusals: what a modern server says is its word, also when it comes late: it is asked once more in a version that
// it names, and where there is none in common that is the reason.
func TestSlowRefusals(t *testing.T) {
	t.Parallel()
	for supported, want := range map[string]string{"2026-07-28": "", "2031-01-01": "it has 2031-01-01; this client has 2026-07-28, 2025-11-25"} {
		t.Run(supported, func(t *testing.T) {
			t.Parallel()
			tried := make(chan struct{})
			var asked atomic.Int64
			s := &web{}
			s.On = map[string]func(http.ResponseWriter, *got){
				methodDiscover: func(w http.ResponseWriter, m *got) {
					if asked.Add(1) > 1 { // the second comes when the first was answered
						s.usual(w, m, methodDiscover)
						return
					}
					select {
					case <-tried:
					case <-m.Context().Done():
					}
					fail(w, m, 400, -32022, "unsupported version", `{"supported":["`+supported+`"]}`)
				},
				methodInitialize: func(w http.ResponseWriter, m *got) {
					s.usual(w, m, methodInitialize)
					close(tried)
				},
			}
			s.start(t)
			c, err := Connect(t.Context(), s.server(), Options{Probe: 50 * time.Millisecond})
			if want != "" {
				require.ErrorContains(t, err, want)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, EraModern, c.Era())
			require.NoError(t, c.Close())
		})
	}
}

// TestURLRefuses: bad configurations and servers that are not there.
func TestURLRefuses(t *testing.T) {
	t.Parallel()
	gone := (&web{}).start(t)
	gone.Close()
	for name, c := range map[string]struct {
		server Server
		err    string
	}{
		"no scheme":     {Server{Name: "shop", URL: "example.com/mcp"}, "it must be like https://example.com/mcp"},
		"a file":        {Server{Name: "shop", URL: "file:///etc/passwd"}, "it must be like https://example.com/mcp"},
		"an odd type":   {Server{Name: "shop", URL: "http://127.0.0.1", Type: "ws"}, `its type is "ws"; it must be http or sse`},
		"an odd header": {Server{Name: "shop", URL: "http://127.0.0.1", Headers: map[string]string{"a b": "x"}}, `"a b" is no name of a header`},
		"a line break":  {Server{Name: "shop", URL: "http://127.0.0.1", Headers: map[string]string{"X": "a\nsecret"}}, "the header X has a line break"},
		"nobody there":  {Server{Name: "shop", URL: gone.URL + "/?key=secret"}, "it cannot be reached"},
		"nobody, sse":   {Server{Name: "shop", URL: gone.URL + "/?key=secret", Type: TypeSSE}, "it cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Connect(t.Context(), c.server, Options{})
			require.ErrorContains(t, err, c.err)
			assert.NotContains(t, err.Error(), "secret")
		})
	}
}

// TestSilentURL: a server that takes connections and never answers is given up in time.
func TestSilentURL(t *testing.T) {
	t.Parallel()
	hang := func(_ http.ResponseWriter, m *got) { <-m.Context().Done() }
	s := (&web{On: map[string]func(http.ResponseWriter, *got){methodDiscover: hang, methodInitialize: hang, "GET": hang}}).start(t)
	for _, kind := range []string{TypeHTTP, TypeSSE} {
		server := s.server()
		server.Type = kind
		_, err := Connect(t.Context(), server, Options{Setup: 300 * time.Millisecond, Probe: 50 * time.Millisecond})
		require.ErrorIs(t, err, ErrTimeout, kind)
	}
}

// TestModernHTTP is the part of case C033 about what a modern server gets, and sends.
func TestModernHTTP(t *testing.T) {
	t.Parallel()
	s := (&web{
		Tools: `{"name":"über tool","inputSchema":{"type":"object","properties":{` +
			`"note":{"type":"string","x-mcp-header":"Note"},"n":{"type":"integer","x-mcp-header":"Count"},` +
			`"sub":{"type":"object","properties":{"yes":{"type":"boolean","x-mcp-header":"Yes"}}},"plain":{"type":"string"}}}},` +
			`{"name":"bad","inputSchema":{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}}`,
		On: map[string]func(http.ResponseWriter, *got){
			"resources/read": func(w http.ResponseWriter, m *got) {
				result(w, m, `{"contents":[{"uri":"menu://größe","text":"latte"}]}`)
			},
		},
	}).start(t)
	inner := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Mcp-Session-Id", "zzz") // stub D
		inner.ServeHTTP(w, r)
	})
	o, logs := logged()
	c, all := s.connected(t, o)
	require.Contains(t, all, "über tool")
	require.NotContains(t, all, "bad")
	assert.Contains(t, logs.String(), `tool left out`)

	run(t, all["über tool"], `{"note":"a\nb","n":12345678901234567890,"sub":{"yes":true},"plain":"x"}`)
	run(t, all["über tool"], `{"note":null,"sub":{}}`)
	_, err := c.ReadResource(t.Context(), "menu://größe")
	require.NoError(t, err)
	prompts, err := c.Prompts(t.Context()) // stub C
	assert.Empty(t, prompts)
	rpc, ok := errors.AsType[*RPCError](err)
	require.True(t, ok, "%v", err)
	assert.EqualValues(t, -32601, rpc.Code)
	assert.Equal(t, "done", text(run(t, all["über tool"], `{}`)))
	assert.Empty(t, s.all(methodInitialize))

	for _, m := range s.all("") {
		assert.Equal(t, http.MethodPost, m.Request.Method)
		assert.Empty(t, m.Header.Get("Mcp-Session-Id"))
		assert.Equal(t, "application/json, text/event-stream", m.Header.Get("Accept"))
		assert.Equal(t, "application/json", m.Header.Get("Content-Type"))
		assert.JSONEq(t, `"`+m.Header.Get("Mcp-Protocol-Version")+`"`, string(m.Params.Meta["io.modelcontextprotocol/protocolVersion"]))
		assert.Equal(t, m.Method, m.Header.Get("Mcp-Method"))
		assert.Equal(t, map[string]string{
			"tools/call": "=?base64?w7xiZXIgdG9vbA==?=", "resources/read": "=?base64?bWVudTovL2dyw7bDn2U=?=",
		}[m.Method], m.Header.Get("Mcp-Name"))
	}
	params := func(h http.Header) map[string]string {
		out := map[string]string{}
		for name := range h {
			if strings.HasPrefix(name, "Mcp-Param-") {
				out[name] = h.Get(name)
			}
		}
		return out
	}
	calls := s.all("tools/call")
	assert.Equal(t, map[string]string{
		"Mcp-Param-Note": "=?base64?YQpi?=", "Mcp-Param-Count": "12345678901234567890", "Mcp-Param-Yes": "true",
	}, params(calls[0].Header))
	assert.Empty(t, params(calls[1].Header))
}

// TestHeaderMismatch: a server that misses a header has changed its tool. The list is fetched again and the call is repeated
// once.
func TestHeaderMismatch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		schema string // after the change
		calls  int
		err    string
	}{
		"the new list helps": {`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`, 2, ""},
		"it does not":        {`{"type":"object"}`, 2, "code -32020"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &web{}
			lists := 0
			s.On = map[string]func(http.ResponseWriter, *got){
				"tools/list": func(w http.ResponseWriter, m *got) {
					schema := `{"type":"object"}`
					if lists++; lists > 1 {
						schema = c.schema
					}
					result(w, m, `{"tools":[{"name":"echo","inputSchema":`+schema+`}]}`)
				},
				"tools/call": func(w http.ResponseWriter, m *got) {
					if m.Header.Get("Mcp-Param-Region") != "east" {
						fail(w, m, 400, -32020, "header missing", "null")
						return
					}
					result(w, m, `{"content":[{"type":"text","text":"done"}]}`)
				},
			}
			_, all := s.start(t).connected(t, Options{})
			_, err := all["echo"].Run(t.Context(), job(`{"region":"east"}`), nil)
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
			}
			calls := s.all("tools/call")
			require.Len(t, calls, c.calls)
			assert.NotEqual(t, string(calls[0].ID), string(calls[1].ID))
			assert.Len(t, s.all("tools/list"), 2)
		})
	}
}

func TestBindings(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":""}}}`:                                                          "no part of a header's name",
		`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"a b"}}}`:                                                       "no part of a header's name",
		`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":7}}}`:                                                           "no part of a header's name",
		`{"type":"object","properties":{"a":{"type":"number","x-mcp-header":"A"}}}`:                                                         "no string, integer or boolean",
		`{"type":"object","properties":{"a":{"x-mcp-header":"A"}}}`:                                                                         "no string, integer or boolean",
		`{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`:                "two of its arguments",
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}`:                                "not reached by properties alone",
		`{"type":"object","anyOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}`:                                             "not reached by properties alone",
		`{"type":"object","$defs":{"d":{"type":"string","x-mcp-header":"A"}}}`:                                                              "not reached by properties alone",
		`{"type":"string","x-mcp-header":"A"}`:                                                                                              "not reached by properties alone",
		strings.Repeat(`{"items":`, 300) + `{"x-mcp-header":"A"}` + strings.Repeat(`}`, 300):                                                "nested too deep",
		`{"type":"object","properties":{"a":{"type":"string","\u0078-mcp-header":"a b"}}}`:                                                  "no part of a header's name",
		`{"type":"object","properties":{"x-mcp-header":{"type":"string"}}}`:                                                                 "",
		`{"type":"object","properties":{"a":{"type":"string","default":{"x-mcp-header":"?"},"enum":[{"x-mcp-header":1}]}}}`:                 "",
		`{"type":"object","properties":{"a":{"type":"object","properties":{"properties":{"type":"boolean","x-mcp-header":"Mcp-Method"}}}}}`: "",
	} {
		_, err := bindingsOf([]byte(schema))
		if want == "" {
			require.NoError(t, err, schema)
		} else {
			require.ErrorContains(t, err, want, schema)
		}
	}
}

func TestHeaderValues(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain":            "plain",
		"two words":        "two words",
		"":                 "=?base64??=",
		" edge":            "=?base64?IGVkZ2U=?=",
		"edge ":            "=?base64?ZWRnZSA=?=",
		"a\tb":             "=?base64?YQli?=",
		"ü":                "=?base64?w7w=?=",
		"\x7f":             "=?base64?fw==?=",
		"=?base64?x?=":     "=?base64?PT9iYXNlNjQ/eD89?=",
		"=?base64? x":      "=?base64? x",
		"a\r\nX-Admin: no": "=?base64?YQ0KWC1BZG1pbjogbm8=?=",
	} {
		assert.Equal(t, want, encodeHeader(in))
	}
	b := []binding{{path: []string{"v"}, header: "V"}}
	for in, want := range map[string]string{
		`5`: "5", `-0`: "-0", `5.0`: "5", `1e3`: "1000", `true`: "true", `false`: "false", `"x"`: "x", `""`: "=?base64??=",
		`9007199254740993`: "9007199254740993", `null`: "", `1.5`: "", `1e999`: "", `{}`: "", `[1]`: "",
	} {
		assert.Equal(t, want, values(b, []byte(`{"v":`+in+`}`))["Mcp-Param-V"], in)
	}
	assert.Empty(t, values(b, []byte(`{}`)))
	assert.Empty(t, values(b, nil))
	assert.Empty(t, values([]binding{{path: []string{"v", "w"}, header: "V"}}, []byte(`{"v":7}`)))
}

// TestAServerChangesItsEra: a server at a URL that was of the handshake era, and is a modern one since, is connected to anew
// when it has forgotten the session. Only the call that has found it out fails, and says that nothing was done.
func TestAServerChangesItsEra(t *testing.T) {
	t.Parallel()
	old, changed := &web{Legacy: true, Session: "s1"}, &web{}
	changed.On = map[string]func(http.ResponseWriter, *got){
		methodInitialize: func(w http.ResponseWriter, m *got) {
			fail(w, m, 400, -32022, "unsupported version", `{"supported":["2026-07-28"],"requested":"2025-11-25"}`)
		},
	}
	var now atomic.Pointer[web]
	now.Store(old)
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch s := now.Load(); {
		case s == changed && r.Header.Get(headerSession) != "":
			w.WriteHeader(http.StatusNotFound)
		default:
			if r.Header.Get(headerMethod) == methodCall {
				calls.Add(1)
			}
			s.serve(w, r)
		}
	}))
	t.Cleanup(server.Close)
	h := hosted(t, HostOptions{Retry: soon, Options: Options{Eras: NewEras()}}, Server{Name: "shop", URL: server.URL})
	require.Equal(t, EraLegacy, h.States()[0].Era)
	echo := hostTool(t, h, "echo")
	assert.Equal(t, "done", text(mustRun(t, echo)))
	now.Store(changed)
	_, err := echo.Run(t.Context(), job(`{}`), nil)
	require.ErrorContains(t, err, "the server has forgotten the session")
	require.ErrorContains(t, err, "unsupported version")
	assert.Zero(t, calls.Load())
	for h.States()[0].Era != EraModern {
		select {
		case <-h.Changed():
		case <-t.Context().Done():
			require.Fail(t, "it is not found out anew")
		}
	}
	assert.Equal(t, "done", text(mustRun(t, echo)))
	assert.EqualValues(t, 1, calls.Load())
}

func mustRun(t *testing.T, tool loop.Tool) loop.Result {
	t.Helper()
	r, err := tool.Run(t.Context(), job(`{}`), nil)
	require.NoError(t, err)
	return r
}
