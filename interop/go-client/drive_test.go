package goclient

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What the offline model does with these is known.
const (
	askMenu  = "What do you have?"
	askOrder = "A large latte and a morning bun, please"
	askMore  = "another morning bun"
	askPrice = "What does a small latte cost?"
)

// drive is the client's side of one session, over one agent after another.
type drive struct {
	client
	bin, cwd string
	env      []string
	log      io.Writer // what the agents write to stderr
	servers  []acp.McpServer

	cmd  *exec.Cmd
	in   io.Closer
	conn *acp.ClientSideConnection
	info acp.InitializeResponse
	id   acp.SessionId
}

// binary is the one that $CARTAGENT_BINARY names, else one built now.
func binary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("CARTAGENT_BINARY"); path != "" {
		abs, err := filepath.Abs(path)
		require.NoError(t, err)
		return abs
	}
	path := filepath.Join(t.TempDir(), "cartagent")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../..", "-o", path, "./cmd/cartagent").CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

func newDrive(t *testing.T) *drive {
	t.Helper()
	home := t.TempDir()
	cwd, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	menu, err := json.Marshal([]map[string]any{
		{"name": "latte", "cents": map[string]int{"small": 401, "medium": 451, "large": 501}},
		{"name": "morning bun", "cents": 276},
		{"name": "nettle soda", "cents": 123},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(home, "menu.json"), menu, 0o600))
	d := &drive{bin: binary(t), cwd: cwd, log: t.Output()}
	d.env = append(os.Environ(), "HOME="+home, "CARTAGENT_STATE_DIR="+filepath.Join(home, "state"),
		"CARTAGENT_CONFIG_DIR="+filepath.Join(home, "config"), "CARTAGENT_MODEL=barista/cart", "CARTAGENT_BARISTA_PACE=40ms")
	// Its prices are its own and come by way of its environment.
	d.servers = []acp.McpServer{{Stdio: &acp.McpServerStdio{
		Name: "interop", Command: "/bin/sh", Args: []string{"-c", `exec "$INTEROP_AGENT" cart --menu "$INTEROP_MENU"`},
		Env: []acp.EnvVariable{{Name: "INTEROP_AGENT", Value: d.bin}, {Name: "INTEROP_MENU", Value: filepath.Join(home, "menu.json")}},
	}}}
	return d
}

func (d *drive) start(t *testing.T) {
	t.Helper()
	d.cmd = exec.Command(d.bin, "acp")
	d.cmd.Env, d.cmd.Stderr = d.env, d.log
	d.cmd.WaitDelay = 5 * time.Second
	in, err := d.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := d.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, d.cmd.Start())
	d.in, d.conn = in, acp.NewClientSideConnection(&d.client, in, out)
	d.info, err = d.conn.Initialize(t.Context(), acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersionNumber, ClientInfo: &acp.Implementation{Name: "interop", Version: "1"},
	})
	require.NoError(t, err)
}

// stop ends the agent's input and sees that it goes well.
func (d *drive) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, d.in.Close())
	select {
	case <-d.conn.Done():
	case <-time.After(time.Minute):
		_ = d.cmd.Process.Kill()
		assert.Fail(t, "the agent is still there a minute after its input ended")
	}
	assert.NoError(t, d.cmd.Wait())
}

func (d *drive) again(t *testing.T) {
	t.Helper()
	d.stop(t)
	d.forget(acp.PermissionOptionKindAllowOnce, nil)
	d.start(t)
}

// prompt plays a turn in which permissions are answered so, and returns its end and what was heard.
func (d *drive) prompt(t *testing.T, words string, answer acp.PermissionOptionKind, onText func()) (acp.StopReason, heard) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	d.forget(answer, onText)
	r, err := d.conn.Prompt(ctx, acp.PromptRequest{SessionId: d.id, Prompt: []acp.ContentBlock{acp.TextBlock(words)}})
	require.NoError(t, err)
	return r.StopReason, d.heard()
}

func (d *drive) says(t *testing.T, words, want string) heard {
	t.Helper()
	stop, h := d.prompt(t, words, acp.PermissionOptionKindAllowOnce, nil)
	require.Equal(t, acp.StopReasonEndTurn, stop)
	require.Contains(t, h.text(), want)
	return h
}

// TestClient goes through a session from its beginning to its end; each step needs those before it.
func TestClient(t *testing.T) {
	d := newDrive(t)
	var opened acp.NewSessionResponse
	step := func(name string, run func(t *testing.T)) {
		require.True(t, t.Run(name, run), "%s failed", name)
	}
	step("initialize", func(t *testing.T) {
		d.start(t)
		assert.Equal(t, acp.ProtocolVersion(1), d.info.ProtocolVersion)
	})
	step("session/new", func(t *testing.T) {
		var err error
		opened, err = d.conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: d.cwd, McpServers: d.servers})
		require.NoError(t, err)
		d.id = opened.SessionId
	})
	step("streamed text", func(t *testing.T) {
		assert.Greater(t, len(d.says(t, askMenu, "nettle soda $1.23").chunks()), 1)
	})
	step("tool calls, permission granted, MCP servers of the client", func(t *testing.T) {
		h := d.says(t, askOrder, "Total $7.77")
		assert.Greater(t, len(h.calls()), 2)
		for id, status := range h.calls() {
			assert.Equal(t, acp.ToolCallStatusCompleted, status, "call %s", id)
		}
		require.NotEmpty(t, h.asked)
		for _, r := range h.asked {
			assert.Contains(t, h.calls(), r.ToolCall.ToolCallId)
		}
	})
	step("permission refused", func(t *testing.T) {
		stop, h := d.prompt(t, askMore, acp.PermissionOptionKindRejectOnce, nil)
		assert.Equal(t, acp.StopReasonEndTurn, stop)
		require.NotEmpty(t, h.asked)
		assert.Equal(t, acp.ToolCallStatusFailed, h.calls()[h.asked[0].ToolCall.ToolCallId])
	})
	step("cancel", func(t *testing.T) {
		var once sync.Once
		stop, h := d.prompt(t, askMenu, acp.PermissionOptionKindAllowOnce, func() {
			once.Do(func() { assert.NoError(t, d.conn.Cancel(t.Context(), acp.CancelNotification{SessionId: d.id})) })
		})
		assert.Equal(t, acp.StopReasonCancelled, stop)
		assert.NotContains(t, h.text(), "nettle soda")
		d.says(t, askPrice, "$4.01")
	})
	step("modes", func(t *testing.T) {
		require.NotNil(t, opened.Modes)
		assert.Equal(t, acp.SessionModeId("ask"), opened.Modes.CurrentModeId)
		for _, mode := range []acp.SessionModeId{"plan", "ask"} {
			_, err := d.conn.SetSessionMode(t.Context(), acp.SetSessionModeRequest{SessionId: d.id, ModeId: mode})
			require.NoError(t, err)
		}
	})
	step("config options", func(t *testing.T) {
		r, err := d.conn.SetSessionConfigOption(t.Context(), acp.SetSessionConfigOptionRequest{
			ValueId: &acp.SetSessionConfigOptionValueId{SessionId: d.id, ConfigId: "mode", Value: "accept-edits"},
		})
		require.NoError(t, err)
		assert.Len(t, r.ConfigOptions, len(opened.ConfigOptions))
		at := slices.IndexFunc(r.ConfigOptions, func(o acp.SessionConfigOption) bool { return o.Select != nil && o.Select.Id == "mode" })
		require.GreaterOrEqual(t, at, 0)
		assert.Equal(t, acp.SessionConfigValueId("accept-edits"), r.ConfigOptions[at].Select.CurrentValue)
	})
	step("session/list", func(t *testing.T) {
		require.NotNil(t, d.info.AgentCapabilities.SessionCapabilities.List)
		r, err := d.conn.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: &d.cwd})
		require.NoError(t, err)
		require.Len(t, r.Sessions, 1)
		assert.Equal(t, d.id, r.Sessions[0].SessionId)
	})
	step("session/load", func(t *testing.T) {
		require.True(t, d.info.AgentCapabilities.LoadSession)
		d.again(t)
		_, err := d.conn.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: d.id, Cwd: d.cwd, McpServers: d.servers})
		require.NoError(t, err)
		h := d.heard()
		assert.Equal(t, []string{askMenu, askOrder, askMore, askMenu, askPrice}, h.said())
		assert.Contains(t, h.text(), "Total $7.77")
		d.says(t, askPrice, "$4.01")
	})
	step("session/resume", func(t *testing.T) {
		require.NotNil(t, d.info.AgentCapabilities.SessionCapabilities.Resume)
		d.again(t)
		_, err := d.conn.ResumeSession(t.Context(), acp.ResumeSessionRequest{SessionId: d.id, Cwd: d.cwd, McpServers: d.servers})
		require.NoError(t, err)
		assert.Empty(t, d.heard().said())
		assert.Empty(t, d.heard().text())
		d.says(t, askPrice, "$4.01")
	})
	step("session/close", func(t *testing.T) {
		require.NotNil(t, d.info.AgentCapabilities.SessionCapabilities.Close)
		_, err := d.conn.CloseSession(t.Context(), acp.CloseSessionRequest{SessionId: d.id})
		require.NoError(t, err)
		_, err = d.conn.Prompt(t.Context(), acp.PromptRequest{SessionId: d.id, Prompt: []acp.ContentBlock{acp.TextBlock(askPrice)}})
		require.Error(t, err)
	})
	step("end", d.stop)
}
