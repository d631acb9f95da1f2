package llm_test

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/llm"
	"github.com/cartagent/cartagent/loop"
)

func provider() llm.Provider {
	return llm.Provider{Name: "Acme", KeyVar: "ACME_API_KEY", URLVar: "ACME_BASE_URL", Key: "k-a", Model: "acme-1"}
}

func TestFault(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		status int
		body   string
		want   llm.Fault
	}{
		"401": {401, `{"error":{"type":"authentication_error","message":"invalid x-api-key"}}`, llm.Fault{Failure: loop.Failure{
			Kind: loop.FailAuth, Message: "Acme refused the key in ACME_API_KEY (401: invalid x-api-key): set one that is valid.",
		}}},
		"C069 the key is echoed": {401, `{"error":{"message":"Incorrect API key provided: k-a. See k-a, sk-ab****yz."}}`, llm.Fault{Failure: loop.Failure{
			Kind: loop.FailAuth, Message: "Acme refused the key in ACME_API_KEY (401: Incorrect API key provided: ***. See ***, ***): set one that is valid.",
		}}},
		"403": {403, `{"error":"no access"}`, llm.Fault{Failure: loop.Failure{
			Kind: loop.FailAuth, Message: "Acme does not let the key in ACME_API_KEY do this (403: no access): use another key or another model.",
		}}},
		"429": {429, `{"message":"slow down"}`, llm.Fault{Retry: true, Failure: loop.Failure{
			Kind: loop.FailLimit, Message: "Acme wants fewer requests (429: slow down): wait a little and try again.",
		}}},
		"429 without credit": {429, `{"error":{"code":"insufficient_quota","message":"You exceeded your quota"}}`, llm.Fault{Failure: loop.Failure{
			Kind: loop.FailLimit, Message: "The account at Acme has no credit left (429: You exceeded your quota): add some, or use another key in ACME_API_KEY.",
		}}},
		"400 too long": {400, `{"error":{"type":"invalid_request_error","message":"prompt is too long: 2 > 1"}}`, llm.Fault{Failure: loop.Failure{
			Kind: loop.FailTooLong, Message: "The conversation no longer fits the model's window (400: prompt is too long: 2 > 1).",
		}}},
		"400 too long by code": {400, `{"error":{"code":"context_length_exceeded"}}`, llm.Fault{Failure: loop.Failure{
			Kind: loop.FailTooLong, Message: "The conversation no longer fits the model's window (400).",
		}}},
		"400": {400, `{"detail":[{"msg":"bad"}]}`, llm.Fault{Failure: loop.Failure{
			Kind: loop.FailRequest, Message: `Acme refused the request (400: [{"msg":"bad"}]).`,
		}}},
		"404": {404, `{"error":{"type":"not_found_error","message":"model: acme-1"}}`, llm.Fault{Failure: loop.Failure{
			Kind: loop.FailRequest, Message: "Acme does not know the model acme-1 or the address (404: model: acme-1): check the model's name and ACME_BASE_URL.",
		}}},
		"529": {529, `{"error":{"type":"overloaded_error","message":"Overloaded"}}`, llm.Fault{Retry: true, Failure: loop.Failure{
			Kind: loop.FailOverload, Message: "Acme has trouble of its own (529: Overloaded): try again later.",
		}}},
		"502 page": {502, "<html><h1>Bad gateway</h1></html>", llm.Fault{Retry: true, Failure: loop.Failure{
			Kind: loop.FailOverload, Message: "Acme has trouble of its own (502: a web page instead of an answer): try again later.",
		}}},
		"500 empty": {500, "", llm.Fault{Retry: true, Failure: loop.Failure{
			Kind: loop.FailOverload, Message: "Acme has trouble of its own (500): try again later.",
		}}},
		"list": {400, `[{"error":{"message":"bad\nthing"}}]`, llm.Fault{Failure: loop.Failure{
			Kind: loop.FailRequest, Message: "Acme refused the request (400: bad thing).",
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := provider().Fault(llm.ParseTrouble(c.status, http.Header{}, []byte(c.body), now))
			assert.Equal(t, c.want, *got)
			var f *loop.Failure
			assert.ErrorAs(t, got, &f)
		})
	}
}

func TestFaultInStream(t *testing.T) {
	t.Parallel()
	f := provider().Fault(llm.InStream([]byte(`{"code":502,"message":"up"}`)))
	assert.Equal(t, loop.FailOverload, f.Failure.Kind)
	assert.True(t, f.Retry)
	f = provider().Fault(llm.InStream([]byte(`"it broke"`)))
	assert.Equal(t, "Acme broke the reply off with an error (it broke): try again.", f.Failure.Message)
	f = provider().Fault(llm.InStream([]byte(`{"type":"invalid_request_error","message":"no"}`)))
	assert.Equal(t, &llm.Fault{Failure: loop.Failure{Kind: loop.FailRequest, Message: "Acme refused the request (no)."}}, f)
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		key, value string
		want       time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.5", 500 * time.Millisecond},
		{"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"Retry-After", now.Add(time.Minute).Format(http.TimeFormat), time.Minute},
		{"Retry-After", now.Add(-time.Minute).Format(http.TimeFormat), 0},
		{"Retry-After", "-3", 0},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "1e300", 0},
		{"Retry-After", "soon", 0},
	} {
		h := http.Header{}
		h.Set(c.key, c.value)
		assert.Equal(t, c.want, llm.ParseTrouble(429, h, nil, now).After, c.value)
	}
}

func TestCleanBoundsText(t *testing.T) {
	t.Parallel()
	p := provider()
	assert.Equal(t, strings.Repeat("é", 300)+"…", p.Clean(strings.Repeat("é", 1000)))
	assert.Equal(t, "a *** b", p.Clean("a Bearer abcdef123456 b"))
	assert.Equal(t, `m:"it is:***"`, p.Clean(`m:"it is:\nsk-abcdef0123456789"`), "also behind an escape of JSON")
	p.Key = "a+b/c/d+e"
	assert.Equal(t, "x *** y ***", p.Clean("x a+b/c/d+e y a%2Bb%2Fc%2Fd%2Be"))
	p.Key = ""
	assert.Equal(t, "abc", p.Clean("abc"))
}

func TestNoAnswer(t *testing.T) {
	t.Parallel()
	wrap := func(err error) error { return &url.Error{Op: "Post", URL: "https://u:pw@host/x", Err: err} }
	for name, c := range map[string]struct {
		err   error
		want  string
		retry bool
	}{
		"refused": {
			wrap(&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}),
			"Nothing answers at the address of Acme (connection refused): check ACME_BASE_URL.", false,
		},
		"reset": {
			wrap(&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}),
			"The connection to Acme broke (connection reset by peer).", true,
		},
		"no host": {
			wrap(&net.DNSError{Err: "no such host", Name: "acme.invalid", IsNotFound: true}),
			"There is no host acme.invalid: check the network and ACME_BASE_URL.", false,
		},
		"other": {fmt.Errorf("doing: %w", errors.New("odd k-a")), "The connection to Acme broke (odd ***).", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := provider().NoAnswer(c.err)
			assert.Equal(t, &llm.Fault{
				Failure: loop.Failure{Kind: loop.FailNetwork, Message: c.want}, Retry: c.retry,
			}, got)
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	p := provider()
	for _, ok := range []string{"", "https://host", "http://127.0.0.1:1/v1"} {
		require.NoError(t, p.Check(ok))
	}
	for _, bad := range []string{"host", "host:80/x", "ftp://host", "http://", "::"} {
		require.EqualError(t, p.Check(bad), "ACME_BASE_URL is no address of a server; it has the form https://host/path.")
	}
	p.Key = "k a"
	assert.EqualError(t, p.Check(""),
		"The key in ACME_API_KEY has spaces or other characters in it that no key has: set it anew.")
}

func TestCleanOfMuchText(t *testing.T) {
	t.Parallel()
	p := provider()
	p.Key = "sekret-of-some-length"
	text := strings.Repeat(" ", 64<<10-6) + p.Key // the bound falls into the key
	assert.Empty(t, p.Clean(text))
	nested := strings.Repeat(`{"error":`, 5000) + `"deep"` + strings.Repeat("}", 5000)
	assert.Equal(t, "Acme broke the reply off with an error: try again.", p.Fault(llm.InStream([]byte(nested))).Failure.Message)
}
