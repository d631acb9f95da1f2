package oauth

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// Browser takes a person to a page to sign in.
type Browser interface {
	// Open shows the person the address, whole and with its host, and that it is for the named server; asks whether it
	// may be opened; and opens it, or has them do so. It may return before they have signed in. An error, ErrRefused where
	// they said no, ends the authorization. ctx ends when the page has answered, or nobody waits for it any more; Open
	// must return then.
	Open(ctx context.Context, server, address string) error
}

// AuthorizationCode has a person consent in a browser (authorization code with PKCE).
type AuthorizationCode struct {
	Browser Browser // nil where nobody can be asked; then only what is stored is used
	Nobody  string  // what can be done where Browser is nil, for the text of ErrNobody; may be empty
	Client  Client  // one that the authorization server knows already; zero for none
	// Document is the address of this program's client ID metadata document, empty where it has none. Its redirect
	// addresses must include http://127.0.0.1/callback, without a port.
	Document string
	Name     string // of this program, for the person to see; cartagent when empty
	// Redirect is where the page sends the person back, on loopback, as a configured client has it registered; a free
	// port is chosen where it has none. http://127.0.0.1/callback when empty.
	Redirect string
	Wait     time.Duration // for the person; DefaultWait when zero
}

// DefaultWait is how long a person may take to sign in.
const DefaultWait = 5 * time.Minute

func (a AuthorizationCode) check() error {
	if a.Document != "" && !validDocument(a.Document) {
		return fmt.Errorf("the client ID metadata document %s must have an https address with a path", quoted(a.Document))
	}
	if a.Client.ID == "" && (a.Client.Secret != "" || a.Client.Key != nil) {
		return errors.New("a client has a secret or a key but no id")
	}
	if a.Client.Secret != "" && a.Client.Key != nil {
		return errors.New("a client has both a secret and a key; one of them is enough")
	}
	_, err := a.redirect()
	return err
}

func (a AuthorizationCode) redirect() (*url.URL, error) {
	u, err := url.Parse(cmp.Or(a.Redirect, "http://127.0.0.1/callback"))
	if err != nil || u.Scheme != "http" || (u.Hostname() != "127.0.0.1" && u.Hostname() != "localhost") || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("the redirect address %s must be like http://127.0.0.1:8080/callback", quoted(a.Redirect))
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

func (a AuthorizationCode) fits(e *entry) bool {
	if a.Client.ID == "" {
		return !e.Known
	}
	return e.Known && e.ClientID == a.Client.ID && (a.Client.Issuer == "" || a.Client.Issuer == e.Issuer)
}

func (a AuthorizationCode) client(e *entry) Client {
	if e.Known {
		return a.Client
	}
	return Client{ID: e.ClientID, Secret: e.Secret}
}

func (a AuthorizationCode) issuers() []string {
	return []string{a.Client.Issuer}
}

func (a AuthorizationCode) patience() time.Duration {
	if a.Browser == nil {
		return 0
	}
	return cmp.Or(a.Wait, DefaultWait)
}

func (a AuthorizationCode) obtain(ctx context.Context, r request) (*entry, error) {
	g := r.guard
	if !g.assumed && !slices.Contains(g.meta.CodeChallengeMethodsSupported, "S256") {
		return nil, untrusted("the authorization server %s does not say that it supports PKCE with S256", quoted(g.issuer))
	}
	if g.meta.AuthorizationEndpoint == "" {
		return nil, untrusted("the metadata of %s names no authorization endpoint", quoted(g.issuer))
	}
	switch {
	case a.Browser == nil && a.Nobody != "":
		return nil, fmt.Errorf("%w; %s", ErrNobody, a.Nobody)
	case a.Browser == nil:
		return nil, ErrNobody
	}
	r.scopes = offline(r.scopes, g.meta.ScopesSupported)
	redirect, err := a.redirect()
	if err != nil {
		return nil, err
	}
	l, err := listen(ctx, redirect)
	if err != nil {
		return nil, err
	}
	defer l.close()
	client, method, err := a.introduce(ctx, r, l.redirect)
	if err != nil {
		return nil, err
	}
	l.state, l.issuer, l.issuerWanted = rand.Text(), g.meta.Issuer, g.meta.AuthorizationResponseIssParameterSupported
	verifier := oauth2.GenerateVerifier()
	page, err := pageFor(r, client.ID, l, verifier)
	if err != nil {
		return nil, err
	}
	code, err := l.receive(ctx, a.patience(), func(ctx context.Context) error {
		return a.Browser.Open(ctx, r.name, page)
	})
	if err != nil {
		return nil, err
	}
	at := endpoint{g.meta.TokenEndpoint, g.issuer, client, method}
	got, err := r.fetch.ask(ctx, at, url.Values{
		"grant_type": {grantCode}, "code": {code}, "redirect_uri": {l.redirect},
		"code_verifier": {verifier}, "resource": {g.resource},
	}, r.now())
	if err != nil {
		return nil, err
	}
	e, err := r.entry(at, got)
	if err != nil {
		return nil, err
	}
	if e.Known = a.Client.ID != ""; !e.Known {
		e.Secret = client.Secret
	}
	return e, nil
}

// introduce finds who we are to the authorization server: the configured client, else the document, else a client that
// is registered now. Registered clients are not used twice: servers compare redirect addresses, port and all.
func (a AuthorizationCode) introduce(ctx context.Context, r request, redirect string) (Client, string, error) {
	meta := &r.guard.meta
	switch {
	case a.Client.ID != "":
		if a.Client.Issuer != "" && a.Client.Issuer != r.guard.issuer {
			return Client{}, "", untrusted("the client %s belongs to %s, and the server names the authorization server %s",
				quoted(a.Client.ID), quoted(a.Client.Issuer), quoted(r.guard.issuer))
		}
		method, err := a.Client.method(meta.TokenEndpointAuthMethodsSupported)
		return a.Client, method, err
	case a.Document != "" && meta.ClientIDMetadataDocumentSupported:
		return Client{ID: a.Document}, authNone, nil
	case meta.RegistrationEndpoint != "":
		return r.fetch.register(ctx, r.guard, redirect, cmp.Or(a.Name, "cartagent"))
	}
	return Client{}, "", fmt.Errorf("the authorization server %s registers no clients by itself: register one there, with the redirect address %s, and configure its id",
		quoted(r.guard.issuer), quoted(redirect))
}

const offlineAccess = "offline_access"

// offline asks for a refresh token where the server has a scope for that, and only there.
func offline(scopes, supported []string) []string {
	scopes = slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == offlineAccess })
	if slices.Contains(supported, offlineAccess) {
		scopes = append(scopes, offlineAccess)
	}
	return scopes
}

// pageFor is the page that the person goes to.
func pageFor(r request, id string, l *listener, verifier string) (string, error) {
	page, err := r.fetch.check("authorization endpoint", r.guard.meta.AuthorizationEndpoint)
	if err != nil {
		return "", err
	}
	q := page.Query()
	for k, v := range map[string]string{
		"response_type": "code", "client_id": id, "redirect_uri": l.redirect, "state": l.state, "resource": r.guard.resource,
		"code_challenge": oauth2.S256ChallengeFromVerifier(verifier), "code_challenge_method": "S256",
		"scope": strings.Join(r.scopes, " "),
	} {
		if v != "" {
			q.Set(k, v)
		}
	}
	if slices.Contains(r.scopes, offlineAccess) {
		q.Set("prompt", "consent") // OpenID Connect gives no offline access without
	}
	page.RawQuery, page.Fragment = q.Encode(), ""
	return page.String(), nil
}
