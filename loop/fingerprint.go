package loop

import (
	"fmt"
	"slices"
	"strings"
)

// Fingerprint tells by hashes what a tool says of itself, so that a change shows. An always-allow holds for the tool as it
// was when the person gave it.
type Fingerprint struct {
	Description string `json:"description,omitempty"` // of its title and description
	Schema      string `json:"schema,omitempty"`      // of its arguments' schema
	Hints       string `json:"hints,omitempty"`       // of what it says it does
}

// holds says whether a rule is about the tool as it is now. Rules that only the person's answers make, and those that
// carry a fingerprint, allow no other version; a rule to ask or deny holds for every one.
func (r Rule) holds(spec Spec) bool {
	return r.Verdict != Allow || r.Fingerprint == spec.Fingerprint || !r.Exact && r.Fingerprint == Fingerprint{}
}

// Changed says what of the tool is no longer as it was when the rule was made, such as "its description and its schema".
// It is empty where the rule holds, and for a rule about another tool.
func (r Rule) Changed(spec Spec) string {
	if r.Tool != spec.Name || r.holds(spec) {
		return ""
	}
	was, is := r.Fingerprint, spec.Fingerprint
	if was == (Fingerprint{}) || is == (Fingerprint{}) {
		return "where it comes from" // it was one of ours, or allowed by a version that did not look
	}
	var what []string
	for _, part := range []struct{ name, was, is string }{
		{"its description", was.Description, is.Description},
		{"its schema", was.Schema, is.Schema},
		{"its hints", was.Hints, is.Hints},
	} {
		if part.was != part.is {
			what = append(what, part.name)
		}
	}
	if n := len(what); n > 1 {
		what = append(what[:n-2], what[n-2]+" and "+what[n-1])
	}
	return strings.Join(what, ", ")
}

// warned is a preview that says, where the person has allowed another version of the tool, what has changed since.
func (s State) warned(spec Spec, p Preview) Preview {
	for _, r := range slices.Backward(s.added) {
		if what := r.Changed(spec); what != "" {
			text := fmt.Sprintf("The tool %s has changed since you allowed it: %s. Look at it again before you allow it.", spec.Name, what)
			p.Display = slices.Concat(Blocks{Text{Text: text}}, p.Display)
			return p
		}
	}
	return p
}

// replace adds rules of the person's answer, in the place of those that were about another version of the same tool.
func replace(added Rules, spec Spec, more Rules) Rules {
	added = slices.DeleteFunc(slices.Clone(added), func(r Rule) bool { return r.Changed(spec) != "" })
	return slices.Concat(added, more)
}
