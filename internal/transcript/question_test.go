package transcript

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A question has its place before its answer, not one among the updates of the calls that go on beside it.
func TestQuestionsComeBesideUpdates(t *testing.T) {
	t.Parallel()
	update := func(call, status string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"` +
			call + `","status":"` + status + `"}}}`
	}
	ask := func(id, call, title string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"` +
			call + `","title":"` + title + `"}}}`
	}
	form := func(id, call string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"elicitation/create","params":{"toolCallId":"` + call + `","message":"size?"}}`
	}
	end := `{"id":2,"result":{"stopReason":"end_turn"}}`
	out := func(line string) Message { return Message{Out: json.RawMessage(line)} }
	in := func(line string) Message { return Message{In: json.RawMessage(line)} }
	s := &Scenario{Wire: []Message{
		in(`{"id":2,"method":"session/prompt","params":{"sessionId":"s"}}`),
		out(update("a", "pending")), out(ask("1", "b", "t")), out(update("c", "completed")),
		in(`{"id":1,"result":{}}`),
		out(form("2", "c")), out(form("3", "d")), out(update("b", "completed")),
		in(`{"id":2,"result":{}}`), in(`{"id":3,"result":{}}`), out(end),
	}}
	patience := time.Minute
	play := func(said ...[]string) []string {
		r, w := io.Pipe()
		agent := &script{Reader: r, out: w, lines: append(said, nil, nil, nil, nil)}
		return Drive{Names: NewNames(""), Patience: patience}.Play(s, agent, func() { _ = w.Close() })
	}
	first, second := []string{update("a", "pending"), ask("1", "b", "t"), update("c", "completed")}, []string{form("2", "c"), form("3", "d"), update("b", "completed")}
	assert.Empty(t, play(first, second, nil, []string{end}))
	assert.Empty(t, play([]string{first[0], first[2], first[1]}, []string{second[2], second[1], second[0]}, nil, []string{end}))
	assert.Empty(t, play([]string{ask("7", "b", "t"), first[0], first[2]}, second, nil, []string{end}), "its id is the agent's own")
	assert.Equal(t, []string{`wire line 3 /params/toolCall/title: recorded "t", now "u"`},
		play([]string{first[0], first[2], ask("1", "b", "u")}, second, nil, []string{end}))
	assert.Equal(t, []string{`wire line 4 /params/update/status: recorded "completed", now "failed"`},
		play([]string{first[0], first[1], update("c", "failed")}, second, nil, []string{end}))
	extra := play(first, append(second, ask("9", "e", "t")), nil, []string{end})
	assert.Len(t, extra, 1)
	assert.True(t, strings.HasPrefix(extra[0], "wire: nothing more is recorded, now there is "), extra[0])
	patience = 100 * time.Millisecond
	assert.Equal(t, []string{`wire line 3 /method: recorded "session/request_permission", now "session/update"`}, play([]string{first[0], first[2]}))
	assert.Equal(t, []string{`wire line 3 /params/toolCall/toolCallId: recorded "b", now "e"`}, play([]string{first[0], ask("1", "e", "t")}))
}
