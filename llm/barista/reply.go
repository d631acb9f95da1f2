package barista

import (
	"strings"

	"github.com/cartagent/cartagent/loop"
)

// reply answers a request. It is pure: the same request has the same reply, and nothing is kept between two.
func reply(r loop.Request) loop.Reply {
	box, connected := findTools(r.Tools)
	if !connected {
		return say(notConnected + " " + howToConfigure)
	}
	mem := &memory{}
	var t *turn
	for _, past := range turnsOf(r.Messages) {
		if t != nil {
			t.close()
		}
		t = newTurn(mem, box, past.prompt)
		for _, s := range past.steps {
			t.follow(s.call, s.result)
		}
		t.answered = past.answered
	}
	if t == nil {
		return say(greeting)
	}
	if call, text := t.next(); text == "" {
		return loop.Reply{Message: loop.Message{Role: loop.RoleAssistant, Calls: []loop.Call{call}}, Stop: loop.StopEndTurn}
	}
	return say(t.text)
}

func say(text string) loop.Reply {
	return loop.Reply{
		Message: loop.Message{Role: loop.RoleAssistant, Content: loop.Blocks{loop.Text{Text: text}}},
		Stop:    loop.StopEndTurn,
	}
}

// exchange is one prompt and what was done about it so far.
type exchange struct {
	prompt   string
	steps    []doneCall
	answered bool // a reply without calls has ended it
}

type doneCall struct {
	call   loop.Call
	result loop.Result
}

func turnsOf(messages []loop.Message) []exchange {
	var out []exchange
	var calls []loop.Call
	for _, m := range messages {
		if m.Role == loop.RoleUser {
			out = append(out, exchange{prompt: promptOf(m.Content)})
			calls = nil
			continue
		}
		if len(out) == 0 {
			continue
		}
		last := &out[len(out)-1]
		switch m.Role {
		case loop.RoleAssistant:
			calls = m.Calls
			last.answered = len(calls) == 0
		case loop.RoleTool:
			for i, r := range m.Results {
				if c, ok := callOf(calls, r, i); ok {
					last.steps = append(last.steps, doneCall{call: c, result: r})
				}
			}
		case loop.RoleUser:
		}
	}
	return out
}

// callOf finds the call that a result answers: by its id, and where there are no ids by its place.
func callOf(calls []loop.Call, r loop.Result, i int) (loop.Call, bool) {
	for _, c := range calls {
		if c.ID != "" && c.ID == r.CallID {
			return c, true
		}
	}
	if i < len(calls) && calls[i].ID == "" {
		return calls[i], true
	}
	return loop.Call{}, false
}

const (
	contextOpen  = "<context>"
	contextClose = "</context>"
)

// promptOf is what the person wrote: the text blocks, without what the harness put before them.
func promptOf(content loop.Blocks) string {
	var parts []string
	for _, b := range content {
		t, ok := b.(loop.Text)
		if !ok {
			continue
		}
		text := strings.TrimSpace(t.Text)
		if strings.HasPrefix(text, contextOpen) {
			_, rest := cutLast(text, contextClose)
			text = strings.TrimSpace(rest)
		}
		if text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) > 0 && strings.HasPrefix(parts[len(parts)-1], "/") {
		return commanded(parts[len(parts)-1])
	}
	return strings.Join(parts, "\n")
}

// commanded is what a slash command asks for. What stands before it in the prompt is what the harness made of it: of a
// skill, which is about things that this model knows by itself, only the words behind its name count; a prompt of a
// server's asks for a text, which is for another model to write, however many things from the menu it names.
func commanded(command string) string {
	name, rest, _ := strings.Cut(command, " ")
	if strings.Contains(name, ":") {
		return "write a text"
	}
	return strings.TrimSpace(rest)
}

func cutLast(s, sep string) (before, after string) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):]
	}
	return s, ""
}
