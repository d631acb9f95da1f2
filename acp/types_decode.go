package acp

import (
	"encoding/json"
	"reflect"
	"slices"
)

// decodeStruct decodes an object by the tags of v's fields. Keys count as they are written, unknown ones do not.
func decodeStruct(p path, raw json.RawMessage, v reflect.Value) error {
	if kindOf(raw) != "object" {
		return p.expected("object", raw)
	}
	if tag := tags()[v.Type()]; tag.raw {
		return decodeRaw(p, raw, v, tag.key)
	}
	set := fieldsOf(v.Type())
	values := make([]json.RawMessage, len(set.list))
	err := eachMember(raw, func(key string, value json.RawMessage) error {
		if i, ok := set.byName[key]; ok {
			values[i] = value
		}
		return nil
	})
	if err != nil {
		return p.wrap(err)
	}
	for i, f := range set.list {
		if f.how&flat != 0 {
			if err := decodeUnion(p, raw, v.Field(f.index)); err != nil {
				return err
			}
			continue
		}
		if err := decodeField(p.to(f.name), values[i], f, v.Field(f.index)); err != nil {
			return err
		}
	}
	return nil
}

func decodeField(p path, raw json.RawMessage, f field, v reflect.Value) error {
	forgiving := f.how&lenient != 0
	switch {
	case raw == nil && f.required && f.how&absent == 0:
		return p.fault("is required")
	case raw == nil:
		return nil
	case isNull(raw) && (!f.required || forgiving || f.how&null != 0) && !isOpt(v):
		return nil
	}
	fresh := reflect.New(v.Type()).Elem()
	err := decodeValue(p, raw, fresh, f.how)
	if err != nil && forgiving {
		return nil // the schema says that a malformed value of this field counts as absent
	}
	if err == nil {
		v.Set(fresh)
	}
	return err
}

func isOpt(v reflect.Value) bool {
	_, ok := reflect.TypeAssert[settable](v.Addr())
	return ok
}

func decodeList(p path, raw json.RawMessage, v reflect.Value, how leniency) error {
	if kindOf(raw) != "array" {
		return p.expected("array", raw)
	}
	list := reflect.MakeSlice(v.Type(), 0, 0)
	i := 0
	err := eachItem(raw, func(item json.RawMessage) error {
		one := reflect.New(v.Type().Elem()).Elem()
		err := decodeValue(p.at(i), item, one, how&abs)
		i++
		if err != nil && how&skip != 0 {
			return nil // the schema says that malformed members of this list are dropped
		}
		if err == nil {
			list = reflect.Append(list, one)
		}
		return err
	})
	if err != nil {
		return p.wrap(err)
	}
	v.Set(list)
	return nil
}

func decodeMap(p path, raw json.RawMessage, v reflect.Value) error {
	if kindOf(raw) != "object" {
		return p.expected("object", raw)
	}
	all := reflect.MakeMap(v.Type())
	err := eachMember(raw, func(key string, value json.RawMessage) error {
		one := reflect.New(v.Type().Elem()).Elem()
		if err := decodeValue(p.to(shorten(key)), value, one, 0); err != nil {
			return err
		}
		all.SetMapIndex(reflect.ValueOf(key), one)
		return nil
	})
	if err != nil {
		return p.wrap(err)
	}
	v.Set(all)
	return nil
}

// decodeUnion decodes the variant that raw is into the interface v.
func decodeUnion(p path, raw json.RawMessage, v reflect.Value) error {
	u := unionOf(v.Type())
	if u == nil {
		panic("acp: no union for " + v.Type().String())
	}
	typ, err := u.pick(p, raw)
	if err != nil {
		return err
	}
	one := reflect.New(typ).Elem()
	if err := decodeValue(p, raw, one, 0); err != nil {
		return err
	}
	v.Set(one)
	return nil
}

// decodeRaw keeps a variant as it came.
func decodeRaw(p path, raw json.RawMessage, v reflect.Value, key string) error {
	if !json.Valid(raw) {
		return p.fault("bad JSON")
	}
	name, err := unquote(member(raw, key))
	if err != nil {
		return p.to(key).fault("is required")
	}
	v.Field(0).SetString(name)
	v.Field(1).SetBytes(slices.Clone(raw))
	return nil
}

// pick says which variant raw is.
func (u *union) pick(p path, raw json.RawMessage) (reflect.Type, error) {
	if u.custom != nil {
		typ, expected := u.custom(raw)
		if typ == nil {
			return nil, p.expected(expected, raw)
		}
		return typ, nil
	}
	if kindOf(raw) != "object" {
		return nil, p.expected("object", raw)
	}
	if u.key == "" {
		return u.pickByMember(p, raw)
	}
	tag := member(raw, u.key)
	switch {
	case tag == nil && u.bare != nil:
		return u.bare, nil
	case tag == nil:
		return nil, p.to(u.key).fault("is required")
	case kindOf(tag) != "string":
		return nil, p.to(u.key).expected("string", tag)
	}
	name, err := unquote(tag)
	if err != nil {
		return nil, p.to(u.key).fault("bad JSON")
	}
	if typ, ok := u.named(name); ok {
		return typ, nil
	}
	if u.rest != nil {
		return u.rest, nil
	}
	return u.raw, nil
}

// pickByMember says which variant raw is by the members it has. A null one counts if there is no other.
func (u *union) pickByMember(p path, raw json.RawMessage) (reflect.Type, error) {
	var found reflect.Type
	for _, v := range u.byMember {
		value := member(raw, v.name)
		if value != nil && !isNull(value) {
			return v.typ, nil
		}
		if value != nil {
			found = v.typ
		}
	}
	if found == nil {
		return nil, p.fault("needs %s or %s", u.byMember[0].name, u.byMember[1].name)
	}
	return found, nil
}
