package oauth

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/log"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"
)

// Config says for which server tokens are wanted and how they are had.
type Config struct {
	Server    string           // the address of the MCP server
	Name      string           // its name in messages
	Grant     Grant            // AuthorizationCode, ClientCredentials or Enterprise
	Store     *Store           // nil keeps the tokens in memory
	Transport *http.Transport  // for requests to authorization servers; nil for the usual one
	Elsewhere func()           // hears that another process has the person sign in, and that this one waits for it; nil for nobody
	Log       *log.Logger      // nil for none
	Now       func() time.Time // nil for time.Now
}

// Grant is a way to get a token: AuthorizationCode, ClientCredentials or Enterprise.
type Grant interface {
	// obtain gets tokens. It blocks as long as it takes, or ctx lasts.
	obtain(ctx context.Context, r request) (*entry, error)
	// fits says whether what is stored was got in this way, by the client that is configured now.
	fits(e *entry) bool
	// client is who we are where an entry came from.
	client(e *entry) Client
	// issuers are those that were configured; the first is the one of the client, empty where it has none.
	issuers() []string
	check() error
	// patience is how long a person may take whom this asks; zero where it asks nobody.
	patience() time.Duration
}

// request is what a grant is to get.
type request struct {
	fetch  *fetcher
	guard  *guard
	scopes []string
	server string // its canonical address
	name   string
	now    func() time.Time
}

// entry is what is stored of tokens that were got.
func (r request) entry(e endpoint, g granted) (*entry, error) {
	if err := g.bearer(e.issuer); err != nil {
		return nil, err
	}
	out := &entry{
		Server: r.server, Issuer: r.guard.issuer, Resource: r.guard.resource, Token: e.address, Method: e.method,
		ClientID: e.client.ID, Access: g.Access, Refresh: g.Refresh, Expires: g.expires, Scopes: r.scopes,
	}
	if g.hasScopes {
		out.Scopes = strings.Fields(g.Scope)
	}
	return out, nil
}

// Handler gets and keeps the tokens for one server. It is an auth.OAuthHandler; its methods may be called from any
// goroutine.
type Handler struct {
	cfg    Config
	server string
	at     *url.URL

	mu    sync.Mutex
	tries []time.Time // of authorizations that may have been in vain
	eager string      // the token of a refresh that the server had asked for by a 401
}

var _ auth.OAuthHandler = (*Handler)(nil)

// New makes the handler for a server. It does nothing until the server is spoken to.
func New(c Config) (*Handler, error) {
	server, err := Canonical(c.Server)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(server)
	if err != nil {
		return nil, err
	}
	if c.Grant == nil {
		return nil, fmt.Errorf("authorizing at %s: no grant is configured", server)
	}
	if err := c.Grant.check(); err != nil {
		return nil, fmt.Errorf("authorizing at %s: %w", server, err)
	}
	if c.Name == "" {
		c.Name = at.Host
	}
	if c.Store == nil {
		c.Store = NewStore("")
	}
	if c.Log == nil {
		c.Log = log.New(io.Discard)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Handler{cfg: c, server: server, at: at}, nil
}

// skew is how long before its end a token is renewed.
const skew = 10 * time.Second

// TokenSource gives the token for the next request: the stored one, refreshed if need be. It returns nil where there is
// none, and the server's 401 leads to Authorize. The source holds this one token; ask for each request.
func (h *Handler) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	e, err := h.current(ctx)
	if err != nil {
		return nil, fmt.Errorf("the token for server %s: %w", h.cfg.Name, err)
	}
	if !e.live(h.cfg.Now()) {
		return nil, nil
	}
	return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: e.Access, TokenType: "Bearer", Expiry: e.Expires}), nil
}

// Authorize gets a token after a 401, or one with more scopes after a 403 that asks for them, and returns nil when the
// request should be sent again. Calls side by side authorize once, also those of other handlers with the same server and
// the same Store. It blocks while a person signs in; when the last
// caller gives up, so does the authorization.
func (h *Handler) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	defer func() { _ = resp.Body.Close() }()
	if err := h.authorize(ctx, req, resp); err != nil {
		return fmt.Errorf("authorizing at server %s: %w", h.cfg.Name, err)
	}
	return nil
}

func (h *Handler) authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	for _, r := range []*http.Request{req, resp.Request} {
		if r != nil && origin(r.URL) != origin(h.at) {
			return untrusted("the challenge came from %s, not from %s", quoted(origin(r.URL)), h.at.Host)
		}
	}
	if h.at.Scheme != "https" && !onLoopback(h.at.Hostname()) {
		return untrusted("a token would go over the network in the clear; the server's address must begin with https://")
	}
	c := readChallenge(resp)
	if c.status == http.StatusForbidden && !c.stepUp() {
		if c.detail != "" {
			return fmt.Errorf("%w (it says %s)", ErrForbidden, quoted(c.detail))
		}
		return ErrForbidden
	}
	_, sent, _ := strings.Cut(req.Header.Get("Authorization"), " ")
	for {
		if done, err := h.overtaken(c, sent); done || err != nil {
			return err
		}
		f, mine := h.cfg.Store.board(ctx, h.server, func(ctx context.Context) error { return h.fetchToken(ctx, c, sent) })
		if err := f.wait(ctx); err != nil || mine {
			return err
		}
	}
}

// overtaken says that somebody else was faster: there is a token now that the server has not refused.
func (h *Handler) overtaken(c challenge, sent string) (bool, error) {
	e, err := h.stored()
	if err != nil {
		return false, err
	}
	return e.live(h.cfg.Now()) && e.Access != sent && (!c.stepUp() || covers(e.Scopes, c.scopes)), nil
}

// fetchToken is one authorization, from the challenge to the stored token.
func (h *Handler) fetchToken(ctx context.Context, c challenge, sent string) error {
	known, err := h.stored()
	if err != nil {
		return err
	}
	fetch := h.fetcher(ctx)
	prefer := h.cfg.Grant.issuers()[:1]
	if known != nil {
		prefer = append(prefer, known.Issuer)
	}
	g, err := fetch.discover(ctx, h.at, c, prefer...)
	if err != nil {
		return err
	}
	if known != nil && known.Issuer != g.issuer {
		if known.Known && h.cfg.Grant.issuers()[0] == "" {
			return untrusted("the server now names the authorization server %s, but the configured client belongs to %s; "+
				"if that is right, forget what is stored for this server and sign in again", quoted(g.issuer), quoted(known.Issuer))
		}
		known = nil // another issuer's, of no use here
	}
	if c.status == http.StatusUnauthorized && known != nil && known.Refresh != "" && known.Access == sent && !h.isEager(sent) {
		e, err := h.refresh(ctx, sent)
		if err != nil {
			return err
		}
		if e.live(h.cfg.Now()) {
			h.setEager(e.Access)
			return nil
		}
	}
	release := h.consent(ctx)
	defer release()
	if done, err := h.overtaken(c, sent); done || err != nil {
		return err
	}
	return h.obtain(ctx, fetch, g, c)
}

// consent waits for another process that has the person sign in at the server, so that they are asked once. One that takes
// longer than a person may is not waited for.
func (h *Handler) consent(ctx context.Context) (release func()) {
	patience := h.cfg.Grant.patience()
	if patience <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	release, err := h.cfg.Store.consent(ctx, h.server, func() {
		h.cfg.Log.Info("another process has the person sign in; this one waits for it", "server", h.cfg.Name)
		if h.cfg.Elsewhere != nil {
			h.cfg.Elsewhere()
		}
	})
	if err != nil {
		h.cfg.Log.Debug("not waited for other processes", "server", h.cfg.Name, "err", err)
		return func() {}
	}
	return release
}

// obtain gets a token by the grant and stores it.
func (h *Handler) obtain(ctx context.Context, fetch *fetcher, g *guard, c challenge) error {
	known, err := h.stored()
	if err != nil {
		return err
	}
	if known != nil && known.Issuer != g.issuer {
		known = nil // another issuer's, of no use here
	}
	if err := h.try(known); err != nil {
		return err
	}
	r := request{fetch: fetch, guard: g, server: h.server, name: h.cfg.Name, now: h.cfg.Now, scopes: c.scopes}
	if len(r.scopes) == 0 {
		r.scopes = g.scopes
	}
	if known != nil {
		r.scopes = union(known.Scopes, r.scopes)
	}
	e, err := h.cfg.Grant.obtain(ctx, r)
	if err != nil {
		return err
	}
	h.keep(ctx, e)
	h.cfg.Log.Info("authorized at mcp server", "server", h.cfg.Name, "issuer", e.Issuer)
	return nil
}

func (h *Handler) fetcher(ctx context.Context) *fetcher {
	return newFetcher(ctx, h.cfg.Transport, append(h.cfg.Grant.issuers(), h.server)...)
}

// The bound on authorizations that do not help.
const (
	maxTries    = 3
	triesWindow = 10 * time.Minute
)

// try counts an authorization. One that follows on a token that had simply run out is never in vain.
func (h *Handler) try(known *entry) error {
	now := h.cfg.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	if known != nil && known.Access != "" && !known.live(now) {
		h.tries = nil
	}
	recent := h.tries[:0]
	for _, at := range h.tries {
		if now.Sub(at) < triesWindow {
			recent = append(recent, at)
		}
	}
	h.tries = recent
	if len(h.tries) >= maxTries {
		return fmt.Errorf("%w: it was tried %d times within %s; the server may not accept its own tokens, or want scopes that you are not given",
			ErrTries, maxTries, triesWindow)
	}
	h.tries = append(h.tries, now)
	return nil
}

func (h *Handler) isEager(token string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return token != "" && h.eager == token
}

func (h *Handler) setEager(token string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.eager = token
}
