package mcpclient

import (
	"cmp"
	"slices"
	"strings"
)

// leastSecret is how long a secret is at least: shorter ones are none, and too much would be gone with them.
const leastSecret = 4

// Conceal takes the server's secrets from a text.
func (s Server) Conceal(text string) string {
	secrets := slices.DeleteFunc(slices.Clone(s.Secrets), func(v string) bool { return len(v) < leastSecret })
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, v := range secrets {
		text = strings.ReplaceAll(text, v, "…")
	}
	return text
}

// concealed is an error without the server's secrets in its text.
type concealed struct {
	err  error
	text string
}

func (s Server) conceal(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if clean := s.Conceal(text); clean != text {
		return &concealed{err, clean}
	}
	return err
}

// Error is the text that may be shown.
func (c *concealed) Error() string { return c.text }

// Unwrap gives the error as it was, to tell it by.
func (c *concealed) Unwrap() error { return c.err }
