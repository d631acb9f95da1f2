package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cartagent/cartagent/llm"
	"github.com/cartagent/cartagent/loop"
)

// The request as it goes over the wire. The library has types for it too; these cost a fifth of the time on each
// request, and a test holds them against those.
type (
	params struct {
		Model        string    `json:"model"`
		MaxTokens    int       `json:"max_tokens"`
		Stream       bool      `json:"stream"`
		CacheControl *marker   `json:"cache_control,omitempty"`
		Thinking     *thinking `json:"thinking,omitempty"`
		OutputConfig *output   `json:"output_config,omitempty"`
		Tools        []tool    `json:"tools,omitempty"`
		System       []block   `json:"system,omitempty"`
		Messages     []message `json:"messages"`
	}
	marker struct {
		Type string `json:"type"`
	}
	thinking struct {
		Type    string `json:"type"`
		Budget  int    `json:"budget_tokens,omitempty"`
		Display string `json:"display,omitempty"`
	}
	output struct {
		Effort string `json:"effort"`
	}
	tool struct {
		Name         string          `json:"name"`
		Description  string          `json:"description,omitempty"`
		InputSchema  json.RawMessage `json:"input_schema"`
		CacheControl *marker         `json:"cache_control,omitempty"`
	}
	message struct {
		Role    string  `json:"role"`
		Content []block `json:"content"`
	}
	// block is each kind of content block; those fields that a kind does not have are empty.
	block struct {
		Type         string          `json:"type"`
		Text         string          `json:"text,omitempty"`
		Thinking     *string         `json:"thinking,omitempty"`
		Signature    string          `json:"signature,omitempty"`
		Data         string          `json:"data,omitempty"`
		Source       *source         `json:"source,omitempty"`
		ID           string          `json:"id,omitempty"`
		Name         string          `json:"name,omitempty"`
		Input        json.RawMessage `json:"input,omitempty"`
		ToolUseID    string          `json:"tool_use_id,omitempty"`
		Content      []block         `json:"content,omitempty"`
		IsError      bool            `json:"is_error,omitempty"`
		CacheControl *marker         `json:"cache_control,omitempty"`
	}
	source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      []byte `json:"data"`
	}
)

// state is what a thought keeps for the way back, in loop.Thought.State.
type state struct {
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
	Calls     int    `json:"calls,omitempty"` // how many calls of its message come before it
}

// maxImage is the most bytes of an image that the API takes.
const maxImage = 3_750_000 // 5 MB as base64

// encode makes the body of the request. It is a function of the configuration and r alone.
func (m *Model) encode(r loop.Request) ([]byte, error) {
	p := params{Model: m.cfg.Model, MaxTokens: m.cfg.MaxTokens, Stream: true}
	p.Thinking, p.OutputConfig = m.cfg.Thinking.params()
	for i, t := range m.schemas.Of(r.Tools) {
		p.Tools = append(p.Tools, tool{Name: r.Tools[i].Name, Description: t.Description, InputSchema: t.Schema})
	}
	if strings.TrimSpace(r.System) != "" {
		p.System = []block{{Type: "text", Text: r.System}}
	}
	if !m.cfg.NoCache {
		mark := &marker{Type: "ephemeral"}
		p.CacheControl = mark
		if len(p.System) > 0 {
			p.System[0].CacheControl = mark
		} else if n := len(p.Tools); n > 0 {
			p.Tools[n-1].CacheControl = mark
		}
	}
	for _, msg := range llm.Tidy(r.Messages) {
		p.add(m.message(msg))
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func (t Thinking) params() (*thinking, *output) {
	switch {
	case t.Effort == "off":
		return &thinking{Type: "disabled"}, nil
	case t.Effort != "":
		return &thinking{Type: "adaptive", Display: "summarized"}, &output{Effort: t.Effort}
	case t.Budget > 0:
		return &thinking{Type: "enabled", Budget: max(t.Budget, 1024)}, nil
	}
	return nil, nil
}

// add puts a message at the end: results and the prompt behind them are one user message here.
func (p *params) add(m message) {
	if n := len(p.Messages); n > 0 && p.Messages[n-1].Role == m.Role {
		p.Messages[n-1].Content = append(p.Messages[n-1].Content, m.Content...)
		return
	}
	p.Messages = append(p.Messages, m)
}

func (m *Model) message(msg loop.Message) message {
	switch msg.Role {
	case loop.RoleAssistant:
		return message{Role: "assistant", Content: m.assistant(msg)}
	case loop.RoleTool:
		out := message{Role: "user"}
		for _, r := range msg.Results {
			out.Content = append(out.Content, block{
				Type: "tool_result", ToolUseID: r.CallID, IsError: r.Failed,
				Content: contents(llm.ResultContent(r), !r.Failed), // a failed result may hold nothing but text
			})
		}
		return out
	case loop.RoleUser:
	}
	return message{Role: "user", Content: contents(msg.Content, true)}
}

// assistant puts thoughts back where they were between the calls. Thoughts of others, and those that were cut before
// their signature came, are left out.
func (m *Model) assistant(msg loop.Message) []block {
	var out []block
	calls := 0
	callsUpTo := func(n int) {
		for ; calls < min(n, len(msg.Calls)); calls++ {
			c := msg.Calls[calls]
			out = append(out, block{Type: "tool_use", ID: c.ID, Name: llm.ToolName(c.Tool), Input: llm.Object(c.Args)})
		}
	}
	for _, b := range msg.Content {
		t, ok := b.(loop.Thought)
		if !ok {
			out = append(out, contents(loop.Blocks{b}, false)...)
			continue
		}
		var s state
		if t.Provider != m.origin || json.Unmarshal(t.State, &s) != nil {
			continue
		}
		callsUpTo(s.Calls)
		switch {
		case s.Redacted != "":
			out = append(out, block{Type: "redacted_thinking", Data: s.Redacted})
		case s.Signature != "":
			out = append(out, block{Type: "thinking", Thinking: &t.Text, Signature: s.Signature})
		}
	}
	callsUpTo(len(msg.Calls))
	return out
}

func contents(in loop.Blocks, images bool) []block {
	out := make([]block, 0, len(in))
	for _, b := range in {
		if img, ok := llm.Picture(b, maxImage); ok && images {
			out = append(out, block{
				Type: "image", Source: &source{Type: "base64", MediaType: img.MIME, Data: img.Data},
			})
			continue
		}
		if text := llm.Render(b); strings.TrimSpace(text) != "" {
			out = append(out, block{Type: "text", Text: text})
		}
	}
	return out
}
