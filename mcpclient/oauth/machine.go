package oauth

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"
)

// ClientCredentials has no person: the client acts in its own name, by its secret or its key.
type ClientCredentials struct {
	Client Client
}

func (c ClientCredentials) check() error { return confidential(c.Client) }

// confidential refuses a client that cannot prove who it is.
func confidential(c Client) error {
	switch {
	case c.ID == "":
		return errors.New("the client has no id")
	case c.Secret == "" && c.Key == nil:
		return errors.New("the client has neither a secret nor a key")
	case c.Secret != "" && c.Key != nil:
		return errors.New("the client has both a secret and a key; one of them is enough")
	}
	return nil
}

func (c ClientCredentials) fits(e *entry) bool {
	return e.Known && e.ClientID == c.Client.ID && (c.Client.Issuer == "" || c.Client.Issuer == e.Issuer)
}

func (c ClientCredentials) client(*entry) Client { return c.Client }

func (c ClientCredentials) issuers() []string {
	return []string{c.Client.Issuer}
}

func (c ClientCredentials) patience() time.Duration { return 0 }

func (c ClientCredentials) obtain(ctx context.Context, r request) (*entry, error) {
	return asItself(ctx, r, c.Client, url.Values{"grant_type": {grantClient}})
}

// asItself makes a token request in the name of a configured client.
func asItself(ctx context.Context, r request, client Client, form url.Values) (*entry, error) {
	g := r.guard
	if client.Issuer != "" && client.Issuer != g.issuer {
		return nil, untrusted("the client %s belongs to %s, and the server names the authorization server %s",
			quoted(client.ID), quoted(client.Issuer), quoted(g.issuer))
	}
	method, err := client.method(g.meta.TokenEndpointAuthMethodsSupported)
	if err != nil {
		return nil, err
	}
	form.Set("resource", g.resource)
	if len(r.scopes) > 0 {
		form.Set("scope", strings.Join(r.scopes, " "))
	}
	at := endpoint{g.meta.TokenEndpoint, g.issuer, client, method}
	got, err := r.fetch.ask(ctx, at, form, r.now())
	if err != nil {
		return nil, err
	}
	e, err := r.entry(at, got)
	if err != nil {
		return nil, err
	}
	e.Known = true
	return e, nil
}
