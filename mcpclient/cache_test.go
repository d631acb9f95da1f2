//go:build unix

package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// sent counts the requests of a method that a stub has got.
func (s *stub) sent(tb testing.TB, method string) int {
	tb.Helper()
	in, err := os.ReadFile(filepath.Join(s.Dir, "in"))
	require.NoError(tb, err)
	n := 0
	for line := range strings.Lines(string(in)) {
		var r request
		require.NoError(tb, json.Unmarshal([]byte(line), &r))
		if r.Method == method {
			n++
		}
	}
	return n
}

// clock is a time that passes when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// say has the stub send a notification, and waits until it has been read.
func say(tb testing.TB, c *Client, method, params string) {
	tb.Helper()
	tool := &Tool{client: c, name: "say", spec: loop.Spec{Name: "say"}}
	run(tb, tool, fmt.Sprintf(`{"says":%q,"params":%s}`, method, params))
}

const listening = `{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":true,"subscribe":true}}`

// TestCachedLists: a modern server says how long its lists hold; those of a legacy one hold until it tells of a change,
// if it has promised to.
func TestCachedLists(t *testing.T) {
	t.Parallel()
	minute := `,"ttlMs":60000,"cacheScope":"private"`
	for name, c := range map[string]struct {
		stub stub
		want [4]int // how often it was asked: for two lists in a row, one a minute later, and one after news
	}{
		"modern, a minute":          {stub{Discover: "result", TTL: minute}, [4]int{1, 1, 2, 3}},
		"modern, public":            {stub{Discover: "result", TTL: `,"ttlMs":60000,"cacheScope":"public"`}, [4]int{1, 1, 2, 3}},
		"modern, for ever":          {stub{Discover: "result", TTL: `,"ttlMs":1e300`}, [4]int{1, 1, 1, 2}},
		"modern, no time":           {stub{Discover: "result", TTL: `,"ttlMs":0`}, [4]int{1, 2, 3, 4}},
		"modern, a negative time":   {stub{Discover: "result", TTL: `,"ttlMs":-5`}, [4]int{1, 2, 3, 4}},
		"modern, an odd time":       {stub{Discover: "result", TTL: `,"ttlMs":"x"`}, [4]int{1, 2, 3, 4}},
		"modern, says nothing":      {stub{Discover: "result"}, [4]int{1, 2, 3, 4}},
		"modern, promises":          {stub{Discover: "result", Caps: listening, Listen: []string{"ack"}}, [4]int{1, 2, 3, 4}},
		"legacy, promises":          {stub{Caps: listening}, [4]int{1, 1, 1, 2}},
		"legacy, promises nothing":  {stub{}, [4]int{1, 2, 3, 4}},
		"legacy, a time of no kind": {stub{TTL: minute}, [4]int{1, 2, 3, 4}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := c.stub
			s.Dir, s.Supported, s.Prompts = t.TempDir(), []string{modernVersion}, []string{`{"name":"p"}`}
			s.Templates = []string{`{"uriTemplate":"a:{b}"}`}
			if s.Caps == "" {
				s.Caps = `{"tools":{},"prompts":{},"resources":{}}`
			}
			at := &clock{now: time.Unix(0, 0)}
			client := open(t, s.server(t), Options{Now: at.read})
			lists := map[string]struct {
				list func(context.Context) error
				news string
			}{
				"tools/list":               {func(ctx context.Context) error { _, err := client.Tools(ctx); return err }, "notifications/tools/list_changed"},
				"prompts/list":             {func(ctx context.Context) error { _, err := client.Prompts(ctx); return err }, "notifications/prompts/list_changed"},
				"resources/list":           {func(ctx context.Context) error { _, err := client.Resources(ctx); return err }, "notifications/resources/list_changed"},
				"resources/templates/list": {func(ctx context.Context) error { _, err := client.Templates(ctx); return err }, "notifications/resources/list_changed"},
			}
			for step, n := range c.want {
				switch step {
				case 2:
					at.pass(time.Minute)
				case 3:
					for _, l := range lists {
						say(t, client, l.news, `{}`)
					}
				}
				for method, l := range lists {
					require.NoError(t, l.list(t.Context()))
					assert.Equal(t, n, s.sent(t, method), "%s, step %d", method, step)
				}
			}
		})
	}
}

// TestCachedReads: what was read holds for its time, or until it has changed.
func TestCachedReads(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Dir, s.TTL, s.Caps, s.Listen = t.TempDir(), `,"ttlMs":1000`, listening, []string{"ack"}
	at := &clock{now: time.Unix(0, 0)}
	news := make(chan Change, 10)
	c := open(t, s.server(t), Options{Now: at.read, Changed: func(ch Change) { news <- ch }})
	read := func(want int) {
		t.Helper()
		got, err := c.ReadResource(t.Context(), "menu://today")
		require.NoError(t, err)
		assert.Len(t, got, 2)
		assert.Equal(t, want, s.sent(t, "resources/read"))
	}
	read(1)
	read(1)
	at.pass(999 * time.Millisecond)
	read(1)
	at.pass(time.Millisecond)
	read(2)
	say(t, c, "notifications/resources/updated", `{"uri":"hours://week"}`)
	assert.Equal(t, Change{ChangedResource, "hours://week"}, <-news)
	read(2)
	say(t, c, "notifications/resources/updated", `{"uri":"menu://today/latte"}`) // a part of it
	assert.Equal(t, Change{ChangedResource, "menu://today/latte"}, <-news)
	read(3)
	say(t, c, "notifications/resources/updated", `{"uri":7}`)
	say(t, c, "notifications/resources/list_changed", `{}`)
	assert.Equal(t, Change{Kind: ChangedResources}, <-news)
	read(3)
	_, err := c.ReadResource(t.Context(), "menu://x")
	require.True(t, NoResource(err), "%v", err)
	_, err = c.ReadResource(t.Context(), "menu://x")
	require.True(t, NoResource(err), "a refusal is not kept: %v", err)
	assert.Equal(t, 5, s.sent(t, "resources/read"))
	assert.Empty(t, news)
}

// TestNotKept: what has changed on its way, what is too large, and more than there is room for.
func TestNotKept(t *testing.T) {
	t.Parallel()
	var c cache
	about := Change{Kind: ChangedTools}
	age := c.age(ChangedTools)
	c.stale(about)
	c.put("a", about, json.RawMessage(`1`), age, time.Hour)
	_, ok := c.get("a")
	assert.False(t, ok, "older than the change")
	c.put("a", about, make(json.RawMessage, maxCachedEntry+1), age+1, time.Hour)
	_, ok = c.get("a")
	assert.False(t, ok, "too large")
	for i := range 3 * maxCached / maxCachedEntry {
		c.put(fmt.Sprint(i), about, make(json.RawMessage, maxCachedEntry), age+1, time.Hour)
		require.LessOrEqual(t, c.size, maxCached)
		_, ok = c.get(fmt.Sprint(i))
		require.True(t, ok)
	}
	c.drop(about)
	assert.Zero(t, c.size)
	assert.Empty(t, c.entries)
}

// TestChangesBetweenPages is the rest of case C039: a list that changes while it is read is read again, once.
func TestChangesBetweenPages(t *testing.T) {
	t.Parallel()
	two := "2"
	pages := func(entry string, says ...string) []page {
		return []page{
			{Items: []string{fmt.Sprintf(entry, "a")}, Next: &two},
			{Cursor: &two, Items: []string{fmt.Sprintf(entry, "b")}, Says: says},
		}
	}
	s := modern()
	s.Dir = t.TempDir()
	s.Pages = pages(`{"name":%q,"inputSchema":{}}`, "notifications/tools/list_changed")
	s.PromptsIn = pages(`{"name":%q}`, "notifications/prompts/list_changed", "notifications/tools/list_changed")
	s.Resources = pages(`{"uri":%q}`, "notifications/tools/list_changed")
	c := open(t, s.server(t), Options{})
	names, err := c.Tools(t.Context())
	require.NoError(t, err)
	assert.Len(t, names, 2)
	assert.Equal(t, 4, s.sent(t, "tools/list"))
	prompts, err := c.Prompts(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []Prompt{{Name: "a"}, {Name: "b"}}, prompts)
	assert.Equal(t, 4, s.sent(t, "prompts/list"))
	resources, err := c.Resources(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []Resource{{URI: "a"}, {URI: "b"}}, resources)
	assert.Equal(t, 2, s.sent(t, "resources/list"), "another list has changed")
}

// TestRestlessList: a list that changes whenever it is read is taken as it is in the end.
func TestRestlessList(t *testing.T) {
	t.Parallel()
	o, logs := logged()
	c := open(t, modern().server(t), o)
	calls := 0
	got, err := c.list(t.Context(), listing{"tools", ChangedTools, func(ctx context.Context, _ string) (mcp.Meta, error) {
		calls++
		c.conn.cache.stale(Change{Kind: ChangedTools})
		r, err := c.session.ListTools(ctx, nil)
		require.NoError(t, err)
		return r.Meta, nil
	}})
	require.NoError(t, err)
	assert.NotEmpty(t, got)
	assert.Equal(t, 2, calls)
	assert.Contains(t, logs.String(), "changes a list faster than it can be read")
}

// TestListsOfAllKinds is case C039 for resources and prompts: each page once more where it fails, never a short list.
func TestListsOfAllKinds(t *testing.T) {
	t.Parallel()
	next, empty := "c 1/é", ""
	for _, fails := range []int{0, 1, 2, 4} {
		s := modern()
		of := func(entry string) []page {
			return []page{
				{Items: slices.Repeat([]string{fmt.Sprintf(entry, "a")}, 1), Next: &next},
				{Cursor: &next, Items: []string{fmt.Sprintf(entry, "b")}, Next: &empty, Fails: fails},
				{Cursor: &empty, Items: []string{fmt.Sprintf(entry, "c")}},
			}
		}
		s.PromptsIn, s.Resources = of(`{"name":%q}`), of(`{"uri":%q}`)
		c := open(t, s.server(t), Options{})
		prompts, perr := c.Prompts(t.Context())
		resources, rerr := c.Resources(t.Context())
		if fails == 4 {
			require.ErrorContains(t, perr, "listing the prompts: server shop answered with an error: try again")
			require.ErrorContains(t, rerr, "listing the resources: server shop answered with an error: try again")
			continue
		}
		require.NoError(t, errorsOf(perr, rerr))
		assert.Len(t, prompts, 3)
		assert.Len(t, resources, 3)
	}
}

func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
