package transcript

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// editing is a tool that writes a file through the client.
type editing struct {
	loop.Tool
	run func() error
}

func (e editing) Run(context.Context, loop.Job, func(loop.Block)) (loop.Result, error) {
	return loop.Result{}, e.run()
}

// A file that the client has written is what it has become by the client, since a replay's client writes nothing. What our own tool
// writes a replay writes again.
func TestTheClientWrites(t *testing.T) {
	t.Parallel()
	const written, ask = "new\n", `{"id":7,"method":"fs/write_text_file","params":{"path":"/w/a.txt"}}`
	for name, c := range map[string]struct {
		ask, answer string
		left        bool
	}{
		"the client": {ask, `{"id":7,"result":{}}`, true},
		"a refusal":  {ask, `{"id":7,"error":{"code":-32603,"message":"no"}}`, false},
		"our own":    {`{"id":7,"method":"fs/read_text_file","params":{"path":"/w/a.txt"}}`, `{"id":7,"result":{"content":""}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "a.txt")
			require.NoError(t, os.WriteFile(file, []byte("old\n"), 0o600))
			r := NewRecorder(NewNames(dir), dir, Manifest{})
			source := Source{Reads: func(json.RawMessage) ([]string, bool) { return []string{"a.txt"}, true }}
			tool := r.Tool(editing{run: func() error {
				r.Out([]byte(c.ask))
				r.In([]byte(c.answer))
				return os.WriteFile(file, []byte(written), 0o600)
			}}, source)
			_, err := tool.Run(t.Context(), loop.Job{Call: loop.Call{ID: "c", Tool: "write", Args: json.RawMessage(`{}`)}}, nil)
			require.NoError(t, err)
			s := r.Scenario()
			require.NoError(t, r.Close())
			var want Disk
			if c.left {
				content := Content(written)
				want = Disk{"a.txt": &content}
			}
			assert.Equal(t, want, s.Calls[0].Runs[0].Left)
			assert.Equal(t, map[string]string{"a.txt": written}, s.After)
		})
	}
}

// reading is an agent that asks for two files at once, in that order, and says how each was answered.
type reading struct {
	io.Reader
	out   *io.PipeWriter
	order []string
	heard map[string]string
}

func (r *reading) Write(line []byte) (int, error) {
	var m struct {
		ID     int
		Method string
		Result struct{ Content string }
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return 0, err
	}
	say := []string{}
	if m.Method == "session/prompt" {
		for i, path := range r.order {
			say = append(say, `{"id":`+string(rune('0'+i))+`,"method":"fs/read_text_file","params":{"path":"`+path+`"}}`)
		}
	} else if r.heard[r.order[m.ID]] = m.Result.Content; len(r.heard) == 2 {
		say = append(say, `{"id":9,"result":{"stopReason":"end_turn"}}`)
	}
	go func() {
		for _, l := range say {
			_, _ = io.WriteString(r.out, l+"\n")
		}
	}()
	return len(line), nil
}

// Whoever asks first when a session is played on: each question gets its own answer.
func TestAnswersFindTheirQuestions(t *testing.T) {
	t.Parallel()
	out := func(line string) Message { return Message{Out: json.RawMessage(line)} }
	in := func(line string) Message { return Message{In: json.RawMessage(line)} }
	s := &Scenario{Wire: []Message{
		in(`{"id":9,"method":"session/prompt","params":{"sessionId":"s"}}`),
		out(`{"id":3,"method":"fs/read_text_file","params":{"path":"a"}}`), out(`{"id":4,"method":"fs/read_text_file","params":{"path":"b"}}`),
		in(`{"id":4,"result":{"content":"of b"}}`), in(`{"id":3,"result":{"content":"of a"}}`),
		out(`{"id":9,"result":{"stopReason":"end_turn"}}`),
	}}
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		r, w := io.Pipe()
		agent := &reading{Reader: r, out: w, order: order, heard: map[string]string{}}
		Drive{Names: NewNames(""), On: true, Patience: time.Minute}.Play(s, agent, func() { _ = w.Close() })
		assert.Equal(t, map[string]string{"a": "of a", "b": "of b"}, agent.heard, "asked in the order %v", order)
	}
}

// What an update rewrites has the ids of before throughout: each question those of its answer.
func TestUpdatedQuestionsKeepTheirIDs(t *testing.T) {
	t.Parallel()
	out := func(line string) Message { return Message{Out: json.RawMessage(line)} }
	in := func(line string) Message { return Message{In: json.RawMessage(line)} }
	ask := func(id, call string) string {
		return `{"id":` + id + `,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"` + call + `"}}}`
	}
	read := func(id string) string {
		return `{"id":` + id + `,"method":"fs/read_text_file","params":{"path":"new"}}`
	}
	before := []Message{
		in(`{"id":1,"method":"session/prompt"}`), out(ask("16", "a")), in(`{"result":"no","id":16}`),
		out(ask("17", "b")), in(`{"result":"yes","id":17}`), out(`{"id":1,"result":{}}`),
	}
	now := []Message{
		in(`{"id":1,"method":"session/prompt"}`), out(ask("5", "b")), in(`{"id":5,"result":"yes"}`), out(read("6")), out(`{"id":1,"result":{}}`),
	}
	got, err := encode(rewired(before, now))
	require.NoError(t, err)
	want, err := encode([]Message{now[0], out(ask("17", "b")), before[4], out(read("6")), now[4]})
	require.NoError(t, err)
	assert.True(t, bytes.Equal(want, got), "%s", got)
}
