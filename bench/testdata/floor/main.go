// Command floor is what the benchmarks hold cartagent against: the least Go that is honestly an ACP agent on stdio. It
// answers initialize, session/new and session/prompt, streams a Chat Completions model from OPENAI_BASE_URL, and has one
// tool, read, that asks the client by fs/read_text_file. History is kept in memory; there is no log, no permission and no
// cancel.
package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"sync"
)

type object = map[string]any

// message is one JSON-RPC message, whichever kind it is.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *wireError      `json:"error"`
}

type wireError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *wireError) Error() string { return e.Message }

// session is used by one prompt at a time; that is left to the client.
type session struct {
	id      string
	history []object
}

type agent struct {
	base, key string

	writing sync.Mutex
	out     io.Writer

	mu       sync.Mutex
	sessions map[string]*session
	waiting  map[string]chan message
	calls    int
}

func main() {
	a := &agent{
		base: os.Getenv("OPENAI_BASE_URL"), key: os.Getenv("OPENAI_API_KEY"), out: os.Stdout,
		sessions: map[string]*session{}, waiting: map[string]chan message{},
	}
	if err := a.serve(os.Stdin); err != nil {
		log.Fatal(err)
	}
}

// serve handles each request in its own goroutine, until in ends.
func (a *agent) serve(in io.Reader) error {
	for r := bufio.NewReader(in); ; {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			var m message
			if err := json.Unmarshal(line, &m); err != nil {
				return fmt.Errorf("decoding a line of stdin: %w", err)
			}
			if m.Method == "" {
				a.answered(m)
			} else {
				go a.handle(m)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading stdin: %w", err)
		}
	}
}

func (a *agent) handle(m message) {
	result, err := a.dispatch(m)
	if m.ID == nil {
		return
	}
	reply := object{"jsonrpc": "2.0", "id": m.ID}
	var coded *wireError
	switch {
	case errors.As(err, &coded):
		reply["error"] = coded
	case err != nil:
		reply["error"] = wireError{Code: -32603, Message: err.Error()}
	default:
		reply["result"] = result
	}
	a.send(reply)
}

func (a *agent) dispatch(m message) (any, error) {
	switch m.Method {
	case "initialize":
		return object{"protocolVersion": 1, "agentCapabilities": object{}, "authMethods": []any{}}, nil
	case "session/new":
		s := &session{id: rand.Text(), history: []object{{"role": "system", "content": "You are an agent."}}}
		a.mu.Lock()
		a.sessions[s.id] = s
		a.mu.Unlock()
		return object{"sessionId": s.id}, nil
	case "session/prompt":
		return a.prompt(m.Params)
	default:
		return nil, &wireError{Code: -32601, Message: "method not found: " + m.Method}
	}
}

func (a *agent) send(v any) {
	line, err := json.Marshal(v)
	if err != nil {
		log.Fatal(err)
	}
	a.writing.Lock()
	defer a.writing.Unlock()
	if _, err := a.out.Write(append(line, '\n')); err != nil {
		log.Fatal(err)
	}
}

// ask sends a request to the client and waits for its answer.
func (a *agent) ask(method string, params any) (json.RawMessage, error) {
	answer := make(chan message, 1)
	a.mu.Lock()
	a.calls++
	id := fmt.Sprint(a.calls)
	a.waiting[id] = answer
	a.mu.Unlock()
	a.send(object{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params})
	m := <-answer
	if m.Error != nil {
		return nil, m.Error
	}
	return m.Result, nil
}

func (a *agent) answered(m message) {
	a.mu.Lock()
	answer := a.waiting[string(m.ID)]
	delete(a.waiting, string(m.ID))
	a.mu.Unlock()
	if answer != nil {
		answer <- m
	}
}

type notification struct {
	Version string       `json:"jsonrpc"`
	Method  string       `json:"method"`
	Params  updateParams `json:"params"`
}

type updateParams struct {
	SessionID string `json:"sessionId"`
	Update    any    `json:"update"`
}

// textChunk is typed, unlike the other updates, because there are so many of them.
type textChunk struct {
	Kind    string `json:"sessionUpdate"`
	Content block  `json:"content"`
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func (a *agent) update(s *session, update any) {
	a.send(notification{Version: "2.0", Method: "session/update", Params: updateParams{SessionID: s.id, Update: update}})
}

func (a *agent) prompt(params json.RawMessage) (any, error) {
	var p struct {
		SessionID string
		Prompt    []struct{ Text string }
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, &wireError{Code: -32602, Message: err.Error()}
	}
	a.mu.Lock()
	s := a.sessions[p.SessionID]
	a.mu.Unlock()
	if s == nil {
		return nil, &wireError{Code: -32002, Message: "no such session: " + p.SessionID}
	}
	var text strings.Builder
	for _, block := range p.Prompt {
		text.WriteString(block.Text)
	}
	s.history = append(s.history, object{"role": "user", "content": text.String()})
	for {
		calls, err := a.round(s)
		if err != nil {
			return nil, err
		}
		if len(calls) == 0 {
			return object{"stopReason": "end_turn"}, nil
		}
		for _, c := range calls {
			s.history = append(s.history, object{"role": "tool", "tool_call_id": c.ID, "content": a.run(s, c)})
		}
	}
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// run plays one call and returns what the model is told.
func (a *agent) run(s *session, c toolCall) string {
	var in struct{ Path string }
	err := json.Unmarshal([]byte(c.Function.Arguments), &in)
	a.update(s, object{
		"sessionUpdate": "tool_call", "toolCallId": c.ID, "title": "Read " + in.Path, "kind": "read",
		"status": "pending", "locations": []object{{"path": in.Path}}, "rawInput": object{"path": in.Path},
	})
	text := ""
	if c.Function.Name != "read" {
		err = fmt.Errorf("there is no tool %q", c.Function.Name)
	}
	if err == nil {
		a.update(s, object{"sessionUpdate": "tool_call_update", "toolCallId": c.ID, "status": "in_progress"})
		text, err = a.read(s, in.Path)
	}
	status := "completed"
	if err != nil {
		status, text = "failed", err.Error()
	}
	a.update(s, object{
		"sessionUpdate": "tool_call_update", "toolCallId": c.ID, "status": status,
		"content": []object{{"type": "content", "content": block{Type: "text", Text: text}}},
	})
	return text
}

func (a *agent) read(s *session, path string) (string, error) {
	result, err := a.ask("fs/read_text_file", object{"sessionId": s.id, "path": path})
	if err != nil {
		return "", err
	}
	var file struct{ Content string }
	if err := json.Unmarshal(result, &file); err != nil {
		return "", fmt.Errorf("decoding the answer of fs/read_text_file: %w", err)
	}
	return file.Content, nil
}

// round asks the model once, streams its text, and adds its reply to the history.
func (a *agent) round(s *session) ([]toolCall, error) {
	res, err := a.request(s.history)
	if err != nil {
		return nil, fmt.Errorf("asking the model: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(res.Body, 1<<10))
		return nil, fmt.Errorf("asking the model: %s: %s", res.Status, said)
	}
	var calls []toolCall
	var text strings.Builder
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, found := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !found || string(data) == "[DONE]" {
			continue
		}
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string     `json:"content"`
					ToolCalls []toolCall `json:"tool_calls"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(data, &chunk); err != nil {
			return nil, fmt.Errorf("decoding the model's stream: %w", err)
		}
		for _, choice := range chunk.Choices {
			if said := choice.Delta.Content; said != "" {
				text.WriteString(said)
				a.update(s, textChunk{Kind: "agent_message_chunk", Content: block{Type: "text", Text: said}})
			}
			for _, c := range choice.Delta.ToolCalls {
				if c.ID != "" || len(calls) == 0 {
					calls = append(calls, c)
				} else { // more of the arguments of the call before
					calls[len(calls)-1].Function.Arguments += c.Function.Arguments
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the model's stream: %w", err)
	}
	reply := object{"role": "assistant", "content": text.String()}
	if len(calls) > 0 {
		reply["tool_calls"] = calls
	}
	s.history = append(s.history, reply)
	return calls, nil
}

func (a *agent) request(history []object) (*http.Response, error) {
	body, err := json.Marshal(object{
		"model": "stub", "stream": true, "messages": history,
		"tools": []object{{"type": "function", "function": object{
			"name": "read", "description": "Reads a text file.",
			"parameters": object{
				"type": "object", "properties": object{"path": object{"type": "string"}}, "required": []string{"path"},
			},
		}}},
	})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, a.base+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+a.key)
	return http.DefaultClient.Do(req)
}
