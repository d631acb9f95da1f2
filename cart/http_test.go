package cart

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A post is a message as a client of the revision sends it over HTTP. Headers in change replace those that belong to the
// message; one without values is left out.
type post struct {
	message string
	change  http.Header
	method  string
}

type answer struct {
	status int
	header http.Header
	text   string
	body   map[string]any
}

// send posts a message to a cart, and holds what comes back against what every answer has.
func (p post) send(t *testing.T, ctx context.Context, url string) answer { //nolint:revive // a test's t comes first here
	t.Helper()
	if p.method == "" {
		p.method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, p.method, url, strings.NewReader(p.message))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	req := parse([]byte(p.message))
	meta, _ := asObject(req.params["_meta"])
	if version, ok := asString(meta[metaVersion]); ok {
		r.Header.Set(headerVersion, version)
		r.Header.Set(headerMethod, req.method)
	}
	for _, from := range []string{"name", "uri"} {
		if name, ok := asString(req.params[from]); ok {
			r.Header.Set(headerName, name)
		}
	}
	for name, values := range p.change {
		r.Header.Del(name)
		for _, v := range values {
			r.Header.Add(name, v)
		}
		if name == "Host" {
			r.Host = values[0]
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	a := answer{status: resp.StatusCode, header: resp.Header, text: string(text)}
	if len(text) > 0 && p.method != http.MethodHead {
		assert.Equal(t, "application/json", resp.Header.Get("Content-Type"))
		require.NoError(t, json.Unmarshal(text, &a.body), "%s", text)
	}
	assert.Equal(t, "no-store", resp.Header.Get("Cache-Control"))
	assert.Empty(t, resp.Header.Get("Mcp-Session-Id"))
	return a
}

func (a answer) code() int {
	failure, _ := a.body["error"].(map[string]any)
	code, _ := failure["code"].(float64)
	return int(code)
}

// website is a cart over HTTP for the length of a test, and its endpoint.
func website(t *testing.T, o Options, h HTTPOptions) string {
	t.Helper()
	server := httptest.NewServer(NewHandler(o, h))
	t.Cleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		server.Close()
	})
	return server.URL + endpoint
}

func tokens(t *testing.T, lines string) *Tokens {
	t.Helper()
	known, err := ParseTokens(strings.NewReader(lines))
	require.NoError(t, err)
	return known
}

func ordersOverHTTP(c *customer) {
	t := c.t
	url := website(t, Options{NewHandle: func() string { return "ord_1" }}, HTTPOptions{})
	for _, row := range []struct {
		message string
		status  int
		code    int
	}{
		{modern(7, "server/discover", "", "{}"), 200, 0},
		{modern(7, "tools/call", `"name":"create_order"`, "{}"), 200, 0},
		{modern(7, "tools/call", `"name":"add_item","arguments":{"order":"ord_1","item":"latte"}`, `{"elicitation":{}}`), 200, 0},
		{modern(7, "resources/read", `"uri":"menu://today"`, "{}"), 200, 0},
		{modern(7, "prompts/get", `"name":"weekly_special"`, "{}"), 200, 0},
		{modern(7, "tools/call", `"name":"refund_order"`, "{}"), 200, codeInvalidParams},
		{modern(7, "resources/read", `"uri":"menu://yesterday"`, "{}"), 200, codeInvalidParams},
		{modern(7, "tools/call", `"arguments":{}`, "{}"), 200, codeInvalidParams},
		{modern(7, "ping", "", "{}"), 404, codeMethodNotFound},
		{modern(7, "subscriptions/listen", `"notifications":{}`, "{}"), 404, codeMethodNotFound},
		{strings.Replace(modern(7, "tools/list", "", "{}"), Version, "1900-01-01", 1), 400, codeUnsupportedVersion},
		{strings.Replace(modern(7, "tools/list", "", "{}"), metaClient, "x", 1), 400, codeInvalidParams},
		{"[" + modern(7, "tools/list", "", "{}") + "]", 400, codeInvalidRequest},
		{"{", 400, codeParse},
		{"", 400, codeParse},
		{`{"jsonrpc":"2.0","id":7,"result":{}}`, 400, codeInvalidRequest},
		{`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}`, 404, codeMethodNotFound},
	} {
		got := post{message: row.message}.send(t, t.Context(), url)
		assert.Equal(t, row.status, got.status, row.message)
		assert.Equal(t, row.code, got.code(), row.message)
		if row.code == 0 {
			assert.NotEmpty(t, resultOf(t, got.body)["resultType"])
		}
		if req := parse([]byte(row.message)); req.id != nil {
			assert.InDelta(t, 7, got.body["id"], 0, row.message)
		}
	}
	notice := post{
		message: `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`,
		change:  http.Header{"Mcp-Method": {"notifications/cancelled"}, "Mcp-Protocol-Version": {Version}},
	}.send(t, t.Context(), url)
	assert.Equal(t, http.StatusAccepted, notice.status)
	assert.Empty(t, notice.text)
}

func noSessions(c *customer) {
	t := c.t
	for _, legacy := range []bool{false, true} {
		url := website(t, Options{Legacy: legacy}, HTTPOptions{})
		for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut, http.MethodHead, http.MethodOptions} {
			got := post{method: method, change: http.Header{"Mcp-Session-Id": {"s"}, "Last-Event-Id": {"1"}}}.send(t, t.Context(), url)
			assert.Equal(t, http.StatusMethodNotAllowed, got.status, method)
			assert.Equal(t, "POST", got.header.Get("Allow"))
		}
		got := post{message: modern(7, "tools/list", "", "{}"), change: http.Header{"Mcp-Session-Id": {"gone"}, "Last-Event-Id": {"1"}}}.send(t, t.Context(), url)
		assert.Equal(t, 200, got.status, "what belongs to sessions is ignored")
	}
}

func headersDiffer(c *customer) {
	t := c.t
	url := website(t, Options{}, HTTPOptions{})
	call := modern(7, "tools/call", `"name":"create_order"`, "{}")
	odd := modern(7, "tools/call", `"name":"café"`, "{}")
	encoded := func(s string) string { return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?=" }
	for _, row := range []struct {
		message string
		name    string
		values  []string
		status  int
		code    int
	}{
		{call, headerVersion, nil, 400, codeHeaderMismatch},
		{call, headerVersion, []string{"2025-11-25"}, 400, codeHeaderMismatch},
		{call, headerVersion, []string{Version, Version}, 400, codeHeaderMismatch},
		{call, headerVersion, []string{"  " + Version + " "}, 200, 0},
		{call, headerMethod, nil, 400, codeHeaderMismatch},
		{call, headerMethod, []string{"tools/list"}, 400, codeHeaderMismatch},
		{call, headerMethod, []string{"Tools/call"}, 400, codeHeaderMismatch},
		{call, headerMethod, []string{""}, 400, codeHeaderMismatch},
		{call, headerName, nil, 400, codeHeaderMismatch},
		{call, headerName, []string{"place_order"}, 400, codeHeaderMismatch},
		{call, headerName, []string{"create_order", "create_order"}, 400, codeHeaderMismatch},
		{call, headerName, []string{encoded("create_order")}, 200, 0},
		{call, headerName, []string{"=?base64?Y3JlYXRlX29yZGVy"}, 400, codeHeaderMismatch},
		{call, headerName, []string{"=?base64?Y3JlYXRlX29yZGVy=?="}, 400, codeHeaderMismatch},
		{call, headerName, []string{"=?base64?!?="}, 400, codeHeaderMismatch},
		{odd, headerName, []string{encoded("café")}, 200, codeInvalidParams},
		{odd, headerName, []string{"café"}, 400, codeHeaderMismatch},
		{odd, headerName, []string{encoded("caf\xe9")}, 400, codeHeaderMismatch},
		{modern(7, "resources/read", `"uri":"menu://today"`, "{}"), headerName, []string{"menu://yesterday"}, 400, codeHeaderMismatch},
		{modern(7, "prompts/get", `"name":"weekly_special"`, "{}"), headerName, nil, 400, codeHeaderMismatch},
		{modern(7, "tools/list", "", "{}"), headerName, []string{"whatever"}, 200, 0},
		{call, "Accept", []string{"application/json"}, 406, codeInvalidRequest},
		{call, "Accept", []string{"text/event-stream, application/json;q=0"}, 406, codeInvalidRequest},
		{call, "Accept", nil, 406, codeInvalidRequest},
		{call, "Accept", []string{"application/*", "text/*;q=0.5"}, 200, 0},
		{call, "Accept", []string{"*/*"}, 200, 0},
		{call, "Content-Type", []string{"text/plain"}, 415, codeInvalidRequest},
		{call, "Content-Type", nil, 415, codeInvalidRequest},
		{call, "Content-Type", []string{"application/json; charset=utf-8"}, 200, 0},
		{call, "Content-Encoding", []string{"gzip"}, 415, codeInvalidRequest},
	} {
		got := post{message: row.message, change: http.Header{http.CanonicalHeaderKey(row.name): row.values}}.send(t, t.Context(), url)
		assert.Equal(t, row.status, got.status, row)
		assert.Equal(t, row.code, got.code(), row)
		assert.InDelta(t, 7, got.body["id"], 0, "the id could be read: %v", row)
	}
	for change, status := range map[string]int{"notifications/cancelled": 202, "notifications/other": 400, "": 400} {
		got := post{
			message: `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
			change:  http.Header{"Mcp-Method": {change}, "Mcp-Protocol-Version": {Version}},
		}.send(t, t.Context(), url)
		assert.Equal(t, status, got.status, change)
	}
	got := post{
		message: `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		change:  http.Header{"Mcp-Method": {"notifications/cancelled"}, "Mcp-Protocol-Version": {"1900-01-01"}},
	}.send(t, t.Context(), url)
	assert.Equal(t, 400, got.status)
	assert.Equal(t, codeUnsupportedVersion, got.code())

	long := post{message: modern(7, "tools/list", `"x":"`+strings.Repeat("x", maxBody)+`"`, "{}")}.send(t, t.Context(), url)
	assert.Equal(t, http.StatusRequestEntityTooLarge, long.status)
}

func otherSite(c *customer) {
	t := c.t
	url := website(t, Options{}, HTTPOptions{})
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), endpoint)
	_, port, err := net.SplitHostPort(host)
	require.NoError(t, err)
	for _, row := range []struct {
		host, origin string
		status       int
	}{
		{host, "", 200},
		{host, "http://" + host, 200},
		{"localhost:" + port, "http://LOCALHOST:" + port, 200},
		{"[::1]:" + port, "", 200},
		{"127.0.0.1", "https://127.0.0.1", 200},
		{host, "http://evil.example", 403},
		{host, "http://127.0.0.1:1", 403},
		{host, "null", 403},
		{host, "http://" + host + ".evil.example", 403},
		{host, "file://" + host, 403},
		{"evil.example:" + port, "", 403},
		{"evil.example:" + port, "http://evil.example:" + port, 403},
		{"localhost.evil.example", "", 403},
		{"10.0.0.1:" + port, "", 403},
	} {
		change := http.Header{"Host": {row.host}}
		if row.origin != "" {
			change.Set("Origin", row.origin)
		}
		got := post{message: modern(7, "tools/call", `"name":"create_order"`, "{}"), change: change}.send(t, t.Context(), url)
		assert.Equal(t, row.status, got.status, row)
	}
	public := website(t, Options{}, HTTPOptions{Public: true, Tokens: tokens(t, "ada t")})
	got := post{message: modern(7, "tools/list", "", "{}"), change: http.Header{"Host": {"cart.example"}, "Authorization": {"Bearer t"}}}.send(t, t.Context(), public)
	assert.Equal(t, 200, got.status)
	got = post{message: modern(7, "tools/list", "", "{}"), change: http.Header{"Host": {"cart.example"}, "Origin": {"http://evil.example"}, "Authorization": {"Bearer t"}}}.send(t, t.Context(), public)
	assert.Equal(t, 403, got.status)
}

func callersByToken(c *customer) {
	t := c.t
	url := website(t, Options{}, HTTPOptions{Tokens: tokens(t, "ada first-token\n# who else\n\nbob  second~token==\r\nada third\n")})
	calls := func(authorization, tool, args string) answer {
		change := http.Header{}
		if authorization != "" {
			change.Set("Authorization", authorization)
		}
		return post{message: modern(7, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args), "{}"), change: change}.send(t, t.Context(), url)
	}
	started := calls("Bearer first-token", "create_order", "{}")
	order, _ := resultOf(t, started.body)["structuredContent"].(map[string]any)["order"].(string)
	look := fmt.Sprintf(`{"order":%q}`, order)
	assert.Equal(t, false, resultOf(t, calls("bearer third", "get_order", look).body)["isError"], "the same person, by another token")
	assert.Equal(t, true, resultOf(t, calls("Bearer second~token==", "get_order", look).body)["isError"], "another person")

	metadataURL := strings.TrimSuffix(url, endpoint) + metadataPath
	for _, row := range []struct{ authorization, challenge string }{
		{"", ""},
		{"Basic Zmlyc3QtdG9rZW4=", ""},
		{"Bearer", `, error="invalid_token", error_description="the token is not one of this cart"`},
		{"Bearer first-toke", `, error="invalid_token", error_description="the token is not one of this cart"`},
		{"Bearer ada", `, error="invalid_token", error_description="the token is not one of this cart"`},
	} {
		got := calls(row.authorization, "create_order", "{}")
		assert.Equal(t, http.StatusUnauthorized, got.status, row)
		assert.Equal(t, fmt.Sprintf("Bearer resource_metadata=%q", metadataURL+endpoint)+row.challenge, got.header.Get("WWW-Authenticate"))
		assert.NotContains(t, got.text, "first-toke")
	}
	for _, place := range []string{metadataURL, metadataURL + endpoint} {
		got := post{method: http.MethodGet}.send(t, t.Context(), place)
		assert.Equal(t, 200, got.status)
		assert.Equal(t, map[string]any{"resource": url, "resource_name": "Coffee cart", "bearer_methods_supported": []any{"header"}}, got.body)
	}
}

func tooOften(c *customer) {
	t := c.t
	now := time.UnixMilli(start)
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	wait := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	url := website(t, Options{Now: clock}, HTTPOptions{Rate: 3, Tokens: tokens(t, "ada a\nbob b")})
	calls := func(token string) answer {
		return post{message: modern(7, "tools/list", "", "{}"), change: http.Header{"Authorization": {"Bearer " + token}}}.send(t, t.Context(), url)
	}
	for range 3 {
		assert.Equal(t, 200, calls("a").status)
	}
	got := calls("a")
	assert.Equal(t, http.StatusTooManyRequests, got.status)
	assert.Equal(t, "20", got.header.Get("Retry-After"))
	assert.Equal(t, 429, got.code())
	assert.InDelta(t, 7, got.body["id"], 0)
	assert.Equal(t, 200, calls("b").status, "others are not held up")
	wait(19 * time.Second)
	assert.Equal(t, "1", calls("a").header.Get("Retry-After"))
	wait(time.Second)
	assert.Equal(t, 200, calls("a").status)
	assert.Equal(t, 429, calls("a").status)
	wait(-time.Hour) // a clock may be set back
	assert.Equal(t, 429, calls("a").status)
	wait(24 * time.Hour)
	for range 3 {
		assert.Equal(t, 200, calls("a").status)
	}
	assert.Equal(t, 429, calls("a").status, "what was not used is not saved up")
}

func goesAway(c *customer) {
	t := c.t
	path := filepath.Join(t.TempDir(), "orders.db")
	book := openBook(t, path)
	handler := NewHandler(Options{Book: book, NewHandle: func() string { return "h" }}, HTTPOptions{})
	arrived, ended := make(chan struct{}, 9), make(chan struct{}, 9)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		handler.ServeHTTP(w, r)
		ended <- struct{}{}
	}))
	url := server.URL + endpoint
	calls := func(tool, args string) map[string]any {
		got := post{message: modern(7, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args), "{}")}.send(t, t.Context(), url)
		<-arrived
		<-ended
		structured, _ := resultOf(t, got.body)["structuredContent"].(map[string]any)
		return structured
	}
	calls("create_order", "{}")
	calls("add_item", `{"order":"h","item":"oat cookie"}`)
	release := hold(t, path)
	ctx, leave := context.WithCancel(t.Context())
	message := modern(7, "tools/call", `"name":"place_order","arguments":{"order":"h"}`, "{}")
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(message))
	require.NoError(t, err)
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "Accept": {"*/*"},
		"Mcp-Protocol-Version": {Version}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"place_order"},
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		var resp *http.Response
		if resp, err = http.DefaultTransport.RoundTrip(r); err == nil {
			_ = resp.Body.Close()
		}
	})
	<-arrived
	leave()
	wg.Wait()
	require.ErrorIs(t, err, context.Canceled)
	<-ended // the cart has noticed, with the file still held by another
	release()
	assert.Equal(t, "open", calls("get_order", `{"order":"h"}`)["status"])
	assert.Equal(t, "cancelled", calls("cancel_order", `{"order":"h"}`)["status"])
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	server.Close()
	require.NoError(t, book.Close())
}

func legacyOverHTTP(c *customer) {
	t := c.t
	hello := `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}`
	list := `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`
	create := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"create_order"}}`
	unknown := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"refund_order"}}`
	old := http.Header{"Mcp-Protocol-Version": {"2025-11-25"}}
	url := website(t, Options{Legacy: true}, HTTPOptions{})
	for _, row := range []struct {
		message string
		change  http.Header
		status  int
		code    int
		modern  bool
	}{
		{hello, nil, 200, 0, false},
		{`{"jsonrpc":"2.0","method":"notifications/initialized"}`, old, 202, 0, false},
		{`{"jsonrpc":"2.0","id":1,"result":{}}`, old, 202, 0, false},
		{list, old, 200, 0, false},
		{list, nil, 200, 0, false},
		{create, old, 200, 0, false},
		{unknown, old, 200, codeInvalidParams, false},
		{`{"jsonrpc":"2.0","id":7,"method":"ping"}`, old, 200, 0, false},
		{`{"jsonrpc":"2.0","id":7,"method":"server/discover"}`, old, 200, codeMethodNotFound, false},
		{"[" + list + "]", old, 400, codeInvalidRequest, false},
		{list, http.Header{"Mcp-Protocol-Version": {Version}}, 400, codeHeaderMismatch, false},
		{list, http.Header{"Mcp-Protocol-Version": {Version}, "Mcp-Method": {"tools/list"}}, 400, codeInvalidParams, false},
		{list, http.Header{"Mcp-Protocol-Version": {"1999-01-01"}, "Mcp-Method": {"tools/list"}}, 400, codeInvalidParams, false},
		{modern(7, "tools/list", "", "{}"), nil, 200, 0, true},
		{modern(7, "tools/list", "", "{}"), old, 400, codeHeaderMismatch, false},
	} {
		got := post{message: row.message, change: row.change}.send(t, t.Context(), url)
		assert.Equal(t, row.status, got.status, row.message)
		assert.Equal(t, row.code, got.code(), row.message)
		if result, ok := got.body["result"].(map[string]any); ok {
			_, isModern := result["resultType"]
			assert.Equal(t, row.modern, isModern, row.message)
		}
	}
	strict := website(t, Options{}, HTTPOptions{})
	for _, message := range []string{list, create} {
		got := post{message: message, change: old}.send(t, t.Context(), strict)
		assert.Equal(t, 400, got.status)
	}
}

// The shell says when it has ended: after the requests under way, and not before.
func TestServeHTTPEndsWithItsContext(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "orders.db")
	book := openBook(t, path)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	arrived := make(chan struct{}, 9)
	handle := func() string { arrived <- struct{}{}; return "h" } // each message that is answered takes one along
	go func() { ended <- ServeHTTP(ctx, listener, Options{Book: book, NewHandle: handle}, HTTPOptions{}) }()
	url := "http://" + listener.Addr().String() + endpoint
	assert.Equal(t, 200, post{message: modern(7, "tools/list", "", "{}")}.send(t, t.Context(), url).status)
	<-arrived

	release := hold(t, path)
	var wg sync.WaitGroup
	wg.Go(func() {
		assert.Equal(t, 200, post{message: modern(7, "tools/call", `"name":"create_order"`, "{}")}.send(t, t.Context(), url).status)
	})
	<-arrived
	stop()
	release()
	require.NoError(t, <-ended)
	wg.Wait()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	require.NoError(t, book.Close())
}

func TestServeHTTPPassesOnFailures(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	require.ErrorIs(t, ServeHTTP(t.Context(), listener, Options{}, HTTPOptions{}), net.ErrClosed)
}

// Some editors put a mark before a text; it is no part of the first name.
func TestParseTokensReadsPastAByteOrderMark(t *testing.T) {
	t.Parallel()
	owner, known := tokens(t, "\ufeffada t\r\nbob u\r\n").owner("t")
	assert.True(t, known)
	assert.Equal(t, "ada", owner)
}

func TestParseTokensSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"":                                  "there is no token in it",
		"# nobody\n":                        "there is no token in it",
		"ada\nbob t\n":                      "line 1: it must be a name and a token",
		"ada one two":                       "line 1: it must be a name and a token",
		"ada t\n\nbob t":                    "line 3: this token was given before",
		"ada s€cret":                        "line 1: a token has letters, digits and -._~+/ only",
		"ada " + strings.Repeat("x", 1<<17): "line 1: a token has at most 8192 characters",
		"\n\xff t":                          "it is not UTF-8",
		// What is beyond the bound must not be cut off: half a token would be one that is easy to guess.
		strings.Repeat("# nobody\n", 1<<17)[:1<<20-5] + "\nbob b-token": "it is over 1048576 bytes long",
	} {
		_, err := ParseTokens(strings.NewReader(lines))
		require.ErrorContains(t, err, want)
		assert.NotContains(t, err.Error(), "s€cret")
	}
}
