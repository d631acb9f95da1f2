package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cartagent/cartagent/acp"
)

// witness is a client that remembers what it was told, and whose person allows what is asked. About what may be done
// already it looks where it can, and leaves the rest to the model.
type witness struct {
	dir   string
	forms bool

	mu       sync.Mutex
	told     []json.RawMessage
	problems []string
	asked    map[string]int // by what it was about
}

func (w *witness) SessionUpdate(_ context.Context, n *acp.SessionNotification) error {
	raw, err := json.Marshal(n.Update)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, raw)
	return err
}

func (w *witness) RequestPermission(_ context.Context, r *acp.RequestPermissionRequest) (*acp.RequestPermissionResponse, error) {
	title := ""
	if r.ToolCall.Title != nil {
		title = *r.ToolCall.Title
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked == nil {
		w.asked = make(map[string]int)
	}
	switch {
	case isQuestion(r.Options):
		w.asked["question"]++
		return &acp.RequestPermissionResponse{Outcome: acp.Selected{OptionID: r.Options[0].OptionID}}, nil
	case !strings.HasPrefix(title, "May be done already: "):
		w.asked["permission"]++
		return selected(r, acp.PermissionAllowOnce), nil
	}
	w.asked["doubt"]++
	for _, decided := range []string{"out.txt", "notes.txt", "Place an order"} {
		if strings.Contains(title, decided) {
			w.problems = append(w.problems, "the person is asked what can be decided: "+title)
		}
	}
	if _, err := os.Stat(filepath.Join(w.dir, "runs.log")); strings.Contains(title, "runs.log") && err != nil {
		return selected(r, acp.PermissionAllowOnce), nil // it was not done
	}
	return selected(r, acp.PermissionRejectOnce), nil
}

func (w *witness) CreateElicitation(_ context.Context, r *acp.CreateElicitationRequest) (*acp.CreateElicitationResponse, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	form, ok := r.Mode.(acp.ElicitationFormMode)
	if !ok || !w.forms {
		w.problems = append(w.problems, "a question that the client has not offered to show: "+r.Message)
		return nil, acp.ErrMethodNotFound
	}
	content := map[string]acp.ElicitationContentValue{}
	for name, field := range form.RequestedSchema.Properties {
		if choices := choicesIn(field); len(choices) > 0 {
			content[name] = acp.StringContent(choices[0])
		}
	}
	return &acp.CreateElicitationResponse{Action: acp.ElicitationAcceptAction{Content: content}}, nil
}

func choicesIn(field acp.ElicitationPropertySchema) []string {
	f, ok := field.(acp.StringPropertySchema)
	if !ok {
		return nil
	}
	values := slices.Clone(f.Enum)
	for _, o := range f.OneOf {
		values = append(values, o.Const)
	}
	return values
}

// take is what the client was told since it was last asked, less what is no part of the conversation.
func (w *witness) take() []json.RawMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := w.told
	w.told = nil
	return joined(told)
}

// chunk is what pieces of one message are told apart by.
type chunk struct {
	Kind      string `json:"sessionUpdate"`
	MessageID string `json:"messageId"`
	Content   struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"content"`
}

func chunkOf(raw json.RawMessage) (chunk, bool) {
	var c chunk
	err := json.Unmarshal(raw, &c)
	return c, err == nil && strings.HasSuffix(c.Kind, "_message_chunk") && c.Content.Type == "text"
}

// joined leaves out what only describes the session as it is, and joins the pieces of each message.
func joined(told []json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	for _, raw := range told {
		var kind struct {
			SessionUpdate string `json:"sessionUpdate"`
		}
		if err := json.Unmarshal(raw, &kind); err != nil {
			continue
		}
		switch kind.SessionUpdate {
		case "available_commands_update", "config_option_update", "current_mode_update", "usage_update":
			continue
		}
		c, piece := chunkOf(raw)
		if len(out) > 0 && piece {
			if before, ok := chunkOf(out[len(out)-1]); ok && before.Kind == c.Kind && before.MessageID == c.MessageID && c.Kind != "user_message_chunk" {
				c.Content.Text = before.Content.Text + c.Content.Text
				out = out[:len(out)-1]
			}
		}
		if piece {
			raw, _ = json.Marshal(c)
		}
		out = append(out, raw)
	}
	return out
}

// lost says what of told is not in replay, in order. Of the last message replay may have more.
func lost(told, replay []json.RawMessage) error {
	at := 0
	for i, raw := range told {
		last := i == len(told)-1
		n := slices.IndexFunc(replay[at:], func(r json.RawMessage) bool {
			if bytes.Equal(r, raw) {
				return true
			}
			a, ok := chunkOf(raw)
			b, same := chunkOf(r)
			return last && ok && same && a.Kind == b.Kind && a.MessageID == b.MessageID && strings.HasPrefix(b.Content.Text, a.Content.Text)
		})
		if n < 0 {
			return fmt.Errorf("update %d of %d: %s", i+1, len(told), raw)
		}
		at += n + 1
	}
	return nil
}
