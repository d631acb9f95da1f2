//go:build unix

package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// TestEras is case C029: what servers say to server/discover, and what comes of it.
func TestEras(t *testing.T) {
	t.Parallel()
	type want struct {
		era string
		err string // a part of the error, if there is one
	}
	legacy, modern := want{era: EraLegacy}, want{era: EraModern}
	for name, c := range map[string]struct {
		stub stub
		want want
	}{
		"-32601":              {stub{}, legacy},
		"-32602":              {stub{Discover: "-32602"}, legacy},
		"-32600":              {stub{Discover: "-32600"}, legacy},
		"-32000":              {stub{Discover: "-32000"}, legacy},
		"0":                   {stub{Discover: "0"}, legacy},
		"an error without id": {stub{Discover: "null id"}, legacy},
		"silence":             {stub{Discover: "silence"}, legacy},
		"no versions":         {stub{Discover: "odd result"}, legacy},
		"an odd error":        {stub{Discover: "odd error"}, legacy},
		"neither":             {stub{Discover: "neither"}, legacy},
		"exit":                {stub{Discover: "exit"}, legacy},
		"noise":               {stub{Noise: true}, legacy},
		"modern":              {stub{Discover: "result", Supported: []string{"2026-07-28"}, Modern: true}, modern},
		"modern and noise":    {stub{Discover: "result", Supported: []string{"2026-07-28"}, Modern: true, Noise: true}, modern},
		"both eras":           {stub{Discover: "result", Supported: []string{"2025-11-25", "2026-07-28"}}, modern},
		"older ones only":     {stub{Discover: "result", Supported: []string{"2025-11-25"}}, legacy},
		"later ones only": {
			stub{Discover: "result", Supported: []string{"2099-01-01"}, Modern: true},
			want{err: "it has 2099-01-01; this client has 2026-07-28, 2025-11-25"},
		},
		"-32022 with ours":          {stub{Discover: "refuse", Supported: []string{"2026-07-28"}, Modern: true}, modern},
		"-32022 with an older one":  {stub{Discover: "refuse", Supported: []string{"2025-06-18"}}, legacy},
		"-32022 with a foreign one": {stub{Discover: "refuse", Supported: []string{"2031-01-01"}}, want{err: "it has 2031-01-01; this"}},
		"-32022 without any":        {stub{Discover: "-32022"}, want{err: "none that it would name"}},
		"-32021":                    {stub{Discover: "-32021"}, want{err: "code -32021"}},
		"-32020":                    {stub{Discover: "-32020"}, want{err: "code -32020"}},
		"at once the end":           {stub{Early: "no licence"}, want{err: "has ended (exit status 3); its last words on stderr: no licence"}},
		"no handshake":              {stub{InitHangs: true}, want{err: "it was not ready in time"}},
		"no handshake, modern":      {stub{Modern: true}, want{err: "this server speaks 2026-07-28 only"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c.stub.Dir = dir
			o, _ := logged()
			if c.stub.Discover == "silence" {
				o.Probe = 300 * time.Millisecond
			}
			if c.stub.InitHangs {
				o.Setup, o.Probe = time.Second, 500*time.Millisecond
			}
			client, err := Connect(t.Context(), c.stub.server(t), o)
			if c.want.err != "" {
				require.ErrorContains(t, err, c.want.err)
				require.ErrorContains(t, err, "connecting to MCP server shop")
				requireNobody(t, dir)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want.era, client.Era())
			got := run(t, tools(t, client)["quick"], `{}`)
			assert.Equal(t, loop.Result{CallID: "call_1_1", Content: loop.Blocks{loop.Text{Text: "done"}}}, got)
			require.NoError(t, client.Close())

			in, err := os.ReadFile(filepath.Join(dir, "in"))
			require.NoError(t, err)
			calls := string(in)
			if c.want.era == EraModern {
				assert.NotContains(t, calls, `"initialize"`)
				assert.Equal(t, modernVersion, client.Version())
				for line := range strings.Lines(calls) {
					assert.Contains(t, line, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`)
				}
				return
			}
			assert.Equal(t, legacyVersion, client.Version())
			assert.Equal(t, "be kind", client.Instructions())
			assert.Equal(t, 1, strings.Count(calls, `"notifications/initialized"`))
			_, after, _ := strings.Cut(calls, `"notifications/initialized"`)
			assert.NotContains(t, after, "io.modelcontextprotocol/")
		})
	}
}

// TestLateDiscover: a modern server that is slow to start is modern all the same.
func TestLateDiscover(t *testing.T) {
	t.Parallel()
	s := modern().server(t)
	s.Args = []string{"-c", `sleep 0.5; exec "$0"`, s.Command}
	s.Command = "sh"
	c := open(t, s, Options{Probe: 50 * time.Millisecond})
	assert.Equal(t, EraModern, c.Era())
}

// TestLostDiscover: a modern server that never saw what it was asked first, while it started, is modern all the same.
func TestLostDiscover(t *testing.T) {
	t.Parallel()
	s := modern().server(t)
	started := filepath.Join(t.TempDir(), "started")
	s.Args = []string{"-c", `if [ ! -e "$1" ]; then : >"$1"; read -r lost; fi; exec "$0"`, s.Command, started}
	s.Command = "sh"
	c := open(t, s, Options{Probe: 50 * time.Millisecond})
	assert.Equal(t, EraModern, c.Era())
}

// TestChangedDiscover: a server that answers the probe late and is another one when it is started again is taken as it is then.
func TestChangedDiscover(t *testing.T) {
	t.Parallel()
	before := modern()
	now := (&stub{}).server(t)
	now.Args = []string{
		"-c", `if [ ! -e "$1" ]; then : >"$1"; export "$2"; sleep 0.5; fi; exec "$0"`, now.Command,
		filepath.Join(t.TempDir(), "started"), stubVar + "=" + before.server(t).Env[stubVar],
	}
	now.Command = "sh"
	c := open(t, now, Options{Probe: 50 * time.Millisecond})
	assert.Equal(t, EraLegacy, c.Era())
}

// TestLostDiscoverOfAnother: where no version is common, that is the reason, also of a server that missed the probe first.
func TestLostDiscoverOfAnother(t *testing.T) {
	t.Parallel()
	s := (&stub{Discover: "refuse", Supported: []string{"2031-01-01"}, Modern: true}).server(t)
	started := filepath.Join(t.TempDir(), "started")
	s.Args = []string{"-c", `if [ ! -e "$1" ]; then : >"$1"; read -r lost; fi; exec "$0"`, s.Command, started}
	s.Command = "sh"
	_, err := Connect(t.Context(), s, Options{Probe: 50 * time.Millisecond})
	require.ErrorContains(t, err, "it has 2031-01-01; this client has 2026-07-28, 2025-11-25")
	require.ErrorIs(t, err, ErrVersion)
}

func TestConnectRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server Server
		err    string
	}{
		"no name":         {Server{Command: "true"}, "it has no name"},
		"no command":      {Server{Name: "shop"}, "it has no command"},
		"unknown command": {Server{Name: "shop", Command: "no-such-command-here"}, "no-such-command-here"},
		"no folder":       {Server{Name: "shop", Command: "true", Dir: "/no/such/folder"}, "no such file"},
		"no server":       {Server{Name: "shop", Command: "true"}, "has ended (exit status 0)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Connect(t.Context(), c.server, Options{})
			require.ErrorContains(t, err, c.err)
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Connect(ctx, Server{Name: "shop", Command: "true"}, Options{})
	require.ErrorIs(t, err, context.Canceled)
}

// TestStalledServer is a part of case C004: a server that never answers is given up in time, and says what it said.
func TestStalledServer(t *testing.T) {
	t.Parallel()
	_, err := Connect(t.Context(), Server{Name: "shop", Command: "sh", Args: []string{"-c", "echo no key >&2; sleep 99"}},
		Options{Setup: 400 * time.Millisecond})
	require.ErrorIs(t, err, ErrTimeout)
	require.ErrorContains(t, err, "no key")
}

// TestTimeEndsInTheProbe: where starting a server takes so long that the time ends before the probe's does, the error says
// the same.
func TestTimeEndsInTheProbe(t *testing.T) {
	t.Parallel()
	o := Options{Setup: 400 * time.Millisecond}.withDefaults()
	o.Probe = time.Hour
	s := Server{Name: "shop", Command: "sh", Args: []string{"-c", "echo no key >&2; sleep 99"}}
	_, _, err := connect(t.Context(), s.withTimes(), o)
	require.ErrorIs(t, err, ErrTimeout)
	require.ErrorContains(t, err, "no key")
}

// TestPages is case C039.
func TestPages(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	items := func(from, to int) []string {
		var out []string
		for i := from; i < to; i++ {
			out = append(out, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, i))
		}
		return out
	}
	pages := func(fails int, last *string) []page {
		return []page{
			{Items: items(0, 50), Next: text("c 1/é")},
			{Cursor: text("c 1/é"), Items: items(50, 100), Next: text(""), Fails: fails},
			{Cursor: text(""), Items: items(100, 101), Next: last},
		}
	}
	for name, c := range map[string]struct {
		pages []page
		n     int
		err   string
	}{
		"three":                      {pages(0, nil), 101, ""},
		"the second fails once":      {pages(1, nil), 101, ""},
		"the second fails twice":     {pages(2, nil), 101, ""},
		"the second fails again":     {pages(4, nil), 0, "try again"},
		"a cursor comes again":       {pages(0, text("c 1/é")), 101, ""},
		"the last cursor is unknown": {pages(0, text("gone")), 0, "bad cursor"},
	} {
		for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
			t.Run(name+" "+era, func(t *testing.T) {
				t.Parallel()
				s.Pages = append([]page(nil), c.pages...)
				list, err := open(t, s.server(t), Options{}).Tools(t.Context())
				if c.err != "" {
					require.ErrorContains(t, err, c.err)
					return
				}
				require.NoError(t, err)
				require.Len(t, list, c.n)
				for i, tool := range list {
					assert.Equal(t, fmt.Sprintf("shop__t%d", i), tool.Spec().Name)
				}
			})
		}
	}
}

func TestSpecs(t *testing.T) {
	t.Parallel()
	s := &stub{Tools: []string{
		`{"name":"add","title":"Add it","description":"Adds.","inputSchema":{"type": "object", "x-n": 12345678901234567890},"_meta":{"dev.cartagent/idempotencyKey":true}}`,
		`{"name":"get","inputSchema":{},"annotations":{"readOnlyHint":true,"title":"Get it"}}`,
		`{"name":"any","inputSchema":true}`,
		`{"name":"null","inputSchema":null}`,
		`{"name":"none"}`,
		`{"name":"list","inputSchema":[]}`,
		`{"name":"far","inputSchema":{"$ref":"https://example.com/s.json"}}`,
		`{"name":"loop","inputSchema":{"$ref":"#"}}`,
		`{"name":"text","inputSchema":{"type":"string"}}`,
		`{"name":"file","inputSchema":{"properties":{"a":{"$ref":"other.json"}}}}`,
		`{"name":"odd","inputSchema":{},"annotations":{"readOnlyHint":"yes"}}`,
		`{"name":"","inputSchema":{}}`,
		`{"name":"add","inputSchema":{}}`,
		`{"name":7,"inputSchema":{}}`,
		`"what"`,
		`{"name":"cart.add","inputSchema":{"type":"object"}}`,
	}}
	for _, trusted := range []bool{false, true} {
		o, logs := logged()
		server := s.server(t)
		server.Trusted = trusted
		list, err := open(t, server, o).Tools(t.Context())
		require.NoError(t, err)
		var specs []loop.Spec
		for _, tool := range list {
			spec := tool.Spec()
			require.NotZero(t, spec.Fingerprint)
			spec.Fingerprint = loop.Fingerprint{} // see TestFingerprints
			specs = append(specs, spec)
		}
		get := loop.Spec{
			Name: "shop__get", Title: "Get it", Schema: json.RawMessage(`{}`), Kind: loop.KindOther, Parallel: true,
		}
		if trusted {
			get.ReadOnly, get.Default = true, loop.Allow
		}
		assert.Equal(t, []loop.Spec{
			{
				Name: "shop__add", Title: "Add it", Description: "Adds.", Kind: loop.KindOther, Parallel: true, Keyed: true,
				Schema: json.RawMessage(`{"type": "object", "x-n": 12345678901234567890}`),
			},
			get,
			{Name: "shop__any", Schema: json.RawMessage(`{"type":"object"}`), Kind: loop.KindOther, Parallel: true},
			{
				Name: ToolName("shop", "cart.add"), Schema: json.RawMessage(`{"type":"object"}`), Kind: loop.KindOther,
				Parallel: true,
			},
		}, specs)
		assert.Equal(t, 12, strings.Count(logs.String(), "tool left out"), logs.String())
	}
}

func TestResources(t *testing.T) {
	t.Parallel()
	for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c := open(t, s.server(t), Options{})
			list, err := c.Resources(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []Resource{{URI: "menu://today", Name: "menu", Size: 12}}, list)
			want := loop.Blocks{
				loop.Resource{URI: "menu://today", MIME: "text/plain", Text: "latte"},
				loop.Resource{URI: "menu://today", Blob: []byte{0, 1}},
			}
			for range 2 {
				got, err := c.ReadResource(t.Context(), "menu://today")
				require.NoError(t, err)
				assert.Equal(t, want, got)
			}

			read := ReadTool(func() map[string]*Client { return map[string]*Client{"shop": c} })
			call := loop.Call{ID: "c", Args: json.RawMessage(`{"server":"shop","uri":"menu://today"}`)}
			p, err := read.Preview(t.Context(), call)
			require.NoError(t, err)
			assert.Equal(t, loop.Preview{Title: "Read menu://today (shop)"}, p)
			got, err := read.Run(t.Context(), loop.Job{Call: call, Preview: p}, nil)
			require.NoError(t, err)
			assert.Equal(t, loop.Result{CallID: "c", Content: want}, got)

			call.Args = json.RawMessage(`{"server":"shop","uri":"menu://x"}`)
			_, err = read.Run(t.Context(), loop.Job{Call: call}, nil)
			require.ErrorContains(t, err, "code -32602")
			require.ErrorContains(t, err, "its resources are: menu://today")
			for args, want := range map[string]string{
				`{"server":"other","uri":"x"}`: `no MCP server is called "other"; there are: shop`,
				`{"server":7}`:                 "server and uri, both strings",
			} {
				call.Args = json.RawMessage(args)
				_, err = read.Preview(t.Context(), call)
				require.ErrorContains(t, err, want)
			}
		})
	}
	_, err := ReadTool(func() map[string]*Client { return nil }).Preview(t.Context(), loop.Call{Args: json.RawMessage(`{}`)})
	require.ErrorContains(t, err, "no MCP server is connected")
}

// TestCart orders at the real cart, in both eras.
func TestCart(t *testing.T) {
	t.Parallel()
	exe, err := os.Executable()
	require.NoError(t, err)
	for _, era := range []string{EraModern, EraLegacy} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			c := open(t, Server{Name: "cart", Command: exe, Env: map[string]string{cartVar: era}}, Options{})
			assert.Equal(t, EraModern, c.Era(), "a cart that has both eras is spoken to in the later one")
			all := tools(t, c)
			order := run(t, all["create_order"], `{}`)
			require.False(t, order.Failed, "%v", order)
			var made struct {
				Order string `json:"order"`
			}
			require.NoError(t, json.Unmarshal(order.Raw, &made))
			added := run(t, all["add_item"], fmt.Sprintf(`{"order":%q,"item":"latte","size":"large"}`, made.Order))
			require.False(t, added.Failed, "%v", added)
			var total struct {
				Cents int `json:"totalCents"`
			}
			require.NoError(t, json.Unmarshal(added.Raw, &total))
			assert.Positive(t, total.Cents)
			menu, err := c.ReadResource(t.Context(), "menu://today")
			require.NoError(t, err)
			assert.NotEmpty(t, menu)
			_, err = all["add_item"].Preview(t.Context(), loop.Call{Args: json.RawMessage(`{"item":3}`)})
			require.Error(t, err)
		})
	}
}

// The era of a server is remembered: one of the handshake era is not probed again, one that has become modern meanwhile is
// found out.
func TestErasAreRemembered(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	discovers := func() int {
		data, err := os.ReadFile(filepath.Join(dir, "in"))
		require.NoError(t, err)
		return strings.Count(string(data), methodDiscover)
	}
	o := Options{Eras: NewEras()}
	legacy := (&stub{Dir: dir}).server(t)
	require.Equal(t, EraLegacy, open(t, legacy, o).Era())
	require.Equal(t, EraLegacy, open(t, legacy, o).Era())
	assert.Equal(t, 1, discovers())

	s := modern()
	s.Dir = dir
	changed := s.server(t) // the same command, with another environment
	require.Equal(t, EraModern, open(t, changed, o).Era())
	require.Equal(t, EraModern, open(t, changed, o).Era())
	assert.Equal(t, 3, discovers())
	require.Equal(t, EraLegacy, open(t, legacy, o).Era())
	require.Equal(t, EraLegacy, open(t, legacy, o).Era())
	assert.Equal(t, 4, discovers())

	web := (&web{Legacy: true}).start(t)
	for range 3 {
		require.Equal(t, EraLegacy, open(t, web.server(), o).Era())
	}
	assert.Len(t, web.all(methodDiscover), 1)
}
