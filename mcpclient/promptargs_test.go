package mcpclient

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func promptOf(args ...string) Prompt {
	p := Prompt{Name: "ask"}
	for _, a := range args {
		name, optional := strings.CutSuffix(a, "?")
		p.Arguments = append(p.Arguments, PromptArgument{Name: name, Required: !optional})
	}
	return p
}

func TestHint(t *testing.T) {
	t.Parallel()
	assert.Empty(t, promptOf().Hint())
	assert.Equal(t, "event=… people=…", promptOf("event", "people").Hint())
	assert.Equal(t, "[tone=…] event=…", promptOf("tone?", "event").Hint())
}

func TestParseArguments(t *testing.T) {
	t.Parallel()
	none, one, two := promptOf(), promptOf("event"), promptOf("event", "people?")
	for name, c := range map[string]struct {
		prompt Prompt
		text   string
		want   map[string]string
		err    string
	}{
		"nothing":                  {two, " \n", map[string]string{}, ""},
		"nothing wanted":           {none, "", map[string]string{}, ""},
		"something unwanted":       {none, "hi", nil, "the prompt ask takes no arguments; leave out what is behind its name"},
		"names":                    {two, "people=40  event=fair", map[string]string{"event": "fair", "people": "40"}, ""},
		"quotes":                   {two, `event="a garden wedding" people='40'`, map[string]string{"event": "a garden wedding", "people": "40"}, ""},
		"a quote inside":           {two, `event='Anna's party' people=9`, map[string]string{"event": "Anna's party", "people": "9"}, ""},
		"the other quote":          {two, `event='the "big" day'`, map[string]string{"event": `the "big" day`}, ""},
		"quotes that are none":     {two, `event=Anna's people=5"`, map[string]string{"event": "Anna's", "people": `5"`}, ""},
		"lines in quotes":          {two, "event=\"a\n b\"\npeople=1", map[string]string{"event": "a\n b", "people": "1"}, ""},
		"an equals sign":           {two, "event=a=b", map[string]string{"event": "a=b"}, ""},
		"empty values":             {two, `event= people=""`, map[string]string{"event": "", "people": ""}, ""},
		"no names":                 {two, `"a fair" 40`, map[string]string{"event": "a fair", "people": "40"}, ""},
		"what is left":             {two, "40 event=fair", map[string]string{"event": "fair", "people": "40"}, ""},
		"an address":               {two, "https://a.example/?event=1", map[string]string{"event": "https://a.example/?event=1"}, ""},
		"a name in quotes":         {two, `"people=3"`, map[string]string{"event": "people=3"}, ""},
		"a name and wide spaces":   {two, "event=a\u00a0people=3", map[string]string{"event": "a", "people": "3"}, ""},
		"one, its words":           {one, ` a garden  "wedding" it's `, map[string]string{"event": `a garden  "wedding" it's`}, ""},
		"one, words and an equals": {one, `why a=b holds`, map[string]string{"event": `why a=b holds`}, ""},
		"one, in quotes":           {one, `"a garden wedding"`, map[string]string{"event": "a garden wedding"}, ""},
		"one, by name":             {one, `event="a fair"`, map[string]string{"event": "a fair"}, ""},
		"one, an open quote":       {one, `"a fair`, map[string]string{"event": `"a fair`}, ""},
		"a name with spaces":       {promptOf("a b", "a"), `a b=1 a=2`, map[string]string{"a b": "1", "a": "2"}, ""},
		"the longer name":          {promptOf("a", "a=b"), `a=b=1 a=c`, map[string]string{"a=b": "1", "a": "c"}, ""},
		"an unknown name":          {two, "event=x size=L", nil, "there is no argument size (put a value that has a = in it between quotes); the arguments of ask are: event=… [people=…]"},
		"one, an unknown name":     {one, "evnt=x", nil, "there is no argument evnt (put a value that has a = in it between quotes); the arguments of ask are: event=…"},
		"a name of other case":     {two, "Event=x", nil, "there is no argument Event (put a value that has a = in it between quotes); the arguments of ask are: event=… [people=…]"},
		"twice":                    {two, "event=x event=y", nil, "event is given twice; the arguments of ask are: event=… [people=…]"},
		"too many":                 {two, "a garden wedding", nil, `there is no argument left for "wedding"; put a value with spaces between quotes; the arguments of ask are: event=… [people=…]`},
		"one, its name and more":   {one, "event=a fair", nil, `there is no argument left for "fair"; put a value with spaces between quotes; the arguments of ask are: event=…`},
		"an open quote":            {two, `event="a fair people=3`, nil, `a quote is opened and not closed: "a fair people=3; the arguments of ask are: event=… [people=…]`},
		"a lone quote":             {two, `event='`, nil, `a quote is opened and not closed: '; the arguments of ask are: event=… [people=…]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseArguments(c.text, c.prompt)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

// FuzzParseArguments: nothing but the prompt's arguments comes out of any text, and what is put between quotes by its
// name comes back as it was.
func FuzzParseArguments(f *testing.F) {
	f.Add(`event="a fair" people=3`, "event", "people", "size")
	f.Add(`'Anna's party' 40`, "a b", "a", `"q"`)
	f.Add("why a=b holds\u00a0\xff", "a", "a=b", "")
	f.Add(`"`, "x", "", "")
	f.Fuzz(func(t *testing.T, text, a, b, c string) {
		p := Prompt{Name: "ask"}
		names := map[string]bool{}
		for _, n := range []string{a, b, c} {
			if n != "" && !names[n] {
				names[n] = true
				p.Arguments = append(p.Arguments, PromptArgument{Name: n})
			}
		}
		got, err := ParseArguments(text, p)
		if err != nil {
			require.Nil(t, got)
			require.NotEmpty(t, err.Error())
		} else {
			require.NotNil(t, got)
			require.Equal(t, strings.TrimSpace(text) == "", len(got) == 0)
		}
		for n, v := range got {
			require.True(t, names[n], "%q", n)
			require.Contains(t, text, v)
		}

		for _, p := range []Prompt{promptOf("event"), promptOf("event", "people?")} {
			for _, quote := range []string{`"`, "'"} {
				if strings.Contains(text, quote) {
					continue
				}
				for _, name := range []string{"event=", ""} {
					got, err := ParseArguments(name+quote+text+quote, p)
					require.NoError(t, err)
					require.Equal(t, map[string]string{"event": text}, got)
				}
			}
		}
	})
}
