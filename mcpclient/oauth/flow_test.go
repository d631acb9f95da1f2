package oauth

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/mcpclient"
)

func TestAPersonSignsInOnce(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{scopes: []string{"read", "offline_access"}, names: true})
	s := newShop(t, a)
	s.doc["scopes_supported"] = []string{"read", "write"}
	b := &follower{}
	h := newHandler(t, Config{Server: s.url, Name: "shop", Grant: AuthorizationCode{Browser: b}})
	for range 3 {
		status, err := buy(t.Context(), h, s.url)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, status)
	}
	assert.Equal(t, 1, b.count())
	require.Len(t, a.saw().visits, 1)
	visit, request := a.saw().visits[0], a.saw().requests[0]
	assert.Equal(t, "1", visit.Get("shop"), "the endpoint's own query stays")
	assert.Equal(t, "read write offline_access", visit.Get("scope"))
	assert.Equal(t, "consent", visit.Get("prompt"))
	assert.Equal(t, s.url, visit.Get("resource"))
	assert.Equal(t, s.url, request.Get("resource"))
	assert.Equal(t, "S256", visit.Get("code_challenge_method"))
	assert.GreaterOrEqual(t, len(visit.Get("state")), 20)
	require.Len(t, a.saw().registers, 1)
	assert.Equal(t, map[string]any{
		"client_name": "cartagent", "application_type": "native", "redirect_uris": []any{visit.Get("redirect_uri")},
		"token_endpoint_auth_method": "none", "grant_types": []any{"authorization_code", "refresh_token"}, "response_types": []any{"code"},
	}, a.saw().registers[0])
	redirect, err := url.Parse(visit.Get("redirect_uri"))
	require.NoError(t, err)
	assert.Equal(t, "127.0.0.1", redirect.Hostname())
	_, _, _, err = look(t.Context(), redirect.String())
	require.Error(t, err, "the port is closed")
}

func TestMetadataIsFoundInAllItsPlaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		authority settings
		resource  string // place of the resource metadata
		named     bool
		root      bool // it speaks for the origin
	}{
		"where the challenge says":     {resource: "/anywhere/resource.json", named: true},
		"at the server's path":         {resource: "/.well-known/oauth-protected-resource/mcp"},
		"at the root":                  {resource: "/.well-known/oauth-protected-resource", root: true},
		"at the root, for the server":  {resource: "/.well-known/oauth-protected-resource"},
		"at the root, said so":         {resource: "/.well-known/oauth-protected-resource", root: true, named: true},
		"OpenID":                       {authority: settings{places: []string{"/.well-known/openid-configuration"}}},
		"a tenant, inserted":           {authority: settings{path: "/tenant/1"}},
		"a tenant, OpenID, inserted":   {authority: settings{path: "/t", places: []string{"/.well-known/openid-configuration/t"}}},
		"a tenant, OpenID, at the end": {authority: settings{path: "/t", places: []string{"/t/.well-known/openid-configuration"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuthority(t, c.authority)
			s := newShop(t, a)
			if c.resource != "" {
				s.place, s.named = c.resource, c.named
			}
			want := s.url
			if c.root {
				s.doc["resource"] = s.base
				want = s.base
			}
			h := newHandler(t, Config{Server: s.url, Grant: AuthorizationCode{Browser: &follower{}}})
			status, err := buy(t.Context(), h, s.url)
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, status)
			assert.Equal(t, want, a.saw().requests[0].Get("resource"))
		})
	}
}

func TestAServerOfMarch2025IsItsOwnAuthority(t *testing.T) {
	t.Parallel()
	for name, places := range map[string][]string{
		"with metadata": {"/.well-known/oauth-authorization-server"}, "without any": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuthority(t, settings{places: places, methods: []string{authBasic}})
			s := newShop(t, a)
			s.place, a.url, a.issuer = "", s.base, s.base
			b := &follower{}
			h := newHandler(t, Config{Server: s.url, Grant: AuthorizationCode{Browser: b}})
			status, err := buy(t.Context(), h, s.url)
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, status)
			assert.Equal(t, 1, b.count())
			assert.Equal(t, "S256", a.saw().visits[0].Get("code_challenge_method"))
		})
	}
}

func TestClientsAuthenticateAsTheEndpointWants(t *testing.T) {
	t.Parallel()
	mine := Client{ID: "mine", Secret: "my own secret+"}
	for name, c := range map[string]struct {
		authority settings
		client    Client
		document  string
		id, basic string
		registers int
	}{
		"registered, none":      {authority: settings{methods: []string{authBasic, authNone}}, id: "registered-1", registers: 1},
		"registered, basic":     {authority: settings{methods: []string{authBasic}}, basic: "registered-1", registers: 1},
		"registered, post":      {authority: settings{methods: []string{authPost}}, id: "registered-1", registers: 1},
		"configured, basic":     {authority: settings{methods: []string{authPost, authBasic}, document: true}, client: mine, basic: "mine"},
		"configured, post":      {authority: settings{methods: []string{authPost}, closed: true}, client: mine, id: "mine"},
		"configured, public":    {authority: settings{methods: []string{authNone}}, client: Client{ID: "mine"}, id: "mine"},
		"a document":            {authority: settings{document: true}, document: "https://example.com/me.json", id: "https://example.com/me.json"},
		"a document, not taken": {document: "https://example.com/me.json", id: "registered-1", registers: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuthority(t, c.authority)
			if c.client.ID != "" {
				a.clients["mine"] = client{c.client.Secret, a.set.methods[len(a.set.methods)-1]}
			}
			s := newShop(t, a)
			h := newHandler(t, Config{Server: s.url, Grant: AuthorizationCode{Browser: &follower{}, Client: c.client, Document: c.document}})
			status, err := buy(t.Context(), h, s.url)
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, status)
			assert.Equal(t, c.id, a.saw().requests[0].Get("client_id"))
			assert.Equal(t, c.basic, a.saw().basic[0])
			assert.Len(t, a.saw().registers, c.registers)
		})
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		challenge string
		resource  []string
		authority []string
		want      string
	}{
		"of the challenge":       {challenge: "a b", resource: []string{"c"}, want: "a b"},
		"of the resource":        {resource: []string{"c", "d"}, want: "c d"},
		"none":                   {},
		"offline where listed":   {challenge: "a", authority: []string{"a", "offline_access"}, want: "a offline_access"},
		"not offline where not":  {challenge: "a offline_access", authority: []string{"a"}, want: "a"},
		"not the authority's":    {authority: []string{"x"}},
		"each once, offline too": {challenge: "a a offline_access", authority: []string{"offline_access"}, want: "a a offline_access"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuthority(t, settings{scopes: c.authority})
			s := newShop(t, a)
			s.scopes = c.challenge
			if c.resource != nil {
				s.doc["scopes_supported"] = c.resource
			}
			h := newHandler(t, Config{Server: s.url, Grant: AuthorizationCode{Browser: &follower{}}})
			_, err := buy(t.Context(), h, s.url)
			require.NoError(t, err)
			assert.Equal(t, c.want, a.saw().visits[0].Get("scope"))
			assert.Equal(t, c.want != "", a.saw().visits[0].Has("scope"))
		})
	}
}

func TestMoreScopesAreAskedForWithTheOldOnes(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	s.scopes = "read"
	h := newHandler(t, Config{Server: s.url, Grant: AuthorizationCode{Browser: &follower{}}})
	_, err := buy(t.Context(), h, s.url)
	require.NoError(t, err)
	s.with(func() { s.scopes, s.need = "write", []string{"read", "write"} })
	status, err := buy(t.Context(), h, s.url)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
	require.Len(t, a.saw().visits, 2)
	assert.Equal(t, "read write", a.saw().visits[1].Get("scope"))
}

func TestTriesAreBounded(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusForbidden, http.StatusUnauthorized} {
		a := newAuthority(t, settings{oneTime: true})
		s := newShop(t, a)
		s.always, s.scopes = status, "more"
		b := &follower{}
		clock := newClock()
		h := newHandler(t, Config{Server: s.url, Grant: AuthorizationCode{Browser: b}, Now: clock.now})
		for range maxTries {
			got, err := buy(t.Context(), h, s.url)
			require.NoError(t, err)
			assert.Equal(t, status, got)
		}
		_, err := buy(t.Context(), h, s.url)
		require.ErrorIs(t, err, ErrTries)
		assert.Equal(t, maxTries, b.count())
		clock.forward(triesWindow)
		_, err = buy(t.Context(), h, s.url)
		require.NoError(t, err, "later it may be tried again")
	}
}

func TestAnOrdinaryRefusalIsNoReasonToAuthorize(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	b := &follower{}
	h := newHandler(t, Config{Server: s.url, Name: "shop", Grant: AuthorizationCode{Browser: b}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, nil)
	require.NoError(t, err)
	resp := &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody}
	resp.Header.Set("WWW-Authenticate", `Bearer error="access_denied", error_description="closed today"`)
	err = h.Authorize(t.Context(), req, resp)
	require.ErrorIs(t, err, ErrForbidden)
	require.ErrorContains(t, err, `authorizing at server shop: the server does not allow this request (it says "closed today")`)
	assert.Zero(t, b.count())
}

func TestCallsSideBySideAuthorizeOnce(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	inside, goOn := make(chan struct{}, 8), make(chan struct{})
	b := browser(func(ctx context.Context, _, address string) error {
		inside <- struct{}{}
		<-goOn
		return (&follower{}).Open(ctx, "", address)
	})
	store := NewStore(t.TempDir())
	h := newHandler(t, Config{Server: s.url, Store: store, Grant: AuthorizationCode{Browser: b}})
	another := newHandler(t, Config{Server: s.url, Store: store, Grant: AuthorizationCode{Browser: b}}) // of another session
	results := make(chan error, 4)
	for i := range 4 {
		h := []*Handler{h, another}[i%2]
		go func() {
			_, err := buy(t.Context(), h, s.url)
			results <- err
		}()
	}
	<-inside
	require.Eventually(t, func() bool {
		store.mu.Lock()
		defer store.mu.Unlock()
		f := store.flights[h.server]
		return f != nil && f.waiting == 4
	}, wait, tick)
	close(goOn)
	for range 4 {
		require.NoError(t, <-results)
	}
	visits, _ := a.counts()
	assert.Equal(t, 1, visits)
}

func TestTheFirstCallerMayGoAway(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	inside, goOn := make(chan struct{}, 2), make(chan struct{})
	b := browser(func(ctx context.Context, _, address string) error {
		inside <- struct{}{}
		<-goOn
		return (&follower{}).Open(ctx, "", address)
	})
	h := newHandler(t, Config{Server: s.url, Grant: AuthorizationCode{Browser: b}})
	first, cancel := context.WithCancel(t.Context())
	one, two := make(chan error, 1), make(chan error, 1)
	go func() { _, err := buy(first, h, s.url); one <- err }()
	<-inside
	go func() { _, err := buy(t.Context(), h, s.url); two <- err }()
	require.Eventually(t, func() bool {
		h.cfg.Store.mu.Lock()
		defer h.cfg.Store.mu.Unlock()
		return h.cfg.Store.flights[h.server].waiting == 2
	}, wait, tick)
	cancel()
	require.ErrorIs(t, <-one, context.Canceled)
	close(goOn)
	require.NoError(t, <-two, "the authorization goes on for the other one")
	assert.Empty(t, inside)
}

func TestAnotherIssuerGetsNothingOfTheFirst(t *testing.T) {
	t.Parallel()
	old := newAuthority(t, settings{methods: []string{authPost}})
	s := newShop(t, old)
	store := NewStore(t.TempDir())
	h := newHandler(t, Config{Server: s.url, Store: store, Grant: AuthorizationCode{Browser: &follower{}}})
	_, err := buy(t.Context(), h, s.url)
	require.NoError(t, err)
	given := secretsOf(t, store, s.url)
	fresh := newAuthority(t, settings{methods: []string{authPost}})
	old.revoke()
	s.with(func() { s.as = fresh })
	status, err := buy(t.Context(), h, s.url)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
	require.Len(t, fresh.saw().registers, 1)
	for _, sent := range slices.Concat(fresh.saw().visits, fresh.saw().requests) {
		for _, secret := range given {
			assert.NotContains(t, sent.Encode(), url.QueryEscape(secret))
		}
	}
	assert.Len(t, old.saw().requests, 1, "and the first is not asked again")
	list, err := store.List()
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, fresh.issuer, list[0].Issuer)
}

func TestATokenStaysWithItsServer(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	thief := newShop(t, a) // on another port of the same host
	b := &follower{}
	h := newHandler(t, Config{Server: s.url, Grant: AuthorizationCode{Browser: b}})
	mine, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, nil)
	require.NoError(t, err)
	theirs, err := http.NewRequestWithContext(t.Context(), http.MethodPost, thief.url, nil)
	require.NoError(t, err)
	for _, c := range []struct{ sent, answered *http.Request }{{mine, theirs}, {theirs, theirs}, {theirs, nil}} {
		err = h.Authorize(t.Context(), c.sent, &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody, Request: c.answered})
		require.ErrorIs(t, err, ErrUntrusted)
		require.ErrorContains(t, err, "the challenge came from")
	}
	assert.Zero(t, b.count(), "nobody signs in for somebody else")

	client := connect(t, h)
	_, err = client.Tools(t.Context())
	require.NoError(t, err)
	s.with(func() { s.moved = thief.url })
	_, err = client.Tools(t.Context())
	require.Error(t, err)
	require.NotEmpty(t, thief.heard())
	assert.Empty(t, strings.Join(thief.heard(), ""))
	assert.Equal(t, 1, b.count())
}

func TestNothingIsSentInTheClear(t *testing.T) {
	t.Parallel()
	b := &follower{}
	h := newHandler(t, Config{Server: "http://shop.example/mcp", Grant: AuthorizationCode{Browser: b}})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://shop.example/mcp", nil)
	require.NoError(t, err)
	err = h.Authorize(t.Context(), req, &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody})
	require.ErrorIs(t, err, ErrUntrusted)
	require.ErrorContains(t, err, "must begin with https://")
	assert.Zero(t, b.count())
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"HTTPS://Shop.Example:443/Mcp#x":  "https://shop.example/Mcp",
		"http://user:pw@127.0.0.1:80/a?b": "http://127.0.0.1/a?b",
		"https://[::1]:8443/":             "https://[::1]:8443/",
	} {
		got, err := Canonical(in)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	for _, in := range []string{"", "shop", "ftp://shop/", "https://", "http://%"} {
		_, err := Canonical(in)
		require.ErrorContains(t, err, "is not the address of a server", in)
	}
}

func secretsOf(t *testing.T, s *Store, server string) []string {
	t.Helper()
	e, _, err := s.load(server)
	require.NoError(t, err)
	require.NotNil(t, e)
	all := []string{e.Access, e.Refresh, e.Secret, e.ClientID}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" || strings.HasPrefix(s, "registered-") })
}

// connect connects the real client to a handler's server.
func connect(t *testing.T, h *Handler) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), mcpclient.Server{Name: "shop", URL: h.server}, mcpclient.Options{
		Authorize: func(mcpclient.Server) auth.OAuthHandler { return h },
	})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return c
}

func TestTheRealClientAndARealServer(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	s.scopes, s.need = "list", []string{"list"}
	b := &follower{}
	client := connect(t, newHandler(t, Config{Server: s.url, Grant: AuthorizationCode{Browser: b}}))
	tools, err := client.Tools(t.Context())
	require.NoError(t, err)
	require.Len(t, tools, 1)
	s.with(func() { s.scopes, s.need = "list buy", []string{"list", "buy"} })
	got, err := client.Call(t.Context(), mcpclient.CallParams{Name: "buy", Args: []byte(`{}`)})
	require.NoError(t, err)
	assert.Contains(t, fmt.Sprint(got), "bought")
	assert.Equal(t, 2, b.count())
	a.revoke()
	_, err = client.Tools(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, b.count(), "a refresh was enough")
}

func TestNothingSecretIsLoggedOrSaid(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{methods: []string{authPost}})
	s := newShop(t, a)
	var logged bytes.Buffer
	c := newClock()
	b := &follower{}
	h := newHandler(t, Config{Server: s.url, Grant: AuthorizationCode{Browser: b}, Log: debugLog(&logged), Now: c.now})
	var secrets []string
	said := ""
	note := func() {
		_, err := buy(t.Context(), h, s.url)
		if err != nil {
			said += err.Error()
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		for token := range a.live {
			secrets = append(secrets, token)
		}
		for token := range a.refresh {
			secrets = append(secrets, token)
		}
	}
	note()
	c.forward(time.Hour) // a refresh
	note()
	c.forward(time.Hour) // a refused one, and the person again
	a.mu.Lock()
	clear(a.refresh)
	a.mu.Unlock()
	note()
	c.forward(time.Hour) // one that repeats everything
	a.intercept = func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_request", "error_description": fmt.Sprint(r.PostForm)})
	}
	note()
	for _, form := range a.saw().requests {
		secrets = append(secrets, form.Get("code"), form.Get("code_verifier"), form.Get("client_secret"), form.Get("refresh_token"))
	}
	require.Len(t, a.saw().visits, 3)
	require.Contains(t, said, "[hidden]")
	require.Contains(t, logged.String(), "token cannot be refreshed")
	for _, secret := range secrets {
		if secret != "" {
			assert.NotContains(t, said+logged.String(), secret)
		}
	}
}
