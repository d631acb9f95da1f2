package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/cartagent/cartagent/loop"
	"github.com/spf13/cobra"
)

type runFlags struct {
	flags
	yes, json     bool
	cwd           string
	mode, session string
	record        string
}

func newRun(c console) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] PROMPT",
		Short: "Play one turn from the command line",
		Long: `Plays one turn and shows what an editor would show: the agent's text and each tool call with its outcome on stdout,
questions and notices on stderr. The PROMPT "-" is read from stdin. Ctrl-C cancels the turn.

Questions about permission take y (once), a (always in this session) or n (no). With --yes everything is allowed; without
a terminal to ask on, what needs permission is refused. What the model itself asks takes the number of an answer; without
a terminal it gets none, with --yes too.

Exit codes: 0 the turn ended, 1 error (a recording that could not be written too), 2 bad usage or configuration (a missing
or refused key too), 3 the model refused,
4 a token or request limit, 5 a permission was refused or nobody could be asked, 130 cancelled.`,
		Example: `  cartagent run --yes "A large latte and a morning bun, please"
  echo "Why does TestCart fail?" | cartagent run --model anthropic/claude-sonnet-5-5 -`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt := strings.Join(args, " ")
			if prompt == "-" {
				data, err := io.ReadAll(c.in)
				if err != nil {
					return &exitCode{code: exitError, err: fmt.Errorf("reading the prompt: %w", err)}
				}
				prompt = string(data)
			}
			if strings.TrimSpace(prompt) == "" {
				return usageError(errors.New("the prompt is empty"))
			}
			return runPrompt(cmd.Context(), c, f, prompt)
		},
	}
	addAgentFlags(cmd, &f.flags)
	cmd.Flags().BoolVar(&f.yes, "yes", false, "allow every tool call")
	cmd.Flags().BoolVar(&f.json, "json", false, "print each session/update, and last the result, as JSON lines")
	cmd.Flags().Var(nonempty(&f.mode), "mode", "ask, accept-edits, plan, or bypass with --allow-bypass")
	cmd.Flags().Var(nonempty(&f.session), "session", "go on with a stored session, by its id")
	cmd.Flags().Var(nonempty(&f.cwd), "cwd", "the folder to work in (default: the current one)")
	cmd.Flags().Var(nonempty(&f.record), "record", "a file to record the session to (see cartagent replay)")
	return cmd
}

// runPrompt is an ACP client of the agent that `cartagent acp` serves, at the other end of an in-memory pipe.
func runPrompt(ctx context.Context, c console, f runFlags, prompt string) (err error) {
	cwd, err := workdir(f.cwd)
	if err != nil {
		return usageError(err)
	}
	if err := f.checkMode(); err != nil {
		return usageError(err)
	}
	logger := newLogger(c)
	cfg, err := loadConfig(c.env, f.flags)
	if err != nil {
		return err
	}
	p := newProgram(cfg, logger)
	p.bypass, p.tell, p.overStore = f.bypass, c.tell, c.over
	p.signer = func(agent.Setup) signer { return signerAt(c) }
	p.patience = cmp.Or(c.patience, 15*time.Second) // there is no second turn that a late server could join
	if project := cfg.projectIn(cwd); project.model != "" && !cfg.chosen {
		c.tell("using " + project.model + ", as " + shown(project.modelFrom) + " says; choose another with CARTAGENT_MODEL or --model")
	} else {
		sayModel(c, cfg)
	}
	defer p.close()

	agentEnd, clientEnd := acp.Pipe()
	if f.record != "" {
		path, pathErr := recordTo(f.record)
		if pathErr != nil {
			return usageError(pathErr)
		}
		var unrecorded atomic.Bool
		r := p.record(path, func(err error) {
			unrecorded.Store(true)
			c.tell(err.Error())
		})
		defer func() {
			r.close()
			if err == nil && unrecorded.Load() {
				err = &exitCode{code: exitError}
			}
		}()
		agentEnd = r.conn(agentEnd)
	}
	var group sync.WaitGroup
	var served *agent.Agent
	bound := make(chan struct{})
	group.Go(func() {
		serveErr := acp.Serve(context.WithoutCancel(ctx), agentEnd, func(client *acp.ClientConn) acp.Agent {
			served = agent.New(client, p.options())
			close(bound)
			return served
		}, acp.Options{Log: logger})
		if serveErr != nil {
			logger.Error("serving", "err", serveErr)
		}
	})
	<-bound
	t := &terminal{console: c, yes: f.yes, json: f.json, calls: make(map[acp.ToolCallID]*shownCall)}
	conn := acp.Dial(context.WithoutCancel(ctx), clientEnd, t, acp.Options{Log: logger})
	defer func() {
		closeErr := conn.Close()
		group.Wait()
		if closeErr = errors.Join(closeErr, served.Close()); closeErr != nil {
			logger.Warn("closing", "err", closeErr)
		}
	}()
	return t.play(ctx, conn, cwd, f, prompt)
}

// openSession opens a new session, or a stored one, in the mode that was asked for.
func openSession(ctx context.Context, conn *acp.AgentConn, cwd string, f runFlags) (acp.SessionID, error) {
	id := acp.SessionID(f.session)
	if id == "" {
		opened, err := conn.NewSession(ctx, &acp.NewSessionRequest{Cwd: cwd})
		if err != nil {
			return "", err
		}
		id = opened.SessionID
	} else if _, err := conn.ResumeSession(ctx, &acp.ResumeSessionRequest{SessionID: id, Cwd: cwd}); err != nil {
		return id, err
	} else if f.model != "" { // the session has one already
		if _, err := conn.SetSessionConfigOption(ctx, &acp.SetSessionConfigOptionRequest{
			SessionID: id, ConfigID: "model", Value: acp.SelectValue{Value: acp.SessionConfigValueID(f.model)},
		}); err != nil {
			return id, err
		}
	}
	if f.mode == "" {
		return id, nil
	}
	_, err := conn.SetSessionMode(ctx, &acp.SetSessionModeRequest{SessionID: id, ModeID: acp.SessionModeID(f.mode)})
	return id, err
}

// checkMode says what is wrong with the mode, before there is a session that would be left without a turn.
func (f runFlags) checkMode() error {
	switch f.mode {
	case "", loop.ModeAsk, loop.ModeAcceptEdits, loop.ModePlan:
		return nil
	case loop.ModeBypass:
		if f.bypass {
			return nil
		}
		return errors.New(`there is no mode "bypass" without --allow-bypass`)
	}
	return fmt.Errorf("there is no mode %q: use %s, %s, %s, or %s with --allow-bypass",
		f.mode, loop.ModeAsk, loop.ModeAcceptEdits, loop.ModePlan, loop.ModeBypass)
}

func workdir(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding the folder to work in: %w", err)
	}
	info, err := os.Stat(abs)
	switch {
	case err != nil:
		return "", fmt.Errorf("the folder to work in: %w", err)
	case !info.IsDir():
		return "", fmt.Errorf("%s is not a folder", abs)
	}
	return abs, nil
}

// play opens a session, plays the turn and says how it ended.
func (t *terminal) play(ctx context.Context, conn *acp.AgentConn, cwd string, f runFlags, prompt string) error {
	if _, err := conn.Initialize(ctx, &acp.InitializeRequest{
		ProtocolVersion: acp.LatestVersion,
		ClientInfo:      &acp.Implementation{Name: "cartagent-run", Version: version()},
	}); err != nil {
		return t.failed("", err)
	}
	id, err := openSession(ctx, conn, cwd, f)
	if err != nil {
		return t.failed(id, err)
	}
	interrupted, stop := signal.NotifyContext(ctx, syscall.SIGINT)
	defer stop()
	defer context.AfterFunc(interrupted, func() {
		stop() // a second Ctrl-C ends the process
		if err := conn.Cancel(context.WithoutCancel(ctx), &acp.CancelNotification{SessionID: id}); err != nil {
			t.console.tell("cancelling: " + err.Error())
		}
	})()
	result, err := conn.Prompt(context.WithoutCancel(ctx), &acp.PromptRequest{
		SessionID: id, Prompt: acp.ContentBlocks{acp.TextContent{Text: prompt}},
	})
	if err != nil {
		return t.failed(id, err)
	}
	return t.ended(id, result.StopReason)
}
