package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cartagent/cartagent/llm/scripted"
	"github.com/cartagent/cartagent/loop"
)

// errand is a model that does one thing after another and decides by what it is told alone, as a real one does: what did
// not run it calls again, and what is unknown it looks up. It speaks as OpenAI-compatible providers and as Anthropic do,
// refuses what the real ones would refuse, and holds each request against the one before.
type errand struct {
	mu       sync.Mutex
	asked    int
	last     []byte // of the latest request: its messages, as far as the next must begin with them
	lastKit  []byte // its tools and its system prompt
	problems []string
	until    string // the tool before which it is done; empty: it does everything
}

// wrong is what it had to refuse.
func (e *errand) wrong() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.problems) > 0 {
		return errors.New(strings.Join(e.problems, "; "))
	}
	return nil
}

// attempt is a call that the model has made, and what came of it.
type attempt struct{ id, tool, args, result string }

func (e *errand) serve(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) {
		attempts, ok := e.heard(w, r, openAIAttempts, "]")
		if ok {
			serveReply(w, r, e.next(attempts))
		}
	})
	mux.HandleFunc("POST /v1/messages", func(w http.ResponseWriter, r *http.Request) {
		attempts, ok := e.heard(w, r, anthropicAttempts, "]}]") // what follows results is in the same message
		if ok {
			serveAnthropic(w, e.next(attempts))
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

type modelRequest struct {
	System   json.RawMessage `json:"system"`
	Tools    json.RawMessage `json:"tools"`
	Messages json.RawMessage `json:"messages"`
}

func (e *errand) heard(w http.ResponseWriter, r *http.Request, read func(json.RawMessage) ([]attempt, error), end string) ([]attempt, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var body modelRequest
	var attempts []attempt
	err := json.NewDecoder(r.Body).Decode(&body)
	if err == nil {
		attempts, err = read(body.Messages)
	}
	kit := slices.Concat(body.System, body.Tools)
	switch e.asked++; {
	case err != nil:
	case len(body.Tools) == 0:
		err = fmt.Errorf("there are no tools")
	case e.asked > 100:
		err = fmt.Errorf("the model is asked again and again")
	case e.lastKit != nil && !bytes.Equal(kit, e.lastKit):
		err = fmt.Errorf("system prompt or tools have changed: %s, now %s", e.lastKit, kit)
	case !bytes.HasPrefix(body.Messages, e.last):
		err = fmt.Errorf("the messages do not begin with those of the request before: %s, now %s", e.last, body.Messages)
	}
	if err != nil {
		e.problems = append(e.problems, err.Error())
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(object{"type": "error", "error": object{"type": "invalid_request_error", "message": err.Error()}})
		return nil, false
	}
	e.last, e.lastKit = bytes.TrimSuffix(body.Messages, []byte(end)), kit
	return attempts, true
}

// next is what the model does by now: the first thing that is not done.
func (e *errand) next(attempts []attempt) scripted.Reply {
	do := func(tool, args string) scripted.Reply {
		return scripted.Reply{Text: []string{"Now ", tool + "."}, Calls: []loop.Call{loop.NewCall("", tool, args)}}
	}
	order := matchOf(attempts, "shop__create_order", `"order":"([^"]+)"`)
	for _, step := range []struct{ tool, args, done, look, lookArgs, seen string }{
		{tool: "read", args: `{"path":"notes.txt"}`, done: "buy milk"},
		{tool: "write", args: `{"path":"out.txt","content":"first\n"}`, done: "Created|it was done"},
		{tool: "edit", args: `{"path":"out.txt","edits":[{"old":"first","new":"second"}]}`, done: "Edited|it was done"},
		{tool: "terminal", args: `{"command":"echo ran >> runs.log && echo well"}`, done: "well", look: "read", lookArgs: `{"path":"runs.log"}`, seen: "ran"},
		{tool: "ask", args: `{"question":"Which colour?","options":["red","blue"]}`, done: "The user answered"},
		{tool: "shop__create_order", args: `{}`, done: `"order":`},
		{
			tool: "shop__add_item", args: fmt.Sprintf(`{"order":%q,"item":"latte"}`, order), done: `"lines":\[\{`,
			look: "shop__get_order", lookArgs: fmt.Sprintf(`{"order":%q}`, order), seen: `"lines":\[\{`,
		},
		{tool: "shop__place_order", args: fmt.Sprintf(`{"order":%q,"name":"Ada"}`, order), done: `"number":`},
	} {
		i := slices.IndexFunc(attempts, func(a attempt) bool {
			return a.tool == step.tool && regexp.MustCompile(step.done).MatchString(a.result)
		})
		if i >= 0 {
			continue
		}
		if step.tool == e.until {
			break
		}
		last := lastOf(attempts, step.tool)
		if step.look == "" || last < 0 || !doubtful(attempts[last].result) {
			return do(step.tool, step.args)
		}
		since := attempts[last:]
		switch seen := lastOf(since, step.look); {
		case seen < 0:
			return do(step.look, step.lookArgs)
		case !regexp.MustCompile(step.seen).MatchString(since[seen].result):
			return do(step.tool, step.args)
		}
	}
	return scripted.Reply{Text: []string{"All ", "done."}}
}

func doubtful(result string) bool {
	return strings.Contains(result, "unknown") || strings.Contains(result, "may have taken effect")
}

func lastOf(attempts []attempt, tool string) int {
	for i, a := range slices.Backward(attempts) {
		if a.tool == tool {
			return i
		}
	}
	return -1
}

func matchOf(attempts []attempt, tool, pattern string) string {
	re := regexp.MustCompile(pattern)
	for _, a := range slices.Backward(attempts) {
		if m := re.FindStringSubmatch(a.result); a.tool == tool && m != nil {
			return m[1]
		}
	}
	return ""
}

// openAIAttempts reads messages as strictly as OpenAI does: calls are answered right behind, each once and nothing else.
func openAIAttempts(raw json.RawMessage) ([]attempt, error) {
	var messages []struct {
		Role, Content string
		ToolCalls     []struct {
			ID, Type string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
		ToolCallID string `json:"tool_call_id"`
	}
	if err := json.Unmarshal(raw, &messages); err != nil {
		return nil, err
	}
	var out []attempt
	open := 0 // how many of the last ones wait for their results
	for i, m := range messages {
		if open > 0 && m.Role != "tool" {
			return nil, fmt.Errorf("messages[%d]: %d calls before it have no results", i, open)
		}
		switch m.Role {
		case "system":
			if i > 0 || m.Content == "" {
				return nil, fmt.Errorf("messages[%d]: a system prompt that is empty or not first", i)
			}
		case "user":
			if m.Content == "" {
				return nil, fmt.Errorf("messages[%d]: an empty prompt", i)
			}
		case "assistant":
			if m.Content == "" && len(m.ToolCalls) == 0 {
				return nil, fmt.Errorf("messages[%d]: an empty message", i)
			}
			for _, c := range m.ToolCalls {
				if c.ID == "" || c.Type != "function" || !json.Valid([]byte(c.Function.Arguments)) {
					return nil, fmt.Errorf("messages[%d]: a malformed call", i)
				}
				out = append(out, attempt{id: c.ID, tool: c.Function.Name, args: c.Function.Arguments})
			}
			open = len(m.ToolCalls)
		case "tool":
			j := slices.IndexFunc(out[len(out)-open:], func(a attempt) bool { return a.id == m.ToolCallID })
			if j != 0 { // OpenAI takes any order; ours is that of the calls
				return nil, fmt.Errorf("messages[%d]: a result of %q, which is not due", i, m.ToolCallID)
			}
			out[len(out)-open].result = m.Content
			open--
		default:
			return nil, fmt.Errorf("messages[%d]: role %q", i, m.Role)
		}
	}
	if len(messages) == 0 || messages[len(messages)-1].Role == "assistant" || open > 0 {
		return nil, fmt.Errorf("nothing to answer")
	}
	return out, unique(out)
}

// anthropicAttempts reads messages as strictly as Anthropic does: the roles alternate, no text is empty, and the results
// come first in the message behind their calls.
func anthropicAttempts(raw json.RawMessage) ([]attempt, error) {
	var messages []struct {
		Role    string
		Content []struct {
			Type, Text, ID, Name string
			Input                json.RawMessage
			ToolUseID            string `json:"tool_use_id"`
			Content              []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal(raw, &messages); err != nil {
		return nil, err
	}
	var out []attempt
	open := 0
	for i, m := range messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want || len(m.Content) == 0 {
			return nil, fmt.Errorf("messages.%d: it is of %s and has %d blocks", i, m.Role, len(m.Content))
		}
		for j, b := range m.Content {
			switch {
			case b.Type == "tool_result" && m.Role == "user" && open > 0:
				at := &out[len(out)-open]
				if at.id != b.ToolUseID || len(b.Content) == 0 {
					return nil, fmt.Errorf("messages.%d.content.%d: a result of %q, or an empty one, where that of %q is due", i, j, b.ToolUseID, at.id)
				}
				for _, c := range b.Content {
					at.result += c.Text
				}
				open--
			case open > 0 && m.Role == "user":
				return nil, fmt.Errorf("messages.%d.content.%d: %d calls have no results", i, j, open)
			case b.Type == "text" && strings.TrimSpace(b.Text) != "":
			case b.Type == "tool_use" && m.Role == "assistant" && b.ID != "" && bytes.HasPrefix(b.Input, []byte("{")):
				out = append(out, attempt{id: b.ID, tool: b.Name, args: string(b.Input)})
				open++
			default:
				return nil, fmt.Errorf("messages.%d.content.%d: a malformed block of type %q", i, j, b.Type)
			}
		}
	}
	if len(messages)%2 == 0 || open > 0 {
		return nil, fmt.Errorf("nothing to answer")
	}
	return out, unique(out)
}

func unique(attempts []attempt) error {
	seen := map[string]bool{}
	for _, a := range attempts {
		if seen[a.id] {
			return fmt.Errorf("two calls have the id %q", a.id)
		}
		seen[a.id] = true
	}
	return nil
}

func serveAnthropic(w http.ResponseWriter, reply scripted.Reply) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, fields object) {
		fields["type"] = kind
		data, _ := json.Marshal(fields)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
		w.(http.Flusher).Flush()
	}
	send("message_start", object{"message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []any{}, "usage": object{"input_tokens": 1, "output_tokens": 1},
	}})
	send("content_block_start", object{"index": 0, "content_block": object{"type": "text", "text": ""}})
	for _, s := range reply.Text {
		send("content_block_delta", object{"index": 0, "delta": object{"type": "text_delta", "text": s}})
	}
	send("content_block_stop", object{"index": 0})
	stop := "end_turn"
	for i, c := range reply.Calls {
		stop = "tool_use"
		send("content_block_start", object{"index": i + 1, "content_block": object{"type": "tool_use", "id": fmt.Sprintf("toolu_%d", i), "name": c.Tool, "input": object{}}})
		send("content_block_delta", object{"index": i + 1, "delta": object{"type": "input_json_delta", "partial_json": string(c.Args)}})
		send("content_block_stop", object{"index": i + 1})
	}
	send("message_delta", object{"delta": object{"stop_reason": stop}, "usage": object{"output_tokens": 2}})
	send("message_stop", object{})
}
