package oauth

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// guard is what discovery found: the resource, and the authorization server that guards it.
type guard struct {
	resource string   // the identifier that goes into requests
	scopes   []string // that the resource names, where the challenge names none
	issuer   string
	meta     oauthex.AuthServerMeta
	assumed  bool // no metadata anywhere: the endpoints are those that 2025-03-26 fixes
}

// discover finds who guards a server. prefer names the issuers that are taken first where there is a choice.
func (f *fetcher) discover(ctx context.Context, server *url.URL, c challenge, prefer ...string) (*guard, error) {
	prm, err := f.resourceMetadata(ctx, server, c.metadata)
	if err != nil {
		return nil, err
	}
	if prm == nil {
		return f.discoverLegacy(ctx, server)
	}
	if len(prm.AuthorizationServers) == 0 {
		return nil, untrusted("the protected resource metadata names no authorization server")
	}
	g := &guard{resource: prm.Resource, scopes: prm.ScopesSupported, issuer: prm.AuthorizationServers[0]}
	for _, issuer := range prefer {
		if issuer != "" && slices.Contains(prm.AuthorizationServers, issuer) {
			g.issuer = issuer
			break
		}
	}
	meta, err := f.serverMetadata(ctx, g.issuer, func(named string) bool { return named == g.issuer })
	if err != nil {
		return nil, err
	}
	if meta == nil {
		return nil, untrusted("the authorization server %s has no metadata at any of its places", quoted(g.issuer))
	}
	g.meta = *meta
	return g, nil
}

// resourceMetadata looks for the metadata of a protected resource (RFC 9728): where the challenge says, else at the
// server's path, else at the root. It returns nil where there is none at a well-known place.
func (f *fetcher) resourceMetadata(ctx context.Context, server *url.URL, named string) (*oauthex.ProtectedResourceMetadata, error) {
	const place = "/.well-known/oauth-protected-resource"
	at := func(path string) string {
		u := url.URL{Scheme: server.Scheme, Host: server.Host, Path: path}
		return u.String()
	}
	root := at(place)
	places := []string{named}
	if named == "" {
		places = []string{root}
		if path := strings.TrimSuffix(server.Path, "/"); path != "" {
			places = []string{at(place + path), root}
		}
	}
	for _, address := range places {
		var prm oauthex.ProtectedResourceMetadata
		found, err := f.get(ctx, "protected resource metadata", address, &prm)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		// The document at the root speaks for the origin, whoever pointed to it; any other must name this server.
		if !sameResource(prm.Resource, server.String()) && (address != root || !sameResource(prm.Resource, at(""))) {
			return nil, untrusted("the protected resource metadata at %s is for %s, not for %s",
				address, quoted(prm.Resource), server)
		}
		return &prm, nil
	}
	if named != "" {
		return nil, untrusted("there is no protected resource metadata at %s, where the server says that it is", quoted(named))
	}
	return nil, nil
}

// discoverLegacy follows 2025-03-26: the root of the MCP server is its authorization server, with metadata or without.
func (f *fetcher) discoverLegacy(ctx context.Context, server *url.URL) (*guard, error) {
	root := (&url.URL{Scheme: server.Scheme, Host: server.Host}).String()
	g := &guard{resource: server.String(), issuer: root}
	// Nobody named this issuer; it was made of an address, where an empty path and "/" are the same.
	meta, err := f.serverMetadata(ctx, root, func(named string) bool { return sameResource(named, root) })
	if err != nil {
		return nil, err
	}
	if meta == nil {
		g.assumed = true
		meta = &oauthex.AuthServerMeta{
			Issuer: root, AuthorizationEndpoint: root + "/authorize",
			TokenEndpoint: root + "/token", RegistrationEndpoint: root + "/register",
		}
	}
	g.issuer, g.meta = meta.Issuer, *meta
	return g, nil
}

// serverMetadata looks for the metadata of an authorization server (RFC 8414, OpenID Connect Discovery) at all of its
// places. It returns nil where there is none, and an error where what is there must not be used.
func (f *fetcher) serverMetadata(ctx context.Context, issuer string, same func(string) bool) (*oauthex.AuthServerMeta, error) {
	u, err := f.check("authorization server", issuer)
	if err != nil {
		return nil, err
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return nil, untrusted("the authorization server %s has a query or a fragment, which an issuer never has", quoted(issuer))
	}
	for _, address := range metadataPlaces(u) {
		var meta oauthex.AuthServerMeta
		found, err := f.get(ctx, "authorization server metadata", address, &meta)
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		if !same(meta.Issuer) {
			return nil, untrusted("the authorization server metadata at %s is of the issuer %s, not of %s",
				address, quoted(meta.Issuer), quoted(issuer))
		}
		for what, endpoint := range map[string]string{
			"authorization endpoint": meta.AuthorizationEndpoint, "token endpoint": meta.TokenEndpoint,
			"registration endpoint": meta.RegistrationEndpoint,
		} {
			if endpoint == "" {
				continue // who needs it says so
			}
			if _, err := f.check(what, endpoint); err != nil {
				return nil, err
			}
		}
		return &meta, nil
	}
	return nil, nil
}

// metadataPlaces are where an issuer's metadata may be, in the order of the specification.
func metadataPlaces(issuer *url.URL) []string {
	at := func(path string) string {
		u := url.URL{Scheme: issuer.Scheme, Host: issuer.Host, Path: path}
		return u.String()
	}
	path := strings.TrimSuffix(issuer.Path, "/")
	places := []string{at("/.well-known/oauth-authorization-server" + path), at("/.well-known/openid-configuration" + path)}
	if path != "" {
		places = append(places, at(path+"/.well-known/openid-configuration"))
	}
	return places
}
