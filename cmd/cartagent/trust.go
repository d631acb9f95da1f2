package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/cartagent/cartagent/loop"
	"github.com/spf13/cobra"
)

type trustFlags struct{ list, revoke, yes bool }

func newTrust(c console) *cobra.Command {
	var f trustFlags
	cmd := &cobra.Command{
		Use:   "trust [flags] [DIR]",
		Short: "Let a project's own servers and configuration take effect",
		Long: `A project may bring MCP servers in .mcp.json, and in .agents/config.json a model, MCP servers and permissions. Since they
run commands on this machine, they take effect only once you have trusted them here.

Shows what the files of DIR (default: the current folder) and of the git root that holds it would do, and asks. What you
trust is exactly what you were shown: a file that changes is off again, and so is a copy in another folder. It is kept in
trust.json in the configuration folder.

.mcp.json has the shape {"mcpServers": {…}}; .agents/config.json may have the keys model, mcpServers and permissions. Flags
go before the environment, that before your own config.json, that before the project: of two servers of one name yours is
used, and the project's model only where you named none. Of the permissions all hold, and the strictest that matches
wins. In a project, DIR's files go before those of the git root, and .agents/config.json before .mcp.json. A server of a
project runs in the folder that .mcp.json or .agents is in, and a relative path of its command begins there.

Exit codes: 0 done, 1 refused or nothing to trust, 2 bad usage.`,
		Example: `  cartagent trust
  cartagent trust --list
  cartagent trust --revoke ../shop`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT)
			defer stop()
			file := trustFileIn(configDir(c.env))
			switch {
			case f.list:
				return listTrust(c, file, dir)
			case f.revoke:
				return revokeTrust(ctx, c, file, dir)
			}
			return trust(ctx, c, file, dir, f.yes)
		},
	}
	cmd.Flags().BoolVar(&f.list, "list", false, "list the files of all projects that you have trusted, and those of DIR, with their state")
	cmd.Flags().BoolVar(&f.revoke, "revoke", false, "trust the files of DIR no more")
	cmd.Flags().BoolVar(&f.yes, "yes", false, "trust without asking")
	cmd.MarkFlagsMutuallyExclusive("list", "revoke", "yes")
	return cmd
}

// trust shows what the files of a folder would do, asks, and keeps the answer.
func trust(ctx context.Context, c console, file trustFile, dir string, yes bool) error {
	if file.path == "" {
		return usageError(errors.New("there is no folder to keep in what is trusted: set HOME or CARTAGENT_CONFIG_DIR"))
	}
	dir, err := workdir(dir)
	if err != nil {
		return usageError(err)
	}
	known, err := file.read()
	if err != nil {
		return &exitCode{code: exitError, err: err}
	}
	files := projectFiles(dir)
	if len(files) == 0 {
		return &exitCode{code: exitError, err: fmt.Errorf("there is nothing to trust in %s: it has no %s and no %s", shown(dir), projectServers, projectConfig)}
	}
	var wanted []*projectFile
	var broken []error
	for _, f := range files {
		switch {
		case f.err != nil:
			broken = append(broken, f.err)
		case known.state(f) == trusted:
			c.tell(shown(f.path()) + " is trusted already")
		default:
			wanted = append(wanted, f)
		}
	}
	if err := errors.Join(broken...); err != nil {
		return &exitCode{code: exitError, err: fmt.Errorf("nothing was trusted: %w", err)}
	}
	if len(wanted) == 0 {
		return nil
	}
	var b strings.Builder
	for _, f := range wanted {
		f.describe(&b, known.state(f) == changed)
	}
	_, _ = io.WriteString(c.err, b.String())
	if err := agree(ctx, c, yes); err != nil {
		return err
	}
	if err := file.trust(ctx, wanted); err != nil {
		return &exitCode{code: exitError, err: err}
	}
	for _, f := range wanted {
		c.tell(shown(f.path()) + " is trusted, as it is now; `cartagent trust --revoke` takes that back")
	}
	return nil
}

// agree asks the person, unless they have said so beforehand.
func agree(ctx context.Context, c console, yes bool) error {
	switch {
	case yes:
		return nil
	case !isTerminal(c.in):
		return usageError(errors.New("there is no terminal to ask on: look at what is above, and use --yes if you trust it"))
	}
	_, _ = io.WriteString(c.err, "Let this take effect? [y/N] ")
	answer, err := await(ctx, func() (string, error) { return bufio.NewReader(c.in).ReadString('\n') })
	if ctx.Err() != nil {
		return &exitCode{code: exitCancelled, err: errors.New("interrupted; nothing was trusted")}
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
		return nil
	}
	if err != nil {
		_, _ = io.WriteString(c.err, "\n") // nobody has ended the line
	}
	return &exitCode{code: exitError, err: errors.New("nothing was trusted")}
}

// describe says what the file would do.
func (f *projectFile) describe(b *strings.Builder, again bool) {
	fmt.Fprintf(b, "%s", shown(f.path()))
	if again {
		b.WriteString(" (it has changed since you trusted it)")
	}
	b.WriteString(":\n")
	if f.model != "" {
		fmt.Fprintf(b, "  uses the model %s, where you have named none\n", shown(f.model))
	}
	for _, r := range f.rules {
		fmt.Fprintf(b, "  permission: %s\n", ruleLine(r))
	}
	for _, name := range slices.Sorted(maps.Keys(f.mcp)) {
		spec := f.mcp[name]
		spec.describe(b, name)
	}
	if f.model == "" && len(f.rules)+len(f.mcp) == 0 {
		b.WriteString("  says nothing\n")
	}
}

// describe says what a server is, as a project's file has it: its variables by their names.
func (s *serverSpec) describe(b *strings.Builder, name string) {
	if s.URL != "" {
		fmt.Fprintf(b, "  server %s: connects to %s", shown(name), shown(s.URL))
	} else {
		runs := s.server(name, "")
		fmt.Fprintf(b, "  server %s: runs %s in %s", shown(name), commandLine(runs.Command, s.Args), shown(runs.Dir))
	}
	b.WriteString("\n")
	for _, part := range []struct {
		label string
		all   map[string]string
	}{{"sets", s.Env}, {"sends", s.Headers}} {
		for _, k := range slices.Sorted(maps.Keys(part.all)) {
			fmt.Fprintf(b, "    %s %s: %s\n", part.label, shown(k), shown(part.all[k]))
		}
	}
	if vars := s.variables(); len(vars) > 0 {
		fmt.Fprintf(b, "    is told the variables %s\n", strings.Join(vars, ", "))
	}
	if s.Trusted {
		b.WriteString("    is believed when it says that a tool only reads, which then runs unasked\n")
	}
	for _, part := range []struct {
		label string
		names []string
	}{{"only the tools", s.Tools.Allow}, {"not the tools", s.Tools.Deny}} {
		if len(part.names) > 0 {
			fmt.Fprintf(b, "    %s %s\n", part.label, commandLine(part.names[0], part.names[1:]))
		}
	}
}

// variables are the names of all variables that a server's entry refers to.
func (s *serverSpec) variables() []string {
	texts := append([]string{s.Command, s.URL}, s.Args...)
	texts = slices.AppendSeq(texts, maps.Values(s.Env))
	texts = slices.AppendSeq(texts, maps.Values(s.Headers))
	var out []string
	for _, t := range texts {
		out = append(out, references(t)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func ruleLine(r loop.Rule) string {
	line := r.Verdict.String() + " " + shown(r.Tool)
	if len(r.Prefix) > 0 {
		line += " of " + commandLine(r.Prefix[0], r.Prefix[1:])
		if !r.Exact {
			line += " and what begins like it"
		}
	}
	return line
}

// shown is a text of a foreign file on one line of a terminal: quoted where it could pass for another.
func shown(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsPrint(r) || r == ' ' || r == '"' || r == '\'' || r == unicode.ReplacementChar
	})
	if plain {
		return s
	}
	return strconv.Quote(s)
}

func commandLine(command string, args []string) string {
	words := []string{shown(command)}
	for _, a := range args {
		words = append(words, shown(a))
	}
	return strings.Join(words, " ")
}

// listTrust lists the files that the person has trusted, and those of the folder.
func listTrust(c console, file trustFile, dir string) error {
	known, err := file.read()
	if err != nil {
		return &exitCode{code: exitError, err: err}
	}
	dir, err = workdir(dir)
	if err != nil {
		return usageError(err)
	}
	lines := make(map[string]string)
	note := func(f *projectFile, state trustState) {
		word := map[trustState]string{untrusted: "not trusted", changed: "changed", trusted: "trusted"}[state]
		switch {
		case f.err != nil && f.sum == "":
			word = "unreadable"
		case f.err != nil:
			word = "unusable"
		}
		lines[f.path()] = word
	}
	for folder, names := range known {
		for name := range names {
			lines[filepath.Join(folder, filepath.FromSlash(name))] = "gone"
		}
		for _, f := range projectFiles(folder) {
			if _, ours := names[f.name]; ours && f.folder == folder {
				note(f, known.state(f))
			}
		}
	}
	for _, f := range projectFiles(dir) {
		note(f, known.state(f))
	}
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&b, "%-11s  %s\n", lines[path], shown(path))
	}
	if b.Len() == 0 {
		c.tell("no project's files are trusted")
	}
	if _, err := io.WriteString(c.out, b.String()); err != nil {
		return &exitCode{code: exitError, err: fmt.Errorf("writing the list: %w", err)}
	}
	return nil
}

// revokeTrust forgets a folder and its git root. The folder may be gone.
func revokeTrust(ctx context.Context, c console, file trustFile, dir string) error {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return usageError(err)
	}
	folders, err := projectFolders(abs)
	if errors.Is(err, os.ErrNotExist) {
		folders, err = []string{abs}, nil
	}
	if err != nil {
		return usageError(err)
	}
	if file.path == "" {
		return usageError(errors.New("there is no folder in which anything could be trusted: set HOME or CARTAGENT_CONFIG_DIR"))
	}
	gone, err := file.revoke(ctx, folders)
	if err != nil {
		return &exitCode{code: exitError, err: err}
	}
	for _, path := range gone {
		c.tell(shown(path) + " is trusted no more")
	}
	if len(gone) == 0 {
		c.tell("nothing of " + shown(abs) + " was trusted")
	}
	return nil
}
