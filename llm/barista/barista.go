package barista

import (
	"context"
	"iter"
	"strings"
	"unicode"

	"github.com/cartagent/cartagent/loop"
)

// Options change how the model streams, never what it says.
type Options struct {
	// Delay is called before each chunk of text but the first; its error ends the stream. It should return early,
	// with ctx's error, when ctx ends. Nil means no delay.
	Delay func(ctx context.Context) error
}

// New makes the model. It has no state: one may serve any number of sessions, from any goroutine.
func New() loop.Model { return NewWith(Options{}) }

// NewWith makes a model that streams as o says.
func NewWith(o Options) loop.Model { return &model{delay: o.Delay} }

type model struct {
	delay func(ctx context.Context) error
}

// Stream yields the reply's text word by word, and then the reply. Its only errors are those of ctx and of the delay.
func (m *model) Stream(ctx context.Context, r loop.Request) iter.Seq2[loop.Chunk, error] {
	return func(yield func(loop.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(loop.Chunk{}, context.Cause(ctx))
			return
		}
		answer := reply(r)
		for i, word := range chunks(loop.TextOf(answer.Message.Content)) {
			if i > 0 && m.delay != nil {
				if err := m.delay(ctx); err != nil {
					yield(loop.Chunk{}, err)
					return
				}
			}
			if ctx.Err() != nil {
				yield(loop.Chunk{}, context.Cause(ctx))
				return
			}
			if !yield(loop.Chunk{Kind: loop.ChunkText, Text: word}, nil) {
				return
			}
		}
		yield(loop.Chunk{Kind: loop.ChunkReply, Reply: &answer}, nil)
	}
}

// chunks cuts text into words, each with the space behind it, so that they add up to the text.
func chunks(text string) []string {
	var out []string
	for text != "" {
		end := strings.IndexFunc(text, unicode.IsSpace)
		if end < 0 {
			return append(out, text)
		}
		rest := strings.TrimLeftFunc(text[end:], unicode.IsSpace)
		out = append(out, text[:len(text)-len(rest)])
		text = rest
	}
	return out
}
