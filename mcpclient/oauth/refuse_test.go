package oauth

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/log"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestWhatIsRefused holds each refusal: the error says why, the kind is right, and nothing was given away.
func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	issuerWith := func(change func(a *authority, q url.Values)) func(*authority, *shop) {
		return func(a *authority, _ *shop) { a.answer = func(q url.Values) { change(a, q) } }
	}
	for name, c := range map[string]struct {
		authority settings
		change    func(a *authority, s *shop)
		grant     AuthorizationCode
		why       string
		is        error
		visits    int // of the page
	}{
		"resource metadata of another resource": {
			change: func(_ *authority, s *shop) { s.doc["resource"] = "https://other.example/mcp" },
			why:    `is for "https://other.example/mcp", not for`, is: ErrUntrusted,
		},
		"resource metadata of another resource at a well-known place": {
			change: func(_ *authority, s *shop) { s.named = false; s.doc["resource"] = "https://other.example/mcp" },
			why:    `is for "https://other.example/mcp", not for`, is: ErrUntrusted,
		},
		"resource metadata of the origin, elsewhere than at the root": {
			change: func(_ *authority, s *shop) { s.doc["resource"] = s.base }, why: "not for", is: ErrUntrusted,
		},
		"resource metadata that is not where the server says": {
			change: func(_ *authority, s *shop) { s.document = http.NotFound },
			why:    "there is no protected resource metadata at", is: ErrUntrusted,
		},
		"resource metadata that cannot be had": {
			change: func(_ *authority, s *shop) {
				s.named = false
				s.document = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }
			},
			why: "fetching the protected resource metadata: status 502",
		},
		"resource metadata that is no JSON": {
			change: func(_ *authority, s *shop) {
				s.document = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "[]") }
			},
			why: "is not the JSON object that it must be",
		},
		"resource metadata without end": {
			change: func(_ *authority, s *shop) {
				s.document = func(w http.ResponseWriter, _ *http.Request) {
					_, _ = w.Write(bytes.Repeat([]byte(" "), fetchLimit+2))
				}
			},
			why: "is longer than 1 MiB",
		},
		"no authorization server": {
			change: func(_ *authority, s *shop) { s.doc["authorization_servers"] = []string{} },
			why:    "names no authorization server", is: ErrUntrusted,
		},
		"an authorization server in the clear": {
			change: func(_ *authority, s *shop) { s.doc["authorization_servers"] = []string{"http://as.example"} },
			why:    "must begin with https://", is: ErrUntrusted,
		},
		"an authorization server with a user": {
			change: func(_ *authority, s *shop) { s.doc["authorization_servers"] = []string{"https://a:b@as.example"} },
			why:    "has a user in its address", is: ErrUntrusted,
		},
		"an authorization server that is a script": {
			change: func(_ *authority, s *shop) { s.doc["authorization_servers"] = []string{"javascript:alert(1)"} },
			why:    "is not an address", is: ErrUntrusted,
		},
		"an authorization server with a query": {
			change: func(a *authority, s *shop) { s.doc["authorization_servers"] = []string{a.url + "?x=y"} },
			why:    "has a query or a fragment", is: ErrUntrusted,
		},
		"an authorization server without metadata": {
			authority: settings{places: []string{}}, why: "has no metadata at any of its places", is: ErrUntrusted,
		},
		"metadata of another issuer": {
			authority: settings{issuer: "https://evil.example"},
			change:    func(a *authority, s *shop) { s.doc["authorization_servers"] = []string{a.url} },
			why:       `is of the issuer "https://evil.example", not of`, is: ErrUntrusted,
		},
		"metadata whose issuer has a slash more": {
			change: func(a *authority, s *shop) {
				s.doc["authorization_servers"] = []string{a.url}
				a.issuer = a.url + "/"
			},
			why: "is of the issuer", is: ErrUntrusted,
		},
		"endpoints in the clear": {
			authority: settings{more: map[string]any{"token_endpoint": "http://as.example/token"}},
			why:       `the token endpoint "http://as.example/token" must begin with https://`, is: ErrUntrusted,
		},
		"a page that is a script": {
			authority: settings{more: map[string]any{"authorization_endpoint": "javascript:alert(1)"}},
			why:       "the authorization endpoint", is: ErrUntrusted,
		},
		"no page": {
			authority: settings{more: map[string]any{"authorization_endpoint": ""}},
			why:       "names no authorization endpoint", is: ErrUntrusted,
		},
		"no PKCE":         {authority: settings{challenges: []string{}}, why: "PKCE with S256", is: ErrUntrusted},
		"no PKCE by S256": {authority: settings{challenges: []string{"plain"}}, why: "PKCE with S256", is: ErrUntrusted},
		"no way to be known": {
			authority: settings{closed: true}, why: "registers no clients by itself: register one there, with the redirect address",
		},
		"no way to authenticate": {
			authority: settings{methods: []string{"tls_client_auth"}}, why: `takes "tls_client_auth" only`,
		},
		"a client of another issuer": {
			grant: AuthorizationCode{Client: Client{ID: "mine", Secret: "s3cret", Issuer: "https://other.example"}},
			why:   `the client "mine" belongs to "https://other.example"`, is: ErrUntrusted,
		},
		"an answer without the issuer that was promised": {
			authority: settings{names: true}, change: issuerWith(func(_ *authority, q url.Values) { q.Del("iss") }),
			why: "does not name its issuer", is: ErrUntrusted, visits: 1,
		},
		"an answer of another issuer": {
			authority: settings{names: true}, change: issuerWith(func(_ *authority, q url.Values) { q.Set("iss", "https://evil.example") }),
			why: `is of the issuer "https://evil.example"`, is: ErrUntrusted, visits: 1,
		},
		"an answer of another issuer that was not promised": {
			change: issuerWith(func(_ *authority, q url.Values) { q.Set("iss", "https://evil.example") }),
			why:    `is of the issuer "https://evil.example"`, is: ErrUntrusted, visits: 1,
		},
		"an answer of the same issuer with a slash more": {
			authority: settings{names: true}, change: issuerWith(func(a *authority, q url.Values) { q.Set("iss", a.issuer+"/") }),
			why: "is of the issuer", is: ErrUntrusted, visits: 1,
		},
		"an answer of an empty issuer": {
			change: issuerWith(func(_ *authority, q url.Values) { q.Set("iss", "") }), why: "is of the issuer", is: ErrUntrusted, visits: 1,
		},
		"an answer of two issuers": {
			change: issuerWith(func(a *authority, q url.Values) { q["iss"] = []string{a.issuer, "x"} }),
			why:    "has iss more than once", is: ErrUntrusted, visits: 1,
		},
		"an answer without a code": {
			change: issuerWith(func(_ *authority, q url.Values) { q.Del("code") }), why: "has no code", is: ErrUntrusted, visits: 1,
		},
		"a refusal by the person": {
			change: issuerWith(func(a *authority, q url.Values) {
				q.Del("code")
				q.Set("error", "access_denied")
				q.Set("error_description", "not\ntoday")
				q.Set("iss", a.issuer)
			}),
			why: `says "access_denied": "not today"`, is: ErrRefused, visits: 1,
		},
		"another error of the page": {
			change: issuerWith(func(_ *authority, q url.Values) { q.Del("code"); q.Set("error", "invalid_scope") }),
			why:    `says "invalid_scope"`, visits: 1,
		},
		"an error in somebody else's name": {
			authority: settings{names: true},
			change: issuerWith(func(_ *authority, q url.Values) {
				q.Del("code")
				q.Set("error", "call_this_number")
				q.Set("iss", "https://evil.example")
			}),
			why: "is of the issuer", is: ErrUntrusted, visits: 1,
		},
		"a person who does not want to": {
			grant: AuthorizationCode{Browser: browser(func(context.Context, string, string) error { return ErrRefused })},
			why:   "opening the authorization page: the authorization was refused", is: ErrRefused,
		},
		"nobody to ask": {grant: AuthorizationCode{Browser: nobody}, why: "nobody can be asked", is: ErrNobody},
		"a token of another kind": {
			change: answerToken(`{"access_token":"DPoP-secret","token_type":"DPoP"}`),
			why:    `gave a token of the type "DPoP"`, visits: 1,
		},
		"no token":                {change: answerToken(`{"token_type":"Bearer"}`), why: "answered with no access_token", visits: 1},
		"a token that is no JSON": {change: answerToken(`<html>secret`), why: "answered with no access_token", visits: 1},
		"a token with a strange life": {
			change: answerToken(`{"access_token":"secret","token_type":"Bearer","expires_in":"soon"}`), why: "is no number of seconds", visits: 1,
		},
		"a token endpoint that sends us elsewhere": {
			change: func(a *authority, _ *shop) {
				a.intercept = func(w http.ResponseWriter, r *http.Request) {
					http.Redirect(w, r, a.url+"/elsewhere", http.StatusTemporaryRedirect)
				}
			},
			why: "refused: status 307", visits: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAuthority(t, c.authority)
			s := newShop(t, a)
			if c.change != nil {
				c.change(a, s)
			}
			b := &follower{}
			switch {
			case c.grant.Browser == nil:
				c.grant.Browser = b
			case errors.Is(c.is, ErrNobody):
				c.grant.Browser = nil
			}
			var logged bytes.Buffer
			store := NewStore(t.TempDir())
			h := newHandler(t, Config{Server: s.url, Name: "shop", Grant: c.grant, Store: store, Log: debugLog(&logged)})
			_, err := buy(t.Context(), h, s.url)
			require.ErrorContains(t, err, c.why)
			require.ErrorContains(t, err, "authorizing at server shop: ")
			if c.is != nil {
				require.ErrorIs(t, err, c.is)
			}
			assert.NotContains(t, err.Error(), "call_this_number")
			assert.NotContains(t, err.Error()+logged.String(), "secret")
			assert.NotContains(t, err.Error()+logged.String(), "code-of-")
			visits, requests := a.counts()
			assert.Equal(t, c.visits, visits)
			if c.is != nil {
				assert.Zero(t, requests, "the code is not redeemed")
			}
			assert.NotContains(t, a.saw().paths, "POST /elsewhere")
			list, err := store.List()
			require.NoError(t, err)
			assert.Empty(t, list)
		})
	}
}

var nobody = browser(nil)

func answerToken(body string) func(*authority, *shop) {
	return func(a *authority, _ *shop) {
		a.intercept = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
	}
}

func debugLog(to io.Writer) *log.Logger {
	l := log.New(to)
	l.SetLevel(log.DebugLevel)
	return l
}

func TestAnAuthorityThatRepeatsSecretsIsNotRepeated(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{methods: []string{authPost}})
	a.clients["mine"] = client{"another", authPost} // so that it complains, with the secret and more
	s := newShop(t, a)
	var logged bytes.Buffer
	h := newHandler(t, Config{Server: s.url, Grant: AuthorizationCode{
		Browser: &follower{}, Client: Client{ID: "mine", Secret: "hunter2hunter2"},
	}, Log: debugLog(&logged)})
	_, err := buy(t.Context(), h, s.url)
	require.ErrorContains(t, err, "invalid_client")
	require.ErrorContains(t, err, "with the secret [hidden] is wrong")
	assert.NotContains(t, err.Error()+logged.String(), "hunter2")
}

func TestABrowserThatNeverComesBack(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	b := browser(func(context.Context, string, string) error { return nil })
	h := newHandler(t, Config{Server: s.url, Grant: AuthorizationCode{Browser: b, Wait: time.Millisecond}})
	_, err := buy(t.Context(), h, s.url)
	require.ErrorContains(t, err, "nobody came back from the page in time (1ms)")

	opened := make(chan struct{})
	b = func(ctx context.Context, _, _ string) error { close(opened); <-ctx.Done(); return ctx.Err() }
	h = newHandler(t, Config{Server: s.url, Grant: AuthorizationCode{Browser: b}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-opened; cancel() }()
	_, err = buy(ctx, h, s.url)
	require.ErrorIs(t, err, context.Canceled)
}

func TestOnlyTheRightAnswerEndsTheWait(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{names: true})
	s := newShop(t, a)
	type seen struct {
		status int
		body   string
	}
	var pages []seen
	b := browser(func(ctx context.Context, server, address string) error {
		assert.Equal(t, "shop", server)
		at, err := url.Parse(address)
		if err != nil {
			return err
		}
		redirect, state := at.Query().Get("redirect_uri"), at.Query().Get("state")
		for _, wrong := range []string{
			"?code=x&state=guess&iss=" + url.QueryEscape(a.issuer), "?error=<script>&state=guess", "?code=x", "", "?state=" + state + "&state=x",
			"/other?state=" + state,
		} {
			status, header, body, err := look(ctx, redirect+wrong)
			if err != nil {
				return err
			}
			assert.Equal(t, "default-src 'none'", header.Get("Content-Security-Policy"))
			assert.NotContains(t, body, "script>")
			pages = append(pages, seen{status, body})
		}
		back, err := visit(ctx, address)
		if err != nil {
			return err
		}
		status, _, body, err := look(t.Context(), back) // ctx ends with the answer
		pages = append(pages, seen{status, body})
		return err
	})
	h := newHandler(t, Config{Server: s.url, Name: "shop", Grant: AuthorizationCode{Browser: b}})
	status, err := buy(t.Context(), h, s.url)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, status)
	require.Len(t, pages, 7)
	for i, want := range []int{400, 400, 400, 400, 400, 404, 200} {
		assert.Equal(t, want, pages[i].status, "page %d", i)
	}
	assert.Contains(t, pages[0].body, "not the answer to the sign-in that was started")
	assert.Contains(t, pages[6].body, "You can close this page and go back to cartagent")
}

func TestASecondAnswerChangesNothing(t *testing.T) {
	t.Parallel()
	at, err := url.Parse("http://127.0.0.1/callback")
	require.NoError(t, err)
	l, err := listen(t.Context(), at)
	require.NoError(t, err)
	defer l.close()
	l.state, l.issuer = "right", "https://as.example"
	assert.True(t, l.settle())
	assert.False(t, l.settle())
	for method, want := range map[string]int{http.MethodPost: http.StatusMethodNotAllowed, http.MethodGet: http.StatusGone} {
		req, err := http.NewRequestWithContext(t.Context(), method, l.redirect+"?state=right&code=x", nil)
		require.NoError(t, err)
		w := record(l, req)
		assert.Equal(t, want, w.Code)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.redirect+"?state=right&code=x", nil)
	require.NoError(t, err)
	req.Host = "rebound.example"
	assert.Equal(t, http.StatusNotFound, record(l, req).Code, "another name for this address is not ours")
	assert.Empty(t, l.answers)
}

func TestAServerOutsideHasNothingVisitedInside(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	f := newFetcher(t.Context(), nil, "https://198.51.100.7/mcp")
	for _, address := range []string{a.url, "http://localhost/x", "http://as.example/"} {
		_, err := f.check("metadata", address)
		require.ErrorIs(t, err, ErrUntrusted, address)
	}
	inside := strings.Replace(a.url, "http://", "https://", 1)
	for _, address := range []string{inside, "https://169.254.169.254/", "https://10.1.2.3/", "https://[::ffff:192.168.0.1]/", "https://100.64.0.1/", "https://[fd00::1]/"} {
		_, err := f.get(t.Context(), "metadata", address, nil)
		require.ErrorIs(t, err, ErrUntrusted, address)
	}
	assert.Empty(t, a.saw().paths)
}

func TestAProxyMayBeInside(t *testing.T) {
	t.Parallel()
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.Host)
		w.WriteHeader(http.StatusTeapot)
	}))
	defer proxy.Close()
	at, err := url.Parse(proxy.URL)
	require.NoError(t, err)
	f := newFetcher(t.Context(), &http.Transport{Proxy: func(r *http.Request) (*url.URL, error) {
		if r.URL.Hostname() == "127.0.0.1" {
			return nil, nil
		}
		return at, nil
	}}, "https://198.51.100.7/mcp")
	_, err = f.get(t.Context(), "metadata", "https://as.example/x", nil)
	require.ErrorContains(t, err, "teapot")
	assert.Equal(t, []string{"CONNECT as.example:443"}, asked)
	_, err = f.get(t.Context(), "metadata", "https://127.0.0.1/x", nil)
	require.ErrorIs(t, err, ErrUntrusted, "what goes around the proxy is looked at")
}

func TestConfigurationsThatCannotWork(t *testing.T) {
	t.Parallel()
	for why, c := range map[string]Config{
		"is not the address of a server":          {Server: "shop", Grant: AuthorizationCode{}},
		"no grant is configured":                  {Server: "https://shop.example"},
		"must have an https address with a path":  {Server: "https://shop.example", Grant: AuthorizationCode{Document: "https://me.example"}},
		"a secret or a key but no id":             {Server: "https://shop.example", Grant: AuthorizationCode{Client: Client{Secret: "x"}}},
		"must be like http://127.0.0.1:8080":      {Server: "https://shop.example", Grant: AuthorizationCode{Redirect: "https://shop.example/"}},
		"neither a secret nor a key":              {Server: "https://shop.example", Grant: ClientCredentials{Client{ID: "x"}}},
		"the client has no id":                    {Server: "https://shop.example", Grant: ClientCredentials{}},
		"nothing to get an ID token from":         {Server: "https://shop.example", Grant: Enterprise{}},
		"the identity provider's issuer or our c": {Server: "https://shop.example", Grant: Enterprise{IDToken: func(context.Context) (string, error) { return "", nil }}},
	} {
		_, err := New(c)
		require.ErrorContains(t, err, why)
	}
	_, err := ParseKey([]byte("-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"))
	require.ErrorContains(t, err, "is not a private key in PEM")
	assert.NotContains(t, err.Error(), "c2Vj")
}
