package acp

import "encoding/json"

// Opt is a field of a patch. Its zero value is absent: what it stands for stays as it is. Else it is a value, or null,
// which clears. It is comparable where T is.
type Opt[T any] struct {
	set  bool
	null bool
	val  T
}

// Some is the [Opt] that holds v.
func Some[T any](v T) Opt[T] { return Opt[T]{set: true, val: v} }

// Null is the [Opt] that clears.
func Null[T any]() Opt[T] { return Opt[T]{set: true, null: true} }

// IsZero reports whether the field is absent.
func (o Opt[T]) IsZero() bool { return !o.set }

// IsNull reports whether the field is null.
func (o Opt[T]) IsNull() bool { return o.null }

// Get returns the value and whether there is one; there is none if the field is absent or null.
func (o Opt[T]) Get() (T, bool) { return o.val, o.set && !o.null }

// MarshalJSON implements [encoding/json.Marshaler].
func (o Opt[T]) MarshalJSON() ([]byte, error) { return marshal(o) }

// UnmarshalJSON implements [encoding/json.Unmarshaler].
func (o *Opt[T]) UnmarshalJSON(b []byte) error { return unmarshal(b, o) }

// optional is what the codec needs of an Opt.
type optional interface {
	IsNull() bool
	value() any
}

// settable is what the codec needs of a pointer to an Opt.
type settable interface {
	decode(p path, raw json.RawMessage, how leniency) error
}

func (o Opt[T]) value() any { return o.val }

func (o *Opt[T]) decode(p path, raw json.RawMessage, how leniency) error {
	if isNull(raw) {
		*o = Null[T]()
		return nil
	}
	var v T
	if err := decodeAny(p, raw, &v, how); err != nil {
		return err
	}
	*o = Some(v)
	return nil
}
