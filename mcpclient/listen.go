package mcpclient

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK opens subscriptions/listen by itself, says nothing when it is refused, and nothing when it ends. So it is sent
// as a method of our own, which the SDK waits for like any other, and conn gives it its name.
const (
	methodListen = "subscriptions/listen"
	listenAlias  = "dev.cartagent/listen"
)

type (
	listenParams = *mcp.SubscriptionsListenParams
	listenResult = *mcp.SubscriptionsListenResult
)

// listenable makes an SDK client send listenAlias.
func listenable(client *mcp.Client) error {
	return mcp.AddSendingCustomMethod[listenParams, listenResult](client, listenAlias)
}

// realName is a request with the name that the server knows its method by.
func realName(r *jsonrpc.Request) *jsonrpc.Request {
	if r.Method != listenAlias {
		return r
	}
	return &jsonrpc.Request{ID: r.ID, Method: methodListen, Params: r.Params}
}

const (
	maxFollowed   = 20 // resources whose changes the server is asked to tell of
	listenPause   = time.Second
	longestListen = 5 * time.Minute
	listenLong    = time.Minute // a subscription that has lasted so long did work
)

// listeners hear of changes at a server. There is one for the lists, and one for each resource that was read, so that a
// new one leaves no gap in the others.
type listeners struct {
	pause func(context.Context, time.Duration) error
	wg    sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	ends     []context.CancelFunc
	followed []string // resources
}

// begin starts a listener, unless the client is being closed. The caller holds mu.
func (l *listeners) begin(run func(context.Context)) {
	if l.closed {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.ends = append(l.ends, cancel)
	l.wg.Go(func() {
		defer cancel()
		run(ctx)
	})
}

// close ends all of them. wait returns when nothing is left of them.
func (l *listeners) close() (wait func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, end := range l.ends {
		end()
	}
	return l.wg.Wait
}

// listen begins to hear of changes of lists, as far as a modern server tells of them. Those of legacy servers come by
// themselves.
func (c *Client) listen() {
	want := &mcp.NotificationSubscriptions{
		ToolsListChanged: c.promises(ChangedTools), PromptsListChanged: c.promises(ChangedPrompts),
		ResourcesListChanged: c.promises(ChangedResources),
	}
	if !c.conn.modern.Load() || len(changesOf(want)) == 0 {
		return
	}
	c.news.mu.Lock()
	defer c.news.mu.Unlock()
	c.news.begin(func(ctx context.Context) { c.hear(ctx, want) })
}

// follow has the server tell of changes of a resource, if it can.
func (c *Client) follow(uri string) {
	caps := c.session.InitializeResult().Capabilities
	if caps == nil || caps.Resources == nil || !caps.Resources.Subscribe {
		return
	}
	c.news.mu.Lock()
	defer c.news.mu.Unlock()
	if len(c.news.followed) >= maxFollowed || slices.Contains(c.news.followed, uri) {
		return
	}
	c.news.followed = append(c.news.followed, uri)
	c.news.begin(func(ctx context.Context) {
		if c.conn.modern.Load() {
			c.hear(ctx, &mcp.NotificationSubscriptions{ResourceSubscriptions: []string{uri}})
			return
		}
		limit, cancel := context.WithTimeout(ctx, c.server.Timeout)
		defer cancel()
		if err := c.session.Subscribe(limit, &mcp.SubscribeParams{URI: uri}); err != nil && ctx.Err() == nil {
			c.log.Info("server does not tell of changes", "server", c.server.Name, "uri", printable(uri, 200), "err", err)
		}
	})
}

// hear keeps a subscription open until ctx ends or the server refuses it, or all of what it is for. One that ends for another reason is opened
// again; what has changed meanwhile is not known, so then all of it counts as changed.
func (c *Client) hear(ctx context.Context, want *mcp.NotificationSubscriptions) {
	pause := listenPause
	for {
		began := time.Now()
		err := c.subscribe(ctx, want)
		if ctx.Err() != nil || c.Err() != nil {
			return
		}
		var refusal *jsonrpc.Error
		refused := errors.As(err, &refusal) && refusal.Code != jsonrpc.CodeInternalError
		if refused || errors.Is(err, errUngranted) || errors.Is(err, ErrAuth) { // nobody is asked to sign in for this again and again
			c.log.Warn("server does not tell of changes; what it says of its lists counts until their time is over",
				"server", c.server.Name, "err", err)
			return
		}
		c.conn.cache.lapse(changesOf(want))
		if time.Since(began) >= listenLong {
			pause = listenPause
		}
		c.log.Info("subscription has ended; it is opened again", "server", c.server.Name, "after", pause, "err", err)
		if c.news.pause(ctx, pause) != nil {
			return
		}
		pause = min(2*pause, longestListen)
	}
}

// changesOf are what a subscription tells of.
func changesOf(n *mcp.NotificationSubscriptions) []Change {
	var out []Change
	if n.ToolsListChanged {
		out = append(out, Change{Kind: ChangedTools})
	}
	if n.PromptsListChanged {
		out = append(out, Change{Kind: ChangedPrompts})
	}
	if n.ResourcesListChanged {
		out = append(out, Change{Kind: ChangedResources})
	}
	for _, uri := range n.ResourceSubscriptions {
		out = append(out, Change{Kind: ChangedResource, URI: uri})
	}
	return out
}

// subscribe opens one subscription and returns when it has ended, or when the server has acknowledged nothing of it. What it
// does not acknowledge it does not tell of; that is told once.
func (c *Client) subscribe(ctx context.Context, want *mcp.NotificationSubscriptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	all := changesOf(want)
	drop := c.conn.subscribe(&subscription{want: all, granted: func(granted []Change) {
		if len(granted) == 0 {
			cancel(errUngranted)
			return
		}
		for _, w := range all {
			if !slices.Contains(granted, w) {
				c.warnOnce("server does not tell of all changes that it was asked for", "kind", w.Kind)
			}
		}
	}})
	defer drop()
	_, err := mcp.CallCustomMethod[listenParams, listenResult](ctx, c.session, listenAlias, &mcp.SubscriptionsListenParams{Notifications: want})
	var rpc *jsonrpc.Error
	switch {
	case errors.Is(context.Cause(ctx), errUngranted):
		return errUngranted
	case errors.As(err, &rpc):
		if own := c.conn.failure(rpc.Data); own != nil {
			return own
		}
	}
	return err
}
