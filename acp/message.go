package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sourcegraph/jsonrpc2"
)

// mark begins the string that stands for an id which jsonrpc2 cannot hold: a null, a negative one, or a string that
// would not come out as it went in. What follows the mark is the id as the peer wrote it.
const (
	mark     = "\x00acp:"
	markJSON = `"\u0000acp:` // how a marked id begins in JSON
)

// envelope is what a message consists of, each part as it came and nil where there is none.
type envelope struct {
	jsonrpc, id, method, params, result, failure json.RawMessage
}

// open finds the parts of a message, which is valid JSON and an object. Names count as they are written.
func open(data []byte) (e envelope, err error) {
	err = eachMember(data, func(key string, value json.RawMessage) error {
		switch key {
		case "jsonrpc":
			e.jsonrpc = value
		case "id":
			e.id = value
		case "method":
			e.method = value
		case "params":
			e.params = value
		case "result":
			e.result = value
		case "error":
			e.failure = value
		}
		return nil
	})
	return e, err
}

// answers reports whether the message is meant as a response.
func (e envelope) answers() bool { return e.method == nil && (e.result != nil || e.failure != nil) }

// outcome is what a response says: its result, or its error. A response without either has the result null.
func (e envelope) outcome() (json.RawMessage, error) {
	if e.failure == nil || isNull(e.failure) {
		return e.result, nil
	}
	var wire struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(e.failure, &wire); err != nil {
		return nil, &Error{Code: CodeInternalError, Message: "the peer answered with an error that cannot be read"}
	}
	return nil, &Error{Code: wire.Code, Message: wire.Message, Data: wire.Data}
}

// parseID reads an id: an integer of 64 bits, a string, or null. It says whether there was one.
func parseID(raw json.RawMessage) (id jsonrpc2.ID, has bool, err error) {
	marked := jsonrpc2.ID{Str: mark + string(raw), IsString: true}
	switch {
	case raw == nil:
		return id, false, nil
	case isNull(raw):
		return marked, true, nil
	case raw[0] == '"':
		str, err := unquote(raw)
		switch {
		case err != nil:
			return id, true, errors.New("this string cannot be an id")
		case strings.HasPrefix(str, mark), strings.ContainsRune(str, utf8.RuneError):
			return marked, true, nil
		}
		return jsonrpc2.ID{Str: str, IsString: true}, true, nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	switch {
	case err != nil:
		return id, true, errors.New("an id must be a 64-bit integer or a string")
	case raw[0] == '-':
		return marked, true, nil
	}
	return jsonrpc2.ID{Num: uint64(n)}, true, nil
}

// restoreID turns the marked id of a response back into what it stands for.
func restoreID(data []byte) []byte {
	e, err := open(data)
	if err != nil || len(e.id) == 0 || e.id[0] != '"' {
		return data
	}
	id, err := unquote(e.id)
	own, marked := strings.CutPrefix(id, mark)
	if err != nil || !marked {
		return data
	}
	out := fmt.Appendf(nil, `{"id":%s`, own)
	if e.failure != nil {
		out = append(append(out, `,"error":`...), e.failure...)
	} else {
		out = append(append(out, `,"result":`...), e.result...)
	}
	return append(out, `,"jsonrpc":"2.0"}`...)
}
