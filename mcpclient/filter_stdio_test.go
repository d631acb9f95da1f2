//go:build unix

package mcpclient

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the person does not want of a server is no tool of it.
func TestToolsAreFiltered(t *testing.T) {
	t.Parallel()
	s := stub{Dir: t.TempDir()}
	server := s.server(t)
	o, _ := logged()
	all, err := Connect(t.Context(), server, o)
	require.NoError(t, err)
	require.Contains(t, tools(t, all), "quick")
	require.NoError(t, all.Close())

	server.Allow, server.Deny = []string{"quick", "slo*"}, []string{"slow"}
	some, err := Connect(t.Context(), server, o)
	require.NoError(t, err)
	assert.Equal(t, []string{"quick"}, slices.Sorted(maps.Keys(tools(t, some))))
	require.NoError(t, some.Close())
}
