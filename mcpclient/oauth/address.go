package oauth

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// Canonical is the address of a server as tokens are bound to it: scheme and host in small letters, no default port, no
// fragment, no user. The rest stays as it is.
func Canonical(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return "", fmt.Errorf("%s is not the address of a server: it must be like https://host/path", quoted(server))
	}
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if port := u.Port(); port == "443" && u.Scheme == "https" || port == "80" && u.Scheme == "http" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	return u.String(), nil
}

// origin is scheme, host and port of an address, to compare.
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme + "://" + u.Hostname() + ":" + port)
}

// sameResource compares two resource identifiers as RFC 9728 wants it, as strings; only an empty path and "/" are the
// same, as they are in a request.
func sameResource(a, b string) bool { return slashed(a) == slashed(b) }

func slashed(address string) string {
	if u, err := url.Parse(address); err == nil && u.Path == "" && u.Host != "" && u.Opaque == "" {
		u.Path = "/"
		return u.String()
	}
	return address
}

// onLoopback says whether a host names this machine by its loopback interface, without asking a resolver.
func onLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// public says whether an address belongs to the public internet.
func public(ip netip.Addr) bool {
	ip = ip.Unmap()
	shared := netip.MustParsePrefix("100.64.0.0/10") // RFC 6598
	return ip.IsGlobalUnicast() && !ip.IsPrivate() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && !shared.Contains(ip)
}
