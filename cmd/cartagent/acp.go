package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/muesli/termenv"

	"github.com/cartagent/cartagent/acp"
	"github.com/cartagent/cartagent/agent"
	"github.com/charmbracelet/log"
	"github.com/spf13/cobra"
)

func newACP(c console) *cobra.Command {
	var f flags
	var asLogin bool
	var record string
	cmd := &cobra.Command{
		Use:   "acp",
		Short: "Serve the Agent Client Protocol on stdin and stdout",
		Long: `Serves the Agent Client Protocol, version 1, on stdin and stdout, until stdin ends or SIGTERM. This is the command
that an editor or a harness launches. Logs go to stderr (CARTAGENT_LOG=debug for more).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asLogin {
				return login(cmd.Context(), c, loginFlags{flags: f})
			}
			return serveACP(cmd.Context(), c, f, record)
		},
	}
	addAgentFlags(cmd, &f)
	cmd.Flags().Var(nonempty(&record), "record", "a folder to record each session to, as ID.txtar (see cartagent replay)")
	cmd.Flags().BoolVar(&asLogin, "login", false, "do not serve, but ask for a provider's key on the terminal and store it, as cartagent login does")
	return cmd
}

func addAgentFlags(cmd *cobra.Command, f *flags) {
	cmd.Flags().StringVar(&f.model, "model", "", "the model, as provider/name (default $CARTAGENT_MODEL)")
	cmd.Flags().BoolVar(&f.bypass, "allow-bypass", false, "offer the mode in which nothing asks for permission")
	cmd.Flags().Var(nonempty(&f.mcpConfig), "mcp-config", "a file with more MCP servers: {\"mcpServers\": {…}}; they replace those of the same name")
}

func serveACP(ctx context.Context, c console, f flags, record string) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT)
	defer stop()
	broken := make(chan os.Signal, 1) // a client that does not read any more is an error of the write, not our death
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	logger := newLogger(c)
	cfg, err := loadConfig(c.env, f)
	if err != nil {
		return err
	}
	sayModel(c, cfg)
	p := newProgram(cfg, logger)
	p.bypass, p.overStore, p.patience = f.bypass, c.over, cmp.Or(c.patience, p.patience)
	defer p.close()
	conn := acp.Stdio(c.in, c.out)
	if record != "" {
		path, err := recordInto(record)
		if err != nil {
			return usageError(err)
		}
		r := p.record(path, func(err error) { c.tell(err.Error()) })
		defer r.close()
		conn = r.conn(conn)
	}
	var served *agent.Agent
	err = acp.Serve(ctx, conn, func(client *acp.ClientConn) acp.Agent {
		served = agent.New(client, p.options())
		return served
	}, acp.Options{Log: logger})
	reason := "the input ended"
	switch {
	case err != nil:
		reason = "the connection broke: " + err.Error()
	case ctx.Err() != nil:
		reason = "asked to stop by a signal"
	}
	if closeErr := served.Close(); closeErr != nil {
		logger.Warn("closing sessions", "err", closeErr)
	}
	c.tell(reason + "; all sessions are closed")
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		return &exitCode{code: exitError}
	}
	return nil
}

// newLogger logs to stderr: text on a terminal, JSON lines otherwise.
func newLogger(c console) *log.Logger {
	level, err := log.ParseLevel(c.env("CARTAGENT_LOG"))
	if err != nil {
		level = log.WarnLevel
	}
	o := log.Options{Level: level, ReportTimestamp: true, TimeFormat: time.RFC3339Nano, Formatter: log.JSONFormatter}
	f, ok := c.err.(*os.File)
	if !ok || !isTerminal(f) {
		return log.NewWithOptions(c.err, o)
	}
	o.Formatter = log.TextFormatter
	// Given the terminal itself, the logger would ask it for its colors and read the answer from what the person types,
	// for up to 10 s where none comes.
	logger := log.NewWithOptions(struct{ io.Writer }{f}, o)
	logger.SetColorProfile(termenv.NewOutput(f).EnvColorProfile())
	return logger
}

// sayModel tells, when nobody has named a model, which one answers and how to choose another.
func sayModel(c console, cfg *config) {
	switch {
	case cfg.chosen:
	case cfg.Model == offlineModel:
		c.tell("no model is configured, so the offline barista answers and takes orders at the cart only; " +
			"for a coding agent run `cartagent login`, or set CARTAGENT_MODEL (or --model) to anthropic/NAME with ANTHROPIC_API_KEY, or openai/NAME with OPENAI_API_KEY")
	default:
		c.tell("using " + cfg.Model + ", whose key is set; choose another with CARTAGENT_MODEL or --model")
	}
}
