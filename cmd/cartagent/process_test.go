package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// agentProcess is a `cartagent acp` that a test speaks to line by line.
type agentProcess struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stdout io.Closer
	stderr *strings.Builder
	home   string
	lines  []string // everything that came on stdout
}

func startAgent(t *testing.T, env ...string) *agentProcess {
	t.Helper()
	return startAgentWith(t, nil, env...)
}

// startAgentWith starts one with more flags.
func startAgentWith(t *testing.T, flags []string, env ...string) *agentProcess {
	t.Helper()
	p := newAgent(t, flags, env...)
	p.start(t)
	return p
}

// newAgent is one that has not been started yet.
func newAgent(t *testing.T, flags []string, env ...string) *agentProcess {
	t.Helper()
	args := append([]string{"acp"}, flags...)
	p := &agentProcess{cmd: exec.CommandContext(t.Context(), binary(t), args...), stderr: &strings.Builder{}, home: t.TempDir()}
	p.cmd.Dir = p.home
	p.cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.home,
		"CARTAGENT_STATE_DIR=" + filepath.Join(p.home, "state"), "CARTAGENT_CONFIG_DIR=" + filepath.Join(p.home, "config"),
	}, env...)
	p.cmd.Stderr = p.stderr
	return p
}

func (p *agentProcess) start(t *testing.T) {
	t.Helper()
	var err error
	p.in, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.out, p.stdout = bufio.NewReader(out), out
	require.NoError(t, p.cmd.Start())
}

func (p *agentProcess) send(t *testing.T, format string, args ...any) {
	t.Helper()
	_, err := fmt.Fprintf(p.in, format+"\n", args...)
	require.NoError(t, err)
}

// until reads lines until one has the text, and returns it.
func (p *agentProcess) until(t *testing.T, text string) string {
	t.Helper()
	for {
		line, err := p.out.ReadString('\n')
		require.NoError(t, err, "waiting for %s; stderr: %s", text, p.stderr)
		p.lines = append(p.lines, line)
		if strings.Contains(line, text) {
			return line
		}
	}
}

// open initializes and opens a session with those MCP servers (JSON) and returns its id.
func (p *agentProcess) open(t *testing.T, servers string) string {
	t.Helper()
	p.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	p.until(t, `"id":0`)
	p.send(t, `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":%q,"mcpServers":[%s]}}`, p.home, servers)
	var r struct{ Result struct{ SessionID string } }
	require.NoError(t, json.Unmarshal([]byte(p.until(t, `"id":1`)), &r))
	require.NotEmpty(t, r.Result.SessionID)
	return r.Result.SessionID
}

// end ends the process by the function, reads what is left, and returns how long that took.
func (p *agentProcess) end(t *testing.T, by func()) time.Duration {
	t.Helper()
	began := time.Now()
	by()
	rest, err := io.ReadAll(p.out)
	require.NoError(t, err)
	if len(rest) > 0 {
		p.lines = append(p.lines, strings.SplitAfter(strings.TrimSuffix(string(rest), "\n"), "\n")...)
	}
	require.NoError(t, p.cmd.Wait(), p.stderr.String())
	return time.Since(began)
}

func (p *agentProcess) closeInput() { _ = p.in.Close() }
func (p *agentProcess) terminate()  { _ = p.cmd.Process.Signal(syscall.SIGTERM) }

// C001: every byte on stdout belongs to a message, whatever goes wrong and however it ends.
func TestC001StdoutIsTheProtocols(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*agentProcess){"eof": (*agentProcess).closeInput, "sigterm": (*agentProcess).terminate} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startAgent(t, "CARTAGENT_LOG=debug", "ANTHROPIC_API_KEY=", "OPENAI_API_KEY=")
			bad := filepath.Join(p.home, ".agents", "skills", "broken", "SKILL.md")
			require.NoError(t, os.MkdirAll(filepath.Dir(bad), 0o755))
			require.NoError(t, os.WriteFile(bad, []byte("---\nname: [\n---\n"), 0o644))
			id := p.open(t, `{"name":"fails","command":"sh","args":["-c","echo noise; echo no licence >&2; exit 3"],"env":[]},`+
				`{"name":"gone","command":"/no/such/server","args":[],"env":[]}`)
			p.send(t, `this is no message`)
			p.send(t, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"What do you have?"}]}}`, id)
			p.until(t, `"id":2`)
			p.end(t, func() { how(p) })
			for _, line := range p.lines {
				var m struct{ JSONRPC string }
				require.NoError(t, json.Unmarshal([]byte(line), &m), "%q", line)
				assert.Equal(t, "2.0", m.JSONRPC, "%q", line)
			}
			said := p.stderr.String()
			for _, want := range []string{"no licence", "broken", "gone"} {
				assert.Contains(t, said, want, "what went wrong is on stderr")
			}
		})
	}
}

// C002: a version that is no integer is refused as such, and the connection stays usable.
func TestC002VersionsOfAnyKind(t *testing.T) {
	t.Parallel()
	p := startAgent(t)
	for params, want := range map[string]string{
		`{"protocolVersion":"1"}`: `"code":-32602`,
		`{"protocolVersion":1.5}`: `"code":-32602`,
		`{}`:                      `"code":-32602`,
		`null`:                    `"code":-32602`,
		`[]`:                      `"code":-32602`,
		`{"protocolVersion":0}`:   `"protocolVersion":1`,
		`{"protocolVersion":99}`:  `"protocolVersion":1`,
		`{"protocolVersion":1,"clientCapabilities":{"fs":"x","holodeck":{}},"more":1}`: `"protocolVersion":1`,
	} {
		p.send(t, `{"jsonrpc":"2.0","id":7,"method":"initialize","params":%s}`, params)
		line := p.until(t, `"id":7`)
		assert.Contains(t, line, want, params)
		if strings.Contains(line, `"error"`) {
			assert.Less(t, len(line), 300, "short, no validator's dump")
		}
	}
	p.send(t, `{"jsonrpc":"2.0","id":8,"method":"initialize"}`)
	assert.Contains(t, p.until(t, `"id":8`), `"code":-32602`)
	p.open(t, "")
	p.end(t, p.closeInput)
}

// A long line is a line like any other, and a last one needs no newline.
func TestLongLines(t *testing.T) {
	t.Parallel()
	p := startAgent(t)
	id := p.open(t, "")
	p.send(t, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q},`+
		`{"type":"text","text":"What does a small latte cost?"}]}}`, id, strings.Repeat(" ", 20<<20))
	assert.Contains(t, p.until(t, `"id":2`), `"stopReason":"end_turn"`)
	_, err := io.WriteString(p.in, `{"jsonrpc":"2.0","id":3,"method":"nope"}`)
	require.NoError(t, err)
	p.end(t, p.closeInput)
	assert.Contains(t, p.lines[len(p.lines)-1], `"id":3,"error":{"code":-32601`)
}

// Piped in and closed at once: what was asked is answered before the end (C005).
func TestEverythingAskedIsAnswered(t *testing.T) {
	t.Parallel()
	p := startAgent(t)
	p.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`+"\n"+
		`{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}`)
	p.end(t, p.closeInput)
	require.GreaterOrEqual(t, len(p.lines), 2)
	assert.Contains(t, p.lines[1], `"id":1,"result":{"sessionId"`)
	assert.Contains(t, p.stderr.String(), "the input ended")
}

// C026: the end of the agent is the end of its servers, of those that they started, and of those that do not want to.
func TestC026NothingIsLeft(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("it looks into /proc")
	}
	for name, how := range map[string]func(*agentProcess){"eof": (*agentProcess).closeInput, "sigterm": (*agentProcess).terminate} {
		for _, turn := range []string{"idle", "in mid-turn"} {
			t.Run(name+" "+turn, func(t *testing.T) {
				t.Parallel()
				p := startAgent(t, "CARTAGENT_BARISTA_PACE=1h")
				stub := filepath.Join(p.home, "deaf.sh")
				// It answers nothing, does not end with its input, ignores SIGTERM, and has a child.
				require.NoError(t, os.WriteFile(stub, []byte("trap '' TERM\nsleep 9999 &\nwhile :; do sleep 1; done\n"), 0o644))
				id := p.open(t, fmt.Sprintf(`{"name":"deaf","command":"sh","args":["-c","sh %s; :"],"env":[]}`, stub))
				if turn != "idle" {
					p.send(t, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"menu"}]}}`, id)
				}
				children := waitForChildren(t, p.cmd.Process.Pid)
				took := p.end(t, func() { how(p) })
				assert.Less(t, took, time.Minute, "it hangs")
				for _, pid := range children {
					state := processState(pid)
					assert.True(t, state == "" || state == "Z", "process %d is left, state %s", pid, state)
				}
			})
		}
	}
}

// waitForChildren waits until the process has started something and returns all of its descendants.
func waitForChildren(t *testing.T, pid int) []int {
	t.Helper()
	for range 500 {
		if found := descendants(pid); len(found) >= 3 {
			return found
		}
		select {
		case <-t.Context().Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatal("the server was not started")
	return nil
}

func descendants(pid int) []int {
	var out []int
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, f := range files {
		data, _ := os.ReadFile(f)
		for s := range strings.FieldsSeq(string(data)) {
			if child, err := strconv.Atoi(s); err == nil {
				out = append(append(out, child), descendants(child)...)
			}
		}
	}
	return out
}

// processState is the state of a process, as the kernel names it; empty when there is none.
func processState(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return rest[:1]
}

// Idle, the process ends within two seconds, with nothing left, and says why.
func TestItEndsQuickly(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]func(*agentProcess){"eof": (*agentProcess).closeInput, "sigterm": (*agentProcess).terminate} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startAgent(t)
			id := p.open(t, "")
			p.send(t, `{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":"menu"}]}}`, id)
			p.until(t, `"id":2`)
			children := descendants(p.cmd.Process.Pid)
			if runtime.GOOS == "linux" {
				require.NotEmpty(t, children, "the cart runs")
			}
			p.end(t, func() { how(p) })
			for _, pid := range children {
				assert.Contains(t, []string{"", "Z"}, processState(pid))
			}
			assert.Contains(t, p.stderr.String(), map[string]string{"eof": "the input ended", "sigterm": "a signal"}[name])
		})
	}
}

// The lines of `run --json` are those of the protocol, and the last one is the result.
func TestRunJSONIsInTheSchema(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), binary(t), "run", "--json", "--yes", "A large latte and a morning bun, please")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	out, err := cmd.Output()
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	schema, err := os.ReadFile("../../acp/testdata/schema.json")
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	require.NoError(t, err)
	require.NoError(t, compiler.AddResource("acp.json", document))
	notification, err := compiler.Compile("acp.json#/$defs/SessionNotification")
	require.NoError(t, err)
	response, err := compiler.Compile("acp.json#/$defs/PromptResponse")
	require.NoError(t, err)

	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Greater(t, len(lines), 10)
	for i, line := range lines {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		require.NoError(t, err, line)
		if i < len(lines)-1 {
			require.NoError(t, notification.Validate(value), line)
			continue
		}
		last, ok := value.(map[string]any)
		require.True(t, ok)
		require.NotEmpty(t, last["sessionId"])
		require.NoError(t, response.Validate(last["result"]), line)
	}
	assert.Contains(t, lines[len(lines)-1], `"stopReason":"end_turn"`)
}

// Ctrl-C cancels the turn, which ends as cancelled, and the exit code says so.
func TestCtrlCCancels(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), binary(t), "run", "--json", "What do you have?")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "CARTAGENT_BARISTA_PACE=50ms"}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines, last := bufio.NewScanner(out), ""
	for lines.Scan() {
		last = lines.Text()
		if strings.Contains(last, "agent_message_chunk") {
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
		}
	}
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	assert.Equal(t, 130, exit.ExitCode())
	assert.Contains(t, last, `"stopReason":"cancelled"`)
}
