//go:build unix

package mcpclient

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// many is a server with n tools, and some that can be told apart.
func many(n int) *stub {
	s := modern()
	for i := range n {
		s.Tools = append(s.Tools, fmt.Sprintf(`{"name":"number_%d","description":"Says the number %d","inputSchema":{"type":"object"}}`, i, i))
	}
	s.Tools = append(
		s.Tools,
		`{"name":"createInvoice","description":"Makes out a bill.\nTo a customer.","inputSchema":{"type":"object","properties":{"customerName":{"type":"string"}}}}`,
		`{"name":"send-mail","title":"Write a letter","description":"Posts a message to somebody","inputSchema":{"type":"object"}}`,
	)
	return s
}

func shelfNames(s *Shelf) []string {
	var out []string
	for _, t := range s.Tools() {
		out = append(out, t.Spec().Name)
	}
	return out
}

func find(t *testing.T, s *Shelf, query string) string {
	t.Helper()
	args, err := json.Marshal(map[string]string{"query": query})
	require.NoError(t, err)
	tool := s.Tools()[0]
	require.Equal(t, searchName, tool.Spec().Name)
	call := loop.NewCall("call_1_1", searchName, string(args))
	p, err := tool.Preview(t.Context(), call)
	require.NoError(t, err)
	assert.Equal(t, "Search tools: "+query, p.Title)
	r, err := tool.Run(t.Context(), loop.Job{Call: call, Preview: p}, nil)
	require.NoError(t, err)
	return text(r)
}

// Within the budget all tools are offered; beyond it an index and a search, and a tool when it was found. What was offered
// keeps its place.
func TestShelf(t *testing.T) {
	t.Parallel()
	h := hosted(t, HostOptions{}, many(40).server(t))
	all := NewShelf(h, Budget{Tools: 42})
	assert.Len(t, all.Tools(), 42)
	assert.Empty(t, all.Index())

	for name, budget := range map[string]Budget{"too many": {Tools: 41}, "too long": {Bytes: 1000}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewShelf(h, budget)
			assert.Equal(t, []string{searchName}, shelfNames(s))
			assert.True(t, strings.HasPrefix(s.Index(), "shop: number_0, number_1, "), s.Index())
			assert.Contains(t, find(t, s, "an invoice for a customer"), "shop__createInvoice: Makes out a bill.\n")
			assert.Equal(t, []string{searchName, "shop__createInvoice"}, shelfNames(s))
			assert.Contains(t, find(t, s, "shop__number_7"), "shop__number_7: Says the number 7")
			assert.Contains(t, find(t, s, "letters"), "shop__send-mail")
			assert.Contains(t, find(t, s, "teleport"), "No tool that is not listed already fits")
			assert.Equal(t, "shop__number_7 is listed already.", find(t, s, "shop__number_7"))
			assert.Equal(t, []string{searchName, "shop__createInvoice", "shop__number_7", "shop__send-mail"}, shelfNames(s))
			found := find(t, s, "numbers")
			assert.Contains(t, found, "33 more fit less well")
			assert.Len(t, s.Tools(), 10)
			assert.NotContains(t, s.Index(), "createInvoice")
		})
	}
	t.Run("known", func(t *testing.T) {
		t.Parallel()
		before := []loop.Spec{{Name: "read"}, {Name: searchName}, {Name: "shop__send-mail"}}
		s := NewShelf(hosted(t, HostOptions{Known: before}, many(40).server(t)), Budget{Tools: 3})
		assert.Equal(t, []string{searchName, "shop__send-mail"}, shelfNames(s), "what was offered in another process is again")
	})
	t.Run("bad arguments", func(t *testing.T) {
		t.Parallel()
		tool := NewShelf(h, Budget{Tools: 3}).Tools()[0]
		for _, args := range []string{`{}`, `{"query":"  ?! "}`, `{"query":7}`, `[]`} {
			_, err := tool.Preview(t.Context(), loop.NewCall("c", searchName, args))
			require.Error(t, err, args)
		}
	})
}

// A server that comes late goes on the shelf where it would break the budget; what is offered already stays.
func TestShelfAndLateServers(t *testing.T) {
	t.Parallel()
	h := hosted(t, HostOptions{}, modern().server(t))
	s := NewShelf(h, Budget{Tools: 20})
	before := shelfNames(s)
	assert.Len(t, before, len((&stub{}).tools()))
	late := many(40).server(t)
	late.Name = "late"
	h.Add(late)
	require.True(t, h.Settle(t.Context()))
	assert.Equal(t, append([]string{searchName}, before...), shelfNames(s))
	assert.Contains(t, find(t, s, "bill"), "late__createInvoice")
	assert.Equal(t, "late__createInvoice", shelfNames(s)[len(before)+1])
}
