package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/session"
	"github.com/spf13/cobra"
)

func newSessionsShow(c console) *cobra.Command {
	var asJSON, full bool
	cmd := &cobra.Command{
		Use:   "show ID|FILE",
		Short: "Show what was said and done in a session",
		Long: `Shows a stored session, or a file that ` + "`cartagent sessions export`" + ` has written: its turns, the calls of tools with their
outcome and how long they took, diffs, what was answered about permissions, and tokens. What is long is cut; --full
shows all of it. Colours are used on a terminal, unless NO_COLOR is set.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return inStore(cmd, c, func(ctx context.Context, dir *session.Dir) error {
				from, err := sourceOf(ctx, dir, args[0])
				if err != nil {
					return err
				}
				records, problems, err := from.records(ctx, dir)
				if err != nil {
					return err
				}
				for _, p := range problems {
					c.tell("damaged: " + p.String())
				}
				if asJSON {
					return showInputs(c, records)
				}
				out := bufio.NewWriter(c.out)
				w := textWriter{w: out, full: full, colour: isTerminal(c.out) && c.env("NO_COLOR") == "" && c.env("TERM") != "dumb"}
				w.session(viewOf(from.info, records, problems))
				if err := out.Flush(); err != nil {
					return fmt.Errorf("writing the output: %w", err)
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the inputs, one JSON object a line: {\"n\", \"at\", \"kind\", \"body\"}")
	cmd.Flags().BoolVar(&full, "full", false, "cut nothing")
	return cmd
}

// showInputs prints the inputs as they are, large payloads in place.
func showInputs(c console, records []session.Record) error {
	out := bufio.NewWriter(c.out)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, r := range records {
		_, body, err := loop.EncodeInput(r.Input)
		if err != nil {
			return err
		}
		if err := enc.Encode(struct {
			N        int             `json:"n"`
			At       string          `json:"at"`
			Kind     string          `json:"kind"`
			Redacted bool            `json:"redacted,omitempty"`
			Body     json.RawMessage `json:"body"`
		}{r.N, wireTime(r.At), r.Kind, r.Redacted, body}); err != nil {
			return fmt.Errorf("writing the output: %w", err)
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}

// The colours, as terminals have them.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// textWriter shows a session on a terminal, or as plain text. Its writer keeps the first error.
type textWriter struct {
	w            io.Writer
	colour, full bool
}

func (w textWriter) paint(code, text string) string {
	if !w.colour || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (w textWriter) line(indent int, text string) {
	_, _ = io.WriteString(w.w, strings.TrimRight(strings.Repeat(" ", indent)+text, " ")+"\n")
}

func (w textWriter) session(v *sessionView) {
	title := v.Title
	if title == "" {
		title = "(nothing said yet)"
	}
	w.line(0, w.paint(bold, oneLineOf(title)))
	w.line(0, w.paint(dim, strings.Join(v.facts(), " · ")))
	for _, t := range v.Turns {
		w.turn(t)
	}
}

// facts are what the head of a view says.
func (v *sessionView) facts() []string {
	out := []string{v.Info.ID}
	if v.Info.Cwd != "" {
		out = append(out, printable(v.Info.Cwd))
	}
	out = append(out, stamp(v.Info.Created))
	if v.Model != "" {
		out = append(out, printable(v.Model))
	}
	if u := tokens(v.Usage); u != "" {
		out = append(out, u)
	}
	if v.Redacted {
		out = append(out, "redacted")
	}
	return out
}

// tokens are what a usage comes to; empty where nothing is known.
func tokens(u loop.Usage) string {
	if u.Input+u.Output == 0 {
		return ""
	}
	out := fmt.Sprintf("%d tokens in, %d out", u.Input, u.Output)
	if u.CacheRead > 0 {
		out += fmt.Sprintf(" (%d from the cache)", u.CacheRead)
	}
	return out
}

func (w textWriter) turn(t *turnView) {
	w.line(0, "")
	if t.N > 0 {
		w.line(0, w.paint(dim, fmt.Sprintf("── %d ── %s", t.N, t.Began.Local().Format("2006-01-02 15:04:05"))))
	}
	for _, i := range t.Items {
		w.item(i)
	}
	var end []string
	if t.Stop != "" {
		end = append(end, string(t.Stop))
	}
	if t.N > 0 {
		end = append(end, brief(t.Took()))
	}
	if t.Requests > 1 {
		end = append(end, fmt.Sprintf("%d model requests", t.Requests))
	}
	if u := tokens(t.Usage); u != "" {
		end = append(end, u)
	}
	if len(end) > 0 && t.N > 0 {
		w.line(0, w.paint(dim, strings.Join(end, " · ")))
	}
}

func (w textWriter) item(i *itemView) {
	switch i.Kind {
	case itemUser:
		text := i.Text
		if i.Part != nil {
			text = blockText(i.Part)
		}
		for n, line := range w.cut(text, longText) {
			mark := "  "
			if n == 0 {
				mark = "> "
			}
			w.line(0, w.paint(cyan, mark)+w.paint(bold, line))
		}
	case itemAgent:
		for _, line := range w.cut(strings.TrimSpace(i.Text), longText) {
			w.line(0, line)
		}
	case itemThought:
		for _, line := range w.cut(strings.TrimSpace(i.Text), shortText) {
			w.line(2, w.paint(dim, line))
		}
	case itemNote:
		for _, line := range w.cut(i.Text, shortText) {
			w.line(2, w.paint(dim, "· "+line))
		}
	case itemFault:
		for _, line := range w.cut(i.Text, longText) {
			w.line(2, w.paint(red, "! "+line))
		}
	case itemTool:
		w.tool(i.Tool)
	}
}

// How many lines of a text are shown.
const (
	shortText = 8
	longText  = 200
)

func (w textWriter) tool(t *toolView) {
	mark := map[string]string{"done": w.paint(green, "✓"), "failed": w.paint(red, "✗")}[t.Status()]
	if mark == "" {
		mark = w.paint(yellow, "?")
	}
	head := mark + " " + w.paint(bold, oneLineOf(t.Title)) + w.paint(dim, "  "+strings.Join(t.facts(), " · "))
	w.line(2, head)
	if t.Shown == nil {
		for _, line := range w.cut(t.Arguments(), shortText) {
			w.line(6, w.paint(dim, line))
		}
	}
	for _, b := range t.Shown {
		w.shown(b)
	}
	for _, q := range t.Questions {
		w.line(6, w.paint(yellow, oneLineOf(q)))
	}
	if t.Why != "" {
		w.line(6, w.paint(dim, oneLineOf(t.Why)))
	}
	for _, b := range t.Output {
		for _, line := range w.cut(strings.TrimRight(blockText(b), "\n"), shortText) {
			if t.Failed {
				line = w.paint(red, line)
			}
			w.line(6, line)
		}
	}
}

// facts are what the head of a call says beside its title.
func (t *toolView) facts() []string {
	out := []string{printable(t.Name)}
	if p := t.Permission(); p != "" {
		out = append(out, p)
	}
	if !t.Started.IsZero() && !t.End.IsZero() {
		out = append(out, brief(t.Took()))
	}
	if !t.Done {
		out = append(out, t.Status())
	}
	return out
}

func (w textWriter) shown(b loop.Block) {
	d, ok := b.(loop.Diff)
	if !ok {
		for _, line := range w.cut(blockText(b), longText) {
			w.line(6, line)
		}
		return
	}
	lines := diffLines(d)
	added, removed := counts(lines)
	w.line(6, w.paint(dim, fmt.Sprintf("%s  +%d −%d", printable(d.Path), added, removed)))
	const most = 60
	for i, l := range lines {
		if i == most && !w.full {
			w.line(6, w.paint(dim, fmt.Sprintf("… %d more lines", len(lines)-most)))
			return
		}
		text := string(l.Op) + printable(l.Text)
		switch l.Op {
		case '+':
			text = w.paint(green, text)
		case '-':
			text = w.paint(red, text)
		case '@':
			text = w.paint(cyan, printable(l.Text))
		}
		w.line(6, text)
	}
}

// cut is a text in lines, no more than most of them, with nothing in it that a terminal would obey.
func (w textWriter) cut(text string, most int) []string {
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	left := 0
	if len(lines) > most && !w.full {
		left = len(lines) - most
		lines = lines[:most]
	}
	for i := range lines {
		lines[i] = printable(lines[i])
		if r := []rune(lines[i]); len(r) > maxColumns && !w.full {
			lines[i] = fmt.Sprintf("%s… %d more characters", string(r[:maxColumns]), len(r)-maxColumns)
		}
	}
	if left > 0 {
		lines = append(lines, fmt.Sprintf("… %d more lines", left))
	}
	return lines
}

// maxColumns is how much of a line is shown.
const maxColumns = 2000

// printable is a line without what a terminal would obey: control characters, and those that turn the direction of text.
func printable(line string) string {
	if utf8.ValidString(line) && !strings.ContainsFunc(line, obeyed) {
		return line
	}
	return strings.Map(func(r rune) rune {
		if obeyed(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.TrimRight(line, "\r"))
}

func obeyed(r rune) bool {
	return r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029')
}

// oneLineOf is a text on one line.
func oneLineOf(text string) string { return printable(strings.Join(strings.Fields(text), " ")) }
