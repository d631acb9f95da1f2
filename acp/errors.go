package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sourcegraph/jsonrpc2"
)

// The error codes of ACP v1 (JSON-RPC 2.0's own and the protocol's).
const (
	CodeParseError     = -32700
	CodeInvalidRequest = -32600
	CodeMethodNotFound = -32601
	CodeInvalidParams  = -32602
	CodeInternalError  = -32603
	CodeAuthRequired   = -32000
	CodeNotFound       = -32002
	CodeCancelled      = -32800
)

// Error is an error as it crosses the wire. A handler may return one, wrapped or not, to choose its code; calls to the
// peer return one when the peer refused. Data is JSON, or nil.
type Error struct {
	Code    int64
	Message string
	Data    json.RawMessage
}

// Error returns the message and, where there is one, its code.
func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Is makes errors of one code equal for errors.Is, so that ErrNotFound matches the peer's -32002, for example.
func (e *Error) Is(target error) bool {
	var t *Error
	return errors.As(target, &t) && t.Code == e.Code && (len(t.Data) == 0 || string(t.Data) == string(e.Data))
}

// Errors that both ends know. Wrap them to say more: the wrapping text becomes the message.
var (
	// ErrAuth says that the session's work needs a login or a key first. Clients show its message.
	ErrAuth error = &Error{Code: CodeAuthRequired, Message: "Authentication required"}
	// ErrNotFound says that there is no such session, file or terminal.
	ErrNotFound error = &Error{Code: CodeNotFound, Message: "Resource not found"}
	// ErrBusy says that too many prompts wait for the session already.
	ErrBusy error = &Error{Code: CodeInvalidRequest, Message: "The session is busy", Data: json.RawMessage(`{"kind":"busy"}`)}
	// ErrMethodNotFound says that the peer does not know the method, or has not offered it.
	ErrMethodNotFound error = &Error{Code: CodeMethodNotFound, Message: "Method not found"}
	// ErrCancelled says that the request was cancelled.
	ErrCancelled error = &Error{Code: CodeCancelled, Message: "Request cancelled"}

	// ErrNotOffered is returned without a word to the client by a method whose capability the client did not declare.
	ErrNotOffered = errors.New("the client does not offer it")
	// ErrClosed is returned by calls on a connection that has ended, and is the cause of contexts that end with it.
	ErrClosed = errors.New("the connection is closed")
)

// InvalidParams makes a -32602 error.
func InvalidParams(format string, args ...any) error {
	return &Error{Code: CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

// InvalidRequest makes a -32600 error.
func InvalidRequest(format string, args ...any) error {
	return &Error{Code: CodeInvalidRequest, Message: fmt.Sprintf(format, args...)}
}

// Failure is an error that a person is shown: on the wire it is -32603 with its message, and its kind, a stable word
// for programs, in data.kind. Some clients show data.details instead of the message, so the message is there too.
type Failure struct {
	Kind    string
	Message string
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// wireError is the one place where an error becomes what the peer reads. Whatever has no code of its own is an
// internal error without details, which may hold paths or secrets: they belong in the log.
func wireError(err error) *jsonrpc2.Error {
	var coded *Error
	var failure *Failure
	switch {
	case errors.As(err, &coded):
		out := &jsonrpc2.Error{Code: coded.Code, Message: messageOf(err, coded)}
		if json.Valid(coded.Data) {
			data := coded.Data
			out.Data = &data
		}
		return out
	case errors.As(err, &failure):
		out := &jsonrpc2.Error{Code: CodeInternalError, Message: failure.Message}
		out.SetError(map[string]string{"kind": failure.Kind, "details": failure.Message})
		return out
	case errors.Is(err, context.Canceled), errors.Is(err, ErrClosed):
		return &jsonrpc2.Error{Code: CodeCancelled, Message: "Request cancelled"}
	case errors.Is(err, context.DeadlineExceeded):
		out := &jsonrpc2.Error{Code: CodeInternalError, Message: "The request took too long"}
		out.SetError(map[string]string{"kind": "timeout"})
		return out
	}
	out := &jsonrpc2.Error{Code: CodeInternalError, Message: "Internal error"}
	out.SetError(map[string]string{"kind": "internal"})
	return out
}

// messageOf is the text of the whole chain where something wraps the coded error, else the coded error's own.
func messageOf(err error, coded *Error) string {
	if direct, ok := err.(*Error); ok { //nolint:errorlint // whether it is wrapped is the question
		return direct.Message
	}
	whole := err.Error()
	if own := coded.Error(); len(whole) >= len(own) {
		if at := len(whole) - len(own); whole[at:] == own {
			return whole[:at] + coded.Message
		}
	}
	return whole
}
