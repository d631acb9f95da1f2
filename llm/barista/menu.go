package barista

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// item is one entry of the menu. An item without sizes has one price; priced is false when the menu names none.
type item struct {
	name    string
	words   []string // the name's tokens, as the menu's vocabulary has them
	cents   int
	priced  bool
	sizes   []sized
	soldOut bool
}

type sized struct {
	name  string
	cents int
}

func (i item) hasSize(size string) bool {
	return slices.ContainsFunc(i.sizes, func(s sized) bool { return s.name == size })
}

// menu is what the cart has, and the words to speak about it.
type menu struct {
	items []item
	sizes map[string][]string // every size of every item to its words
	vocab map[string]string   // any form of a word of the menu to the word itself
	words []string            // the words themselves
}

type menuEntry struct {
	Name    string          `json:"name"`
	Cents   json.RawMessage `json:"cents"`
	SoldOut bool            `json:"soldOut"`
}

// readMenu finds a menu in a text: the first list of objects with names and prices, alone or inside other JSON, with
// or without other text around it. It is nil when there is none.
func readMenu(text string) *menu {
	for doc := range documents(text) {
		if entries := menuIn(doc, 0); len(entries) > 0 {
			return newMenu(entries)
		}
	}
	return nil
}

const menuDepth = 5

func menuIn(raw json.RawMessage, depth int) []menuEntry {
	if depth > menuDepth || len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil {
			return nil
		}
		var entries []menuEntry
		for _, one := range list {
			var e menuEntry
			if json.Unmarshal(one, &e) == nil && e.Name != "" && e.Cents != nil {
				entries = append(entries, e)
			}
		}
		if len(entries) > 0 {
			return entries
		}
		for _, one := range list {
			if found := menuIn(one, depth+1); found != nil {
				return found
			}
		}
	case '{':
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return nil
		}
		keys := make([]string, 0, len(object))
		for k := range object {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			if found := menuIn(object[k], depth+1); found != nil {
				return found
			}
		}
	case '"':
		var inner string
		if json.Unmarshal(raw, &inner) == nil && (strings.HasPrefix(inner, "[") || strings.HasPrefix(inner, "{")) {
			if json.Valid([]byte(inner)) {
				return menuIn(json.RawMessage(inner), depth+1)
			}
		}
	}
	return nil
}

func newMenu(entries []menuEntry) *menu {
	m := &menu{sizes: map[string][]string{}, vocab: map[string]string{}}
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[e.Name] {
			continue
		}
		seen[e.Name] = true
		one := item{name: e.Name, soldOut: e.SoldOut}
		one.cents, one.priced = centsOf(e.Cents)
		if !one.priced {
			one.sizes = sizesOf(e.Cents)
		}
		for _, t := range tokenize(e.Name) {
			if t.sep == 0 {
				one.words = append(one.words, m.learn(t.word))
			}
		}
		m.items = append(m.items, one)
		for _, s := range one.sizes {
			if m.sizes[s.name] != nil {
				continue
			}
			for _, t := range tokenize(s.name) {
				if t.sep == 0 {
					m.sizes[s.name] = append(m.sizes[s.name], m.learn(t.word))
				}
			}
		}
	}
	return m
}

func centsOf(raw json.RawMessage) (int, bool) {
	var n float64
	if len(raw) == 0 || raw[0] == 'n' || json.Unmarshal(raw, &n) != nil || math.Abs(n) > 1e12 {
		return 0, false
	}
	return int(math.Round(n)), true
}

// sizesOf lists the sizes from the cheapest up, which is how people name them.
func sizesOf(raw json.RawMessage) []sized {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) != nil {
		return nil
	}
	var out []sized
	for name, price := range object {
		if cents, ok := centsOf(price); ok {
			out = append(out, sized{name: name, cents: cents})
		}
	}
	slices.SortFunc(out, func(a, b sized) int {
		return cmp.Or(cmp.Compare(a.cents, b.cents), cmp.Compare(a.name, b.name))
	})
	return out
}

// learn adds a word to the vocabulary and returns the word under which it goes there: one that differs only in number
// is the same word.
func (m *menu) learn(word string) string {
	for _, f := range forms(word) {
		if known, ok := m.vocab[f]; ok {
			word = known
			break
		}
	}
	for _, f := range forms(word) {
		if _, ok := m.vocab[f]; !ok {
			m.vocab[f] = word
		}
	}
	if !slices.Contains(m.words, word) {
		m.words = append(m.words, word)
	}
	return word
}

// canon is the word of the menu that a word of the person's means: itself, in another number, or misspelt by one
// letter where only one word of the menu is that near. It is "" for any other.
func (m *menu) canon(word string) string {
	if known, ok := m.vocab[word]; ok {
		return known
	}
	all := forms(word)
	for _, f := range all {
		if known, ok := m.vocab[f]; ok {
			return known
		}
	}
	if known(word) {
		return ""
	}
	near := ""
	for _, w := range m.words {
		for _, f := range all {
			if len([]rune(f)) < spelled-1 || len([]rune(w)) < spelled || !oneOff(f, w) {
				continue
			}
			if near != "" && near != w {
				return ""
			}
			near = w
		}
	}
	return near
}

// find is the index of the item of that name, or -1.
func (m *menu) find(name string) int {
	if m == nil {
		return -1
	}
	return slices.IndexFunc(m.items, func(i item) bool { return strings.EqualFold(i.name, name) })
}
