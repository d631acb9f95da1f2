package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cartagent/cartagent/llm"
	"github.com/cartagent/cartagent/loop"
)

// The request as it goes over the wire. The library has types for it too; these cost a fifth of the time on each
// request and know the fields of other servers, and a test holds them against those.
type (
	params struct {
		Model         string    `json:"model"`
		Stream        bool      `json:"stream"`
		StreamOptions *options  `json:"stream_options,omitempty"`
		NewLimit      int       `json:"max_completion_tokens,omitempty"`
		OldLimit      int       `json:"max_tokens,omitempty"`
		Effort        string    `json:"reasoning_effort,omitempty"`
		Tools         []tool    `json:"tools,omitempty"`
		Messages      []message `json:"messages"`
	}
	options struct {
		IncludeUsage bool `json:"include_usage"`
	}
	tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	message struct {
		Role       string `json:"role"`
		Content    any    `json:"content"` // text, or []part where there are images, or nil beside calls
		ToolCalls  []call `json:"tool_calls,omitempty"`
		ToolCallID string `json:"tool_call_id,omitempty"`

		ReasoningContent string            `json:"reasoning_content,omitempty"`
		Reasoning        string            `json:"reasoning,omitempty"`
		ReasoningDetails []json.RawMessage `json:"reasoning_details,omitempty"`
	}
	call struct {
		ID       string   `json:"id"`
		Type     string   `json:"type"`
		Function callFunc `json:"function"`
	}
	callFunc struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	part struct {
		Type     string    `json:"type"`
		Text     string    `json:"text,omitempty"`
		ImageURL *imageURL `json:"image_url,omitempty"`
	}
	imageURL struct {
		URL string `json:"url"`
	}
)

// maxImage is the most bytes of an image that is sent.
const maxImage = 20_000_000

// encode makes the body of the request. It is a function of the configuration, r and the dialect alone.
func (m *Model) encode(r loop.Request, d dialect) ([]byte, error) {
	p := params{Model: m.cfg.Model, Stream: true}
	if !d.noUsage {
		p.StreamOptions = &options{IncludeUsage: true}
	}
	if d.oldLimit {
		p.OldLimit = m.cfg.MaxTokens
	} else {
		p.NewLimit = m.cfg.MaxTokens
	}
	if !d.noEffort {
		p.Effort = effort(m.cfg.Thinking)
	}
	for i, t := range m.schemas.Of(r.Tools) {
		p.Tools = append(p.Tools, tool{Type: "function", Function: function{
			Name: r.Tools[i].Name, Description: t.Description, Parameters: t.Schema,
		}})
	}
	if strings.TrimSpace(r.System) != "" {
		p.Messages = append(p.Messages, message{Role: "system", Content: r.System})
	}
	var images loop.Blocks // of results, waiting for a user message: those of tools hold only text
	for _, msg := range llm.Tidy(r.Messages) {
		switch msg.Role {
		case loop.RoleUser:
			p.user(append(images, msg.Content...))
			images = nil
		case loop.RoleAssistant:
			p.user(images)
			images = nil
			p.Messages = append(p.Messages, m.assistant(msg, d))
		case loop.RoleTool:
			for _, res := range msg.Results {
				images = append(images, p.result(res)...)
			}
		}
	}
	p.user(images)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p); err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

func effort(thinking string) string {
	switch thinking {
	case "off":
		return "none"
	case "max":
		return "xhigh"
	}
	return thinking
}

// user adds a user message, if there is anything in it.
func (p *params) user(blocks loop.Blocks) {
	if len(blocks) == 0 {
		return
	}
	var parts []part
	pictures := false
	for _, b := range blocks {
		if img, ok := llm.Picture(b, maxImage); ok {
			pictures = true
			data := "data:" + img.MIME + ";base64," + base64.StdEncoding.EncodeToString(img.Data)
			parts = append(parts, part{Type: "image_url", ImageURL: &imageURL{URL: data}})
			continue
		}
		if text := llm.Render(b); strings.TrimSpace(text) != "" {
			parts = append(parts, part{Type: "text", Text: text})
		}
	}
	if pictures {
		p.Messages = append(p.Messages, message{Role: "user", Content: parts})
		return
	}
	p.Messages = append(p.Messages, message{Role: "user", Content: llm.RenderAll(blocks)})
}

// result adds a tool message, and returns its images with a line that says whose they are.
func (p *params) result(r loop.Result) loop.Blocks {
	var images, rest loop.Blocks
	for _, b := range llm.ResultContent(r) {
		if _, ok := llm.Picture(b, maxImage); ok {
			images = append(images, b)
			b = loop.Text{Text: "(an image, in the next user message)"}
		}
		rest = append(rest, b)
	}
	text := llm.RenderAll(rest)
	if r.Failed {
		text = "Error: " + text
	}
	p.Messages = append(p.Messages, message{Role: "tool", ToolCallID: r.CallID, Content: text})
	if len(images) == 0 {
		return nil
	}
	return append(loop.Blocks{loop.Text{Text: "Images from the result of " + r.CallID + ":"}}, images...)
}

func (m *Model) assistant(msg loop.Message, d dialect) message {
	out := message{Role: "assistant"}
	if text := llm.RenderAll(msg.Content); text != "" {
		out.Content = text
	}
	for _, c := range msg.Calls {
		out.ToolCalls = append(out.ToolCalls, call{
			ID: c.ID, Type: "function",
			Function: callFunc{Name: llm.ToolName(c.Tool), Arguments: string(llm.Object(c.Args))},
		})
	}
	if len(msg.Calls) > 0 && !d.omitReasoning {
		m.reason(&out, msg.Content)
	}
	return out
}

// reason puts thoughts that came from here back into the field that they came in.
func (m *Model) reason(out *message, blocks loop.Blocks) {
	for _, b := range blocks {
		t, ok := b.(loop.Thought)
		var s state
		if !ok || t.Provider != m.origin || json.Unmarshal(t.State, &s) != nil {
			continue
		}
		switch s.Field {
		case fieldContent:
			out.ReasoningContent += t.Text
		case fieldPlain:
			out.Reasoning += t.Text
		case fieldDetails:
			out.ReasoningDetails = append(out.ReasoningDetails, s.Details...)
		}
	}
}
