package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// connectURL finds out how a server at a URL wants to be spoken to and makes a session of it: modern, else legacy over
// Streamable HTTP, else HTTP+SSE.
func connectURL(ctx context.Context, s Server, o Options) (*conn, *mcp.ClientSession, error) {
	// Whatever is tried, the person logs in once, and has time to.
	h := handler(s, o)
	o.Authorize, o.asking = func(Server) auth.OAuthHandler { return h }, &asking{}
	if s.Type == TypeSSE {
		return connectPair(ctx, s, o)
	}
	c, r, err := dialURL(s, o)
	if err != nil {
		return nil, nil, err
	}
	limit, cancel := limited(ctx, o.Setup, errSetup, c.asking)
	defer cancel()
	var late *probing
	if !o.unprobed {
		late, err = r.findEra(limit, o)
	}
	if err != nil {
		err = explain(limit, c, err)
		c.discard()
		return nil, nil, err
	}
	if late != nil {
		return afterSilentProbe(limit, r, late, s, o)
	}
	_, session, err := c.handshake(limit, o)
	if err == nil || c.modern.Load() {
		return c, session, err
	}
	if status, ok := errors.AsType[*StatusError](err); ok && noSuchPost(status.Status) {
		paired, session, pairErr := connectPair(limit, s, o)
		if pairErr == nil {
			return paired, session, nil
		}
		if errors.Is(pairErr, ErrAuth) {
			return nil, nil, pairErr
		}
		return nil, nil, fmt.Errorf("%w, to initialize as well; nor does it have a stream for HTTP+SSE (%w)", err, pairErr)
	}
	return nil, nil, err
}

// noSuchPost says whether a status may be that of a server that has HTTP+SSE.
func noSuchPost(status int) bool {
	return status == http.StatusBadRequest || status == http.StatusNotFound || status == http.StatusMethodNotAllowed
}

// connectPair makes a session over HTTP+SSE.
func connectPair(ctx context.Context, s Server, o Options) (*conn, *mcp.ClientSession, error) {
	c, r, err := dialURL(s, o)
	if err != nil {
		return nil, nil, err
	}
	limit, cancel := limited(ctx, o.Setup, errSetup, c.asking)
	defer cancel()
	if err := r.pair(limit); err != nil {
		err = explain(limit, c, r.broken(limit, err))
		c.discard()
		return nil, nil, err
	}
	return c.handshake(limit, o)
}

// probing is what comes of the probe: an answer, or an error.
type probing struct {
	answer chan *answer
	err    chan error
}

// ask sends the probe. It goes on when nobody waits for it any more, until the conn is closed.
func (r *remote) ask(ctx context.Context, o Options) (*probing, error) {
	m, err := probeMessage(o)
	if err != nil {
		return nil, err
	}
	p := &probing{answer: make(chan *answer, 1), err: make(chan error, 1)}
	r.conn.expect(probeID, &call{method: methodDiscover, own: p.answer})
	if !r.run(ctx, "probe", func(ctx context.Context) {
		if err := r.exchange(ctx, m); err != nil {
			r.conn.drop(probeID)
			p.err <- err
		}
	}) {
		return nil, r.conn.wasClosed()
	}
	return p, nil
}

// findEra probes a server. Without error the conn knows its era; late is the probe that a legacy one, as it seems, has not
// answered yet.
func (r *remote) findEra(ctx context.Context, o Options) (late *probing, err error) {
	for range 2 {
		p, err := r.ask(ctx, o)
		if err != nil {
			return nil, err
		}
		wait, cancel := limited(ctx, o.Probe, ErrTimeout, r.conn.asking)
		again, err := r.judgeProbe(wait, p)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, errSilent):
			return p, nil
		case err != nil || !again:
			return nil, err
		}
	}
	// Twice it has refused this version and named it as its own. It is modern, whatever it means.
	r.conn.beModern(discovered{})
	return nil, nil
}

var errSilent = errors.New("no answer to the probe")

// judgeProbe waits for what comes of the probe and makes the conn modern where that is the answer. again asks for another
// probe.
func (r *remote) judgeProbe(ctx context.Context, p *probing) (again bool, err error) {
	select {
	case a := <-p.answer:
		_, again, err := r.conn.judge(a)
		return again, err
	case err := <-p.err:
		status, ok := errors.AsType[*StatusError](err)
		if ok && legacyStatus(status.Status) {
			return false, nil
		}
		if errors.Is(err, ErrInvalid) || errors.Is(err, ErrLost) { // it makes no sense, or went away over it
			return false, nil
		}
		return false, err
	case <-ctx.Done():
		return false, errSilent
	}
}

// legacyStatus says whether a status without a JSON-RPC error may be that of a legacy server that knows nothing of the
// probe. What means authorization, or that somebody on the way is busy, is not.
func legacyStatus(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired, http.StatusRequestTimeout,
		http.StatusTooManyRequests:
		return false
	case http.StatusInternalServerError, http.StatusNotImplemented:
		return true
	}
	return status/100 == 4
}

// afterSilentProbe tries the handshake on a conn of its own and leaves the server the time to answer the probe after all.
func afterSilentProbe(ctx context.Context, r *remote, late *probing, s Server, o Options) (*conn, *mcp.ClientSession, error) {
	c, _, err := dialURL(s, o)
	if err != nil {
		r.conn.discard()
		return nil, nil, err
	}
	half, cancel := limited(ctx, o.Setup/2, errSetup, c.asking)
	defer cancel()
	_, session, err := c.handshake(half, o)
	if err == nil {
		r.conn.discard()
		return c, session, nil
	}
	again, bad := r.judgeProbe(ctx, late)
	if again {
		o.Probe = o.Setup // it is slow
		_, bad = r.findEra(ctx, o)
	}
	if !r.conn.modern.Load() {
		r.conn.discard()
		if _, refused := errors.AsType[*RPCError](bad); refused || errors.Is(bad, ErrVersion) {
			err = bad // it has said itself why not
		}
		return nil, nil, err
	}
	return r.conn.handshake(ctx, o)
}
