package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

type sentBlock struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text"`
	Thinking  *string         `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   []sentBlock     `json:"content"`
	IsError   bool            `json:"is_error"`
}

type sentMessage struct {
	Role    string      `json:"role"`
	Content []sentBlock `json:"content"`
}

// strict refuses what the real API refuses.
func strict(r *http.Request, body []byte) error {
	var sent struct {
		Model     string        `json:"model"`
		MaxTokens int           `json:"max_tokens"`
		Stream    bool          `json:"stream"`
		Messages  []sentMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return fmt.Errorf("the body: %w", err)
	}
	switch {
	case r.URL.Path != "/v1/messages":
		return errors.New("the path is " + r.URL.Path)
	case r.Header.Get("X-Api-Key") != "k-a" || r.Header.Get("Authorization") != "Bearer k-a":
		return errors.New("the key is missing")
	case r.Header.Get("Anthropic-Version") == "" || r.Header.Get("Content-Type") != "application/json":
		return errors.New("a header is missing")
	case sent.Model == "" || sent.MaxTokens == 0 || !sent.Stream || len(sent.Messages) == 0:
		return errors.New("a field is missing")
	case strings.Contains(string(body), `"content":""`):
		return errors.New("empty content")
	}
	if err := strictTools(body); err != nil {
		return err
	}
	var open []string
	for i, m := range sent.Messages {
		if want := []string{"user", "assistant"}[i%2]; m.Role != want {
			return fmt.Errorf("messages.%d: the role is %s and should be %s", i, m.Role, want)
		}
		next, err := m.check(open)
		if err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
		open = next
	}
	if len(open) > 0 {
		return fmt.Errorf("calls without results: %q", open)
	}
	return nil
}

// check holds a message against the calls before it, and returns its own.
func (m sentMessage) check(open []string) ([]string, error) {
	if len(m.Content) == 0 {
		return nil, errors.New("no content")
	}
	var calls []string
	for i, b := range m.Content {
		switch b.Type {
		case "text":
			if b.Text == nil || strings.TrimSpace(*b.Text) == "" {
				return nil, errors.New("text content blocks must be non-empty")
			}
		case "thinking":
			if b.Thinking == nil || b.Signature == "" || m.Role != "assistant" {
				return nil, errors.New("a thinking block that is none")
			}
		case "redacted_thinking":
			if b.Data == "" {
				return nil, errors.New("a redacted block without data")
			}
		case "tool_use":
			if b.ID == "" || b.Name == "" || len(b.Input) == 0 || b.Input[0] != '{' {
				return nil, errors.New("a call that is none")
			}
			calls = append(calls, b.ID)
		case "tool_result":
			if i >= len(open) || open[i] != b.ToolUseID {
				return nil, errors.New("an unexpected result for " + b.ToolUseID)
			}
			if err := b.checkResult(); err != nil {
				return nil, err
			}
		case "image":
		default:
			return nil, errors.New("an unknown block " + b.Type)
		}
		if i < len(open) && b.Type != "tool_result" {
			return nil, errors.New("calls without results")
		}
	}
	if len(m.Content) < len(open) {
		return nil, errors.New("calls without results")
	}
	return calls, nil
}

func (b sentBlock) checkResult() error {
	if len(b.Content) == 0 {
		return errors.New("an empty result")
	}
	for _, c := range b.Content {
		if c.Type == "text" && (c.Text == nil || strings.TrimSpace(*c.Text) == "") {
			return errors.New("text content blocks must be non-empty")
		}
		if b.IsError && c.Type != "text" {
			return errors.New("all content must be text if is_error is true")
		}
	}
	return nil
}

// strictTools refuses what the API says of input_schema.
func strictTools(body []byte) error {
	var sent struct {
		Tools []struct {
			Name   string
			Schema map[string]any `json:"input_schema"`
		}
	}
	if err := json.Unmarshal(body, &sent); err != nil {
		return err
	}
	for i, t := range sent.Tools {
		bad := func(why string) error { return fmt.Errorf("tools.%d.custom.input_schema: %s", i, why) }
		if t.Schema["type"] != "object" {
			return bad("type: Input should be 'object'")
		}
		for _, k := range []string{"oneOf", "anyOf", "allOf"} {
			if _, has := t.Schema[k]; has {
				return bad("does not support oneOf, allOf, or anyOf at the top level")
			}
		}
		props, _ := t.Schema["properties"].(map[string]any)
		for name, p := range props {
			if !regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`).MatchString(name) {
				return bad("properties: Property keys should match pattern")
			}
			if _, ok := p.(map[string]any); !ok {
				return bad("JSON schema is invalid. It must match JSON Schema draft 2020-12")
			}
		}
	}
	return nil
}
