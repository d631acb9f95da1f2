package oauth

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// The errors that callers tell apart, with errors.Is.
var (
	// ErrRefused means that the person, or the authorization server in their name, said no.
	ErrRefused = errors.New("the authorization was refused")
	// ErrNobody means that the server wants a person's consent and there is nobody to ask.
	ErrNobody = errors.New("it needs a person to sign in, and nobody can be asked here")
	// ErrTries means that authorizing again and again does not help.
	ErrTries = errors.New("authorizing again does not help")
	// ErrForbidden means that the server does not allow the request, whatever the token.
	ErrForbidden = errors.New("the server does not allow this request")
	// ErrUntrusted means that what a server said about its authorization fails a check that protects credentials.
	ErrUntrusted = errors.New("not safe to go on")
	// ErrDamaged means that a stored credential cannot be read; the text names the file.
	ErrDamaged = errors.New("stored credentials cannot be used")
)

// untrusted is an error with ErrUntrusted.
func untrusted(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUntrusted, fmt.Sprintf(format, args...))
}

// quoted is a text of somebody else's as an error may show it: short, on one line, in quotes.
func quoted(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
	if runes := []rune(text); len(runes) > 200 {
		text = string(runes[:200]) + "…"
	}
	return `"` + text + `"`
}
