package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/cartagent/cartagent/internal/transcript"
	"github.com/cartagent/cartagent/tools"
)

// foreignGrace is how long another agent has to end once it is told that there is nothing more.
const foreignGrace = 5 * time.Second

// playForeign plays the client's half of a session against another agent.
func playForeign(ctx context.Context, s *transcript.Scenario, command string) (differences, unverified []string, err error) {
	if strings.TrimSpace(command) == "" {
		return nil, nil, errors.New("--agent names no command")
	}
	st, err := newStage(s, transcript.NewNames)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", command)
	cmd.Dir = st.work
	cmd.Env = tools.TerminalEnv(os.Environ())
	ownProcessGroup(cmd)
	cmd.Cancel = func() error { return killProcessGroup(cmd.Process) }
	cmd.WaitDelay = foreignGrace
	var said bytes.Buffer
	cmd.Stderr = &limited{to: &said, left: 4 << 10}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, fmt.Errorf("starting the agent: %w", err)
	}
	grace := time.AfterFunc(time.Hour, stop)
	defer grace.Stop()
	type ends struct {
		io.Reader
		io.Writer
	}
	drive := transcript.Drive{Names: st.names, Foreign: true, Patience: 30 * time.Second}
	differences = drive.Play(s, ends{out, in}, func() {
		_ = in.Close()
		grace.Reset(foreignGrace)
	})
	_ = killProcessGroup(cmd.Process) // whatever it has left running ends with it
	waitErr := cmd.Wait()
	if len(differences) > 0 && waitErr != nil && said.Len() > 0 {
		differences[0] += "\n  the agent said: " + strings.TrimSpace(said.String())
	}
	return differences, []string{
		"model requests and tool calls: they are the other agent's own",
		"files: another agent may keep its own beside those of the workspace",
	}, nil
}

// limited keeps the beginning of what is written.
type limited struct {
	to   *bytes.Buffer
	left int
}

// Write implements io.Writer. It never fails.
func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.to.Write(p[:n])
	return len(p), nil
}
