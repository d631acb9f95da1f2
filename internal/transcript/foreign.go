package transcript

import (
	"encoding/json"
	"fmt"
	"strings"
)

// aliases counts the ids that an agent gives to calls and messages, in the order in which they appear.
type aliases struct{ calls, messages map[string]string }

func newAliases() *aliases {
	return &aliases{calls: map[string]string{}, messages: map[string]string{}}
}

// count replaces the ids in a line, and takes out what only its agent understands.
func (a *aliases) count(line json.RawMessage) json.RawMessage {
	var v any
	if decode(line, &v) != nil {
		return line
	}
	a.walk(v)
	out, err := encode(v)
	if err != nil {
		return line
	}
	return out
}

func (a *aliases) walk(v any) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			a.walk(e)
		}
	case map[string]any:
		delete(x, "_meta")
		for key, e := range x {
			id, ok := e.(string)
			switch {
			case ok && key == "toolCallId":
				x[key] = alias(a.calls, "call", id)
			case ok && key == "messageId":
				delete(x, key) // agents need not give any
			default:
				a.walk(e)
			}
		}
	}
}

func alias(known map[string]string, kind, id string) string {
	if known[id] == "" {
		known[id] = fmt.Sprintf("%s %d", kind, len(known)+1)
	}
	return known[id]
}

// named learns from an answer what the agent calls a session, and gives the answer with the recorded name.
func (p *drive) named(want, line json.RawMessage) json.RawMessage {
	var a, b struct {
		Result struct {
			Session string `json:"sessionId"`
		} `json:"result"`
	}
	if json.Unmarshal(want, &a) != nil || json.Unmarshal(line, &b) != nil {
		return line
	}
	if then, now := a.Result.Session, b.Result.Session; then != "" && now != "" && then != now {
		p.Names.Folder(now, then) // it is replaced like a folder's name, wherever it stands
		return p.Names.Count(line)
	}
	return line
}

// piece is a line that brings text of a message: which update that is, and the text. Kind is empty for other lines.
func piece(line json.RawMessage) (kind, text string) {
	var m struct {
		Method string `json:"method"`
		Params struct {
			Update struct {
				Kind    string `json:"sessionUpdate"`
				Content struct {
					Type string `json:"type"`
					Text string `json:"text"`
				} `json:"content"`
			} `json:"update"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil || m.Method != "session/update" || m.Params.Update.Content.Type != "text" {
		return "", ""
	}
	if k := m.Params.Update.Kind; strings.HasSuffix(k, "_message_chunk") || k == "agent_thought_chunk" {
		return k, m.Params.Update.Content.Text
	}
	return "", ""
}

// withText is such a line with another text.
func withText(line json.RawMessage, text string) json.RawMessage {
	var v any
	if decode(line, &v) != nil {
		return line
	}
	m, _ := v.(map[string]any)
	params, _ := m["params"].(map[string]any)
	update, _ := params["update"].(map[string]any)
	content, _ := update["content"].(map[string]any)
	if content == nil {
		return line
	}
	content["text"] = text
	out, err := encode(m)
	if err != nil {
		return line
	}
	return out
}

// joined makes one line of the chunks of a text that follow each other. It says of each line that is left which it was.
func joined(wire []Message) (out []Message, lines []int) {
	for i, m := range wire {
		if m.Out != nil && len(out) > 0 && out[len(out)-1].Out != nil {
			last := &out[len(out)-1]
			before, first := piece(last.Out)
			kind, more := piece(m.Out)
			if kind != "" && kind == before {
				last.Out = withText(last.Out, first+more)
				continue
			}
		}
		out, lines = append(out, m), append(lines, i+1)
	}
	return out, lines
}

// gathered is a line with the text of those that follow it, as far as that is the beginning of the wanted one's.
func (p *drive) gathered(want, line json.RawMessage) json.RawMessage {
	kind, whole := piece(want)
	got, text := piece(line)
	if kind == "" || got != kind {
		return line
	}
	for text != whole && strings.HasPrefix(whole, text) {
		for len(p.queue) == 0 {
			next, ok := p.next()
			if !ok {
				return withText(line, text)
			}
			p.sort(next)
		}
		kind, more := piece(p.queue[0])
		if kind != got {
			break
		}
		p.queue = p.queue[1:]
		text += more
	}
	return withText(line, text)
}
