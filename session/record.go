package session

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/cartagent/cartagent/loop"
)

// format is the version of the log's format, in its header.
const format = 1

// hashLen is the length of a hash in hex.
const hashLen = 2 * sha256.Size

// header is the first line of a log.
type header struct {
	Version int    `json:"cartagent"`
	Session string `json:"session"`
	Cwd     string `json:"cwd"`
	Created string `json:"created"`
}

func headerLine(info Info) ([]byte, error) {
	h := header{
		Version: format, Session: info.ID, Cwd: info.Cwd,
		Created: info.Created.UTC().Format(time.RFC3339Nano),
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(h); err != nil {
		return nil, fmt.Errorf("encoding the header of session %s: %w", info.ID, err)
	}
	return buf.Bytes(), nil
}

// record is one line of a log, as it is read.
type record struct {
	N       int             `json:"n"`
	At      string          `json:"at"`
	Kind    string          `json:"kind"`
	Body    json.RawMessage `json:"body"`
	Hash    string          `json:"hash"`
	BodySum string          `json:"body_sha256"`
	// Outline is what a redacted record shows in place of its body. Nothing proves it.
	Outline json.RawMessage `json:"outline"`
	// Blobs are those that the body names, where the log is one self-contained file: their base64 by their names.
	Blobs map[string]string `json:"blobs"`
}

// whole says whether r has all that a record needs.
func (r *record) whole() bool {
	return r.N > 0 && r.Kind != "" && len(r.Hash) == hashLen && r.Body != nil
}

// chainText builds the lines that a record's hash is the hash of. sum is the hash of its body.
func chainText(dst []byte, prev string, r *record, sum []byte) []byte {
	dst = append(append(dst, prev...), '\n')
	dst = append(strconv.AppendInt(dst, int64(r.N), 10), '\n')
	dst = append(append(dst, r.At...), '\n')
	dst = append(append(dst, r.Kind...), '\n')
	return append(append(dst, sum...), '\n')
}

// redacted says whether the body was taken out. The chain still proves what it was.
func (r *record) redacted() bool { return r.BodySum != "" && bytes.Equal(r.Body, []byte("null")) }

// fits says whether the record's hash follows from prev and from what the record holds.
func (r *record) fits(prev string) bool {
	var text [256]byte
	var digits [hashLen]byte
	bodySum := digits[:]
	if r.redacted() {
		bodySum = []byte(r.BodySum)
	} else {
		sum := sha256.Sum256(r.Body)
		hex.Encode(bodySum, sum[:])
	}
	sum := sha256.Sum256(chainText(text[:0], prev, r, bodySum))
	hex.Encode(digits[:], sum[:])
	return r.Hash == string(digits[:])
}

// plain reads a line that is laid out exactly as writer.add does it, and says whether it is. Then the line is a record
// if Body is JSON, which is not checked here, and json.Unmarshal would read the same. Strings that r holds already are
// used again; Body is a part of line. When it is not plain, r stays as it was.
func (r *record) plain(line []byte) bool {
	const (
		start = `{"n":`
		at    = `,"at":"`
		kind  = `","kind":"`
		body  = `","body":`
		hash  = `,"hash":"`
		end   = `"}`
	)
	rest, ok := bytes.CutPrefix(line, []byte(start))
	n := 0
	for len(rest) > 0 && '0' <= rest[0] && rest[0] <= '9' && n < math.MaxInt/10-1 {
		n, rest = n*10+int(rest[0]-'0'), rest[1:]
	}
	if !ok || n == 0 || line[len(start)] == '0' {
		return false
	}
	if rest, ok = bytes.CutPrefix(rest, []byte(at)); !ok {
		return false
	}
	when, rest, ok := cutSimple(rest, kind)
	if !ok {
		return false
	}
	name, rest, ok := cutSimple(rest, body)
	if !ok || len(name) == 0 {
		return false
	}
	i := len(rest) - len(hash) - hashLen - len(end)
	if i < 2 || rest[0] != '{' || rest[i-1] != '}' || string(rest[i:i+len(hash)]) != hash {
		return false
	}
	sum, tail, ok := cutSimple(rest[i+len(hash):], end)
	if !ok || len(sum) != hashLen || len(tail) != 0 {
		return false
	}
	*r = record{N: n, At: r.At, Kind: r.Kind, Body: rest[:i:i], Hash: string(sum)}
	if string(when) != r.At {
		r.At = string(when)
	}
	if string(name) != r.Kind {
		r.Kind = string(name)
	}
	return true
}

// cutSimple cuts text at sep, which begins with a quote. What is before it must need no decoding.
func cutSimple(text []byte, sep string) (before, after []byte, ok bool) {
	i := 0
	for i < len(text) && text[i] != '"' {
		if c := text[i]; c < ' ' || c == '\\' || c >= 0x7f {
			return nil, nil, false
		}
		i++
	}
	after, ok = bytes.CutPrefix(text[i:], []byte(sep))
	return text[:i], after, ok
}

// input decodes the record, whose body is given with its payloads in place. What cannot be decoded becomes a
// loop.Unknown, with the reason.
func (r *record) input(body []byte) (loop.Input, error) {
	if r.redacted() {
		return loop.Unknown{Kind: r.Kind, Body: bytes.Clone(r.Body)}, nil
	}
	in, err := loop.DecodeInput(r.Kind, body)
	if err != nil {
		return loop.Unknown{Kind: r.Kind, Body: bytes.Clone(body)}, err
	}
	return in, nil
}

// chain is where a log stands: the number and the hash of its last record. Before the first record the hash is that
// of the header.
type chain struct {
	n    int
	hash string
}

// writer builds records. Its buffers are used again and again.
type writer struct {
	chain
	out  []byte
	text []byte
	hex  []byte
	// payloads are the blobs that the lines in out name.
	payloads []payload
}

// add builds the line of one input behind those that are in w.out already.
func (w *writer) add(in loop.Input, at string) error {
	kind, body, err := loop.EncodeInput(in)
	if err != nil {
		return err
	}
	if _, foreign := in.(loop.Unknown); foreign {
		if body, err = oneLine(kind, body); err != nil {
			return err
		}
	}
	body, payloads := split(body)
	w.payloads = append(w.payloads, payloads...)
	n := w.n + 1
	sum := sha256.Sum256(body)
	w.hex = hex.AppendEncode(w.hex[:0], sum[:])
	w.text = chainText(w.text[:0], w.hash, &record{N: n, At: at, Kind: kind}, w.hex)
	sum = sha256.Sum256(w.text)

	o := append(w.out, `{"n":`...)
	o = strconv.AppendInt(o, int64(n), 10)
	o = append(o, `,"at":"`...)
	o = append(o, at...)
	o = append(o, `","kind":`...)
	if o, err = appendString(o, kind); err != nil {
		return err
	}
	o = append(o, `,"body":`...)
	o = append(o, body...)
	o = append(o, `,"hash":"`...)
	o = hex.AppendEncode(o, sum[:])
	w.out = append(o, '"', '}', '\n')
	w.chain = chain{n: n, hash: string(w.out[len(w.out)-hashLen-3 : len(w.out)-3])}
	return nil
}

// oneLine checks and compacts what did not come from this build's own encoder.
func oneLine(kind string, body json.RawMessage) (json.RawMessage, error) {
	if kind == "" {
		return nil, fmt.Errorf("encoding an input: it has no kind")
	}
	var buf bytes.Buffer
	if err := json.Compact(&buf, body); err != nil {
		return nil, fmt.Errorf("encoding an input of kind %q: %w", kind, err)
	}
	return buf.Bytes(), nil
}

// appendString writes s as a JSON string. Names of kinds are plain letters as a rule.
func appendString(dst []byte, s string) ([]byte, error) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			quoted, err := json.Marshal(s)
			if err != nil {
				return dst, fmt.Errorf("encoding the kind %q: %w", s, err)
			}
			return append(dst, quoted...), nil
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"'), nil
}

// sumOf is the hex SHA-256 of b.
func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
