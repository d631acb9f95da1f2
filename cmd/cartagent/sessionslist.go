package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/cartagent/cartagent/session"
	"github.com/spf13/cobra"
)

func newSessionsList(c console) *cobra.Command {
	var cwd string
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the stored sessions, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return usageError(fmt.Errorf("--limit is %d: use 0 for all, or a number above it", limit))
			}
			f := session.Filter{Limit: limit}
			if cwd != "" {
				work, err := workdir(cwd)
				if err != nil {
					return usageError(err)
				}
				f.Cwd = work
			}
			return inStore(cmd, c, func(ctx context.Context, dir *session.Dir) error {
				return listSessions(ctx, c, dir, f, asJSON)
			})
		},
	}
	cmd.Flags().Var(nonempty(&cwd), "cwd", "only sessions of this folder")
	cmd.Flags().IntVar(&limit, "limit", 0, "at most so many; 0 means all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object: {\"sessions\": [{\"sessionId\", \"cwd\", \"title\", \"createdAt\", \"updatedAt\"}]}")
	return cmd
}

// listedSession is a session as the list's JSON has it, by ACP's names.
type listedSession struct {
	ID      string `json:"sessionId"`
	Cwd     string `json:"cwd"`
	Title   string `json:"title,omitempty"`
	Created string `json:"createdAt,omitempty"`
	Updated string `json:"updatedAt,omitempty"`
}

func listSessions(ctx context.Context, c console, dir *session.Dir, f session.Filter, asJSON bool) error {
	page, err := dir.List(ctx, f)
	if err != nil {
		return err
	}
	all := make([]listedSession, 0, len(page.Sessions))
	for _, info := range page.Sessions {
		all = append(all, listedSession{
			ID: info.ID, Cwd: info.Cwd, Title: titleOf(ctx, dir, info.ID), Created: wireTime(info.Created), Updated: wireTime(info.Updated),
		})
	}
	if asJSON {
		text, err := compactJSON(map[string]any{"sessions": all})
		if err != nil {
			return err
		}
		return printed(c, text)
	}
	if len(all) == 0 {
		c.tell("there are no sessions")
		return nil
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, s := range all {
		title := s.Title
		if title == "" {
			title = "(nothing said yet)"
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.ID, stamp(page.Sessions[i].Updated), oneLineOf(title), shown(s.Cwd)) // to memory
	}
	_ = w.Flush() // likewise
	return printed(c, b.String())
}
