//go:build unix

package mcpclient

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pauses are the waits before subscriptions are opened again. Each lasts until it is let go.
type pauses struct {
	asked chan time.Duration
	let   chan struct{}
}

func (p *pauses) wait(ctx context.Context, d time.Duration) error {
	select {
	case p.asked <- d:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-p.let:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TestSubscriptions: changes are heard of, also after a subscription has ended, and what was missed counts as changed.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Dir, s.Caps, s.TTL = t.TempDir(), `{"tools":{"listChanged":true},"resources":{}}`, `,"ttlMs":60000`
	s.Listen = []string{"end", "-32603", "ack"}
	p := &pauses{asked: make(chan time.Duration), let: make(chan struct{})}
	news := make(chan Change, 10)
	o, logs := logged()
	o.Changed, o.pause = func(ch Change) { news <- ch }, p.wait
	c := open(t, s.server(t), o)

	assert.Equal(t, time.Second, <-p.asked)
	_, err := c.Tools(t.Context())
	require.NoError(t, err)
	_, err = c.Tools(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 1, s.sent(t, "tools/list"))
	p.let <- struct{}{}
	assert.Equal(t, 2*time.Second, <-p.asked)
	assert.Empty(t, news)
	p.let <- struct{}{}
	assert.Equal(t, Change{Kind: ChangedTools}, <-news, "something may have changed meanwhile")
	assert.Equal(t, 3, s.sent(t, methodListen))
	_, err = c.Tools(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 2, s.sent(t, "tools/list"))
	say(t, c, "notifications/tools/list_changed", `{}`)
	assert.Equal(t, Change{Kind: ChangedTools}, <-news)
	assert.Contains(t, logs.String(), "subscription has ended; it is opened again")
	in, err := os.ReadFile(filepath.Join(s.Dir, "in"))
	require.NoError(t, err)
	for line := range strings.Lines(string(in)) {
		if strings.Contains(line, methodListen) {
			assert.Contains(t, line, `"notifications":{"toolsListChanged":true}`, "only what the server has promised")
			assert.Contains(t, line, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`)
		}
	}
}

// TestRefusedSubscription: a server that does not tell of changes is asked once.
func TestRefusedSubscription(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Dir, s.Caps, s.Listen = t.TempDir(), listening, []string{"-32601"}
	refused := make(chan struct{})
	o, logs := logged()
	o.pause = func(context.Context, time.Duration) error { panic("it is not opened again") }
	c, err := Connect(t.Context(), s.server(t), o)
	require.NoError(t, err)
	go func() {
		c.news.wg.Wait()
		close(refused)
	}()
	<-refused
	assert.Contains(t, logs.String(), "server does not tell of changes")
	assert.Equal(t, 1, s.sent(t, methodListen))
	require.NoError(t, c.Close())
}

// TestUngrantedSubscription: a server that acknowledges nothing of what it was asked for is not listened to, and told so.
func TestUngrantedSubscription(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Dir, s.Caps, s.Listen = t.TempDir(), listening, []string{"none"}
	o, logs := logged()
	o.pause = func(context.Context, time.Duration) error { panic("it is not opened again") }
	c, err := Connect(t.Context(), s.server(t), o)
	require.NoError(t, err)
	c.news.wg.Wait()
	assert.Contains(t, logs.String(), "server does not tell of changes")
	assert.Contains(t, logs.String(), errUngranted.Error())
	require.Eventually(t, func() bool { return s.sent(t, methodCancelled) == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, c.Close())
	assert.Equal(t, 1, s.sent(t, methodListen))
	assert.Equal(t, 1, s.sent(t, methodCancelled))
}

// TestPartlyGrantedSubscription: what a server does not acknowledge is told to the log, and what it acknowledges beyond
// that counts for nothing.
func TestPartlyGrantedSubscription(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Dir, s.Listen = t.TempDir(), []string{"end", "other"}
	s.Caps = `{"tools":{"listChanged":true},"prompts":{"listChanged":true}}`
	news := make(chan Change, 10)
	o, logs := logged()
	o.Changed = func(ch Change) { news <- ch }
	o.pause = func(context.Context, time.Duration) error { return nil }
	open(t, s.server(t), o)
	assert.Equal(t, Change{Kind: ChangedTools}, <-news, "the rest lapsed when the first one ended, and is not told of again")
	require.Eventually(t, func() bool { return strings.Contains(logs.String(), "does not tell of all changes") }, time.Minute, time.Millisecond)
	assert.Contains(t, logs.String(), "kind=prompts")
	assert.NotContains(t, logs.String(), "kind=tools")
	assert.Empty(t, news)
}

// TestSubscriptionsOfOthers: a notification that names a subscription which is none of ours counts for nothing; one that
// names none is a hint at least.
func TestSubscriptionsOfOthers(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Tools = []string{`{"name":"say","inputSchema":{"type":"object"}}`}
	s.Dir, s.Caps, s.Listen = t.TempDir(), listening, []string{"ack"}
	var told []Change
	o, logs := logged()
	o.Changed = func(ch Change) { told = append(told, ch) } // say waits until it was called
	c := open(t, s.server(t), o)
	var id string
	require.Eventually(t, func() bool {
		in, err := os.ReadFile(filepath.Join(s.Dir, "in"))
		require.NoError(t, err)
		for line := range strings.Lines(string(in)) {
			var r request
			if json.Unmarshal([]byte(line), &r) == nil && r.Method == methodListen {
				id = string(r.ID)
			}
		}
		return id != ""
	}, time.Minute, time.Millisecond)
	for _, other := range []string{`"` + id + `"`, `"somebody's"`, `4711`} {
		say(t, c, methodTools, `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+other+`}}`)
	}
	assert.Empty(t, told)
	assert.Contains(t, logs.String(), "it is of no subscription of ours")
	say(t, c, methodTools, `{"_meta":{"io.modelcontextprotocol/subscriptionId":`+id+`}}`)
	say(t, c, methodTools, `{}`)
	assert.Equal(t, []Change{{Kind: ChangedTools}, {Kind: ChangedTools}}, told)
}

// TestCancelledSubscription: a server may end a subscription by notifications/cancelled; it is opened again.
func TestCancelledSubscription(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Dir, s.Caps, s.Listen = t.TempDir(), listening, []string{"cancel", "ack"}
	p := &pauses{asked: make(chan time.Duration), let: make(chan struct{})}
	news := make(chan Change, 10)
	o, logs := logged()
	o.Changed, o.pause = func(ch Change) { news <- ch }, p.wait
	open(t, s.server(t), o)
	assert.Equal(t, time.Second, <-p.asked)
	assert.Contains(t, logs.String(), errUnsubscribed.Error())
	p.let <- struct{}{}
	assert.Equal(t, Change{Kind: ChangedTools}, <-news, "something may have changed meanwhile")
	assert.Equal(t, 2, s.sent(t, methodListen))
}

// TestFollowedResources: the server is asked to tell of what was read, once each.
func TestFollowedResources(t *testing.T) {
	t.Parallel()
	for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s.Dir, s.Caps, s.Listen = t.TempDir(), `{"resources":{"subscribe":true}}`, []string{"ack"}
			news := make(chan Change, 10)
			c, err := Connect(t.Context(), s.server(t), Options{Changed: func(ch Change) { news <- ch }})
			require.NoError(t, err)
			for range 2 {
				_, err := c.ReadResource(t.Context(), "menu://today")
				require.NoError(t, err)
			}
			say(t, c, "notifications/resources/updated", `{"uri":"menu://today"}`)
			assert.Equal(t, Change{ChangedResource, "menu://today"}, <-news)
			require.NoError(t, c.Close())
			method := map[string]string{EraModern: methodListen, EraLegacy: "resources/subscribe"}[era]
			assert.LessOrEqual(t, s.sent(t, method), 1)
		})
	}
}

// TestCloseEndsSubscriptions: none of them outlives the client, nor does a wait for the next.
func TestCloseEndsSubscriptions(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"ack", "end"} {
		s := modern()
		s.Caps, s.Listen = listening, []string{way}
		c, err := Connect(t.Context(), s.server(t), Options{})
		require.NoError(t, err)
		require.NoError(t, c.Close()) // goleak sees the rest
	}
}
