package mcpclient

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What went wrong with a server at a URL names it where it was connected and where it failed, and not once more.
func TestErrorsNameTheServerOnce(t *testing.T) {
	t.Parallel()
	refuses := (&web{On: map[string]func(http.ResponseWriter, *got){
		methodDiscover: func(w http.ResponseWriter, _ *got) { w.WriteHeader(http.StatusUnauthorized) },
	}}).start(t).server()
	refuses.Name = "cafe-7"
	gone := refuses
	gone.URL = "http://127.0.0.1:1/mcp"
	for name, row := range map[string]struct {
		server Server
		is     error
	}{"refused": {refuses, ErrAuth}, "not there": {gone, ErrUnreachable}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Connect(t.Context(), row.server, Options{})
			require.ErrorIs(t, err, row.is)
			assert.True(t, strings.HasPrefix(err.Error(), "connecting to MCP server cafe-7: server cafe-7: "+row.is.Error()), err.Error())
		})
	}
}
