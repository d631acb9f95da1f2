package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// typist is somebody at a pseudo-terminal with a command in it. Everything that it shows is in shown.
type typist struct {
	keyboard, tty *os.File
	cmd           *exec.Cmd
	shown         bytes.Buffer
}

func startTyping(t *testing.T, env []string, args ...string) *typist {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = keyboard.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = tty.Close() })
	p := &typist{keyboard: keyboard, tty: tty, cmd: exec.CommandContext(t.Context(), binary(t), args...)}
	p.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = tty, tty, tty
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(t, p.cmd.Start())
	return p
}

// answer waits for the text and then types.
func (p *typist) answer(t *testing.T, text, typed string) {
	t.Helper()
	p.until(t, text)
	_, err := p.keyboard.WriteString(typed)
	require.NoError(t, err)
}

// until reads what the terminal shows until the text comes after what was read before.
func (p *typist) until(t *testing.T, text string) {
	t.Helper()
	from := p.shown.Len()
	buf := make([]byte, 1024)
	for !strings.Contains(p.shown.String()[from:], text) {
		n, err := p.keyboard.Read(buf)
		require.NoError(t, err, "waiting for %q after %q", text, p.shown.String())
		p.shown.Write(buf[:n])
	}
}

// drain reads what the terminal still shows until the program has left it.
func (p *typist) drain() {
	_ = p.tty.Close()
	_, _ = p.shown.ReadFrom(p.keyboard) // it ends with an error, as terminals do
}

// end waits for the exit and returns its code.
func (p *typist) end(t *testing.T) int {
	t.Helper()
	if err := p.cmd.Wait(); err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	return p.cmd.ProcessState.ExitCode()
}

func (p *typist) modes(t *testing.T) unix.Termios {
	t.Helper()
	modes, err := unix.IoctlGetTermios(int(p.tty.Fd()), unix.TCGETS)
	require.NoError(t, err)
	return *modes
}

// On a terminal a login asks, shows nothing of the key, and asks again where the provider refuses it. It is the same
// whether a person starts it or an editor does, by the arguments of the terminal method.
func TestLoginOnATerminal(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"login": {"login"}, "acp": {"acp", "--model", "openai/x", "--login"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stub := startProvider(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer "+plantedKey {
					says(http.StatusUnauthorized, `{"error":{"message":"unknown key"}}`)(w, r)
				}
			})
			dir := t.TempDir()
			p := startTyping(t, []string{"CARTAGENT_CONFIG_DIR=" + dir, "OPENAI_BASE_URL=" + stub.url}, args...)
			before := p.modes(t)
			p.answer(t, "Number: ", "7\n")
			p.answer(t, "from 1 to 2.\r\nNumber: ", "2\n")
			p.answer(t, "(it is not shown): ", "planted with a space\n")
			p.answer(t, "(it is not shown): ", "sk-planted-wrong\n")
			p.answer(t, "(it is not shown): ", plantedKey+"\n")
			p.until(t, "the model in use is")
			assert.Zero(t, p.end(t), p.shown.String())
			assert.Equal(t, before, p.modes(t), "the terminal is as it was")
			shown := p.shown.String()
			assert.NotContains(t, shown, "planted")
			assert.Contains(t, shown, "  1  Anthropic\r\n  2  OpenAI, at http://127.0.0.1:")
			assert.Contains(t, shown, "that is no key: it has spaces")
			assert.Contains(t, shown, "refused the key (401: unknown key)")
			assert.Contains(t, shown, filepath.Join(dir, keyFileName))
			keys, _, err := keyFileIn(dir).read()
			require.NoError(t, err)
			assert.Equal(t, map[string]credentials{"openai": {key: plantedKey, baseURL: stub.url}}, keys)
		})
	}
}

// Ctrl-C, while the key is asked for, and while it is checked; Ctrl-D; too many refusals; and a no to an unchecked
// key: nothing is stored, and the terminal is as it was.
func TestLoginGivenUp(t *testing.T) {
	t.Parallel()
	silent := startProvider(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	refuses := startProvider(t, says(http.StatusUnauthorized, ""))
	for name, c := range map[string]struct {
		base string
		act  func(*testing.T, *typist)
		code int
	}{
		"asked": {refuses.url, func(t *testing.T, p *typist) {
			t.Helper()
			p.answer(t, "shown): ", "half a planted\x03")
		}, exitCancelled},
		"checked": {silent.url, func(t *testing.T, p *typist) {
			t.Helper()
			p.answer(t, "shown): ", plantedKey+"\n")
			p.answer(t, "\n", "\x03")
		}, exitCancelled},
		"ended": {refuses.url, func(t *testing.T, p *typist) {
			t.Helper()
			p.answer(t, "shown): ", "\x04")
		}, exitError},
		"refused": {refuses.url, func(t *testing.T, p *typist) {
			t.Helper()
			for range 3 {
				p.answer(t, "shown): ", plantedKey+"\n")
			}
		}, exitUsage},
		"unchecked": {"http://127.0.0.1:1", func(t *testing.T, p *typist) {
			t.Helper()
			p.answer(t, "shown): ", plantedKey+"\n")
			p.answer(t, "Store it unchecked? [y/N] ", "\n")
		}, exitError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := startTyping(t, []string{"CARTAGENT_CONFIG_DIR=" + dir, "ANTHROPIC_BASE_URL=" + c.base}, "login", "--provider", "anthropic")
			before := p.modes(t)
			c.act(t, p)
			p.until(t, "no key is stored")
			assert.Equal(t, c.code, p.end(t), p.shown.String())
			assert.Equal(t, before, p.modes(t))
			assert.NotContains(t, p.shown.String(), "planted")
			assert.NoFileExists(t, filepath.Join(dir, keyFileName))
		})
	}
}
