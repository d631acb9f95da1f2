package anthropic

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/cartagent/cartagent/llm"
	"github.com/cartagent/cartagent/loop"
)

// event is any event of the stream; those fields that it does not have are empty.
type event struct {
	Type    string `json:"type"`
	Index   *int   `json:"index"`
	Message *whole `json:"message"`
	Block   *part  `json:"content_block"`
	Delta   *struct {
		Type        string   `json:"type"`
		Text        string   `json:"text"`
		Thinking    string   `json:"thinking"`
		Signature   string   `json:"signature"`
		PartialJSON string   `json:"partial_json"`
		StopReason  string   `json:"stop_reason"`
		StopDetails *details `json:"stop_details"`
	} `json:"delta"`
	Usage *usage          `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type (
	// whole is a message: its start in a stream, all of it elsewhere.
	whole struct {
		Type        string          `json:"type"`
		Content     []part          `json:"content"`
		StopReason  string          `json:"stop_reason"`
		StopDetails *details        `json:"stop_details"`
		Usage       *usage          `json:"usage"`
		Error       json.RawMessage `json:"error"`
	}
	part struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		Data      string          `json:"data"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	}
	usage struct {
		Input      *llm.Num `json:"input_tokens"`
		Output     *llm.Num `json:"output_tokens"`
		CacheRead  *llm.Num `json:"cache_read_input_tokens"`
		CacheWrite *llm.Num `json:"cache_creation_input_tokens"`
	}
	details struct {
		Explanation string `json:"explanation"`
	}
)

// decoder adds up one reply. Blocks are kept in the order in which they start; index finds the one that a delta means.
type decoder struct {
	provider llm.Provider
	origin   string
	blocks   []*building
	index    map[int]*building
	stop     string
	usage    struct{ input, output, read, write llm.Num }
	shown    bool // some text
	buf      [1]loop.Chunk
}

// building is a content block as it grows.
type building struct {
	part
	text strings.Builder // of a text or a thought; the arguments of a call
}

// Event implements llm.Decoder.
func (d *decoder) Event(data []byte) ([]loop.Chunk, bool, error) {
	var e event
	if err := llm.Lenient(data, &e); err != nil {
		return nil, false, llm.Unreadable(err)
	}
	switch e.Type {
	case "error":
		return nil, false, d.provider.Fault(llm.InStream(e.Error))
	case "message_start":
		if e.Message != nil {
			d.count(e.Message.Usage)
		}
	case "content_block_start":
		if e.Block != nil {
			return d.start(e.Index, *e.Block), false, nil
		}
	case "content_block_delta":
		return d.delta(e), false, nil
	case "message_delta":
		d.count(e.Usage)
		if e.Delta != nil && e.Delta.StopReason != "" {
			return d.end(e.Delta.StopReason, e.Delta.StopDetails), false, nil
		}
	case "message_stop":
		return nil, true, nil
	}
	return nil, false, nil
}

func (d *decoder) start(index *int, p part) []loop.Chunk {
	b := &building{part: p}
	d.blocks = append(d.blocks, b)
	if index != nil {
		if d.index == nil {
			d.index = map[int]*building{}
		}
		d.index[*index] = b
	}
	switch p.Type {
	case "text":
		return d.say(b, loop.ChunkText, p.Text)
	case "thinking":
		return d.say(b, loop.ChunkThought, p.Thinking)
	}
	return nil
}

// delta adds to the block that it names. One that never started starts here, if what it is can be told.
func (d *decoder) delta(e event) []loop.Chunk {
	if e.Delta == nil {
		return nil
	}
	var b *building
	if e.Index != nil {
		b = d.index[*e.Index]
	} else if n := len(d.blocks); n > 0 {
		b = d.blocks[n-1]
	}
	if b == nil {
		kind, ok := strings.CutSuffix(e.Delta.Type, "_delta")
		if !ok || kind != "text" && kind != "thinking" {
			return nil
		}
		d.start(e.Index, part{Type: kind})
		b = d.blocks[len(d.blocks)-1]
	}
	switch e.Delta.Type {
	case "text_delta":
		return d.say(b, loop.ChunkText, e.Delta.Text)
	case "thinking_delta":
		return d.say(b, loop.ChunkThought, e.Delta.Thinking)
	case "signature_delta":
		b.Signature += e.Delta.Signature
	case "input_json_delta":
		if b.Type == "tool_use" {
			b.text.WriteString(e.Delta.PartialJSON)
		}
	}
	return nil
}

// say adds text to a block of its kind.
func (d *decoder) say(b *building, kind loop.ChunkKind, text string) []loop.Chunk {
	fits := kind == loop.ChunkText && b.Type == "text" || kind == loop.ChunkThought && b.Type == "thinking"
	if text == "" || !fits {
		return nil
	}
	b.text.WriteString(text)
	d.shown = d.shown || kind == loop.ChunkText
	d.buf[0] = loop.Chunk{Kind: kind, Text: text}
	return d.buf[:]
}

// end notes why the reply ends. A refusal that says nothing shows the provider's explanation.
func (d *decoder) end(reason string, why *details) []loop.Chunk {
	d.stop = reason
	if reason != "refusal" || d.shown || why == nil || why.Explanation == "" {
		return nil
	}
	return d.start(nil, part{Type: "text", Text: why.Explanation})
}

// count takes over the numbers that are there: later ones are totals, and may leave some out.
func (d *decoder) count(u *usage) {
	if u == nil {
		return
	}
	for _, n := range []struct {
		to   *llm.Num
		from *llm.Num
	}{
		{&d.usage.input, u.Input},
		{&d.usage.output, u.Output},
		{&d.usage.read, u.CacheRead},
		{&d.usage.write, u.CacheWrite},
	} {
		if n.from != nil && *n.from > 0 {
			*n.to = *n.from
		}
	}
}

// Whole implements llm.Decoder.
func (d *decoder) Whole(body []byte) ([]loop.Chunk, error) {
	var w whole
	if err := llm.Lenient(body, &w); err != nil {
		return nil, llm.Unreadable(err)
	}
	if len(w.Error) > 0 && string(w.Error) != "null" {
		return nil, d.provider.Fault(llm.InStream(w.Error))
	}
	if w.Type != "message" {
		return nil, llm.Unreadable(errors.New("a JSON value that is no message"))
	}
	d.count(w.Usage)
	var out []loop.Chunk
	for _, p := range w.Content {
		out = append(out, d.start(nil, p)...)
	}
	return append(out, d.end(w.StopReason, w.StopDetails)...), nil
}

// Reply implements llm.Decoder. A reply is whole once the API has said why it stops.
func (d *decoder) Reply() (*loop.Reply, bool) {
	if d.stop == "" {
		return nil, false
	}
	m := loop.Message{Role: loop.RoleAssistant}
	for _, b := range d.blocks {
		switch b.Type {
		case "text":
			addText(&m, b.text.String())
		case "thinking":
			d.addThought(&m, b.text.String(), state{Signature: b.Signature, Calls: len(m.Calls)})
		case "redacted_thinking":
			d.addThought(&m, "", state{Redacted: b.Data, Calls: len(m.Calls)})
		case "tool_use":
			args := b.text.String()
			if strings.TrimSpace(args) == "" {
				args = string(b.Input)
			}
			m.Calls = append(m.Calls, loop.NewCall(b.ID, b.Name, args))
		}
	}
	stop := loop.StopEndTurn
	switch d.stop {
	case "max_tokens", "model_context_window_exceeded":
		stop = loop.StopMaxTokens
		d.cut(&m)
	case "refusal":
		stop = loop.StopRefusal
	}
	u := d.usage
	return &loop.Reply{Message: m, Stop: stop, Usage: loop.Usage{
		Input: int(u.input + u.read + u.write), Output: int(u.output), CacheRead: int(u.read), CacheWrite: int(u.write),
	}}, true
}

// cut makes the last call a bad one if the token limit cut it before its arguments were there.
func (d *decoder) cut(m *loop.Message) {
	n := len(d.blocks)
	if n == 0 || d.blocks[n-1].Type != "tool_use" || len(m.Calls) == 0 {
		return
	}
	b := d.blocks[n-1]
	args := b.text.String()
	if args == "" && len(b.Input) > len("{}") {
		return // it came in one piece
	}
	if !llm.WholeObject(args) {
		m.Calls[len(m.Calls)-1] = llm.CutCall(b.ID, b.Name)
	}
}

// addText joins text to the text before it, so the message's text is what the chunks added up to.
func addText(m *loop.Message, text string) {
	if text == "" {
		return
	}
	if n := len(m.Content); n > 0 {
		if t, ok := m.Content[n-1].(loop.Text); ok {
			m.Content[n-1] = loop.Text{Text: t.Text + text}
			return
		}
	}
	m.Content = append(m.Content, loop.Text{Text: text})
}

func (d *decoder) addThought(m *loop.Message, text string, s state) {
	t := loop.Thought{Text: text}
	if s.Signature != "" || s.Redacted != "" {
		if raw, err := json.Marshal(s); err == nil {
			t.Provider, t.State = d.origin, raw
		}
	}
	if t.Text != "" || t.State != nil {
		m.Content = append(m.Content, t)
	}
}
