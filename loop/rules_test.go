package loop

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func words(s string) []string { return strings.Fields(s) }

func TestDecide(t *testing.T) {
	t.Parallel()
	rule := func(v Verdict, prefix string) Rule {
		return Rule{Tool: "terminal", Prefix: words(prefix), Verdict: v, Why: v.String() + " " + prefix}
	}
	exactly := func(v Verdict, prefix string) Rule {
		r := rule(v, prefix)
		r.Exact = true
		return r
	}
	on := func(subjects ...string) Preview {
		var p Preview
		for _, s := range subjects {
			p.Subjects = append(p.Subjects, Subject{Words: words(s)})
		}
		return p
	}
	also := func(subject string, readings ...string) Preview {
		p := on(subject)
		for _, r := range readings {
			p.Subjects[0].Also = append(p.Subjects[0].Also, words(r))
		}
		return p
	}
	caution := func(p Preview) Preview {
		p.Caution = "it redirects"
		return p
	}
	for name, row := range map[string]struct {
		rules   Rules
		byTool  Verdict
		preview Preview
		want    Verdict
		why     string
	}{
		"no rule: the tool's own verdict, ask":   {nil, Ask, on("ls"), Ask, ""},
		"no rule: the tool's own verdict, allow": {nil, Allow, on("ls"), Allow, ""},
		"no rule: the tool's own verdict, deny":  {nil, Deny, on("ls"), Deny, ""},
		"a prefix":                               {Rules{rule(Allow, "git status")}, Ask, on("git status -s"), Allow, ""},
		"a prefix of words, not of letters":      {Rules{rule(Allow, "git status")}, Ask, on("git statusx"), Ask, ""},
		"shorter than the prefix":                {Rules{rule(Allow, "git status")}, Ask, on("git"), Ask, ""},
		"exact":                                  {Rules{exactly(Allow, "git push")}, Ask, on("git push"), Allow, ""},
		"exact, one word more":                   {Rules{exactly(Allow, "git push")}, Ask, on("git push --force"), Ask, ""},
		"no prefix":                              {Rules{rule(Allow, "")}, Ask, on("a", "b"), Allow, ""},
		"no prefix, no subject":                  {Rules{rule(Deny, "")}, Allow, on(), Deny, "deny "},
		"a prefix, no subject":                   {Rules{rule(Allow, "ls")}, Ask, on(), Ask, ""},
		"exact without a prefix, no subject":     {Rules{exactly(Allow, "")}, Ask, on(), Allow, ""},
		"exact without a prefix, a subject":      {Rules{exactly(Allow, "")}, Ask, on("ls"), Ask, ""},
		"another tool":                           {Rules{{Tool: "edit", Verdict: Allow}}, Ask, on("ls"), Ask, ""},
		"a tool's name is no prefix":             {Rules{{Tool: "term", Verdict: Allow}}, Ask, on("ls"), Ask, ""},
		"any tool":                               {Rules{{Tool: "*", Verdict: Deny, Why: "plan"}}, Allow, on("ls"), Deny, "plan"},
		"a rule is stronger than the tool":       {Rules{rule(Allow, "ls")}, Deny, on("ls"), Allow, ""},
		"deny over allow":                        {Rules{rule(Deny, "rm -r"), rule(Allow, "rm")}, Ask, on("rm -r x"), Deny, "deny rm -r"},
		"deny over allow, in the other order":    {Rules{rule(Allow, "rm"), rule(Deny, "rm -r")}, Ask, on("rm -r x"), Deny, "deny rm -r"},
		"deny over ask":                          {Rules{rule(Ask, "rm"), rule(Deny, "rm")}, Allow, on("rm"), Deny, "deny rm"},
		"ask over allow":                         {Rules{rule(Allow, "rm"), rule(Ask, "rm")}, Allow, on("rm"), Ask, "ask rm"},
		"every subject must be allowed":          {Rules{rule(Allow, "ls")}, Ask, on("ls", "rm x"), Ask, ""},
		"one subject denied":                     {Rules{rule(Allow, ""), rule(Deny, "rm")}, Ask, on("ls", "rm x", "ls"), Deny, "deny rm"},
		"denied beside asked":                    {Rules{rule(Ask, "ls"), rule(Deny, "rm")}, Allow, on("ls", "rm x"), Deny, "deny rm"},
		"another reading allows nothing":         {Rules{rule(Allow, "ls")}, Ask, also("env ls", "ls"), Ask, ""},
		"another reading asks":                   {Rules{rule(Allow, "env"), rule(Ask, "rm")}, Ask, also("env rm x", "rm x"), Ask, "ask rm"},
		"another reading denies":                 {Rules{rule(Allow, "env"), rule(Deny, "rm")}, Ask, also("env rm x", "x", "rm x"), Deny, "deny rm"},
		"another reading, exactly":               {Rules{exactly(Deny, "rm x")}, Allow, also("env rm x", "rm x"), Deny, "deny rm x"},
		"another reading, exactly another":       {Rules{exactly(Deny, "rm x")}, Allow, also("env rm x y", "rm x y"), Allow, ""},
		"caution: no rule allows":                {Rules{rule(Allow, "")}, Allow, caution(on("ls")), Ask, "it redirects"},
		"caution: nor does the tool":             {nil, Allow, caution(on()), Ask, "it redirects"},
		"caution: a rule still denies":           {Rules{rule(Deny, "ls")}, Allow, caution(on("ls")), Deny, "deny ls"},
		"a verdict that is none asks":            {Rules{{Tool: "*", Verdict: 7}}, Allow, on("ls"), Ask, ""},
		"an empty word is a word":                {Rules{exactly(Allow, "ls")}, Ask, Preview{Subjects: []Subject{{Words: []string{"ls", ""}}}}, Ask, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, why := row.rules.Decide(Spec{Name: "terminal", Default: row.byTool}, row.preview)
			assert.Equal(t, row.want.String(), got.String())
			assert.Equal(t, row.why, why)
		})
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	require.NoError(t, Rules{
		{Tool: "terminal", Prefix: []string{"git", "status"}, Verdict: Allow, Match: []string{"git status", "git  status -s"}, Miss: []string{"git", "git push", ""}},
		{Tool: "terminal", Prefix: []string{"git", "push"}, Exact: true, Match: []string{"git push"}, Miss: []string{"git push --force"}},
		{Tool: "*", Verdict: Deny, Match: []string{"", "anything at all"}},
	}.Check())
	require.NoError(t, Rules(nil).Check())

	err := Rules{
		{Tool: "terminal", Prefix: []string{"git"}, Match: []string{"git", "gitk"}, Miss: []string{"git push"}},
		{Prefix: []string{"x"}},
		{Tool: "edit", Exact: true},
	}.Check()
	assert.EqualError(t, err, strings.Join([]string{
		`rule 1 for terminal: it should match "gitk" and does not`,
		`rule 1 for terminal: it should not match "git push" and does`,
		`rule 2: it names no tool (use * for any)`,
		`rule 3 for edit: exact needs a prefix`,
	}, "\n"))
}

func TestAlwaysRules(t *testing.T) {
	t.Parallel()
	shell, file := Spec{Name: "terminal", Kind: KindExecute}, Spec{Name: "edit", Kind: KindEdit}
	of := func(subjects ...[]string) Preview {
		var p Preview
		for _, s := range subjects {
			p.Subjects = append(p.Subjects, Subject{Words: s, Also: [][]string{{"also"}}})
		}
		return p
	}
	for name, row := range map[string]struct {
		spec  Spec
		of    Preview
		scope string
	}{
		"a command":          {shell, of(words("git push")), "git push"},
		"two commands":       {shell, of(words("git add ."), words("git push")), "git add . and git push"},
		"a file":             {file, of([]string{"/a b"}), "edit of /a b"},
		"no subject":         {file, of(), "edit"},
		"too many":           {shell, of(words("a"), words("b"), words("c"), words("d")), ""},
		"too long":           {shell, of([]string{strings.Repeat("x", 121)}), ""},
		"more than one line": {shell, of([]string{"echo", "a\nb"}), ""},
		"hidden characters":  {shell, of([]string{"echo", "\u202e;mr"}), ""},
		"an escape":          {shell, of([]string{"echo", "\x1b[2K"}), ""},
		"caution":            {shell, Preview{Subjects: of(words("ls")).Subjects, Caution: "it redirects"}, ""},
		"an unknown subject": {file, of(nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, row.scope, scopeOf(row.spec, row.of))
			for _, v := range []Verdict{Allow, Deny} {
				rules := alwaysRules(row.spec, row.of, v)
				if row.scope == "" {
					assert.Empty(t, rules)
					continue
				}
				got, _ := rules.Decide(row.spec, row.of)
				assert.Equal(t, v, got, "the same again is decided")
				for _, wider := range widened(row.of) {
					got, _ := rules.Decide(row.spec, wider)
					if v == Allow {
						assert.Equal(t, Ask, got, "and nothing else: %#v", wider)
					}
				}
				other := row.spec
				other.Name = "other"
				got, _ = rules.Decide(other, row.of)
				assert.Equal(t, Ask, got, "nor another tool")
			}
			kinds := []Outcome{AllowOnce, RejectOnce}
			if row.scope != "" {
				kinds = []Outcome{AllowOnce, AllowAlways, RejectOnce, RejectAlways}
			}
			var got []Outcome
			for _, o := range Rules(nil).optionsFor(row.spec, row.of) {
				got = append(got, o.Kind)
			}
			assert.Equal(t, kinds, got)
		})
	}
}

// widened are previews that are close to p and not what was asked about.
func widened(p Preview) []Preview {
	more := Subject{Words: []string{"rm", "-rf", "/"}}
	out := []Preview{
		{Subjects: append(slices.Clip(p.Subjects), more)},
		{Subjects: p.Subjects, Caution: "it redirects"},
		{Subjects: []Subject{{Words: []string{"also"}}}},
	}
	for i, s := range p.Subjects {
		longer := Preview{Subjects: append([]Subject(nil), p.Subjects...)}
		longer.Subjects[i].Words = append(slices.Clip(s.Words), "--force")
		shorter := Preview{Subjects: append([]Subject(nil), p.Subjects...)}
		shorter.Subjects[i].Words = s.Words[:len(s.Words)-1]
		joined := Preview{Subjects: append([]Subject(nil), p.Subjects...)}
		joined.Subjects[i].Words = []string{strings.Join(s.Words, " ") + " "}
		wrapped := Preview{Subjects: append([]Subject(nil), p.Subjects...)}
		wrapped.Subjects[i] = Subject{Words: append([]string{"sudo"}, s.Words...), Also: [][]string{s.Words}}
		out = append(out, longer, shorter, joined, wrapped)
	}
	return out
}

func TestVerdictText(t *testing.T) {
	t.Parallel()
	for _, v := range []Verdict{Ask, Allow, Deny} {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		assert.JSONEq(t, `"`+v.String()+`"`, string(text))
		got := Verdict(-1)
		require.NoError(t, json.Unmarshal(text, &got))
		assert.Equal(t, v, got)
	}
	var v Verdict
	require.EqualError(t, v.UnmarshalText([]byte("Allow")), `verdict "Allow": use allow, ask or deny`)
	assert.Equal(t, "verdict 9", Verdict(9).String())
}

// FuzzRules holds Decide against its definition, written out the long way.
func FuzzRules(f *testing.F) {
	f.Add([]byte{2, 0, 1, 0, 2, 3, 1, 2, 1, 0, 2, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		i := 0
		d := dice{next: func() byte {
			i++
			if i > len(data) {
				return 0
			}
			return data[i-1]
		}}
		verdicts := []Verdict{Ask, Allow, Deny}
		spec := Spec{Name: "look", Default: verdicts[d.of(3)]}
		rules := d.config().Rules
		p := d.preview()
		for i := range p.Subjects {
			p.Subjects[i].Also = [][]string{d.words()}
		}
		got, _ := rules.Decide(spec, p)
		if want := decideSlowly(rules, spec, p); got != want {
			t.Fatalf("%v, want %v: %#v %#v %#v", got, want, rules, spec, p)
		}
		if got, _ := append(rules, Rule{Tool: "*", Verdict: Deny}).Decide(spec, p); got != Deny {
			t.Fatalf("a rule that denies all comes to %v", got)
		}
	})
}

func decideSlowly(rules Rules, spec Spec, p Preview) Verdict {
	subjects := p.Subjects
	if len(subjects) == 0 {
		subjects = []Subject{{}}
	}
	seen := map[Verdict]bool{}
	for _, s := range subjects {
		found := false
		for _, r := range rules {
			readings := [][]string{s.Words}
			if r.Verdict != Allow {
				readings = append(readings, s.Also...)
			}
			for _, words := range readings {
				line, prefix := strings.Join(words, "\x00")+"\x00", strings.Join(r.Prefix, "\x00")+"\x00"
				if len(words) == 0 {
					line = ""
				}
				if len(r.Prefix) == 0 {
					prefix = ""
				}
				hit := strings.HasPrefix(line, prefix) && (!r.Exact || line == prefix)
				if hit && (r.Tool == spec.Name || r.Tool == "*") {
					found, seen[r.Verdict] = true, true
				}
			}
		}
		if !found {
			seen[spec.Default] = true
		}
	}
	switch {
	case seen[Deny]:
		return Deny
	case seen[Ask] || p.Caution != "":
		return Ask
	}
	return Allow
}
