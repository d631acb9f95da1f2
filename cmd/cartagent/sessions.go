package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/session"
	"github.com/spf13/cobra"
)

func newSessions(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, show, export, import, verify and delete stored sessions",
		Long: `Works on the sessions in the state folder: $CARTAGENT_STATE_DIR/sessions, one file ID.jsonl a session, with large payloads
beside it in ID.blobs. Wherever an ID is wanted the beginning of one will do, with or without "sess_", if no other
session's begins alike.

Exit codes: 0 done, 1 an error, or something that does not fit, 2 bad usage, such as a session that is not there.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		newSessionsList(c), newSessionsShow(c), newSessionsExport(c), newSessionsImport(c), newSessionsVerify(c),
		newSessionsDelete(c), newSessionsPrune(c),
	)
	return cmd
}

// inStore runs a command on the stored sessions. Its errors exit with 1, or 2 for a session that is not there.
func inStore(cmd *cobra.Command, c console, do func(context.Context, *session.Dir) error) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGINT)
	defer stop()
	state := stateDir(c.env)
	if state == "" {
		return usageError(errors.New("there is no state folder: set CARTAGENT_STATE_DIR or HOME"))
	}
	dir, err := session.OpenDir(state, session.Options{})
	if err != nil {
		return &exitCode{code: exitError, err: err}
	}
	err = errors.Join(do(ctx, dir), dir.Close())
	var exit *exitCode
	switch {
	case err == nil, errors.As(err, &exit):
		return err
	case ctx.Err() != nil:
		return &exitCode{code: exitCancelled, err: errors.New("interrupted")}
	case errors.Is(err, session.ErrNotFound):
		return usageError(err)
	}
	return &exitCode{code: exitError, err: err}
}

// resolve is the one session whose id begins so.
func resolve(ctx context.Context, dir *session.Dir, arg string) (session.Info, error) {
	page, err := dir.List(ctx, session.Filter{})
	if err != nil {
		return session.Info{}, err
	}
	var found []session.Info
	for _, info := range page.Sessions {
		switch {
		case info.ID == arg:
			return info, nil
		case arg != "" && (strings.HasPrefix(info.ID, arg) || strings.HasPrefix(info.ID, "sess_"+arg)):
			found = append(found, info)
		}
	}
	switch len(found) {
	case 0:
		return session.Info{}, usageError(fmt.Errorf("there is no session %q; `cartagent sessions list` lists those that there are", arg))
	case 1:
		return found[0], nil
	}
	return session.Info{}, usageError(fmt.Errorf("%d sessions begin with %q, among them %s and %s: give more of the id",
		len(found), arg, found[0].ID, found[1].ID))
}

// source is where a session is read: a stored one by its id, or an exported file by its path.
type source struct {
	info session.Info
	path string // of the file; empty for a stored one
}

// sourceOf finds what the argument names: a file where it is a path, else a stored session.
func sourceOf(ctx context.Context, dir *session.Dir, arg string) (source, error) {
	if isFile(arg) {
		return source{path: arg}, nil
	}
	info, err := resolve(ctx, dir, arg)
	return source{info: info}, err
}

// isFile says whether the argument is the path of a file rather than an id: ids have neither a dot nor a slash.
func isFile(arg string) bool {
	if !strings.ContainsAny(arg, `./\`) {
		return false
	}
	fi, err := os.Stat(arg)
	return err == nil && !fi.IsDir()
}

// records are those of the source. Where it is a file, its info is known afterwards.
func (s *source) records(ctx context.Context, dir *session.Dir) ([]session.Record, []session.Problem, error) {
	seq := dir.Records(ctx, s.info.ID)
	verify := func() (session.Report, error) { return dir.Verify(ctx, s.info.ID) }
	if s.path != "" {
		f, err := os.Open(s.path)
		if err != nil {
			return nil, nil, usageError(err)
		}
		defer f.Close() //nolint:errcheck // it was only read
		seq = session.RecordsOf(ctx, f)
		verify = func() (session.Report, error) { return verifyFile(ctx, s.path) }
	}
	var out []session.Record
	for r, err := range seq {
		if err != nil {
			return nil, nil, err
		}
		out = append(out, r)
	}
	report, err := verify()
	if err != nil {
		return nil, nil, err
	}
	updated := s.info.Updated
	if s.info = report.Info; updated.IsZero() && len(out) > 0 {
		updated = out[len(out)-1].At
	}
	s.info.Updated = updated
	return out, report.Problems, nil
}

// verifyFile checks an exported session.
func verifyFile(ctx context.Context, path string, heads ...int) (session.Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return session.Report{}, usageError(err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	return session.VerifyFile(ctx, f, heads...)
}

// titleOf is a stored session's title, from its first prompt that has one.
func titleOf(ctx context.Context, dir *session.Dir, id string) string {
	for in, err := range dir.Inputs(ctx, id, 0) {
		if errors.Is(err, session.ErrVersion) {
			return "(written by a newer version)"
		}
		if err != nil {
			return ""
		}
		if p, ok := in.(loop.Prompted); ok {
			if title := loop.TitleOf(p.Content); title != "" {
				return title
			}
		}
	}
	return ""
}

// printed writes what a command has to say.
func printed(c console, text string) error {
	if _, err := io.WriteString(c.out, text); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

// stamp is a time as lists show it, where the person is.
func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// wireTime is a time as JSON has it.
func wireTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
