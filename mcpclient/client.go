package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/charmbracelet/log"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server says how to reach a server, by Command or by URL, and how far to trust it.
type Server struct {
	Name    string // its name in tool names and messages, unique among the servers in use (see Unique)
	Command string
	Args    []string
	Env     map[string]string // beside PATH, HOME and a few more; nothing else of ours is passed on
	Dir     string            // where it runs; ours when empty
	Type    string            // of a URL: TypeHTTP (also when empty) or TypeSSE
	URL     string            // of a server that is there already
	Headers map[string]string // sent along with each request to URL
	Timeout time.Duration     // for each request, and again with each progress of it; DefaultTimeout when zero
	Ceiling time.Duration     // for a request with progress; ten times Timeout, and ten minutes at least, when zero
	Trusted bool              // what it says about its tools is believed
	Allow   []string          // the tools that there are, by name or pattern (* and ?); empty means all
	Deny    []string          // those that there are not, whatever Allow says
	Secrets []string          // what must not be shown where something goes wrong: values of Env, Headers, of the address
}

// The ways to speak to a server at a URL.
const (
	TypeHTTP = "http" // Streamable HTTP
	TypeSSE  = "sse"  // the HTTP+SSE of 2024-11-05
)

// Options are what a client needs from outside. The zero value works.
type Options struct {
	Log     *log.Logger   // nil for none
	Setup   time.Duration // from the start of the process to a usable client; DefaultSetup when zero
	Probe   time.Duration // how long server/discover may stay unanswered; DefaultProbe when zero
	Environ []string      // the environment that servers get a part of; that of this process when nil
	Version string        // of this program, for servers that want to know
	// Changed hears of changes at the server: of its lists where it tells of them, and of resources that were read. It is
	// called from where the server's messages are read, so it must return soon and call no method of the client.
	Changed func(Change)
	Now     func() time.Time // what time results are kept by; time.Now when nil
	// Eras remembers the servers of the handshake era; nil probes each time.
	Eras *Eras
	// Elicit puts the questions of servers to the person. Without it they are told that nobody can be asked, unless Asks is
	// set: then it has those that are about no call of the loop's, as before a prompt.
	Elicit ElicitFunc
	// Asks takes the questions of servers about a call to the loop, in place of Elicit: Tool.Run ends with a *loop.NeedsAnswer, and goes
	// on with the answer when it is called again. One of a modern server may then be of another process.
	Asks bool
	// Completed hears that the person is done at a page which a legacy server wanted opened: that question of that call. It
	// is called from where the server's messages are read, so it must return soon.
	Completed func(callID, questionID string)
	// Authorize gives what gets tokens for a server at a URL, or nil for none. A server whose Headers have an Authorization
	// is not asked about. It is called once for each Connect.
	Authorize func(s Server) auth.OAuthHandler

	unprobed bool                                       // initialize goes first
	asking   *asking                                    // of the conns that one Connect tries
	pause    func(context.Context, time.Duration) error // before a subscription is opened again
}

// The times that hold where none are set.
const (
	DefaultTimeout = 60 * time.Second
	DefaultSetup   = 10 * time.Second
	DefaultProbe   = 2 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = log.New(io.Discard)
	}
	if o.Setup <= 0 {
		o.Setup = DefaultSetup
	}
	if o.Probe <= 0 {
		o.Probe = DefaultProbe
	}
	o.Probe = min(o.Probe, o.Setup/2)
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.pause == nil {
		o.pause = sleep
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	return o
}

// Client is a connection to one server. Its methods may be called from any goroutine; a call that takes long holds up
// no other.
type Client struct {
	server   Server
	log      *log.Logger
	elicit   ElicitFunc
	asks     bool
	talks    *talks
	probe    time.Duration   // how long a sign of life may take
	discover json.RawMessage // the params of our server/discover
	conn     *conn
	session  *mcp.ClientSession
	known    atomic.Pointer[map[string]Prompt] // by name, of the last list; never changed once stored
	news     listeners

	toldMu sync.Mutex
	told   map[string]bool // warnings about lists
}

// Connect starts a server, or reaches the one at its URL, and finds out how it wants to be spoken to. It blocks for
// Options.Setup at most, half as long again where Options.Eras does not hold any more, and a moment more where a process must
// be ended; connect to several servers side by side. While a person is asked to log in the time does not run. ctx bounds the
// connecting, not the life of the client: Close ends that. The error names the server, and what it said on stderr.
func Connect(ctx context.Context, s Server, o Options) (*Client, error) {
	o = o.withDefaults()
	s = s.withTimes()
	if s.Name == "" {
		return nil, fmt.Errorf("connecting to an MCP server: it has no name; give it one in the configuration")
	}
	c := &Client{server: s, log: o.Log, elicit: o.Elicit, asks: o.Asks, talks: &talks{aside: o.Elicit}, probe: o.Probe}
	if o.Asks {
		o.Elicit = c.talks.elicit
	}
	sign, err := probeMessage(o)
	if err != nil {
		return nil, err
	}
	c.discover = sign.params
	reach := connect
	if s.URL != "" {
		reach = connectURL
	}
	if o.Eras.knowsLegacy(s) {
		first := o
		first.unprobed, first.Setup = true, o.Setup/2
		if c.conn, c.session, err = reach(ctx, s, first); err != nil {
			o.Eras.note(s, "")
		}
	}
	if c.conn == nil && !errors.Is(err, ErrAuth) {
		c.conn, c.session, err = reach(ctx, s, o)
	}
	if err != nil {
		return nil, fmt.Errorf("connecting to MCP server %s: %w", s.Name, err)
	}
	o.Eras.note(s, c.Era())
	c.news.pause = o.pause
	c.conn.cache.configure(o.Now, o.Changed)
	c.listen() //nolint:contextcheck // until the client is closed
	return c, nil
}

// Name is the server's name in the configuration.
func (c *Client) Name() string { return c.server.Name }

// Era is EraModern or EraLegacy.
func (c *Client) Era() string {
	if c.conn.modern.Load() {
		return EraModern
	}
	return EraLegacy
}

// Version is the version of the protocol that is spoken.
func (c *Client) Version() string { return c.session.InitializeResult().ProtocolVersion }

// Instructions are what the server wants models to know about it; a server's word, not to be trusted.
func (c *Client) Instructions() string { return c.session.InitializeResult().Instructions }

// Done is closed once the client is of no more use: the server has ended, or Close was called.
func (c *Client) Done() <-chan struct{} { return c.conn.ended }

// Err is why the client is of no more use, or nil while it is.
func (c *Client) Err() error { return c.conn.cause() }

// Close ends the calls under way and the server, politely first, and returns when nothing is left of it: at once where
// the server ends with its input, after 4 s at most where it must be killed. At a URL it ends the session, if there is
// one, which may take 2 s.
func (c *Client) Close() error {
	wait := c.news.close()
	_ = c.conn.Close()
	err := c.session.Close()
	<-c.conn.gone
	c.talks.group.Wait()
	wait()
	if err != nil {
		return fmt.Errorf("closing server %s: %w", c.server.Name, err)
	}
	return nil
}

// The types of results.
const (
	typeComplete = "complete"
	typeInput    = "input_required"
)

// request runs one request of the SDK that only reads, and gives the bytes of its result.
func (c *Client) request(ctx context.Context, do func(context.Context) (mcp.Meta, error)) (json.RawMessage, error) {
	raw, kind, err := c.exchange(ctx, true, func(ctx context.Context, _ *limit) (mcp.Meta, error) { return do(ctx) })
	if err == nil && kind == typeInput {
		return nil, fmt.Errorf("server %s: %w: a list needs no input", c.server.Name, ErrInvalid)
	}
	return raw, err
}

// limitedRequest makes one request of the SDK, whose progress extends the limit.
type limitedRequest func(context.Context, *limit) (mcp.Meta, error)

// exchange runs one request of the SDK within the server's timeout and gives the bytes and the type of its result. One
// that is safe is sent again, once, as a new request, when its answer was lost.
func (c *Client) exchange(ctx context.Context, safe bool, do limitedRequest) (json.RawMessage, string, error) {
	raw, err := c.try(ctx, do)
	if safe && errors.Is(err, ErrLost) {
		c.log.Info("answer lost; the request is sent again", "server", c.server.Name, "err", err)
		raw, err = c.try(ctx, do)
	}
	if err != nil {
		return nil, "", err
	}
	var e struct {
		Type string `json:"resultType"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, "", fmt.Errorf("server %s: %w: the result is no object", c.server.Name, ErrInvalid)
	}
	switch e.Type {
	case "", typeComplete:
		return raw, typeComplete, nil
	case typeInput:
		return raw, typeInput, nil
	}
	return nil, "", fmt.Errorf("server %s: %w: a result of the unknown type %.60q", c.server.Name, ErrInvalid, e.Type)
}

// try runs one request of the SDK and redeems its ticket.
func (c *Client) try(ctx context.Context, do limitedRequest) (json.RawMessage, error) {
	if err := c.conn.cause(); err != nil {
		return nil, err
	}
	l, heard := c.server.limit(c.conn.asking), c.conn.heard.Load()
	limit, cancel := l.start(ctx)
	defer cancel()
	meta, err := do(limit, l)
	if err != nil {
		if errors.Is(context.Cause(limit), ErrTimeout) {
			c.conn.unheard(l.begun, heard)
		}
		return nil, explain(limit, c.conn, err)
	}
	if ticket, ok := meta[ticketKey].(string); ok {
		if raw, ok := c.conn.redeem(ticket); ok {
			return raw, nil
		}
	}
	return nil, fmt.Errorf("server %s: %w: the result was lost", c.server.Name, ErrInvalid)
}
