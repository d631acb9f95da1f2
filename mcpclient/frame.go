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

// answer is the answer to a request: a result or an error.
type answer struct {
	result json.RawMessage
	err    *jsonrpc.Error
}

// line handles one line of output. It is false when the connection was closed meanwhile.
func (c *conn) line(line []byte) bool {
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
			if !c.message(one) {
				return false
			}
		}
		return true
	}
	return c.message(line)
}

func (c *conn) message(raw []byte) bool {
	var f frame
	if raw[0] != '{' || json.Unmarshal(raw, &f) != nil || f.Version != "2.0" {
		c.junk("it is no JSON-RPC message", raw)
		return true
	}
	if f.Method == nil {
		return c.response(&f, raw)
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
		c.cache.note(*f.Method, f.Params)
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
func (c *conn) response(f *frame, raw []byte) bool {
	a := f.answer()
	switch id := string(bytes.TrimSpace(f.ID)); id {
	case probeID:
		c.gotProbe(a, raw)
		return true
	case "", "null":
		// The server could not read a request of ours. Where only one is open, it is that one.
		if a.err == nil {
			c.junk("a response has no id", raw)
			return true
		}
		if only, ok := c.onlyPending(); ok {
			return c.settle(only, a)
		}
		c.gotProbe(a, raw)
		return true
	default:
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil || !c.settle(n, a) {
			c.junk("it answers no request of ours", raw)
		}
		return !isClosed(c.closed)
	}
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

func (c *conn) onlyPending() (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.pending {
		return id, len(c.pending) == 1
	}
	return 0, false
}

// gotProbe keeps the first answer to the probe.
func (c *conn) gotProbe(a *answer, raw []byte) {
	select {
	case c.probed <- a:
	default:
		c.junk("it answers no request of ours", raw)
	}
}

// settle hands an answer to the SDK, if somebody waits for it. The results of data-bearing methods stay here, and a
// ticket goes in their place.
func (c *conn) settle(id int64, a *answer) bool {
	c.mu.Lock()
	method, waiting := c.pending[id]
	delete(c.pending, id)
	if !waiting {
		c.mu.Unlock()
		return false
	}
	result := a.result
	if a.err == nil && bearsData(method) {
		ticket := strconv.FormatInt(id, 10)
		c.kept[ticket] = result
		result = json.RawMessage(fmt.Sprintf(`{"content":[],"_meta":{%q:%q}}`, ticketKey, ticket))
	}
	c.mu.Unlock()
	sid, err := jsonrpc.MakeID(float64(id))
	if err != nil {
		return false
	}
	r := &jsonrpc.Response{ID: sid, Result: result}
	if a.err != nil {
		r = &jsonrpc.Response{ID: sid, Error: a.err}
	}
	return c.deliver(r)
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

// overlong fails the one call that a line too long has answered.
func (c *conn) overlong(t *tooLong) {
	c.junk(fmt.Sprintf("a line of %d bytes is longer than the limit of %d", t.size, maxLine), t.head)
	id, ok := idAtHead(t.head)
	if !ok {
		if m := idAtEnd.FindSubmatch(t.tail); m != nil {
			n, err := strconv.ParseInt(string(m[1]), 10, 64)
			id, ok = n, err == nil
		}
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
func idAtHead(head []byte) (int64, bool) {
	d := json.NewDecoder(bytes.NewReader(head))
	d.UseNumber()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return 0, false
	}
	for {
		key, err := d.Token()
		if err != nil {
			return 0, false
		}
		value, err := d.Token()
		if err != nil {
			return 0, false
		}
		if n, isNum := value.(json.Number); isNum && key == "id" {
			id, err := n.Int64()
			return id, err == nil
		}
		if _, nested := value.(json.Delim); nested {
			return 0, false
		}
	}
}
