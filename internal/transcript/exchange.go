package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/cartagent/cartagent/loop"
)

// Exchange is one request to the model and what came of it: chunks, and at the end a reply or a failure. One that has
// neither was given up by who asked.
type Exchange struct {
	// Request is the loop.Request, canonical. It is nil where it is not known, and where there was none: the model could
	// not be had, as Failure says.
	Request json.RawMessage
	At      int // how many inputs the session's log had got
	Chunks  []Chunk
	Reply   *Reply
	Failure *loop.Failure
}

// Chunk is a piece of a model's stream. One of the two is set.
type Chunk struct {
	Text    *string `json:"text,omitempty"`
	Thought *string `json:"thought,omitempty"`
}

// Reply is a loop.Reply.
type Reply struct {
	Message loop.Message    `json:"message"`
	Stop    loop.StopReason `json:"stop,omitempty"`
	Usage   loop.Usage      `json:"usage,omitzero"`
}

func chunkOf(c loop.Chunk) Chunk {
	if c.Kind == loop.ChunkThought {
		return Chunk{Thought: &c.Text}
	}
	return Chunk{Text: &c.Text}
}

func (c Chunk) loop() loop.Chunk {
	if c.Thought != nil {
		return loop.Chunk{Kind: loop.ChunkThought, Text: *c.Thought}
	}
	if c.Text != nil {
		return loop.Chunk{Kind: loop.ChunkText, Text: *c.Text}
	}
	return loop.Chunk{Kind: loop.ChunkText}
}

// request is a loop.Request in parts that are not looked into.
type request struct {
	System   *string           `json:"system,omitempty"`
	Tools    []json.RawMessage `json:"tools,omitempty"`
	Messages []json.RawMessage `json:"messages"`
	Trace    json.RawMessage   `json:"trace,omitempty"`
}

// change is a request as a file has it: what is as in the request before it is left out. Keep is how many messages it
// has in common with that, and the others follow; nil: it is written out.
type change struct {
	Keep     *int               `json:"keep,omitempty"`
	System   *string            `json:"system,omitempty"`
	Tools    *[]json.RawMessage `json:"tools,omitempty"`
	Messages []json.RawMessage  `json:"messages,omitempty"`
	Trace    json.RawMessage    `json:"trace,omitempty"`
}

// line is an exchange as a file has it.
type line struct {
	Request *change       `json:"request,omitempty"`
	At      int           `json:"at,omitempty"`
	Chunks  []Chunk       `json:"chunks,omitempty"`
	Reply   *Reply        `json:"reply,omitempty"`
	Failure *loop.Failure `json:"failure,omitempty"`
}

// Canonical is a request as it is recorded and compared.
func Canonical(r loop.Request) (json.RawMessage, error) { return encode(r) }

// parseExchanges reads lines, each behind the one that it may refer to.
func parseExchanges(data []byte) ([]Exchange, error) {
	lines, err := parseLines[line](data)
	if err != nil {
		return nil, err
	}
	var out []Exchange
	var before *request
	for i, l := range lines {
		x := Exchange{At: l.At, Chunks: l.Chunks, Reply: l.Reply, Failure: l.Failure}
		if l.Reply != nil && l.Failure != nil {
			return nil, fmt.Errorf("exchange %d has a reply and a failure", i+1)
		}
		if l.Request != nil {
			r, err := l.Request.on(before)
			if err != nil {
				return nil, fmt.Errorf("exchange %d: %w", i+1, err)
			}
			if x.Request, err = encode(r); err != nil {
				return nil, err
			}
			before = &r
		}
		out = append(out, x)
	}
	return out, nil
}

// on is the request that the change makes of the one before it.
func (c *change) on(before *request) (request, error) {
	r := request{System: c.System, Messages: c.Messages, Trace: c.Trace}
	if c.Tools != nil {
		r.Tools = *c.Tools
	}
	if c.Keep == nil {
		if r.Messages == nil {
			r.Messages = []json.RawMessage{}
		}
		return r, nil
	}
	if before == nil || *c.Keep < 0 || *c.Keep > len(before.Messages) {
		return r, errors.New("keep is more than the request before it has messages")
	}
	if c.System == nil {
		r.System = before.System
	}
	if c.Tools == nil {
		r.Tools = before.Tools
	}
	r.Messages = append(slices.Clone(before.Messages[:*c.Keep]), c.Messages...)
	if r.Messages == nil {
		r.Messages = []json.RawMessage{}
	}
	return r, nil
}

func formatExchanges(list []Exchange) ([]line, error) {
	var out []line
	var before *request
	for i, x := range list {
		l := line{At: x.At, Chunks: x.Chunks, Reply: x.Reply, Failure: x.Failure}
		if x.Request != nil {
			var r request
			if err := json.Unmarshal(x.Request, &r); err != nil {
				return nil, fmt.Errorf("model.jsonl: the request of exchange %d: %w", i+1, err)
			}
			l.Request = r.since(before)
			before = &r
		}
		out = append(out, l)
	}
	return out, nil
}

// since is what a request changes of the one before it.
func (r *request) since(before *request) *change {
	c := &change{System: r.System, Messages: r.Messages, Trace: r.Trace}
	if len(r.Tools) > 0 {
		c.Tools = &r.Tools
	}
	// What is left out is as before, so what is gone cannot be told by leaving it out.
	if before == nil || r.System == nil && before.System != nil {
		return c
	}
	keep := 0
	for keep < len(before.Messages) && keep < len(r.Messages) && string(before.Messages[keep]) == string(r.Messages[keep]) {
		keep++
	}
	c.Keep, c.Messages = &keep, r.Messages[keep:]
	if r.System != nil && before.System != nil && *r.System == *before.System {
		c.System = nil
	}
	same := slices.EqualFunc(r.Tools, before.Tools, func(a, b json.RawMessage) bool { return string(a) == string(b) })
	if same {
		c.Tools = nil
	} else if c.Tools == nil {
		c.Tools = &[]json.RawMessage{}
	}
	return c
}
