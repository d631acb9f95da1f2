// Command cartagent is an agent that speaks the Agent Client Protocol, and the coffee cart that it orders from.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/cartagent/cartagent/session"
	"github.com/spf13/cobra"
)

// The exit codes. `cartagent run` says with them how the turn ended.
const (
	exitOK        = 0
	exitError     = 1
	exitUsage     = 2 // bad usage or configuration, a missing or refused key
	exitRefusal   = 3 // the model refused
	exitLimit     = 4 // a token or request limit ended the turn
	exitDenied    = 5 // a permission was refused, or nobody could be asked
	exitCancelled = 130
)

// exitCode is an error that says how to exit. A nil err prints nothing more.
type exitCode struct {
	code int
	err  error
}

func (e *exitCode) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitCode) Unwrap() error { return e.err }

func usageError(err error) error { return &exitCode{code: exitUsage, err: err} }

// console is where a command reads and writes.
type console struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	// over, where it is not nil, stands between the program and the store of its sessions.
	over func(session.Store) session.Store
	// patience, where it is not zero, is how long a session's first turn waits for MCP servers that are slow to start.
	patience time.Duration
}

// tell writes a line for the person. If nobody can read it any more, there is nobody to say so to.
func (c console) tell(line string) { _, _ = fmt.Fprintln(c.err, "cartagent: "+line) }

func main() { perform(console{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.Getenv}) }

// perform runs the process's command line, and ends the process.
func perform(c console) {
	if err := conceal(); err != nil { // it works all the same
		c.tell(err.Error())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], c)
	stop()
	os.Exit(code)
}

// execute runs one command line and returns its exit code.
func execute(ctx context.Context, args []string, c console) int {
	root := newRoot(c) //nolint:contextcheck // ExecuteContext hands ctx to the commands
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var exit *exitCode
	switch {
	case err == nil:
		return exitOK
	case !errors.As(err, &exit):
		exit = &exitCode{code: exitUsage, err: err} // cobra's own: an unknown command or flag
	}
	if exit.err != nil {
		c.tell(strings.TrimSpace(exit.err.Error()))
	}
	return exit.code
}

func newRoot(c console) *cobra.Command {
	root := &cobra.Command{
		Use:   "cartagent",
		Short: "An agent that plugs in anywhere over the Agent Client Protocol",
		Long: `cartagent runs an agent's tool loop and speaks the Agent Client Protocol (ACP) with editors and harnesses.

Out of the box it takes orders at a coffee cart, offline and without a key:

    cartagent run --yes "A large latte and a morning bun, please"

With a model configured it is a coding agent:

    ANTHROPIC_API_KEY=… cartagent run --model anthropic/claude-sonnet-5-5 "Why does the test fail?"

cartagent login stores a key, so that it need not be in the environment. cartagent mcp adds MCP servers to config.json in
the configuration folder; cartagent trust lets those that a project brings take effect. cartagent sessions lists, shows,
exports and verifies what was said and done.

Environment: CARTAGENT_MODEL (provider/name), ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, OPENAI_API_KEY, OPENAI_BASE_URL,
CARTAGENT_CONFIG_DIR, CARTAGENT_STATE_DIR, CARTAGENT_LOG (debug, info, warn or error; to stderr).`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newACP(c), newRun(c), newCart(c), newReplay(c), newSessions(c), newMCP(c), newTrust(c), newLogin(c), newLogout(c), newVersion(c),
	)
	return root
}

// A filled is the value of a flag that may not be empty: mostly that is a variable of a script that was not set, and to go
// on as if the flag were not there would drop a token file or forget every key.
type filled string

// nonempty is a flag's value that must be filled.
func nonempty(to *string) *filled { return (*filled)(to) }

func (f *filled) String() string { return string(*f) }

// Type is what the help calls it.
func (*filled) Type() string { return "string" }

// Set takes the value.
func (f *filled) Set(value string) error {
	if value == "" {
		return errors.New("it is empty; give a value, or leave the flag out")
	}
	*f = filled(value)
	return nil
}

func newVersion(c console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := fmt.Fprintln(c.out, "cartagent "+version()); err != nil {
				return &exitCode{code: exitError, err: err}
			}
			return nil
		},
	}
}

// release is the version of this source.
const release = "0.1.0"

// version is that of the build: the tag for one by `go install` at a tag, else the source's. What Go makes up for a
// checkout between tags would be below the version that it comes after.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		if tag, ok := strings.CutPrefix(info.Main.Version, "v"); ok && !strings.ContainsAny(tag, "-+") {
			return tag
		}
	}
	return release
}
