package main

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A log that may grow no more is as a full disk is, down to the write that goes in by half: the prompt fails and says why,
// what the client was told is there, nothing was done that the log does not announce, and with room again it goes on.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("cartagent-faulty")
	require.NoError(t, err)
	for _, limit := range []int{6, 8, 11, 14, 17, 20, 23, 26, 29, 32, 64} {
		t.Run(fmt.Sprint(limit*512, " bytes"), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "openai", "ask")
			w.limit, w.orders = limit, "" // the cart could not keep its orders
			require.NoError(t, w.play(t.Context(), path, "limited 0"))
			if limit < 20 || limit > 60 { // in between it depends on how much a session is
				assert.Equal(t, limit < 20, w.hit, "whether a file of that size is too small")
			}
			assert.Equal(t, 2, w.writes("out.txt"))
		})
	}
}
