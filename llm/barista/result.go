package barista

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/cartagent/cartagent/loop"
)

// line is one thing on an order, as the cart reported it.
type line struct {
	item  string
	size  string
	cents int
}

// receipt is what a result of the cart's tools says about an order.
type receipt struct {
	id     string
	number string
	lines  []line
	listed bool // it had lines, perhaps none
	total  int
	summed bool
	status string
}

const (
	documentTries = 64
	relayed       = 400 // runes of a tool's text that are passed on
)

// textOf is the text of a result, that of resources included.
func textOf(r loop.Result) string {
	var parts []string
	for _, b := range r.Content {
		switch x := b.(type) {
		case loop.Text:
			parts = append(parts, x.Text)
		case loop.Resource:
			parts = append(parts, x.Text)
		case loop.Thought, loop.Image, loop.Audio, loop.Link, loop.Diff, loop.Terminal, loop.Plan, loop.Other:
		}
	}
	return strings.Join(parts, "\n")
}

// documents yields the JSON objects and arrays in a text, in order, whatever stands around them.
func documents(text string) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		for range documentTries {
			start := strings.IndexAny(text, "[{")
			if start < 0 {
				return
			}
			text = text[start:]
			d := json.NewDecoder(strings.NewReader(text))
			var doc json.RawMessage
			if d.Decode(&doc) != nil {
				text = text[1:]
				continue
			}
			if !yield(doc) {
				return
			}
			text = text[d.InputOffset():]
		}
	}
}

// readReceipt finds what a result says about an order. The second result is false when it says nothing.
func readReceipt(r loop.Result) (receipt, bool) {
	for doc := range documents(textOf(r)) {
		var body struct {
			Order  json.RawMessage `json:"order"`
			Number json.RawMessage `json:"number"`
			Status string          `json:"status"`
			Total  *json.Number    `json:"totalCents"`
			Lines  *[]struct {
				Item  string          `json:"item"`
				Size  json.RawMessage `json:"size"`
				Cents json.RawMessage `json:"cents"`
			} `json:"lines"`
		}
		if json.Unmarshal(doc, &body) != nil || (body.Order == nil && body.Lines == nil) {
			continue
		}
		out := receipt{id: plain(body.Order), number: plain(body.Number), status: body.Status, listed: body.Lines != nil}
		if body.Total != nil {
			out.total, out.summed = centsOf(json.RawMessage(*body.Total))
		}
		if body.Lines != nil {
			for _, l := range *body.Lines {
				cents, _ := centsOf(l.Cents)
				out.lines = append(out.lines, line{item: l.Item, size: plain(l.Size), cents: cents})
			}
		}
		return out, true
	}
	return receipt{}, false
}

// plain is a JSON string or number as people read it, and "" for anything else.
func plain(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}

// trouble sorts the failures of the cart's tools by what can be done about them.
type trouble int

const (
	troubleOther   trouble = iota // said to the person as it is
	troubleRefused                // the person, or a rule of theirs, does not want it
	troubleGone                   // there is no such order any more
	troubleSize                   // an item needs a size
)

// troubleOf reads a failure. sizes are those of the item that was to be added without one, if it was.
func troubleOf(text string, sizes []sized) trouble {
	text = strings.ToLower(text)
	has := func(phrases ...string) bool {
		return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(text, p) })
	}
	switch {
	case has("expired", "no order ", "no such order", "unknown order"):
		return troubleGone
	case has("not run:"):
		return troubleRefused
	case len(sizes) > 0 && (has("which size", "ask the user in words") || !slices.ContainsFunc(sizes, func(s sized) bool {
		return !has(strings.ToLower(s.name))
	})):
		return troubleSize
	case has("in another way", "permission", "refused", "rejected", "denied", "not allowed", "declined"):
		return troubleRefused
	}
	return troubleOther
}

// quote is a tool's text on one line and cut short, for the person.
func quote(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > relayed {
		return string(r[:relayed]) + "…"
	}
	if text == "" {
		return "It gave no reason."
	}
	return text
}

func dollars(cents int) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%s$%d.%02d", sign, cents/100, cents%100)
}

func (l line) String() string { return label(l.size, l.item) + " " + dollars(l.cents) }

// label is an item with its size, if it has one.
func label(size, item string) string {
	if size == "" {
		return item
	}
	return size + " " + item
}

// list joins words as people do: a, b or c.
func list(words []string, last string) string {
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}
