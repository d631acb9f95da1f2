package cartagent_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite docs/conformance.md")

// proof says how a part of ACP v1 is served: what offers it, and the tests that show it working.
type proof struct {
	what, offeredBy string
	tests           []string // folder.TestName
	note            string
}

// conformance is the whole of stable ACP v1: every method and every kind of session/update.
func conformance() []proof {
	return []proof{
		{"initialize", "always", []string{"cmd/cartagent.TestC002VersionsOfAnyKind", "acp.TestInitializeComesFirst", "interop.TestWire"}, ""},
		{"authenticate", "authMethods", []string{"agent.TestAuthentication", "interop.TestRegistryHandshake"}, ""},
		{"logout", "auth.logout", []string{"agent.TestAuthentication"}, ""},
		{"session/new", "always", []string{"agent.TestC003NothingBeforeTheClientKnowsTheSession", "cmd/cartagent.TestC004DeadServersAreNamed", "interop.TestClients"}, ""},
		{"session/load", "loadSession", []string{"agent.TestC062LoadLooksAsItDidLive", "agent.TestAnInterruptedTurnIsEnded", "interop.TestWire"}, ""},
		{"session/resume", "sessionCapabilities.resume", []string{"agent.TestC062LoadLooksAsItDidLive", "cmd/cartagent.TestScripts", "interop.TestWire"}, ""},
		{"session/list", "sessionCapabilities.list", []string{"agent.TestList", "interop.TestWire"}, ""},
		{"session/close", "sessionCapabilities.close", []string{"agent.TestCloseAndDelete", "interop.TestWire"}, ""},
		{"session/delete", "sessionCapabilities.delete", []string{"agent.TestCloseAndDelete", "interop.TestWire"}, ""},
		{"session/prompt", "always", []string{"cmd/cartagent.TestSessions", "agent.TestPromptsWaitTheirTurn", "interop.TestClients"}, ""},
		{"session/cancel", "always", []string{"agent.TestC007CancelAnywhere", "interop.TestClients"}, ""},
		{"session/set_mode", "modes", []string{"agent.TestModesAndOptionsGoInStep", "agent.TestAModeInMidTurn"}, ""},
		{"session/set_config_option", "configOptions", []string{"agent.TestModesAndOptionsGoInStep", "interop.TestWire"}, ""},
		{"$/cancel_request", "always", []string{"acp.TestCancelRequest", "acp.TestCancelCascadesToTheClient", "interop.TestWire"}, ""},
		{"session/update", "always", []string{"agent.TestC009NothingAfterTheAnswer", "cmd/cartagent.TestSessions"}, ""},
		{"session/request_permission", "always", []string{"agent.TestC013PermissionHoldsNobodyUp", "cmd/cartagent.TestC014AlwaysMeansWhatItSays", "interop.TestClients"}, ""},
		{"fs/read_text_file", "client fs.readTextFile", []string{"cmd/cartagent.TestSessions", "acp.TestCapabilitiesGate"}, ""},
		{"fs/write_text_file", "client fs.writeTextFile", []string{"cmd/cartagent.TestSessions", "acp.TestCapabilitiesGate"}, ""},
		{"terminal/create", "client terminal", []string{"agent.TestClientTerminalIsUsedWhereOffered", "acp.TestCapabilitiesGate"}, ""},
		{"terminal/output", "client terminal", []string{"agent.TestClientTerminalIsUsedWhereOffered"}, ""},
		{"terminal/wait_for_exit", "client terminal", []string{"agent.TestClientTerminalIsUsedWhereOffered"}, ""},
		{"terminal/kill", "client terminal", []string{"agent.TestC021CancelFreesTheTerminal"}, ""},
		{"terminal/release", "client terminal", []string{"agent.TestClientTerminalTroubles", "agent.TestC021CancelFreesTheTerminal"}, ""},
		{"elicitation/create", "client elicitation.form, .url", []string{"agent.TestForms", "agent.TestPages"}, ""},
		{"elicitation/complete", "client elicitation.url", []string{"agent.TestPagesAreDone", "acp.TestEveryClientMethodIsDispatched"}, "for pages of sign-ins, and for those of MCP servers of the handshake era that tell when the person is done; others cannot"},
		{"update user_message_chunk", "session/load", []string{"agent.TestC062LoadLooksAsItDidLive"}, ""},
		{"update agent_message_chunk", "always", []string{"agent.TestPromptStreamsAndRemembers"}, ""},
		{"update agent_thought_chunk", "option thoughts", []string{"agent.TestPromptStreamsAndRemembers"}, ""},
		{"update tool_call", "always", []string{"agent.TestC011EveryCallIsSettledOnce"}, ""},
		{"update tool_call_update", "always", []string{"agent.TestC011EveryCallIsSettledOnce"}, ""},
		{"update plan", "the tool plan", []string{"agent.TestThePlanIsTold"}, ""},
		{"update available_commands_update", "always", []string{"agent.TestCommands"}, ""},
		{"update current_mode_update", "modes", []string{"agent.TestModesAndOptionsGoInStep"}, ""},
		{"update config_option_update", "configOptions", []string{"agent.TestModesAndOptionsGoInStep"}, ""},
		{"update session_info_update", "always", []string{"agent.TestC003NothingBeforeTheClientKnowsTheSession"}, ""},
		{"update usage_update", "a model whose window is known", []string{"agent.TestUsageIsToldWhereTheWindowIsKnown"}, ""},
		{"update notice", "client session.notices", []string{"agent.TestGatedUpdates"}, ""},
		{"update compaction_update", "client session.compaction", []string{"agent.TestGatedUpdates", "agent.TestC062CompactionsAreReplayed"}, ""},
		{"update compaction_summary_chunk", "client session.compaction", []string{"agent.TestGatedUpdates", "agent.TestC062CompactionsAreReplayed"}, ""},
	}
}

// TestConformanceTable holds the table against the schema, against the tests that it names, and against the page that is
// made from it.
func TestConformanceTable(t *testing.T) {
	t.Parallel()
	listed := make(map[string]bool)
	page := &strings.Builder{}
	page.WriteString("# What of ACP v1 is served\n\nMade by `go test . -run TestConformanceTable -update` from conformance_test.go, " +
		"which fails when a method or an update of the\nschema is missing here, or a test that is named does not exist.\n\n" +
		"| method or update | offered by | proved by |\n|---|---|---|\n")
	known := testNames(t)
	for _, p := range conformance() {
		assert.False(t, listed[p.what], "%s is listed twice", p.what)
		listed[p.what] = true
		for _, name := range p.tests {
			assert.True(t, known[name], "%s: there is no test %s", p.what, name)
		}
		proved := "`" + strings.Join(p.tests, "`, `") + "`"
		if p.note != "" {
			proved += "; " + p.note
		}
		fmt.Fprintf(page, "| `%s` | %s | %s |\n", p.what, p.offeredBy, proved)
	}
	wanted := inSchema(t)
	assert.ElementsMatch(t, wanted, slices.Collect(maps.Keys(listed)))
	const file = "docs/conformance.md"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(page.String()), 0o644))
	}
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, page.String(), string(written), "run the test with -update")
}

// inSchema is every method of the pinned schema and every kind of session/update.
func inSchema(t *testing.T) []string {
	t.Helper()
	var methods struct{ AgentMethods, ClientMethods, ProtocolMethods map[string]string }
	data, err := os.ReadFile("acp/testdata/meta.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &methods))
	var schema struct {
		Defs map[string]struct {
			OneOf []struct {
				Properties struct {
					SessionUpdate struct{ Const string }
				}
			}
		} `json:"$defs"`
	}
	data, err = os.ReadFile("acp/testdata/schema.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &schema))
	var out []string
	for _, m := range []map[string]string{methods.AgentMethods, methods.ClientMethods, methods.ProtocolMethods} {
		out = slices.AppendSeq(out, maps.Values(m))
	}
	for _, u := range schema.Defs["SessionUpdate"].OneOf {
		out = append(out, "update "+u.Properties.SessionUpdate.Const)
	}
	return out
}

// testNames are the tests of the repository, as folder.TestName.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && d.Name() == "node_modules" {
			return cmpSkip(err)
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				names[filepath.ToSlash(filepath.Dir(path))+"."+f.Name.Name] = true
			}
		}
		return nil
	})
	require.NoError(t, err)
	return names
}

func cmpSkip(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}
