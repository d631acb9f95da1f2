package main

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cartagent/cartagent/loop"
)

//go:embed sessions.html
var pageText string

// writePage writes a session as one HTML page. It loads nothing, runs no script, and all that it shows is escaped.
func writePage(w io.Writer, v *sessionView) error {
	page, err := template.New("sessions").Funcs(template.FuncMap{
		"facts": (*sessionView).facts, "tokens": tokens, "brief": brief, "prose": prose, "words": blockText, "size": size,
		"clock": func(t time.Time) string { return t.UTC().Format("15:04:05") },
		"day":   func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") },
		"iso":   wireTime, "diff": pageDiffOf, "picture": picture, "span": pageSpans, "tools": countTools, "turns": countTurns, "spent": spent,
	}).Parse(pageText)
	if err != nil {
		return fmt.Errorf("making the page: %w", err)
	}
	if err := page.Execute(w, v); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

// passage is a part of a text: words, or code between fences.
type passage struct {
	Code bool
	Text string
}

// prose tells the code of a Markdown text from its words.
func prose(text string) []passage {
	var out []passage
	code := false
	var part []string
	flush := func() {
		if s := strings.Trim(strings.Join(part, "\n"), "\n"); s != "" {
			out = append(out, passage{code, s})
		}
		part = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			flush()
			code = !code
			continue
		}
		part = append(part, line)
	}
	flush()
	return out
}

// pageDiff is a diff as the page shows it.
type pageDiff struct {
	Path           string
	Added, Removed int
	Lines          []pageLine
}

type pageLine struct{ Class, Text string }

func pageDiffOf(b loop.Block) *pageDiff {
	d, ok := b.(loop.Diff)
	if !ok {
		return nil
	}
	lines := diffLines(d)
	out := &pageDiff{Path: d.Path}
	out.Added, out.Removed = counts(lines)
	for _, l := range lines {
		class := map[byte]string{'+': "add", '-': "del", '@': "hunk"}[l.Op]
		text := l.Text
		if l.Op != '@' {
			text = string(l.Op) + text
		}
		out.Lines = append(out.Lines, pageLine{class, text})
	}
	return out
}

// picture is an image as an address with its bytes inside; empty for what is none that browsers show.
func picture(b loop.Block) template.URL {
	i, ok := b.(loop.Image)
	if !ok || !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, i.MIME) {
		return ""
	}
	return template.URL("data:" + i.MIME + ";base64," + base64.StdEncoding.EncodeToString(i.Data)) //nolint:gosec // only these types, and base64
}

// pageSpan is a bar in a turn's timeline, in percent of the turn.
type pageSpan struct {
	Left, Width float64
	Class, Text string
}

// pageSpans are the waits for the person and the runs of the tools of a turn.
func pageSpans(t *turnView) []pageSpan {
	whole := t.Took()
	if whole <= 0 {
		return nil
	}
	var out []pageSpan
	add := func(from, to time.Time, class, text string) {
		if from.IsZero() || to.Before(from) {
			return
		}
		const least = 0.4 // to be seen
		left := 100 * float64(from.Sub(t.Began)) / float64(whole)
		width := 100 * float64(to.Sub(from)) / float64(whole)
		out = append(out, pageSpan{min(max(left, 0), 100-least), max(min(width, 100-left), least), class, text + ", " + brief(to.Sub(from))})
	}
	for _, i := range t.Items {
		if i.Tool == nil {
			continue
		}
		add(i.Tool.Asked, i.Tool.Answered, "wait", "waiting for permission: "+i.Tool.Title)
		add(i.Tool.Started, i.Tool.End, "run "+i.Tool.Status(), i.Tool.Title)
	}
	return out
}

// countTurns is how many turns a session has, without what came before the first.
func countTurns(v *sessionView) int {
	if len(v.Turns) == 0 {
		return 0
	}
	return v.Turns[len(v.Turns)-1].N
}

// countTools is how many calls a session has.
func countTools(v *sessionView) int {
	n := 0
	for _, t := range v.Turns {
		for _, i := range t.Items {
			if i.Tool != nil {
				n++
			}
		}
	}
	return n
}

// spent is how long the turns of a session were together.
func spent(v *sessionView) string {
	var sum time.Duration
	for _, t := range v.Turns {
		if t.N > 0 {
			sum += t.Took()
		}
	}
	return brief(sum)
}
