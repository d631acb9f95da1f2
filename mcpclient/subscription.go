package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	methodAcknowledged = "notifications/subscriptions/acknowledged"
	methodTools        = "notifications/tools/list_changed"
	methodPrompts      = "notifications/prompts/list_changed"
	methodResources    = "notifications/resources/list_changed"
	methodUpdated      = "notifications/resources/updated"
)

var (
	// errUngranted means that a server has acknowledged a subscription to nothing of what it was asked for.
	errUngranted = errors.New("the server grants nothing of it")
	// errUnsubscribed means that a server has ended a subscription by itself.
	errUnsubscribed = errors.New("the server has ended it")
)

// subscription is one that is open, or about to be.
type subscription struct {
	want    []Change
	id      string                 // of its request; guarded by conn's mu, empty before it is sent
	granted func(granted []Change) // hears of what the server grants; it must not block
}

// subscribe notes a subscription whose request goes out next, until drop is called. There is one for the same changes at
// a time.
func (c *conn) subscribe(s *subscription) (drop func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.subscriptions = append(c.subscriptions, s)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.subscriptions = slices.DeleteFunc(c.subscriptions, func(o *subscription) bool { return o == s })
	}
}

// bindSubscription says which request a subscription goes out with.
func (c *conn) bindSubscription(id string, params json.RawMessage) {
	var p mcp.SubscriptionsListenParams
	if json.Unmarshal(params, &p) != nil || p.Notifications == nil {
		return
	}
	want := changesOf(p.Notifications)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.subscriptions {
		if s.id == "" && slices.Equal(s.want, want) {
			s.id = id
			return
		}
	}
}

// told reads a notification that may be of a subscription, and says whether it counts: a modern server tells of changes
// by a subscription of ours, or by none that it names. asked is the id of the request that it came for, empty where that
// cannot be told.
func (c *conn) told(method string, params json.RawMessage, asked string) bool {
	if !c.modern.Load() {
		c.cache.note(method, params)
		return true
	}
	switch method {
	case methodAcknowledged, methodTools, methodPrompts, methodResources, methodUpdated:
	case methodCancelled:
		c.unsubscribed(params)
		return true
	default:
		return true
	}
	s, named := c.subscriptionOf(params, asked)
	switch {
	case s == nil && named:
		return false
	case method != methodAcknowledged:
		c.cache.note(method, params)
	case s != nil:
		c.acknowledged(s, params)
	}
	return true
}

// subscriptionOf finds the subscription that a notification is of. named says that the notification names one.
func (c *conn) subscriptionOf(params json.RawMessage, asked string) (s *subscription, named bool) {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	id := asked
	if json.Unmarshal(params, &p) == nil {
		if raw := bytes.TrimSpace(p.Meta[mcp.MetaKeySubscriptionID]); len(raw) > 0 {
			id, named = string(raw), true
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.subscriptions {
		if s.id != "" && (s.id == id || id == "" && len(c.subscriptions) == 1) {
			return s, named
		}
	}
	return nil, named
}

// acknowledged takes the server's word for what it will tell of. What was not asked for does not count.
func (c *conn) acknowledged(s *subscription, params json.RawMessage) {
	var p mcp.SubscriptionsAcknowledgedParams
	if json.Unmarshal(params, &p) != nil {
		c.log.Debug("acknowledgement that is none", "server", c.name)
		return
	}
	granted := slices.DeleteFunc(changesOf(&p.Notifications), func(g Change) bool { return !slices.Contains(s.want, g) })
	c.cache.resume(granted)
	s.granted(granted)
}

// unsubscribed handles a server's word that it ends a subscription, which some say in place of the result.
func (c *conn) unsubscribed(params json.RawMessage) {
	var p struct {
		ID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	id := string(bytes.TrimSpace(p.ID))
	c.mu.Lock()
	ours := id != "" && slices.ContainsFunc(c.subscriptions, func(s *subscription) bool { return s.id == id })
	c.mu.Unlock()
	if ours {
		c.settle(id, &answer{own: errUnsubscribed})
	}
}
