package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/charmbracelet/log"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	typeJSON  = "application/json"
	typeEvent = "text/event-stream"
)

const methodInitialized = "notifications/initialized"

// remote is the wire to a server at a URL: Streamable HTTP of both eras, or the HTTP+SSE of 2024-11-05.
type remote struct {
	conn    *conn
	name    string
	log     *log.Logger
	url     *url.URL
	headers map[string]string
	agent   string // the User-Agent, unless headers have one
	auth    auth.OAuthHandler
	client  *http.Client

	authorized *turn // who authorizes
	renewed    *turn // who renews the session

	mu       sync.Mutex
	closing  bool
	running  map[string]context.CancelFunc // what is under way, by the id of its request or another name
	count    int
	wg       sync.WaitGroup
	version  string               // that a legacy server has agreed to
	session  string               // of a legacy server
	first    message              // the initialize that began it
	bindings map[string][]binding // of a modern server's tools, by their names

	paired   bool     // HTTP+SSE: answers come on one stream, see http2024.go
	endpoint *url.URL // where messages go then; set before the conn is used
}

var _ wire = (*remote)(nil)

// dialURL makes a conn to a server at a URL. Nothing is sent yet.
func dialURL(s Server, o Options) (*conn, *remote, error) {
	u, err := url.Parse(s.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, nil, errors.New("its url is none; it must be like https://example.com/mcp")
	case s.Type != "" && s.Type != TypeHTTP && s.Type != TypeSSE:
		return nil, nil, fmt.Errorf("its type is %.60q; it must be %s or %s", s.Type, TypeHTTP, TypeSSE)
	}
	if err := checkHeaders(s.Headers); err != nil {
		return nil, nil, err
	}
	u.Fragment, u.RawFragment = "", ""
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		transport = &http.Transport{Proxy: http.ProxyFromEnvironment}
	}
	transport = transport.Clone()       // of its own, so that closing it leaves no connection
	transport.DisableCompression = true // compressed streams come late
	c := newConn(s, o)
	r := &remote{
		conn: c, name: s.Name, log: o.Log, url: u, headers: s.Headers, agent: "cartagent/" + o.Version, auth: handler(s, o),
		client: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		authorized: newTurn(), renewed: newTurn(),
		running: map[string]context.CancelFunc{}, bindings: map[string][]binding{},
	}
	c.wire = r
	return c, r, nil
}

// run runs f until it returns, is abandoned or the connection is closed. It is false when it is closed already.
func (r *remote) run(ctx context.Context, name string, f func(ctx context.Context)) bool {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closing {
		cancel()
		return false
	}
	if name == "" {
		r.count++
		name = fmt.Sprint("unnamed ", r.count)
	}
	if before := r.running[name]; before != nil {
		before()
	}
	r.running[name] = cancel
	r.wg.Go(func() {
		defer cancel()
		f(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		if ctx.Err() == nil {
			delete(r.running, name)
		}
	})
	return true
}

func (r *remote) abandon(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cancel := r.running[id]; cancel != nil {
		cancel()
		delete(r.running, id)
	}
	return !r.conn.modern.Load() // the end of the stream tells a modern server
}

// goodbye is how long the end of a session may take.
const goodbye = 2 * time.Second

func (r *remote) stop() {
	r.mu.Lock()
	r.closing = true
	for _, cancel := range r.running {
		cancel()
	}
	session := r.session
	r.mu.Unlock()
	r.wg.Wait()
	if session != "" && !r.paired {
		ctx, cancel := context.WithTimeout(context.Background(), goodbye)
		defer cancel()
		end := letter{method: http.MethodDelete, header: map[string]string{}}
		r.addSession(end.header)
		if resp, err := r.do(ctx, end); err == nil {
			_ = resp.Body.Close() // whether it was heard makes no difference
		}
	}
	r.client.CloseIdleConnections()
	r.conn.end(r.conn.wasClosed())
}

func (r *remote) lastWords() string { return "" }

func (r *remote) learn(method string, result json.RawMessage) json.RawMessage {
	switch {
	case method == methodInitialize:
		r.agreed(result)
	case method == "tools/list" && r.conn.modern.Load():
		return toolList(result, func(name string, b []binding) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.bindings[name] = b
		}, func(name string, err error) {
			r.log.Warn("tool left out", "server", r.name, "tool", printable(name, 128), "err", err)
		})
	}
	return result
}

// mismatched says whether err is a modern server's word that a request's headers are wrong.
func (c *conn) mismatched(err error) bool {
	rpc, ok := errors.AsType[*jsonrpc.Error](err)
	_, far := c.wire.(*remote)
	return ok && far && c.modern.Load() && rpc.Code == codeHeaderMismatch
}

// send passes a message on. Requests have their answers later, whatever becomes of them.
func (r *remote) send(ctx context.Context, m message) error {
	if m.method == methodInitialize {
		r.mu.Lock()
		r.first = m
		r.mu.Unlock()
	}
	deliver := func(ctx context.Context) {
		err := r.exchange(ctx, m)
		if err != nil && isClosed(r.conn.closed) {
			err = r.conn.wasClosed()
		}
		switch {
		case m.id != "" && err != nil:
			r.conn.settle(m.id, &answer{own: err})
			if errors.Is(err, errChanged) {
				r.conn.end(fmt.Errorf("server %s: %w: %w", r.name, errChanged, ErrEnded))
			}
		case err != nil && ctx.Err() == nil:
			r.log.Warn("message not taken", "server", r.name, "method", m.method, "err", err)
		}
	}
	if m.method == methodInitialized { // what comes next must not overtake it
		deliver(ctx)
		r.listen(ctx)
		return nil
	}
	if !r.run(ctx, m.id, deliver) {
		return r.conn.wasClosed()
	}
	return nil
}

// errChanged means that a server of the handshake era refuses the version that it has agreed to before: it is another one
// since, and what it speaks is to be found out anew, by another conn.
var errChanged = errors.New("it does not take the version of before")

// errNoSession means that a legacy server does not know the session any more. It has not done what it was asked.
var errNoSession = errors.New("the server has forgotten the session")

// exchange posts a message and passes its answer on. When the server has forgotten the session a new one is begun, by one
// for all, and the message goes out once more.
func (r *remote) exchange(ctx context.Context, m message) error {
	if m.id != "" { // a new session is used when it is all there
		if err := r.renewed.wait(ctx); err != nil {
			return err
		}
	}
	since := r.renewed.now()
	err := r.post(ctx, m)
	if !errors.Is(err, errNoSession) {
		return err
	}
	if err := r.renewed.take(ctx, since, func() error { return r.renew(ctx) }); err != nil {
		return fmt.Errorf("server %s: %w, and a new one cannot be begun: %w", r.name, errNoSession, err)
	}
	if err = r.post(ctx, m); errors.Is(err, errNoSession) {
		return fmt.Errorf("server %s: %w as soon as it had begun it", r.name, errNoSession)
	}
	return err
}

// post posts a message once.
func (r *remote) post(ctx context.Context, m message) error {
	l := r.letter(m)
	resp, err := r.do(ctx, l)
	if err != nil {
		return r.broken(ctx, err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read as far as it counts
	switch {
	case resp.StatusCode/100 != 2:
		return r.refused(resp, m, l.header[headerSession] != "")
	case m.id == "" || r.paired:
		_, _ = io.CopyN(io.Discard, resp.Body, 4<<10) // for the connection's sake
		return nil
	}
	if m.method == methodInitialize {
		r.setSession(resp.Header.Get(headerSession))
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch kind {
	case typeEvent:
		return r.stream(ctx, resp, m)
	case typeJSON:
		return r.whole(ctx, resp.Body, m)
	}
	return fmt.Errorf("server %s: %w: HTTP %d of the type %.100q", r.name, ErrInvalid, resp.StatusCode, kind)
}

// whole reads an answer that is one body.
func (r *remote) whole(ctx context.Context, body io.Reader, m message) error {
	data, err := io.ReadAll(io.LimitReader(body, maxLine+1))
	if len(data) > maxLine {
		r.conn.overlong(&tooLong{size: len(data), head: data[:edge], tail: data[len(data)-edge:]}, m.id)
		return nil
	}
	if err != nil {
		return r.broken(ctx, err)
	}
	if r.conn.incoming(data, m.id) && r.conn.waiting(m.id) {
		return fmt.Errorf("server %s: %w: the body has no answer to the request", r.name, ErrInvalid)
	}
	return nil
}

// broken is the error of a request whose answer did not come.
func (r *remote) broken(ctx context.Context, err error) error {
	for _, plain := range []error{ErrAuth, ErrUnreachable, errRedirect} {
		if errors.Is(err, plain) {
			return err
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("server %s: %w (%s)", r.name, ErrLost, printable(err.Error(), 300))
}
