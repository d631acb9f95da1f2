package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stubbed is an environment of its own in which a scripted model answers.
func stubbed(t *testing.T, replies ...scripted.Reply) []string {
	t.Helper()
	home := t.TempDir()
	return []string{
		"HOME=" + home, "CARTAGENT_STATE_DIR=" + filepath.Join(home, "state"), "CARTAGENT_CONFIG_DIR=" + filepath.Join(home, "config"),
		"CARTAGENT_MODEL=openai/stub", "OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + stubModel(t, replies),
	}
}

// What the model asks with answers to choose from is chosen by number; what is none of the numbers is asked again.
func TestAnAnswerIsChosenOnTheTerminal(t *testing.T) {
	t.Parallel()
	p := startTyping(t, stubbed(t,
		scripted.Ask("ask", `{"question":"Which drink?","options":["tea","coffee"]}`),
		scripted.Reply{Text: []string{"Coffee it is."}, Expect: "The user answered: coffee"},
	), "run", "Get me a drink")
	p.answer(t, "Which drink?\r\n  1  tea\r\n  2  coffee\r\n", "7\n")
	p.answer(t, "Number: ", "2\n")
	p.until(t, "Coffee it is.")
	assert.Zero(t, p.end(t), p.shown.String())
	assert.NotContains(t, p.shown.String(), "\x1b]", "the terminal is asked for nothing: its answer would be in what is typed")
	assert.NotContains(t, p.shown.String(), "\x1b[6n")
}

// Ctrl-C at a question, of the harness or of the model, cancels the turn: nothing runs, and the exit code says so.
func TestCtrlCAtAQuestion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tool, args, shows string }{
		"permission": {"terminal", `{"command":"touch made"}`, "Allow: touch made"},
		"choice":     {"ask", `{"question":"Which drink?","options":["tea","coffee"]}`, "2  coffee"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := startTyping(t, stubbed(t, scripted.Ask(c.tool, c.args)), "run", "--cwd", dir, "Go")
			p.answer(t, c.shows, "\x03")
			p.drain()
			assert.Equal(t, exitCancelled, p.end(t), p.shown.String())
			assert.NoFileExists(t, filepath.Join(dir, "made"))
		})
	}
}

// A stored session goes on with another model where one is named, and keeps it.
func TestAStoredSessionGoesOnWithAnotherModel(t *testing.T) {
	t.Parallel()
	env := stubbed(t, scripted.Say("One."), scripted.Say("Two."), scripted.Say("Three."))
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), binary(t), append([]string{"run", "--json"}, args...)...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return string(out)
	}
	first := run("--model", "openai/stub", "1")
	_, rest, found := strings.Cut(first, `"sessionId":"`)
	require.True(t, found, first)
	id, _, _ := strings.Cut(rest, `"`)
	second := run("--session", id, "--model", "openai/other", "2")
	assert.Contains(t, second, `"currentValue":"openai/other"`)
	assert.Contains(t, second, `"Two."`)
	third := run("--session", id, "3")
	assert.NotContains(t, third, `"currentValue":"openai/stub"`)
	assert.Contains(t, run("--session", id, "/context"), "The model is openai/other")
}
