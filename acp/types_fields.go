package acp

import (
	"reflect"
	"strings"
	"sync"
)

// leniency says what to make of a value that does not fit. It is written in the acp tag of a field, with the words
// of the constants, and mirrors the x-deserialize marks of the schema.
type leniency uint8

const (
	lenient leniency = 1 << iota // a malformed value counts as absent
	null                         // null counts as empty, though the field is required or a list
	skip                         // malformed members of the list are dropped
	absent                       // a required field may be missing
	abs                          // paths must be absolute
	flat                         // the fields of this union stand in the object itself
)

// field is a field of a struct as the codec sees it.
type field struct {
	index    int
	name     string
	required bool
	how      leniency
	union    *union // of a flat field
}

// fieldSet is all fields of a struct.
type fieldSet struct {
	list   []field
	byName map[string]int // into list; the flat ones are not in it
	flat   bool           // there are flat ones
}

var fieldSets sync.Map //nolint:gochecknoglobals // what reflection finds out about a type never changes

func fieldsOf(t reflect.Type) *fieldSet {
	if known, ok := fieldSets.Load(t); ok {
		return known.(*fieldSet)
	}
	set := &fieldSet{byName: map[string]int{}}
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
		one := field{index: i, name: name, required: option == "", how: parseLeniency(f.Tag.Get("acp"))}
		switch {
		case one.how&flat != 0:
			one.union, one.name, set.flat = unionOf(f.Type), f.Name, true
		case name == "-" || name == "":
			continue
		default:
			set.byName[name] = len(set.list)
		}
		set.list = append(set.list, one)
	}
	known, _ := fieldSets.LoadOrStore(t, set)
	return known.(*fieldSet)
}

func parseLeniency(tag string) leniency {
	var how leniency
	for word := range strings.SplitSeq(tag, ",") {
		switch word {
		case "lenient":
			how |= lenient
		case "null":
			how |= null
		case "skip":
			how |= skip
		case "absent":
			how |= absent
		case "abs":
			how |= abs
		case "flat":
			how |= flat
		}
	}
	return how
}
