package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each bad line is answered once, by itself, and the request behind it works.
func TestBadLines(t *testing.T) {
	t.Parallel()
	ask := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"session/new"}` }
	tests := []struct {
		name, line string
		code       int64
		id         string
	}{
		{"not JSON", `{"jsonrpc":"2.0",`, CodeParseError, "null"},
		{"text", `hello`, CodeParseError, "null"},
		{"two messages", ask("1") + ask("2"), CodeParseError, "null"},
		{"trailing comma", `{"jsonrpc":"2.0","id":1,}`, CodeParseError, "null"},
		{"NUL", "\x00", CodeParseError, "null"},
		{"NUL inside", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\x00b\"}", CodeParseError, "null"},
		{"bad UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\xff\"}", CodeParseError, "null"},
		{"only bad UTF-8", "\xc3\x28", CodeParseError, "null"},
		{"too deep", strings.Repeat("[", 1<<15) + strings.Repeat("]", 1<<15), CodeParseError, "null"},
		{"batch", "[" + ask("1") + "," + ask("2") + "]", CodeInvalidRequest, "null"},
		{"empty batch", `[]`, CodeInvalidRequest, "null"},
		{"number", `17`, CodeInvalidRequest, "null"},
		{"string", `"initialize"`, CodeInvalidRequest, "null"},
		{"null", `null`, CodeInvalidRequest, "null"},
		{"true", `true`, CodeInvalidRequest, "null"},
		{"empty object", `{}`, CodeInvalidRequest, "null"},
		{"only a version", `{"jsonrpc":"2.0"}`, CodeInvalidRequest, "null"},
		{"no method", `{"jsonrpc":"2.0","id":5}`, CodeInvalidRequest, "5"},
		{"no version", `{"id":5,"method":"session/new"}`, CodeInvalidRequest, "5"},
		{"other version", `{"jsonrpc":"1.0","id":"x","method":"session/new"}`, CodeInvalidRequest, `"x"`},
		{"version as a number", `{"jsonrpc":2.0,"id":5,"method":"session/new"}`, CodeInvalidRequest, "5"},
		{"response without version", `{"id":5,"result":{}}`, CodeInvalidRequest, "null"},
		{"fractional id", ask("1.5"), CodeInvalidRequest, "null"},
		{"id with a fraction of nothing", ask("1.0"), CodeInvalidRequest, "null"},
		{"id with an exponent", ask("1e3"), CodeInvalidRequest, "null"},
		{"huge id", ask("9223372036854775808"), CodeInvalidRequest, "null"},
		{"huge negative id", ask("-9223372036854775809"), CodeInvalidRequest, "null"},
		{"object id", ask(`{"a":1}`), CodeInvalidRequest, "null"},
		{"array id", ask(`[1]`), CodeInvalidRequest, "null"},
		{"boolean id", ask(`true`), CodeInvalidRequest, "null"},
		{"method that is a number", `{"jsonrpc":"2.0","id":7,"method":1}`, CodeInvalidRequest, "7"},
		{"method that is null", `{"jsonrpc":"2.0","id":7,"method":null}`, CodeInvalidRequest, "7"},
		{"empty method", `{"jsonrpc":"2.0","id":7,"method":""}`, CodeInvalidRequest, "7"},
		{"method that is an object", `{"jsonrpc":"2.0","id":-7,"method":{}}`, CodeInvalidRequest, "-7"},
		{"names in capitals", `{"jsonrpc":"2.0","ID":7,"METHOD":"session/new"}`, CodeInvalidRequest, "null"},
		{"unknown method", `{"jsonrpc":"2.0","id":7,"method":"session/fly"}`, CodeMethodNotFound, "7"},
		{"unknown extension", `{"jsonrpc":"2.0","id":7,"method":"_x/y","params":[1]}`, CodeMethodNotFound, "7"},
		{"notification's method", `{"jsonrpc":"2.0","id":7,"method":"session/cancel","params":{"sessionId":"s"}}`, CodeMethodNotFound, "7"},
		{"unknown protocol request", `{"jsonrpc":"2.0","id":7,"method":"$/what"}`, CodeMethodNotFound, "7"},
		{"params that are a number", `{"jsonrpc":"2.0","id":7,"method":"session/new","params":5}`, CodeInvalidParams, "7"},
		{"params that are a list", `{"jsonrpc":"2.0","id":7,"method":"session/new","params":["/"]}`, CodeInvalidParams, "7"},
		{"no params", `{"jsonrpc":"2.0","id":7,"method":"session/new"}`, CodeInvalidParams, "7"},
		{"bad param", `{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":"x"}}`, CodeInvalidParams, "7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := ready(t, &agentStub{}, Options{})
			refused(t, w.ask(tt.line), tt.id, tt.code)
			w.probe()
		})
	}
	t.Run("all on one connection", func(t *testing.T) {
		t.Parallel()
		w := ready(t, &agentStub{}, Options{})
		for _, tt := range tests {
			w.send(tt.line)
		}
		for _, tt := range tests {
			refused(t, w.next(), tt.id, tt.code)
		}
		w.probe()
	})
}

// What needs no answer gets none.
func TestSilentLines(t *testing.T) {
	t.Parallel()
	w := ready(t, &agentStub{}, Options{})
	w.send(
		"", "   ", "\t\r", "\ufeff", "\r",
		`{"jsonrpc":"2.0","method":"session/fly","params":{}}`,
		`{"jsonrpc":"2.0","method":"_note"}`,
		`{"jsonrpc":"2.0","method":"$/progress","params":{"a":1}}`,
		`{"jsonrpc":"2.0","method":"session/new","params":{"cwd":"/"}}`, // a request's method
		`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":5}}`,
		`{"jsonrpc":"2.0","method":"session/cancel","params":[]}`,
		`{"jsonrpc":"2.0","method":"session/cancel"}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request"}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":{}}}`,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":77}}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`,
		`{"jsonrpc":"2.0","id":"99","result":{}}`,
		`{"jsonrpc":"2.0","id":-1,"result":{}}`,
		`{"jsonrpc":"2.0","id":99,"result":1e999}`,
		`{"jsonrpc":"2.0","id":99,"error":7}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`,
		`{"jsonrpc":"2.0","id":3,"result":{},"error":{"code":1,"message":"both"}}`,
	)
	w.probe()
}

func TestFraming(t *testing.T) {
	t.Parallel()
	const request = `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"}}`
	const answer = `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`
	for name, text := range map[string]string{
		"CRLF":                      request + "\r\n",
		"byte order mark":           "\ufeff" + request + "\n",
		"spaces around":             " \t" + request + "  \n",
		"blank lines before":        "\n\r\n \n" + request + "\n",
		"members in another order":  `{"params":{"cwd":"/"},"method":"session/new","id":1,"jsonrpc":"2.0"}` + "\n",
		"members that mean nothing": `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/"},"meta":{"x":[1e999]},"ID":3,"z":null}` + "\n",
		"escaped method":            `{"jsonrpc":"2.0","id":1,"method":"session\/\u006eew","params":{"cwd":"/"}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ready(t, &agentStub{}, Options{})
			w.raw(text)
			assert.JSONEq(t, answer, w.next())
			w.probe()
		})
	}
	t.Run("byte by byte", func(t *testing.T) {
		t.Parallel()
		w := ready(t, &agentStub{}, Options{})
		for _, b := range []byte(request + "\n") {
			w.raw(string(b))
		}
		assert.JSONEq(t, answer, w.next())
	})
	t.Run("no newline at the end", func(t *testing.T) {
		t.Parallel()
		w := ready(t, &agentStub{}, Options{})
		w.raw(request)
		w.closeInput()
		assert.Equal(t, []string{`{"id":1,"result":{"sessionId":"s"},"jsonrpc":"2.0"}`}, w.rest())
		<-w.over
		require.NoError(t, w.err)
	})
	t.Run("cut at the end", func(t *testing.T) {
		t.Parallel()
		w := ready(t, &agentStub{}, Options{})
		w.raw(request[:30])
		w.closeInput()
		rest := w.rest()
		require.Len(t, rest, 1)
		refused(t, rest[0], "null", CodeParseError)
	})
}

// An id comes back as it was written, with a result and with an error.
func TestIDsComeBack(t *testing.T) {
	t.Parallel()
	for _, id := range []string{
		"0", "1", "-1", "-0", "null", "9007199254740993", "9223372036854775807", "-9223372036854775808",
		`""`, `"x"`, `"1"`, `"null"`, `"\u0000acp:null"`, `"\u0000acp:"`, `"\ud800"`, `"\ufffd"`, `"a\"b\\"`, `"ü/😀"`,
	} {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			w := ready(t, &agentStub{}, Options{})
			good := parse(t, w.ask(`{"jsonrpc":"2.0","id":`+id+`,"method":"session/new","params":{"cwd":"/"}}`))
			assert.Equal(t, id, string(good.ID))
			assert.JSONEq(t, `{"sessionId":"s"}`, string(good.Result))
			refused(t, w.ask(`{"jsonrpc":"2.0","id":`+id+`,"method":"nope"}`), id, CodeMethodNotFound)
			w.probe()
		})
	}
}

// A marked id elsewhere in an answer is left alone.
func TestMarkInContent(t *testing.T) {
	t.Parallel()
	session := SessionID(`x"` + mark + `null"`)
	w := ready(t, &agentStub{newSession: func(context.Context, *NewSessionRequest) (*NewSessionResponse, error) {
		return &NewSessionResponse{SessionID: session}, nil
	}}, Options{})
	for _, id := range []string{"1", "null", `"\u0000acp:x"`} {
		got := parse(t, w.ask(`{"jsonrpc":"2.0","id":`+id+`,"method":"session/new","params":{"cwd":"/"}}`))
		assert.Equal(t, id, string(got.ID))
		var result NewSessionResponse
		require.NoError(t, json.Unmarshal(got.Result, &result))
		assert.Equal(t, session, result.SessionID)
	}
}

func TestLongLines(t *testing.T) {
	t.Parallel()
	t.Run("20 MiB", func(t *testing.T) {
		t.Parallel()
		got := make(chan int, 1)
		w := ready(t, &agentStub{prompt: func(r *PromptRequest) (func(context.Context) (*PromptResponse, error), error) {
			text, _ := r.Prompt[0].(TextContent)
			got <- len(text.Text)
			return turnOf(func(context.Context) (StopReason, error) { return StopEndTurn, nil })(r)
		}}, Options{})
		const size = 20 << 20
		answer := w.ask(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"` +
			strings.Repeat("x", size) + `"}]}}`)
		assert.Equal(t, size, <-got)
		assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"stopReason":"end_turn"}}`, answer)
		w.probe()
	})
	t.Run("over the limit", func(t *testing.T) {
		t.Parallel()
		const limit = 200
		w := ready(t, &agentStub{}, Options{MaxLine: limit})
		line := func(length int) string {
			const frame = `{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/%s"}}`
			return fmt.Sprintf(frame, strings.Repeat("x", length-len(frame)+len("%s")))
		}
		assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"sessionId":"s"}}`, w.ask(line(limit)))
		for _, length := range []int{limit + 1, limit + 2, 64 << 10, 1 << 20} {
			message := refused(t, w.ask(line(length)), "null", CodeInvalidRequest)
			assert.Contains(t, message, "200 bytes", "%d", length)
			w.probe()
		}
	})
	t.Run("over the limit at the end", func(t *testing.T) {
		t.Parallel()
		w := ready(t, &agentStub{}, Options{MaxLine: 200})
		w.raw(strings.Repeat("x", 1<<17))
		w.closeInput()
		rest := w.rest()
		require.Len(t, rest, 1)
		refused(t, rest[0], "null", CodeInvalidRequest)
	})
}
