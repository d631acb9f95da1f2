package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Block is one piece of content: of a prompt, of a message, of a tool's result. The variants are those of ACP and MCP,
// plus Thought, which only assistant messages hold, and Diff and Terminal, which only clients see.
//
//sumtype:decl
type Block interface{ block() }

type (
	// Text is plain text or Markdown.
	Text struct {
		Text string `json:"text"`
	}
	// Thought is a model's reasoning. State is whatever its provider wants back with the next request, to the byte;
	// it goes to the provider named and to no other.
	Thought struct {
		Text     string          `json:"text,omitempty"`
		Provider string          `json:"provider,omitempty"`
		State    json.RawMessage `json:"state,omitempty"`
	}
	// Image is a picture, its bytes inline.
	Image struct {
		Data []byte `json:"data"`
		MIME string `json:"mime"`
		URI  string `json:"uri,omitempty"`
	}
	// Audio is a sound, its bytes inline.
	Audio struct {
		Data []byte `json:"data"`
		MIME string `json:"mime"`
	}
	// Link names a resource without its content. Size is in bytes, zero when unknown.
	Link struct {
		URI         string `json:"uri"`
		Name        string `json:"name"`
		Title       string `json:"title,omitempty"`
		Description string `json:"description,omitempty"`
		MIME        string `json:"mime,omitempty"`
		Size        int64  `json:"size,omitempty"`
	}
	// Resource is a resource with its content: Blob when it is not nil, else Text.
	Resource struct {
		URI  string `json:"uri"`
		MIME string `json:"mime,omitempty"`
		Text string `json:"text,omitempty"`
		Blob []byte `json:"blob,omitzero"`
	}
	// Diff shows a file's change. Path is absolute; a nil Old means that the file is new.
	Diff struct {
		Path string  `json:"path"`
		Old  *string `json:"old,omitempty"`
		New  string  `json:"new"`
	}
	// Terminal shows a terminal that the client holds, by its id.
	Terminal struct {
		ID string `json:"id"`
	}
	// Plan is what the agent means to do. Only clients see it, as the plan rather than as content.
	Plan struct {
		Entries []PlanEntry `json:"entries"`
	}
	// Other is content of a type this build does not know, kept as it came.
	Other struct {
		Type string          `json:"kind"`
		Raw  json.RawMessage `json:"raw"`
	}
)

func (Text) block()     {}
func (Thought) block()  {}
func (Image) block()    {}
func (Audio) block()    {}
func (Link) block()     {}
func (Resource) block() {}
func (Diff) block()     {}
func (Terminal) block() {}
func (Plan) block()     {}
func (Other) block()    {}

// PlanEntry is a step of a plan. Status is pending, in_progress or completed; Priority is high, medium or low.
type PlanEntry struct {
	Content  string `json:"content"`
	Status   string `json:"status"`
	Priority string `json:"priority"`
}

// Blocks is a list of blocks that survives a round trip through JSON, unknown kinds included.
type Blocks []Block

// MarshalJSON writes each block with its kind in the field "type".
func (b Blocks) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('[')
	for i, x := range b {
		if i > 0 {
			out.WriteByte(',')
		}
		one, err := marshalBlock(x)
		if err != nil {
			return nil, err
		}
		out.Write(one)
	}
	out.WriteByte(']')
	return out.Bytes(), nil
}

func marshalBlock(b Block) ([]byte, error) {
	kind := ""
	switch b.(type) {
	case Text:
		kind = "text"
	case Thought:
		kind = "thought"
	case Image:
		kind = "image"
	case Audio:
		kind = "audio"
	case Link:
		kind = "link"
	case Resource:
		kind = "resource"
	case Diff:
		kind = "diff"
	case Terminal:
		kind = "terminal"
	case Plan:
		kind = "plan"
	case Other:
		kind = "other"
	default:
		return nil, fmt.Errorf("encoding a block: %T has no kind", b)
	}
	body, err := encodeBody(b)
	if err != nil {
		return nil, fmt.Errorf("encoding a %s block: %w", kind, err)
	}
	head := append([]byte(`{"type":"`+kind+`"`), ',')
	if len(body) == len("{}") {
		head = head[:len(head)-1]
	}
	return append(head, body[1:]...), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. A block of an unknown kind becomes an Other.
func (b *Blocks) UnmarshalJSON(data []byte) error {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return fmt.Errorf("decoding blocks: %w", err)
	}
	if raw == nil {
		*b = nil
		return nil
	}
	out := make(Blocks, 0, len(raw))
	for _, r := range raw {
		one, err := unmarshalBlock(r)
		if err != nil {
			return err
		}
		out = append(out, one)
	}
	*b = out
	return nil
}

func unmarshalBlock(raw json.RawMessage) (Block, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, fmt.Errorf("decoding a block: %w", err)
	}
	switch head.Type {
	case "text":
		return decodeAs[Text](raw)
	case "thought":
		return decodeAs[Thought](raw)
	case "image":
		return decodeAs[Image](raw)
	case "audio":
		return decodeAs[Audio](raw)
	case "link":
		return decodeAs[Link](raw)
	case "resource":
		return decodeAs[Resource](raw)
	case "diff":
		return decodeAs[Diff](raw)
	case "terminal":
		return decodeAs[Terminal](raw)
	case "plan":
		return decodeAs[Plan](raw)
	case "other":
		return decodeAs[Other](raw)
	}
	return Other{Type: head.Type, Raw: bytes.Clone(raw)}, nil
}

func decodeAs[T Block](raw json.RawMessage) (Block, error) {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("decoding a block: %w", err)
	}
	return v, nil
}

// TextOf joins the texts of blocks with newlines between them; every other kind of block is left out.
func TextOf(blocks []Block) string {
	var out []byte
	for _, b := range blocks {
		if t, ok := b.(Text); ok {
			if len(out) > 0 {
				out = append(out, '\n')
			}
			out = append(out, t.Text...)
		}
	}
	return string(out)
}
