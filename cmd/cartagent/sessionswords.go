package main

import "strings"

// said is what a person wrote: code between fences, and words as they are.
func (p page) said(text string) { p.words(text, func(words string) { p.put(words) }) }

// told is what a model wrote, with the Markdown that lines can have.
func (p page) told(text string) { p.words(text, p.marked) }

func (p page) words(text string, put func(string)) {
	for _, part := range prose(text) {
		if part.Code {
			p.put(markup("<pre>"), part.Text, markup("</pre>"))
			continue
		}
		p.put(markup("<div class=\"said\">"))
		put(part.Text)
		p.put(markup("</div>"))
	}
}

// marked puts headings, points, code and what is bold as such. The rest of Markdown reads well as it is.
func (p page) marked(text string) {
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			p.put("\n")
		}
		rest := strings.TrimLeft(line, " \t")
		indent := line[:len(line)-len(rest)]
		heading := strings.TrimLeft(rest, "#")
		depth := len(rest) - len(heading)
		switch {
		case 0 < depth && depth <= 6 && strings.HasPrefix(heading, " "):
			p.put(markup(`<b class="head">`))
			p.inline(strings.TrimSpace(heading))
			p.put(markup("</b>"))
			continue
		case strings.HasPrefix(rest, "- "), strings.HasPrefix(rest, "* "):
			p.put(indent, "• ")
			rest = rest[2:]
		default:
			p.put(indent)
		}
		p.inline(rest)
	}
}

// inline puts a line: what is between ` as code, what is between ** bold.
func (p page) inline(line string) {
	for line != "" {
		at, sign, name := len(line), "", ""
		for s, n := range map[string]string{"`": "code", "**": "b"} {
			if i := strings.Index(line, s); i >= 0 && i < at {
				at, sign, name = i, s, n
			}
		}
		p.put(line[:at])
		line = line[at+len(sign):]
		inner, after, closed := strings.Cut(line, sign)
		switch {
		case sign == "":
			return
		case !closed || strings.TrimSpace(inner) == "" || inner != strings.TrimSpace(inner) && name == "b":
			p.put(sign) // it is no more than that
		default:
			p.put(markup("<"+name+">"), inner, markup("</"+name+">"))
			line = after
		}
	}
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
