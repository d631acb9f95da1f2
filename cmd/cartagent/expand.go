package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// reference is ${NAME} or ${NAME:-default}. A dollar before it takes its meaning away: $${NAME} stands for ${NAME}.
var reference = regexp.MustCompile(`\$?\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// unsetError is a reference to a variable that is not there, which is a matter of the environment and not of the file.
type unsetError struct{ name string }

func (e *unsetError) Error() string {
	return fmt.Sprintf("the variable %s is not set, or empty; set it, or write ${%s:-DEFAULT}", e.name, e.name)
}

// expander puts variables of the environment into texts, and remembers what of it should not be shown.
type expander struct {
	env    func(string) string
	secret []string
	fail   func(path string, err error)
}

func (e *expander) text(path, s string) string {
	return reference.ReplaceAllStringFunc(s, func(match string) string {
		if rest, escaped := strings.CutPrefix(match, "$$"); escaped {
			return "$" + rest
		}
		parts := reference.FindStringSubmatch(match)
		name, fallback := parts[1], parts[2]
		if slices.Contains(providerKeys(), name) {
			e.fail(path, fmt.Errorf("%s is the key of a model provider, which no server gets; if this server needs a key, keep it in a variable of another name", name))
			return ""
		}
		if v := e.env(name); v != "" {
			e.secret = append(e.secret, v)
			return v
		}
		if fallback == "" {
			e.fail(path, &unsetError{name})
		}
		return strings.TrimPrefix(fallback, ":-")
	})
}

// references are the names of the variables that a text refers to.
func references(s string) []string {
	var out []string
	for _, m := range reference.FindAllStringSubmatch(s, -1) {
		if !strings.HasPrefix(m[0], "$$") {
			out = append(out, m[1])
		}
	}
	return out
}

// providerKeys are the variables that hold keys of model providers.
func providerKeys() []string {
	names := []string{"GEMINI_API_KEY"}
	for _, p := range providers() {
		names = append(names, p.keyVar)
	}
	return names
}
