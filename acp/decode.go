package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// decodeParams decodes the params of a request or notification. Its error is an invalid-params one whose message
// names the field, as in "params/cwd: must be an absolute path". Absent params count as an empty object.
func decodeParams[T any](raw json.RawMessage) (*T, error) {
	out := new(T)
	if raw = trim(raw); len(raw) == 0 || isNull(raw) {
		raw = json.RawMessage("{}")
	}
	if err := decodeAny("params", raw, out, 0); err != nil {
		return nil, InvalidParams("%s", err.Error())
	}
	return out, nil
}

// decodeResult decodes the result of a request. null, which some peers send where {} is meant, counts as {}.
func decodeResult[T any](raw json.RawMessage) (*T, error) {
	out := new(T)
	if err := decodeInto(raw, out); err != nil {
		return nil, err
	}
	return out, nil
}

// decodeInto is [decodeResult] into what result points at.
func decodeInto(raw json.RawMessage, result any) error {
	if raw = trim(raw); len(raw) == 0 || isNull(raw) {
		raw = json.RawMessage("{}")
	}
	if err := decodeAny("result", raw, result, 0); err != nil {
		return fmt.Errorf("decoding what the peer answered: %w", err)
	}
	return nil
}

// unmarshal is what UnmarshalJSON is made of. As usual there, null changes nothing, except where it is a value.
func unmarshal(raw []byte, into any) error {
	_, isID := into.(*RequestID)
	_, isOpt := into.(settable)
	if isNull(raw) && !isID && !isOpt {
		return nil
	}
	name := reflect.TypeOf(into).Elem().Name()
	if before, _, generic := strings.Cut(name, "["); generic {
		name = before
	}
	return decodeAny(path(name), trim(raw), into, 0)
}

func trim(raw json.RawMessage) json.RawMessage {
	start, end := skipSpace(raw, 0), len(raw)
	for end > start && skipSpace(raw[end-1:end], 0) == 1 {
		end--
	}
	return raw[start:end]
}

// errStop ends a walk early.
var errStop = errors.New("stop")

// path says where a value is, as in params/prompt/0/type.
type path string

func (p path) to(name string) path { return p + "/" + path(name) }
func (p path) at(i int) path       { return p + "/" + path(strconv.Itoa(i)) }

func (p path) fault(format string, args ...any) error {
	return errors.New(string(p) + ": " + fmt.Sprintf(format, args...))
}

// wrap says where the scanner failed; other errors say it already.
func (p path) wrap(err error) error {
	if errors.Is(err, errBadJSON) {
		return p.fault("bad JSON")
	}
	return err
}

func (p path) expected(what string, raw json.RawMessage) error {
	return p.fault("expected %s, got %s", what, kindOf(raw))
}

// decodeAny decodes raw into what into points at.
func decodeAny(p path, raw json.RawMessage, into any, how leniency) error {
	return decodeValue(p, raw, reflect.ValueOf(into).Elem(), how)
}

func decodeValue(p path, raw json.RawMessage, v reflect.Value, how leniency) error {
	if v.CanAddr() {
		switch target := v.Addr().Interface().(type) {
		case *json.RawMessage:
			if !json.Valid(raw) {
				return p.fault("bad JSON")
			}
			*target = slices.Clone(raw)
			return nil
		case *RequestID:
			return decodeID(p, raw, target)
		case settable:
			return target.decode(p, raw, how)
		}
	}
	switch v.Kind() { //nolint:exhaustive // the kinds that the types of the protocol are made of
	case reflect.Pointer:
		if isNull(raw) {
			v.SetZero()
			return nil
		}
		fresh := reflect.New(v.Type().Elem())
		if err := decodeValue(p, raw, fresh.Elem(), how); err != nil {
			return err
		}
		v.Set(fresh)
		return nil
	case reflect.Interface:
		return decodeUnion(p, raw, v)
	case reflect.Struct:
		return decodeStruct(p, raw, v)
	case reflect.Slice:
		return decodeList(p, raw, v, how)
	case reflect.Map:
		return decodeMap(p, raw, v)
	case reflect.String:
		return decodeString(p, raw, v, how)
	}
	return decodeScalar(p, raw, v)
}

func decodeString(p path, raw json.RawMessage, v reflect.Value, how leniency) error {
	if kindOf(raw) != "string" {
		return p.expected("string", raw)
	}
	s, err := unquote(raw)
	if err != nil {
		return p.fault("bad JSON")
	}
	if how&abs != 0 && !filepath.IsAbs(s) {
		return p.fault("must be an absolute path")
	}
	v.SetString(s)
	if closed, ok := reflect.TypeAssert[interface{ known() bool }](v); ok && !closed.known() {
		return p.fault("unknown value %s", shorten(strconv.Quote(s)))
	}
	return nil
}

func shorten(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}

func decodeScalar(p path, raw json.RawMessage, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Bool:
		if s := string(raw); s != "true" && s != "false" {
			return p.expected("boolean", raw)
		}
		v.SetBool(raw[0] == 't')
	case reflect.Int, reflect.Int64:
		n, err := parseInteger(raw)
		if err != nil {
			return integerFault(p, raw, err)
		}
		v.SetInt(n)
	case reflect.Uint32, reflect.Uint64:
		n, err := parseUnsigned(raw)
		if err == nil && v.OverflowUint(n) {
			err = strconv.ErrRange
		}
		if err != nil {
			return integerFault(p, raw, err)
		}
		v.SetUint(n)
	case reflect.Float64:
		if !isNumber(raw) {
			return p.expected("number", raw)
		}
		n, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			return p.fault("%s is out of range", kindOf(raw))
		}
		v.SetFloat(n)
	default:
		panic("acp: no decoder for " + v.Type().String())
	}
	return nil
}

func integerFault(p path, raw json.RawMessage, err error) error {
	if errors.Is(err, strconv.ErrRange) {
		return p.fault("%s is out of range", kindOf(raw))
	}
	return p.expected("integer", raw)
}

func isNumber(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') && json.Valid(raw)
}

// parseInteger reads an integer of 64 bits. 1.0 and 1e3 are integers too.
func parseInteger(raw json.RawMessage) (int64, error) {
	if !isNumber(raw) {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if errors.Is(err, strconv.ErrSyntax) {
		return wholeFloat(raw)
	}
	return n, err
}

func parseUnsigned(raw json.RawMessage) (uint64, error) {
	if !isNumber(raw) {
		return 0, strconv.ErrSyntax
	}
	n, err := strconv.ParseUint(string(raw), 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) {
		return n, err
	}
	signed, err := parseInteger(raw)
	if err == nil && signed < 0 {
		err = strconv.ErrRange
	}
	return uint64(max(signed, 0)), err
}

func wholeFloat(raw json.RawMessage) (int64, error) {
	const exact = 1 << 53 // beyond it a float does not tell integers apart
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil || f > exact || f < -exact:
		return 0, strconv.ErrRange
	case f != float64(int64(f)):
		return 0, strconv.ErrSyntax
	}
	return int64(f), nil
}

func decodeID(p path, raw json.RawMessage, id *RequestID) error {
	switch {
	case isNull(raw):
		*id = RequestID{}
	case kindOf(raw) == "string":
		s, err := unquote(raw)
		if err != nil {
			return p.fault("bad JSON")
		}
		*id = StringID(s)
	default:
		n, err := parseInteger(raw)
		if err != nil {
			return integerFault(p, raw, err)
		}
		*id = NumberID(n)
	}
	return nil
}
