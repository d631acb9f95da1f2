package oauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// Client is who we are to an authorization server that knows us already. With neither Secret nor Key the client is
// public.
type Client struct {
	ID     string
	Secret string
	// Key signs assertions (private_key_jwt) in place of a secret; ParseKey makes one of PEM. Algorithm is that of the
	// signature, such as ES256; empty for the usual one of the key's type.
	Key       crypto.Signer
	Algorithm string
	// Issuer is the authorization server that knows this client. The credentials go to no other. When empty, the first
	// one that the MCP server names is it, from then on.
	Issuer string
}

// The ways to authenticate at a token endpoint.
const (
	authNone  = "none"
	authBasic = "client_secret_basic"
	authPost  = "client_secret_post"
	authKey   = "private_key_jwt"
)

// method picks how a client authenticates, among what the server takes; one that says nothing takes Basic (RFC 8414).
func (c Client) method(supported []string) (string, error) {
	if len(supported) == 0 {
		supported = []string{authBasic, authKey}
	}
	switch {
	case c.Key != nil && slices.Contains(supported, authKey):
		return authKey, nil
	case c.Key != nil:
		return "", fmt.Errorf("the client %s has a key, and the token endpoint takes %s only", quoted(c.ID), quotedList(supported))
	case c.Secret == "":
		return authNone, nil
	case slices.Contains(supported, authBasic):
		return authBasic, nil
	case slices.Contains(supported, authPost):
		return authPost, nil
	}
	return "", fmt.Errorf("the client %s has a secret, and the token endpoint takes %s only", quoted(c.ID), quotedList(supported))
}

func quotedList(list []string) string { return quoted(strings.Join(list, ", ")) }

// ParseKey reads a private key, RSA, ECDSA or Ed25519, from PEM. The error does not quote it.
func ParseKey(pem []byte) (crypto.Signer, error) {
	if key, err := jwt.ParseECPrivateKeyFromPEM(pem); err == nil {
		return key, nil
	}
	if key, err := jwt.ParseRSAPrivateKeyFromPEM(pem); err == nil {
		return key, nil
	}
	if key, err := jwt.ParseEdPrivateKeyFromPEM(pem); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
	}
	return nil, errors.New("this is not a private key in PEM: an RSA, ECDSA or Ed25519 key in PKCS #8 is wanted")
}

// assertion is a client's signed word that it is itself (RFC 7523), for one issuer, once and for a minute.
func (c Client) assertion(issuer string, now time.Time) (string, error) {
	name := c.Algorithm
	if name == "" {
		name = usualAlgorithm(c.Key)
	}
	method := jwt.GetSigningMethod(name)
	if method == nil || name == "none" {
		return "", fmt.Errorf("signing for the client %s: there is no signature algorithm %s", quoted(c.ID), quoted(name))
	}
	signed, err := jwt.NewWithClaims(method, jwt.RegisteredClaims{
		Issuer: c.ID, Subject: c.ID, Audience: jwt.ClaimStrings{issuer}, ID: rand.Text(),
		IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(time.Minute)),
	}).SignedString(c.Key)
	if err != nil {
		return "", fmt.Errorf("signing for the client %s by %s: the key does not fit", quoted(c.ID), name)
	}
	return signed, nil
}

// register makes a client by dynamic registration (RFC 7591), for one redirect address.
func (f *fetcher) register(ctx context.Context, g *guard, redirect, name string) (Client, string, error) {
	method, err := registrable(g.meta.TokenEndpointAuthMethodsSupported)
	if err != nil {
		return Client{}, "", err
	}
	body, err := json.Marshal(oauthex.ClientRegistrationMetadata{
		ClientName: name, RedirectURIs: []string{redirect}, ApplicationType: "native", TokenEndpointAuthMethod: method,
		GrantTypes: []string{grantCode, grantRefresh}, ResponseTypes: []string{"code"},
	})
	if err != nil {
		return Client{}, "", fmt.Errorf("registering: %w", err)
	}
	a, err := f.do(ctx, call{
		what: "registration endpoint", method: http.MethodPost, address: g.meta.RegistrationEndpoint,
		kind: "application/json", body: string(body),
	})
	if err != nil {
		return Client{}, "", err
	}
	if a.status != http.StatusCreated && a.status != http.StatusOK {
		return Client{}, "", fmt.Errorf("registering at %s: %w; if it knows a client of yours, configure its id",
			g.issuer, refusalOf(a, nil))
	}
	var reply oauthex.ClientRegistrationResponse
	if json.Unmarshal(a.body, &reply) != nil || reply.ClientID == "" {
		return Client{}, "", fmt.Errorf("registering at %s: the answer has no client_id", g.issuer)
	}
	if reply.TokenEndpointAuthMethod != "" {
		method = reply.TokenEndpointAuthMethod
	}
	switch {
	case method == authNone:
		reply.ClientSecret = ""
	case method != authBasic && method != authPost:
		return Client{}, "", fmt.Errorf("registering at %s: it wants client authentication by %s, which is not supported",
			g.issuer, quoted(method))
	case reply.ClientSecret == "":
		return Client{}, "", fmt.Errorf("registering at %s: the answer has no client_secret, which %s takes", g.issuer, method)
	}
	return Client{ID: reply.ClientID, Secret: reply.ClientSecret, Issuer: g.issuer}, method, nil
}

// registrable picks the way of authentication to register with. A program on a person's machine keeps no secrets, so
// none is best.
func registrable(supported []string) (string, error) {
	if len(supported) == 0 {
		return authBasic, nil
	}
	for _, method := range []string{authNone, authBasic, authPost} {
		if slices.Contains(supported, method) {
			return method, nil
		}
	}
	return "", fmt.Errorf("the token endpoint takes %s only, so a client must be registered by hand: configure its id and key",
		quotedList(supported))
}

// validDocument says whether an address can be a client ID metadata document's.
func validDocument(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.Path != "" && u.Path != "/" && u.Fragment == "" && u.User == nil
}

// usualAlgorithm is the signature that goes with a key.
func usualAlgorithm(key crypto.Signer) string {
	switch k := key.Public().(type) {
	case *rsa.PublicKey:
		return jwt.SigningMethodRS256.Alg()
	case ed25519.PublicKey:
		return jwt.SigningMethodEdDSA.Alg()
	case *ecdsa.PublicKey:
		switch k.Params().BitSize {
		case 384:
			return jwt.SigningMethodES384.Alg()
		case 521:
			return jwt.SigningMethodES512.Alg()
		}
		return jwt.SigningMethodES256.Alg()
	}
	return ""
}
