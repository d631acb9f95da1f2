//go:build unix

package mcpclient

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// TestComplete asks for values of arguments, and finds them in errors.
func TestComplete(t *testing.T) {
	t.Parallel()
	for era, s := range map[string]*stub{EraModern: modern(), EraLegacy: {}} {
		t.Run(era, func(t *testing.T) {
			t.Parallel()
			s.Caps = `{"tools":{},"prompts":{},"resources":{},"completions":{}}`
			s.Prompts = []string{`{"name":"greet","arguments":[{"name":"who","description":"Whom.","required":true}]}`}
			s.Templates = []string{`{"uriTemplate":"menu://{day}"}`, `{"uriTemplate":"plain:x"}`, `{"name":"none"}`}
			s.Complete = []string{"anna", "bert", "more"}
			c := open(t, s.server(t), Options{})

			got, err := c.Complete(t.Context(), Completion{Prompt: "greet", Argument: "who", Value: "a", Others: map[string]string{"x": "y"}})
			require.NoError(t, err)
			assert.Equal(t, Completions{Values: []string{"anna"}, More: true}, got)
			got, err = c.Complete(t.Context(), Completion{Template: "menu://{day}", Argument: "day"})
			require.NoError(t, err)
			assert.Equal(t, Completions{Values: []string{"anna", "bert"}, More: true}, got)

			_, err = c.Prompt(t.Context(), "greet", nil)
			require.EqualError(t, err, "getting the prompt greet: it needs who (Whom.) (such as anna, bert and others); its arguments are: who=…")
			_, err = c.Prompt(t.Context(), "greet", map[string]string{"who": "zoe"})
			require.ErrorContains(t, err, "(code -32602); who can be another (such as anna, bert and others)")
			_, err = c.Prompt(t.Context(), "greet", map[string]string{"who": "anna"})
			require.ErrorContains(t, err, "(code -32602)")
			assert.NotContains(t, err.Error(), "can be another", "the value is one of theirs")

			templates, err := c.Templates(t.Context())
			require.NoError(t, err)
			assert.Equal(t, []Template{{URI: "menu://{day}"}, {URI: "plain:x"}}, templates)
			read := ReadTool(func() map[string]*Client { return map[string]*Client{"shop": c} })
			_, err = read.Run(t.Context(), loop.Job{Call: loop.Call{Args: []byte(`{"server":"shop","uri":"menu://never"}`)}}, nil)
			require.ErrorContains(t, err, "its resources are: menu://today; there are others by these templates: "+
				"menu://{day} (such as anna, bert and others), plain:x")
		})
	}
}

// TestNoCompletions: a server that does not complete is not asked.
func TestNoCompletions(t *testing.T) {
	t.Parallel()
	s := modern()
	s.Dir = t.TempDir()
	c := open(t, s.server(t), Options{})
	got, err := c.Complete(t.Context(), Completion{Prompt: "x", Argument: "y"})
	require.NoError(t, err)
	assert.Empty(t, got)
	assert.Zero(t, s.sent(t, "completion/complete"))
}
