package llm

import (
	"encoding/json"
	"sync/atomic"

	"github.com/cartagent/cartagent/loop"
)

// Schemas remembers what Schema made of the latest list of tools, since a session sends the same list again and again.
// The zero value remembers nothing yet. It may be used from any goroutine.
type Schemas struct {
	last atomic.Pointer[schemas]
}

type schemas struct {
	tools []loop.Spec
	made  []json.RawMessage
}

// Of is the schema of each tool, as Schema gives it. tools must not change afterwards.
func (s *Schemas) Of(tools []loop.Spec) []json.RawMessage {
	if last := s.last.Load(); last != nil && sameList(last.tools, tools) {
		return last.made
	}
	made := make([]json.RawMessage, len(tools))
	for i, t := range tools {
		made[i] = Schema(t.Schema)
	}
	s.last.Store(&schemas{tools: tools, made: made})
	return made
}

// sameList says whether two lists are one and the same, not merely equal.
func sameList(a, b []loop.Spec) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}
