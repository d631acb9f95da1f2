package oauth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if runChild() {
		return
	}
	goleak.VerifyTestMain(m)
}

// authority is a small authorization server. It refuses what it should: codes used twice, verifiers and redirect
// addresses that do not fit, wrong clients, refresh tokens that were used (and then all of their line).
type authority struct {
	name   string // part of all that it gives
	url    string // with the path of the issuer
	issuer string // as its metadata says
	set    settings

	mu      sync.Mutex
	next    int
	clients map[string]client // by id
	codes   map[string]url.Values
	live    map[string]string // scopes of access tokens that are good
	refresh map[string]string // scopes of refresh tokens that are good
	sightings
	before    func(url.Values)   // runs in a token request, unlocked
	intercept http.HandlerFunc   // answers token requests in its place
	answer    func(q url.Values) // changes the answer of the page
}

// sightings are what an authority was asked.
type sightings struct {
	visits    []url.Values     // of the authorization page
	requests  []url.Values     // to the token endpoint
	basic     []string         // their users, empty where they used none
	registers []map[string]any // bodies of registrations
	paths     []string         // everything that was asked for
}

// saw is what it was asked until now.
func (a *authority) saw() sightings {
	a.mu.Lock()
	defer a.mu.Unlock()
	return sightings{
		slices.Clone(a.visits), slices.Clone(a.requests), slices.Clone(a.basic), slices.Clone(a.registers), slices.Clone(a.paths),
	}
}

type client struct{ secret, method string }

// settings make an authority special. The zero value is an ordinary one.
type settings struct {
	path       string   // of the issuer
	places     []string // of the metadata; the first of the specification when nil
	issuer     string   // that the metadata claims
	challenges []string // PKCE methods; S256 when nil
	methods    []string // of client authentication; none when nil
	scopes     []string
	document   bool // client ID metadata documents
	closed     bool // no registration
	names      bool // says that it always names the issuer
	life       int  // seconds of a token; 3600 when 0
	oneTime    bool // no refresh tokens
	more       map[string]any
}

func newAuthority(t *testing.T, s settings) *authority {
	t.Helper()
	a := &authority{
		set: s, clients: map[string]client{}, codes: map[string]url.Values{}, live: map[string]string{}, refresh: map[string]string{},
	}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	a.name = "authority" + server.URL[strings.LastIndexByte(server.URL, ':')+1:]
	a.url = server.URL + s.path
	a.issuer = a.url
	if s.issuer != "" {
		a.issuer = s.issuer
	}
	if a.set.places == nil {
		a.set.places = []string{"/.well-known/oauth-authorization-server" + s.path}
	}
	if a.set.challenges == nil {
		a.set.challenges = []string{"S256"}
	}
	if a.set.methods == nil {
		a.set.methods = []string{authNone}
	}
	return a
}

func (a *authority) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.paths = append(a.paths, r.Method+" "+r.URL.Path)
	a.mu.Unlock()
	switch {
	case slices.Contains(a.set.places, r.URL.Path):
		a.metadata(w)
	case r.URL.Path == a.set.path+"/authorize":
		a.page(w, r)
	case r.URL.Path == a.set.path+"/token" && r.Method == http.MethodPost:
		if a.intercept != nil {
			a.intercept(w, r)
			return
		}
		a.token(w, r)
	case r.URL.Path == a.set.path+"/register" && r.Method == http.MethodPost:
		a.register(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (a *authority) metadata(w http.ResponseWriter) {
	doc := map[string]any{
		"issuer": a.issuer, "authorization_endpoint": a.url + "/authorize?shop=1", "token_endpoint": a.url + "/token",
		"response_types_supported": []string{"code"}, "token_endpoint_auth_methods_supported": a.set.methods,
	}
	if len(a.set.challenges) > 0 {
		doc["code_challenge_methods_supported"] = a.set.challenges
	}
	if a.set.scopes != nil {
		doc["scopes_supported"] = a.set.scopes
	}
	if a.set.document {
		doc["client_id_metadata_document_supported"] = true
	}
	if a.set.names {
		doc["authorization_response_iss_parameter_supported"] = true
	}
	if !a.set.closed {
		doc["registration_endpoint"] = a.url + "/register"
	}
	maps.Copy(doc, a.set.more)
	writeJSON(w, http.StatusOK, doc)
}

func (a *authority) register(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.registers = append(a.registers, body)
	id := fmt.Sprintf("registered-%d", len(a.registers))
	method, _ := body["token_endpoint_auth_method"].(string)
	c := client{method: method}
	out := map[string]any{"client_id": id, "redirect_uris": body["redirect_uris"], "token_endpoint_auth_method": method}
	if method != authNone {
		c.secret = "secret-of-" + a.name + id + "+/ %"
		out["client_secret"] = c.secret
	}
	a.clients[id] = c
	writeJSON(w, http.StatusCreated, out)
}

// page consents at once.
func (a *authority) page(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	a.mu.Lock()
	a.visits = append(a.visits, q)
	a.next++
	code := fmt.Sprintf("code-of-%s-%d", a.name, a.next)
	a.codes[code] = q
	a.mu.Unlock()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("response_type") != "code" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	out := url.Values{"code": {code}, "state": {q.Get("state")}}
	if a.set.names {
		out.Set("iss", a.issuer)
	}
	if a.answer != nil {
		a.answer(out)
	}
	back.RawQuery = out.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (a *authority) token(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		http.Error(w, "bad form", http.StatusBadRequest)
		return
	}
	form := r.PostForm
	if a.before != nil {
		a.before(form)
	}
	user, password, _ := r.BasicAuth()
	user, _ = url.QueryUnescape(user)
	password, _ = url.QueryUnescape(password)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, form)
	a.basic = append(a.basic, user)
	if why := a.wrongClient(form, user, password); why != "" {
		writeJSON(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client", "error_description": why})
		return
	}
	scope, why := a.scopeFor(form)
	if why != "" {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant", "error_description": why})
		return
	}
	writeJSON(w, http.StatusOK, a.grant(scope, form.Get("grant_type") == grantCode || form.Get("grant_type") == grantRefresh))
}

// grant makes tokens. The caller has the lock.
func (a *authority) grant(scope string, person bool) map[string]any {
	a.next++
	access := fmt.Sprintf("access-of-%s-%d", a.name, a.next)
	a.live[access] = scope
	life := a.set.life
	if life == 0 {
		life = 3600
	}
	out := map[string]any{"access_token": access, "token_type": "bearer", "expires_in": life, "scope": scope}
	if person && !a.set.oneTime {
		refresh := fmt.Sprintf("refresh-of-%s-%d", a.name, a.next)
		a.refresh[refresh] = scope
		out["refresh_token"] = refresh
	}
	return out
}

func (a *authority) wrongClient(form url.Values, user, password string) string {
	id, used := form.Get("client_id"), authNone
	switch {
	case user != "":
		id, used = user, authBasic
	case form.Get("client_secret") != "":
		used, password = authPost, form.Get("client_secret")
	case form.Get("client_assertion") != "":
		return "" // the test looks at it
	}
	c, known := a.clients[id]
	switch {
	case strings.HasPrefix(id, "https://") && a.set.document && used == authNone:
		return ""
	case !known:
		return "unknown client " + id
	case used != c.method || password != c.secret:
		return "client authentication by " + used + " with the secret " + password + " is wrong"
	}
	return ""
}

// scopeFor checks a grant and gives its scopes.
func (a *authority) scopeFor(form url.Values) (scope, why string) {
	switch form.Get("grant_type") {
	case grantCode:
		asked, ok := a.codes[form.Get("code")]
		delete(a.codes, form.Get("code"))
		sum := sha256.Sum256([]byte(form.Get("code_verifier")))
		switch {
		case !ok:
			return "", "the code " + form.Get("code") + " is unknown"
		case asked.Get("code_challenge_method") != "S256" || asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]):
			return "", "the verifier " + form.Get("code_verifier") + " is wrong"
		case form.Get("redirect_uri") != asked.Get("redirect_uri"):
			return "", "the redirect address is another"
		case form.Get("resource") == "" || form.Get("resource") != asked.Get("resource"):
			return "", "the resource is another"
		}
		return asked.Get("scope"), ""
	case grantRefresh:
		scope, ok := a.refresh[form.Get("refresh_token")]
		if !ok || form.Get("resource") == "" {
			clear(a.refresh) // reuse: somebody has stolen one
			return "", "the refresh token " + form.Get("refresh_token") + " is no good"
		}
		delete(a.refresh, form.Get("refresh_token"))
		return scope, ""
	case grantClient, grantJWT:
		return form.Get("scope"), ""
	}
	return "", "unknown grant"
}

func (a *authority) accepts(token string) (scope string, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	scope, ok = a.live[token]
	return scope, ok
}

// revoke makes all access tokens bad.
func (a *authority) revoke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.live)
}

func (a *authority) counts() (visits, requests int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.visits), len(a.requests)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// shop is an MCP server with one tool: it wants a token of its authority. The body "{}" it answers with "served".
type shop struct {
	url  string // of the server itself
	base string
	as   *authority
	mcp  http.Handler

	mu       sync.Mutex
	place    string           // of the metadata; empty for none
	named    bool             // the challenge says where it is
	doc      map[string]any   // changes of the metadata
	need     []string         // scopes for a request
	scopes   string           // of the challenge
	always   int              // the status of every answer, if not 0
	tokens   []string         // that came with requests
	moved    string           // where requests are redirected
	document http.HandlerFunc // answers for the metadata
}

func newShop(t *testing.T, a *authority) *shop {
	t.Helper()
	s := &shop{as: a, place: "/.well-known/oauth-protected-resource/mcp", named: true, doc: map[string]any{}}
	inner := mcp.NewServer(&mcp.Implementation{Name: "shop"}, nil)
	mcp.AddTool(inner, &mcp.Tool{Name: "buy"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "bought"}}}, nil, nil
	})
	s.mcp = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return inner }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.base, s.url = server.URL, server.URL+"/mcp"
	return s
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.refuses(w, r) {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || string(body) == "{}" {
		_, _ = io.WriteString(w, "served")
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mcp.ServeHTTP(w, r)
}

// refuses answers everything but a request for the MCP server with a good token.
func (s *shop) refuses(w http.ResponseWriter, r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.URL.Path == s.place && s.place != "":
		if s.document != nil {
			s.document(w, r)
			return true
		}
		doc := map[string]any{"resource": s.url, "authorization_servers": []string{s.as.issuer}}
		maps.Copy(doc, s.doc)
		writeJSON(w, http.StatusOK, doc)
	case r.URL.Path == "/mcp" && s.moved != "":
		http.Redirect(w, r, s.moved, http.StatusTemporaryRedirect)
	case r.URL.Path == "/mcp":
		return !s.lets(w, r)
	default:
		s.as.ServeHTTP(w, r) // the servers of 2025-03-26 are their own authority
	}
	return true
}

// lets says whether a request may pass, and tells it why not.
func (s *shop) lets(w http.ResponseWriter, r *http.Request) bool {
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	s.tokens = append(s.tokens, token)
	scope, ok := s.as.accepts(token)
	var params []string
	if s.named && s.place != "" {
		params = append(params, fmt.Sprintf("resource_metadata=%q", s.base+s.place))
	}
	status := http.StatusUnauthorized
	switch {
	case s.always != 0:
		status = s.always
		params = append(params, `error="insufficient_scope"`)
	case !ok:
	case !covers(strings.Fields(scope), s.need):
		status = http.StatusForbidden
		params = append(params, `error="insufficient_scope"`)
	default:
		return true
	}
	if s.scopes != "" {
		params = append(params, fmt.Sprintf("scope=%q", s.scopes))
	}
	w.Header().Add("WWW-Authenticate", "Negotiate")
	w.Header().Add("WWW-Authenticate", strings.TrimSpace("Bearer "+strings.Join(params, ", ")))
	w.WriteHeader(status)
	return false
}

// heard are the tokens that came with requests until now.
func (s *shop) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tokens)
}

// with changes a shop.
func (s *shop) with(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// follower is a browser without a person: the authority consents at once, and it goes where that leads.
type follower struct {
	mu     sync.Mutex
	opened []string
}

func (b *follower) Open(ctx context.Context, _, address string) error {
	b.mu.Lock()
	b.opened = append(b.opened, address)
	b.mu.Unlock()
	back, err := visit(ctx, address)
	if err != nil || back == "" {
		return err
	}
	_, err = visit(ctx, back)
	return err
}

func (b *follower) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.opened)
}

// visit gets a page and says where it redirects to.
func visit(ctx context.Context, address string) (string, error) {
	status, header, _, err := look(ctx, address)
	if err != nil {
		return "", err
	}
	if status >= 400 {
		return "", fmt.Errorf("status %d from %s", status, address)
	}
	return header.Get("Location"), nil
}

func look(ctx context.Context, address string) (int, http.Header, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, "", err
	}
	c := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := c.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(body), err
}

// buy makes a request as the transports do: with the token, and once more after an authorization. It gives the status.
func buy(ctx context.Context, h *Handler, address string) (int, error) {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for again := false; ; again = true {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("{}"))
		if err != nil {
			return 0, err
		}
		source, err := h.TokenSource(ctx)
		if err != nil {
			return 0, err
		}
		if source != nil {
			token, err := source.Token()
			if err != nil {
				return 0, err
			}
			req.Header.Set("Authorization", "Bearer "+token.AccessToken)
		}
		resp, err := c.Do(req)
		if err != nil {
			return 0, err
		}
		if again || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden {
			_ = resp.Body.Close()
			return resp.StatusCode, nil
		}
		if err := h.Authorize(ctx, req, resp); err != nil {
			return 0, err
		}
	}
}

func newHandler(t *testing.T, c Config) *Handler {
	t.Helper()
	h, err := New(c)
	require.NoError(t, err)
	return h
}
