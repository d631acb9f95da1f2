package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cartagent/cartagent/loop"
)

// Provider is what the sentences of failures name.
type Provider struct {
	Name   string // the company, or what stands in for it
	KeyVar string // the variable that holds the key
	URLVar string // the variable that holds the address
	Key    string // never shown
	Model  string
}

// Trouble is how a provider says no: over HTTP, or (with Status 0) inside a stream.
type Trouble struct {
	Status int
	Type   string
	Code   string
	Text   string
	After  time.Duration // what Retry-After asks for
}

// Fault is a failure, and whether asking again may help.
type Fault struct {
	Failure loop.Failure
	Retry   bool
	After   time.Duration // not before this has passed; zero: as the caller likes
}

// Error returns the failure's sentence.
func (f *Fault) Error() string { return f.Failure.Message }

// Unwrap returns the *loop.Failure.
func (f *Fault) Unwrap() error { return &f.Failure }

// NameOf is what sentences call the provider: by its name, or by the host of another address.
func NameOf(name, base string) string {
	u, err := url.Parse(base)
	if base == "" || err != nil || u.Host == "" {
		return name
	}
	return u.Host
}

// Origin names where a thought came from: the kind of provider and, if it is not the provider's own, the address,
// without what an address may hold in secrets.
func Origin(kind, base string) string {
	u, err := url.Parse(base)
	if base == "" || err != nil {
		return kind
	}
	return kind + " " + u.Scheme + "://" + u.Host + u.Path
}

// keyLike matches what looks like a key of one of the well-known kinds, whole or shortened, also right behind an escape
// in JSON.
var keyLike = regexp.MustCompile(`(?:\b|\\[bfnrt])(?:sk|pk|rk|gsk|xai|key)-[A-Za-z0-9_*.…-]{4,}|(?:\b|\\[bfnrt])AIza[A-Za-z0-9_-]{10,}|(?i:bearer )[A-Za-z0-9._~+/=*-]{6,}`)

// Clean puts a provider's text into a sentence: on one line, not too long, and without the key, which some echo.
func (p Provider) Clean(text string) string {
	if len(text) > mostErrors {
		text = text[:mostErrors]
		text = text[:strings.LastIndexAny(text, " \t\r\n\"")+1] // half a word may be half a key
	}
	if len(p.Key) >= 8 { // a short one would break up what keyLike finds
		text = strings.NewReplacer(p.Key, "***", url.QueryEscape(p.Key), "***").Replace(text)
	}
	text = keyLike.ReplaceAllString(text, "***")
	if p.Key != "" {
		text = strings.ReplaceAll(text, p.Key, "***")
	}
	text = strings.Join(strings.Fields(text), " ")
	const most = 300
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strings.TrimRight(text, ". ")
}

func newFault(kind loop.FailureKind, retry bool, format string, args ...any) *Fault {
	return &Fault{Failure: loop.Failure{Kind: kind, Message: fmt.Sprintf(format, args...)}, Retry: retry}
}

// MissingKey is the failure to configure a key.
func (p Provider) MissingKey() *loop.Failure {
	return &loop.Failure{
		Kind:    loop.FailAuth,
		Message: p.Name + " needs a key: set " + p.KeyVar + ", or choose another model.",
	}
}

// Check says what is wrong with the key and the address, if anything is. An empty address is the provider's own.
func (p Provider) Check(base string) error {
	if strings.ContainsFunc(p.Key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return &loop.Failure{
			Kind:    loop.FailAuth,
			Message: "The key in " + p.KeyVar + " has spaces or other characters in it that no key has: set it anew.",
		}
	}
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return &loop.Failure{
			Kind:    loop.FailRequest,
			Message: p.URLVar + " is no address of a server; it has the form https://host/path.",
		}
	}
	return nil
}

// Fault sorts what the provider said.
func (p Provider) Fault(t Trouble) *Fault {
	if t.Status < 400 {
		if n, err := strconv.Atoi(t.Code); err == nil && n >= 400 && n < 600 {
			t.Status = n
		}
	}
	f := p.sort(t, p.said(t))
	f.After = t.After
	return f
}

// said is what the provider said, in brackets.
func (p Provider) said(t Trouble) string {
	var parts []string
	if t.Status >= 400 {
		parts = append(parts, strconv.Itoa(t.Status))
	}
	if text := p.Clean(t.Text); text != "" {
		parts = append(parts, text)
	} else if t.Type != "" {
		parts = append(parts, p.Clean(t.Type))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ": ") + ")"
}

func (p Provider) sort(t Trouble, said string) *Fault {
	has := func(names ...string) bool {
		for _, n := range names {
			if t.Type == n || t.Code == n {
				return true
			}
		}
		return false
	}
	switch {
	case t.Status == http.StatusUnauthorized || has("authentication_error", "invalid_api_key"):
		if p.Key == "" {
			return newFault(loop.FailAuth, false, "%s wants a key%s: set %s.", p.Name, said, p.KeyVar)
		}
		return newFault(loop.FailAuth, false, "%s refused the key in %s%s: set one that is valid.", p.Name, p.KeyVar, said)
	case t.Status == http.StatusForbidden || has("permission_error"):
		return newFault(loop.FailAuth, false, "%s does not let the key in %s do this%s: use another key or another model.",
			p.Name, p.KeyVar, said)
	case t.Status == http.StatusPaymentRequired || has("insufficient_quota", "billing_error"):
		return newFault(loop.FailLimit, false, "The account at %s has no credit left%s: add some, or use another key in %s.",
			p.Name, said, p.KeyVar)
	case tooLong(t):
		return newFault(loop.FailTooLong, false, "The conversation no longer fits the model's window%s.", said)
	case t.Status == http.StatusTooManyRequests || has("rate_limit_error", "rate_limit_exceeded", "rate_limit"):
		return newFault(loop.FailLimit, true, "%s wants fewer requests%s: wait a little and try again.", p.Name, said)
	case t.Status == http.StatusNotFound || has("not_found_error", "model_not_found"):
		return newFault(loop.FailRequest, false, "%s does not know the model %s or the address%s: check the model's name and %s.",
			p.Name, p.Model, said, p.URLVar)
	case t.Status >= 500, t.Status == http.StatusRequestTimeout, t.Status == http.StatusConflict,
		has("overloaded_error", "api_error", "timeout_error", "server_error"):
		return newFault(loop.FailOverload, true, "%s has trouble of its own%s: try again later.", p.Name, said)
	case t.Status >= 300 && t.Status < 400:
		return newFault(loop.FailRequest, false, "%s has moved elsewhere (%d): check %s.", p.Name, t.Status, p.URLVar)
	case t.Status >= 400 || has("invalid_request_error"):
		return newFault(loop.FailRequest, false, "%s refused the request%s.", p.Name, said)
	}
	return newFault(loop.FailOverload, true, "%s broke the reply off with an error%s: try again.", p.Name, said)
}

// tooLong recognizes a conversation that does not fit. Only some providers have a code for it; the phrases are those
// of Anthropic, OpenAI, vLLM, llama.cpp and their like, and count for refused requests only.
func tooLong(t Trouble) bool {
	if t.Code == "context_length_exceeded" || t.Type == "exceed_context_size_error" ||
		t.Status == http.StatusRequestEntityTooLarge || t.Type == "request_too_large" {
		return true
	}
	if t.Status != http.StatusBadRequest && t.Type != "invalid_request_error" {
		return false
	}
	text := strings.ToLower(t.Text)
	for _, phrase := range []string{
		"prompt is too long", "maximum context length", "exceed context limit", "context length exceeded",
		"exceeds the context window", "exceeds the available context size", "context window", "input is too long",
	} {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

// ParseTrouble reads the body of an error, in whatever form it comes.
func ParseTrouble(status int, h http.Header, body []byte, now time.Time) Trouble {
	t := troubleIn(body, 4)
	t.Status = status
	t.After = retryAfter(h, now)
	return t
}

// troubleIn finds the error in a JSON value: {"error":{…}}, {"error":"…"}, {"message":"…"}, {"detail":…}, a list of
// those; or takes plain text as it is. It looks as deep as depth.
func troubleIn(body []byte, depth int) Trouble {
	trimmed := strings.TrimSpace(string(body))
	if depth > 0 && strings.HasPrefix(trimmed, "[") {
		var list []json.RawMessage
		if Lenient(body, &list) == nil && len(list) > 0 {
			return troubleIn(list[0], depth-1)
		}
	}
	var v struct {
		Error   json.RawMessage `json:"error"`
		Message Str             `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Type    Str             `json:"type"`
		Code    json.RawMessage `json:"code"`
	}
	switch {
	case strings.HasPrefix(trimmed, "<"):
		return Trouble{Text: "a web page instead of an answer"}
	case !strings.HasPrefix(trimmed, "{") || Lenient(body, &v) != nil:
		return Trouble{Text: trimmed}
	case depth > 0 && len(v.Error) > 0 && v.Error[0] == '{':
		return troubleIn(v.Error, depth-1)
	case len(v.Error) > 0 && v.Error[0] == '"':
		return Trouble{Text: unquote(v.Error)}
	}
	text := string(v.Message)
	if text == "" {
		text = unquote(v.Detail)
	}
	return Trouble{Type: string(v.Type), Code: unquote(v.Code), Text: text}
}

// InStream reads an error that came inside a stream, the value of its key "error".
func InStream(value json.RawMessage) Trouble {
	t := troubleIn(value, 4)
	if len(value) > 0 && value[0] == '"' {
		t.Text = unquote(value)
	}
	return t
}

func unquote(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// NoAnswer sorts the error of a request that got no answer, or of a stream that broke.
func (p Provider) NoAnswer(err error) *Fault {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	why := p.Clean(innermost(err))
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return newFault(loop.FailNetwork, false, "There is no host %s: check the network and %s.", dns.Name, p.URLVar)
	case errors.Is(err, syscall.ECONNREFUSED):
		return newFault(loop.FailNetwork, false, "Nothing answers at the address of %s (connection refused): check %s.",
			p.Name, p.URLVar)
	case strings.Contains(why, "certificate"):
		return newFault(loop.FailNetwork, false, "The connection to %s is not trusted (%s).", p.Name, why)
	case errors.Is(err, ErrEventTooLong):
		return newFault(loop.FailRequest, false, "%s sent more than can be read: %s.", p.Name, why)
	case errors.As(err, &timeout) && timeout.Timeout() && !errors.Is(err, context.Canceled):
		return newFault(loop.FailNetwork, true, "%s did not answer in time.", p.Name)
	}
	return newFault(loop.FailNetwork, true, "The connection to %s broke (%s).", p.Name, why)
}

// innermost is the text of the last error in the chain: the others name addresses.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
