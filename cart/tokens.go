package cart

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
)

const (
	metadataPath = "/.well-known/oauth-protected-resource"
	maxToken     = 8 << 10 // characters, which leaves room among the headers
)

// Tokens are the bearer tokens that open the cart, and whose they are. Only their digests are held.
type Tokens struct {
	owners  []string
	digests [][sha256.Size]byte
}

// ParseTokens reads a token file: a line for each, `name token`. Blank lines and those that begin with # are none. A name
// may have several tokens, so that one can take over from another. The error names every line that is wrong, and never
// what is in it.
func ParseTokens(r io.Reader) (*Tokens, error) {
	data, err := readText(r)
	if err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	visible := regexp.MustCompile(`^[A-Za-z0-9\-._~+/]+=*$`) // RFC 6750, section 2.1
	var t Tokens
	var problems []error
	known := map[[sha256.Size]byte]bool{}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) != 2 {
			problems = append(problems, fmt.Errorf("line %d: it must be a name and a token with a space between", n))
			continue
		}
		digest := sha256.Sum256([]byte(words[1]))
		switch {
		case len(words[1]) > maxToken:
			problems = append(problems, fmt.Errorf("line %d: a token has at most %d characters", n, maxToken))
		case !visible.MatchString(words[1]):
			problems = append(problems, fmt.Errorf("line %d: a token has letters, digits and -._~+/ only", n))
		case known[digest]:
			problems = append(problems, fmt.Errorf("line %d: this token was given before", n))
		}
		known[digest] = true
		t.owners, t.digests = append(t.owners, words[0]), append(t.digests, digest)
	}
	if len(problems) == 0 && len(t.owners) == 0 {
		problems = append(problems, errors.New("there is no token in it"))
	}
	if err := errors.Join(problems...); err != nil {
		return nil, fmt.Errorf("reading the tokens: %w", err)
	}
	return &t, nil
}

// owner is whose token it is. How long it takes tells nothing of the tokens there are.
func (t *Tokens) owner(token string) (string, bool) {
	digest := sha256.Sum256([]byte(token))
	found := -1
	for i := range t.digests {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(digest[:], t.digests[i][:]), i, found)
	}
	if found < 0 {
		return "", false
	}
	return t.owners[found], true
}

// caller is who sent a request. Without a token that is known it is answered here.
func (s *httpShell) caller(w http.ResponseWriter, r *http.Request) (string, bool) {
	if s.h.Tokens == nil {
		return s.o.Caller, true
	}
	challenge := fmt.Sprintf("Bearer resource_metadata=%q", "http://"+r.Host+metadataPath+endpoint)
	why := "send Authorization: Bearer and a token of this cart"
	if token, given := bearer(r.Header); given {
		if owner, known := s.h.Tokens.owner(token); known {
			return owner, true
		}
		why = "the token is not one of this cart"
		challenge += `, error="invalid_token", error_description="` + why + `"`
	}
	w.Header().Set("WWW-Authenticate", challenge)
	s.refuse(w, http.StatusUnauthorized, nil, fail(codeInvalidRequest, "Unauthorized: %s", why))
	return "", false
}

// bearer is the token of the one Authorization header there may be.
func bearer(h http.Header) (string, bool) {
	values := h.Values("Authorization")
	if len(values) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	return strings.TrimSpace(token), strings.EqualFold(scheme, "Bearer")
}

// metadata describes the cart as an OAuth resource (RFC 9728). It names no authorization server: its tokens are handed out
// by whoever runs it.
func (s *httpShell) metadata(w http.ResponseWriter, r *http.Request) {
	s.send(w, http.StatusOK, body{
		"resource":                 "http://" + r.Host + endpoint,
		"resource_name":            serverTitle,
		"bearer_methods_supported": []string{"header"},
	})
}
