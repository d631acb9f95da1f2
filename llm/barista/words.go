package barista

import (
	"strings"
	"unicode"
)

// token is one word of a text, or one mark between words.
type token struct {
	raw  string
	word string // lower case, without accents and apostrophes
	sep  rune   // ',' between parts of a sentence, '.' or '?' at its end, else 0
	sym  bool   // a picture or sign that only a menu gives meaning to
	from int    // where it begins and ends, in runes
	to   int
}

// spelled is how long a word of the menu must be for a misspelling of it to count.
const spelled = 5

// tokenize cuts a text into words and marks. It is total: any bytes give tokens.
func tokenize(text string) []token {
	s := scanner{runes: []rune(text)}
	for s.pos < len(s.runes) {
		from, had := s.pos, len(s.out)
		s.step()
		if len(s.out) > had {
			s.out[had].from, s.out[had].to = from, s.pos
		}
	}
	return s.out
}

type scanner struct {
	runes []rune
	pos   int
	out   []token
}

func (s *scanner) at(i int) rune {
	if i < 0 || i >= len(s.runes) {
		return ' '
	}
	return s.runes[i]
}

func (s *scanner) step() {
	r := s.runes[s.pos]
	switch {
	case isDigit(r), (r == '-' || r == '−' || unicode.Is(unicode.Sc, r)) && isDigit(s.at(s.pos+1)) && !inWord(s.at(s.pos-1)):
		s.number()
		return
	case inWord(r):
		s.letters()
		return
	case r == '&' || r == '+':
		s.out = append(s.out, token{raw: string(r), word: "and"})
	case r == ',' || r == ';' || r == ':' || r == '—' || r == '–':
		s.out = append(s.out, token{raw: string(r), sep: ','})
	case r == '.' || r == '!' || r == '\n' || r == '…':
		s.out = append(s.out, token{raw: string(r), sep: '.'})
	case r == '?' || r == '？':
		s.out = append(s.out, token{raw: string(r), sep: '?'})
	case unicode.Is(unicode.So, r) || unicode.Is(unicode.Sm, r):
		s.out = append(s.out, token{raw: string(r), word: string(r), sym: true})
	}
	s.pos++
}

// number reads digits with a sign or a currency in front, groups of three and a fraction.
func (s *scanner) number() {
	start := s.pos
	var word strings.Builder
	if r := s.runes[s.pos]; !isDigit(r) {
		if r == '−' {
			r = '-'
		}
		word.WriteRune(r)
		s.pos++
	}
	for s.pos < len(s.runes) {
		r := s.runes[s.pos]
		next := isDigit(s.at(s.pos + 1))
		switch {
		case isDigit(r):
			word.WriteRune(r)
		case r == '.' && next:
			word.WriteRune(r)
		case r == ',' && next && isDigit(s.at(s.pos+2)) && isDigit(s.at(s.pos+3)) && !isDigit(s.at(s.pos+4)):
		default:
			s.out = append(s.out, token{raw: string(s.runes[start:s.pos]), word: word.String()})
			return
		}
		s.pos++
	}
	s.out = append(s.out, token{raw: string(s.runes[start:s.pos]), word: word.String()})
}

func (s *scanner) letters() {
	start := s.pos
	var word strings.Builder
	for s.pos < len(s.runes) {
		r := s.runes[s.pos]
		if isApostrophe(r) && inWord(s.at(s.pos+1)) {
			s.pos++
			continue
		}
		if !inWord(r) || isDigit(r) {
			break
		}
		fold(&word, r)
		s.pos++
	}
	if word.Len() > 0 {
		s.out = append(s.out, token{raw: string(s.runes[start:s.pos]), word: word.String()})
	}
}

func isDigit(r rune) bool      { return '0' <= r && r <= '9' }
func isApostrophe(r rune) bool { return r == '\'' || r == '’' || r == 'ʼ' }
func inWord(r rune) bool       { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// fold writes a letter in lower case and without its accent.
func fold(b *strings.Builder, r rune) {
	if unicode.Is(unicode.Mn, r) {
		return
	}
	r = unicode.ToLower(r)
	if r < 0x80 {
		b.WriteRune(r)
		return
	}
	for _, plain := range [...]struct{ from, to string }{
		{"àáâãäåāăą", "a"},
		{"çćĉċč", "c"},
		{"ďđ", "d"},
		{"èéêëēĕėęě", "e"},
		{"ĝğġģ", "g"},
		{"ĥħ", "h"},
		{"ìíîïĩīĭįı", "i"},
		{"ĵ", "j"},
		{"ķ", "k"},
		{"ĺļľŀł", "l"},
		{"ñńņňŉ", "n"},
		{"òóôõöøōŏő", "o"},
		{"ŕŗř", "r"},
		{"śŝşš", "s"},
		{"ţťŧ", "t"},
		{"ùúûüũūŭůűų", "u"},
		{"ŵ", "w"},
		{"ýÿŷ", "y"},
		{"źżž", "z"},
		{"æ", "ae"},
		{"œ", "oe"},
		{"ß", "ss"},
		{"þ", "th"},
		{"ð", "d"},
	} {
		if strings.ContainsRune(plain.from, r) {
			b.WriteString(plain.to)
			return
		}
	}
	b.WriteRune(r)
}

// forms lists what a word may be in the singular, itself first.
func forms(word string) []string {
	out := []string{word}
	if len(word) < 4 || !strings.HasSuffix(word, "s") || strings.HasSuffix(word, "ss") {
		return out
	}
	out = append(out, word[:len(word)-1])
	if stem, ok := strings.CutSuffix(word, "ies"); ok && len(stem) > 1 {
		out = append(out, stem+"y")
	}
	if stem, ok := strings.CutSuffix(word, "ves"); ok && len(stem) > 1 {
		out = append(out, stem+"f", stem+"fe")
	}
	for _, hiss := range []string{"ses", "xes", "zes", "ches", "shes", "oes"} {
		if strings.HasSuffix(word, hiss) {
			out = append(out, word[:len(word)-2])
		}
	}
	return out
}

// plural says whether a word looks like more than one of something.
func plural(word string) bool { return len(forms(word)) > 1 }

// oneOff says whether one letter more, less or other, or two neighbours exchanged, makes a into b.
func oneOff(a, b string) bool {
	x, y := []rune(a), []rune(b)
	if len(x) > len(y) {
		x, y = y, x
	}
	if len(y)-len(x) > 1 {
		return false
	}
	i := 0
	for i < len(x) && x[i] == y[i] {
		i++
	}
	same := func(p, q []rune) bool { return string(p) == string(q) }
	if len(x) < len(y) {
		return same(x[i:], y[i+1:])
	}
	if i == len(x) {
		return true
	}
	if same(x[i+1:], y[i+1:]) {
		return true
	}
	return i+1 < len(x) && x[i] == y[i+1] && x[i+1] == y[i] && same(x[i+2:], y[i+2:])
}
