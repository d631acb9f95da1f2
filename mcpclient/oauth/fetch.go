package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

const (
	fetchLimit   = 1 << 20 // bytes of an answer
	fetchTimeout = 30 * time.Second
	redirects    = 3
)

// fetcher makes the requests that authorizing takes, other than those to the MCP server. A server decides where many of
// them go, so: https only, and addresses of the local network only where something that was configured is there itself.
type fetcher struct {
	loopback bool // plain http to loopback is fine
	direct   *http.Transport
	proxied  *http.Transport // the checks of direct would be of the proxy's address
}

// newFetcher makes the fetcher for a server. What the person has configured, the server and the issuers, may be on the
// local network, and then all of it may; whether it is may take a resolver. Connections are not kept: these requests
// are rare.
func newFetcher(ctx context.Context, base *http.Transport, configured ...string) *fetcher {
	guarded := base == nil || base.DialContext == nil && base.DialTLSContext == nil // else the caller looks to that
	if base == nil {
		base, _ = http.DefaultTransport.(*http.Transport)
	}
	if base == nil {
		base = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	f := &fetcher{direct: base.Clone(), proxied: base.Clone()}
	f.direct.DisableKeepAlives, f.proxied.DisableKeepAlives = true, true
	near := false
	for _, address := range configured {
		if u, err := url.Parse(address); err == nil && u.Host != "" {
			f.loopback = f.loopback || onLoopback(u.Hostname())
			near = near || local(ctx, u.Hostname())
		}
	}
	if guarded && !near {
		f.direct.DialContext = (&net.Dialer{Timeout: fetchTimeout, Control: publicOnly}).DialContext
	}
	return f
}

// local says whether a host is on this machine or its network.
func local(ctx context.Context, host string) bool {
	if onLoopback(host) {
		return true
	}
	ips, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false
	}
	for _, ip := range ips {
		if !public(ip) {
			return true
		}
	}
	return false
}

// publicOnly refuses a connection just before it is made, when the name has become an address for good.
func publicOnly(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !public(at.Addr()) {
		return untrusted("%s is an address of the local network, and the MCP server is not", at.Addr())
	}
	return nil
}

// check refuses an address that credentials must not be sent to and metadata must not come from.
func (f *fetcher) check(what, address string) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return nil, untrusted("the %s %s is not an address", what, quoted(address))
	case u.User != nil:
		return nil, untrusted("the %s has a user in its address", what)
	case u.Scheme == "https" || u.Scheme == "http" && f.loopback && onLoopback(u.Hostname()):
		return u, nil
	}
	return nil, untrusted("the %s %s must begin with https://", what, quoted(address))
}

// get fetches a JSON document. A status of 4xx, or a page for people, means that there is none: found is false.
func (f *fetcher) get(ctx context.Context, what, address string, into any) (found bool, err error) {
	a, err := f.do(ctx, call{what: what, method: http.MethodGet, address: address})
	switch {
	case err != nil:
		return false, err
	case a.status >= 400 && a.status < 500:
		return false, nil
	case a.status != http.StatusOK:
		return false, fmt.Errorf("fetching the %s: status %d from %s", what, a.status, address)
	}
	if kind, _, _ := mime.ParseMediaType(a.kind); kind == "text/html" {
		return false, nil // the page that some sites have for every address
	}
	if json.Unmarshal(a.body, into) != nil {
		return false, fmt.Errorf("the %s at %s is not the JSON object that it must be", what, address)
	}
	return true, nil
}

// call is a request to make; what is the name of its addressee in errors.
type call struct {
	what, method, address string
	kind                  string // of the body
	user, password        string // for the Basic scheme, when user is not empty
	body                  string
}

type answer struct {
	body   []byte
	status int
	kind   string
}

// do makes one request. Errors hold its address and never what was sent or came back.
func (f *fetcher) do(ctx context.Context, c call) (answer, error) {
	u, err := f.check(c.what, c.address)
	if err != nil {
		return answer{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, c.method, u.String(), strings.NewReader(c.body))
	if err != nil {
		return answer{}, fmt.Errorf("the %s %s is not an address", c.what, quoted(c.address))
	}
	req.Header.Set("Accept", "application/json")
	if c.kind != "" {
		req.Header.Set("Content-Type", c.kind)
	}
	if c.user != "" {
		req.SetBasicAuth(c.user, c.password)
	}
	resp, err := f.client(c).Do(req)
	if err != nil {
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err // without the whole address
		}
		return answer{}, fmt.Errorf("reaching the %s on %s: %w", c.what, u.Host, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(resp.Body, fetchLimit+1))
	if err != nil {
		return answer{}, fmt.Errorf("reading the answer of the %s on %s: %w", c.what, u.Host, err)
	}
	if len(data) > fetchLimit {
		return answer{}, fmt.Errorf("the answer of the %s on %s is longer than 1 MiB", c.what, u.Host)
	}
	return answer{data, resp.StatusCode, resp.Header.Get("Content-Type")}, nil
}

// client follows redirects of documents only, and each by the same rules as the first address.
func (f *fetcher) client(c call) *http.Client {
	return &http.Client{Transport: f, CheckRedirect: func(next *http.Request, via []*http.Request) error {
		if c.method != http.MethodGet {
			return http.ErrUseLastResponse // what was sent is for this endpoint alone
		}
		if len(via) > redirects {
			return untrusted("the %s redirects too often", c.what)
		}
		_, err := f.check(c.what, next.URL.String())
		return err
	}}
}

// RoundTrip makes one request, past the checks of direct where a proxy is dialled in place of the server.
func (f *fetcher) RoundTrip(req *http.Request) (*http.Response, error) {
	if f.direct.Proxy != nil {
		if proxy, _ := f.direct.Proxy(req); proxy != nil { // an error is told by the trip itself
			return f.proxied.RoundTrip(req)
		}
	}
	return f.direct.RoundTrip(req)
}
