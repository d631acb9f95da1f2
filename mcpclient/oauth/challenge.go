package oauth

import (
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// challenge is what a server wants before it answers.
type challenge struct {
	status   int
	metadata string   // the address of the protected resource metadata; empty where none was named
	scopes   []string // nil where none were named
	err      string   // such as insufficient_scope
	detail   string   // the server's words
}

// readChallenge takes from a 401 or 403 what it says. A header that cannot be read counts as none.
func readChallenge(resp *http.Response) challenge {
	c := challenge{status: resp.StatusCode}
	for _, header := range resp.Header.Values("WWW-Authenticate") {
		parsed, err := oauthex.ParseWWWAuthenticate([]string{header})
		if err != nil {
			continue
		}
		for _, p := range parsed {
			if p.Scheme != "bearer" {
				continue
			}
			if c.metadata == "" {
				c.metadata = p.Params["resource_metadata"]
			}
			if c.scopes == nil {
				c.scopes = strings.Fields(p.Params["scope"])
			}
			if c.err == "" {
				c.err, c.detail = p.Params["error"], p.Params["error_description"]
			}
		}
	}
	return c
}

// stepUp says whether the token is good and only has too few scopes.
func (c challenge) stepUp() bool {
	return c.status == http.StatusForbidden && c.err == "insufficient_scope"
}

// union joins scopes, each once, in their order.
func union(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		for _, s := range list {
			if !slices.Contains(all, s) {
				all = append(all, s)
			}
		}
	}
	return all
}

// covers says whether all that is wanted is had.
func covers(have, want []string) bool {
	return !slices.ContainsFunc(want, func(s string) bool { return !slices.Contains(have, s) })
}
