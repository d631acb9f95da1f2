package loop

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Verdict says whether a call may run. The zero value is Ask.
type Verdict int

// The verdicts. Where several rules match, the strictest of theirs counts: Deny, then Ask, then Allow.
const (
	Ask Verdict = iota
	Allow
	Deny
)

// String is the verdict's name in configuration files.
func (v Verdict) String() string {
	switch v {
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	case Ask:
		return "ask"
	}
	return fmt.Sprintf("verdict %d", int(v))
}

// MarshalText writes the name.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads a name.
func (v *Verdict) UnmarshalText(text []byte) error {
	for _, known := range []Verdict{Allow, Ask, Deny} {
		if known.String() == string(text) {
			*v = known
			return nil
		}
	}
	return fmt.Errorf("verdict %q: use allow, ask or deny", text)
}

// stricter is the stricter of two verdicts.
func stricter(a, b Verdict) Verdict {
	switch {
	case a == Deny || b == Deny:
		return Deny
	case a == Allow && b == Allow:
		return Allow
	}
	return Ask
}

// Rule is a standing decision about calls of a tool. Prefix is compared with the words of each subject of a call; with
// Exact the subject has those words and no others. A rule without a Prefix is about every call of its tool, or with
// Exact, as only the person's answers make it, about those that have no subjects.
type Rule struct {
	Tool    string   `json:"tool"` // a tool's name, or * for any
	Prefix  []string `json:"prefix,omitempty"`
	Exact   bool     `json:"exact,omitempty"`
	Verdict Verdict  `json:"verdict"`
	Why     string   `json:"why,omitempty"`
	// Fingerprint is that of the tool which an always-answer allowed; zero in the configuration.
	Fingerprint Fingerprint `json:"fingerprint,omitzero"`
	// Match and Miss are subjects, words separated by spaces, that the rule must and must not match. Check tries them.
	Match []string `json:"match,omitempty"`
	Miss  []string `json:"miss,omitempty"`
}

// Rules is a list of rules. Their order does not matter.
type Rules []Rule

// Check tries each rule's examples and says which fail, and which rules are no rules.
func (r Rules) Check() error {
	var errs []error
	for i, rule := range r {
		if rule.Tool == "" {
			errs = append(errs, fmt.Errorf("rule %d: it names no tool (use * for any)", i+1))
		}
		if rule.Exact && len(rule.Prefix) == 0 {
			errs = append(errs, fmt.Errorf("rule %d for %s: exact needs a prefix", i+1, rule.Tool))
		}
		for _, s := range rule.Match {
			if !rule.matches(strings.Fields(s)) {
				errs = append(errs, fmt.Errorf("rule %d for %s: it should match %q and does not", i+1, rule.Tool, s))
			}
		}
		for _, s := range rule.Miss {
			if rule.matches(strings.Fields(s)) {
				errs = append(errs, fmt.Errorf("rule %d for %s: it should not match %q and does", i+1, rule.Tool, s))
			}
		}
	}
	return errors.Join(errs...)
}

func (r Rule) matches(words []string) bool {
	if r.Exact {
		return slices.Equal(words, r.Prefix)
	}
	return len(words) >= len(r.Prefix) && slices.Equal(words[:len(r.Prefix)], r.Prefix)
}

// Decide is the one place where permission is decided: the verdict for a call of the tool with that preview, and
// why, where a rule has a reason. Every subject must be allowed for the call to be.
func (r Rules) Decide(spec Spec, p Preview) (Verdict, string) {
	subjects := p.Subjects
	if len(subjects) == 0 {
		subjects = []Subject{{}}
	}
	verdict, why := Allow, ""
	for _, s := range subjects {
		v, w := r.judge(spec, s)
		if stricter(v, verdict) != verdict {
			verdict, why = v, w
		}
	}
	if verdict == Allow && p.Caution != "" {
		return Ask, p.Caution
	}
	return verdict, why
}

func (r Rules) judge(spec Spec, s Subject) (Verdict, string) {
	verdict, why, found := Allow, "", false
	for _, rule := range r {
		if rule.Tool != spec.Name && rule.Tool != "*" || !rule.holds(spec) {
			continue
		}
		hit := rule.matches(s.Words)
		if !hit && rule.Verdict != Allow {
			hit = slices.ContainsFunc(s.Also, rule.matches)
		}
		if !hit {
			continue
		}
		if next := stricter(verdict, rule.Verdict); !found || next != verdict {
			verdict, why = next, rule.Why
		}
		found = true
	}
	if !found {
		return spec.Default, ""
	}
	return verdict, why
}

// optionsFor lists what the person may answer about a call, the safest yes first. The names say how far an answer
// reaches; always-rules come from alwaysRules with the same arguments. Always allowing is offered only where it would
// spare the next question, so not where a rule of the configuration wants one.
func (r Rules) optionsFor(spec Spec, p Preview) []Option {
	opts := []Option{{AllowOnce, "Allow once"}}
	scope := scopeOf(spec, p)
	next, _ := slices.Concat(r, alwaysRules(spec, p, Allow)).Decide(spec, p)
	if scope != "" && next == Allow {
		opts = append(opts, Option{AllowAlways, "Always allow " + scope + " in this session"})
	}
	opts = append(opts, Option{RejectOnce, "Reject"})
	if scope != "" {
		opts = append(opts, Option{RejectAlways, "Always reject " + scope + " in this session"})
	}
	return opts
}

// scopeOf names what an always-answer would cover. It is empty where such an answer would cover too much: a call that
// no rule can allow, or one whose subjects are too many to show, unknown, or not what they look like.
func scopeOf(spec Spec, p Preview) string {
	if p.Caution != "" || len(p.Subjects) > 3 {
		return ""
	}
	if len(p.Subjects) == 0 {
		return spec.Name
	}
	names := make([]string, len(p.Subjects))
	for i, s := range p.Subjects {
		if len(s.Words) == 0 {
			return ""
		}
		names[i] = strings.Join(s.Words, " ")
	}
	scope := strings.Join(names, " and ")
	if spec.Kind != KindExecute {
		scope = spec.Name + " of " + scope
	}
	if len(scope) > 120 || strings.ContainsFunc(scope, func(c rune) bool { return !unicode.IsPrint(c) }) {
		return ""
	}
	return scope
}

// alwaysRules are the rules that an always-answer adds: just what was asked about, never more.
func alwaysRules(spec Spec, p Preview, v Verdict) Rules {
	if scopeOf(spec, p) == "" {
		return nil
	}
	rule := Rule{Tool: spec.Name, Exact: true, Verdict: v, Why: "you chose so in this session"}
	if v == Allow {
		rule.Fingerprint = spec.Fingerprint
	}
	if len(p.Subjects) == 0 {
		return Rules{rule}
	}
	rules := make(Rules, 0, len(p.Subjects))
	for _, s := range p.Subjects {
		rule.Prefix = s.Words
		rules = append(rules, rule)
	}
	return rules
}
