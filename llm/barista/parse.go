package barista

import (
	"slices"
)

// mode is what is to happen with a group.
type mode int

const (
	modeAdd mode = iota
	modeRemove
	modeCorrect
	modeSwap // the first half of an exchange: removed for what follows
	modeAsk
)

// group is so many of something, as far as the person has said.
type group struct {
	mode    mode
	count   int
	counted bool // by a number, not just an article
	article bool
	bad     bool // no whole number
	again   bool // another one
	plural  bool
	all     bool // goes for everything before it
	into    bool // the second half of an exchange
	strong  bool // a correction that changes what is there already
	soft    bool // a removal by a mere "no"
	items   []int
	size    string
	price   bool     // modeAsk: whether there is one, or what it costs
	why     bool     // modeAsk: something else about it
	unknown []string // words before the item
	extra   []string // words behind it
	comma   bool     // a comma has come since
}

func (g *group) empty() bool {
	return !g.counted && !g.again && !g.bad && !g.all && len(g.items) == 0 && g.size == "" && len(g.unknown) == 0
}

// bare says that the group names no thing.
func (g *group) bare() bool { return len(g.items) == 0 && len(g.unknown) == 0 }

// utterance is what a prompt says, in the terms of a menu.
type utterance struct {
	groups  []group
	names   []string
	cues    map[cue]bool
	asked   bool // it has a question
	puzzled bool // there was a sentence that names things of the menu, but does something else with them
	undone  bool // it has taken back all or some of itself
	silent  bool // it has no words at all
}

func (u *utterance) has(c cue) bool { return u.cues[c] }

// clause is the sentence being read.
type clause struct {
	from  int // its first group
	add   bool
	price bool // it asks about things
	ask   bool
	cues  []cue
	chat  bool
}

type parser struct {
	menu   *menu
	lex    []lexeme
	u      utterance
	mode   mode
	cur    group
	clause clause
	into   bool
	strong bool
	soft   bool
}

// parse reads a prompt.
func parse(text string, m *menu) utterance {
	p := parser{menu: m, lex: lex(text, m), u: utterance{cues: map[cue]bool{}}}
	p.reset()
	for i := range p.lex {
		p.step(i)
	}
	p.endClause(false)
	p.u.silent = len(tokenize(text)) == 0
	p.settle()
	return p.u
}

func (p *parser) reset() {
	p.cur = group{mode: p.mode, count: 1, into: p.into, strong: p.strong, soft: p.soft}
}

func (p *parser) flush() {
	if !p.cur.empty() && (!p.clause.chat || len(p.cur.items) > 0) {
		p.u.groups = append(p.u.groups, p.cur)
		p.into = false
		if p.mode == modeCorrect {
			p.mode = modeAdd
		}
	}
	p.reset()
}

func (p *parser) next(i int) lexeme {
	if i+1 < len(p.lex) {
		return p.lex[i+1]
	}
	return lexeme{kind: lexStop}
}

func (p *parser) step(i int) {
	x := p.lex[i]
	switch x.kind {
	case lexStop:
		p.endClause(x.ask)
	case lexComma:
		if len(p.cur.items) == 0 {
			p.flush()
		}
		p.clause.chat = false
		p.cur.comma = true
		p.soften(i)
	case lexAnd:
		p.flush()
		p.clause.chat = false
		p.soften(i)
	case lexCount:
		p.count(i)
	case lexSize:
		p.size(i)
	case lexItem:
		p.item(i)
	case lexWord:
		p.word(x)
	case lexName:
		p.flush()
		p.u.names = append(p.u.names, x.text)
	case lexCue:
		p.cue(i)
	}
}

func (p *parser) count(i int) {
	x := p.lex[i]
	next := p.next(i).kind
	p.turnInto()
	g := &p.cur
	switch {
	case len(g.items) > 0 && !g.counted && !x.count.weak && (x.infixed || x.glued && next != lexItem && next != lexSize && next != lexWord):
		g.count, g.counted, g.bad = x.count.n, true, x.count.bad
		return
	case x.first == "one" && len(g.items) == 0 && (g.size != "" || g.again || len(g.unknown) > 0 && g.article):
		return // "a large one"
	case len(g.items) > 0 || len(g.unknown) > 0 || g.counted && !g.bad || g.size != "":
		p.flush()
	}
	g = &p.cur
	g.count, g.counted, g.article = x.count.n, !x.count.weak, true
	g.bad = g.bad || x.count.bad
	g.again = x.count.again
}

func (p *parser) size(i int) {
	p.turnInto()
	g := &p.cur
	if len(g.items) > 0 {
		if g.size == "" && p.next(i).kind != lexItem {
			g.size = p.lex[i].size
			return
		}
		p.flush()
	} else if g.size != "" {
		p.flush()
	}
	p.cur.size = p.lex[i].size
}

func (p *parser) item(i int) {
	x := p.lex[i]
	g := &p.cur
	if !x.head {
		// A word of some item's name says only of what kind another item should be.
		if len(g.items) > 0 && !g.comma && x.glued {
			g.extra = append(g.extra, x.text)
			return
		}
		if n := p.next(i); n.kind == lexItem && n.head && n.glued || n.kind == lexWord && n.glued {
			if len(g.items) > 0 {
				p.flush()
			}
			p.cur.unknown = append(p.cur.unknown, x.text)
			return
		}
	}
	if len(g.items) > 0 {
		p.flush()
		g = &p.cur
	}
	g.items, g.plural = x.items, x.plural
}

func (p *parser) word(x lexeme) {
	g := &p.cur
	if len(g.items) > 0 {
		if !g.comma {
			g.extra = append(g.extra, x.text)
			return
		}
		p.flush()
	}
	p.cur.unknown = append(p.cur.unknown, x.text)
}

// endClause closes a sentence: only now is it known whether it asked or ordered.
func (p *parser) endClause(question bool) {
	p.flush()
	c := p.clause
	of := p.u.groups[min(c.from, len(p.u.groups)):]
	things := slices.ContainsFunc(of, func(g group) bool { return len(g.items) > 0 })
	stray := len(of) > 0 && len(of[0].items) == 0 && len(of[0].unknown) > 0 && !of[0].article
	switch {
	case !c.add && (c.price || c.ask || question && things):
		for i := range of {
			of[i].mode = modeAsk
		}
		p.u.asked = true
	case stray && things && !c.add:
		p.u.puzzled = true
		p.u.groups = p.u.groups[:c.from]
	}
	for i, g := range of {
		if g.mode == modeAsk {
			of[i].price, of[i].why = c.price, c.ask && !c.price
			p.u.asked = true
		}
	}
	for _, x := range c.cues {
		if c.ask && (x == cuePlace || x == cueCancel || x == cueYes) {
			continue // "how do I pay?"
		}
		p.u.cues[x] = true
	}
	p.u.asked = p.u.asked || c.ask || question && len(of) == 0
	p.mode, p.into, p.strong, p.soft = modeAdd, false, false, false
	p.clause = clause{from: len(p.u.groups)}
	p.reset()
}
