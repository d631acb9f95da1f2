package mcpclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// frame is a JSON-RPC message with its parts as they came.
type frame struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
	Result  json.RawMessage `json:"result"`
	Error   json.RawMessage `json:"error"`
}

// answer is the answer to a request: a result, the server's error, or ours.
type answer struct {
	result json.RawMessage
	err    *jsonrpc.Error
	own    error // why there is neither
}

// incoming handles one line of output, or one body or event. asked is the id of the request that it came for, empty
// where that cannot be told. It is false when the connection was closed meanwhile.
func (c *conn) incoming(line []byte, asked string) bool {
	line = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("\xef\xbb\xbf")))
	if len(line) == 0 {
		return true
	}
	if line[0] == '[' { // the handshake era had batches for a while
		var batch []json.RawMessage
		if json.Unmarshal(line, &batch) != nil || len(batch) == 0 {
			c.junk("it is no JSON-RPC message", line)
			return true
		}
		for _, one := range batch {
			if !c.message(one, asked) {
				return false
			}
		}
		return true
	}
	return c.message(line, asked)
}

func (c *conn) message(raw []byte, asked string) bool {
	var f frame
	if raw[0] != '{' || json.Unmarshal(raw, &f) != nil || f.Version != "2.0" {
		c.junk("it is no JSON-RPC message", raw)
		return true
	}
	c.heard.Add(1)
	if f.Method == nil {
		return c.response(&f, raw, asked)
	}
	id, ok := requestID(f.ID)
	switch {
	case !ok:
		c.junk("a request has an id that is none", raw)
		return true
	case id.IsValid() && c.modern.Load():
		c.junk("a modern server must not send requests", raw)
		return true
	}
	if !id.IsValid() {
		if !c.told(*f.Method, f.Params, asked) {
			c.junk("it is of no subscription of ours", raw)
			return true
		}
		if c.noticed(*f.Method, f.Params) {
			return true
		}
	}
	if *f.Method == methodElicit && id.IsValid() {
		f.Params = wrapQuestion(f.Params)
	}
	return c.deliver(&jsonrpc.Request{ID: id, Method: *f.Method, Params: f.Params})
}

// requestID reads the id of a server's request. None and null are no id: a notification.
func requestID(raw json.RawMessage) (jsonrpc.ID, bool) {
	var v any
	if raw == nil {
		return jsonrpc.ID{}, true
	}
	if json.Unmarshal(raw, &v) != nil {
		return jsonrpc.ID{}, false
	}
	id, err := jsonrpc.MakeID(v)
	if n, isNum := v.(float64); isNum && n != float64(int64(n)) {
		return jsonrpc.ID{}, false
	}
	return id, err == nil
}

func (c *conn) deliver(m jsonrpc.Message) bool {
	select {
	case c.frames <- m:
		return true
	case <-c.closed:
		return false
	}
}

// response finds the request that a response answers.
func (c *conn) response(f *frame, raw []byte, asked string) bool {
	a := f.answer()
	id := string(bytes.TrimSpace(f.ID))
	if id == "" || id == "null" {
		// The server could not read a request of ours. Where only one is open, it is that one.
		if a.err == nil {
			c.junk("a response has no id", raw)
			return true
		}
		if id = asked; id == "" {
			id, _ = c.onlyPending()
		}
		if id == "" {
			id = probeID
		}
	}
	switch {
	case c.settle(id, a):
	case id == probeID:
		c.gotProbe(a, raw)
	default:
		c.junk("it answers no request of ours", raw)
	}
	return !isClosed(c.closed)
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// onlyPending is the only request of the SDK's without an answer.
func (c *conn) onlyPending() (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) != 1 {
		return "", false
	}
	for id := range c.pending {
		return id, true
	}
	return "", false
}

// gotProbe keeps the first answer to the probe.
func (c *conn) gotProbe(a *answer, raw []byte) {
	select {
	case c.probed <- a:
	default:
		c.junk("it answers no request of ours", raw)
	}
}

// settle hands an answer to who waits for it, if somebody does. For the SDK, the results of data-bearing methods stay
// here, as do errors that are not the server's, and a ticket goes in their place.
func (c *conn) settle(id string, a *answer) bool {
	c.mu.Lock()
	w, waiting := c.pending[id]
	if !waiting {
		c.mu.Unlock()
		return false
	}
	delete(c.pending, id)
	if w.own != nil {
		c.mu.Unlock()
		w.own <- a // it has room for the only answer
		return true
	}
	c.mu.Unlock()
	number, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return false
	}
	sid, err := jsonrpc.MakeID(float64(number))
	if err != nil {
		return false
	}
	r := &jsonrpc.Response{ID: sid}
	switch {
	case a.own != nil:
		r.Error = c.keepError(id, a.own)
	case a.err != nil:
		r.Error = a.err
	default:
		r.Result = c.keepResult(id, w.method, c.wire.learn(w.method, a.result))
	}
	return c.deliver(r)
}

// keepResult keeps the result of a data-bearing method and gives what the SDK gets in its place.
func (c *conn) keepResult(id, method string, result json.RawMessage) json.RawMessage {
	if !bearsData(method) {
		return result
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept[id] = result
	return json.RawMessage(fmt.Sprintf(`{"content":[],"_meta":{%q:%q}}`, ticketKey, id))
}

// keepError keeps an error that is not the server's. Its ticket has a secret, so that no server can hand in one.
func (c *conn) keepError(id string, err error) *jsonrpc.Error {
	ticket := id + "/" + c.secret
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failed[ticket] = err
	return &jsonrpc.Error{
		Code: jsonrpc.CodeInternalError, Message: err.Error(),
		Data: json.RawMessage(fmt.Sprintf(`{%q:%q}`, ticketKey, ticket)),
	}
}

func bearsData(method string) bool {
	switch method {
	case "tools/list", "tools/call", "resources/list", "resources/read", "prompts/list", "prompts/get",
		"resources/templates/list", "completion/complete":
		return true
	}
	return false
}

// answer is what f says as a response. One that is neither result nor error is an error.
func (f *frame) answer() *answer {
	if f.Error != nil && string(f.Error) != "null" {
		var e struct {
			Code    json.Number     `json:"code"`
			Message string          `json:"message"`
			Data    json.RawMessage `json:"data"`
		}
		if json.Unmarshal(f.Error, &e) != nil {
			return &answer{err: &jsonrpc.Error{
				Code: jsonrpc.CodeInternalError, Message: "an error that is none: " + printable(string(f.Error), 200),
			}}
		}
		code, err := e.Code.Int64()
		if err != nil {
			code = jsonrpc.CodeInternalError
		}
		return &answer{err: &jsonrpc.Error{Code: code, Message: e.Message, Data: e.Data}}
	}
	if f.Result == nil {
		return &answer{err: &jsonrpc.Error{
			Code: jsonrpc.CodeInternalError, Message: "the answer has neither a result nor an error",
		}}
	}
	return &answer{result: f.Result}
}

var idAtEnd = regexp.MustCompile(`"id"\s*:\s*([0-9]+)\s*\}\s*$`)

// overlong fails the one call that a line too long has answered; asked is as for incoming.
func (c *conn) overlong(t *tooLong, asked string) {
	c.junk(fmt.Sprintf("a line of %d bytes is longer than the limit of %d", t.size, maxLine), t.head)
	id, ok := idAtHead(t.head)
	if !ok {
		if m := idAtEnd.FindSubmatch(t.tail); m != nil {
			id, ok = string(m[1]), true
		}
	}
	if !ok {
		id, ok = asked, asked != ""
	}
	if !ok {
		id, ok = c.onlyPending()
	}
	if ok {
		c.settle(id, &answer{err: &jsonrpc.Error{
			Code:    jsonrpc.CodeInternalError,
			Message: fmt.Sprintf("the answer has %d bytes, more than the limit of %d; ask for less", t.size, maxLine),
		}})
	}
}

// idAtHead finds the id among the first members of a message whose end is missing.
func idAtHead(head []byte) (string, bool) {
	d := json.NewDecoder(bytes.NewReader(head))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return "", false
	}
	for {
		key, err := d.Token()
		if err != nil {
			return "", false
		}
		value, err := d.Token()
		if err != nil {
			return "", false
		}
		if n, isNum := value.(json.Number); isNum && key == "id" {
			_, err := n.Int64()
			return n.String(), err == nil
		}
		if _, nested := value.(json.Delim); nested {
			return "", false
		}
	}
}
