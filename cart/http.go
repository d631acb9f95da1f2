package cart

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/charmbracelet/log"
)

const (
	endpoint = "/mcp"

	maxBody    = 1 << 20 // of one message over HTTP
	maxHeader  = 64 << 10
	endWithin  = 3 * time.Second // how long requests under way may take once the shell is to end
	headerTime = 10 * time.Second
	readTime   = 30 * time.Second
	writeTime  = time.Minute
	idleTime   = 2 * time.Minute
)

// HTTPOptions are the settings of the cart over HTTP. The zero value is for this machine alone and asks for no token.
type HTTPOptions struct {
	Tokens *Tokens // who may call, and as whom; nil: anybody, as the shell's caller
	Rate   int     // calls a minute and caller; 0 for no limit
	Public bool    // requests may name any host: only sound where there are Tokens
}

// ServeHTTP is the cart over Streamable HTTP, at /mcp on that listener. It keeps no sessions: each POST is answered by
// itself, with JSON, also in the handshake era. It returns nil once ctx has ended and the requests under way with it.
func ServeHTTP(ctx context.Context, listener net.Listener, o Options, h HTTPOptions) error {
	o = o.withDefaults()
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	server := &http.Server{
		Handler:           NewHandler(o, h),
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      writeTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          o.Log.StandardLog(log.StandardLogOptions{ForceLevel: log.DebugLevel}),
		BaseContext:       func(net.Listener) context.Context { return requests },
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return fmt.Errorf("serving over HTTP: %w", err)
	case <-ctx.Done():
	}
	grace, stop := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer stop()
	if err := server.Shutdown(grace); err != nil {
		cut()
		if err := server.Close(); err != nil {
			return fmt.Errorf("closing the HTTP server: %w", err)
		}
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving over HTTP: %w", err)
	}
	return nil
}

// NewHandler is what [ServeHTTP] serves.
func NewHandler(o Options, h HTTPOptions) http.Handler {
	s := &httpShell{o: o.withDefaults(), h: h, limit: newLimiter(h.Rate)}
	mux := http.NewServeMux()
	mux.HandleFunc(endpoint, s.serve)
	if h.Tokens != nil {
		mux.HandleFunc("GET "+metadataPath, s.metadata)
		mux.HandleFunc("GET "+metadataPath+endpoint, s.metadata)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if why := s.stranger(r); why != "" {
			s.refuse(w, http.StatusForbidden, nil, fail(codeInvalidRequest, "Forbidden: %s", why))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

type httpShell struct {
	o     Options
	h     HTTPOptions
	limit *limiter
}

// serve answers one request to the endpoint.
func (s *httpShell) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		s.refuse(w, http.StatusMethodNotAllowed, nil, fail(codeInvalidRequest, "Method not allowed: send each message by POST; there are no sessions and no stream to GET"))
		return
	}
	caller, ok := s.caller(w, r)
	if !ok {
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLong, ok := errors.AsType[*http.MaxBytesError](err); ok {
		s.refuse(w, http.StatusRequestEntityTooLarge, nil, fail(codeInvalidRequest, "Invalid Request: a message may have at most %d bytes", tooLong.Limit))
		return
	}
	if err != nil {
		s.refuse(w, http.StatusBadRequest, nil, fail(codeInvalidRequest, "Invalid Request: the message did not arrive whole"))
		return
	}
	req := parse(body)
	if status, failure := unfit(r.Header); failure != nil {
		s.refuse(w, status, &req, failure)
		return
	}
	if wait := s.limit.take(caller, s.o.Now()); wait > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(seconds(wait)))
		s.refuse(w, http.StatusTooManyRequests, &req, fail(codeTooMany, "Too many calls: there may be %d a minute; try again in %d s", s.h.Rate, seconds(wait)))
		return
	}
	s.answer(w, r, caller, req)
}

// answer holds the headers against the message, and answers it.
func (s *httpShell) answer(w http.ResponseWriter, r *http.Request, caller string, req request) {
	env := s.o.env(caller, false)
	env.Opened = env.Legacy && isLegacyHTTP(r.Header, req)
	legacy := req.isLegacy(env)
	// A handshake that is to be refused is refused by name: clients that know no better have no such headers.
	if req.fault == nil && !legacy && req.method != "initialize" {
		req.fault = mismatch(r.Header, req)
		req.silent = req.silent && req.fault == nil
	}
	reply, err := s.o.Book.take(r.Context(), req, env)
	if r.Context().Err() != nil {
		s.o.Log.Info("message", "caller", caller, "method", clip(reply.Method), "outcome", "the client went away")
		return
	}
	if err != nil {
		s.o.Log.Error("message", "caller", caller, "method", clip(reply.Method), "err", err)
	}
	s.o.Log.Info("message", "caller", caller, "method", clip(reply.Method), "outcome", outcomeOf(reply))
	status := http.StatusOK
	switch {
	case reply.Silent():
		w.WriteHeader(http.StatusAccepted)
		return
	case reply.Error != nil && (!legacy || req.fault != nil): // that era's clients read errors with status 200 only
		status = statusOf(reply.Error)
	}
	s.send(w, status, reply)
}

// statusOf is the HTTP status that goes with an error. Those of a tool or an argument are answers like any other.
func statusOf(e *Error) int {
	switch e.Code {
	case codeParse, codeInvalidRequest, codeHeaderMismatch, codeUnsupportedVersion:
		return http.StatusBadRequest
	case codeMethodNotFound:
		return http.StatusNotFound
	case codeInternal:
		return http.StatusInternalServerError
	case codeInvalidParams:
		if e.meta {
			return http.StatusBadRequest
		}
	}
	return http.StatusOK
}

// refuse answers a request that was not handled; req is the message where one was read.
func (s *httpShell) refuse(w http.ResponseWriter, status int, req *request, failure *Error) {
	reply := Reply{JSONRPC: "2.0"}
	if req != nil {
		reply = req.reply()
	}
	reply.Error = failure
	s.o.Log.Info("message", "method", clip(reply.Method), "outcome", fmt.Sprintf("status %d", status))
	s.send(w, status, reply)
}

func (s *httpShell) send(w http.ResponseWriter, status int, body any) {
	b, err := encode(body)
	if err != nil {
		s.o.Log.Error("message", "err", err)
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // a client that went away is told nothing more
}

// stranger says why a request must come from a page that has no business here; "" where it may pass. A browser names the
// page's origin, and the host that the page believes to speak to: that is how a page of another site, or one whose name was
// made to mean this machine, gives itself away.
func (s *httpShell) stranger(r *http.Request) string {
	if !s.h.Public && !isLoopback(r.Host) {
		return "the host must be localhost, 127.0.0.1 or [::1]"
	}
	for _, origin := range r.Header.Values("Origin") {
		host, isHTTP := strings.CutPrefix(origin, "http://")
		if !isHTTP {
			host, isHTTP = strings.CutPrefix(origin, "https://")
		}
		if !isHTTP || !strings.EqualFold(host, r.Host) {
			return "the origin must be the cart's own"
		}
	}
	return ""
}

// isLoopback reports whether a Host header names this machine and nothing else can be meant by it.
func isLoopback(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || (ip != nil && ip.IsLoopback())
}

// unfit says what is wrong with how a message is sent, whatever it is.
func unfit(h http.Header) (int, *Error) {
	if kind, _, err := mime.ParseMediaType(h.Get("Content-Type")); err != nil || kind != "application/json" {
		return http.StatusUnsupportedMediaType, fail(codeInvalidRequest, "Unsupported media type: send Content-Type: application/json")
	}
	if enc := h.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		return http.StatusUnsupportedMediaType, fail(codeInvalidRequest, "Unsupported encoding: send the message without Content-Encoding")
	}
	if !accepts(h, "application/json") || !accepts(h, "text/event-stream") {
		return http.StatusNotAcceptable, fail(codeInvalidRequest, "Not acceptable: send Accept: application/json, text/event-stream")
	}
	return 0, nil
}

// accepts reports whether the client takes a media type.
func accepts(h http.Header, want string) bool {
	family, _, _ := strings.Cut(want, "/")
	for _, value := range h.Values("Accept") {
		for one := range strings.SplitSeq(value, ",") {
			kind, params, err := mime.ParseMediaType(one)
			if err != nil || strings.Trim(params["q"], "0.") == "" && params["q"] != "" {
				continue // q=0 is a no
			}
			if kind == want || kind == family+"/*" || kind == "*/*" {
				return true
			}
		}
	}
	return false
}
