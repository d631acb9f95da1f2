package barista

import (
	"slices"
	"strings"
	"unicode"
)

// lexKind says what a lexeme is.
type lexKind int

const (
	lexWord  lexKind = iota // a word that means nothing here
	lexItem                 // one or more items of the menu, by their name or a part of it
	lexSize                 //
	lexCount                //
	lexCue                  //
	lexName                 // a person's name
	lexAnd                  //
	lexComma                //
	lexStop                 // the end of a sentence
)

// lexeme is a piece of a prompt, in the terms of a menu.
type lexeme struct {
	kind    lexKind
	text    string // as the person wrote it
	first   string // the first word, folded
	items   []int  // lexItem: the candidates
	head    bool   // lexItem: by the end of the name, which says what it is
	plural  bool   // lexItem
	size    string // lexSize
	count   count  // lexCount
	cue     cue    // lexCue
	ask     bool   // lexStop: a question mark
	glued   bool   // it follows the lexeme before it with nothing between
	infixed bool   // lexCount: an x or "times" stands before it
}

// count is a number of things. An article counts as one, weakly.
type count struct {
	n     int
	weak  bool
	again bool // one more of the same
	bad   bool // no whole number, or none in particular
}

// lex reads tokens in the terms of a menu. Items go before everything, and the longest phrase before others.
func lex(text string, m *menu) []lexeme {
	tokens := tokenize(text)
	l := lexer{menu: m, text: []rune(text), tokens: tokens, canon: make([]string, len(tokens))}
	for i, t := range tokens {
		if t.sep == 0 {
			l.canon[i] = m.canon(t.word)
		}
	}
	for l.pos < len(tokens) {
		l.step()
	}
	return l.out
}

type lexer struct {
	menu   *menu
	text   []rune
	tokens []token
	canon  []string
	pos    int
	last   int // where the last lexeme ended
	out    []lexeme
}

// emit adds a lexeme that takes n tokens.
func (l *lexer) emit(x lexeme, n int) {
	x.text = string(l.text[l.tokens[l.pos].from:l.tokens[l.pos+n-1].to])
	x.first = l.tokens[l.pos].word
	x.glued = l.pos == l.last
	l.pos += n
	l.last = l.pos
	l.out = append(l.out, x)
}

func (l *lexer) step() {
	t := l.tokens[l.pos]
	switch t.sep {
	case ',':
		l.emit(lexeme{kind: lexComma}, 1)
		return
	case '.', '?':
		l.emit(lexeme{kind: lexStop, ask: t.sep == '?'}, 1)
		return
	}
	if items, n := l.whole(); n > 0 {
		l.emit(lexeme{kind: lexItem, items: items, head: true, plural: l.plural(n)}, n)
		return
	}
	if n := l.nameAfterFor(); n > 0 {
		l.pos++
		l.emit(lexeme{kind: lexName}, n)
		return
	}
	if n := l.forWhom(); n > 0 {
		l.pos += n
		return
	}
	c, length := cueAt(l.tokens, l.pos)
	if c == cueName {
		if n := l.nameAt(l.pos+length, false); n > 0 {
			l.pos += length
			l.emit(lexeme{kind: lexName}, n)
			return
		}
	}
	if size, n := l.size(); n >= length && n > 0 {
		l.emit(lexeme{kind: lexSize, size: size}, n)
		return
	}
	if number, n := countAt(l.tokens, l.pos); n >= length && n > 0 {
		if after := l.pos + n; after < len(l.tokens) && l.tokens[after].word == "more" {
			number.again = true
		}
		infixed := l.pos > 0 && (l.tokens[l.pos-1].word == "x" || l.tokens[l.pos-1].word == "times")
		l.emit(lexeme{kind: lexCount, count: number, infixed: infixed}, n)
		return
	}
	if c == cueNone || length == 1 {
		if items, head, n := l.part(); n > 0 && n >= length && (c == cueNone || head) {
			l.emit(lexeme{kind: lexItem, items: items, head: head, plural: l.plural(n)}, n)
			return
		}
	}
	switch {
	case c == cueSkip || t.sym:
		l.pos += max(length, 1)
	case c != cueNone:
		l.emit(lexeme{kind: lexCue, cue: c}, length)
	case t.word == "and":
		l.emit(lexeme{kind: lexAnd}, 1)
	default:
		l.emit(lexeme{kind: lexWord}, 1)
	}
}

func (l *lexer) plural(n int) bool { return plural(l.tokens[l.pos+n-1].word) }

// whole finds the items whose whole name stands here; the longest name counts.
func (l *lexer) whole() (items []int, length int) {
	for i, it := range l.menu.items {
		n := len(it.words)
		if n == 0 || n < length || l.pos+n > len(l.tokens) || !l.matches(it.words) {
			continue
		}
		if n > length {
			items, length = nil, n
		}
		items = append(items, i)
	}
	return items, length
}

func (l *lexer) matches(words []string) bool {
	for k, w := range words {
		if t := l.tokens[l.pos+k]; t.sep != 0 || l.canon[l.pos+k] != w {
			return false
		}
	}
	return true
}

func (l *lexer) size() (name string, length int) {
	for size, words := range l.menu.sizes {
		n := len(words)
		if n == 0 || n < length || l.pos+n > len(l.tokens) || !l.matches(words) {
			continue
		}
		if n > length || size < name { // equal words: any one, but always the same
			name, length = size, n
		}
	}
	return name, length
}

// part finds the items that the words here are a part of: as many words as some one item has, in any order, with or
// without "and". Items whose last word is among them go before the others.
func (l *lexer) part() (items []int, head bool, length int) {
	var words []string
	for i := l.pos; i < len(l.tokens) && l.tokens[i].sep == 0; i++ {
		w := l.canon[i]
		if l.tokens[i].word == "and" {
			if len(words) == 0 {
				break
			}
			continue
		}
		if w == "" || slices.Contains(words, w) {
			break
		}
		words = append(words, w)
		found := l.having(words)
		if len(found) == 0 {
			break
		}
		items, length = found, i-l.pos+1
	}
	heads := slices.DeleteFunc(slices.Clone(items), func(i int) bool {
		own := l.menu.items[i].words
		return !slices.Contains(l.canon[l.pos:l.pos+length], own[len(own)-1])
	})
	if len(heads) > 0 {
		return heads, true, length
	}
	return items, false, length
}

func (l *lexer) having(words []string) []int {
	var out []int
	for i, it := range l.menu.items {
		if !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(it.words, w) }) {
			out = append(out, i)
		}
	}
	return out
}

const nameWords = 3

// nameAfterFor reads "for NAME": a name is none of the words that are used otherwise, and nothing on the menu.
func (l *lexer) nameAfterFor() int {
	if l.tokens[l.pos].word != "for" {
		return 0
	}
	return l.nameAt(l.pos+1, true)
}

// forWhom reads "for my boss", which is no name and no part of the order.
func (l *lexer) forWhom() int {
	const words = 3
	if l.pos+words > len(l.tokens) || l.tokens[l.pos].word != "for" {
		return 0
	}
	whose, who := l.tokens[l.pos+1], l.tokens[l.pos+2]
	if !slices.Contains([]string{"my", "our", "his", "her", "their", "the"}, whose.word) || who.sep != 0 || who.sym ||
		l.canon[l.pos+2] != "" || known(who.word) {
		return 0
	}
	return words
}

// nameAt is how many words of a name stand at i. In doubt, a name is written with a capital or ends its sentence.
func (l *lexer) nameAt(i int, doubt bool) int {
	n := 0
	for n < nameWords && i+n < len(l.tokens) {
		t := l.tokens[i+n]
		if t.sep != 0 || t.sym || !startsWithLetter(t.raw) || t.word == "and" || !l.maybeName(i+n) {
			break
		}
		if n > 0 && !capital(t.raw) {
			break
		}
		n++
	}
	if n == 0 || !doubt || capital(l.tokens[i].raw) {
		return n
	}
	if end := i + n; end < len(l.tokens) && l.tokens[end].sep == 0 && l.tokens[end].word != "please" && l.tokens[end].word != "thanks" {
		return 0
	}
	return n
}

// maybeName says whether a word is no other than a name. One that is written like a name may look like an ordinary
// word, or like a misspelling, but not like a word of the menu.
func (l *lexer) maybeName(i int) bool {
	t := l.tokens[i]
	if l.canon[i] == t.word {
		return false
	}
	if capital(t.raw) && strings.ToUpper(t.raw) != t.raw && !slices.Contains(forms(t.word), l.canon[i]) {
		return i == 0 || l.tokens[i-1].raw != "For"
	}
	return l.canon[i] == "" && !known(t.word)
}

func startsWithLetter(s string) bool {
	for _, r := range s {
		return unicode.IsLetter(r)
	}
	return false
}

func capital(s string) bool {
	for _, r := range s {
		return unicode.IsUpper(r)
	}
	return false
}
