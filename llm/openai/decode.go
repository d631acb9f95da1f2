package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/llm"
	"github.com/cartagent/cartagent/loop"
)

type (
	// chunk is one event of the stream, or a whole completion.
	chunk struct {
		Object  string          `json:"object"`
		Choices []choice        `json:"choices"`
		Usage   *usage          `json:"usage"`
		Error   json.RawMessage `json:"error"`
		Message llm.Str         `json:"message"` // with object "error"
		Code    llm.Num         `json:"code"`    // likewise
	}
	choice struct {
		Index   llm.Num `json:"index"`
		Delta   *delta  `json:"delta"`
		Message *delta  `json:"message"`
		Finish  string  `json:"finish_reason"`
	}
	delta struct {
		Content          llm.Str                      `json:"content"`
		Refusal          string                       `json:"refusal"`
		ReasoningContent string                       `json:"reasoning_content"`
		Reasoning        string                       `json:"reasoning"`
		ReasoningDetails []map[string]json.RawMessage `json:"reasoning_details"`
		ToolCalls        []callDelta                  `json:"tool_calls"`
	}
	callDelta struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function *struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	}
	usage struct {
		Input   llm.Num `json:"prompt_tokens"`
		Output  llm.Num `json:"completion_tokens"`
		Details *struct {
			Cached llm.Num `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Hit llm.Num `json:"prompt_cache_hit_tokens"`
	}
)

// The fields that reasoning comes in.
const (
	fieldContent = "reasoning_content"
	fieldPlain   = "reasoning"
	fieldDetails = "reasoning_details"
)

// state is what a thought keeps for the way back, in loop.Thought.State. The text itself is in the thought, but for
// details, which are more than text.
type state struct {
	Field   string            `json:"field"`
	Details []json.RawMessage `json:"details,omitempty"`
}

// decoder adds up one reply.
type decoder struct {
	provider llm.Provider
	origin   string
	text     strings.Builder
	thought  strings.Builder
	field    string // the field whose reasoning is shown; others that repeat it are not
	details  []map[string]json.RawMessage
	calls    calls
	finish   string
	refused  bool
	done     bool
	usage    loop.Usage
	buf      [3]loop.Chunk
}

// Event implements llm.Decoder.
func (d *decoder) Event(data []byte) ([]loop.Chunk, bool, error) {
	if string(bytes.TrimSpace(data)) == "[DONE]" {
		d.done = true
		return nil, true, nil
	}
	var c chunk
	if err := llm.Lenient(data, &c); err != nil {
		return nil, false, llm.Unreadable(err)
	}
	chunks, err := d.take(c)
	return chunks, false, err
}

func (d *decoder) take(c chunk) ([]loop.Chunk, error) {
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return nil, d.provider.Fault(llm.InStream(c.Error))
	}
	if c.Object == "error" {
		return nil, d.provider.Fault(llm.Trouble{Status: int(c.Code), Text: string(c.Message)})
	}
	d.count(c.Usage)
	out := d.buf[:0]
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			continue
		}
		if ch.Delta == nil {
			ch.Delta = ch.Message
		}
		if ch.Delta != nil {
			out = d.add(out, *ch.Delta)
		}
		if ch.Finish != "" {
			d.finish = ch.Finish
		}
		if ch.Finish == "error" {
			return out, d.provider.Fault(llm.Trouble{Type: "server_error"})
		}
	}
	return out, nil
}

func (d *decoder) add(out []loop.Chunk, x delta) []loop.Chunk {
	if t := d.reason(x); t != "" {
		d.thought.WriteString(t)
		out = append(out, loop.Chunk{Kind: loop.ChunkThought, Text: t})
	}
	if x.Refusal != "" {
		d.refused = true
	}
	if t := string(x.Content) + x.Refusal; t != "" {
		d.text.WriteString(t)
		out = append(out, loop.Chunk{Kind: loop.ChunkText, Text: t})
	}
	for _, c := range x.ToolCalls {
		d.calls.add(c)
	}
	return out
}

// reason is the reasoning in a delta. Some servers send it in several fields at once: the first one counts.
func (d *decoder) reason(x delta) string {
	for _, item := range x.ReasoningDetails {
		d.detail(item)
	}
	texts := []struct{ field, text string }{
		{fieldContent, x.ReasoningContent},
		{fieldPlain, x.Reasoning},
		{fieldDetails, detailText(x.ReasoningDetails)},
	}
	for _, t := range texts {
		if t.text != "" && (d.field == "" || d.field == t.field) {
			d.field = t.field
			return t.text
		}
	}
	return ""
}

// detail adds to the last detail if it is a piece of the same one, and else keeps it as it is.
func (d *decoder) detail(item map[string]json.RawMessage) {
	if len(item) == 0 {
		return
	}
	if n := len(d.details); n > 0 {
		prev := d.details[n-1]
		same := bytes.Equal(prev["type"], item["type"]) && bytes.Equal(prev["index"], item["index"])
		if same && (prev["id"] == nil || item["id"] == nil || bytes.Equal(prev["id"], item["id"])) {
			mergeDetail(prev, item)
			return
		}
	}
	d.details = append(d.details, maps.Clone(item))
}

func mergeDetail(into, item map[string]json.RawMessage) {
	for k, v := range item {
		var a, b string
		grows := k == "text" || k == "summary" || k == "data"
		if grows && json.Unmarshal(into[k], &a) == nil && json.Unmarshal(v, &b) == nil {
			if joined, err := json.Marshal(a + b); err == nil {
				into[k] = joined
			}
			continue
		}
		if string(v) != "null" || into[k] == nil {
			into[k] = v
		}
	}
}

func detailText(items []map[string]json.RawMessage) string {
	var out strings.Builder
	for _, item := range items {
		for _, k := range []string{"text", "summary"} {
			var s string
			if json.Unmarshal(item[k], &s) == nil {
				out.WriteString(s)
			}
		}
	}
	return out.String()
}

func (d *decoder) count(u *usage) {
	if u == nil {
		return
	}
	cached := u.Hit
	if u.Details != nil && u.Details.Cached > 0 {
		cached = u.Details.Cached
	}
	next := loop.Usage{Input: int(u.Input), Output: int(u.Output), CacheRead: int(cached)}
	if next != (loop.Usage{}) {
		d.usage = next
	}
}

// Whole implements llm.Decoder.
func (d *decoder) Whole(body []byte) ([]loop.Chunk, error) {
	if t := bytes.TrimSpace(body); len(t) > 0 && t[0] == '[' {
		var list []json.RawMessage
		if llm.Lenient(t, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	var c chunk
	if err := llm.Lenient(body, &c); err != nil {
		return nil, llm.Unreadable(err)
	}
	for i := range c.Choices {
		if m := c.Choices[i].Message; m != nil {
			for j := range m.ToolCalls {
				m.ToolCalls[j].Index = &j
			}
		}
	}
	chunks, err := d.take(c)
	if err == nil && len(c.Choices) == 0 {
		err = llm.Unreadable(errors.New("a completion without choices"))
	}
	d.done = err == nil
	return chunks, err
}

// Reply implements llm.Decoder. A reply is whole once there was a reason to finish, or else the end mark behind
// something that is whole.
func (d *decoder) Reply() (*loop.Reply, bool) {
	stop := loop.StopEndTurn
	switch d.finish {
	case "":
		if !d.done || d.text.Len() == 0 && len(d.calls.list) == 0 || !d.calls.whole() {
			return nil, false
		}
	case "error":
		return nil, false
	case "length", "max_tokens":
		stop = loop.StopMaxTokens
	case "content_filter", "refusal":
		stop = loop.StopRefusal
	}
	if d.refused {
		stop = loop.StopRefusal
	}
	m := loop.Message{Role: loop.RoleAssistant, Calls: d.calls.made(stop == loop.StopMaxTokens)}
	if t, ok := d.thoughtBlock(); ok {
		m.Content = append(m.Content, t)
	}
	if d.text.Len() > 0 {
		m.Content = append(m.Content, loop.Text{Text: d.text.String()})
	}
	return &loop.Reply{Message: m, Stop: stop, Usage: d.usage}, true
}

func (d *decoder) thoughtBlock() (loop.Thought, bool) {
	s := state{Field: d.field}
	if len(d.details) > 0 {
		s.Field = fieldDetails
		for _, item := range d.details {
			s.Details = append(s.Details, sorted(item))
		}
	}
	if s.Field == "" {
		return loop.Thought{}, false
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return loop.Thought{Text: d.thought.String()}, d.thought.Len() > 0
	}
	return loop.Thought{Text: d.thought.String(), Provider: d.origin, State: raw}, true
}

// sorted writes an object with its keys in order, its values as they came.
func sorted(item map[string]json.RawMessage) json.RawMessage {
	out := []byte{'{'}
	for i, k := range slices.Sorted(maps.Keys(item)) {
		if i > 0 {
			out = append(out, ',')
		}
		key, _ := json.Marshal(k)
		out = append(append(append(out, key...), ':'), item[k]...)
	}
	return append(out, '}')
}
