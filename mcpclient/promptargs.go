package mcpclient

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hint shows how the prompt's arguments are typed, such as "event=… people=…", with optional ones in brackets.
func (p Prompt) Hint() string {
	var parts []string
	for _, a := range p.Arguments {
		part := printable(a.Name, 128) + "=…"
		if !a.Required {
			part = "[" + part + "]"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " ")
}

// word is one piece of what was typed: a value, and the name before it if there was one.
type word struct {
	name, value string
	named       bool // by an argument that there is
	quoted      bool
}

// ParseArguments reads what a person has typed behind a prompt's name: name=value, separated by spaces. A value with
// spaces is put between "…" or '…'; the quote that is followed by a space, or by nothing, ends it. Values without a name
// go, in order, to the arguments that have no value yet. Where there is but one argument, words without its name are its
// text, all of them. Whether required ones are missing is for Client.Prompt to say. The map is never nil without error.
func ParseArguments(text string, p Prompt) (map[string]string, error) {
	text = strings.TrimSpace(text)
	args := map[string]string{}
	if text == "" {
		return args, nil
	}
	if len(p.Arguments) == 0 {
		return nil, fmt.Errorf("the prompt %s takes no arguments; leave out what is behind its name", p.Name)
	}
	if value, ok := prose(text, p); ok {
		return map[string]string{p.Arguments[0].Name: value}, nil
	}
	words, err := split(text, p)
	if err != nil {
		return nil, badArguments(p, err)
	}
	for _, w := range words {
		if !w.named {
			continue
		}
		if _, twice := args[w.name]; twice {
			return nil, badArguments(p, fmt.Errorf("%s is given twice", printable(w.name, 128)))
		}
		args[w.name] = w.value
	}
	for _, w := range words {
		if w.named {
			continue
		}
		if !w.quoted {
			if m := nameLike.FindStringSubmatch(w.value); m != nil {
				return nil, badArguments(p, fmt.Errorf("there is no argument %s (put a value that has a = in it between quotes)",
					printable(m[1], 128)))
			}
		}
		free := slices.IndexFunc(p.Arguments, func(a PromptArgument) bool {
			_, taken := args[a.Name]
			return !taken
		})
		if free < 0 {
			return nil, badArguments(p, fmt.Errorf("there is no argument left for %q; put a value with spaces between quotes",
				printable(w.value, 100)))
		}
		args[p.Arguments[free].Name] = w.value
	}
	return args, nil
}

// nameLike is a word that looks like name=value, unlike https://a.example/?b=c.
var nameLike = regexp.MustCompile(`^([\pL_][\pL\pN_.-]*)=`)

func badArguments(p Prompt, why error) error {
	return fmt.Errorf("%w; the arguments of %s are: %s", why, p.Name, p.Hint())
}

// prose is text as the value of the only argument: when it begins without a name, names that argument nowhere, and is
// not one value in quotes.
func prose(text string, p Prompt) (string, bool) {
	if len(p.Arguments) != 1 || nameLike.MatchString(text) {
		return "", false
	}
	words, err := split(text, p)
	if err == nil && len(words) == 1 && words[0].quoted {
		return "", false
	}
	for w := range strings.FieldsSeq(text) {
		if _, named := nameAt(w, p); named {
			return "", false
		}
	}
	return text, true
}

// nameAt is the argument whose name and "=" s begins with, the longest if there are several.
func nameAt(s string, p Prompt) (string, bool) {
	found := slices.DeleteFunc(slices.Clone(p.Arguments), func(a PromptArgument) bool {
		return !strings.HasPrefix(s, a.Name+"=")
	})
	if len(found) == 0 {
		return "", false
	}
	longest := slices.MaxFunc(found, func(a, b PromptArgument) int { return cmp.Compare(len(a.Name), len(b.Name)) })
	return longest.Name, true
}

// split takes text apart at its spaces.
func split(text string, p Prompt) ([]word, error) {
	var words []word
	for {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		if text == "" {
			return words, nil
		}
		var w word
		if w.name, w.named = nameAt(text, p); w.named {
			text = text[len(w.name)+len("="):]
		}
		end := strings.IndexFunc(text, unicode.IsSpace)
		if end < 0 {
			end = len(text)
		}
		w.value = text[:end]
		if w.value != "" && strings.ContainsRune(`"'`, rune(text[0])) {
			if end = closing(text); end < 0 {
				return nil, errors.New("a quote is opened and not closed: " + printable(text, 100))
			}
			w.value, w.quoted = text[1:end], true
			end++
		}
		words = append(words, w)
		text = text[end:]
	}
}

// closing is where the quote that s begins with ends: at the first one like it that a space or nothing follows, so that
// 'Anna's party' is what it looks like. It is -1 where there is none.
func closing(s string) int {
	for i := 1; i < len(s); i++ {
		if s[i] != s[0] {
			continue
		}
		if next, _ := utf8.DecodeRuneInString(s[i+1:]); i+1 == len(s) || unicode.IsSpace(next) {
			return i
		}
	}
	return -1
}
