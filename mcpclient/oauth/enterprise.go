package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Enterprise has no consent page: the person has signed in to their enterprise's identity provider, which vouches for
// them at the authorization server (token exchange, RFC 8693, then the JWT grant, RFC 7523).
type Enterprise struct {
	// IDToken gives the ID token of the person at the identity provider.
	IDToken func(ctx context.Context) (string, error)
	// Provider is who we are to the identity provider. Its Issuer is the provider itself, and must be set.
	Provider Client
	// ProviderToken is the provider's token endpoint; found by its metadata when empty.
	ProviderToken string
	// Client is who we are to the MCP server's authorization server.
	Client Client
}

func (e Enterprise) check() error {
	switch {
	case e.IDToken == nil:
		return errors.New("there is nothing to get an ID token from")
	case e.Provider.ID == "" || e.Provider.Issuer == "":
		return errors.New("the identity provider's issuer or our client id there is missing")
	case e.Client.ID == "":
		return errors.New("the client has no id")
	}
	return nil
}

func (e Enterprise) fits(s *entry) bool   { return ClientCredentials{e.Client}.fits(s) }
func (e Enterprise) client(*entry) Client { return e.Client }

func (e Enterprise) patience() time.Duration { return 0 }

func (e Enterprise) issuers() []string {
	return []string{e.Client.Issuer, e.Provider.Issuer}
}

func (e Enterprise) obtain(ctx context.Context, r request) (*entry, error) {
	if e.Client.Issuer != "" && e.Client.Issuer != r.guard.issuer { // before the provider vouches there
		return nil, untrusted("the client %s belongs to %s, and the server names the authorization server %s",
			quoted(e.Client.ID), quoted(e.Client.Issuer), quoted(r.guard.issuer))
	}
	token, err := e.IDToken(ctx)
	if err != nil {
		return nil, fmt.Errorf("getting the ID token: %w", err)
	}
	at := endpoint{address: e.ProviderToken, issuer: e.Provider.Issuer, client: e.Provider}
	var methods []string
	if at.address == "" {
		meta, err := r.fetch.serverMetadata(ctx, e.Provider.Issuer, func(named string) bool { return named == e.Provider.Issuer })
		if err != nil {
			return nil, err
		}
		if meta == nil {
			return nil, untrusted("the identity provider %s has no metadata at any of its places", quoted(e.Provider.Issuer))
		}
		at.address, methods = meta.TokenEndpoint, meta.TokenEndpointAuthMethodsSupported
	}
	if at.method, err = e.Provider.method(methods); err != nil {
		return nil, err
	}
	form := url.Values{
		"grant_type": {grantExchange}, "requested_token_type": {oauthex.TokenTypeIDJAG}, "audience": {r.guard.meta.Issuer},
		"resource": {r.guard.resource}, "subject_token": {token}, "subject_token_type": {oauthex.TokenTypeIDToken},
	}
	if len(r.scopes) > 0 {
		form.Set("scope", strings.Join(r.scopes, " "))
	}
	word, err := r.fetch.ask(ctx, at, form, r.now())
	if err != nil {
		return nil, err
	}
	if word.IssuedAs != oauthex.TokenTypeIDJAG {
		return nil, fmt.Errorf("the identity provider %s gave a token of the type %s, not an ID-JAG", e.Provider.Issuer, quoted(word.IssuedAs))
	}
	return asItself(ctx, r, e.Client, url.Values{"grant_type": {grantJWT}, "assertion": {word.Access}})
}
