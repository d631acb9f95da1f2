package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A server of the handshake era may refuse a request until the person has been at a page: it answers with codePages, and
// the request is made anew when they say that they go there. It may tell when they are done.
const (
	codePages      = -32042
	methodElicited = "notifications/elicitation/complete"
)

// wants is what err says must come first: pages to open; nil where it says nothing like that. The key of each is its
// elicitationId.
func (c *Client) wants(err error) *Input {
	rpc, ok := errors.AsType[*RPCError](err)
	if !ok || rpc.Code != codePages || c.conn.modern.Load() {
		return nil
	}
	var d struct {
		Elicitations []json.RawMessage `json:"elicitations"`
	}
	if json.Unmarshal(rpc.Data, &d) != nil || len(d.Elicitations) == 0 {
		return nil
	}
	in := &Input{}
	for i, raw := range d.Elicitations {
		q, err := decodeQuestion(c.server.Name, "", raw)
		if err != nil || q.Mode != ModeURL {
			return nil
		}
		if q.Key == "" || slices.ContainsFunc(in.Questions, func(o Question) bool { return o.Key == q.Key }) {
			q.Key = strconv.Itoa(i) + "/" + q.URL
		}
		in.Questions = append(in.Questions, q)
	}
	return in
}

// pagePause is how long after a refusal for the sake of a page that was opened already the request is made again, at
// first. It is made at once when the server says that the person is done there.
const (
	pagePause   = 2 * time.Second
	longestPage = 30 * time.Second
)

// errPages is why a request that wants a page is given up.
var errPages = errors.New("it wants the user to be done at a page first, and they are not yet: ask them, and call again then")

// past makes a request until the server wants no page any more that has been opened: those are the keys. in has what it
// wants beside.
func (c *Client) past(ctx context.Context, opened []string, do func() (json.RawMessage, *Input, error)) (json.RawMessage, *Input, error) {
	pause := pagePause
	for range maxRounds {
		raw, in, err := do()
		wanted := c.wants(err)
		if wanted == nil {
			return raw, in, err
		}
		known := func(q Question) bool { return slices.Contains(opened, q.Key) }
		if !slices.ContainsFunc(wanted.Questions, func(q Question) bool { return !known(q) }) {
			if err := c.awaitPages(ctx, opened, pause); err != nil {
				return nil, nil, err
			}
			pause = min(2*pause, longestPage)
			continue
		}
		wanted.Questions = slices.DeleteFunc(wanted.Questions, known)
		return nil, wanted, nil
	}
	return nil, nil, fmt.Errorf("server %s: %w", c.server.Name, errPages)
}

// awaitPages waits for a while, or until the server says that the person is done at one of the pages.
func (c *Client) awaitPages(ctx context.Context, keys []string, d time.Duration) error {
	wait, cancel := context.WithCancel(ctx)
	defer cancel()
	c.conn.opened.whenDone(keys, cancel)
	_ = c.news.pause(wait, d) // that it was cut short is as good
	return ctx.Err()
}

// accepted is an error unless the person opens all of the pages that a request wants first.
func (c *Client) accepted(answers map[string]Answer) error {
	for _, a := range answers {
		if a.Action != ActionAccept {
			return fmt.Errorf("server %s wants the user to open a page first, and they did not: nothing was done. "+
				"Do not call again unless they want it", c.server.Name)
		}
	}
	return nil
}

// openPages are the pages that the person was asked to open, by the server's names for them.
type openPages struct {
	completed func(call, question string) // nil for nobody

	mu   sync.Mutex
	list []*openPage
}

// openPage is a page that serves a call.
type openPage struct {
	key            string
	call, question string // empty where the loop has no part in it
	done           bool
	wake           func() // waits for it; nil for nobody
	woken          bool
}

// maxOpened bounds how many pages are known. The oldest are forgotten.
const maxOpened = 100

// add notes that a page is put to the person, as a question of a call.
func (p *openPages) add(key, call, question string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = slices.DeleteFunc(p.list, func(o *openPage) bool { return o.key == key })
	p.list = append(p.list, &openPage{key: key, call: call, question: question})
	if len(p.list) > maxOpened {
		p.list = slices.Delete(p.list, 0, 1)
	}
}

// whenDone calls wake when the person is done at one of the pages, or is already and nobody was told. It is called once at
// most for each page.
func (p *openPages) whenDone(keys []string, wake func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.list {
		if one.woken || !slices.Contains(keys, one.key) {
			continue
		}
		if one.wake = wake; one.done {
			one.woken = true
			wake()
		}
	}
}

// elicited handles a server's word that the person is done at a page. That of one that is not known is ignored.
func (c *conn) elicited(params json.RawMessage) {
	var d struct {
		ID string `json:"elicitationId"`
	}
	if json.Unmarshal(params, &d) != nil {
		return
	}
	p := &c.opened
	p.mu.Lock()
	i := slices.IndexFunc(p.list, func(o *openPage) bool { return o.key == d.ID && !o.done })
	if i < 0 {
		p.mu.Unlock()
		return
	}
	one := p.list[i]
	one.done = true
	if one.wake != nil {
		one.woken = true
		one.wake()
	}
	p.mu.Unlock()
	if p.completed != nil && one.call != "" {
		p.completed(one.call, one.question)
	}
}
