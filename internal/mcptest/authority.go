package mcptest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
)

func (s *Shop) resource(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"resource": s.URL, "authorization_servers": []string{s.base}})
}

func (s *Shop) metadata(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer": s.base, "authorization_endpoint": s.base + "/authorize", "token_endpoint": s.base + "/token",
		"registration_endpoint": s.base + "/register", "response_types_supported": []string{"code"},
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
	})
}

func (s *Shop) register(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Redirects []string `json:"redirect_uris"`
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || len(body.Redirects) != 1 {
		http.Error(w, "one redirect address is wanted", http.StatusBadRequest)
		return
	}
	id := "client-" + rand.Text()
	s.mu.Lock()
	s.redirects[id] = body.Redirects[0]
	s.seen.Clients++
	s.mu.Unlock()
	writeJSON(w, http.StatusCreated, map[string]any{
		"client_id": id, "redirect_uris": body.Redirects, "token_endpoint_auth_method": "none",
	})
}

// page is where a person would consent.
func (s *Shop) page(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	to, known := s.redirects[q.Get("client_id")]
	if !known || to != q.Get("redirect_uri") || q.Get("response_type") != "code" || q.Get("resource") != s.URL {
		http.Error(w, "this is no request of a client that is registered here", http.StatusBadRequest)
		return
	}
	s.seen.Pages++
	code := "code-" + rand.Text()
	s.codes[code] = q
	http.Redirect(w, r, to+"?"+url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {s.base}}.Encode(), http.StatusFound)
}

func (s *Shop) token(w http.ResponseWriter, r *http.Request) {
	if r.ParseForm() != nil {
		http.Error(w, "no form", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	form := r.PostForm
	good := false
	switch form.Get("grant_type") {
	case "authorization_code":
		if good = s.redeems(form); good {
			s.seen.Codes++
		}
	case "refresh_token": // it is good once, and the tokens before it end
		if good = s.refresh[form.Get("refresh_token")] && form.Get("resource") == s.URL; good {
			s.seen.Renewals++
			clear(s.access)
		}
		delete(s.refresh, form.Get("refresh_token"))
	}
	if !good {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	access, refresh := "access-"+rand.Text(), "refresh-"+rand.Text()
	s.access[access], s.refresh[refresh] = true, true
	writeJSON(w, http.StatusOK, map[string]any{
		"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": s.life,
	})
}

// redeems is whether the form has a code that is good, and what must come with it. The caller holds mu.
func (s *Shop) redeems(form url.Values) bool {
	asked, known := s.codes[form.Get("code")]
	delete(s.codes, form.Get("code"))
	sum := sha256.Sum256([]byte(form.Get("code_verifier")))
	return known && asked.Get("code_challenge_method") == "S256" &&
		asked.Get("code_challenge") == base64.RawURLEncoding.EncodeToString(sum[:]) &&
		asked.Get("client_id") == form.Get("client_id") && asked.Get("redirect_uri") == form.Get("redirect_uri") &&
		form.Get("resource") == s.URL
}
