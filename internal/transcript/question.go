package transcript

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// aboutOf is what a request of the agent's is about, by what tells it from others of its method.
func aboutOf(line json.RawMessage) string {
	var m struct {
		Params struct {
			ToolCallID string `json:"toolCallId"`
			ToolCall   struct {
				ID string `json:"toolCallId"`
			} `json:"toolCall"`
			Path     string   `json:"path"`
			Terminal string   `json:"terminalId"`
			Command  string   `json:"command"`
			Args     []string `json:"args"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil {
		return ""
	}
	v := m.Params
	return strings.Join(append([]string{v.ToolCallID, v.ToolCall.ID, v.Path, v.Terminal, v.Command}, v.Args...), "\x00")
}

// asks says whether a line is a question that has no place among the updates: while somebody is asked about one call,
// those beside it go on and tell so. Of another agent nobody knows what it does side by side.
func (p *drive) asks(line json.RawMessage) bool {
	h := headOf(line)
	return !p.Foreign && h.ID != nil && (h.Method == "session/request_permission" || h.Method == "elicitation/create")
}

// question holds the next question about the same against the recorded one.
func (p *drive) question(i int, want json.RawMessage) {
	method, about := headOf(want).Method, aboutOf(want)
	same := func(line json.RawMessage) bool { return headOf(line).Method == method && aboutOf(line) == about }
	for !slices.ContainsFunc(p.asked, same) {
		line, ok := p.next()
		if !ok {
			if !p.stopped() {
				p.notAsked(i, want)
			}
			return
		}
		p.sort(line)
	}
	at := slices.IndexFunc(p.asked, same)
	line := p.asked[at]
	p.asked = slices.Delete(p.asked, at, at+1)
	p.compare(i, want, line)
}

// notAsked says what there is in place of a question.
func (p *drive) notAsked(i int, want json.RawMessage) {
	instead := slices.Concat(p.asked, p.queue)
	if len(instead) == 0 {
		p.differ("wire line %d: recorded %s, now nothing comes", p.number(i), show(want))
		return
	}
	p.compare(i, want, instead[0])
}

// compare holds a line that has come against the recorded one.
func (p *drive) compare(i int, want, line json.RawMessage) {
	p.keepID(want, line)
	d := Difference(methodOf(want), methodOf(line)) // of another kind of line nothing else matters
	if d == "" {
		d = Difference(bare(want), bare(line))
	}
	switch {
	case d == "":
	case p.Replay != nil && p.estimated(i) && Difference(figureless(want), figureless(line)) == "":
		p.Replay.doubt("wire line %d: the sizes that /context estimates go with the lengths of the folders' names", p.number(i))
	default:
		p.differ("wire line %d %s", p.number(i), d)
	}
}

// estimated says whether a line is told because the client's last prompt was /context.
func (p *drive) estimated(i int) bool {
	for _, m := range slices.Backward(p.wire[:i]) {
		if headOf(m.In).Method != "session/prompt" {
			continue
		}
		var asked struct {
			Params struct {
				Prompt []struct {
					Text string `json:"text"`
				} `json:"prompt"`
			} `json:"params"`
		}
		if json.Unmarshal(m.In, &asked) != nil || len(asked.Params.Prompt) == 0 {
			return false
		}
		words := strings.Fields(asked.Params.Prompt[0].Text)
		return len(words) > 0 && words[0] == "/context"
	}
	return false
}

var figures = regexp.MustCompile(`[0-9]+`)

// figureless is a line that brings text, without the figures in it.
func figureless(line json.RawMessage) json.RawMessage {
	if kind, text := piece(line); kind != "" {
		return withText(line, figures.ReplaceAllString(text, "0"))
	}
	return line
}

// methodOf is a line without all but its method, if it has one.
func methodOf(line json.RawMessage) json.RawMessage {
	out, err := encode(struct {
		Method string `json:"method,omitempty"`
	}{headOf(line).Method})
	if err != nil {
		return line
	}
	return out
}
