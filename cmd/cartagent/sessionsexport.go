package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cartagent/cartagent/session"
	"github.com/spf13/cobra"
)

// exporting says how a session is exported.
type exporting struct {
	html, redact bool
	file         string
}

func newSessionsExport(c console) *cobra.Command {
	var e exporting
	cmd := &cobra.Command{
		Use:   "export ID",
		Short: "Write a session as one self-contained file",
		Long: `Writes a session to stdout or a file: the lines of its log with the large payloads inside, which ` + "`sessions import`" + ` takes
on another machine and ` + "`sessions verify`" + ` proves to be whole; or with --html a page to look at, which needs nothing beside
it.

--redact takes out what was said, read, written and answered, and leaves what happened when: kinds, names of tools,
sizes, outcomes, tokens. The chain still proves what was there. The folder of the session stays, since the chain begins
with it. A redacted file can be shown and verified, not imported.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inStore(cmd, c, func(ctx context.Context, dir *session.Dir) error {
				return exportSession(ctx, c, dir, args[0], e)
			})
		},
	}
	cmd.Flags().BoolVar(&e.html, "html", false, "a page to look at")
	cmd.Flags().BoolVar(&e.redact, "redact", false, "without what could be private")
	cmd.Flags().VarP(nonempty(&e.file), "output", "o", "the file to write; a file that is there is replaced (default: stdout)")
	return cmd
}

func exportSession(ctx context.Context, c console, dir *session.Dir, arg string, e exporting) error {
	from, err := sourceOf(ctx, dir, arg)
	if err != nil {
		return err
	}
	if from.path != "" && !e.html {
		return usageError(errors.New("a file is exported already; use --html to make a page of it"))
	}
	if e.file == "" {
		return e.write(ctx, c, dir, from, c.out)
	}
	var all bytes.Buffer
	if err := e.write(ctx, c, dir, from, &all); err != nil {
		return err
	}
	if err := replaceFile(linked(e.file), ".export", all.Bytes()); err != nil {
		return fmt.Errorf("writing %s: %w", e.file, err)
	}
	return nil
}

func (e exporting) write(ctx context.Context, c console, dir *session.Dir, from source, w io.Writer) error {
	redact := session.Outline(nil)
	if e.redact {
		redact = outlineOf
	}
	if !e.html {
		problems, err := dir.Export(ctx, from.info.ID, w, redact)
		for _, p := range problems {
			c.tell("damaged, and left out: " + p.String())
		}
		return err
	}
	records, problems, err := from.records(ctx, dir)
	if err != nil {
		return err
	}
	if e.redact {
		for i := range records {
			if what, private := outlineOf(records[i].Input); private && !records[i].Redacted {
				records[i].Input, records[i].Redacted = what, true
			}
		}
		from.info.Cwd = ""
	}
	return writePage(w, viewOf(from.info, records, problems))
}

func newSessionsImport(c console) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Add a session that was exported",
		Long: `Adds a session from a file that ` + "`cartagent sessions export`" + ` has written, or from stdin where FILE is "-". It keeps its id;
one that is there already is not replaced. The whole chain and all payloads must fit.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inStore(cmd, c, func(ctx context.Context, dir *session.Dir) error {
				return importSession(ctx, c, dir, args[0])
			})
		},
	}
}

func importSession(ctx context.Context, c console, dir *session.Dir, path string) error {
	in := c.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return usageError(err)
		}
		defer f.Close() //nolint:errcheck // it was only read
		in = f
	}
	info, err := dir.Import(ctx, in)
	var damaged *session.Damaged
	switch {
	case errors.As(err, &damaged):
		return fmt.Errorf("%s:%d: nothing was imported: %s", path, damaged.Problem.Line, damaged.Problem.Text)
	case errors.Is(err, session.ErrExists):
		return fmt.Errorf("nothing was imported: %w; delete it first if this one is to take its place", err)
	case err != nil:
		return fmt.Errorf("nothing was imported: %w", err)
	}
	return printed(c, info.ID+"\n")
}
