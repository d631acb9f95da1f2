package transcript

import (
	"context"
	"slices"
	"sync"

	"github.com/cartagent/cartagent/loop"
)

// spine is the order in which the inputs of a session came. In a replay whatever posts an input waits for its place in
// it, so that what ran side by side ends in the order in which it did. As soon as another input comes than the recorded
// one there is no order left to keep, and nobody waits any more.
type spine struct {
	mu    sync.Mutex
	want  []step
	n     int // inputs that have come
	free  bool
	moved chan struct{}
}

// step is an input as far as its place goes: its kind, and the call that it is about.
type step struct{ kind, call string }

func newSpine(inputs []loop.Input) *spine {
	s := &spine{want: make([]step, len(inputs)), moved: make(chan struct{}), free: len(inputs) == 0}
	for i, in := range inputs {
		s.want[i] = stepOf(in)
	}
	return s
}

func stepOf(in loop.Input) step {
	kind, _, err := loop.EncodeInput(in)
	if err != nil {
		return step{}
	}
	s := step{kind: kind}
	switch v := in.(type) {
	case loop.Previewed:
		s.call = v.CallID
	case loop.Decided:
		s.call = v.CallID
	case loop.Intended:
		s.call = v.CallID
	case loop.Asked:
		s.call = v.CallID
	case loop.Answered:
		s.call = v.CallID
	case loop.Progressed:
		s.call = v.CallID
	case loop.Finished:
		s.call = v.Result.CallID
	default:
	}
	return s
}

// came takes the next input. It says whether it is the recorded one.
func (s *spine) came(in loop.Input) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	fits := s.n < len(s.want) && s.want[s.n] == stepOf(in)
	s.n++
	s.free = s.free || !fits
	close(s.moved)
	s.moved = make(chan struct{})
	return fits
}

// release lets everyone go on.
func (s *spine) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.free {
		s.free = true
		close(s.moved)
		s.moved = make(chan struct{})
	}
}

// count is how many inputs have come.
func (s *spine) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// wait returns when all inputs before the place have come, or nobody waits any more. There is no place below zero: who
// has none waits for ctx. It says whether ctx still holds.
func (s *spine) wait(ctx context.Context, place int) bool {
	for {
		s.mu.Lock()
		ready, moved := s.free || place >= 0 && s.n >= place, s.moved
		s.mu.Unlock()
		if ready {
			return ctx.Err() == nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return false
		}
	}
}

// place is where, from a place on, the first input of one of those kinds about that call comes (of any call, where that
// is empty), unless one of the kinds in until comes before it; -1 for none.
func (s *spine) place(from int, call string, kinds []string, until ...string) int {
	for i := max(from, 0); i < len(s.want); i++ {
		switch {
		case slices.Contains(kinds, s.want[i].kind) && (call == "" || s.want[i].call == call):
			return i
		case slices.Contains(until, s.want[i].kind):
			return -1
		}
	}
	return -1
}

// kind is that of the input at a place; empty where there is none.
func (s *spine) kind(place int) string {
	if place < 0 || place >= len(s.want) {
		return ""
	}
	return s.want[place].kind
}
