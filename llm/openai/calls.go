package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/llm"
	"github.com/cartagent/cartagent/loop"
)

// calls puts calls together from deltas. Servers differ in what tells one call from the next: an index that is always
// 0, or missing, or begins at 1; an id on the first delta, on each, on none, or the same for two calls; and the whole
// arguments once more at the end. No single field decides.
type calls struct {
	list []*growing
}

// growing is a call as it grows.
type growing struct {
	index *int
	id    string
	name  string
	args  strings.Builder
	shape shape
}

func (g *growing) write(args string) {
	g.args.WriteString(args)
	g.shape.add(args)
}

// whole says whether the arguments so far are one object. It costs nothing while they are not.
func (g *growing) whole() bool { return g.shape.closed && llm.WholeObject(g.args.String()) }

// shape follows braces through JSON that comes in pieces.
type shape struct {
	depth           int
	quoted, escaped bool
	closed          bool // the outermost brace is
}

func (s *shape) add(piece string) {
	for i := range len(piece) {
		c := piece[i]
		switch {
		case s.escaped:
			s.escaped = false
		case s.quoted && c == '\\':
			s.escaped = true
		case c == '"':
			s.quoted = !s.quoted
		case s.quoted:
		case c == '{' || c == '[':
			s.depth++
		case c == '}' || c == ']':
			s.depth--
			s.closed = s.closed || s.depth == 0
		}
	}
}

func (c *calls) add(d callDelta) {
	var name, args string
	if d.Function != nil {
		name, args = d.Function.Name, argsText(d.Function.Arguments)
	}
	g := c.find(d, name)
	if g != nil && strings.HasPrefix(strings.TrimLeft(args, " \n\r\t"), "{") && g.whole() {
		// The call has all its arguments, so this is either a repetition or the next call.
		if llm.SameJSON(strings.TrimSpace(g.args.String()), strings.TrimSpace(args)) {
			return
		}
		if name == "" {
			name = g.name
		}
		g = nil
	}
	if g == nil {
		if d.ID == "" && name == "" && strings.TrimSpace(args) == "" {
			return
		}
		g = &growing{index: d.Index, id: d.ID}
		c.list = append(c.list, g)
	}
	if g.id == "" {
		g.id = d.ID
	}
	if g.name == "" {
		g.name = name
	}
	g.write(args)
}

// find returns the call that a delta adds to, or nil for a new one. The latest call wins where several fit.
func (c *calls) find(d callDelta, name string) *growing {
	for _, g := range slices.Backward(c.list) {
		switch {
		case d.Index != nil && g.index != nil:
			if *d.Index == *g.index && (d.ID == "" || g.id == "" || d.ID == g.id) {
				return g
			}
		case d.ID != "":
			if d.ID == g.id {
				return g
			}
		case d.Index != nil: // the call so far had no index: not the same
		case name == "" || g.name == "":
			return g
		case name == g.name && !g.whole() && strings.TrimSpace(g.args.String()) != "":
			return g
		default:
			return repeated(g, d, name)
		}
	}
	return c.renamed(d, name)
}

// renamed finds the call of a delta whose id is new although it only goes on: some servers make one for each delta.
func (c *calls) renamed(d callDelta, name string) *growing {
	if len(c.list) == 0 || d.Index == nil || name != "" {
		return nil
	}
	g := c.list[len(c.list)-1]
	if g.index == nil || *g.index != *d.Index || g.whole() {
		return nil
	}
	return g
}

// repeated returns g if the delta only says again what g has.
func repeated(g *growing, d callDelta, name string) *growing {
	if name == g.name && d.Function != nil && llm.SameJSON(g.args.String(), argsText(d.Function.Arguments)) {
		return g
	}
	return nil
}

// argsText is the arguments of a delta: a string, as the API has it, or the object itself, as some servers do.
func argsText(raw json.RawMessage) string {
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if raw[0] != '"' {
		return string(raw)
	}
	var s llm.Str
	_ = s.UnmarshalJSON(raw) // never fails
	return string(s)
}

// whole says whether no call was cut short.
func (c *calls) whole() bool {
	for _, g := range c.list {
		if strings.TrimSpace(g.args.String()) != "" && !json.Valid([]byte(g.args.String())) {
			return false
		}
	}
	return true
}

// made returns the calls, in the order in which they began. cut says that the token limit ended the reply.
func (c *calls) made(cut bool) []loop.Call {
	var out []loop.Call
	for i, g := range c.list {
		args := g.args.String()
		if cut && i == len(c.list)-1 && !llm.WholeObject(args) {
			out = append(out, llm.CutCall(g.id, g.name))
			continue
		}
		out = append(out, loop.NewCall(g.id, g.name, args))
	}
	return out
}
