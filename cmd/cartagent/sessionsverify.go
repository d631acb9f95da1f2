package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cartagent/cartagent/session"
	"github.com/spf13/cobra"
)

func newSessionsVerify(c console) *cobra.Command {
	var anchor string
	cmd := &cobra.Command{
		Use:   "verify [ID|FILE…]",
		Short: "Check that stored or exported sessions are as they were written",
		Long: `Checks each line of each log, the chain of its hashes and its large payloads: of the sessions and files that are named,
or of all sessions. The first that does not fit of each log is printed with its file and line.

A chain proves that nothing in it was changed, but not that nothing was cut off its end or replaced as a whole. For that
there is --anchor: FILE has the heads of the logs as they were at earlier checks, one JSON object a line. First they are
held against the logs, then those of today are added, if all fits. Keep the file where who can change the logs cannot
change it. A session that was deleted on purpose does not fit until its lines are taken out of the file.

Exit codes: 0 all fits, 1 something does not, 2 bad usage.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return inStore(cmd, c, func(ctx context.Context, dir *session.Dir) error {
				v := verifier{c: c, dir: dir, anchor: anchor, stored: dir.Path()}
				if anchor == "" {
					return v.run(ctx, args)
				}
				return withLock(ctx, anchor, func() error { return v.run(ctx, args) })
			})
		},
	}
	cmd.Flags().Var(nonempty(&anchor), "anchor", "a file with heads of logs, held against the logs first, then added to")
	return cmd
}

// head is a line of an anchor file: the hash of a session's last record, or of its header where n is 0.
type head struct {
	Session string `json:"session"`
	N       int    `json:"n"`
	Hash    string `json:"hash"`
	At      string `json:"at"` // when it was added

	line int
}

type verifier struct {
	c      console
	dir    *session.Dir
	anchor string
	stored string // the sessions' folder

	heads map[string][]head // of the anchor file, by session
	lines []byte            // the anchor file
	add   []head
	wrong bool
}

// complain prints what does not fit, as other checkers do.
func (v *verifier) complain(file string, line int, text string) {
	v.wrong = true
	if line > 0 {
		file = fmt.Sprintf("%s:%d", file, line)
	}
	_, _ = fmt.Fprintf(v.c.out, "%s: %s\n", file, text) // the exit code says it as well
}

func (v *verifier) run(ctx context.Context, args []string) error {
	if err := v.readAnchor(); err != nil {
		return err
	}
	if err := v.logs(ctx, args); err != nil {
		return err
	}
	if v.wrong {
		return &exitCode{code: exitError}
	}
	return v.writeAnchor()
}

// logs checks those that are named, or all.
func (v *verifier) logs(ctx context.Context, args []string) error {
	for _, arg := range args {
		if isFile(arg) {
			if err := v.file(ctx, arg); err != nil {
				return err
			}
			continue
		}
		info, err := resolve(ctx, v.dir, arg)
		if err == nil {
			err = v.log(ctx, info.ID)
		}
		if err != nil {
			return err
		}
	}
	if len(args) > 0 {
		return nil
	}
	page, err := v.dir.List(ctx, session.Filter{})
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, info := range page.Sessions {
		there[info.ID] = true
		if err := v.log(ctx, info.ID); err != nil && !errors.Is(err, session.ErrNotFound) {
			return err
		}
	}
	for id, heads := range v.heads {
		if !there[id] {
			v.complain(v.anchor, heads[0].line, fmt.Sprintf("session %s is not there any more", id))
		}
	}
	return nil
}

func (v *verifier) log(ctx context.Context, id string) error {
	r, err := v.dir.Verify(ctx, id, v.numbers(id)...)
	if errors.Is(err, session.ErrVersion) {
		v.complain(filepath.Join(v.stored, id+".jsonl"), 1, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	v.judge(filepath.Join(v.stored, id+".jsonl"), id, r)
	return nil
}

// file checks an exported session. Whose heads it has to have is known when it has been read once.
func (v *verifier) file(ctx context.Context, path string) error {
	r, err := verifyFile(ctx, path)
	if err == nil && len(v.heads[r.Info.ID]) > 0 {
		r, err = verifyFile(ctx, path, v.numbers(r.Info.ID)...)
	}
	if errors.Is(err, session.ErrVersion) {
		v.complain(path, 1, err.Error())
		return nil
	}
	if err != nil {
		return err
	}
	v.judge(path, r.Info.ID, r)
	return nil
}

func (v *verifier) numbers(id string) []int {
	var out []int
	for _, h := range v.heads[id] {
		out = append(out, h.N)
	}
	return out
}

// judge says what does not fit of one log, and takes note of its head.
func (v *verifier) judge(path, id string, r session.Report) {
	if len(r.Problems) > 0 {
		p := r.Problems[0]
		text := p.Text
		if more := len(r.Problems) - 1; more > 0 {
			text += fmt.Sprintf(" (and %d more)", more)
		}
		v.complain(path, p.Line, text)
		return
	}
	known := false
	for _, h := range v.heads[id] {
		switch got := r.Heads[h.N]; {
		case got == "":
			v.complain(path, r.Records+1, fmt.Sprintf("the log ends with record %d, but record %d was there (%s:%d): its end was cut off",
				r.Records, h.N, v.anchor, h.line))
			return
		case got != h.Hash:
			v.complain(path, h.N+1, fmt.Sprintf("record %d is not the one that was there (%s:%d): the log was written anew",
				h.N, v.anchor, h.line))
			return
		}
		known = known || h.N == r.Records
	}
	if !known {
		v.add = append(v.add, head{Session: id, N: r.Records, Hash: r.Hash})
	}
}

// readAnchor reads the file; one that is not there is empty.
func (v *verifier) readAnchor() error {
	v.heads = map[string][]head{}
	if v.anchor == "" {
		return nil
	}
	data, err := os.ReadFile(v.anchor)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return usageError(err)
	}
	v.lines = data
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		h := head{line: n}
		if err := json.Unmarshal(lines.Bytes(), &h); err != nil || session.CheckID(h.Session) != nil || h.N < 0 || h.Hash == "" {
			return usageError(fmt.Errorf("%s:%d: this is no head of a log, such as {\"session\":\"sess_…\",\"n\":1,\"hash\":\"…\"}", v.anchor, n))
		}
		v.heads[h.Session] = append(v.heads[h.Session], h)
	}
	if err := lines.Err(); err != nil {
		return usageError(fmt.Errorf("%s: %w", v.anchor, err))
	}
	return nil
}

// writeAnchor adds the heads of today, all or none.
func (v *verifier) writeAnchor() error {
	if v.anchor == "" || len(v.add) == 0 {
		return nil
	}
	if len(v.lines) > 0 && v.lines[len(v.lines)-1] != '\n' {
		v.lines = append(v.lines, '\n')
	}
	for _, h := range v.add {
		h.At = wireTime(time.Now())
		line, err := compactJSON(h)
		if err != nil {
			return err
		}
		v.lines = append(v.lines, line...)
	}
	if err := replaceFile(linked(v.anchor), filepath.Base(v.anchor), v.lines); err != nil {
		return fmt.Errorf("adding to %s: %w", v.anchor, err)
	}
	return nil
}
