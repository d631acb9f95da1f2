package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// A payload of more than payloadLimit bytes is not in its record's body but a blob, and in its place is a marker, one of
//
//	{"$blob":"SUM"}                  a string; the blob is its text
//	{"$blob":"SUM","as":"base64"}    a string, the base64 of the blob
//	{"$blob":"SUM","as":"string"}    a string; the blob is how it was written in JSON
//	{"$blob":"SUM","as":"json"}      an object or an array; the blob is its JSON
//
// with the hex SHA-256 of the blob. What comes back is to the byte what was there. An object that was there and whose
// first key is $blob, $$blob and so on is written with one $ more, so nothing is taken for a marker that is none. Within
// a JSON string a quote is escaped, so the bytes {"$ are nowhere but at the beginning of an object.
const payloadLimit = 64 << 10

const (
	mark     = `{"$`
	blobKey  = `blob":`
	asBase64 = `,"as":"base64"`
	asString = `,"as":"string"`
	asJSON   = `,"as":"json"`
)

// payload is what becomes a blob.
type payload struct {
	sum  string
	data []byte
}

func payloadOf(data []byte) payload {
	sum := sha256.Sum256(data)
	return payload{sum: hex.EncodeToString(sum[:]), data: data}
}

// splitter takes the payloads out of a body, which is valid and compact JSON.
type splitter struct {
	in       []byte
	pos      int
	out      []byte
	payloads []payload
}

// split gives the body as it is written, and the blobs that it names. A body without payloads comes back as it is.
func split(body []byte) ([]byte, []payload) {
	if len(body) <= payloadLimit && !bytes.Contains(body, []byte(mark)) {
		return body, nil
	}
	s := splitter{in: body, out: make([]byte, 0, min(len(body), payloadLimit))}
	s.value(nil)
	return s.out, s.payloads
}

// value copies one value; key is that of its member, if it is one.
func (s *splitter) value(key []byte) {
	start, outStart, before := s.pos, len(s.out), len(s.payloads)
	switch s.in[s.pos] {
	case '"':
		s.text(key, s.literal())
		return
	case '{':
		s.members()
	case '[':
		s.elements()
	default:
		for s.pos < len(s.in) && !bytes.ContainsRune([]byte(",]}"), rune(s.in[s.pos])) {
			s.pos++
		}
		s.out = append(s.out, s.in[start:s.pos]...)
		return
	}
	if len(s.out)-outStart > payloadLimit && free(key) {
		s.out, s.payloads = s.out[:outStart], s.payloads[:before]
		s.blob(s.in[start:s.pos], asJSON)
	}
}

// free says whether a value of any form can be at that key: arguments, results and states, that are what others make
// of them.
func free(key []byte) bool {
	switch string(key) {
	case `"args"`, `"raw"`, `"state"`:
		return true
	}
	return false
}

func (s *splitter) members() {
	s.copy()
	for first := true; s.in[s.pos] != '}'; first = false {
		if s.in[s.pos] == ',' {
			s.copy()
		}
		key := s.literal()
		if first && escaped(key) > 0 {
			s.out = append(append(s.out, `"$`...), key[1:]...)
		} else {
			s.out = append(s.out, key...)
		}
		s.copy() // the colon
		s.value(key)
	}
	s.copy()
}

func (s *splitter) elements() {
	s.copy()
	for s.in[s.pos] != ']' {
		if s.in[s.pos] == ',' {
			s.copy()
		}
		s.value(nil)
	}
	s.copy()
}

// copy copies a byte.
func (s *splitter) copy() {
	s.out = append(s.out, s.in[s.pos])
	s.pos++
}

// literal steps over a string and gives it with its quotes.
func (s *splitter) literal() []byte {
	start := s.pos
	for s.pos++; s.in[s.pos] != '"'; s.pos++ {
		if s.in[s.pos] == '\\' {
			s.pos++
		}
	}
	s.pos++
	return s.in[start:s.pos]
}

// escaped counts the dollars of a key such as "$blob"; zero for any other.
func escaped(key []byte) int {
	rest := bytes.TrimLeft(key[1:], "$")
	if string(rest) != `blob"` {
		return 0
	}
	return len(key) - 1 - len(rest)
}

func (s *splitter) text(key, literal []byte) {
	if len(literal)-2 <= payloadLimit {
		s.out = append(s.out, literal...)
		return
	}
	inner := literal[1 : len(literal)-1]
	if string(key) == `"data"` || string(key) == `"blob"` {
		data := make([]byte, base64.StdEncoding.DecodedLen(len(inner)))
		n, err := base64.StdEncoding.Strict().Decode(data, inner)
		if err == nil && base64.StdEncoding.EncodedLen(n) == len(inner) {
			s.orInline(data[:n], literal, asBase64)
			return
		}
	}
	var text string
	if err := json.Unmarshal(literal, &text); err == nil && bytes.Equal(quoted(text), literal) {
		s.orInline([]byte(text), literal, "")
		return
	}
	s.blob(literal, asString)
}

// orInline leaves a payload in place whose escapes alone made it long.
func (s *splitter) orInline(data, literal []byte, as string) {
	if len(data) <= payloadLimit {
		s.out = append(s.out, literal...)
		return
	}
	s.blob(data, as)
}

func (s *splitter) blob(data []byte, as string) {
	p := payloadOf(data)
	s.payloads = append(s.payloads, p)
	s.out = fmt.Appendf(s.out, `{"$blob":"%s"%s}`, p.sum, as)
}

// quoted is text as this package's records have it.
func quoted(text string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(text); err != nil {
		return nil // text cannot fail to be encoded
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// marked is a marker at the beginning of text, the reverse of splitter.blob. n is zero where there is none.
func marked(text []byte) (sum, as string, n int) {
	const head = mark + blobKey + `"`
	rest, ok := bytes.CutPrefix(text, []byte(head))
	if !ok || len(rest) <= hashLen || rest[hashLen] != '"' || !isSum(string(rest[:hashLen])) {
		return "", "", 0
	}
	sum, rest = string(rest[:hashLen]), rest[hashLen+1:]
	for _, as := range []string{asBase64, asString, asJSON, ""} {
		if bytes.HasPrefix(rest, []byte(as+"}")) {
			return sum, as, len(head) + hashLen + 1 + len(as) + 1
		}
	}
	return "", "", 0
}

// isSum says whether text is a SHA-256 in hex, as blobs are named. Anything else never becomes a part of a path.
func isSum(text string) bool {
	if len(text) != hashLen {
		return false
	}
	for i := range len(text) {
		if c := text[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// named yields the blobs that text names.
func named(text []byte, yield func(sum string)) {
	for {
		i := bytes.Index(text, []byte(mark))
		if i < 0 {
			return
		}
		text = text[i:]
		sum, _, n := marked(text)
		if n > 0 {
			yield(sum)
		}
		text = text[max(n, 1):]
	}
}

// restore puts the payloads back into a body. One that load does not give is a problem, and in its place is a text that
// says so.
func restore(body []byte, load func(sum string) ([]byte, error)) (whole []byte, problems []string) {
	var out []byte
	for {
		i := bytes.Index(body, []byte(mark))
		if i < 0 {
			return append(out, body...), problems
		}
		out, body = append(out, body[:i]...), body[i:]
		sum, as, n := marked(body)
		if n == 0 {
			dollars := len(body[2:]) - len(bytes.TrimLeft(body[2:], "$"))
			out = append(out, mark[:2]...)
			if dollars > 1 && bytes.HasPrefix(body[2+dollars:], []byte(blobKey)) {
				n, dollars = 2+dollars, dollars-1
			} else {
				n = 2 + dollars
			}
			out, body = append(out, bytes.Repeat([]byte("$"), dollars)...), body[n:]
			continue
		}
		body = body[n:]
		data, err := load(sum)
		if err != nil {
			problems = append(problems, err.Error())
			out = stand(out, as, fmt.Sprintf("[What was here is lost: %v.]", err))
			continue
		}
		out = fill(out, as, data)
	}
}

func fill(out []byte, as string, data []byte) []byte {
	switch as {
	case asBase64:
		out = append(out, '"')
		out = base64.StdEncoding.AppendEncode(out, data)
		return append(out, '"')
	case asString, asJSON:
		return append(out, data...)
	}
	return append(out, quoted(string(data))...)
}

// stand puts words in the place of a payload that is lost. A picture or a sound becomes a text.
func stand(out []byte, as, words string) []byte {
	text := quoted(words)
	switch as {
	case asJSON:
		return append(append(append(out, `{"lost":`...), text...), '}')
	case asBase64:
		for _, kind := range []string{"image", "audio"} {
			if head, ok := bytes.CutSuffix(out, []byte(`{"type":"`+kind+`","data":`)); ok {
				return append(append(head, `{"type":"text","text":`...), text...)
			}
		}
		if head, ok := bytes.CutSuffix(out, []byte(`"blob":`)); ok {
			return append(append(head, `"text":`...), text...)
		}
	}
	return append(out, text...)
}
