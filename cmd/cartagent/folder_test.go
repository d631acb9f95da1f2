package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answer asks and returns the answer, whatever it is.
func (p *agentProcess) answer(t *testing.T, id int, method, params string) (result json.RawMessage, code int, message string) {
	t.Helper()
	p.send(t, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
	var m struct {
		Result json.RawMessage
		Error  struct {
			Code    int
			Message string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(p.until(t, fmt.Sprintf(`{"id":%d,`, id))), &m))
	return m.Result, m.Error.Code, m.Error.Message
}

// A folder that no session could work in is refused where it is named, with the field and what to do; no log is left of
// that.
func TestFoldersThatAreNone(t *testing.T) {
	t.Parallel()
	p := startAgent(t)
	p.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	p.until(t, `"id":0`)
	file, link, gone := filepath.Join(p.home, "file"), filepath.Join(p.home, "link"), filepath.Join(p.home, "gone")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Symlink(gone, link))
	id := 0
	for params, want := range map[string]string{
		fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, gone):                                          "params/cwd: the folder " + gone + " does not exist; open the session in a folder that is there",
		fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, link):                                          "params/cwd: the folder " + link + " does not exist",
		fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, file):                                          "params/cwd: " + file + " is not a folder",
		fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, file+"/below"):                                 "params/cwd: the folder " + file + "/below cannot be opened: not a directory",
		`{"cwd":"/a\u0000b","mcpServers":[]}`:                                                    "params/cwd: the folder",
		fmt.Sprintf(`{"cwd":%q,"mcpServers":[],"additionalDirectories":["/",%q]}`, p.home, gone): "params/additionalDirectories/1: the folder " + gone + " does not exist; leave it out",
	} {
		id++
		_, code, message := p.answer(t, id, "session/new", params)
		assert.Equal(t, -32602, code, params)
		assert.Contains(t, message, want)
	}
	stored, err := filepath.Glob(filepath.Join(p.home, "state/sessions/sess_*"))
	require.NoError(t, err)
	assert.Empty(t, stored)
	p.end(t, p.closeInput)
}

// What was said in a folder can be read when the folder is gone. A prompt says what is the matter, and works in another
// one, or in that once it is there again.
func TestAFolderThatIsGone(t *testing.T) {
	t.Parallel()
	p := startAgent(t)
	p.send(t, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	p.until(t, `"id":0`)
	work := filepath.Join(p.home, "work")
	require.NoError(t, os.Mkdir(work, 0o700))
	result, _, _ := p.answer(t, 1, "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, work))
	var opened struct{ SessionID string }
	require.NoError(t, json.Unmarshal(result, &opened))
	prompt := fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text","text":"What does a small latte cost?"}]}`, opened.SessionID)
	place := func(cwd string) string {
		return fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, opened.SessionID, cwd)
	}
	result, _, _ = p.answer(t, 2, "session/prompt", prompt)
	require.Contains(t, string(result), "end_turn")
	require.NoError(t, os.Remove(work))
	for i, method := range []string{"session/load", "session/resume"} {
		before := len(p.lines)
		_, code, message := p.answer(t, 3+10*i, method, place(work))
		require.Zero(t, code, message)
		if method == "session/load" {
			assert.Greater(t, len(p.lines), before+2, "the history came")
		}
		_, code, message = p.answer(t, 4+10*i, "session/prompt", prompt)
		assert.Equal(t, -32603, code)
		assert.Contains(t, message, "the folder "+work+" does not exist. Make it, or load the session in another folder")
	}
	require.NoError(t, os.Mkdir(work, 0o700))
	result, _, _ = p.answer(t, 30, "session/prompt", prompt)
	assert.Contains(t, string(result), "end_turn", "it is there again")
	require.NoError(t, os.Remove(work))
	_, code, message := p.answer(t, 31, "session/load", place(p.home))
	require.Zero(t, code, message)
	result, _, _ = p.answer(t, 32, "session/prompt", prompt)
	assert.Contains(t, string(result), "end_turn", "in another folder")
	p.end(t, p.closeInput)
}
