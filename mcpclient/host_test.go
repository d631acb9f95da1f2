//go:build unix

package mcpclient

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// hosted is a host of the servers, all of which have come or failed.
func hosted(t *testing.T, o HostOptions, servers ...Server) *Host {
	t.Helper()
	o.Options = withTime(o.Options)
	h := NewHost(o)
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	h.Add(servers...)
	require.True(t, h.Settle(t.Context()))
	return h
}

// soon starts a server again at once, twice at most.
func soon(n int) (time.Duration, bool) { return 0, n <= 2 }

// phase waits until the host's one server is in that phase, and gives its state.
func phase(t *testing.T, h *Host, want Phase) State {
	t.Helper()
	for {
		s := h.States()[0]
		if s.Phase == want {
			return s
		}
		select {
		case <-h.Changed():
		case <-t.Context().Done():
			require.Equal(t, want, s.Phase)
		}
	}
}

func hostTool(t *testing.T, h *Host, original string) loop.Tool {
	t.Helper()
	for _, tool := range h.Tools() {
		if r, ok := tool.(*remoteTool); ok && r.original == original {
			return tool
		}
	}
	require.Fail(t, "no such tool", original)
	return nil
}

func calls(t *testing.T, dir, tool string) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "in"))
	require.NoError(t, err)
	return strings.Count(string(data), `"name":"`+tool+`"`)
}

// A server that ends is started again. What was running has failed and is not sent again; what comes next works.
func TestAServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Dir = t.TempDir()
	h := hosted(t, HostOptions{Retry: soon}, s.server(t))
	assert.Equal(t, []State{{Name: "shop", Phase: PhaseConnected, Era: EraModern, Version: modernVersion, Tools: len(s.tools())}}, h.States())
	before := h.Tools()
	never, quick := hostTool(t, h, "never"), hostTool(t, h, "quick")
	failed := make(chan error)
	go func() {
		_, err := never.Run(t.Context(), job(`{}`), nil)
		failed <- err
	}()
	require.Eventually(t, func() bool { return calls(t, s.Dir, "never") == 1 }, time.Minute, 2*time.Millisecond)
	_, err := hostTool(t, h, "die").Run(t.Context(), job(`{}`), nil)
	require.ErrorIs(t, err, ErrEnded)
	require.ErrorIs(t, <-failed, ErrEnded)
	r, err := quick.Run(t.Context(), job(`{}`), nil) // it waits for the server
	require.NoError(t, err)
	assert.Equal(t, "done", text(r))
	assert.Empty(t, phase(t, h, PhaseConnected).Why)
	assert.Equal(t, before, h.Tools(), "the same tools, in the same places")
	assert.Equal(t, 1, calls(t, s.Dir, "die"))
	assert.Equal(t, 1, calls(t, s.Dir, "never"))
	require.Len(t, h.Clients(), 1)
}

// There is an end to starting a server again, and then its tools say why they do not work.
func TestAServerThatEndsTooOftenStaysAway(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Dir = t.TempDir()
	h := hosted(t, HostOptions{Retry: soon}, s.server(t))
	die := hostTool(t, h, "die")
	for range 3 {
		_, err := die.Run(t.Context(), job(`{}`), nil)
		require.ErrorIs(t, err, ErrEnded)
	}
	assert.Contains(t, phase(t, h, PhaseFailed).Why, "out of [31mmilk")
	_, err := hostTool(t, h, "quick").Run(t.Context(), job(`{}`), nil)
	require.ErrorContains(t, err, "the MCP server shop is not available: server shop has ended (exit status 5)")
	_, err = hostTool(t, h, "quick").Preview(t.Context(), loop.Call{})
	require.ErrorContains(t, err, "not available")
	assert.Empty(t, h.Clients())
	starts, err := os.ReadFile(filepath.Join(s.Dir, "pids"))
	require.NoError(t, err)
	assert.Equal(t, 3, strings.Count(string(starts), "\n"))
}

// A server that was steady for a while has all its starts again.
func TestASteadyServerIsForgiven(t *testing.T) {
	t.Parallel()
	h := hosted(t, HostOptions{Retry: soon, Steady: 1}, modern().server(t))
	die := hostTool(t, h, "die")
	for range 5 {
		_, err := die.Run(t.Context(), job(`{}`), nil)
		require.ErrorIs(t, err, ErrEnded)
	}
	phase(t, h, PhaseConnected)
}

// Servers do not wait for each other. One that is late joins with its tools at the end; one that never comes is not
// waited for by who does not want to, nor by Close.
func TestServersComeWhenTheyCome(t *testing.T) {
	t.Parallel()
	late := modern().server(t)
	late.Name = "late"
	gate := filepath.Join(t.TempDir(), "gate")
	late.Args, late.Command = []string{"-c", `while ! [ -e "$1" ]; do sleep 0.02; done; exec "$2"`, "sh", gate, late.Command}, "sh"
	silent := Server{Name: "silent", Command: "sleep", Args: []string{"9999"}}
	missing := Server{Name: "missing", Command: filepath.Join(t.TempDir(), "no such server")}
	h := NewHost(HostOptions{Options: Options{Setup: time.Hour}})
	h.Add(late, silent, missing, modern().server(t))
	shop, err := h.Client(t.Context(), "shop")
	require.NoError(t, err)
	assert.Equal(t, "shop", shop.Name())
	states := h.States()
	assert.Equal(t, PhaseConnecting, states[0].Phase)
	assert.Equal(t, PhaseConnecting, states[1].Phase)
	tools := h.Tools()
	own := len((&stub{}).tools())
	require.Len(t, tools, own)
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	_, err = h.Client(t.Context(), "late")
	require.NoError(t, err)
	require.Len(t, h.Tools(), 2*own)
	assert.Equal(t, tools, h.Tools()[:own], "what came late is at the end")
	_, err = h.Client(t.Context(), "missing")
	require.ErrorContains(t, err, "not available")
	_, err = h.Client(t.Context(), "nobody")
	require.ErrorContains(t, err, "there is no server nobody")
	short, cancel := context.WithCancel(t.Context())
	cancel()
	assert.False(t, h.Settle(short))
	assert.True(t, h.Has("quick"))
	assert.False(t, h.Has("slow"))
	require.NoError(t, h.Close())
	_, err = h.Tools()[0].Run(t.Context(), job(`{}`), nil)
	require.ErrorIs(t, err, ErrClosed)
}

// What a server offers may be other than before when it comes back. A tool that has changed asks whatever the rules say;
// one that is gone says so; a new one comes at the end.
func TestAServerComesBackWithOtherTools(t *testing.T) {
	t.Parallel()
	entry := func(name, about, schema string) string {
		return `{"name":"` + name + `","description":"` + about + `","inputSchema":` + schema + `,"annotations":{"readOnlyHint":true}}`
	}
	const object = `{"type":"object"}`
	s := modern()
	s.Dir = t.TempDir()
	s.Tools = []string{entry("die", "", object), entry("quick", "old words", object), entry("echo", "", object), entry("gone", "", object)}
	s.Later = []string{entry("big", "", object), entry("echo", "", `{"type":"object","required":["n"]}`), entry("quick", "new words", object), entry("die", "", object)}
	server := s.server(t)
	server.Trusted = true
	h := hosted(t, HostOptions{Retry: soon}, server)
	before := h.Tools()
	_, err := hostTool(t, h, "die").Run(t.Context(), job(`{}`), nil)
	require.ErrorIs(t, err, ErrEnded)
	_, err = h.Client(t.Context(), "shop")
	require.NoError(t, err)
	after := h.Tools()
	assert.Equal(t, before, after[:4])
	require.Len(t, after, 5)

	preview := func(tool, args string) (string, error) {
		p, err := hostTool(t, h, tool).Preview(t.Context(), loop.NewCall("call_1_1", tool, args))
		return p.Caution, err
	}
	caution, err := preview("die", `{}`)
	require.NoError(t, err)
	assert.Empty(t, caution)
	caution, err = preview("quick", `{}`)
	require.NoError(t, err)
	assert.Contains(t, caution, "changed the tool's description")
	_, err = preview("echo", `{}`)
	require.ErrorContains(t, err, "do not fit the schema", "what holds is what the server has now")
	caution, err = preview("echo", `{"n":1}`)
	require.NoError(t, err)
	assert.Contains(t, caution, "arguments")
	_, err = preview("gone", `{}`)
	require.ErrorContains(t, err, "the MCP server shop has no tool gone any more")
}

// A list that the server changes is read again: what is new is offered at the end, and a tool that is no longer what was
// offered asks the person, with what it says now.
func TestAServerChangesItsTools(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Caps, s.Listen = `{"tools":{"listChanged":true}}`, []string{"ack"}
	s.Tools = []string{`{"name":"say","inputSchema":{"type":"object"}}`, `{"name":"quick","description":"old words","inputSchema":{"type":"object"}}`}
	h := hosted(t, HostOptions{}, s.server(t))
	require.Len(t, h.Tools(), 2)
	quick := hostTool(t, h, "quick")
	p, err := quick.Preview(t.Context(), loop.NewCall("call_1_1", "quick", ""))
	require.NoError(t, err)
	assert.Empty(t, p.Caution)
	assert.Empty(t, p.Display)
	for len(h.Changed()) > 0 {
		<-h.Changed()
	}
	_, err = hostTool(t, h, "say").Run(t.Context(), job(`{"says":"notifications/tools/list_changed","tools":[`+
		`{"name":"quick","description":"new words","inputSchema":{"type":"object"}},{"name":"big","inputSchema":{"type":"object"}}]}`), nil)
	require.NoError(t, err)
	<-h.Changed()
	var names []string
	for _, tool := range h.Tools() {
		names = append(names, tool.Spec().Name)
	}
	assert.Equal(t, []string{"shop__say", "shop__quick", "shop__big"}, names)
	p, err = quick.Preview(t.Context(), loop.NewCall("call_1_2", "quick", ""))
	require.NoError(t, err)
	assert.Contains(t, p.Caution, "description")
	assert.Equal(t, loop.Blocks{loop.Text{
		Text: "The server shop has changed this tool since it was listed: its description. It now says: new words",
	}}, p.Display)
	_, err = hostTool(t, h, "say").Preview(t.Context(), loop.NewCall("call_1_3", "say", ""))
	require.ErrorContains(t, err, "has no tool say any more")
}

// What the person was asked about is what runs: a tool that becomes another one while the question is open is not called.
func TestAServerChangesAToolThatWaits(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Dir = t.TempDir()
	s.Tools = []string{`{"name":"say","inputSchema":{"type":"object"}}`, `{"name":"quick","description":"old","inputSchema":{"type":"object"}}`}
	at := &clock{now: time.Unix(0, 0)}
	h := hosted(t, HostOptions{Options: Options{Now: at.read}}, s.server(t))
	quick, waits := hostTool(t, h, "quick"), job(`{}`)
	waits.Call.ID, waits.Call.Tool = "call_2_1", "shop__quick"
	preview := func() {
		var err error
		waits.Preview, err = quick.Preview(t.Context(), waits.Call)
		require.NoError(t, err)
	}
	preview()
	_, err := hostTool(t, h, "say").Run(t.Context(), job(`{"tools":[{"name":"say","inputSchema":{"type":"object"}},`+
		`{"name":"quick","description":"new","annotations":{"destructiveHint":true},"inputSchema":{"type":"object"}}]}`), nil)
	require.NoError(t, err)
	at.pass(time.Minute) // in which the person thinks
	sent := s.sent(t, "tools/call")
	_, err = quick.Run(t.Context(), waits, nil)
	require.EqualError(t, err, "the MCP server shop has changed the tool's hints since this call was shown, so nothing was sent; "+
		"call again if it is still to be called")
	assert.Equal(t, sent, s.sent(t, "tools/call"))
	preview()
	_, err = hostTool(t, h, "say").Run(t.Context(), job(`{"tools":[`+
		`{"name":"quick","description":"newer","annotations":{"destructiveHint":true},"inputSchema":{"type":"object"}}]}`), nil)
	require.NoError(t, err)
	at.pass(time.Minute)
	_, err = quick.Run(t.Context(), waits, nil)
	require.NoError(t, err, "words alone hold nothing up")
}

// A result that would fill a model's window is cut, and that is told.
func TestHugeResults(t *testing.T) {
	t.Parallel()
	h := hosted(t, HostOptions{}, modern().server(t))
	r, err := hostTool(t, h, "big").Run(t.Context(), job(`{"n":262154}`), nil)
	require.NoError(t, err)
	assert.Equal(t, loop.Blocks{loop.Text{Text: strings.Repeat("x", 262144)}, loop.Text{Text: "(The result is larger than a session takes: " +
		"its last 10 bytes of text are left out here. Ask for less, or for the rest, if the server can do that.)"}}, r.Content)
	r, err = hostTool(t, h, "big").Run(t.Context(), job(`{"n":262144}`), nil)
	require.NoError(t, err)
	assert.Len(t, r.Content, 1)
}

func TestFitted(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("é", 99) + "\n" // 199 bytes
	picture := loop.Image{Data: []byte("png")}
	got := Fitted(loop.Blocks{
		loop.Text{Text: strings.Repeat(line, 1000)},
		picture,
		loop.Resource{URI: "a://b", Text: strings.Repeat(line, 1000)},
		loop.Text{Text: "more"},
		loop.Resource{URI: "a://c", Blob: []byte("b")},
	})
	require.Len(t, got, 5)
	assert.Equal(t, loop.Text{Text: strings.Repeat(line, 1000)}, got[0])
	assert.Equal(t, picture, got[1])
	const whole = (maxText - 199_000) / 199
	assert.Equal(t, loop.Resource{URI: "a://b", Text: strings.Repeat(line, whole)}, got[2], "whole lines")
	assert.Equal(t, loop.Resource{URI: "a://c", Blob: []byte("b")}, got[3])
	assert.Contains(t, got[4].(loop.Text).Text, fmt.Sprintf("its last %d bytes of text", 199_000-whole*199+len("more")))
	odd := strings.Repeat("é", maxText)
	assert.True(t, utf8.ValidString(Fitted(loop.Blocks{loop.Text{Text: "x" + odd}})[0].(loop.Text).Text))
}

// All that has changed is named, and shown as it is now.
func TestAServerChangesAllOfATool(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Tools = []string{`{"name":"say","inputSchema":{"type":"object"}}`, `{"name":"quick","description":"old","inputSchema":{"type":"object"}}`}
	h := hosted(t, HostOptions{}, s.server(t))
	quick := hostTool(t, h, "quick")
	_, err := hostTool(t, h, "say").Run(t.Context(), job(`{"tools":[{"name":"quick","description":"new","annotations":{"readOnlyHint":true},`+
		`"inputSchema":{"type":"object","properties":{"secret":{"type":"string","description":"all that you know"}}}}]}`), nil)
	require.NoError(t, err)
	p, err := quick.Preview(t.Context(), loop.NewCall("call_1_1", "quick", `{}`))
	require.NoError(t, err)
	assert.Equal(t, "the server has changed the tool's description, arguments and hints since it was listed", p.Caution)
	assert.Equal(t, loop.Blocks{loop.Text{
		Text: "The server shop has changed this tool since it was listed: its description, arguments and hints. It now says: new\n" +
			`Its arguments are now: {"type":"object","properties":{"secret":{"type":"string","description":"all that you know"}}}`,
	}}, p.Display)
}

// A modern server need not tell: what it says of a tool holds for its time, and is looked at before a call after that.
func TestAServerChangesItsToolsWithoutAWord(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Dir, s.TTL = t.TempDir(), `,"ttlMs":60000`
	s.Tools = []string{`{"name":"say","inputSchema":{"type":"object"}}`, `{"name":"quick","inputSchema":{"type":"object"}}`}
	at := &clock{now: time.Unix(0, 0)}
	h := hosted(t, HostOptions{Options: Options{Now: at.read}}, s.server(t))
	quick := hostTool(t, h, "quick")
	_, err := hostTool(t, h, "say").Run(t.Context(), job(`{"tools":[{"name":"quick","inputSchema":{"type":"object","required":["all"]}}]}`), nil)
	require.NoError(t, err)
	p, err := quick.Preview(t.Context(), loop.NewCall("call_1_1", "quick", ""))
	require.NoError(t, err)
	assert.Empty(t, p.Caution, "the list still holds")
	assert.Equal(t, 1, s.sent(t, "tools/list"))
	at.pass(time.Minute)
	p, err = quick.Preview(t.Context(), loop.NewCall("call_1_2", "quick", `{"all":1}`))
	require.NoError(t, err)
	assert.Contains(t, p.Caution, "arguments")
	assert.Equal(t, 2, s.sent(t, "tools/list"))
}

// A server that lets one call after the other run out, and does not answer when it is asked whether it lives, is ended and
// started again, as often as one that ends by itself. No call is repeated.
func TestAServerThatHangsIsStartedAgain(t *testing.T) {
	t.Parallel()
	for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s.Dir = t.TempDir()
			server := s.server(t)
			server.Timeout = time.Second
			again := make(chan struct{})
			h := hosted(t, HostOptions{Options: Options{Probe: time.Second}, Retry: func(n int) (time.Duration, bool) {
				<-again
				return 0, n <= 2
			}}, server)
			freeze, quick := hostTool(t, h, "freeze"), hostTool(t, h, "quick")
			_, err := freeze.Run(t.Context(), job(`{}`), nil)
			require.ErrorIs(t, err, ErrTimeout)
			for range 2 {
				_, err = quick.Run(t.Context(), job(`{}`), nil)
				require.ErrorIs(t, err, ErrTimeout)
			}
			assert.Contains(t, phase(t, h, PhaseRestarting).Why, "server shop hangs: it has let 3 requests in a row run out without a word")
			close(again)
			assert.Empty(t, phase(t, h, PhaseConnected).Why)
			require.Eventually(t, func() bool {
				r, err := quick.Run(t.Context(), job(`{}`), nil)
				return err == nil && text(r) == "done"
			}, time.Minute, time.Millisecond)
			assert.Equal(t, 1, calls(t, s.Dir, "freeze"))
		})
	}
}

// One whose tool never answers is left alone as long as it gives a sign of life.
func TestAServerWithASlowToolLives(t *testing.T) {
	t.Parallel()
	for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s.Dir = t.TempDir()
			server := s.server(t)
			server.Timeout = time.Second
			h := hosted(t, HostOptions{Options: Options{Probe: 5 * time.Second}, Retry: soon}, server)
			never := hostTool(t, h, "never")
			c := h.Clients()["shop"]
			heard := c.conn.heard.Load()
			for range maxUnheard {
				_, err := never.Run(t.Context(), job(`{}`), nil)
				require.ErrorIs(t, err, ErrTimeout)
			}
			require.Eventually(t, func() bool { return c.conn.heard.Load() > heard }, time.Minute, 2*time.Millisecond)
			require.Equal(t, "done", text(run(t, tools(t, c)["quick"], `{}`)))
			require.NoError(t, c.Err())
			starts, err := os.ReadFile(filepath.Join(s.Dir, "pids"))
			require.NoError(t, err)
			assert.Equal(t, 1, strings.Count(string(starts), "\n"))
		})
	}
}

// Calls that run out side by side count as one, and a word in between makes the server start afresh.
func TestUnheard(t *testing.T) {
	t.Parallel()
	c := newConn(Server{Name: "shop"}, Options{}.withDefaults())
	c.wire = &pipe{}
	now := time.Now()
	for range 5 {
		c.unheard(now, 0)
	}
	assert.Equal(t, 1, c.silence.times)
	c.unheard(time.Now(), 0)
	c.heard.Add(1)
	c.unheard(time.Now(), 0)
	assert.Zero(t, c.silence.times, "it said something meanwhile")
	for i := range maxUnheard {
		assert.Empty(t, c.mute)
		c.unheard(time.Now(), 1)
		assert.Equal(t, i+1, c.silence.times)
	}
	assert.Len(t, c.mute, 1)
	c.heard.Add(1)
	c.unheard(time.Now(), 2)
	assert.Equal(t, 1, c.silence.times, "it said something before")
	c = newConn(Server{Name: "shop"}, Options{}.withDefaults())
	c.wire = &remote{}
	for range 5 {
		c.unheard(time.Now(), 0)
	}
	assert.Empty(t, c.mute, "there is nothing to end")
}
