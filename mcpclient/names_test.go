//go:build unix

package mcpclient

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestNamesInUse is case C035 through servers: two of one name, with tools whose names fit nowhere. Each tool that there is
// reaches the model by a name of its own, and its call reaches the server by the name that it has there.
func TestNamesInUse(t *testing.T) {
	t.Parallel()
	long, full := strings.Repeat("n", 128), strings.Repeat("n", 64)
	names := []string{"cart.add", "cart_add", "cart/add", "購入", long, full, "Read", "read", "", "Add", "add", "ADD", "terminal", "mcp_read", "read"}
	entries := func(names []string) []string {
		var out []string
		for _, n := range names {
			name, err := json.Marshal(n)
			require.NoError(t, err)
			out = append(out, `{"name":`+string(name)+`,"inputSchema":{"type":"object"}}`)
		}
		return out
	}
	reversed := func() (out []string) {
		for _, n := range names {
			out = append([]string{n}, out...)
		}
		return out
	}()
	first, second := modern(), &stub{}
	first.Tools, second.Tools = entries(names), entries(reversed)
	a, b := first.server(t), second.server(t)
	a.Name, b.Name = "Shop & Co.", "Shop & Co."
	o, logs := logged()
	exposed := map[string]string{}
	servers := Unique([]Server{a, b})
	for _, s := range servers {
		list, err := open(t, s, o).Tools(t.Context())
		require.NoError(t, err)
		assert.Len(t, list, 13, "all but the one without a name, and the second of one name")
		for _, tool := range list {
			own, ok := tool.(*Tool)
			require.True(t, ok)
			name := own.Spec().Name
			assert.Regexp(t, `^[A-Za-z0-9_-]{1,64}$`, name)
			assert.Contains(t, name, joint, "no tool of ours has that")
			assert.NotContains(t, exposed, name)
			exposed[name] = own.Server() + " " + own.Original()
			assert.Equal(t, ToolName(own.Server(), own.Original()), name, "it depends on nothing else")
			_, err := own.Run(t.Context(), job(`{}`), nil)
			require.ErrorContains(t, err, "unknown tool: "+printable(own.Original(), 128))
		}
	}
	assert.Len(t, exposed, 26)
	assert.Equal(t, 4, strings.Count(logs.String(), "tool left out"))
	assert.Equal(t, "Shop & Co.-2", servers[1].Name)
}

func TestMeant(t *testing.T) {
	t.Parallel()
	servers := []string{"tea  house", "Tea House", "a__b", "日本 店", "shop"}
	for name, want := range map[string]string{
		"shop": "shop", "Tea House": "Tea House", "Tea_House": "Tea House", "tea_house": "tea  house", "a_b": "a__b", "日本_店": "日本 店", "x": "日本 店",
		"tea": "", "": "",
	} {
		got, ok := Meant(servers, name)
		assert.Equal(t, want, got, name)
		assert.Equal(t, want != "", ok, name)
	}
	assert.Equal(t, "日本_店", Typed("日本 店"))
}

// A person sees whose a question is, also where the name of the tool does not tell.
func TestQuestionsNameTheirServer(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 16)
	for server, want := range map[string]string{
		"Tea House": "Which size?", "a.b": "Which size?", "日本 店": "日本 店 asks: Which size?", long: long + " asks: Which size?",
	} {
		_, _, offered := inMemory(t, EraModern, Server{Name: server}, Options{Asks: true}, func(w *memory, r *request) {
			w.result(r, `{"resultType":"input_required","inputRequests":{"size":`+sizeForm+`}}`)
		})
		_, err := offered["slow"].Run(t.Context(), job(`{}`), nil)
		assert.Equal(t, want, needed(t, err).Message)
	}
}
