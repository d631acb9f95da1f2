package acp

import (
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A peer that does not read holds up no Close, and no Write after it.
func TestStdioThatNobodyReads(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer r.Close() //nolint:errcheck // it ends the write that is stuck
	rwc := Stdio(strings.NewReader(""), struct{ io.Writer }{w})
	done := make(chan error, 1)
	go func() {
		_, err := rwc.Write(make([]byte, 1<<20))
		done <- err
	}()
	require.NoError(t, rwc.Close())
	require.ErrorIs(t, <-done, ErrClosed)
	_, err = rwc.Write([]byte("x"))
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, w.Close())
}
