package transcript

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Difference names the first place where two JSON documents differ, as a JSON Pointer, with what stands there in each.
// It is empty when they are equal. The order of an object's members does not count.
func Difference(recorded, now json.RawMessage) string {
	var a, b any
	if err := errors.Join(decode(recorded, &a), decode(now, &b)); err != nil {
		return fmt.Sprintf("recorded %s, now %s: %v", recorded, strings.TrimSpace(string(now)), err)
	}
	return differ("", a, b)
}

func decode(raw json.RawMessage, v *any) error {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	return dec.Decode(v)
}

func differ(at string, a, b any) string {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return differObjects(at, x, y)
		}
	case []any:
		if y, ok := b.([]any); ok {
			return differLists(at, x, y)
		}
	case string:
		if y, ok := b.(string); ok {
			if x == y {
				return ""
			}
			short, now := around(x, y)
			return fmt.Sprintf("%s: recorded %s, now %s", pointer(at), show(short), show(now))
		}
	default:
		if a == b {
			return ""
		}
	}
	return fmt.Sprintf("%s: recorded %s, now %s", pointer(at), show(a), show(b))
}

func differLists(at string, a, b []any) string {
	for i := range min(len(a), len(b)) {
		if d := differ(fmt.Sprintf("%s/%d", at, i), a[i], b[i]); d != "" {
			return d
		}
	}
	switch {
	case len(a) > len(b):
		return fmt.Sprintf("%s/%d: recorded %s, now missing", at, len(b), show(a[len(b)]))
	case len(b) > len(a):
		return fmt.Sprintf("%s/%d: not recorded, now %s", at, len(a), show(b[len(a)]))
	}
	return ""
}

func differObjects(at string, a, b map[string]any) string {
	keys := make(map[string]bool, len(a)+len(b))
	for k := range a {
		keys[k] = true
	}
	for k := range b {
		keys[k] = true
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		place := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k)
		x, recorded := a[k]
		y, now := b[k]
		switch {
		case !recorded:
			return fmt.Sprintf("%s: not recorded, now %s", place, show(y))
		case !now:
			return fmt.Sprintf("%s: recorded %s, now missing", place, show(x))
		}
		if d := differ(place, x, y); d != "" {
			return d
		}
	}
	return ""
}

func pointer(at string) string {
	if at == "" {
		return "the whole message"
	}
	return at
}

// How much of a long text is shown: so much before the first difference, and so much from there on.
const (
	shownBefore = 40
	shownAfter  = 80
	maxShown    = 400
)

// around cuts two texts down to where they begin to differ.
func around(a, b string) (string, string) {
	if len(a) <= shownBefore+shownAfter && len(b) <= shownBefore+shownAfter {
		return a, b
	}
	at := 0
	for at < len(a) && at < len(b) && a[at] == b[at] {
		at++
	}
	return window(a, at), window(b, at)
}

func window(s string, at int) string {
	from, to := max(0, at-shownBefore), min(len(s), at+shownAfter)
	for from > 0 && !utf8.RuneStart(s[from]) {
		from--
	}
	for to < len(s) && !utf8.RuneStart(s[to]) {
		to++
	}
	out := s[from:to]
	if from > 0 {
		out = "…" + out
	}
	if to < len(s) {
		out += "…"
	}
	return out
}

func show(v any) string {
	var buf strings.Builder
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	text := strings.TrimSpace(buf.String())
	if len(text) > maxShown {
		text = strings.ToValidUTF8(text[:maxShown], "") + "…"
	}
	return text
}
