package oauth

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"
)

// stored is what is stored for the server and fits the configuration; nil where there is nothing.
func (h *Handler) stored() (*entry, error) {
	e, note, err := h.cfg.Store.load(h.server)
	if err != nil {
		return nil, err
	}
	if note != "" {
		h.cfg.Log.Warn("stored credentials", "server", h.cfg.Name, "problem", note)
	}
	if e == nil || !h.cfg.Grant.fits(e) {
		return nil, nil
	}
	return e, nil
}

// current is the token to use now, refreshed where it is about to end and can be.
func (h *Handler) current(ctx context.Context) (*entry, error) {
	e, err := h.stored()
	if err != nil || e == nil || e.live(h.cfg.Now().Add(skew)) || e.Refresh == "" {
		return e, err
	}
	renewed, err := h.refresh(ctx, e.Access)
	if err != nil && e.live(h.cfg.Now()) {
		h.cfg.Log.Debug("token not refreshed yet", "server", h.cfg.Name, "err", err)
		return e, nil
	}
	return renewed, err
}

// grace is how long a refresh may go on after its caller has gone: a server that has taken the old refresh token has
// the only copy of the new one.
const grace = 5 * time.Second

// refresh renews the token stale, unless somebody else, in this process or another, has done so meanwhile. It returns
// nil where a person must authorize anew.
func (h *Handler) refresh(ctx context.Context, stale string) (*entry, error) {
	unlock, err := h.cfg.Store.lock(ctx, h.server)
	if err != nil {
		return nil, err
	}
	defer unlock()
	e, err := h.stored()
	if err != nil || e == nil {
		return nil, err
	}
	if e.Access != stale && e.live(h.cfg.Now().Add(skew)) {
		return e, nil
	}
	if e.Refresh == "" {
		return nil, nil
	}
	ctx, cancel := outlive(ctx, grace)
	defer cancel()
	g, err := h.fetcher(ctx).ask(ctx, endpoint{e.Token, e.Issuer, h.cfg.Grant.client(e), e.Method},
		url.Values{"grant_type": {grantRefresh}, "refresh_token": {e.Refresh}, "resource": {e.Resource}}, h.cfg.Now())
	if err == nil {
		err = g.bearer(e.Issuer)
	}
	var refused *refusal
	switch {
	case errors.As(err, &refused) && refused.final():
		h.cfg.Log.Info("token cannot be refreshed", "server", h.cfg.Name, "err", err)
		e.Access, e.Refresh = "", "" // the issuer and the scopes stay, for the next authorization
		h.put(e)
		return nil, nil
	case err != nil:
		return nil, err
	}
	e.Access, e.Expires = g.Access, g.expires
	if g.Refresh != "" {
		e.Refresh = g.Refresh
	}
	if g.hasScopes {
		e.Scopes = strings.Fields(g.Scope)
	}
	h.put(e)
	return e, nil
}

// keep stores what an authorization gave.
func (h *Handler) keep(ctx context.Context, e *entry) {
	ctx, cancel := outlive(ctx, grace)
	defer cancel()
	unlock, err := h.cfg.Store.lock(ctx, h.server)
	if err != nil {
		h.cfg.Store.hold(e)
		h.warn(err)
		return
	}
	defer unlock()
	h.put(e)
}

// put stores an entry; the caller has the lock. Where that fails, this process at least has it.
func (h *Handler) put(e *entry) {
	if err := h.cfg.Store.save(e); err != nil {
		h.warn(err)
	}
}

func (h *Handler) warn(why error) {
	h.cfg.Log.Warn("credentials are not stored: you must sign in again next time", "server", h.cfg.Name, "err", why)
}

// outlive is a context that ends a while after ctx does.
func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	out, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(by)
		defer timer.Stop()
		select {
		case <-timer.C:
			cancel()
		case <-out.Done():
		}
	})
	return out, func() { stop(); cancel() }
}
