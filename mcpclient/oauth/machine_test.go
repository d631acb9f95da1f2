package oauth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAClientInItsOwnName(t *testing.T) {
	t.Parallel()
	for _, method := range []string{authBasic, authPost} {
		a := newAuthority(t, settings{methods: []string{method}, challenges: []string{}, life: 60})
		a.clients["robot"] = client{"its secret", method}
		s := newShop(t, a)
		s.scopes = "read"
		c := newClock()
		h := newHandler(t, Config{Server: s.url, Grant: ClientCredentials{Client{ID: "robot", Secret: "its secret", Issuer: a.issuer}}, Now: c.now})
		for range 6 { // more often than tries are allowed
			status, err := buy(t.Context(), h, s.url)
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, status)
			c.forward(time.Minute)
		}
		require.Len(t, a.saw().requests, 6)
		assert.Equal(t, grantClient, a.saw().requests[0].Get("grant_type"))
		assert.Equal(t, s.url, a.saw().requests[0].Get("resource"))
		assert.Equal(t, "read", a.saw().requests[0].Get("scope"))
		assert.Empty(t, a.saw().visits)
	}
}

func TestAClientWithAKey(t *testing.T) {
	t.Parallel()
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	p521, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	require.NoError(t, err)
	old, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	for want, key := range map[string]crypto.Signer{"ES256": p256, "ES384": p384, "ES512": p521, "RS256": old, "PS256": old, "EdDSA": edwards} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			der, err := x509.MarshalPKCS8PrivateKey(key)
			require.NoError(t, err)
			parsed, err := ParseKey(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
			require.NoError(t, err)
			a := newAuthority(t, settings{methods: []string{authKey}})
			s := newShop(t, a)
			mine := Client{ID: "robot", Key: parsed}
			if want == "PS256" {
				mine.Algorithm = want
			}
			h := newHandler(t, Config{Server: s.url, Grant: ClientCredentials{mine}})
			status, err := buy(t.Context(), h, s.url)
			require.NoError(t, err)
			assert.Equal(t, http.StatusOK, status)
			form := a.saw().requests[0]
			assert.Equal(t, "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", form.Get("client_assertion_type"))
			var claims jwt.RegisteredClaims
			token, err := jwt.ParseWithClaims(form.Get("client_assertion"), &claims, func(*jwt.Token) (any, error) { return key.Public(), nil },
				jwt.WithValidMethods([]string{want}), jwt.WithAudience(a.issuer), jwt.WithIssuer("robot"), jwt.WithSubject("robot"), jwt.WithExpirationRequired())
			require.NoError(t, err)
			assert.True(t, token.Valid)
			assert.NotEmpty(t, claims.ID)
		})
	}
	t.Run("that does not fit", func(t *testing.T) {
		t.Parallel()
		for algorithm, why := range map[string]string{"RS256": "the key does not fit", "none": "no signature algorithm", "XY": "no signature algorithm"} {
			a := newAuthority(t, settings{methods: []string{authKey}})
			s := newShop(t, a)
			h := newHandler(t, Config{Server: s.url, Grant: ClientCredentials{Client{ID: "robot", Key: p256, Algorithm: algorithm}}})
			_, err := buy(t.Context(), h, s.url)
			require.ErrorContains(t, err, why)
		}
		for _, mine := range []Client{{ID: "robot", Key: p256}, {ID: "robot", Secret: "x"}} {
			a := newAuthority(t, settings{methods: []string{"tls_client_auth"}})
			s := newShop(t, a)
			h := newHandler(t, Config{Server: s.url, Grant: ClientCredentials{mine}})
			_, err := buy(t.Context(), h, s.url)
			require.ErrorContains(t, err, `the token endpoint takes "tls_client_auth" only`)
		}
	})
}

func TestAnEnterpriseVouches(t *testing.T) {
	t.Parallel()
	for _, named := range []bool{true, false} {
		a := newAuthority(t, settings{methods: []string{authBasic}})
		a.clients["mine"] = client{"my secret", authBasic}
		s := newShop(t, a)
		s.scopes = "read"
		var asked url.Values
		idp := newAuthority(t, settings{places: []string{"/.well-known/openid-configuration"}})
		idp.intercept = func(w http.ResponseWriter, r *http.Request) {
			_ = r.ParseForm()
			asked = r.PostForm
			writeJSON(w, http.StatusOK, map[string]any{
				"access_token": "the word of the provider", "token_type": "N_A", "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
			})
		}
		grant := Enterprise{
			IDToken:  func(context.Context) (string, error) { return "who I am", nil },
			Provider: Client{ID: "mine-there", Issuer: idp.issuer}, Client: Client{ID: "mine", Secret: "my secret", Issuer: a.issuer},
		}
		if named {
			grant.ProviderToken = idp.url + "/token"
		}
		h := newHandler(t, Config{Server: s.url, Grant: grant})
		status, err := buy(t.Context(), h, s.url)
		require.NoError(t, err)
		assert.Equal(t, http.StatusOK, status)
		assert.Equal(t, url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "client_id": {"mine-there"}, "scope": {"read"},
			"requested_token_type": {"urn:ietf:params:oauth:token-type:id-jag"}, "audience": {a.issuer}, "resource": {s.url},
			"subject_token": {"who I am"}, "subject_token_type": {"urn:ietf:params:oauth:token-type:id_token"},
		}, asked)
		require.Len(t, a.saw().requests, 1)
		assert.Equal(t, "the word of the provider", a.saw().requests[0].Get("assertion"))
		assert.Equal(t, grantJWT, a.saw().requests[0].Get("grant_type"))
		assert.Equal(t, "mine", a.saw().basic[0])
	}
}

func TestAnEnterpriseThatDoesNotVouch(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, settings{})
	s := newShop(t, a)
	idp := newAuthority(t, settings{places: []string{}})
	good := func(context.Context) (string, error) { return "who I am, secretly", nil }
	there := Client{ID: "there", Issuer: idp.issuer}
	answer := ""
	idp.intercept = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }
	for _, c := range []struct {
		grant       Enterprise
		answer, why string
	}{
		{Enterprise{IDToken: func(context.Context) (string, error) { return "", errors.New("signed out") }, Provider: there, Client: Client{ID: "x"}}, "", "getting the ID token: signed out"},
		{Enterprise{IDToken: good, Provider: there, Client: Client{ID: "x"}}, "", "has no metadata at any of its places"},
		{Enterprise{IDToken: good, Provider: there, Client: Client{ID: "x", Issuer: "https://other.example"}}, "", "belongs to"},
		{
			Enterprise{IDToken: good, Provider: there, ProviderToken: idp.url + "/token", Client: Client{ID: "x"}},
			`{"access_token":"x","issued_token_type":"urn:ietf:params:oauth:token-type:access_token"}`, "not an ID-JAG",
		},
	} {
		answer = c.answer
		h := newHandler(t, Config{Server: s.url, Grant: c.grant})
		_, err := buy(t.Context(), h, s.url)
		require.ErrorContains(t, err, c.why)
		assert.NotContains(t, err.Error(), "secretly")
	}
	assert.Empty(t, a.saw().requests)
}
