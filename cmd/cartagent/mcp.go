package main

import (
	"errors"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func newMCP(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "List, add, remove and try MCP servers, and sign out of them",
		Long: `Works on the MCP servers of config.json in the configuration folder, and shows those of the project in the current
folder, once ` + "`cartagent trust`" + ` has turned them on.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMCPList(c), newMCPAdd(c), newMCPRemove(c), newMCPCall(c), newMCPLogout(c))
	return cmd
}

// whichServers says whose servers a command works with.
type whichServers struct {
	cwd       string
	mcpConfig string
}

func (w *whichServers) flags(cmd *cobra.Command) {
	cmd.Flags().Var(nonempty(&w.cwd), "cwd", "the folder whose project it is (default: the current one)")
	cmd.Flags().Var(nonempty(&w.mcpConfig), "mcp-config", "a file with more MCP servers: {\"mcpServers\": {…}}; they replace those of the same name")
}

func newMCPList(c console) *cobra.Command {
	var w whichServers
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "Connect to each MCP server and say what became of it",
		Long: `Connects to each configured server, side by side, and lists its state, the era and version of the protocol that it
speaks, and its tools. Of a project's servers those are named too that are off because nobody has trusted them. Values
of variables and headers are not shown, only their names.

Exit codes: 0 all servers are well, 1 one of them is not, 2 bad usage or configuration.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT)
			defer stop()
			return listServers(ctx, c, w, asJSON)
		},
	}
	w.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object: {\"servers\": [{\"name\", \"state\", \"tools\", …}]}")
	return cmd
}

func newMCPAdd(c console) *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add NAME [flags] (URL | -- COMMAND [ARGS…])",
		Short: "Add an MCP server to the configuration",
		Long: `Writes a server into config.json, and leaves all else in there as it is. What you write as ${VAR} or ${VAR:-default}
is put in from the environment when the server is used, so that no secret needs to be in the file; quote it for your
shell.`,
		Example: `  cartagent mcp add cart -- cartagent cart
  cartagent mcp add shop --env SHOP_KEY='${SHOP_KEY}' --timeout 30s -- npx shop-mcp --verbose
  cartagent mcp add far https://example.com/mcp --header 'Authorization: Bearer ${FAR_TOKEN}'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT)
			defer stop()
			spec, err := f.spec(args, cmd.ArgsLenAtDash())
			if err != nil {
				return usageError(err)
			}
			return addServer(ctx, c, args[0], spec, f.force)
		},
	}
	cmd.Flags().StringArrayVar(&f.env, "env", nil, "a variable for the command, as NAME=VALUE; may be given again")
	cmd.Flags().StringArrayVar(&f.headers, "header", nil, "a header for the URL, as \"NAME: VALUE\"; may be given again")
	cmd.Flags().Var(nonempty(&f.kind), "type", "how the URL is spoken to: http (the default) or sse, the older way")
	cmd.Flags().Var(nonempty(&f.timeout), "timeout", "how long an answer may take, such as 90s, and again after each progress of a call (default 60s)")
	cmd.Flags().Var(nonempty(&f.ceiling), "ceiling", "how long a call may take that makes progress, such as 30m (default 10 times the timeout, at least 10m)")
	cmd.Flags().BoolVar(&f.trusted, "trusted", false, "believe the server when it says that a tool only reads, and do not ask for those")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace the server of that name")
	return cmd
}

func newMCPRemove(c console) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove an MCP server from the configuration",
		Long: `Takes a server out of config.json, and leaves all else in there as it is. The tokens that were stored when you signed in
there are forgotten, unless another server of that file has the same URL.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT)
			defer stop()
			return removeServer(ctx, c, args[0])
		},
	}
}

func newMCPCall(c console) *cobra.Command {
	var w whichServers
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "call SERVER TOOL JSON",
		Short: "Call a tool of an MCP server",
		Long: `Calls a tool with those arguments, a JSON object, and prints its result: texts as they are, structured content as JSON,
images and other data by their type and size. The arguments "-" are read from stdin. Nothing is asked: you have typed it.

Exit codes: 0 the tool did it, 1 it failed or could not be reached, 2 bad usage, such as arguments that do not fit.`,
		Example: `  cartagent mcp call cart create_order '{}'
  echo '{"order": "ord_…", "item": "scone"}' | cartagent mcp call cart add_item -`,
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT)
			defer stop()
			err := callTool(ctx, c, w, toolCall{server: args[0], tool: args[1], args: args[2], json: asJSON})
			if err != nil && ctx.Err() != nil {
				return &exitCode{code: exitCancelled, err: errors.New("interrupted; whether the call took effect is not known")}
			}
			return err
		},
	}
	w.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the whole result as one JSON object, as MCP has it")
	return cmd
}
