package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// manyTools is an MCP server, as a shell script, with 45 tools that say their number.
func manyTools(t *testing.T, dir string) string {
	t.Helper()
	tools := make([]string, 45)
	for i := range tools {
		tools[i] = fmt.Sprintf(`{"name":"tool_%d","description":"Says %d","inputSchema":{"type":"object"}}`, i, i)
	}
	const complete = `"resultType":"complete","ttlMs":3600000,"cacheScope":"private"`
	script := `while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\("[^"]*"\).*/\1/;t;s/.*"id":\([0-9][0-9]*\).*/\1/')
  case $line in
  *'"server/discover"'*) r='{` + complete + `,"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}' ;;
  *'"tools/list"'*) r='{` + complete + `,"tools":[` + strings.Join(tools, ",") + `]}' ;;
  *'"tools/call"'*) r='{"resultType":"complete","content":[{"type":"text","text":"said"}]}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$r"
done
`
	path := filepath.Join(dir, "many.sh")
	require.NoError(t, os.WriteFile(path, []byte(script), 0o600))
	return path
}

// Where servers have more tools than a model is to be shown, it gets an index and a search. What it finds it can call in the
// same turn, and still in another process.
func TestToolsAreDeferred(t *testing.T) {
	t.Parallel()
	var offered [][]string
	watch := func(expect string, r scripted.Reply) scripted.Reply {
		r.Expect = expect
		return r
	}
	stub := stubModelSeen(t, []scripted.Reply{
		watch("tool_44", scripted.Ask("tool_search", `{"query":"many__tool_7"}`)),
		watch("They can be called from your next reply on", scripted.Ask("many__tool_7", `{}`)),
		watch("said", scripted.Say("done")),
		watch("again", scripted.Ask("many__tool_7", `{}`)),
		watch("said", scripted.Say("done")),
	}, func(body []byte) {
		var r struct {
			Tools []struct{ Function struct{ Name string } }
		}
		if err := json.Unmarshal(body, &r); err != nil {
			t.Error(err)
		}
		var names []string
		for _, tool := range r.Tools {
			names = append(names, tool.Function.Name)
		}
		offered = append(offered, names)
	})
	env := []string{"CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + stub}
	p := startAgent(t, env...)
	server := fmt.Sprintf(`{"name":"many","command":"sh","args":[%q],"env":[]}`, manyTools(t, p.home))
	session := p.open(t, server)
	assert.Empty(t, p.ask(t, 10, session, "say seven", "allow_once")[1:], "one call is asked about; the search is free")
	p.end(t, p.closeInput)

	again := startAgent(t, append(env, "CARTAGENT_STATE_DIR="+filepath.Join(p.home, "state"))...)
	again.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	again.until(t, `"id":0`)
	again.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/load","params":{"sessionId":%q,"cwd":%q,"mcpServers":[%s]}}`, session, p.home, server)
	again.until(t, `"id":1`)
	again.ask(t, 11, session, "again", "allow_once")
	again.end(t, again.closeInput)

	require.Len(t, offered, 5)
	first := offered[0]
	assert.Contains(t, first, "tool_search")
	for _, name := range first {
		assert.NotContains(t, name, "many__")
	}
	for _, later := range offered[1:] {
		assert.Equal(t, append(slices.Clip(first), "many__tool_7"), later, "what was offered keeps its place")
	}
}
