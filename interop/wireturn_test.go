package interop

import (
	"maps"
	"slices"
	"strings"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var promptChecks = []wireCheck{
	{name: "a prompt: text in pieces, then the answer", run: func(w *world) {
		s := w.open()
		notes := s.prompt(askMenu)
		assert.Contains(w.t, textOf(notes), "oat cookie $2.75")
		assert.Greater(w.t, len(notes), 5)
		s.fence() // an update after the answer would be a fault
	}},
	{name: "several turns", run: func(w *world) {
		s := w.open()
		for range 3 {
			s.usable()
		}
	}},
	{name: "two sessions side by side", pace: "5ms", run: func(w *world) {
		a := w.open()
		b := a.open(w.cwd)
		require.NotEqual(w.t, a.id, b.id)
		first, second := a.begin(askMenu), b.begin(askPrice)
		a.ended(first, "end_turn")
		b.ended(second, "end_turn")
		assert.NotContains(w.t, textOf(b.since(0, b.id)), "oat cookie")
		assert.Contains(w.t, textOf(a.since(0, a.id)), "oat cookie")
	}},
	{name: "one session that waits holds no other up", run: func(w *world) {
		a := w.open()
		b := a.open(w.cwd)
		a.answering(silence)
		waiting := a.begin(askOrder)
		a.until("a question", func() bool { return len(a.asked) > 0 })
		b.usable()
		a.notify("session/cancel", object{"sessionId": a.id})
		a.ended(waiting, "cancelled")
	}},
	{name: "blocks: a link, an embedded file, one that nobody knows", run: func(w *world) {
		w.open().promptBlocks([]any{
			object{"type": "text", "text": askPrice},
			object{"type": "resource_link", "uri": "file:///tmp/menu.txt", "name": "menu.txt"},
			object{"type": "resource", "resource": object{"uri": "file:///tmp/a.txt", "text": "a"}},
			object{"type": "smell", "of": "coffee"},
		})
	}},
	{name: "prompts that are none are refused", run: func(w *world) {
		s := w.open()
		s.fails("session/prompt", object{"sessionId": "sess_unheard", "prompt": texts(askPrice)}, -32002)
		for _, params := range []object{
			{"sessionId": 7, "prompt": texts(askPrice)},
			{"sessionId": s.id, "prompt": askPrice},
			{"sessionId": s.id},
			{"prompt": texts(askPrice)},
			{"sessionId": s.id, "prompt": []any{object{"type": "text"}}},
		} {
			s.fails("session/prompt", params, -32602)
		}
		s.usable()
	}},
	{name: "an empty prompt is answered", run: func(w *world) {
		s := w.open()
		m := s.call("session/prompt", object{"sessionId": s.id, "prompt": []any{}})
		if m.Error != nil {
			assert.Equal(w.t, -32602, m.Error.Code)
		} else {
			require.NoError(w.t, stopOf(m, "end_turn"))
		}
		s.usable()
	}},
	{name: "a prompt of a megabyte", run: func(w *world) {
		s := w.open()
		m := s.call("session/prompt", object{"sessionId": s.id, "prompt": append(texts(askPrice), texts(strings.Repeat("é\u2028\n", 200_000))...)})
		require.NoError(w.t, stopOf(m, "end_turn", "max_tokens"))
		s.usable()
	}},
	{name: "tool calls are announced once and settled", run: func(w *world) {
		s := w.open()
		calls := callsOf(w.t, s.prompt(askOrder))
		assert.Greater(w.t, len(calls), 2)
		before := calls
		for id := range callsOf(w.t, s.prompt(askOrder)) {
			assert.NotContains(w.t, before, id, "used in an earlier turn")
		}
	}},
	{name: "permission: allowed", run: func(w *world) {
		s := w.open()
		notes := s.prompt(askOrder)
		require.NotEmpty(w.t, s.requests())
		for _, m := range s.requests() {
			asked := decode[struct {
				ToolCall struct{ ToolCallID string }
				Options  []struct{ Kind string }
			}](w, m.Params)
			assert.Contains(w.t, callsOf(w.t, notes), asked.ToolCall.ToolCallID, "a call that was not announced")
			kinds := []string{}
			for _, o := range asked.Options {
				kinds = append(kinds, o.Kind)
			}
			assert.Equal(w.t, "allow_once", kinds[0], "some clients take the first option")
			assert.Contains(w.t, kinds, "reject_once")
		}
		assert.Contains(w.t, textOf(notes), "Total $9.00")
	}},
	{name: "permission: rejected", run: refused(reject, "end_turn")},
	{name: "permission: dismissed", run: refused(dismiss, "end_turn", "cancelled")},
	{name: "permission: an error is a no", run: refused(refuse, "end_turn")},
}

// refused is a turn in which the client answers permission requests in a way that is no yes.
func refused(how string, stop ...string) func(w *world) {
	return func(w *world) {
		s := w.open()
		s.answering(how)
		n := s.count()
		s.ended(s.begin(askOrder), stop...)
		notes := s.since(n, s.id)
		require.NotEmpty(w.t, s.requests())
		assert.Contains(w.t, slices.Collect(maps.Values(callsOf(w.t, notes))), "failed")
		assert.NotContains(w.t, textOf(notes), "is placed")
		s.answering(allow)
		s.usable()
	}
}

var cancelChecks = []wireCheck{
	{name: "cancel: in mid-stream", pace: slowly, run: func(w *world) {
		s := w.open()
		id := s.speaking(askMenu)
		s.notify("session/cancel", object{"sessionId": s.id})
		s.ended(id, "cancelled")
		assert.NotContains(w.t, textOf(s.since(0, s.id)), "cheddar sandwich", "it went on to the end")
		s.fence()
		s.usable()
	}},
	{name: "cancel: right behind the prompt", pace: slowly, run: func(w *world) {
		s := w.open()
		id := s.begin(askMenu)
		s.notify("session/cancel", object{"sessionId": s.id})
		s.ended(id, "cancelled")
		s.usable()
	}},
	{name: "cancel: while a permission waits that is never answered", run: func(w *world) {
		s := w.open()
		s.answering(silence)
		id := s.begin(askOrder)
		s.until("a question", func() bool { return len(s.asked) > 0 })
		s.notify("session/cancel", object{"sessionId": s.id})
		s.ended(id, "cancelled")
		callsOf(w.t, s.since(0, s.id))
		s.answering(allow)
		s.usable()
	}},
	{name: "cancel: nothing runs", run: func(w *world) {
		s := w.open()
		s.notify("session/cancel", object{"sessionId": s.id})
		s.notify("session/cancel", object{"sessionId": "sess_unheard"})
		s.notify("session/cancel", object{"sessionId": s.id, "reason": "a client says why"})
		s.usable()
		assert.Empty(w.t, s.strays)
	}},
	{name: "cancel: only that session", pace: slowly, run: func(w *world) {
		a := w.open()
		b := a.open(w.cwd)
		first, second := a.speaking(askMenu), b.speaking(askPrice)
		a.notify("session/cancel", object{"sessionId": a.id})
		a.ended(first, "cancelled")
		b.ended(second, "end_turn")
	}},
	{name: "$/cancel_request: of a prompt", pace: slowly, run: func(w *world) {
		s := w.open()
		id := s.speaking(askMenu)
		s.notify("$/cancel_request", object{"requestId": decode[any](w, []byte(id))})
		s.ended(id, "cancelled")
		s.usable()
	}},
	{name: "$/cancel_request: of nothing", run: func(w *world) {
		s := w.open()
		s.notify("$/cancel_request", object{"requestId": 4711})
		s.notify("$/cancel_request", object{"requestId": "unheard-of"})
		s.usable()
		assert.Empty(w.t, s.strays)
	}},
	{name: "a second prompt waits its turn", pace: "5ms", run: func(w *world) {
		s := w.open()
		first := s.speaking(askMenu)
		second := s.begin(askPrice)
		s.ended(second, "end_turn")
		s.ended(first, "end_turn")
		assert.Less(w.t, s.answer(first).at, s.answer(second).at)
		said := textOf(s.since(0, s.id))
		assert.Less(w.t, strings.Index(said, "oat cookie"), strings.LastIndex(said, "$4.00"), "the turns are mixed")
	}},
	{name: "a cancel ends the turn that runs and those that wait", pace: slowly, run: func(w *world) {
		s := w.open()
		ids := []string{s.speaking(askMenu), s.begin(askPrice), s.begin(askMenu)}
		s.notify("session/cancel", object{"sessionId": s.id})
		for _, id := range ids {
			s.ended(id, "cancelled")
		}
		s.usable()
	}},
}
