package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"
)

// The scanner finds the members of objects and lists without copying them: a prompt may hold megabytes of base64 that
// nobody should read more often than needed. It expects valid JSON; of anything else it makes errBadJSON, at the
// latest where a value is decoded, and never a panic.

var errBadJSON = errors.New("bad JSON")

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at b[i], or -1.
func skipString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	quote := -1
	for i++; i < len(b); {
		if quote < i { // otherwise the one found before still counts
			next := bytes.IndexByte(b[i:], '"')
			if next < 0 {
				return -1
			}
			quote = i + next
		}
		slash := bytes.IndexByte(b[i:quote], '\\')
		if slash < 0 {
			return quote + 1
		}
		i += slash + 2
	}
	return -1
}

// skipValue returns the index after the value that begins at b[i], or -1.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	start := i
	for i < len(b) && strings.IndexByte(",]}:\" \t\r\n{[", b[i]) < 0 {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

func skipNested(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// eachMember calls f for each member of an object, in order. The key is decoded, the value is a part of b.
func eachMember(b []byte, f func(key string, value json.RawMessage) error) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return errBadJSON
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == '}' {
		return nil
	}
	for {
		end := skipString(b, i)
		if end < 0 {
			return errBadJSON
		}
		key, err := unquote(b[i:end])
		if err != nil {
			return err
		}
		if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
			return errBadJSON
		}
		i = skipSpace(b, i+1)
		if end = skipValue(b, i); end < 0 {
			return errBadJSON
		}
		if err := f(key, b[i:end:end]); err != nil {
			return err
		}
		if i = skipSpace(b, end); i >= len(b) || (b[i] != ',' && b[i] != '}') {
			return errBadJSON
		}
		if b[i] == '}' {
			return nil
		}
		i = skipSpace(b, i+1)
	}
}

// eachItem calls f for each item of a list, in order.
func eachItem(b []byte, f func(value json.RawMessage) error) error {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '[' {
		return errBadJSON
	}
	if i = skipSpace(b, i+1); i < len(b) && b[i] == ']' {
		return nil
	}
	for {
		end := skipValue(b, i)
		if end < 0 {
			return errBadJSON
		}
		if err := f(b[i:end:end]); err != nil {
			return err
		}
		if i = skipSpace(b, end); i >= len(b) || (b[i] != ',' && b[i] != ']') {
			return errBadJSON
		}
		if b[i] == ']' {
			return nil
		}
		i = skipSpace(b, i+1)
	}
}

// member returns the last member of an object that has the key, or nil.
func member(b []byte, key string) json.RawMessage {
	var found json.RawMessage
	err := eachMember(b, func(k string, v json.RawMessage) error {
		if k == key {
			found = v
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return found
}

func unquote(b []byte) (string, error) {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return "", errBadJSON
	}
	inner := b[1 : len(b)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) && !hasControl(inner) {
		return string(inner), nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return "", errBadJSON
	}
	return s, nil
}

func hasControl(b []byte) bool {
	for _, c := range b {
		if c < ' ' {
			return true
		}
	}
	return false
}

func isNull(raw json.RawMessage) bool { return string(raw) == "null" }

// kindOf names the kind of a value the way people do who read an error.
func kindOf(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if len(raw) > 24 {
		return "number"
	}
	return string(raw)
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. It escapes what JSON asks for and no more, except that U+2028 and U+2029
// are escaped, because some readers take them for the end of a line. Bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, s[start:i]...)
			dst = append(dst, "\ufffd"...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, s[start:i]...)
			dst = append(dst, `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			start = i + size
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
