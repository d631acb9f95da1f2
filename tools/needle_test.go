package tools

import (
	"regexp"
	"regexp/syntax"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNeedle(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]needle{
		"needle": {"needle", false}, `^var (\w+) = nil$`: {" = nil", false}, "(?i)Foo.*barbar": {"barbar", true}, "a|b": {}, "(abc)+": {"abc", false},
		"(abc)*": {}, "x": {}, "(?i)kiss_me": {"_me", true}, "abc?": {"ab", false}, "(?i)straße": {"tra", true}, ".*": {}, "one\ntwo": {"one", false},
	} {
		tree, err := syntax.Parse(pattern, syntax.Perl)
		require.NoError(t, err)
		assert.Equal(t, want, needleOf(tree.Simplify()), pattern)
	}
}

// The shortcut never hides a match.
func FuzzNeedle(f *testing.F) {
	f.Add("(?i)needle[a-z]+", "xx NEEDLEs in\nnothing\n")
	f.Add("a(bc)+d?", "abcbc")
	f.Add("(?i)ask", "aſ\u212a")
	f.Fuzz(func(t *testing.T, pattern, text string) {
		re, err := regexp.Compile(pattern)
		if err != nil || len(text) > 1000 || len(pattern) > 100 {
			return
		}
		tree, err := syntax.Parse(pattern, syntax.Perl)
		require.NoError(t, err)
		n := needleOf(tree.Simplify())
		if n.text == "" {
			return
		}
		if m := re.FindStringIndex(text); m != nil {
			require.GreaterOrEqual(t, n.index([]byte(text[m[0]:m[1]])), 0, "%q in %q", n.text, text)
		}
	})
}
