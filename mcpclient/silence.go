package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// maxUnheard is how many requests, one after the other, a server at the other end of a pipe may let run out without a word
// before it is asked whether it lives.
const maxUnheard = 3

// silence counts the requests that ran out in a row while the server said nothing at all. Requests that ran side by side
// count as one: a server that does one thing at a time has let them all run out at once.
type silence struct {
	heard int64     // how many messages had come when it was last looked at
	times int       // in a row
	last  time.Time // when the latest of them had run out
}

// unheard notes that a request has run out. begun is when it was made, and heard how many messages had come by then.
func (c *conn) unheard(begun time.Time, heard int64) {
	if _, piped := c.wire.(*pipe); !piped {
		return // there is no process that could be ended, and each call finds out anew
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := &c.silence
	if now := c.heard.Load(); now != heard {
		*s = silence{}
		return
	}
	if s.heard != heard {
		*s = silence{heard: heard}
	}
	if begun.Before(s.last) {
		return
	}
	s.times++
	s.last = time.Now()
	if s.times >= maxUnheard {
		select {
		case c.mute <- struct{}{}:
		default: // it is being looked at
		}
	}
}

// aliveID is the id of our own request for a sign of life.
const aliveID = `"alive"`

// alive asks a server for a sign of life, whatever it is, and waits for that as long as for the answer to the probe.
func (c *Client) alive(ctx context.Context) bool {
	before := c.conn.heard.Load()
	method, params := "ping", json.RawMessage("{}")
	if c.conn.modern.Load() { // there is no ping any more, but a request that each server answers
		method, params = methodDiscover, c.discover
	}
	answered := make(chan *answer, 1)
	c.conn.expect(aliveID, &call{method: method, own: answered})
	defer c.conn.drop(aliveID)
	limit, cancel := context.WithTimeout(ctx, c.probe)
	defer cancel()
	if err := c.conn.wire.send(limit, ownRequest(aliveID, method, params)); err != nil {
		c.log.Debug("sign of life not asked for", "server", c.server.Name, "err", err) // it may give one by itself
	}
	select {
	case <-answered:
	case <-limit.Done():
	case <-c.conn.ended:
	}
	return c.conn.heard.Load() != before
}

// giveUp ends the connection to a server that hangs. Calls under way fail.
func (c *Client) giveUp() {
	c.conn.end(fmt.Errorf("server %s hangs: it has let %d requests in a row run out without a word, and has not answered when "+
		"it was asked whether it lives; %w", c.server.Name, maxUnheard, ErrEnded))
}
