package interop

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cartagent/cartagent/internal/mcptest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// newWorld is a place for an agent whose model calls what prompts say.
func newWorld(t *testing.T) *world {
	t.Helper()
	cwd, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	return &world{t: t, cwd: cwd, env: startToolModel(t).environ(environ(t, "0s"))}
}

// shows is a client that can show pages.
func shows() object { return object{"elicitation": object{"url": object{}}} }

// signIn opens a session with the shop for who can show pages, and signs in when the page comes.
func signIn(w *world, shop *mcptest.Shop) *session {
	w.t.Helper()
	return signInBy(w.spawn(shows()), w, shop)
}

func signInBy(p *peer, w *world, shop *mcptest.Shop) *session {
	w.t.Helper()
	s := p.hello().open(w.cwd, httpServer("shop", shop.URL))
	turn := s.begin("/mcp")
	s.until("the sign-in page", func() bool { return len(s.pages) > 0 })
	at := s.pages[0]
	assert.Equal(w.t, "The MCP server shop wants you to sign in.", at.Message)
	assert.True(w.t, strings.HasPrefix(at.URL, strings.TrimSuffix(shop.URL, "/mcp")+"/authorize?"), at.URL)
	said, err := mcptest.Visit(w.t.Context(), at.URL)
	require.NoError(w.t, err)
	assert.Contains(w.t, said, "Signed in")
	s.until("the end of the page", func() bool { return slices.Contains(s.closed, at.ElicitationID) })
	s.ended(turn, "end_turn")
	s.state("shop", "connected")
	return s
}

// state waits until /mcp says that of a server, and gives the line.
func (s *session) state(server, want string) string {
	s.t.Helper()
	var line string
	for range 1000 {
		said := textOf(s.prompt("/mcp"))
		at := strings.Index(said, "| "+server+" |")
		require.GreaterOrEqual(s.t, at, 0, "%s is not in %s", server, said)
		line, _, _ = strings.Cut(said[at:], "\n")
		if !strings.Contains(line, "connecting") {
			break
		}
	}
	require.Contains(s.t, line, want)
	return line
}

// A server that wants a token: the person signs in at a page that their client shows, the page is closed, and the tool is
// called. The token is stored, so another process needs neither page nor person.
func TestSignIn(t *testing.T) {
	t.Parallel()
	w, shop := newWorld(t), mcptest.NewShop(t)
	s := signIn(w, shop)
	assert.Contains(t, textOf(s.prompt("call shop__buy {}")), "result: sale 1")
	assert.Len(t, s.pages, 1)
	s.end()
	assert.Equal(t, mcptest.Counts{Clients: 1, Pages: 1, Codes: 1, Sales: 1}, shop.Counts())

	stored, err := filepath.Glob(filepath.Join(variable(w, "CARTAGENT_STATE_DIR"), "mcp-auth", "*.json"))
	require.NoError(t, err)
	require.Len(t, stored, 1)
	info, err := os.Stat(stored[0])
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	again := w.open(httpServer("shop", shop.URL))
	again.state("shop", "connected")
	assert.Contains(t, textOf(again.prompt("call shop__buy {}")), "result: sale 2")
	again.end()
	assert.Equal(t, mcptest.Counts{Clients: 1, Pages: 1, Codes: 1, Sales: 2}, shop.Counts())
	for _, secret := range shop.Secrets() {
		assert.NotContains(t, w.stderr.String(), secret)
	}
}

// A client that opens the page at once, and whose person is back from it before it has said so: it is told all the same that
// the page is done.
func TestSignInBeforeTheClientAnswers(t *testing.T) {
	t.Parallel()
	w, shop := newWorld(t), mcptest.NewShop(t)
	p := w.spawn(shows())
	p.consent = silence
	s := signInBy(p, w, shop)
	assert.Contains(t, textOf(s.prompt("call shop__buy {}")), "result: sale 1")
}

// A token that has run out is renewed, whether its end was foreseen or the server says so, without the person. Where it
// cannot be renewed, they sign in again.
func TestSignInLasts(t *testing.T) {
	t.Parallel()
	t.Run("its end is foreseen", func(t *testing.T) {
		t.Parallel()
		w, shop := newWorld(t), mcptest.NewShop(t)
		shop.Live(5) // less than what is left to a token that is still used
		signIn(w, shop).end()
		before := shop.Counts().Renewals
		shop.Live(3600)
		s := w.open(httpServer("shop", shop.URL))
		s.state("shop", "connected")
		assert.Contains(t, textOf(s.prompt("call shop__buy {}")), "result: sale 1")
		assert.Equal(t, mcptest.Counts{Clients: 1, Pages: 1, Codes: 1, Renewals: before + 1, Sales: 1}, shop.Counts())
	})
	t.Run("in the middle of a session", func(t *testing.T) {
		t.Parallel()
		w, shop := newWorld(t), mcptest.NewShop(t)
		s := signIn(w, shop)
		shop.Revoke(false)
		assert.Contains(t, textOf(s.prompt("call shop__buy {}")), "result: sale 1")
		assert.Equal(t, mcptest.Counts{Clients: 1, Pages: 1, Codes: 1, Renewals: 1, Sales: 1}, shop.Counts())
	})
	t.Run("altogether", func(t *testing.T) {
		t.Parallel()
		w, shop := newWorld(t), mcptest.NewShop(t)
		signIn(w, shop).end()
		shop.Revoke(true)
		s := signIn(w, shop)
		assert.Contains(t, textOf(s.prompt("call shop__buy {}")), "result: sale 1")
		assert.Equal(t, mcptest.Counts{Clients: 2, Pages: 2, Codes: 2, Sales: 1}, shop.Counts())
	})
}

// Who cannot or does not want to sign in learns from /mcp why the server is not there, and what to do; the rest works.
func TestNotSignedIn(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		caps    object
		refuses bool
		want    []string
	}{
		"a client without pages": {object{}, false, []string{"this client cannot show the page", "run `cartagent mcp list` once in a terminal"}},
		"declined":               {shows(), true, []string{"the user declined", "start a new session"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, shop := newWorld(t), mcptest.NewShop(t)
			p := w.spawn(row.caps)
			if row.refuses {
				p.consent = "decline"
			}
			s := p.hello().open(w.cwd, httpServer("shop", shop.URL))
			line := s.state("shop", "failed")
			for _, want := range row.want {
				assert.Contains(t, line, want)
			}
			assert.Contains(t, textOf(s.prompt("hello")), "The MCP server shop is not available")
			assert.Len(t, s.pages, map[bool]int{true: 1, false: 0}[row.refuses])
			assert.Zero(t, shop.Counts().Codes)
			assert.Equal(t, len(s.pages), shop.Counts().Clients, "it introduces itself only where somebody can sign in")
		})
	}
}

// variable is the value of a variable of the agent's.
func variable(w *world, name string) string {
	for _, v := range slices.Backward(w.env) {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
