package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cartagent/cartagent/loop"
)

// Num is a whole number that reads from anything: what is no number is zero.
type Num int

// UnmarshalJSON takes a number, or a string that holds one. It never fails.
func (n *Num) UnmarshalJSON(data []byte) error {
	if len(data) == 1 && data[0] >= '0' && data[0] <= '9' { // the index of every chunk
		*n = Num(data[0] - '0')
		return nil
	}
	f, err := strconv.ParseFloat(strings.Trim(string(data), `" `), 64)
	*n = 0
	if err == nil && f > 0 && f < 1<<53 {
		*n = Num(f)
	}
	return nil
}

// Str is text that reads from anything: a string, a list of parts with text in them, and else nothing.
type Str string

// UnmarshalJSON never fails.
func (s *Str) UnmarshalJSON(data []byte) error {
	*s = ""
	if len(data) == 0 {
		return nil
	}
	switch data[0] {
	case '"':
		if inner := data[1 : len(data)-1]; bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
			*s = Str(inner) // nothing to unescape
			return nil
		}
		var plain string
		if json.Unmarshal(data, &plain) == nil {
			*s = Str(plain)
		}
	case '[':
		var parts []struct {
			Text Str `json:"text"`
		}
		if Lenient(data, &parts) == nil {
			for _, p := range parts {
				*s += p.Text
			}
		}
	}
	return nil
}

// Lenient decodes data into v, and leaves out each value that is of another type than v has there. Its error means
// that data is no JSON.
func Lenient(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if _, mismatch := errors.AsType[*json.UnmarshalTypeError](err); mismatch {
		return nil
	}
	return err
}

// SameJSON says whether two texts are the same JSON, but for white space.
func SameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y bytes.Buffer
	return json.Compact(&x, []byte(a)) == nil && json.Compact(&y, []byte(b)) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// WholeObject says whether the text is one JSON object with nothing missing. It is cheap where that is not so.
func WholeObject(s string) bool {
	t := strings.TrimSpace(s)
	return len(t) > 1 && t[0] == '{' && t[len(t)-1] == '}' && json.Valid([]byte(t))
}

// CutCall is a call whose arguments the token limit cut off. It is never run.
func CutCall(ref, tool string) loop.Call {
	c := loop.NewCall(ref, tool, "")
	c.Bad = "the reply reached the token limit before the arguments were complete; send the call again, in smaller pieces"
	return c
}
