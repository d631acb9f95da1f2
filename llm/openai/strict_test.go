package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

type sentMessage struct {
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	ToolCalls []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
	ToolCallID       string          `json:"tool_call_id"`
	ReasoningContent json.RawMessage `json:"reasoning_content"`
	Reasoning        json.RawMessage `json:"reasoning"`
	ReasoningDetails json.RawMessage `json:"reasoning_details"`
}

func sentMessages(body []byte) ([]sentMessage, error) {
	var sent struct {
		Messages []sentMessage `json:"messages"`
	}
	err := json.Unmarshal(body, &sent)
	return sent.Messages, err
}

// strict refuses what the real API, or a strict compatible server, refuses.
func strict(r *http.Request, body []byte) error {
	list, err := sentMessages(body)
	switch {
	case err != nil:
		return fmt.Errorf("the body: %w", err)
	case r.URL.Path != "/v1/chat/completions":
		return errors.New("the path is " + r.URL.Path)
	case r.Header.Get("Authorization") != "Bearer k-o" || r.Header.Get("Content-Type") != "application/json":
		return errors.New("a header is missing")
	case len(list) == 0 || !strings.Contains(string(body), `"stream":true`):
		return errors.New("a field is missing")
	}
	if err := strictTools(body); err != nil {
		return err
	}
	var open []string
	before := "user"
	for i, m := range list {
		if m.Role != "tool" && len(open) > 0 {
			return fmt.Errorf("messages.%d: calls without results: %q", i, open)
		}
		if m.Role == before && m.Role != "tool" && i > 0 || m.Role == "system" && i > 0 {
			return fmt.Errorf("messages.%d: a role that should not be here: %s", i, m.Role)
		}
		before = m.Role
		if m.Role == "tool" {
			if len(open) == 0 || open[0] != m.ToolCallID {
				return fmt.Errorf("messages.%d: an unexpected result for %s", i, m.ToolCallID)
			}
			open = open[1:]
		}
		calls, err := m.check()
		if err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
		open = append(open, calls...)
	}
	if len(open) > 0 {
		return fmt.Errorf("calls without results: %q", open)
	}
	return nil
}

func (m sentMessage) check() ([]string, error) {
	var s string
	var parts []struct{ Type, Text string }
	switch {
	case string(m.Content) == "null" && len(m.ToolCalls) > 0:
	case json.Unmarshal(m.Content, &s) == nil:
		if strings.TrimSpace(s) == "" {
			return nil, errors.New("blank content")
		}
	case m.Role == "user" && json.Unmarshal(m.Content, &parts) == nil && len(parts) > 0:
		for _, p := range parts {
			if p.Type == "text" && strings.TrimSpace(p.Text) == "" {
				return nil, errors.New("a blank part")
			}
		}
	default:
		return nil, fmt.Errorf("bad content %s", m.Content)
	}
	var ids []string
	for _, c := range m.ToolCalls {
		var args map[string]any
		if c.ID == "" || c.Type != "function" || c.Function.Name == "" {
			return nil, errors.New("a call that is none")
		}
		if err := json.Unmarshal([]byte(c.Function.Arguments), &args); err != nil {
			return nil, fmt.Errorf("bad arguments: %w", err)
		}
		ids = append(ids, c.ID)
	}
	return ids, nil
}

// strictTools refuses what the API says of functions.
func strictTools(body []byte) error {
	var sent struct {
		Tools []struct {
			Function struct {
				Name       string
				Parameters map[string]any
			}
		}
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return err
	}
	for _, t := range sent.Tools {
		bad := func(context, why string) error {
			return fmt.Errorf("invalid schema for function %q: In context=(%s), %s", t.Function.Name, context, why)
		}
		top := t.Function.Parameters
		if top["type"] != "object" {
			return bad("", "schema must be of type 'object'")
		}
		for _, k := range []string{"oneOf", "anyOf", "allOf", "enum", "not"} {
			if _, has := top[k]; has {
				return bad("", "schema must not have "+k+" at the top level")
			}
		}
		var visit func(context string, v any) error
		visit = func(context string, v any) error {
			s, ok := v.(map[string]any)
			if !ok {
				return bad(context, "no schema")
			}
			props, has := s["properties"].(map[string]any)
			if s["type"] == "object" && !has {
				return bad(context, "object schema missing properties")
			}
			items, has := s["items"]
			if s["type"] == "array" && !has {
				return bad(context, "array schema missing items")
			}
			if _, has := s["$ref"]; has {
				return bad(context, "reference can only point to definitions")
			}
			for name, p := range props {
				if err := visit(context+"'"+name+"'", p); err != nil {
					return err
				}
			}
			if items == nil {
				return nil
			}
			return visit(context+"'items'", items)
		}
		if err := visit("", top); err != nil {
			return err
		}
	}
	return nil
}
