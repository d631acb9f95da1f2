package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestASessionInUse: a session that a process has is neither deleted nor gone on with by another, which is told by whom; it
// may be read, and is free when that process ends.
func TestASessionInUse(t *testing.T) {
	t.Parallel()
	p := startAgent(t)
	id := p.open(t, "")
	host, err := os.Hostname()
	require.NoError(t, err)
	holder := fmt.Sprintf("process %d on %s", p.cmd.Process.Pid, host)
	env := map[string]string{
		"CARTAGENT_STATE_DIR": filepath.Join(p.home, "state"), "CARTAGENT_CONFIG_DIR": filepath.Join(p.home, "config"),
	}
	for _, args := range [][]string{
		{"sessions", "delete", "--yes", id}, {"sessions", "prune", "--keep", "0", "--yes"}, {"run", "--session", id, "a latte"},
	} {
		code, _, errs := command(t, env, "", args...)
		assert.Equal(t, exitError, code, errs)
		assert.Contains(t, errs, holder, args)
	}
	for _, args := range [][]string{{"show", id}, {"verify", id}, {"export", id}, {"list"}} {
		code, _, errs := command(t, env, "", append([]string{"sessions"}, args...)...)
		assert.Equal(t, exitOK, code, errs)
	}
	p.end(t, p.closeInput)
	code, out, errs := command(t, env, "", "sessions", "delete", "--yes", id)
	assert.Equal(t, exitOK, code, errs)
	assert.Equal(t, "deleted "+id+"\n", out)
}
