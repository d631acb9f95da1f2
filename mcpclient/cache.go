package mcpclient

import (
	"encoding/json"
	"strings"
	"sync"
	"time"
)

// ChangeKind says what has changed at a server.
type ChangeKind string

// What can change. The names are those of the lists.
const (
	ChangedTools     ChangeKind = "tools"
	ChangedPrompts   ChangeKind = "prompts"
	ChangedResources ChangeKind = "resources" // the list of them, or that of their templates
	ChangedResource  ChangeKind = "resource"  // the content of one
)

// Change is the news that something at a server may no longer be what it was.
type Change struct {
	Kind ChangeKind
	URI  string // of a ChangedResource
}

// cache keeps results for as long as the server says that they hold, until it says that they have changed. It belongs
// to one connection, and so to one authorization: nothing in it is for anybody else, whatever its cacheScope. The zero
// value is ready for use.
type cache struct {
	mu      sync.Mutex
	entries map[string]entry
	size    int
	ages    map[ChangeKind]int // how often each kind has changed
	lapsed  map[Change]bool    // what nobody tells of any more, until a subscription is acknowledged

	now     func() time.Time // nil for time.Now
	changed func(Change)     // may be nil
}

type entry struct {
	about   Change
	raw     json.RawMessage
	expires time.Time // zero for as long as no change is told
}

const (
	maxCached      = 16 << 20 // bytes that a cache holds; with more it begins anew
	maxCachedEntry = 1 << 20  // bytes of a result that is kept
	maxTTL         = 24 * time.Hour
)

// configure says what time it is and who hears of changes. What came before is not told.
func (c *cache) configure(now func() time.Time, changed func(Change)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now, c.changed = now, changed
}

func (c *cache) get(key string) (json.RawMessage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if ok && !e.expires.IsZero() && !c.clock().Before(e.expires) {
		c.remove(key)
		return nil, false
	}
	return e.raw, ok
}

// age changes whenever something of the kind has changed.
func (c *cache) age(kind ChangeKind) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ages[kind]
}

// put keeps a result that was asked for when its kind had that age: not what has changed on the way. A ttl of zero is
// for ever.
func (c *cache) put(key string, about Change, raw json.RawMessage, age int, ttl time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ages[about.Kind] != age || len(raw) > maxCachedEntry {
		return
	}
	if c.size+len(raw) > maxCached {
		c.entries, c.size = nil, 0
	}
	if c.entries == nil {
		c.entries = map[string]entry{}
	}
	c.remove(key)
	e := entry{about: about, raw: raw}
	if ttl > 0 {
		e.expires = c.clock().Add(ttl)
	}
	c.entries[key], c.size = e, c.size+len(raw)
}

// drop forgets what there is of a kind, or of one resource and those inside of it.
func (c *cache) drop(what Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(what)
}

// stale is drop for a change that the server has told of, or may have.
func (c *cache) stale(what Change) {
	c.mu.Lock()
	if c.ages == nil {
		c.ages = map[ChangeKind]int{}
	}
	c.ages[what.Kind]++
	c.forget(what)
	tell := c.changed
	c.mu.Unlock()
	if tell != nil {
		tell(what)
	}
}

// lapse says that nobody tells of these any more: what is known of them may be old.
func (c *cache) lapse(what []Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lapsed == nil {
		c.lapsed = map[Change]bool{}
	}
	for _, w := range what {
		c.lapsed[w] = true
		c.forget(w)
	}
}

// resume takes what is told of again, and counts it as changed.
func (c *cache) resume(what []Change) {
	for _, w := range what {
		c.mu.Lock()
		was := c.lapsed[w]
		delete(c.lapsed, w)
		c.mu.Unlock()
		if was {
			c.stale(w)
		}
	}
}

// note reads a notification of the server's.
func (c *cache) note(method string, params json.RawMessage) {
	switch method {
	case methodTools:
		c.stale(Change{Kind: ChangedTools})
	case methodPrompts:
		c.stale(Change{Kind: ChangedPrompts})
	case methodResources:
		c.stale(Change{Kind: ChangedResources})
	case methodUpdated:
		var p struct {
			URI string `json:"uri"`
		}
		if json.Unmarshal(params, &p) == nil && p.URI != "" {
			c.stale(Change{Kind: ChangedResource, URI: p.URI})
		}
	}
}

// The rest is for who holds mu.

func (c *cache) clock() time.Time {
	if c.now == nil {
		return time.Now()
	}
	return c.now()
}

func (c *cache) remove(key string) {
	c.size -= len(c.entries[key].raw)
	delete(c.entries, key)
}

func (c *cache) forget(what Change) {
	for key, e := range c.entries {
		if e.about.Kind == what.Kind && (strings.HasPrefix(e.about.URI, what.URI) || strings.HasPrefix(what.URI, e.about.URI)) {
			c.remove(key)
		}
	}
}

// holds says how long a result may be used again. A modern server says so itself; the lists of a legacy one hold until it
// tells of a change, if it has promised to.
func (c *Client) holds(about Change, raw json.RawMessage) (ttl time.Duration, ok bool) {
	if !c.conn.modern.Load() {
		return 0, c.promises(about.Kind)
	}
	var r struct {
		TTL float64 `json:"ttlMs"`
	}
	if json.Unmarshal(raw, &r) != nil || r.TTL < 1 {
		return 0, false
	}
	return time.Duration(min(r.TTL, float64(maxTTL.Milliseconds()))) * time.Millisecond, true
}

// promises says whether the server has said that it tells of changes of a list.
func (c *Client) promises(kind ChangeKind) bool {
	caps := c.session.InitializeResult().Capabilities
	if caps == nil {
		return false
	}
	switch kind {
	case ChangedTools:
		return caps.Tools != nil && caps.Tools.ListChanged
	case ChangedPrompts:
		return caps.Prompts != nil && caps.Prompts.ListChanged
	case ChangedResources:
		return caps.Resources != nil && caps.Resources.ListChanged
	case ChangedResource:
	}
	return false
}
