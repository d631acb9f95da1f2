package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// marshal is what MarshalJSON is made of: one line of JSON, with a union's variant named and nothing escaped that
// need not be. A required field that is nil is an error, or [] if it is a list.
func marshal(v any) ([]byte, error) {
	switch n := v.(type) {
	case SessionNotification:
		return n.appendTo(nil)
	case *SessionNotification:
		return n.appendTo(nil)
	}
	return appendVariant(nil, reflect.ValueOf(v))
}

// appendVariant appends a value that may be a variant of a union, with its name.
func appendVariant(dst []byte, v reflect.Value) ([]byte, error) {
	if tag, ok := tags()[v.Type()]; ok {
		return appendTagged(dst, v, tag)
	}
	return appendValue(dst, v)
}

// appendTagged appends a variant's object, beginning with its name; a raw one is what came in.
func appendTagged(dst []byte, v reflect.Value, tag tag) ([]byte, error) {
	if tag.raw {
		if v.Field(1).Len() == 0 {
			return nil, fmt.Errorf("encoding JSON: a %s has no Raw", v.Type().Name())
		}
		return appendRaw(dst, v.Field(1).Bytes())
	}
	dst = append(dst, '{')
	dst = appendTag(dst, tag)
	return appendFields(dst, v)
}

func appendTag(dst []byte, tag tag) []byte {
	if tag.name == "" {
		return dst
	}
	dst = append(dst, '"')
	dst = append(dst, tag.key...)
	dst = append(dst, `":"`...)
	dst = append(dst, tag.name...)
	return append(dst, '"')
}

func appendValue(dst []byte, v reflect.Value) ([]byte, error) {
	switch value := v.Interface().(type) {
	case json.RawMessage:
		return appendRaw(dst, value)
	case RequestID:
		return value.appendJSON(dst), nil
	case optional:
		if value.IsNull() {
			return append(dst, "null"...), nil
		}
		return appendValue(dst, reflect.ValueOf(value.value()))
	}
	switch v.Kind() { //nolint:exhaustive // the kinds that the types of the protocol are made of
	case reflect.Pointer:
		if v.IsNil() {
			return append(dst, "null"...), nil
		}
		return appendValue(dst, v.Elem())
	case reflect.Interface:
		if v.IsNil() {
			return nil, fmt.Errorf("encoding JSON: a %s is missing", v.Type().Name())
		}
		return appendInterface(dst, v)
	case reflect.Struct:
		return appendFields(append(dst, '{'), v)
	case reflect.Slice:
		return appendList(dst, v)
	case reflect.Map:
		return appendMap(dst, v)
	}
	return appendScalar(dst, v)
}

// appendInterface appends a variant as one of the union it stands in.
func appendInterface(dst []byte, v reflect.Value) ([]byte, error) {
	inner := v.Elem()
	if inner.Kind() == reflect.Pointer {
		if inner.IsNil() {
			return nil, fmt.Errorf("encoding JSON: a %s is a nil %s", v.Type().Name(), inner.Type())
		}
		inner = inner.Elem()
	}
	return appendVariant(dst, inner)
}

func appendScalar(dst []byte, v reflect.Value) ([]byte, error) {
	switch v.Kind() { //nolint:exhaustive // the rest is handled by appendValue
	case reflect.String:
		return appendString(dst, v.String()), nil
	case reflect.Bool:
		return strconv.AppendBool(dst, v.Bool()), nil
	case reflect.Int, reflect.Int64:
		return strconv.AppendInt(dst, v.Int(), 10), nil
	case reflect.Uint32, reflect.Uint64:
		return strconv.AppendUint(dst, v.Uint(), 10), nil
	case reflect.Float64:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, errors.New("encoding JSON: " + strconv.FormatFloat(f, 'g', -1, 64) + " is no number in JSON")
		}
		return strconv.AppendFloat(dst, f, 'g', -1, 64), nil
	}
	panic("acp: no encoder for " + v.Type().String())
}

// appendRaw appends JSON made elsewhere, without its spaces and line ends.
func appendRaw(dst []byte, raw []byte) ([]byte, error) {
	if len(raw) == 0 {
		return append(dst, "null"...), nil
	}
	line := bytes.NewBuffer(dst)
	if err := json.Compact(line, raw); err != nil {
		return nil, fmt.Errorf("encoding JSON: a raw value: %w", err)
	}
	return line.Bytes(), nil
}

// appendFields appends the fields of a struct and closes the object that dst ends in.
func appendFields(dst []byte, v reflect.Value) ([]byte, error) {
	for _, f := range fieldsOf(v.Type()).list {
		value := v.Field(f.index)
		var err error
		switch {
		case f.how&flat != 0:
			dst, err = appendFlat(dst, v, value)
		case !f.required && isAbsent(value):
		default:
			dst = appendKey(dst, f.name)
			dst, err = appendValue(dst, value)
		}
		if err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

func isAbsent(v reflect.Value) bool {
	if v.Kind() == reflect.Map {
		return v.IsNil() || v.Type() == reflect.TypeFor[map[string]json.RawMessage]() && v.Len() == 0
	}
	return v.IsZero()
}

func appendKey(dst []byte, key string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = appendString(dst, key)
	return append(dst, ':')
}

// appendFlat appends the fields of a variant into the object of its owner.
func appendFlat(dst []byte, owner, v reflect.Value) ([]byte, error) {
	if v.IsNil() {
		return nil, fmt.Errorf("encoding JSON: %s has no %s", owner.Type().Name(), v.Type().Name())
	}
	inner := v.Elem()
	tag := tags()[inner.Type()]
	if tag.raw {
		return appendOthers(dst, owner, inner.Field(1).Bytes())
	}
	var part []byte
	part, err := appendTagged(part, inner, tag)
	if err != nil {
		return nil, err
	}
	if part = part[1 : len(part)-1]; len(part) == 0 {
		return dst, nil
	}
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(dst, part...), nil
}

// appendOthers appends those members of a raw variant that its owner has no fields for.
func appendOthers(dst []byte, owner reflect.Value, raw []byte) ([]byte, error) {
	if !json.Valid(raw) {
		return nil, fmt.Errorf("encoding JSON: the raw value of a %s is not valid", owner.Type().Name())
	}
	taken := takenKeys(owner)
	err := eachMember(raw, func(key string, value json.RawMessage) error {
		if slices.Contains(taken, key) {
			return nil
		}
		var err error
		dst, err = appendRaw(appendKey(dst, key), value)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("encoding JSON: the raw value of a %s: %w", owner.Type().Name(), err)
	}
	return dst, nil
}

// takenKeys are the keys that a struct writes itself, those of its flat fields included.
func takenKeys(owner reflect.Value) []string {
	var keys []string
	for _, f := range fieldsOf(owner.Type()).list {
		if f.how&flat == 0 {
			keys = append(keys, f.name)
			continue
		}
		inner := owner.Field(f.index).Elem()
		if inner.IsValid() && !tags()[inner.Type()].raw {
			keys = append(keys, takenKeys(inner)...)
		}
	}
	return keys
}

func appendList(dst []byte, v reflect.Value) ([]byte, error) {
	dst = append(dst, '[')
	for i := range v.Len() {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, v.Index(i)); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendMap(dst []byte, v reflect.Value) ([]byte, error) {
	keys := make([]string, 0, v.Len())
	for _, key := range v.MapKeys() {
		keys = append(keys, key.String())
	}
	slices.Sort(keys)
	dst = append(dst, '{')
	for _, key := range keys {
		var err error
		dst = appendKey(dst, key)
		if dst, err = appendValue(dst, v.MapIndex(reflect.ValueOf(key))); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendTo appends the notification. A chunk of plain text, of which a turn has thousands, is written by hand.
func (n SessionNotification) appendTo(dst []byte) ([]byte, error) {
	var kind string
	var message *MessageID
	var content ContentBlock
	var meta int
	switch u := n.Update.(type) {
	case AgentMessageChunk:
		kind, message, content, meta = "agent_message_chunk", u.MessageID, u.Content, len(u.Meta)
	case AgentThoughtChunk:
		kind, message, content, meta = "agent_thought_chunk", u.MessageID, u.Content, len(u.Meta)
	case UserMessageChunk:
		kind, message, content, meta = "user_message_chunk", u.MessageID, u.Content, len(u.Meta)
	default:
		return appendValue(dst, reflect.ValueOf(n))
	}
	text, ok := content.(TextContent)
	if !ok || text.Annotations != nil || len(text.Meta)+len(n.Meta)+meta > 0 {
		return appendValue(dst, reflect.ValueOf(n))
	}
	dst = slices.Grow(dst, len(text.Text)+len(n.SessionID)+len(kind)+160)
	dst = append(dst, `{"sessionId":`...)
	dst = appendString(dst, string(n.SessionID))
	dst = append(dst, `,"update":{"sessionUpdate":"`...)
	dst = append(dst, kind...)
	dst = append(dst, '"')
	if message != nil {
		dst = append(dst, `,"messageId":`...)
		dst = appendString(dst, string(*message))
	}
	dst = append(dst, `,"content":{"type":"text","text":`...)
	dst = appendString(dst, text.Text)
	return append(dst, `}}}`...), nil
}
