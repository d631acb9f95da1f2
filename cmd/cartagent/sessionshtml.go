package main

import (
	"bufio"
	"cmp"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cartagent/cartagent/loop"
)

//go:embed sessions.css
var pageStyle string

// markup is text that goes into a page as it is; everything else is escaped.
type markup string

// page writes HTML. It is written by hand: a template engine finds methods by their names, so with one the linker keeps
// every method of every library, and the program is twice as large.
type page struct{ to *bufio.Writer }

func (p page) put(parts ...any) {
	for _, part := range parts {
		text := ""
		switch v := part.(type) {
		case markup:
			text = string(v)
		case float64:
			text = strconv.FormatFloat(v, 'f', 2, 64)
		default:
			text = html.EscapeString(fmt.Sprint(v))
		}
		_, _ = p.to.WriteString(text) // the error is that of Flush
	}
}

// also puts the text, if there is any, behind a dot.
func (p page) also(text string) {
	if text != "" {
		p.put(" · ", text)
	}
}

// writePage writes a session as one HTML page. It loads nothing, runs no script, and all that it shows is escaped.
func writePage(w io.Writer, v *sessionView) error {
	p := page{bufio.NewWriter(w)}
	p.put(markup(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="referrer" content="no-referrer">
<title>`), cmp.Or(v.Title, v.Info.ID), markup("</title>\n<style>\n"), markup(pageStyle), markup("</style>\n</head>\n<body>\n"))
	p.header(v)
	p.put(markup("<main>"))
	for _, t := range v.Turns {
		p.turn(t)
	}
	p.put(markup(`
</main>
<footer>Written by cartagent. Times of day are UTC. In the bars the model is blue, tools are green or red, and waiting for an answer is yellow.</footer>
</body>
</html>
`))
	if err := p.to.Flush(); err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	return nil
}

func (p page) header(v *sessionView) {
	p.put(markup("<header>\n<h1>"), cmp.Or(v.Title, "A session without a prompt"), markup("</h1>\n<div class=\"facts\">"), v.Info.ID)
	p.also(v.Info.Cwd)
	p.put(markup(` · <time datetime="`), wireTime(v.Info.Created), markup(`">`), v.Info.Created.UTC().Format("2006-01-02 15:04 MST"), markup("</time>"))
	p.also(v.Model)
	p.put(markup("</div>\n<ul class=\"sums\">"))
	sum := func(value any, what string) {
		p.put(markup("\n<li><b>"), value, markup("</b><span>"), what, markup("</span></li>"))
	}
	sum(countTurns(v), plural("turn", countTurns(v)))
	sum(countTools(v), plural("tool call", countTools(v)))
	sum(spent(v), "at work")
	if v.Usage.Input != 0 || v.Usage.Output != 0 {
		in := "tokens in"
		if v.Usage.CacheRead != 0 {
			in += fmt.Sprintf(", %d cached", v.Usage.CacheRead)
		}
		sum(v.Usage.Input, in)
		sum(v.Usage.Output, "tokens out")
	}
	p.put(markup("\n</ul>"))
	if v.Redacted {
		p.put(markup("\n<div class=\"alert\">What was said, read and written has been taken out of this session. Kinds, tools, times and sizes are as they were.</div>"))
	}
	for _, problem := range v.Problems {
		p.put(markup("\n<div class=\"alert\">Damaged: "), problem, markup("</div>"))
	}
	p.put(markup("\n</header>\n"))
}

func plural(what string, n int) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

func (p page) turn(t *turnView) {
	p.put(markup("\n<section class=\"turn\">\n<h2>"))
	if t.N > 0 {
		p.put("Turn ", t.N)
	} else {
		p.put("Before the first prompt")
	}
	p.put(markup(` · <time datetime="`), wireTime(t.Began), markup(`">`), t.Began.UTC().Format("15:04:05"), markup("</time></h2>"))
	if spans := pageSpans(t); len(spans) > 0 {
		p.put(markup("\n<div class=\"bar\" role=\"img\" aria-label=\"when the model and the tools were at work\">"))
		for _, s := range spans {
			p.put(markup(`<i class="`), s.Class, markup(`" style="left:`), s.Left, markup(`%;width:`), s.Width, markup(`%" title="`), s.Text, markup(`"></i>`))
		}
		p.put(markup("</div>"))
	}
	for _, i := range t.Items {
		p.item(i)
	}
	if t.N > 0 {
		p.put(markup("\n<div class=\"end\">"))
		if t.Stop != "" {
			p.put(t.Stop, " · ")
		}
		p.put(brief(t.Took()))
		if t.Requests > 1 {
			p.put(" · ", t.Requests, " model requests")
		}
		p.also(tokens(t.Usage))
		p.put(markup("</div>"))
	}
	p.put(markup("\n</section>"))
}

func (p page) item(i *itemView) {
	switch i.Kind {
	case itemUser:
		p.put(markup("\n<div class=\"user\">"))
		if i.Part != nil {
			p.shown(i.Part)
		} else {
			p.said(i.Text)
		}
		p.put(markup("</div>"))
	case itemAgent:
		p.put(markup("\n"))
		p.told(i.Text)
	case itemThought:
		p.put(markup("\n<details class=\"thought\"><summary>thinking, "), size(len(i.Text)), markup("</summary>"))
		p.told(i.Text)
		p.put(markup("</details>"))
	case itemTool:
		if i.Tool != nil {
			p.tool(i.Tool)
		}
	default:
		p.put(markup("\n<div class=\""), i.Kind, markup("\">"), i.Text, markup("</div>"))
	}
}

func (p page) tool(t *toolView) {
	mark := "?"
	switch t.Status() {
	case "done":
		mark = "✓"
	case "failed":
		mark = "✗"
	}
	p.put(markup("\n<details class=\"tool\""))
	if len(t.Shown) > 0 || t.Failed {
		p.put(markup(" open"))
	}
	title, args := titled(t.Title)
	p.put(
		markup(">\n<summary><span class=\"mark "), t.Status(), markup(`" aria-label="`), t.Status(), markup(`">`), mark,
		markup(`</span><span class="name">`), title,
	)
	if args != "" {
		p.put(markup(" <code>"), args, markup("</code>"))
	}
	p.put(markup(`</span><span class="meta">`), t.Name)
	p.also(t.Permission())
	if t.Took() != 0 {
		p.put(" · ", brief(t.Took()))
	}
	if !t.Done {
		p.put(" · ", t.Status())
	}
	p.put(markup("</span></summary>\n<div class=\"inside\">"))
	if args := t.Arguments(); len(t.Shown) == 0 && args != "" {
		p.put(markup("<div class=\"label\">arguments</div><pre>"), args, markup("</pre>"))
	}
	for _, b := range t.Shown {
		p.shown(b)
	}
	for _, q := range t.Questions {
		p.put(markup("<div class=\"note\">"), q, markup("</div>"))
	}
	if t.Why != "" {
		p.put(markup("<div class=\"note\">"), t.Why, markup("</div>"))
	}
	if len(t.Output) > 0 && (t.Failed || !isPlan(t.Shown)) { // a plan that is shown says that it was updated
		p.put(markup("<div class=\"label\">result</div>"))
		for _, b := range t.Output {
			p.shown(b)
		}
	}
	p.put(markup("\n</div>\n</details>"))
}

// titled tells a title from the arguments that it ends in, where it does.
func titled(title string) (words, args string) {
	if i := strings.Index(title, " {"); i > 0 && json.Valid([]byte(title[i+1:])) {
		return title[:i], title[i+1:]
	}
	return title, ""
}

func isPlan(blocks loop.Blocks) bool {
	return slices.ContainsFunc(blocks, func(b loop.Block) bool { _, is := b.(loop.Plan); return is })
}

// shown is a block: a diff, a picture, or its words.
func (p page) shown(b loop.Block) {
	if d := pageDiffOf(b); d != nil {
		p.put(
			markup("\n<div class=\"label\">"), d.Path, markup(` <span class="plus">+`), d.Added, markup(`</span> <span class="minus">−`), d.Removed,
			markup("</span></div>\n<pre class=\"diff\">"),
		)
		for _, l := range d.Lines {
			p.put(markup("<span"))
			if l.Class != "" {
				p.put(markup(` class="`), l.Class, markup(`"`))
			}
			p.put(markup(">"), l.Text, markup("\n</span>"))
		}
		p.put(markup("</pre>"))
		return
	}
	if plan, ok := b.(loop.Plan); ok {
		p.put(markup("\n<ul class=\"plan\">"))
		for _, e := range plan.Entries {
			state, mark := "pending", "○"
			switch e.Status {
			case "completed":
				state, mark = "done", "✓"
			case "in_progress":
				state, mark = "now", "▸"
			}
			p.put(markup("<li class=\""), state, markup("\"><span class=\"mark\" aria-label=\""), state, markup("\">"), mark, markup("</span> "), e.Content, markup("</li>"))
		}
		p.put(markup("</ul>"))
		return
	}
	if address := picture(b); address != "" {
		p.put(markup(`<img src="`), address, markup(`" alt="an image">`))
		return
	}
	if text := blockText(b); text != "" {
		p.put(markup("<pre>"), text, markup("</pre>"))
	}
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
func picture(b loop.Block) string {
	i, ok := b.(loop.Image)
	if !ok || !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, i.MIME) {
		return ""
	}
	return "data:" + i.MIME + ";base64," + base64.StdEncoding.EncodeToString(i.Data)
}

// pageSpan is a bar in a turn's timeline, in percent of the turn.
type pageSpan struct {
	Left, Width float64
	Class, Text string
}

// pageSpans are the requests to the model, the waits for the person and the runs of the tools of a turn.
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
	for _, s := range t.Model {
		add(s.From, s.To, "model", "the model")
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
