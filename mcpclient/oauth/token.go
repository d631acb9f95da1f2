package oauth

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The grants of a token endpoint.
const (
	grantCode     = "authorization_code"
	grantRefresh  = "refresh_token"
	grantClient   = "client_credentials"
	grantJWT      = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	grantExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
)

// endpoint is a token endpoint, and who we are there.
type endpoint struct {
	address, issuer string
	client          Client
	method          string // one of auth…
}

// granted is what a token endpoint gave.
type granted struct {
	Access    string `json:"access_token"`
	Type      string `json:"token_type"`
	Refresh   string `json:"refresh_token"`
	Scope     string `json:"scope"`
	IssuedAs  string `json:"issued_token_type"`
	expires   time.Time
	hasScopes bool
}

// refusal is an OAuth error, in words that hold nothing secret.
type refusal struct {
	code, detail string
	status       int
}

func (r *refusal) Error() string {
	switch {
	case r.code == "":
		return fmt.Sprintf("status %d", r.status)
	case r.detail == "":
		return r.code
	}
	return r.code + ": " + r.detail
}

// final says whether asking again in the same way is of no use.
func (r *refusal) final() bool {
	return r.code != "" && r.status < 500 && r.status != http.StatusTooManyRequests &&
		r.code != "temporarily_unavailable" && r.code != "slow_down"
}

// refusalOf reads the error out of an answer. What was sent is taken out of the words, should the server repeat it.
func refusalOf(a answer, sent []string) *refusal {
	var body struct {
		Error       any    `json:"error"`
		Description string `json:"error_description"`
	}
	r := &refusal{status: a.status}
	if json.Unmarshal(a.body, &body) != nil {
		return r
	}
	hide := func(text string) string {
		for _, s := range sent {
			if len(s) > 3 {
				text = strings.ReplaceAll(text, s, "[hidden]")
			}
		}
		return text
	}
	if code, ok := body.Error.(string); ok && code != "" {
		r.code = strings.Trim(quoted(hide(code)), `"`)
		if body.Description != "" {
			r.detail = quoted(hide(body.Description))
		}
	}
	return r
}

// ask makes a token request. form is changed.
func (f *fetcher) ask(ctx context.Context, e endpoint, form url.Values, now time.Time) (granted, error) {
	if e.address == "" {
		return granted{}, untrusted("the metadata of %s names no token endpoint", quoted(e.issuer))
	}
	c := call{what: "token endpoint", method: http.MethodPost, address: e.address, kind: "application/x-www-form-urlencoded"}
	var sent []string
	for _, name := range []string{"code", "code_verifier", "refresh_token", "assertion", "subject_token"} {
		if v := form.Get(name); v != "" {
			sent = append(sent, v)
		}
	}
	if e.client.Secret != "" {
		sent = append(sent, e.client.Secret, url.QueryEscape(e.client.Secret))
	}
	switch e.method {
	case authBasic: // RFC 6749, 2.3.1 wants both encoded
		c.user, c.password = url.QueryEscape(e.client.ID), url.QueryEscape(e.client.Secret)
	case authPost:
		form.Set("client_id", e.client.ID)
		form.Set("client_secret", e.client.Secret)
	case authKey:
		signed, err := e.client.assertion(e.issuer, now)
		if err != nil {
			return granted{}, err
		}
		sent = append(sent, signed)
		form.Set("client_id", e.client.ID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", signed)
	default:
		form.Set("client_id", e.client.ID)
	}
	c.body = form.Encode()
	a, err := f.do(ctx, c)
	if err != nil {
		return granted{}, err
	}
	if a.status != http.StatusOK {
		return granted{}, fmt.Errorf("the token endpoint of %s refused: %w", e.issuer, refusalOf(a, sent))
	}
	return readGranted(a.body, e.issuer, now)
}

func readGranted(body []byte, issuer string, now time.Time) (granted, error) {
	var g granted
	var more struct {
		Expires json.RawMessage `json:"expires_in"` // a number, which some write as a string
		Scope   *string         `json:"scope"`
	}
	if json.Unmarshal(body, &g) != nil || json.Unmarshal(body, &more) != nil || g.Access == "" {
		return granted{}, fmt.Errorf("the token endpoint of %s answered with no access_token", issuer)
	}
	g.hasScopes = more.Scope != nil
	if text := strings.Trim(string(more.Expires), `"`); text != "" && text != "null" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || seconds < 0 {
			return granted{}, fmt.Errorf("the token endpoint of %s answered with an expires_in that is no number of seconds", issuer)
		}
		if seconds > 0 { // some say 0 for no end
			g.expires = now.Add(time.Duration(min(seconds, 10*365*24*3600)) * time.Second)
		}
	}
	return g, nil
}

// bearer refuses a token that must be used in another way than in the header alone.
func (g granted) bearer(issuer string) error {
	if !strings.EqualFold(g.Type, "Bearer") {
		return fmt.Errorf("the token endpoint of %s gave a token of the type %s; only Bearer is supported", issuer, quoted(g.Type))
	}
	return nil
}
