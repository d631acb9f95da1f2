package barista

import (
	"slices"
	"strings"
)

// meant is the cue that a phrase is in its place: "no" and "cancel" may be about an item.
func (p *parser) meant(i int) cue {
	x := p.lex[i]
	switch {
	case x.cue == cueNo && x.first == "no" && !strings.Contains(x.text, " ") && !p.endsPart(i):
		return cueRemove // "no bun"
	case x.cue == cueCancel && !strings.Contains(x.text, " ") && p.itemAhead(i):
		return cueRemove // "cancel two lattes"
	}
	return x.cue
}

// cue reads a phrase of everyday English.
func (p *parser) cue(i int) {
	x, c := p.lex[i], p.meant(i)
	if c == cueInto {
		p.turnInto()
		return
	}
	p.flush()
	if c != cueThanks {
		p.clause.chat = false
	}
	if c != cueUndo {
		p.clause.cues = append(p.clause.cues, c)
	}
	switch c {
	case cueAdd:
		p.mode, p.clause.add = modeAdd, true
	case cueRemove:
		p.mode = modeRemove
		p.soft = slices.Contains([]string{"no", "not", "without", "but", "minus", "instead", "rather"}, x.first)
	case cueCorrect:
		p.strong = slices.Contains([]string{"make", "change", "correction"}, x.first) || strings.Contains(x.text, "make")
		if x.first == "instead" && len(p.u.groups) > p.clause.from {
			last := &p.u.groups[len(p.u.groups)-1]
			last.mode, last.strong = modeCorrect, true
			break
		}
		p.mode = modeCorrect
	case cueSwap:
		p.mode = modeSwap
	case cueUndo:
		p.undo()
	case cueNo:
		if !p.thanksNext(i) {
			p.mode = modeCorrect
		}
	case cueAll:
		p.cur.all = true
		return
	case cuePrice, cueAvail:
		p.mode, p.clause.price = modeAsk, true
	case cueAsk:
		p.mode, p.clause.ask = modeAsk, true
	case cueChat:
		p.clause.chat = true
	case cueNone, cueSkip, cueThanks, cueGreet, cueYes, cueInto, cueMenu, cueAgain, cuePlace, cueHold, cueStart, cueCancel, cueTotal,
		cueOrder, cueName:
	}
	p.reset()
	if c == cueSwap && strings.HasPrefix(strings.ToLower(x.text), "make one") {
		p.cur.counted = true
	}
}

// turnInto begins the second half of an exchange, if there is a first one: "make the latte | large".
func (p *parser) turnInto() {
	if p.mode == modeSwap && len(p.cur.items) > 0 {
		p.flush()
		p.mode, p.into = modeAdd, true
		p.reset()
	}
}

// soften ends a removal by "no" where a new thing is counted out: "no bun, and a tea".
func (p *parser) soften(i int) {
	if p.mode == modeRemove && p.soft && p.next(i).kind == lexCount {
		p.flush()
		p.mode = modeAdd
		p.reset()
	}
}

func (p *parser) undo() {
	if n := len(p.u.groups); n > 0 && p.u.groups[n-1].mode == modeAdd {
		p.u.groups = p.u.groups[:n-1]
		p.clause.from = min(p.clause.from, n-1)
		p.u.undone = true
		return
	}
	p.u.cues[cueUndo] = true
}

// endsPart says whether nothing that can be wanted or not follows lexeme i in its part of the sentence.
func (p *parser) endsPart(i int) bool {
	n := p.next(i)
	return n.kind == lexStop || n.kind == lexComma || n.kind == lexCue || n.kind == lexName
}

func (p *parser) thanksNext(i int) bool {
	n := p.next(i)
	return p.lex[i].text != p.lex[i].first && strings.Contains(p.lex[i].text, " ") || n.kind == lexCue && n.cue == cueThanks
}

func (p *parser) itemAhead(i int) bool {
	for _, x := range p.lex[i+1:] {
		switch x.kind {
		case lexItem, lexSize:
			return true
		case lexCount, lexWord:
		case lexCue, lexName, lexAnd, lexComma, lexStop:
			return false
		}
	}
	return false
}
