package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/loop"
	"github.com/charmbracelet/log"
)

// Terminal runs commands in the client.
type Terminal interface {
	// Run runs a command and waits for its end. report is told at once which terminal shows it. When ctx ends it kills
	// the command and soon returns what was printed so far, with the cause of ctx. An error that matches ErrNoTerminal
	// says that the command was not started, and never will be.
	Run(ctx context.Context, c Command, report func(loop.Block)) (Exit, error)
}

// ErrNoTerminal is matched by the error of a Terminal whose client cannot run commands after all.
var ErrNoTerminal = errors.New("the client runs no commands")

// Command is a command line for a Terminal. Dir is absolute. Env holds variables, NAME=value, beside those that the
// client's terminals have anyway. Limit is how many bytes of output the client is to keep, the last ones. CallID is the
// call that it is for.
type Command struct {
	Line, Dir string
	Env       []string
	Limit     int
	CallID    string
}

// Exit is how a command in a Terminal ended. Truncated says that the beginning of the output was not kept. Code is -1
// when there is none. Display shows the terminal, also after its end.
type Exit struct {
	Output    string
	Truncated bool
	Code      int
	Signal    string
	Display   loop.Blocks
}

// terminalGrace is how long the client has to end, hand over and free a terminal that is no longer wanted.
const terminalGrace = 1500 * time.Millisecond

// clientTerminal is the client's terminals; nil where it offers none.
func clientTerminal(client *acp.ClientConn, id acp.SessionID, logger *log.Logger) Terminal {
	if !client.Capabilities().Terminal {
		return nil
	}
	return &editorTerminal{client: client, session: id, log: logger}
}

// editorTerminal runs each command in a terminal of its own, which it always releases.
type editorTerminal struct {
	client  *acp.ClientConn
	session acp.SessionID
	log     *log.Logger
	useless atomic.Bool // it does not answer, or does not know the methods
}

func (e *editorTerminal) Run(ctx context.Context, c Command, report func(loop.Block)) (Exit, error) {
	if e.useless.Load() {
		return Exit{}, ErrNoTerminal
	}
	id, err := e.create(ctx, c)
	if err != nil {
		return Exit{}, err
	}
	defer e.release(ctx, id)
	shown := loop.Terminal{ID: string(id)}
	report(shown)
	exit := Exit{Code: -1, Display: loop.Blocks{shown}}
	ended, err := e.client.WaitForTerminalExit(ctx, &acp.WaitForTerminalExitRequest{SessionID: e.session, TerminalID: id})
	lasting, stop := outlasting(ctx)
	defer stop()
	if err != nil {
		e.kill(lasting, id)
	} else {
		exit.end(ended.ExitCode, ended.Signal)
	}
	e.output(lasting, id, &exit)
	switch {
	case err == nil:
		return exit, nil
	case ctx.Err() != nil:
		return exit, context.Cause(ctx)
	}
	return exit, fmt.Errorf("the client lost track of the command, which may have done its work (%w); it printed:\n%s", err, exit.Output)
}

func (x *Exit) end(code *uint32, signal *string) {
	if code != nil {
		x.Code = int(*code)
	}
	if signal != nil {
		x.Signal = *signal
	}
}

// create starts a command. If ctx ends meanwhile, the client still has a moment to say which terminal it has made, so
// that it can be released.
func (e *editorTerminal) create(ctx context.Context, c Command) (acp.TerminalID, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	limit := uint64(max(c.Limit, 0))
	request := &acp.CreateTerminalRequest{
		SessionID: e.session, Command: "/bin/sh", Args: []string{"-c", c.Line}, Cwd: c.Dir, OutputByteLimit: &limit,
	}
	for _, kv := range c.Env {
		name, value, _ := strings.Cut(kv, "=")
		request.Env = append(request.Env, acp.EnvVariable{Name: name, Value: value})
	}
	lasting, stop := outlasting(ctx)
	defer stop()
	created, err := e.client.CreateTerminal(lasting, request)
	var refusal *acp.Error
	switch {
	case err == nil && created.TerminalID != "":
		return created.TerminalID, nil
	case err == nil:
		e.useless.Store(true)
		return "", errors.New("the client started the command in a terminal without an id; what became of it is not known")
	case errors.Is(err, acp.ErrNotOffered), errors.Is(err, acp.ErrMethodNotFound):
		e.useless.Store(true)
		return "", fmt.Errorf("%w: %w", ErrNoTerminal, err)
	case errors.As(err, &refusal): // it may do for the next command
		e.log.Warn("the client's terminal", "session", e.session, "call", c.CallID, "err", err)
		return "", fmt.Errorf("%w: %w", ErrNoTerminal, err)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded): // it may have been started, so it must not be started again
		e.useless.Store(true)
		return "", fmt.Errorf("the client did not say within %s whether it started the command; check what it did before you run it again",
			acp.CallTimeout)
	}
	return "", err
}

// output asks what the command has printed. Where the client does not say, the output says so.
func (e *editorTerminal) output(ctx context.Context, id acp.TerminalID, exit *Exit) {
	out, err := e.client.TerminalOutput(ctx, &acp.TerminalOutputRequest{SessionID: e.session, TerminalID: id})
	if err != nil {
		e.log.Warn("the client's terminal", "session", e.session, "terminal", id, "err", err)
		exit.Output = "[the client did not hand over the output: " + err.Error() + "]\n"
		return
	}
	exit.Output, exit.Truncated = out.Output, out.Truncated
	if out.ExitStatus != nil && exit.Code < 0 && exit.Signal == "" {
		exit.end(out.ExitStatus.ExitCode, out.ExitStatus.Signal)
	}
}

func (e *editorTerminal) kill(ctx context.Context, id acp.TerminalID) {
	if _, err := e.client.KillTerminal(ctx, &acp.KillTerminalRequest{SessionID: e.session, TerminalID: id}); err != nil {
		e.log.Debug("killing a command", "session", e.session, "terminal", id, "err", err)
	}
}

func (e *editorTerminal) release(ctx context.Context, id acp.TerminalID) {
	lasting, stop := context.WithTimeout(context.WithoutCancel(ctx), terminalGrace)
	defer stop()
	if _, err := e.client.ReleaseTerminal(lasting, &acp.ReleaseTerminalRequest{SessionID: e.session, TerminalID: id}); err != nil {
		e.log.Debug("releasing a terminal", "session", e.session, "terminal", id, "err", err)
	}
}

// outlasting is a context that ends terminalGrace after ctx.
func outlasting(ctx context.Context) (context.Context, func()) {
	lasting, end := context.WithCancel(context.WithoutCancel(ctx))
	unhook := context.AfterFunc(ctx, func() {
		late := time.AfterFunc(terminalGrace, end)
		context.AfterFunc(lasting, func() { late.Stop() })
	})
	return lasting, func() { unhook(); end() }
}
