package mcpclient

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// The headers of Streamable HTTP.
const (
	headerVersion   = "MCP-Protocol-Version"
	headerMethod    = "Mcp-Method"
	headerName      = "Mcp-Name"
	headerParam     = "Mcp-Param-"
	headerSession   = "Mcp-Session-Id"
	headerLastEvent = "Last-Event-ID"
)

// headerMark marks an argument whose value goes into a header as well.
const headerMark = "x-mcp-header"

// binding says which header the argument at a path goes into.
type binding struct {
	path   []string
	header string
}

// encodeHeader makes a header's value of a text: the same where that is safe, else base64 in its wrapping. An empty text is
// wrapped as well, as an empty header may be lost on the way.
func encodeHeader(s string) string {
	const open, end = "=?base64?", "?="
	safe := s != "" && s == strings.Trim(s, " ") && !(strings.HasPrefix(s, open) && strings.HasSuffix(s, end))
	for i := 0; safe && i < len(s); i++ {
		safe = s[i] >= ' ' && s[i] <= '~'
	}
	if safe {
		return s
	}
	return open + base64.StdEncoding.EncodeToString([]byte(s)) + end
}

// isToken says whether s can be part of a header's name.
func isToken(s string) bool {
	odd := func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}
	return s != "" && !strings.ContainsFunc(s, odd)
}

// values are the headers for the arguments of a call. Arguments that are absent, null or no plain value have none.
func values(bindings []binding, args json.RawMessage) map[string]string {
	out := map[string]string{}
	for _, b := range bindings {
		value := args
		for _, name := range b.path {
			var object map[string]json.RawMessage
			if json.Unmarshal(value, &object) != nil {
				object = nil
			}
			value = object[name]
		}
		if text, ok := plainValue(value); ok {
			out[headerParam+b.header] = encodeHeader(text)
		}
	}
	return out
}

// plainValue is the text of a string, a boolean or an integer.
func plainValue(raw json.RawMessage) (string, bool) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null" || raw[0] == '{' || raw[0] == '[':
		return "", false
	case raw[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	case raw[0] == 't' || raw[0] == 'f':
		return string(raw), true
	}
	if !bytes.ContainsAny(raw, ".eE") {
		return string(raw), true
	}
	const longest = 40 // of a number that is worth the work
	f, _, err := big.ParseFloat(string(raw), 10, 200, big.ToNearestEven)
	if err != nil || len(raw) > longest || !f.IsInt() || f.MantExp(nil) > 200 {
		return "", false
	}
	return f.Text('f', 0), true
}

// bindingsOf finds the arguments of a tool that go into headers. An error means that the tool must not be used.
func bindingsOf(schema json.RawMessage) ([]binding, error) {
	if !bytes.Contains(schema, []byte(headerMark)) && !bytes.Contains(schema, []byte(`\u`)) {
		return nil, nil
	}
	var w marks
	w.seen = map[string]bool{}
	err := w.schema(schema, nil, true)
	return w.found, err
}

// marks collects the arguments that are marked.
type marks struct {
	found []binding
	seen  map[string]bool // headers, in lower case
	depth int
}

// maxDepth bounds how deep schemas are nested.
const maxDepth = 200

// schema looks at a schema and all below it. direct says that only properties lead to it.
func (w *marks) schema(raw json.RawMessage, path []string, direct bool) error {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '{' && raw[0] != '[' {
		return nil
	}
	if raw[0] == '[' {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		for _, one := range list {
			if err := w.schema(one, path, false); err != nil {
				return err
			}
		}
		return nil
	}
	if w.depth++; w.depth > maxDepth {
		return errors.New("its inputSchema is nested too deep")
	}
	defer func() { w.depth-- }()
	var node map[string]json.RawMessage
	if err := json.Unmarshal(raw, &node); err != nil {
		return err
	}
	if mark, ok := node[headerMark]; ok {
		if err := w.mark(mark, node["type"], path, direct); err != nil {
			return err
		}
	}
	for key, value := range members(raw) {
		var err error
		switch key {
		case headerMark, "const", "default", "enum", "examples", "required", "type":
		case "properties":
			for name, sub := range members(value) {
				if err == nil {
					err = w.schema(sub, append(path[:len(path):len(path)], name), direct)
				}
			}
		case "$defs", "definitions", "patternProperties", "dependentSchemas", "dependencies":
			for _, sub := range members(value) {
				if err == nil {
					err = w.schema(sub, path, false)
				}
			}
		default:
			err = w.schema(value, path, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mark checks one mark and keeps it.
func (w *marks) mark(mark, kind json.RawMessage, path []string, direct bool) error {
	var header, typ string
	if json.Unmarshal(mark, &header) != nil || !isToken(header) {
		return fmt.Errorf("its %s %.100s is no part of a header's name", headerMark, mark)
	}
	if json.Unmarshal(kind, &typ) != nil || typ != "string" && typ != "integer" && typ != "boolean" {
		return fmt.Errorf("its %s %q is on something that is no string, integer or boolean", headerMark, header)
	}
	if !direct || len(path) == 0 {
		return fmt.Errorf("its %s %q is not reached by properties alone", headerMark, header)
	}
	low := strings.ToLower(header)
	if w.seen[low] {
		return fmt.Errorf("two of its arguments have the %s %q", headerMark, header)
	}
	w.seen[low] = true
	w.found = append(w.found, binding{path: path, header: header})
	return nil
}

// toolList learns the headers of the tools in a result of tools/list, and gives the result without the tools whose headers
// are not valid.
func toolList(result json.RawMessage, learn func(name string, b []binding), drop func(name string, err error)) json.RawMessage {
	var page map[string]json.RawMessage
	var tools []json.RawMessage
	if json.Unmarshal(result, &page) != nil || json.Unmarshal(page["tools"], &tools) != nil {
		return result
	}
	var good []json.RawMessage
	for _, raw := range tools {
		var t struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"inputSchema"`
		}
		if json.Unmarshal(raw, &t) != nil {
			good = append(good, raw) // it will be found out
			continue
		}
		b, err := bindingsOf(t.Schema)
		if err != nil {
			drop(t.Name, err)
			continue
		}
		learn(t.Name, b)
		good = append(good, raw)
	}
	if len(good) == len(tools) {
		return result
	}
	list, err := json.Marshal(append([]json.RawMessage{}, good...))
	if err == nil {
		page["tools"] = list
		var whole json.RawMessage
		if whole, err = json.Marshal(page); err == nil {
			return whole
		}
	}
	return json.RawMessage(`{"tools":[]}`)
}

// checkHeaders says what is wrong with the headers of a configuration, without their values.
func checkHeaders(headers map[string]string) error {
	var bad []error
	for name, value := range headers {
		odd := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
		switch {
		case !isToken(name):
			bad = append(bad, fmt.Errorf("%.100q is no name of a header", name))
		case strings.ContainsFunc(value, odd):
			bad = append(bad, fmt.Errorf("the value of the header %s has a line break or a control character in it", name))
		}
	}
	return errors.Join(bad...)
}
