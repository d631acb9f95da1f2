package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
)

// pair opens the stream of the HTTP+SSE of 2024-11-05 and waits for the server to say where messages go. From then on the
// stream's end is the end of the conn.
func (r *remote) pair(ctx context.Context) error {
	r.paired = true
	ready := make(chan error, 1)
	if !r.run(ctx, "pair", func(ctx context.Context) {
		err := r.readPair(ctx, ready)
		select {
		case ready <- err:
		default:
		}
		if isClosed(r.conn.closed) {
			err = r.conn.wasClosed()
		} else {
			err = fmt.Errorf("server %s has closed its stream (%s): %w", r.name, printable(err.Error(), 300), ErrEnded)
		}
		r.conn.end(err)
	}) {
		return r.conn.wasClosed()
	}
	select {
	case err := <-ready:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// readPair reads the stream to its end. It tells ready when the endpoint is known.
func (r *remote) readPair(ctx context.Context, ready chan<- error) error {
	resp, err := r.do(ctx, letter{method: http.MethodGet, header: map[string]string{"Accept": typeEvent}})
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing more is wanted
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode != http.StatusOK || kind != typeEvent {
		return &StatusError{Server: r.name, Status: resp.StatusCode, Text: "no stream of events"}
	}
	in := newEvents(resp.Body, maxLine)
	for {
		ev, err := in.next()
		var long *tooLong
		switch {
		case errors.As(err, &long):
			r.conn.overlong(long, "")
		case err != nil:
			return err
		case ev.name == "endpoint" && r.endpoint == nil:
			// Relative to what was asked, wherever redirects have led.
			to, err := r.url.Parse(string(ev.data))
			if err != nil || !sameOrigin(to, r.url) {
				return fmt.Errorf("server %s: %w: it wants messages at another origin than its own", r.name, ErrInvalid)
			}
			r.endpoint = to
			ready <- nil
		case len(ev.data) > 0 && !r.conn.incoming(ev.data, ""):
			return r.conn.wasClosed()
		}
	}
}
