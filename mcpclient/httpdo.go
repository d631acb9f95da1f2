package mcpclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

// handler is what authorizes this client at a server, or nil.
func handler(s Server, o Options) auth.OAuthHandler {
	if o.Authorize == nil || hasAuthorization(s.Headers) {
		return nil
	}
	return o.Authorize(s)
}

func hasAuthorization(headers map[string]string) bool {
	for name := range headers {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return true
		}
	}
	return false
}

// do makes one HTTP request, with its redirects. A server that wants authorization gets it: for each of 401 and 403 once,
// by one for all that have been refused meanwhile. The caller closes the body.
func (r *remote) do(ctx context.Context, l letter) (*http.Response, error) {
	asked := map[int]bool{}
	for {
		since := r.authorized.now()
		resp, home, err := r.follow(ctx, l)
		if err != nil {
			return nil, err
		}
		status := resp.StatusCode
		if status != http.StatusUnauthorized && status != http.StatusForbidden {
			return resp, nil
		}
		if r.auth == nil || !home || asked[status] || l.method == http.MethodDelete {
			return nil, r.denied(resp)
		}
		asked[status] = true
		resp.Body = &bounded{Reader: io.LimitReader(resp.Body, maxRefusal), Closer: resp.Body}
		err = r.authorized.take(ctx, since, func() error {
			return r.conn.asking.ask(func() error { return r.auth.Authorize(ctx, resp.Request, resp) })
		})
		_ = resp.Body.Close() // Authorize has, if it ran
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, fmt.Errorf("server %s: %w: %w", r.name, ErrAuth, err)
		}
	}
}

// bounded is a body that ends early if it does not end by itself.
type bounded struct {
	io.Reader
	io.Closer
}

// denied is the error of a server that does not let this client in, and what can be done about it.
func (r *remote) denied(resp *http.Response) error {
	data := refusal(resp)
	_ = resp.Body.Close()
	advice := `put a token into its headers in the configuration, such as "Authorization": "Bearer …", or log in to it`
	switch {
	case resp.StatusCode == http.StatusForbidden:
		advice = "it refuses this, so the account or its token may lack a permission"
	case hasAuthorization(r.headers):
		advice = "it does not take the Authorization in its headers; put a token there that is still good"
	case r.auth != nil:
		advice = "it does not take the token that was got for it; log in again"
	}
	err := fmt.Errorf("server %s: %w (HTTP %d): %s", r.name, ErrAuth, resp.StatusCode, advice)
	if said := printable(string(data), 200); said != "" && resp.StatusCode == http.StatusForbidden {
		err = fmt.Errorf("%w; it says: %s", err, said)
	}
	return err
}

// maxHops bounds redirects.
const maxHops = 5

// errRedirect means that a redirect is not followed.
var errRedirect = errors.New("it redirects where this client does not go")

// follow makes a request and follows its redirects. Whatever the configuration has for this server, and its tokens, go to
// its own origin only; once a redirect has left that, they are gone for good. home says that none has. The caller closes
// the body.
func (r *remote) follow(ctx context.Context, l letter) (resp *http.Response, home bool, err error) {
	target, home := r.url, true
	if l.url != nil {
		target = l.url
	}
	for range maxHops {
		if home = home && sameOrigin(target, r.url); !home && l.method == http.MethodDelete {
			return nil, home, fmt.Errorf("server %s: %w", r.name, errRedirect)
		}
		if resp, err = r.once(ctx, l, target, home); err != nil {
			return nil, home, err
		}
		switch resp.StatusCode {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		default:
			return resp, home, nil
		}
		_ = resp.Body.Close() // what it says does not matter
		next, err := resp.Location()
		switch {
		case err != nil || next.Host == "" || next.Scheme != "http" && next.Scheme != "https":
			return nil, home, fmt.Errorf("server %s: %w: nowhere", r.name, errRedirect)
		case target.Scheme == "https" && next.Scheme == "http":
			return nil, home, fmt.Errorf("server %s: %w: from https to http, where others could read along", r.name, errRedirect)
		}
		next.Fragment, next.User = "", nil
		target = next
	}
	return nil, home, fmt.Errorf("server %s: %w: round and round", r.name, errRedirect)
}

// once makes one HTTP request. Errors do not show the URL, which may hold a secret.
func (r *remote) once(ctx context.Context, l letter, target *url.URL, home bool) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, l.method, target.String(), bytes.NewReader(l.body))
	if err != nil {
		return nil, fmt.Errorf("server %s: its url is none", r.name)
	}
	req.Header.Set("User-Agent", r.agent)
	if home {
		if err := r.introduce(ctx, req); err != nil {
			return nil, err
		}
	}
	for name, value := range l.header {
		req.Header.Set(name, value)
	}
	resp, err := r.client.Do(req)
	if err == nil {
		return resp, nil
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if unsent(err) {
		return nil, fmt.Errorf("server %s: %w: %w", r.name, ErrUnreachable, err)
	}
	return nil, err
}

// introduce sets the headers of the configuration and the token, if there is one.
func (r *remote) introduce(ctx context.Context, req *http.Request) error {
	for name, value := range r.headers {
		if http.CanonicalHeaderKey(name) == "Host" {
			req.Host = value
			continue
		}
		req.Header.Set(name, value)
	}
	if r.auth == nil {
		return nil
	}
	source, err := r.auth.TokenSource(ctx)
	if err != nil {
		return fmt.Errorf("server %s: %w: %w", r.name, ErrAuth, err)
	}
	if source == nil {
		return nil
	}
	token, err := source.Token()
	if err != nil {
		// It cannot be had again, so the server will say what it wants instead.
		r.log.Debug("token not usable", "server", r.name, "err", err)
		return nil
	}
	token.SetAuthHeader(req)
	return nil
}

// unsent says whether an error means that the server cannot have seen the request.
func unsent(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "dial" || op.Op == "proxyconnect") {
		return true
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	_, ok := errors.AsType[tls.RecordHeaderError](err)
	return ok
}

// sameOrigin compares scheme, host and port.
func sameOrigin(a, b *url.URL) bool {
	port := func(u *url.URL) string {
		switch {
		case u.Port() != "":
			return u.Port()
		case u.Scheme == "https":
			return "443"
		}
		return "80"
	}
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}
