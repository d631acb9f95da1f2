package cart

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Version is the protocol revision that the cart speaks.
const Version = "2026-07-28"

const (
	serverName    = "coffee-cart"
	serverTitle   = "Coffee cart"
	serverVersion = "0.1.0"

	metaPrefix     = "io.modelcontextprotocol/"
	metaVersion    = metaPrefix + "protocolVersion"
	metaClient     = metaPrefix + "clientCapabilities"
	metaClientInfo = metaPrefix + "clientInfo"
	metaLogLevel   = metaPrefix + "logLevel"
	metaServerInfo = metaPrefix + "serverInfo"
	metaKey        = "dev.cartagent/idempotencyKey"
)

// The codes of the errors that the cart answers with.
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeInternal           = -32603
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
	codeLegacyNotFound     = -32002
	codeTooMany            = 429 // the cart's own: outside of what JSON-RPC and MCP reserve
)

// Reply is what one message is answered with. It marshals to the JSON-RPC response; a [Reply.Silent] one is not sent.
type Reply struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"` // as it was written; nil where none could be read
	Result  any             `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`

	Method  string `json:"-"` // the message's method, "" where none could be read
	Changed []Key  `json:"-"` // the orders that the message made, changed or dropped: what a lasting store must write
}

// Silent reports whether nothing is to be sent: notifications and stray responses are never answered.
func (r Reply) Silent() bool { return r.Result == nil && r.Error == nil }

// Error is a JSON-RPC error: the message itself was wrong.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`

	meta bool // the request's _meta is at fault, which over HTTP has a status of its own
}

// body is a result under construction; object is a decoded JSON object, whose names match with case.
type (
	body   map[string]any
	object map[string]json.RawMessage
)

func fail(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// A request is a message that was read. A silent one is a notification or a response. One with a fault was not understood,
// and has the id and the method that could be read all the same.
type request struct {
	id       json.RawMessage
	method   string
	params   object
	silent   bool
	response bool
	fault    *Error
}

// parse reads one message.
func parse(message []byte) request {
	message = bytes.TrimSpace(message)
	if !json.Valid(message) || !utf8.Valid(message) {
		return request{fault: fail(codeParse, "Parse error: a message is one JSON object in UTF-8")}
	}
	if message[0] == '[' {
		return request{fault: fail(codeInvalidRequest, "Invalid Request: batches are not supported, send one message at a time")}
	}
	fields, ok := asObject(message)
	if !ok {
		return request{fault: fail(codeInvalidRequest, "Invalid Request: a message is a JSON object")}
	}
	var req request
	rawID, hasID := fields["id"]
	if hasID && validID(rawID) {
		req.id = rawID
	}
	method, hasMethod := asString(fields["method"])
	req.method = method
	rawParams, hasParams := fields["params"]
	params, paramsOK := asObject(rawParams)
	req.params = params
	version, _ := asString(fields["jsonrpc"])
	switch {
	case version != "2.0":
		req.fault = fail(codeInvalidRequest, `Invalid Request: jsonrpc must be "2.0"`)
	case isResponse(fields):
		req.silent, req.response = true, true
	case !hasMethod:
		req.fault = fail(codeInvalidRequest, "Invalid Request: method must be a string")
	case !hasID:
		req.silent = true
	case req.id == nil:
		req.fault = fail(codeInvalidRequest, "Invalid Request: id must be a string or an integer")
	case hasParams && !paramsOK:
		req.fault = fail(codeInvalidRequest, "Invalid Request: params must be an object")
	}
	return req
}

// isResponse tells a response, which answers nothing the cart asked, from a request without a method.
func isResponse(fields object) bool {
	_, method := fields["method"]
	_, result := fields["result"]
	_, failure := fields["error"]
	return !method && (result || failure)
}

// validID accepts a string or a number written as an integer. The bytes are echoed, so its size does not matter.
func validID(raw json.RawMessage) bool {
	if _, ok := asString(raw); ok {
		return true
	}
	digits := bytes.TrimPrefix(raw, []byte("-"))
	return len(digits) > 0 && !bytes.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
}

func asObject(raw json.RawMessage) (object, bool) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	var o object
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, false
	}
	return o, true
}

func asString(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", false
	}
	return s, true
}

// encode is json.Marshal without the escapes that are meant for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding a reply: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// text is v as JSON, for values that always have a JSON form.
func text(v any) string {
	b, err := encode(v)
	if err != nil {
		panic(err) // only for a type that JSON cannot hold: a mistake in this package
	}
	return string(b)
}

// clip keeps what a caller sent short enough to be repeated in a message.
func clip(s string) string {
	const most = 80
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}
