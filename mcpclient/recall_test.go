package mcpclient

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gated is a server that starts once the file is there.
func gated(t *testing.T, s Server) (Server, string) {
	t.Helper()
	gate := filepath.Join(t.TempDir(), "gate")
	s.Args, s.Command = []string{"-c", `while ! [ -e "$1" ]; do sleep 0.02; done; exec "$2"`, "sh", gate, s.Command}, "sh"
	return s, gate
}

func specsOf(tools []loop.Tool) []loop.Spec {
	var out []loop.Spec
	for _, t := range tools {
		out = append(out, t.Spec())
	}
	return out
}

// In a later process the tools of a server that is late are those that the session was offered; a call waits for the
// server. Once it is there its tools are what it says.
func TestALateServerKeepsItsTools(t *testing.T) {
	t.Parallel()
	server := modern().server(t)
	before := specsOf(hosted(t, HostOptions{}, server).Tools())
	gone := loop.Spec{Name: "shop__gone", Description: "It was there once.", Schema: []byte(`{"type":"object"}`)}
	other := loop.Spec{Name: "shop2__quick", Schema: []byte(`{"type":"object"}`)}
	late, gate := gated(t, server)
	h := NewHost(HostOptions{Options: withTime(Options{}), Known: append([]loop.Spec{{Name: "read"}, gone, other}, before...)})
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	h.Add(late)
	shelf := NewShelf(h, Budget{Tools: 1})
	offered := shelf.Tools()
	assert.Equal(t, append([]loop.Spec{gone}, before...), specsOf(offered))
	assert.False(t, h.Has("quick"), "it is not there")
	quick := hostTool(t, h, "quick")

	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	call := loop.NewCall("call_1_1", "shop__quick", `{}`)
	p, err := quick.Preview(t.Context(), call)
	require.NoError(t, err)
	assert.Empty(t, p.Caution)
	r, err := quick.Run(t.Context(), loop.Job{Call: call, Preview: p}, nil)
	require.NoError(t, err)
	assert.Equal(t, "done", text(r))
	_, err = offered[0].Preview(t.Context(), loop.NewCall("call_1_2", "shop__gone", `{}`))
	require.ErrorContains(t, err, "the MCP server shop has no tool gone any more")
	assert.Equal(t, before, specsOf(shelf.Tools()))
	assert.True(t, h.Has("quick"))
}

// A server that does not come keeps its tools too, and they say why.
func TestAServerThatDoesNotComeKeepsItsTools(t *testing.T) {
	t.Parallel()
	server := modern().server(t)
	before := specsOf(hosted(t, HostOptions{}, server).Tools())
	server.Command = filepath.Join(t.TempDir(), "no such server")
	h := hosted(t, HostOptions{Known: before}, server)
	assert.Equal(t, before, specsOf(NewShelf(h, Budget{}).Tools()))
	_, err := hostTool(t, h, "quick").Preview(t.Context(), loop.NewCall("c", "shop__quick", `{}`))
	require.ErrorContains(t, err, "the MCP server shop is not available")
}

// What has changed since the session was offered it asks, also where the change came with the process.
func TestARecalledToolThatHasChangedAsks(t *testing.T) {
	t.Parallel()
	server := modern().server(t)
	before := specsOf(hosted(t, HostOptions{}, server).Tools())
	for i := range before {
		before[i].Fingerprint.Description = "of another text"
	}
	late, gate := gated(t, server)
	h := NewHost(HostOptions{Options: withTime(Options{}), Known: before})
	t.Cleanup(func() { assert.NoError(t, h.Close()) })
	h.Add(late)
	quick := hostTool(t, h, "quick")
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	require.True(t, h.Settle(t.Context()))
	p, err := quick.Preview(t.Context(), loop.NewCall("c", "shop__quick", `{}`))
	require.NoError(t, err)
	assert.Equal(t, "the server has changed the tool's description since it was listed", p.Caution)
	p, err = hostTool(t, h, "quick").Preview(t.Context(), loop.NewCall("c", "shop__quick", `{}`))
	require.NoError(t, err)
	assert.Empty(t, p.Caution, "the next turn knows what it says now")
}

// A log may be of somebody else: what it says of a tool lets nothing happen unasked.
func TestALogAllowsNothing(t *testing.T) {
	t.Parallel()
	free := loop.Spec{Name: "shop__quick", Schema: []byte(`{"type":"object"}`), Default: loop.Allow, ReadOnly: true}
	for _, trusted := range []bool{false, true} {
		h := NewHost(HostOptions{Known: []loop.Spec{free}})
		h.Add(Server{Name: "shop", Command: "sleep", Args: []string{"9999"}, Trusted: trusted})
		want := free
		if !trusted {
			want.Default, want.ReadOnly = loop.Ask, false
		}
		assert.Equal(t, []loop.Spec{want}, specsOf(h.Tools()), "trusted: %v", trusted)
		require.NoError(t, h.Close())
	}
}

func TestOriginalName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		server, tool string
	}{{"shop", "buy"}, {"shop", "buy__now"}, {"a b", "buy"}, {"a__b", "buy"}, {"shop", "a long name, " + string(make([]byte, 90))}} {
		name := ToolName(c.server, c.tool)
		tool, ours := originalName(c.server, name)
		assert.True(t, ours, name)
		if !marked.MatchString(name) {
			assert.Equal(t, c.tool, tool)
		}
		_, ours = originalName("another", name)
		assert.False(t, ours, name)
	}
}
