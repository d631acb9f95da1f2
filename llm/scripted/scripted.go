package scripted

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/cartagent/cartagent/loop"
)

// Reply is what the model does with one request: it streams Thought and then Text, a chunk for each string, and ends
// in one of three ways. With Fail the request fails; with Hang it waits until its context ends; else the reply is the
// message that the chunks add up to, with Calls.
type Reply struct {
	Thought []string
	Text    []string
	Calls   []loop.Call // made with loop.NewCall; the loop gives them their ids
	Stop    loop.StopReason
	Usage   loop.Usage
	Fail    *loop.Failure
	Hang    bool
	// Expect, where it is not empty, must stand in the last message of the request: in its text, or in the text of
	// a result that it holds. Check sees the whole request. Either fails the request before anything is streamed.
	Expect string
	Check  func(loop.Request) error
}

// Model plays replies in order, one a request. It may be used from any goroutine.
type Model struct {
	mu       sync.Mutex
	replies  []Reply
	next     int
	requests []loop.Request
}

var _ loop.Model = (*Model)(nil)

// New makes a model that plays the replies. A request beyond the last is a *loop.Failure.
func New(replies ...Reply) *Model { return &Model{replies: slices.Clone(replies)} }

// Say is a reply of plain text, in one chunk.
func Say(text string) Reply { return Reply{Text: []string{text}} }

// Ask is a reply that calls one tool, with arguments as a provider would stream them.
func Ask(tool, args string) Reply { return Reply{Calls: []loop.Call{loop.NewCall("", tool, args)}} }

// Add puts more replies at the end.
func (m *Model) Add(replies ...Reply) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.replies = append(m.replies, replies...)
}

// Requests lists the requests so far, in the order in which they came.
func (m *Model) Requests() []loop.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Left is the number of replies that nobody has asked for yet.
func (m *Model) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.replies) - m.next
}

// Stream plays the next reply.
func (m *Model) Stream(ctx context.Context, r loop.Request) iter.Seq2[loop.Chunk, error] {
	return func(yield func(loop.Chunk, error) bool) {
		reply, n, err := m.take(r)
		if err == nil {
			err = reply.judge(r, n)
		}
		if err != nil {
			yield(loop.Chunk{}, err)
			return
		}
		for _, c := range reply.chunks() {
			if ctx.Err() != nil {
				break
			}
			if !yield(c, nil) {
				return
			}
		}
		if reply.Hang {
			<-ctx.Done()
		}
		switch {
		case ctx.Err() != nil:
			yield(loop.Chunk{}, fmt.Errorf("playing reply %d: %w", n, context.Cause(ctx)))
		case reply.Fail != nil:
			yield(loop.Chunk{}, reply.Fail)
		default:
			yield(loop.Chunk{Kind: loop.ChunkReply, Reply: reply.whole()}, nil)
		}
	}
}

func (m *Model) take(r loop.Request) (Reply, int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.Messages, r.Tools = slices.Clone(r.Messages), slices.Clone(r.Tools)
	m.requests = append(m.requests, r)
	if m.next == len(m.replies) {
		return Reply{}, 0, &loop.Failure{Kind: loop.FailInternal, Message: fmt.Sprintf(
			"The scripted model has %d replies and was asked for number %d.", len(m.replies), len(m.requests))}
	}
	m.next++
	return m.replies[m.next-1], m.next, nil
}

// judge holds a request against what reply n expects.
func (r Reply) judge(req loop.Request, n int) error {
	if r.Expect != "" {
		last := lastText(req)
		if !strings.Contains(last, r.Expect) {
			return &loop.Failure{Kind: loop.FailInternal, Message: fmt.Sprintf(
				"Reply %d of the scripted model expects %q in the last message, which is %q.", n, r.Expect, last)}
		}
	}
	if r.Check != nil {
		if err := r.Check(req); err != nil {
			return &loop.Failure{Kind: loop.FailInternal, Message: fmt.Sprintf(
				"Request %d of the scripted model is not the one expected: %v.", n, err)}
		}
	}
	return nil
}

func lastText(req loop.Request) string {
	if len(req.Messages) == 0 {
		return ""
	}
	m := req.Messages[len(req.Messages)-1]
	parts := []string{loop.TextOf(m.Content)}
	for _, r := range m.Results {
		parts = append(parts, loop.TextOf(r.Content))
	}
	return strings.TrimSpace(strings.Join(parts, "\n"))
}

func (r Reply) chunks() []loop.Chunk {
	var out []loop.Chunk
	for _, t := range r.Thought {
		out = append(out, loop.Chunk{Kind: loop.ChunkThought, Text: t})
	}
	for _, t := range r.Text {
		out = append(out, loop.Chunk{Kind: loop.ChunkText, Text: t})
	}
	return out
}

func (r Reply) whole() *loop.Reply {
	m := loop.Message{Role: loop.RoleAssistant, Calls: slices.Clone(r.Calls)}
	if t := strings.Join(r.Thought, ""); t != "" {
		m.Content = append(m.Content, loop.Thought{Text: t})
	}
	if t := strings.Join(r.Text, ""); t != "" {
		m.Content = append(m.Content, loop.Text{Text: t})
	}
	stop := r.Stop
	if stop == "" {
		stop = loop.StopEndTurn
	}
	return &loop.Reply{Message: m, Stop: stop, Usage: r.Usage}
}
