package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cartagent/cartagent/loop"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	t.Parallel()
	n := NewNames("/home/me/a&b")
	n.Folder("/home/me/a&b/deep", "/deep")
	in := `{"cwd":"/home/me/a\u0026b","x":"/home/me/a&b/deep/f sess_zz ord_QQ ord_RR ord_QQ 127.0.0.1:4711","y":"/home/me/a&b2 /mnt/home/me/a&b"}`
	paper := `{"cwd":"/workspace","x":"/deep/f sess_0000000000000001 ord_1 ord_2 ord_1 127.0.0.1:1","y":"/home/me/a&b2 /mnt/home/me/a&b"}`
	assert.JSONEq(t, paper, string(n.Count([]byte(in))))
	assert.JSONEq(t, in, string(n.Real([]byte(paper))))
	assert.Equal(t, "The workspace is /workspace.", n.CountText("The workspace is /home/me/a&b."))
	plain := NewPlainNames("/tmp/w")
	assert.Equal(t, "/workspace/x ord_7", plain.CountText("/tmp/w/x ord_7"), "all other names are those of the record")
}

func TestDifference(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a ", 100)
	for _, c := range []struct{ recorded, now, want string }{
		{`{"a":1,"b":[1,2]}`, `{"b":[1,2],"a":1}`, ""},
		{`{"a/b":{"~":1}}`, `{"a/b":{"~":2}}`, "/a~1b/~0: recorded 1, now 2"},
		{`[1,2]`, `[1]`, "/1: recorded 2, now missing"},
		{`[1]`, `[1,{"x":"<y>"}]`, `/1: not recorded, now {"x":"<y>"}`},
		{`[1]`, `{}`, `the whole message: recorded [1], now {}`},
		{`{"a":1}`, `{}`, "/a: recorded 1, now missing"},
		{`{}`, `{"a":1}`, "/a: not recorded, now 1"},
		{`1.0`, `1`, "the whole message: recorded 1.0, now 1"},
		{`{"a":"` + long + `x"}`, `{"a":"` + long + `y"}`, `/a: recorded "…` + long[160:] + `x", now "…` + long[160:] + `y"`},
	} {
		assert.Equal(t, c.want, Difference(json.RawMessage(c.recorded), json.RawMessage(c.now)))
	}
	assert.Contains(t, Difference(json.RawMessage(`{`), json.RawMessage(`{}`)), "recorded {, now {}")
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	var s Secrets
	s.Add("hunter22", "hunter2233", "short", "")
	assert.Equal(t, "[secre]"[:6]+"--]"[1:], mark(8)[:6]+"-]", "a mark is as long as its secret")
	assert.Equal(t, "a [secret] b [secret--] short", s.text("a hunter22 b hunter2233 short"))
	assert.Equal(t, "cut [secre… here", s.text("cut hunter… here"))
	assert.Equal(t, "Authorization: Bearer "+mark(12)+"\n", s.text("Authorization: Bearer abc.def-ghi=\n"))
	assert.Equal(t, mark(24)+" "+mark(40), s.text("sk-ABCDEFGHIJKLMNOPQRSTU ghp_"+strings.Repeat("a", 36)))
	assert.Equal(t, []string{"my [sec", "re", "t] is it"}, s.pieces([]string{"my hunt", "er", "22 is it"}))
	for _, kept := range []string{"task-force-of-the-whole-company", "a bearer of news", "the hunter", "risk-averse-and-more-words-x"} {
		assert.Equal(t, kept, s.text(kept))
	}
}

// lines of texts that are no lines of text, or no text, come back as they were.
func TestFilesOfAnyKind(t *testing.T) {
	t.Parallel()
	s := &Scenario{
		Header:   "About this.\n",
		Manifest: Manifest{Format: Format, Version: "1", Model: "m"}, Config: map[string]string{"skills/a/SKILL.md": "x\n"},
		Before: map[string]string{
			"plain.txt": "a\nb\n", "empty": "", "no newline": "a", "marker": "a\n-- b --\nc\n", "dos": "a\r\nb\r\n",
			"binary": "\xff\x00\n", "deep/er/file": "x\n",
		},
		After: map[string]string{},
	}
	data, err := s.Format()
	require.NoError(t, err)
	again, err := Parse(data)
	require.NoError(t, err)
	assert.Equal(t, s, again)
	dir := t.TempDir()
	require.NoError(t, WriteFiles(dir, s.Before))
	read, err := ReadFiles(dir)
	require.NoError(t, err)
	assert.Equal(t, s.Before, read)
	s.Before["../out"] = ""
	_, err = s.Format()
	assert.ErrorContains(t, err, "a scenario cannot hold")
}

// What was seen of a folder, and when, is what a replay is told: once, in the beginning or before the call that saw it.
func TestFilesAreRecordedAsTheyAreSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, data string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	write("a", "1")
	write("b", "1")
	f := newFiles(dir)
	look := func(names ...string) Disk {
		d, why := f.look(names)
		require.Empty(t, why)
		return d
	}
	assert.Empty(t, look("a"), "what is seen first was there in the beginning")
	write("a", "2")
	assert.Equal(t, "2", string(*look("a")["a"]), "what is different since is told")
	assert.Empty(t, look("a"))
	assert.Empty(t, look("./"), "the folder as a whole")
	write("late", "x")
	assert.Equal(t, "x", string(*look("late")["late"]), "it was not there when the folder was seen")
	require.NoError(t, os.Remove(filepath.Join(dir, "b")))
	gone := look("./")
	require.Contains(t, gone, "b")
	assert.Nil(t, gone["b"])
	write("made", "by a command")
	left := f.left()
	assert.Equal(t, "by a command", string(*left["made"]))
	assert.Equal(t, map[string]string{"a": "1", "b": "1"}, f.before())
	assert.Equal(t, map[string]string{"a": "2", "late": "x", "made": "by a command"}, f.after())
	for name, why := range map[string]string{
		"../x": "outside of the recorded folder", ".env": "usually holds secrets", "sub/": "empty folders",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "sub", "empty"), 0o700))
		write(".env", "KEY=1")
		_, got := f.look([]string{name})
		assert.Contains(t, got, why, name)
	}
	require.NoError(t, f.close())
}

// Who posts an input waits for its place, until another comes than the recorded one.
func TestTheSpineKeepsTheOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inputs := []loop.Input{
			loop.Prompted{}, loop.Finished{Result: loop.Result{CallID: "b"}}, loop.Finished{Result: loop.Result{CallID: "a"}}, loop.Cancelled{},
		}
		s := newSpine(inputs)
		var mu sync.Mutex
		var order []string
		post := func(call string) {
			assert.True(t, s.wait(t.Context(), s.place(0, call, []string{"Finished"})))
			mu.Lock()
			order = append(order, call)
			mu.Unlock()
			s.came(loop.Finished{Result: loop.Result{CallID: call}})
		}
		go post("a")
		synctest.Wait()
		go post("b")
		synctest.Wait()
		assert.Empty(t, order)
		s.came(inputs[0])
		synctest.Wait()
		assert.Equal(t, []string{"b", "a"}, order)
		ctx, cancel := context.WithCancel(t.Context())
		got := make(chan bool, 1)
		go func() { got <- s.wait(ctx, -1) }()
		synctest.Wait()
		cancel()
		assert.False(t, <-got, "what has no place waits for the end")
		assert.Equal(t, -1, s.place(0, "c", []string{"Finished"}))
		assert.Equal(t, -1, s.place(0, "", []string{"Replied"}, "Cancelled"))
		assert.False(t, s.came(loop.Replied{}))
		assert.True(t, s.wait(t.Context(), 99), "there is no order left to keep")
	})
}

type saying struct {
	chunks []loop.Chunk
	err    error
}

func (m saying) Stream(context.Context, loop.Request) iter.Seq2[loop.Chunk, error] {
	return func(yield func(loop.Chunk, error) bool) {
		for _, c := range m.chunks {
			if !yield(c, nil) {
				return
			}
		}
		if m.err != nil {
			yield(loop.Chunk{}, m.err)
		}
	}
}

// A model's stream is recorded chunk by chunk, as far as somebody listened.
func TestModelsAreRecorded(t *testing.T) {
	t.Parallel()
	r := NewRecorder(NewNames("/w"), "", Manifest{})
	reply := &loop.Reply{Message: loop.Message{Role: loop.RoleAssistant, Content: loop.Blocks{loop.Text{Text: "in /w/f"}}}, Stop: loop.StopEndTurn}
	chunks := []loop.Chunk{{Kind: loop.ChunkThought, Text: "hm"}, {Kind: loop.ChunkText, Text: "in /w/f"}, {Kind: loop.ChunkReply, Reply: reply}}
	req := loop.Request{System: "s <&>", Messages: []loop.Message{{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: "at /w"}}}}}
	for c, err := range r.Model(saying{chunks: chunks}).Stream(t.Context(), req) {
		require.NoError(t, err)
		_ = c
	}
	for _, err := range r.Model(saying{chunks: chunks}).Stream(t.Context(), req) {
		require.NoError(t, err)
		break
	}
	for _, err := range r.Model(saying{err: errors.New("odd")}).Stream(t.Context(), req) {
		require.Error(t, err)
	}
	there := &loop.Failure{Kind: loop.FailRequest, Message: "127.0.0.1:4711 does not know /w/f"}
	for _, err := range r.Model(saying{err: there}).Stream(t.Context(), req) {
		require.ErrorIs(t, err, there)
	}
	r.NoModel(there)
	s := r.Scenario()
	require.Len(t, s.Model, 5)
	assert.JSONEq(t, `{"system":"s <&>","messages":[{"role":"user","content":[{"type":"text","text":"at /workspace"}]}]}`, string(s.Model[0].Request))
	assert.Equal(t, "in /workspace/f", *s.Model[0].Chunks[1].Text)
	assert.Equal(t, loop.Blocks{loop.Text{Text: "in /workspace/f"}}, s.Model[0].Reply.Message.Content)
	assert.Empty(t, s.Model[1].Chunks)
	assert.Nil(t, s.Model[1].Reply)
	assert.Equal(t, &loop.Failure{Kind: loop.FailInternal, Message: "odd"}, s.Model[2].Failure)
	for _, x := range s.Model[3:] {
		assert.Equal(t, &loop.Failure{Kind: loop.FailRequest, Message: "127.0.0.1:1 does not know /workspace/f"}, x.Failure)
	}
	data, err := s.Format()
	require.NoError(t, err)
	assert.Contains(t, string(data), `{"request":{"keep":1},"failure"`, "what is as before is written once")
	again, err := Parse(data)
	require.NoError(t, err)
	assert.Equal(t, s.Model, again.Model)
}

// script is an agent that says lines, whatever it is told: so many for each line that comes.
type script struct {
	io.Reader
	out   *io.PipeWriter
	lines [][]string
}

func (s *script) Write(line []byte) (int, error) {
	say := s.lines[0]
	s.lines = s.lines[1:]
	go func() {
		for _, l := range say {
			_, _ = io.WriteString(s.out, l+"\n")
		}
	}()
	return len(line), nil
}

// Another agent's ids, and where it cuts its text, are its own; a word is not.
func TestForeignAgents(t *testing.T) {
	t.Parallel()
	update := func(session, call, rest string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"` + session + `","update":{` + call + rest + `}}}`
	}
	text := func(session, message, text string) string {
		return update(session, "", `"sessionUpdate":"agent_message_chunk","messageId":"`+message+`","content":{"type":"text","text":"`+text+`"}`)
	}
	tool := func(session, id string) string {
		return update(session, `"toolCallId":"`+id+`",`, `"sessionUpdate":"tool_call","title":"t","_meta":{"x":1}`)
	}
	const mine, other = "sess_0000000000000001", "0f3c-other"
	out := func(line string) Message { return Message{Out: json.RawMessage(line)} }
	in := func(line string) Message { return Message{In: json.RawMessage(line)} }
	s := &Scenario{Wire: []Message{
		in(`{"id":1,"method":"session/new"}`), out(`{"id":1,"result":{"sessionId":"` + mine + `"}}`),
		in(`{"id":2,"method":"session/prompt","params":{"sessionId":"` + mine + `"}}`),
		out(text(mine, "m1", "ab")), out(text(mine, "m1", "cd")), out(tool(mine, "call_1_1")), out(tool(mine, "call_1_2")), out(tool(mine, "call_1_1")),
		out(`{"id":2,"result":{"stopReason":"end_turn"}}`),
	}}
	patience := time.Minute
	play := func(answer ...string) []string {
		r, w := io.Pipe()
		agent := &script{Reader: r, out: w, lines: [][]string{{`{"id":1,"result":{"sessionId":"` + other + `"}}`}, answer}}
		return Drive{Names: NewNames(""), Foreign: true, Patience: patience}.Play(s, agent, func() { _ = w.Close() })
	}
	end := `{"id":2,"result":{"stopReason":"end_turn"}}`
	calls := []string{tool(other, "x"), tool(other, "y"), tool(other, "x")}
	assert.Empty(t, play(append(append([]string{text(other, "q", "a"), text(other, "q", "bcd")}, calls...), end)...))
	assert.Equal(t, []string{`wire line 4 /params/update/content/text: recorded "abcd", now "abce"`},
		play(append(append([]string{text(other, "q", "a"), text(other, "q", "bce")}, calls...), end)...))
	assert.Equal(t, []string{`wire line 8 /params/update/toolCallId: recorded "call 1", now "call 3"`},
		play(text(other, "q", "abcd"), calls[0], calls[1], tool(other, "z"), end))
	assert.Len(t, play(text(other, "q", "abcd"), calls[0], end), 1)
	patience = 100 * time.Millisecond
	assert.Len(t, play(), 1, "nothing comes")
}

func TestChunksAreJoined(t *testing.T) {
	t.Parallel()
	chunk := func(kind, text string) Message {
		return Message{Out: json.RawMessage(`{"method":"session/update","params":{"update":{"sessionUpdate":"` + kind + `","content":{"type":"text","text":"` + text + `"}}}}`)}
	}
	in := Message{In: json.RawMessage(`{}`)}
	got, lines := joined([]Message{
		chunk("agent_message_chunk", "a"), chunk("agent_message_chunk", "b"), chunk("agent_thought_chunk", "c"), in, chunk("agent_thought_chunk", "d"),
	})
	require.Len(t, got, 4)
	assert.Equal(t, []int{1, 3, 4, 5}, lines)
	for i, want := range []string{"ab", "c", "", "d"} {
		_, text := piece(got[i].Out)
		assert.Equal(t, want, text)
	}
}

// In JSON a name may come right behind an escape, whose last letter is no part of it.
func TestNamesBehindEscapes(t *testing.T) {
	t.Parallel()
	n := NewNames("/tmp/w")
	n.Folder("/tmp/more", Workspace+"-2")
	for real, paper := range map[string]string{
		`{"a":"x\n/tmp/w/b\t/tmp/more\u003c/tmp/w\\n/tmp/w"}`: `{"a":"x\n/workspace/b\t/workspace-2\u003c/workspace\\n/workspace"}`,
		`{"a":"in\nord_A1 in\tsess_b2\r127.0.0.1:4711"}`:      `{"a":"in\nord_1 in\tsess_0000000000000001\r127.0.0.1:1"}`,
		`{"a":"n/tmp/w /x/tmp/w word_A1 n127.0.0.1:4711"}`:    `{"a":"n/tmp/w /x/tmp/w word_A1 n127.0.0.1:4711"}`,
	} {
		assert.Equal(t, paper, string(n.Count([]byte(real))))
		assert.Equal(t, real, string(n.Real([]byte(paper))))
	}
}

// So may a secret that nobody has named.
func TestSecretsBehindEscapes(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"sk-0123456789abcdefghij", "ghp_0123456789abcdefghijklmn", "xoxb-0123456789ab", "AKIA0123456789ABCDEF",
		"AIza0123456789012345678901234567890123456", "bearer abcdefghijkl", "Bearer\\tabcdefghijkl",
	} {
		for _, before := range []string{`key\n`, `\t`, `a\u003c`, `\"`, ` `, `=`} {
			s := &Scenario{Manifest: Manifest{Format: Format}, Wire: []Message{{In: []byte(`{"a":"` + before + secret + `"}`)}}}
			out, err := Secrets{}.Format(s)
			require.NoError(t, err)
			assert.NotContains(t, string(out), secret[len(secret)-8:], "%s%s", before, secret)
			assert.Contains(t, string(out), `{"a":"`+before, "what is before it stays")
		}
	}
}

// Files of additional folders have parts of their own, and come back by their names.
func TestFilesOfAdditionalFolders(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.txt": "a\n", "/workspace-2/a.txt": "b\n", "/workspace-2/sub/c": "no newline", "/workspace-10/a.txt": "d\n"}
	s := &Scenario{Manifest: Manifest{Format: Format}, Before: files, After: files}
	data, err := s.Format()
	require.NoError(t, err)
	assert.Contains(t, string(data), "-- before-2/a.txt --")
	assert.Contains(t, string(data), "-- after-2.json/sub/c --")
	again, err := Parse(data)
	require.NoError(t, err)
	assert.Equal(t, files, again.Before)
	assert.Equal(t, files, again.After)
	where := Folders{Workspace: t.TempDir(), Workspace + "-2": t.TempDir(), Workspace + "-10": t.TempDir()}
	require.NoError(t, where.Write(files))
	read, err := where.Read()
	require.NoError(t, err)
	assert.Equal(t, files, read)
	require.ErrorContains(t, where.Write(map[string]string{"/workspace-3/a": ""}), "no folder /workspace-3")
	for _, bad := range []string{"before-2/../x", "before-2//x", "before-0/x", "before-x/a", "config-2/a", "after-2/"} {
		_, err := Parse([]byte("-- manifest.json --\n{\"cartagent\":1,\"version\":\"\",\"model\":\"\"}\n-- " + bad + " --\n"))
		require.Error(t, err, bad)
	}
}
