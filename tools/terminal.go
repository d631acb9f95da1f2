package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cartagent/cartagent/loop"
)

// The limits of one command.
const (
	commandTime    = 120 // seconds, when the model names none
	commandMaxTime = 3600
	// commandGrace is how long a command may go on after SIGTERM, and how long output is still read when the shell
	// has ended while something in the background holds it open.
	commandGrace = 500 * time.Millisecond
	progressGap  = 200 * time.Millisecond
)

type terminalArgs struct {
	Command string  `json:"command"`
	Cwd     *string `json:"cwd,omitempty"`
	Timeout *int    `json:"timeout,omitempty" jsonschema:"seconds"`
}

func (k *kit) terminalTool() loop.Tool {
	return Define(loop.Spec{
		Name: "terminal", Title: "Run a command", Description: describe("terminal"), Kind: loop.KindExecute,
	}, k.previewTerminal, k.runTerminal)
}

func (k *kit) previewTerminal(_ context.Context, in terminalArgs) (loop.Preview, error) {
	if strings.TrimSpace(in.Command) == "" {
		return loop.Preview{}, fmt.Errorf("%w: \"command\" is empty", ErrArguments)
	}
	if strings.ContainsRune(in.Command, 0) {
		return loop.Preview{}, fmt.Errorf("%w: \"command\" has a NUL byte, which no command can have", ErrArguments)
	}
	if t := optional(in.Timeout, commandTime); t < 1 || t > commandMaxTime {
		return loop.Preview{}, fmt.Errorf("%w: \"timeout\" is %d; it goes from 1 to %d seconds", ErrArguments, t, commandMaxTime)
	}
	p, err := k.folder(optional(in.Cwd, "."))
	if err != nil {
		return loop.Preview{}, err
	}
	if !p.info.IsDir() {
		return loop.Preview{}, fmt.Errorf("cwd %s is no folder", optional(in.Cwd, "."))
	}
	subjects, caution := Commands(in.Command)
	out := loop.Preview{Title: in.Command, Subjects: subjects, Caution: caution}
	if in.Cwd != nil {
		out.Locations = []loop.Location{{Path: p.abs()}}
	}
	return out, nil
}

// outcome is the machine-readable part of a command's result.
type outcome struct {
	Exit     int    `json:"exit"`
	Signal   string `json:"signal,omitempty"`
	TimedOut bool   `json:"timedOut,omitempty"`
	LeftOut  int64  `json:"bytesLeftOut,omitempty"`
	// Truncated says that a terminal of somebody else's left the beginning out, and not how much of it.
	Truncated bool `json:"truncated,omitempty"`
}

func (k *kit) runTerminal(ctx context.Context, in terminalArgs, j loop.Job, report func(loop.Block)) (loop.Result, error) {
	if _, err := k.previewTerminal(ctx, in); err != nil {
		return loop.Result{}, err
	}
	dir, err := k.folder(optional(in.Cwd, "."))
	if err != nil {
		return loop.Result{}, err
	}
	if err := sameTarget(optional(in.Cwd, "."), dir, j.Preview); err != nil {
		return loop.Result{}, err
	}
	limit := time.Duration(optional(in.Timeout, commandTime)) * time.Second
	run, stop := context.WithTimeoutCause(ctx, limit, errTimedOut)
	defer stop()
	if k.terminal != nil {
		e := errand{line: in.Command, dir: dir.abs(), callID: j.Call.ID, limit: limit}
		if res, err := k.runElsewhere(ctx, run, e, report); !errors.Is(err, ErrNoTerminal) {
			return res, err
		}
	}
	return k.runOwn(ctx, run, ownCommand{line: in.Command, dir: dir, limit: limit}, report)
}

// ownCommand is a command that runs as a child of this process.
type ownCommand struct {
	line  string
	dir   place
	limit time.Duration
}

// runOwn runs a command as a process group of our own. run is ctx with the command's time limit.
func (k *kit) runOwn(ctx, run context.Context, c ownCommand, report func(loop.Block)) (loop.Result, error) {
	out := newTail()
	cmd := exec.CommandContext(run, k.shell, "-c", c.line)
	dir, err := c.dir.openDir()
	if err != nil {
		return loop.Result{}, fmt.Errorf("the folder to run in: %w", err)
	}
	defer dir.Close() //nolint:errcheck // it was only entered
	cmd.Dir, cmd.Env = enterable(dir, c.dir), append(slices.Clone(k.env), "PWD="+c.dir.abs())
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = commandGrace
	ownGroup(cmd)
	cmd.Cancel = func() error { return termGroup(cmd.Process.Pid) }
	if err := cmd.Start(); err != nil {
		return loop.Result{}, fmt.Errorf("starting the command: %w", err)
	}
	err = watch(out, report, cmd.Wait)
	stopped := run.Err() != nil && err != nil
	left := errors.Is(err, exec.ErrWaitDelay)
	switch {
	case stopped:
		killGroup(cmd.Process.Pid)
	case groupAlive(cmd.Process.Pid):
		k.ws.leave(cmd.Process.Pid)
		left = true
	}
	var exit *exec.ExitError
	switch {
	case stopped && ctx.Err() != nil:
		return loop.Result{}, fmt.Errorf("the command was stopped: %w\n%s", context.Cause(ctx), out.String())
	case err != nil && !stopped && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay):
		return loop.Result{}, fmt.Errorf("running the command: %w", err)
	}
	end := outcome{
		Exit: cmd.ProcessState.ExitCode(), Signal: signalOf(cmd.ProcessState), TimedOut: stopped, LeftOut: out.leftOut(),
	}
	return end.result(out.String(), left, c.limit)
}

var errTimedOut = errors.New("the time is up")

// result puts the output and what became of the command into words.
func (o outcome) result(output string, left bool, limit time.Duration) (loop.Result, error) {
	raw, err := json.Marshal(o)
	if err != nil {
		return loop.Result{}, fmt.Errorf("encoding the outcome: %w", err)
	}
	end := fmt.Sprintf("exit %d", o.Exit)
	switch {
	case o.TimedOut:
		end = fmt.Sprintf("stopped after %s: the time is up. A longer timeout can be given, at most %d seconds", limit, commandMaxTime)
	case o.Signal != "":
		end = "ended by signal: " + o.Signal
	case o.Exit < 0:
		end = "ended; its exit code is not known"
	}
	notes := []string{end}
	if left {
		notes = append(notes, "a background process keeps running; what it prints is no longer read")
	}
	if output != "" && !strings.HasSuffix(output, "\n") {
		output += "\n"
	}
	return loop.Result{
		Content: text(output + "[" + strings.Join(notes, "; ") + "]"),
		Raw:     raw,
		Failed:  o.Exit != 0 || o.TimedOut,
	}, nil
}

// watch reports the last lines of the output while wait waits, not more often than each progressGap, and returns when
// nothing more will be reported. A command that ends at once has its output reported too: whether a call shows something
// before its result is not decided by how soon this process got to look.
func watch(out *tail, report func(loop.Block), wait func() error) error {
	done := make(chan struct{})
	reported := false // the goroutine's until it ends
	var wg sync.WaitGroup
	wg.Go(func() {
		pause := time.NewTimer(0)
		defer pause.Stop()
		for {
			select {
			case <-done:
				return
			case <-pause.C:
			}
			select {
			case <-done:
				return
			case <-out.news:
				report(loop.Text{Text: out.last()})
				reported = true
				pause.Reset(progressGap)
			}
		}
	})
	err := wait()
	close(done)
	wg.Wait()
	if !reported && len(out.news) > 0 {
		report(loop.Text{Text: out.last()})
	}
	return err
}
