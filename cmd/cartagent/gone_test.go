package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A client that does not read any more has gone away: the turn is interrupted in the log, and the agent ends in order.
func TestAClientThatStopsReading(t *testing.T) {
	t.Parallel()
	p := startAgent(t, "CARTAGENT_BARISTA_PACE=5ms")
	id := p.open(t, "")
	p.send(t, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"menu"}]}}`, id)
	p.until(t, "agent_message_chunk")
	require.NoError(t, p.stdout.Close())
	require.NoError(t, p.cmd.Wait(), "no signal ends it: %s", p.stderr)
	assert.Contains(t, p.stderr.String(), "all sessions are closed")
	data, err := os.ReadFile(filepath.Join(p.home, "state", "sessions", id+".jsonl"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	assert.Contains(t, lines[len(lines)-1], `"kind":"Interrupted"`)
}
