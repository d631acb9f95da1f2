package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// FuzzStream sends anything. The connection has to live through it, answer no line more than once, and write nothing
// but messages.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "\r\n \n", "{}", "[]", "[{}]", "null", "17", `"x"`, "\x00", "\xff\xfe", "\ufeff{}", "{", `{"a":`, `{"jsonrpc":"2.0"`,
		askInitialize, askSession, askInitialize + "\n" + askSession + "\n" + askPrompt + "\n",
		askInitialize + "\n" + askPrompt + "\n" + askPrompt + "\n" + `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}`,
		`{"jsonrpc":"2.0","id":null,"method":"session/new","params":{"cwd":"/"}}`,
		`{"jsonrpc":"2.0","id":-1,"method":"session/new","params":{"cwd":"/"}}`,
		`{"jsonrpc":"2.0","id":"\u0000acp:x","method":"session/new","params":{"cwd":"/"}}`,
		`{"jsonrpc":"2.0","id":"\ud800","method":"\udfff"}`,
		`{"jsonrpc":"2.0","id":1.5,"method":"session/new"}` + "\n" + `{"jsonrpc":"2.0","id":{},"method":"x"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":1,"error":7}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":1,"method":"_x","method":1}`,
		strings.Repeat("x", 5000), strings.Repeat("[", 3000), strings.Repeat(`{"a":`, 500),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w := connectAs(t, func(*ClientConn) Agent { return &fullAgent{} }, Options{MaxLine: 4096})
		w.raw(string(data) + "\n")
		w.send(
			`{"jsonrpc":"2.0","id":"probe/1","method":"initialize","params":{"protocolVersion":1}}`,
			`{"jsonrpc":"2.0","id":"probe/2","method":"session/new","params":{"cwd":"/"}}`,
		)
		w.closeInput()
		var probes []string
		rest := w.rest() // each a message on a line of its own
		for _, line := range rest {
			if strings.Contains(line, `"id":"probe/`) {
				probes = append(probes, line)
			}
		}
		assert.Contains(t, probes, `{"id":"probe/1","result":{"protocolVersion":1},"jsonrpc":"2.0"}`)
		assert.Contains(t, probes, `{"id":"probe/2","result":{"sessionId":"s"},"jsonrpc":"2.0"}`)
		assert.LessOrEqual(t, len(rest), bytes.Count(data, []byte("\n"))+3)
		<-w.over
		require.NoError(t, w.err)
	})
}

// FuzzID sends any id. It comes back as it was, or is refused.
func FuzzID(f *testing.F) {
	for _, id := range []string{"0", "-1", "1.5", "null", `""`, `"\u0000acp:-1"`, `"\ud83d"`, `"😀"`, "1e2", "{}", "[1]", "true", "99999999999999999999"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		line := `{"jsonrpc":"2.0","id":` + id + `,"method":"nope"}`
		if e, err := open([]byte(line)); err != nil || string(e.id) != id || string(e.method) != `"nope"` || strings.ContainsAny(id, "\r\n") {
			return // it is not only an id
		}
		w := connect(t, &agentStub{}, Options{})
		answer := parse(t, w.ask(line))
		require.NotNil(t, answer.Error)
		switch {
		case answer.Error.Code != CodeMethodNotFound:
			assert.Equal(t, "null", string(answer.ID))
		case id[0] == '"':
			want, err := unquote([]byte(id))
			require.NoError(t, err)
			got, err := unquote(answer.ID)
			require.NoError(t, err)
			assert.Equal(t, want, got)
		default:
			assert.Equal(t, id, string(answer.ID))
		}
	})
}

// FuzzCallAnswer answers a call with anything. The call has to end when the connection does, at the latest.
func FuzzCallAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`, `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":1,"result":null}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":{}}}`, `{"id":1,"error":null}`, `{"id":1,"result":1e999}`,
		`{"jsonrpc":"2.0","id":1,"method":"session/update","params":{}}`, `{"jsonrpc":"2.0","id":2,"result":{}}`, "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		agentEnd, clientEnd := Pipe()
		conn := Dial(context.WithoutCancel(t.Context()), clientEnd, &clientStub{}, Options{MaxLine: 4096})
		w := newWire(t, agentEnd)
		failed := make(chan struct{})
		go func() {
			defer close(failed)
			r, err := conn.NewSession(context.WithoutCancel(t.Context()), &NewSessionRequest{Cwd: "/"})
			assert.Equal(t, err == nil, r != nil)
		}()
		w.next()
		w.raw(string(data))
		w.closeInput()
		<-failed
		w.rest()
		require.NoError(t, conn.Close())
		w.close()
	})
}

// FuzzChunk holds the short way of encoding a chunk of text against the general one, byte for byte.
func FuzzChunk(f *testing.F) {
	f.Add("s", "m", "hello", uint8(0))
	f.Add("", "", "<&>\"\\\n\r\t\x00\x7f\u2028\u2029ü😀", uint8(1))
	f.Add("\xff", "\xc3", "a\xffb\xed\xa0\x80", uint8(2))
	f.Fuzz(func(t *testing.T, session, message, text string, kind uint8) {
		var id *MessageID
		if kind&4 != 0 {
			id = (*MessageID)(&message)
		}
		content := TextContent{Text: text}
		n := SessionNotification{SessionID: SessionID(session)}
		switch kind % 4 {
		case 0:
			n.Update = AgentMessageChunk{MessageID: id, Content: content}
		case 1:
			n.Update = AgentThoughtChunk{MessageID: id, Content: content}
		default:
			n.Update = UserMessageChunk{MessageID: id, Content: content}
		}
		short, err := n.appendTo(nil)
		require.NoError(t, err)
		long, err := appendValue(nil, reflect.ValueOf(n))
		require.NoError(t, err)
		assert.Equal(t, string(long), string(short))
		assert.True(t, json.Valid(short))
		assert.NotContains(t, string(short), "\n")
	})
}
