package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/cartagent/cartagent/session"
	"github.com/spf13/cobra"
)

func newSessionsDelete(c console) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete ID…",
		Short: "Delete sessions, after asking",
		Long: `Removes sessions for good, with their large payloads. One that a process has open is not removed; the error names the
process. What cannot be found or removed does not keep the others from being removed.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inStore(cmd, c, func(ctx context.Context, dir *session.Dir) error {
				var all []session.Info
				for _, arg := range args {
					info, err := resolve(ctx, dir, arg)
					if err != nil {
						return err // nothing is removed where one of them is not what was meant
					}
					all = append(all, info)
				}
				return removeSessions(ctx, c, dir, all, yes)
			})
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

func newSessionsPrune(c console) *cobra.Command {
	var older string
	var keep int
	var yes bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Delete old sessions, after asking",
		Long: `Removes sessions by their age, by their number, or where both are given those that either would remove; the most recent
of those to stay are decided by when they were last written to. What would go is shown first. Sessions that a process has
open stay. It also removes what crashes have left in the folder.`,
		Example: `  cartagent sessions prune --older-than 30d
  cartagent sessions prune --keep 100 --yes`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			age, err := ageOf(older)
			switch {
			case err != nil:
				return usageError(err)
			case keep < 0:
				return usageError(fmt.Errorf("--keep is %d: use 0 or more", keep))
			case older == "" && !cmd.Flags().Changed("keep"):
				return usageError(errors.New("say what is to go: --older-than 30d, --keep 100, or both"))
			}
			if !cmd.Flags().Changed("keep") {
				keep = -1
			}
			return inStore(cmd, c, func(ctx context.Context, dir *session.Dir) error {
				return pruneSessions(ctx, c, dir, pruning{age: age, keep: keep, yes: yes})
			})
		},
	}
	cmd.Flags().Var(nonempty(&older), "older-than", "those not written to for so long, such as 30d, 12h or 2w")
	cmd.Flags().IntVar(&keep, "keep", 0, "all but so many of the newest")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// ageOf reads a duration that may be in days or weeks. Zero is none.
func ageOf(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	const day = 24 * time.Hour
	for unit, length := range map[string]time.Duration{"d": day, "w": 7 * day} {
		number, ok := strings.CutSuffix(text, unit)
		if n, err := strconv.Atoi(number); ok && err == nil && n > 0 && n < 100_000 {
			return time.Duration(n) * length, nil
		}
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	return 0, fmt.Errorf("--older-than is %q: use a time such as 30d, 12h or 2w", text)
}

// pruning says what is to go: what is older than age, if that is not zero, and all but keep, if that is not negative.
type pruning struct {
	age  time.Duration
	keep int
	yes  bool
}

func (p pruning) goes(place int, info session.Info, now time.Time) bool {
	return p.keep >= 0 && place >= p.keep || p.age > 0 && now.Sub(info.Updated) > p.age
}

func pruneSessions(ctx context.Context, c console, dir *session.Dir, p pruning) error {
	page, err := dir.List(ctx, session.Filter{})
	if err != nil {
		return err
	}
	var gone []session.Info
	for i, info := range page.Sessions {
		if p.goes(i, info, time.Now()) {
			gone = append(gone, info)
		}
	}
	if len(gone) == 0 {
		c.tell("no session is to go")
	} else if err := removeSessions(ctx, c, dir, gone, p.yes); err != nil {
		return err
	}
	swept, err := dir.Sweep(ctx)
	if swept > 0 {
		c.tell(fmt.Sprintf("%d leftovers of crashes were removed", swept))
	}
	return err
}

// removeSessions shows what is to go, asks unless told not to, and removes.
func removeSessions(ctx context.Context, c console, dir *session.Dir, all []session.Info, yes bool) error {
	for _, info := range all {
		line := info.ID + "  " + stamp(info.Updated)
		if title := titleOf(ctx, dir, info.ID); title != "" {
			line += "  " + oneLineOf(title)
		}
		_, _ = io.WriteString(c.err, line+"\n")
	}
	if err := sure(ctx, c, len(all), yes); err != nil {
		return err
	}
	var errs []error
	for _, info := range all {
		switch err := dir.Delete(ctx, info.ID); {
		case err == nil:
			if err := printed(c, "deleted "+info.ID+"\n"); err != nil {
				return err
			}
		case errors.Is(err, session.ErrNotFound): // another process was quicker
		default:
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sure asks whether sessions are to be deleted.
func sure(ctx context.Context, c console, n int, yes bool) error {
	switch {
	case yes:
		return nil
	case !isTerminal(c.in):
		return usageError(errors.New("nothing was deleted: there is no terminal to ask on; use --yes"))
	}
	what := "this session"
	if n > 1 {
		what = fmt.Sprintf("these %d sessions", n)
	}
	_, _ = io.WriteString(c.err, "Delete "+what+" for good? [y/N] ")
	answer, err := await(ctx, func() (string, error) { return bufio.NewReader(c.in).ReadString('\n') })
	if ctx.Err() != nil {
		return &exitCode{code: exitCancelled, err: errors.New("interrupted; nothing was deleted")}
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
		return nil
	}
	if err != nil {
		_, _ = io.WriteString(c.err, "\n") // nobody has ended the line
	}
	return &exitCode{code: exitError, err: errors.New("nothing was deleted")}
}
