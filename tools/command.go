package tools

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/cartagent/cartagent/loop"
)

// Terminal runs commands somewhere else than among this process's own children: in the terminals of an editor, for
// example. It may be called from several goroutines.
type Terminal interface {
	// Run runs a command and waits for its end. report shows it while it runs. When ctx ends it ends the command and
	// soon returns what was printed so far, with an error. An error that matches ErrNoTerminal says that the command
	// was not started, and never will be: it then runs as an own process.
	Run(ctx context.Context, c Command, report func(loop.Block)) (Exit, error)
}

// ErrNoTerminal is matched by the error of a Terminal that cannot run commands.
var ErrNoTerminal = errors.New("no terminal is to be had")

// Command is a command line for a Terminal. Dir is absolute. Env holds variables, NAME=value, beside those that the
// terminal has anyway. Limit is how many bytes of output are wanted, the last ones. CallID is the call that it is for.
type Command struct {
	Line, Dir string
	Env       []string
	Limit     int
	CallID    string
}

// Exit is how a command in a Terminal ended. Truncated says that the beginning of the output was not kept. Code is -1
// when there is none. Display, where it is not nil, is what clients show in place of the output.
type Exit struct {
	Output    string
	Truncated bool
	Code      int
	Signal    string
	Display   loop.Blocks
}

// elsewhereLimit is how much output a Terminal is asked to keep.
const elsewhereLimit = 256 << 10

// errand is a command for the Terminal of the options.
type errand struct {
	line, dir, callID string
	limit             time.Duration
}

// runElsewhere runs a command in the Terminal of the options. run is ctx with the command's time limit.
func (k *kit) runElsewhere(ctx, run context.Context, e errand, report func(loop.Block)) (loop.Result, error) {
	exit, err := k.terminal.Run(run, Command{
		Line: e.line, Dir: e.dir, CallID: e.callID,
		Env: []string{"PAGER=cat", "GIT_PAGER=cat"}, Limit: elsewhereLimit,
	}, report)
	stopped := err != nil && run.Err() != nil
	if err != nil && !stopped {
		return loop.Result{}, fmt.Errorf("running the command: %w", err)
	}
	out := newTail()
	if _, err := out.Write([]byte(plainOutput(exit.Output))); err != nil {
		return loop.Result{}, fmt.Errorf("reading the output: %w", err)
	}
	output := out.String()
	if exit.Truncated {
		output = fmt.Sprintf("[the beginning is missing: the terminal kept the last %s; to see it send the output to a file and read that]\n",
			bytesText(int64(len(exit.Output)))) + output
	}
	if stopped && ctx.Err() != nil {
		return loop.Result{}, fmt.Errorf("the command was stopped: %w\n%s", context.Cause(ctx), output)
	}
	end := outcome{
		Exit: exit.Code, Signal: exit.Signal, TimedOut: stopped, LeftOut: out.leftOut(), Truncated: exit.Truncated,
	}
	res, err := end.result(output, false, e.limit)
	res.Display = exit.Display
	return res, err
}

// escapes are what a program sends a terminal besides text: colours, titles, moves of the cursor.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)|[PX^_][^\x1b]*\x1b\\\\|[ -/]*[0-Z\\\\^-~])")

// plainOutput is what a terminal's output says, without its escape sequences and with plain line ends. Of a line that
// was drawn over, such as a progress bar, the last state is left.
func plainOutput(s string) string {
	s = escapes.ReplaceAllString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if !strings.ContainsRune(s, '\r') {
		return s
	}
	var out strings.Builder
	for line := range strings.Lines(s) {
		text, end := strings.CutSuffix(line, "\n")
		text = strings.TrimRight(text, "\r")
		out.WriteString(text[strings.LastIndexByte(text, '\r')+1:])
		if end {
			out.WriteByte('\n')
		}
	}
	return out.String()
}
