package transcript

import (
	"encoding/json"
	"slices"
)

// Update makes of a scenario that was played again what replaces the one before: what is the author's stays, and so does
// what could not be recorded.
func (s *Scenario) Update(before *Scenario) *Scenario {
	out := *s
	out.Header, out.Before, out.Config = before.Header, before.Before, before.Config
	out.Manifest.Version, out.Manifest.Platform = before.Manifest.Version, before.Manifest.Platform
	out.Manifest.Models, out.Manifest.Model = before.Manifest.Models, before.Manifest.Model
	out.Manifest.Missing = before.Manifest.Missing
	out.Wire = rewired(before.Wire, s.Wire)
	out.Calls = slices.Clone(s.Calls)
	for _, was := range before.Calls {
		i := slices.IndexFunc(out.Calls, func(c Call) bool { return c.ID == was.ID && c.Tool == was.Tool })
		if i >= 0 && was.Unverified != "" {
			out.Calls[i].Unverified = was.Unverified
		}
	}
	out.Manifest.Captured = out.captured()
	return &out
}

// rewired are the lines of now: what the client says as its author wrote it, and the lines without a place among the
// others where they were, if they still are the same. What the agent asks has the ids that it had, as the answers have.
func rewired(before, now []Message) []Message {
	mine, aside := apart(now)
	theirs, kept := apart(before)
	next := 0
	ids := map[string]json.RawMessage{}
	for i, m := range mine {
		if m.In == nil {
			continue
		}
		k := slices.IndexFunc(theirs[next:], func(t Message) bool { return t.In != nil && alike(t.In, m.In) })
		if k < 0 {
			continue
		}
		mine[i].In = theirs[next+k].In
		next += k + 1
		if h := headOf(m.In); h.Method == "" {
			ids[string(h.ID)] = headOf(mine[i].In).ID
		}
	}
	for i := range mine {
		mine[i].Out = asBefore(mine[i].Out, ids)
	}
	for i := range aside {
		aside[i].Out = asBefore(aside[i].Out, ids)
	}
	if !sameAside(kept, aside) {
		kept = aside
	}
	var out []Message
	for i, m := range mine {
		for ; len(kept) > 0 && kept[0].behind <= i; kept = kept[1:] {
			out = append(out, kept[0].Message)
		}
		out = append(out, m)
	}
	for _, k := range kept {
		out = append(out, k.Message)
	}
	return out
}

// anyID stands for the id of a line, where that is not compared.
const anyID = "0"

// alike says whether two lines differ in nothing but their ids.
func alike(a, b json.RawMessage) bool {
	return Difference(withID(a, json.RawMessage(anyID)), withID(b, json.RawMessage(anyID))) == ""
}

// asBefore is a line with the id that its answer had before, if it is a request.
func asBefore(line json.RawMessage, ids map[string]json.RawMessage) json.RawMessage {
	if h := headOf(line); h.Method != "" && h.ID != nil && ids[string(h.ID)] != nil {
		return withID(line, ids[string(h.ID)])
	}
	return line
}

// placed is a line without a place of its own, and how many of the others it came behind.
type placed struct {
	Message
	behind int
}

// apart takes the lines that have no place among the others out of them.
func apart(wire []Message) (ordered []Message, aside []placed) {
	for _, m := range wire {
		if m.Out != nil && (unordered(m.Out) || updateOf(m.Out) == commandsUpdate) {
			aside = append(aside, placed{m, len(ordered)})
		} else {
			ordered = append(ordered, m)
		}
	}
	return ordered, aside
}

// sameAside says whether two lists of such lines are the same for a replay: of the news of commands the last counts.
func sameAside(a, b []placed) bool {
	list := func(all []placed) (rest []string, commands string) {
		for _, p := range all {
			if updateOf(p.Out) == commandsUpdate {
				commands = string(p.Out)
			} else {
				rest = append(rest, string(bare(p.Out)))
			}
		}
		slices.Sort(rest)
		return rest, commands
	}
	restA, commandsA := list(a)
	restB, commandsB := list(b)
	return slices.Equal(restA, restB) && commandsA == commandsB
}
