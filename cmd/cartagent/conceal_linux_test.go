package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// C069: a command gets no key in its environment, and finds none in ours either; nor does a server. Both run as they
// should, in their folder.
func TestC069ChildrenDoNotFindKeys(t *testing.T) {
	t.Parallel()
	spy := `tr '\0' '\n' </proc/$PPID/cmdline; tr '\0' '\n' </proc/$PPID/environ`
	base := stubModel(t, []scripted.Reply{
		scripted.Ask("terminal", fmt.Sprintf(`{"command":%q}`, spy+"; pwd; tr '\\0' '\\n' </proc/$$/environ")),
		{Text: []string{"Done."}},
	})
	p := newAgent(t, nil, "CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=planted-key", "OPENAI_BASE_URL="+base)
	if os.Getuid() == 0 { // whom the kernel hides nothing from
		const nobody = 65534
		p.cmd.Path = filepath.Join(p.home, "cartagent")
		program, err := os.ReadFile(binary(t))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(p.cmd.Path, program, 0o755))
		for dir := p.home; strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
			require.NoError(t, os.Chmod(dir, 0o755))
		}
		require.NoError(t, os.Chown(p.home, nobody, nobody))
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody, NoSetGroups: true}}
	}
	p.start(t)
	id := p.open(t, fmt.Sprintf(`{"name":"spy","command":"sh","args":["-c",%q],"env":[]}`, "("+spy+") >&2; exit 3"))
	require.Len(t, p.ask(t, 2, id, "go", "allow_once"), 1)
	p.send(t, `{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"/mcp"}]}}`, id)
	p.until(t, `"id":3`)
	p.end(t, p.closeInput)
	all := strings.Join(p.lines, "")
	assert.NotContains(t, all, "planted-key")
	assert.Contains(t, all, `\nacp\n`, "the command line is no secret: the spy did look at us")
	assert.Contains(t, all, `\n`+p.home+`\n`, "the command ran in the session's folder")
	assert.Contains(t, all, `TERM=dumb`, "a child may look at itself")
	assert.Contains(t, all, "ermission denied")
}
