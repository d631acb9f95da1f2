package oauth

import (
	"net/http"
	"net/url"
)

// Confine keeps the token for a server from other origins: requests elsewhere, such as those that a redirect leads to,
// go through base without it. (The standard library would send it along to another port or a subdomain.)
func Confine(base http.RoundTripper, server string) (http.RoundTripper, error) {
	address, err := Canonical(server)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	return confined{base, origin(u)}, nil
}

type confined struct {
	base   http.RoundTripper
	origin string
}

// RoundTrip sends the request on, without the token where it is none of the receiver's business.
func (c confined) RoundTrip(req *http.Request) (*http.Response, error) {
	if origin(req.URL) != c.origin && len(req.Header.Values("Authorization")) > 0 {
		req = req.Clone(req.Context())
		req.Header.Del("Authorization")
	}
	return c.base.RoundTrip(req)
}
