package transcript

import (
	"context"
	"iter"

	"github.com/cartagent/cartagent/loop"
)

// Model answers with what a model said then. Its error is the recorded one: that there was none.
func (r *Replay) Model() (loop.Model, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next < len(r.s.Model) {
		if x := r.s.Model[r.next]; x.Request == nil && x.Failure != nil && len(x.Chunks) == 0 {
			r.next++
			return nil, r.realFailure(x)
		}
	}
	return replayedModel{r}, nil
}

type replayedModel struct{ *Replay }

// Stream implements loop.Model. It never says more than was said then, and not before.
func (m replayedModel) Stream(ctx context.Context, req loop.Request) iter.Seq2[loop.Chunk, error] {
	return func(yield func(loop.Chunk, error) bool) {
		x, ok := m.exchange(req)
		if !ok {
			yield(loop.Chunk{}, &loop.Failure{Kind: loop.FailInternal, Message: "The recording has no more replies of the model."})
			return
		}
		// A compaction keeps what the model streams to itself.
		aside := m.spine.kind(x.At-1) == "Compacting"
		place := x.At - 1
		for _, c := range x.Chunks {
			if !aside {
				next := m.spine.place(place+1, "", []string{"Streamed"}, ends()...)
				if !m.wait(ctx, next, yield) {
					return
				}
				place = max(place, next)
			}
			if !yield(m.realChunk(c), nil) {
				return
			}
		}
		m.end(ctx, x, aside, yield)
	}
}

// ends are the inputs that end a stream.
func ends() []string {
	return []string{"Replied", "ModelFailed", "Cancelled", "Interrupted", "Prompted", "Compacted"}
}

// wait waits for a place; if ctx ends meanwhile it says so to the consumer.
func (m replayedModel) wait(ctx context.Context, place int, yield func(loop.Chunk, error) bool) bool {
	if m.spine.wait(ctx, place) {
		return true
	}
	yield(loop.Chunk{}, context.Cause(ctx))
	return false
}

func (m replayedModel) end(ctx context.Context, x Exchange, aside bool, yield func(loop.Chunk, error) bool) {
	kind := "Replied"
	switch {
	case x.Failure != nil:
		kind = "ModelFailed"
	case x.Reply == nil: // it was given up
		<-ctx.Done()
		yield(loop.Chunk{}, context.Cause(ctx))
		return
	}
	place := x.At
	if !aside {
		place = m.spine.place(x.At, "", []string{kind}, ends()...)
	}
	if !m.wait(ctx, place, yield) {
		return
	}
	switch {
	case x.Failure != nil:
		yield(loop.Chunk{}, m.realFailure(x))
	case x.Reply != nil:
		reply, err := realOf[Reply](m.Replay, x.Reply)
		if err != nil {
			yield(loop.Chunk{}, err)
			return
		}
		whole := loop.Reply(reply)
		yield(loop.Chunk{Kind: loop.ChunkReply, Reply: &whole}, nil)
	}
}

// realFailure is how an exchange failed.
func (r *Replay) realFailure(x Exchange) error {
	f, err := realOf[loop.Failure](r, x.Failure)
	if err != nil {
		return err
	}
	return &f
}

func (r *Replay) realChunk(c Chunk) loop.Chunk {
	out := c.loop()
	out.Text = r.names.RealText(out.Text)
	return out
}

// exchange is the next one, its request held against the recorded one.
func (r *Replay) exchange(req loop.Request) (Exchange, bool) {
	raw, err := Canonical(req)
	if err != nil {
		r.differ("a model request: %v", err)
		return Exchange{}, false
	}
	r.mu.Lock()
	n := r.next
	r.next++
	r.mu.Unlock()
	raw = r.names.Count(raw)
	if n >= len(r.s.Model) {
		r.differ("model request %d: not recorded, now %s", n+1, show(raw))
		return Exchange{}, false
	}
	x := r.s.Model[n]
	if x.Request == nil {
		r.doubt("model request %d: it was not recorded", n+1)
	} else if d := Difference(x.Request, raw); d != "" {
		r.differ("model request %d %s", n+1, d)
	}
	return x, true
}
