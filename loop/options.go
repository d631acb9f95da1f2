package loop

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
)

// OptionMode is the option that holds the session's mode.
const OptionMode = "mode"

// The modes: how much a session may do without asking. The zero value means ModeAsk. A rule that denies holds in each.
const (
	ModeAsk         = "ask"          // as the rules and each tool's default say
	ModeAcceptEdits = "accept-edits" // edits inside the workspace do not ask
	ModePlan        = "plan"         // nothing that writes, runs a command or calls an untrusted tool
	ModeBypass      = "bypass"       // nothing asks
)

// choice is an option that was chosen.
type choice struct{ option, value string }

// Option is the value that was last chosen for an option of the session; empty for none.
func (s State) Option(name string) string {
	i, found := slices.BinarySearchFunc(s.options, name, func(c choice, n string) int { return cmp.Compare(c.option, n) })
	if !found {
		return ""
	}
	return s.options[i].value
}

func (m *machine) chosen(v Chosen) {
	i, found := slices.BinarySearchFunc(m.s.options, v.Option, func(c choice, n string) int { return cmp.Compare(c.option, n) })
	m.s.options = slices.Clone(m.s.options)
	if found {
		m.s.options[i].value = v.Value
	} else {
		m.s.options = slices.Insert(m.s.options, i, choice{v.Option, v.Value})
	}
	if v.Option == OptionMode && m.s.phase == calling {
		m.advance() // what waits for the person may no longer have to
	}
}

// decide is the verdict on a call: by the rules, in the session's mode.
func (s State) decide(spec Spec, p Preview) (Verdict, string) {
	mode := s.Option(OptionMode)
	switch {
	case mode == ModePlan && spec.Default != Allow && !spec.ReadOnly:
		return Deny, "plan mode changes nothing: describe what you would do, and end your turn with the plan"
	case mode == ModeAcceptEdits && spec.Kind == KindEdit:
		spec.Default = Allow
	}
	verdict, why := s.Rules().Decide(spec, p)
	if mode == ModeBypass && verdict == Ask {
		return Allow, ""
	}
	return verdict, why
}

// titleLength is how long a title may be, in characters.
const titleLength = 60

// Title names the session by the first words of its first prompt; empty before it, or where that has no words.
func (s State) Title() string { return s.title }

// TitleOf is the title that a session with that first prompt gets: its first line that says something, cut between words.
func TitleOf(content Blocks) string {
	for _, b := range content {
		text, ok := b.(Text)
		if !ok {
			continue
		}
		for line := range strings.Lines(text.Text) {
			words := strings.FieldsFunc(line, func(c rune) bool { return unicode.IsSpace(c) || !unicode.IsPrint(c) })
			if title := cutTitle(words); title != "" {
				return title
			}
		}
	}
	return ""
}

func cutTitle(words []string) string {
	title := []rune(strings.Join(words, " "))
	if len(title) <= titleLength {
		return string(title)
	}
	cut := titleLength
	for i := cut; i > titleLength/2; i-- {
		if title[i] == ' ' {
			cut = i
			break
		}
	}
	return strings.TrimSpace(string(title[:cut])) + "…"
}
