package bench_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// turn is what the updates of one session added up to while its prompt ran.
type turn struct {
	Text   string
	Called int            // tool_call updates
	Read   int            // files asked of the client
	Ended  map[string]int // tool calls by their last status
}

// order is a prompt for the stub and the turn that it must make.
type order struct {
	text string
	want turn
}

func say(n int) order {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "w%d ", i+1)
	}
	return order{text: fmt.Sprintf("SAY %d", n), want: turn{Text: text.String(), Ended: map[string]int{}}}
}

func readFiles(where place, n int) order {
	return order{
		text: fmt.Sprintf("TOOLS %d FILE %s", n, filepath.Join(where.cwd, filePattern)),
		want: turn{Text: "done", Called: n, Read: n, Ended: map[string]int{"completed": n}},
	}
}

// play plays one turn in each of the sessions, all at once, and returns how long it took until the last was answered.
// A turn that did not do what was ordered ends the benchmark: a wrong turn is no measure.
func (a *agent) play(o order, sessions ...string) time.Duration {
	a.tb.Helper()
	a.mu.Lock()
	a.updates = a.updates[:0]
	clear(a.reads)
	a.mu.Unlock()
	ats, errs := make([]time.Time, len(sessions)), make([]error, len(sessions))
	var all sync.WaitGroup
	begin := time.Now()
	for i, id := range sessions {
		all.Go(func() { ats[i], errs[i] = a.prompt(id, o.text) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		a.fail(err)
	}
	took := time.Duration(0)
	for _, at := range ats {
		took = max(took, at.Sub(begin))
	}
	a.check(o, sessions)
	return took
}

func (a *agent) prompt(session, text string) (time.Time, error) {
	var said struct{ StopReason string }
	at, err := a.call("session/prompt", object{
		"sessionId": session, "prompt": []object{{"type": "text", "text": text}},
	}, &said)
	if err == nil && said.StopReason != "end_turn" {
		err = fmt.Errorf("the turn %q ended with %q", text, said.StopReason)
	}
	return at, err
}

func (a *agent) check(o order, sessions []string) {
	a.tb.Helper()
	turns, err := a.turns()
	if err != nil {
		a.fail(err)
	}
	want, _ := json.Marshal(o.want) // of strings and numbers
	for _, id := range sessions {
		got, _ := json.Marshal(turns[id])
		if !bytes.Equal(want, got) {
			a.fail(fmt.Errorf("the turn %q of session %s was %s, not %s", o.text, id, got, want))
		}
	}
}

// turns decodes the updates since the last turn began. An answer comes behind its updates, so they are all there.
func (a *agent) turns() (map[string]turn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	turns, calls := map[string]turn{}, map[string]map[string]string{}
	for line := range bytes.Lines(a.updates) {
		var m struct {
			Params struct {
				SessionID string
				Update    struct {
					SessionUpdate, ToolCallID, Status string
					Content                           json.RawMessage
				}
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", line, err)
		}
		u, id := m.Params.Update, m.Params.SessionID
		t := turns[id]
		if calls[id] == nil {
			calls[id] = map[string]string{}
		}
		switch u.SessionUpdate {
		case "agent_message_chunk":
			var block struct{ Text string }
			if err := json.Unmarshal(u.Content, &block); err != nil {
				return nil, fmt.Errorf("decoding %s: %w", line, err)
			}
			t.Text += block.Text
		case "tool_call":
			t.Called++
			calls[id][u.ToolCallID] = u.Status
		case "tool_call_update":
			if u.Status != "" {
				calls[id][u.ToolCallID] = u.Status
			}
		}
		turns[id] = t
	}
	for id, t := range turns {
		t.Read, t.Ended = a.reads[id], map[string]int{}
		for _, status := range calls[id] {
			t.Ended[status]++
		}
		turns[id] = t
	}
	return turns, nil
}
