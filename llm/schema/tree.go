package schema

import (
	"bytes"
	"encoding/json"
	"strings"
)

// object is a JSON object that keeps the order of its members: servers put first what matters.
type object struct {
	keys   []string
	values map[string]any
}

func newObject() *object { return &object{values: map[string]any{}} }

func (o *object) get(key string) (any, bool) {
	v, ok := o.values[key]
	return v, ok
}

func (o *object) set(key string, v any) {
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	o.values[key] = v
}

// remove is for objects that nobody else holds.
func (o *object) remove(key string) {
	if _, there := o.values[key]; !there {
		return
	}
	delete(o.values, key)
	kept := make([]string, 0, len(o.keys)-1)
	for _, k := range o.keys {
		if k != key {
			kept = append(kept, k)
		}
	}
	o.keys = kept
}

// clone copies the object, not what is in it.
func (o *object) clone() *object {
	out := newObject()
	for _, k := range o.keys {
		out.set(k, o.values[k])
	}
	return out
}

// parse reads JSON as nil, bool, json.Number, string, []any and *object. What is no JSON is nil.
func parse(raw []byte) any {
	if !json.Valid(raw) { // which bounds its depth too
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return next(d)
}

func next(d *json.Decoder) any {
	token, err := d.Token()
	if err != nil {
		return nil
	}
	switch token {
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, next(d))
		}
		_, _ = d.Token()
		return list
	case json.Delim('{'):
		o := newObject()
		for d.More() {
			key, _ := next(d).(string)
			o.set(key, next(d))
		}
		_, _ = d.Token()
		return o
	}
	return token
}

// text writes what parse reads, with < and > as they are.
func text(v any) []byte {
	var w writer
	w.enc = json.NewEncoder(&w.out)
	w.enc.SetEscapeHTML(false)
	w.value(v)
	return w.out.Bytes()
}

type writer struct {
	out bytes.Buffer
	enc *json.Encoder
}

func (w *writer) value(v any) {
	switch v := v.(type) {
	case *object:
		w.out.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				w.out.WriteByte(',')
			}
			w.scalar(k)
			w.out.WriteByte(':')
			w.value(v.values[k])
		}
		w.out.WriteByte('}')
	case []any:
		w.out.WriteByte('[')
		for i, x := range v {
			if i > 0 {
				w.out.WriteByte(',')
			}
			w.value(x)
		}
		w.out.WriteByte(']')
	default:
		w.scalar(v)
	}
}

func (w *writer) scalar(v any) {
	if w.enc.Encode(v) != nil {
		w.out.WriteString("null")
		return
	}
	w.out.Truncate(w.out.Len() - 1) // the encoder ends each value with a newline
}

func unescape(s string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(s) }
