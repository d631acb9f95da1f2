package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// document is a JSON file that a person wrote. It is read strictly: everything that is wrong with it is collected, each
// with the path of its entry.
type document struct {
	name string // the file
	errs []error
}

// fields are the keys that an object may have, and what reads them.
type fields map[string]func(path string, raw json.RawMessage)

func (d *document) wrong(path, format string, args ...any) {
	where := d.name
	if path != "" {
		where += ": " + path
	}
	d.errs = append(d.errs, fmt.Errorf("%s: %w", where, fmt.Errorf(format, args...)))
}

func (d *document) err() error { return errors.Join(d.errs...) }

// readDocument reads the file and hands its value to read. A file that may be missing, and is, has no value.
func readDocument(file string, optional bool, read func(*document, json.RawMessage)) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && optional {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}
	d := &document{name: file}
	d.read(data, read)
	return d.err()
}

func (d *document) read(data []byte, read func(*document, json.RawMessage)) {
	data = bytes.TrimPrefix(data, []byte(bom))
	dec := json.NewDecoder(bytes.NewReader(data))
	var raw json.RawMessage
	err := dec.Decode(&raw)
	if err == nil {
		if _, more := dec.Token(); !errors.Is(more, io.EOF) {
			d.wrong("", "there is more than one JSON value in it")
			return
		}
		read(d, raw)
		return
	}
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		d.wrong("", "it is not valid JSON at byte %d: %w", syntax.Offset, err)
	case errors.Is(err, io.EOF):
		d.wrong("", "it is empty; it must be a JSON object, {} at least")
	default:
		d.wrong("", "it is not valid JSON: it ends too early")
	}
}

// bom is what some editors put before a text.
const bom = "\ufeff"

// object reads an object that has those keys and no others. A key whose value is null is as good as none.
func (d *document) object(path string, raw json.RawMessage, known fields) {
	d.each(path, raw, func(key, at string, raw json.RawMessage) {
		read, ok := known[key]
		switch {
		case !ok:
			d.wrong(path, "the key %q is not known (did you mean %q?)", key, nearest(key, slices.Sorted(maps.Keys(known))))
		case string(raw) != "null":
			read(at, raw)
		}
	})
}

// each reads an object whose keys are the person's own.
func (d *document) each(path string, raw json.RawMessage, read func(key, path string, raw json.RawMessage)) {
	list, err := members(raw)
	if err != nil {
		d.wrong(path, "must be an object, not %s", kindOf(raw))
		return
	}
	seen := make(map[string]bool)
	for _, m := range list {
		if seen[m.key] {
			d.wrong(path, "the key %q is there twice", m.key)
			continue
		}
		seen[m.key] = true
		read(m.key, below(path, m.key), m.value)
	}
}

// list reads a list.
func (d *document) list(path string, raw json.RawMessage, read func(i int, path string, raw json.RawMessage)) {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		d.wrong(path, "must be a list, not %s", kindOf(raw))
		return
	}
	for i, entry := range all {
		read(i, fmt.Sprintf("%s[%d]", path, i), entry)
	}
}

// text reads a string.
func (d *document) text(path string, raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil || string(raw) == "null" {
		hint := ""
		if kind := kindOf(raw); kind == "a number" || kind == "a boolean" {
			hint = "; put it in quotes"
		}
		d.wrong(path, "must be a string, not %s%s", kindOf(raw), hint)
	}
	return s
}

func (d *document) texts(path string, raw json.RawMessage) []string {
	var out []string
	d.list(path, raw, func(_ int, path string, raw json.RawMessage) { out = append(out, d.text(path, raw)) })
	return out
}

func (d *document) textMap(path string, raw json.RawMessage) map[string]string {
	out := make(map[string]string)
	d.each(path, raw, func(key, path string, raw json.RawMessage) { out[key] = d.text(path, raw) })
	return out
}

func (d *document) yes(path string, raw json.RawMessage) bool {
	var b bool
	if json.Unmarshal(raw, &b) != nil {
		d.wrong(path, "must be true or false, not %s", kindOf(raw))
	}
	return b
}

// strictly decodes a value whose type says by itself which keys it has.
func strictly[T any](d *document, path string, raw json.RawMessage) (v T) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	err := dec.Decode(&v)
	if err == nil {
		return v
	}
	var wrongType *json.UnmarshalTypeError
	key, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	switch {
	case errors.As(err, &wrongType) && wrongType.Field != "":
		d.wrong(path+"."+wrongType.Field, "must not be a %s", wrongType.Value)
	case errors.As(err, &wrongType):
		d.wrong(path, "must not be a %s", wrongType.Value)
	case unknown:
		key = strings.Trim(key, `"`)
		d.wrong(path, "the key %q is not known (did you mean %q?)", key, nearest(key, jsonKeys(reflect.TypeFor[T]())))
	default:
		d.wrong(path, "%w", err)
	}
	return v
}

// jsonKeys are the keys of a struct, those of the structs in it too.
func jsonKeys(t reflect.Type) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var out []string
	for field := range t.Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			out = append(append(out, name), jsonKeys(field.Type)...)
		}
	}
	return out
}

// below is the path of a key in the object at path.
func below(path, key string) string {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune(" _-", r)
	}
	if key == "" || key[0] == ' ' || strings.ContainsFunc(key, odd) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

func kindOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// member is one key of an object. The offsets are those in the object's own bytes.
type member struct {
	key        string
	value      json.RawMessage
	start, end int // from the key's first quote to behind the value
	at         int // where the value begins
}

// members takes an object apart, in its order. It is an error where data is no object.
func members(data []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, errors.New("it is no object")
	}
	var out []member
	for dec.More() {
		from := int(dec.InputOffset())
		m := member{start: from + bytes.IndexByte(data[from:], '"')}
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m.key, _ = name.(string) // the syntax of JSON says so
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		m.end = int(dec.InputOffset())
		m.at = m.end - len(m.value)
		out = append(out, m)
	}
	return out, nil
}

// nearest is the word that is written most like the key.
func nearest(key string, known []string) string {
	return slices.MinFunc(known, func(a, b string) int { return cmp.Compare(distance(key, a), distance(key, b)) })
}

// distance is the edit distance of two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
