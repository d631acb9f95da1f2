package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/sourcegraph/jsonrpc2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestErrorsOnTheWire(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"a sentinel", ErrNotFound, `{"code":-32002,"message":"Resource not found"}`},
		{"a wrapped sentinel", fmt.Errorf("session x: %w", ErrNotFound), `{"code":-32002,"message":"session x: Resource not found"}`},
		{"wrapped twice", fmt.Errorf("a: %w", fmt.Errorf("b: %w", ErrAuth)), `{"code":-32000,"message":"a: b: Authentication required"}`},
		{"busy", fmt.Errorf("session x: %w", ErrBusy), `{"code":-32600,"message":"session x: The session is busy","data":{"kind":"busy"}}`},
		{"bad params", InvalidParams("cwd is %q", "x"), `{"code":-32602,"message":"cwd is \"x\""}`},
		{"bad request", InvalidRequest("no"), `{"code":-32600,"message":"no"}`},
		{"joined", errors.Join(errors.New("first"), ErrMethodNotFound), `{"code":-32601,"message":"first\nMethod not found"}`},
		{"with data", &Error{Code: 7, Message: "m", Data: json.RawMessage(`[1]`)}, `{"code":7,"message":"m","data":[1]}`},
		{"with data that is not JSON", &Error{Code: 7, Message: "m", Data: json.RawMessage(`{`)}, `{"code":7,"message":"m"}`},
		{"a failure", &Failure{Kind: "overloaded", Message: "try later"}, `{"code":-32603,"message":"try later","data":{"kind":"overloaded","details":"try later"}}`},
		{
			"a wrapped failure", fmt.Errorf("asking https://key@host: %w", &Failure{Kind: "k", Message: "m"}),
			`{"code":-32603,"message":"m","data":{"kind":"k","details":"m"}}`,
		},
		{"cancelled", fmt.Errorf("reading /secret: %w", context.Canceled), `{"code":-32800,"message":"Request cancelled"}`},
		{"closed", ErrClosed, `{"code":-32800,"message":"Request cancelled"}`},
		{"too late", context.DeadlineExceeded, `{"code":-32603,"message":"The request took too long","data":{"kind":"timeout"}}`},
		{"anything else", errors.New("the key is s3cret"), `{"code":-32603,"message":"Internal error","data":{"kind":"internal"}}`},
		{"a path", &os.PathError{Op: "open", Path: "/home/me", Err: os.ErrNotExist}, `{"code":-32603,"message":"Internal error","data":{"kind":"internal"}}`},
		{"jsonrpc2's own", &jsonrpc2.Error{Code: 0, Message: "the key is s3cret"}, `{"code":-32603,"message":"Internal error","data":{"kind":"internal"}}`},
		{"not offered", ErrNotOffered, `{"code":-32603,"message":"Internal error","data":{"kind":"internal"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			where := []string{"accept", "work"}
			w := ready(t, &agentStub{prompt: func(r *PromptRequest) (func(context.Context) (*PromptResponse, error), error) {
				if r.SessionID == "accept" {
					return nil, tt.err
				}
				return turnOf(func(context.Context) (StopReason, error) { return "", tt.err })(r)
			}}, Options{})
			for _, session := range where {
				answer := w.ask(`{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":"` + session + `","prompt":[]}}`)
				assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"error":`+tt.want+`}`, answer)
			}
			w.probe()
		})
	}
}

func TestErrorIs(t *testing.T) {
	t.Parallel()
	remote := fmt.Errorf("x: %w", &Error{Code: CodeInvalidRequest, Message: "other words", Data: json.RawMessage(`{"kind":"busy"}`)})
	require.ErrorIs(t, remote, ErrBusy)
	require.NotErrorIs(t, InvalidRequest("no"), ErrBusy)
	require.ErrorIs(t, &Error{Code: CodeNotFound, Message: "gone"}, ErrNotFound)
	require.NotErrorIs(t, ErrNotFound, ErrAuth)
	require.NotErrorIs(t, ErrNotFound, errors.New("x"))
	assert.Equal(t, "gone (code -32002)", (&Error{Code: CodeNotFound, Message: "gone"}).Error())
}

// results is an agent whose extension answers with anything.
type results struct {
	agentStub
	result any
}

func (r *results) Extension(context.Context, string, json.RawMessage) (any, error) {
	return r.result, nil
}

type badResult struct{ panics bool }

func (b badResult) MarshalJSON() ([]byte, error) {
	if b.panics {
		panic("secret")
	}
	return nil, errors.New("secret")
}

// A result that is no JSON is an internal error, and never a request without an answer.
func TestResultsOfAnyKind(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		result any
		want   string
	}{
		{"nothing", nil, `"result":null`},
		{"raw", json.RawMessage("{\n\"a\":\r\n1}"), `"result":{"a":1}`},
		{"raw nothing", json.RawMessage(nil), `"result":null`},
		{"raw and bad", json.RawMessage("{\n"), `"error":{"code":-32603,"message":"Internal error","data":{"kind":"internal"}}`},
		{"HTML", map[string]string{"a": "<&>\u2028\n"}, `"result":{"a":"<&>\u2028\n"}`},
		{"a channel", make(chan int), `"error":{"code":-32603,"message":"Internal error","data":{"kind":"internal"}}`},
		{"an encoder that fails", badResult{}, `"error":{"code":-32603,"message":"Internal error","data":{"kind":"internal"}}`},
		{"an encoder that panics", badResult{panics: true}, `"error":{"code":-32603,"message":"Internal error","data":{"kind":"panic","details":"Internal error"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := connectAs(t, func(*ClientConn) Agent { return &results{result: tt.result} }, Options{})
			w.initialize(`{}`)
			for _, id := range []string{"1", "null"} {
				assert.JSONEq(t, `{"jsonrpc":"2.0","id":`+id+`,`+tt.want+`}`, w.ask(`{"jsonrpc":"2.0","id":`+id+`,"method":"_any"}`))
			}
			w.probe()
		})
	}
}
