package oauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

var errLate = errors.New("nobody came back from the page in time")

// listener waits on loopback for the one answer of one authorization page.
type listener struct {
	net          net.Listener
	redirect     string // the whole address
	host, path   string
	state        string
	issuer       string
	issuerWanted bool // the server says that its answers always name it

	mu      sync.Mutex
	settled bool
	answers chan reply
}

// reply is what a page sent the person back with.
type reply struct {
	code string
	err  error
}

// listen opens the port of a redirect address, a free one where it has none.
func listen(ctx context.Context, redirect *url.URL) (*listener, error) {
	port := redirect.Port()
	if port == "" {
		port = "0"
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return nil, fmt.Errorf("waiting for the answer of the authorization page: %w", err)
	}
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	at := url.URL{Scheme: "http", Host: net.JoinHostPort(redirect.Hostname(), port), Path: redirect.Path}
	return &listener{net: l, redirect: at.String(), host: at.Host, path: at.Path, answers: make(chan reply, 1)}, nil
}

func (l *listener) close() { _ = l.net.Close() }

// receive has the page opened and waits for its answer. Nothing is left of it when it returns.
func (l *listener) receive(ctx context.Context, wait time.Duration, open func(context.Context) error) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errLate)
	server := &http.Server{Handler: l, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	opened := make(chan error, 1)
	var group sync.WaitGroup
	group.Go(func() { _ = server.Serve(l.net) })
	group.Go(func() { opened <- open(ctx) })
	var got reply
	for got == (reply{}) {
		select {
		case got = <-l.answers:
		case err := <-opened:
			if opened = nil; err != nil {
				got.err = fmt.Errorf("opening the authorization page: %w", err)
			}
		case <-ctx.Done():
			got.err = context.Cause(ctx)
		}
	}
	if errors.Is(got.err, errLate) {
		got.err = fmt.Errorf("%w (%s)", errLate, wait)
	}
	cancel()
	const flush = 2 * time.Second // for the last page to be read
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), flush)
	defer stop()
	if server.Shutdown(end) != nil {
		_ = server.Close()
	}
	group.Wait()
	return got.code, got.err
}

// ServeHTTP answers the person's browser. What does not carry the state is not the answer, and the wait goes on.
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch {
	case r.Host != l.host || r.URL.Path != l.path:
		page(w, http.StatusNotFound, "Nothing here", "This address only waits for the answer of a sign-in page.")
	case r.Method != http.MethodGet:
		page(w, http.StatusMethodNotAllowed, "Not the answer", "The answer of a sign-in page comes by GET.")
	case len(q["state"]) != 1 || subtle.ConstantTimeCompare([]byte(q.Get("state")), []byte(l.state)) != 1:
		page(w, http.StatusBadRequest, "Not the answer",
			"This is not the answer to the sign-in that was started. If you have several pages open, use the newest one.")
	case !l.settle():
		page(w, http.StatusGone, "Already done", "This sign-in has had its answer. You can close this page.")
	default:
		got := l.judge(q)
		if got.err != nil {
			page(w, http.StatusOK, "Not signed in", "The sign-in did not succeed. Go back to cartagent, which says why. You can close this page.")
		} else {
			page(w, http.StatusOK, "Signed in", "You can close this page and go back to cartagent.")
		}
		l.answers <- got
	}
}

// settle says whether this is the first answer.
func (l *listener) settle() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	first := !l.settled
	l.settled = true
	return first
}

// judge reads an answer that has the right state. Unless it comes from the right issuer, nothing in it counts, not even
// what it says went wrong.
func (l *listener) judge(q url.Values) reply {
	for _, name := range []string{"iss", "code", "error"} {
		if len(q[name]) > 1 {
			return reply{err: untrusted("the answer of the authorization page has %s more than once", name)}
		}
	}
	switch iss := q.Get("iss"); {
	case iss == "" && l.issuerWanted:
		return reply{err: untrusted("the answer of the authorization page does not name its issuer, though %s always does", quoted(l.issuer))}
	case iss != l.issuer && q.Has("iss"):
		return reply{err: untrusted("the answer of the authorization page is of the issuer %s, not of %s", quoted(iss), quoted(l.issuer))}
	}
	if code := q.Get("error"); code != "" {
		said := quoted(code)
		if detail := q.Get("error_description"); detail != "" {
			said += ": " + quoted(detail)
		}
		if code == "access_denied" {
			return reply{err: fmt.Errorf("%w (%s says %s)", ErrRefused, l.issuer, said)}
		}
		return reply{err: fmt.Errorf("the authorization server %s says %s", l.issuer, said)}
	}
	if q.Get("code") == "" {
		return reply{err: untrusted("the answer of the authorization page has no code")}
	}
	return reply{code: q.Get("code")}
}

// page writes a page of our own words; a server's are never in it.
func page(w http.ResponseWriter, status int, title, text string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<!doctype html><title>%[1]s</title><h1>%[1]s</h1><p>%[2]s</p>\n", title, text)
}
