package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Another agent ends with everything that it has started, also what does not end by itself.
func TestAnotherAgentIsEndedWithItsChildren(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	s := recordedIn(t, "../../testdata/sessions/order.txtar")
	differences, unverified, err := playForeign(t.Context(), s,
		`sleep 300 & echo $! > '`+file+`'; echo '{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}'; wait`)
	require.NoError(t, err)
	require.NotEmpty(t, differences)
	assert.Regexp(t, `^wire line 2 /result/agentCapabilities: recorded {.*, now missing$`, differences[0])
	assert.NotEmpty(t, unverified)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	require.NoError(t, err)
	assert.Contains(t, []string{"", "Z"}, processState(pid), "the child of the agent is gone")
}

// Its ids and the borders of its chunks are its own: they make no difference.
func TestAnotherAgentsIDsDoNotCount(t *testing.T) {
	t.Parallel()
	s := recordedIn(t, "../../testdata/sessions/model_failure.txtar")
	var script strings.Builder
	renamed := strings.NewReplacer("sess_0000000000000001", "other-agents-id", `"messageId":"msg_`, `"messageId":"another_`)
	for _, m := range s.Wire {
		switch {
		case m.In != nil:
			script.WriteString("read -r line\n")
		default:
			line := renamed.Replace(string(m.Out))
			script.WriteString("printf '%s\\n' '" + strings.ReplaceAll(line, "'", `'\''`) + "'\n")
		}
	}
	differences, _, err := playForeign(t.Context(), s, script.String())
	require.NoError(t, err)
	assert.Empty(t, differences)
}
