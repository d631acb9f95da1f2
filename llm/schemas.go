package llm

import (
	"encoding/json"
	"strings"
	"sync/atomic"

	"github.com/cartagent/cartagent/llm/schema"
	"github.com/cartagent/cartagent/loop"
)

// ToolText is what a provider is told of a tool.
type ToolText struct {
	Description string
	Schema      json.RawMessage
}

// Schemas makes what a provider is told of tools, and remembers it for the latest list, since a session sends the same
// list again and again. The zero value remembers nothing yet. It may be used from any goroutine.
type Schemas struct {
	Rules schema.Rules // what the provider takes
	last  atomic.Pointer[schemas]
}

type schemas struct {
	tools []loop.Spec
	made  []ToolText
}

// Of is what there is to tell of each tool. tools must not change afterwards.
func (s *Schemas) Of(tools []loop.Spec) []ToolText {
	if last := s.last.Load(); last != nil && sameList(last.tools, tools) {
		return last.made
	}
	made := make([]ToolText, len(tools))
	for i, t := range tools {
		it := schema.Normalize(t.Schema, s.Rules)
		made[i] = ToolText{Description: strings.TrimSpace(t.Description + "\n\n" + it.Note), Schema: it.JSON}
		if it.Note == "" {
			made[i].Description = t.Description
		}
	}
	s.last.Store(&schemas{tools: tools, made: made})
	return made
}

// sameList says whether two lists are one and the same, not merely equal.
func sameList(a, b []loop.Spec) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}
