package barista

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// prompted is one prompt, the calls it leads to, and words of the answer.
type prompted struct {
	prompt string
	calls  string
	words  []string
}

func talk(t *testing.T, c *counter, prompts ...prompted) {
	t.Helper()
	for _, p := range prompts {
		first := len(c.messages) == 0
		text := c.hears(p.prompt)
		want := p.calls
		if first { // the first thing in a session is to read the menu
			want = strings.TrimSuffix("mcp_read; "+p.calls, "; ")
		}
		assert.Equal(t, want, strings.Join(c.calls, "; "), "%q -> %s", p.prompt, text)
		for _, w := range p.words {
			assert.Contains(t, text, w, "%q", p.prompt)
		}
	}
}

// TestOneOrder holds what single prompts lead to against a real cart. An order that is complete is placed.
func TestOneOrder(t *testing.T) {
	t.Parallel()
	for _, p := range []prompted{
		// Counts, sizes, plurals.
		{"A large latte and a morning bun, please", "create; add large latte; add morning bun; place", []string{"number 1", "large latte $5.50\nmorning bun $3.50\nTotal $9.00"}},
		{"large latte, morning bun", "create; add large latte; add morning bun; place", nil},
		{"LARGE LATTE", "create; add large latte; place", nil},
		{"latte, large", "create; add large latte; place", nil},
		{"a latte in large and a tea in small", "create; add large latte; add small black tea; place", nil},
		{"two small and one large latte", "create; add small latte; add small latte; add large latte; place", []string{"Total $13.50"}},
		{"two lattes, one small and one large", "create; add small latte; add large latte; place", nil},
		{"I'd like two lattes. One large, one small.", "create; add large latte; add small latte; place", nil},
		{"2 large lattes, 1 small, and a cookie", "create; add large latte; add large latte; add small latte; add oat cookie; place", nil},
		{"a small latte and another one", "create; add small latte; add small latte; place", nil},
		{"a large latte and a small one", "create; add large latte; add small latte; place", nil},
		{"a latte, a tea and a hot chocolate, all large", "create; add large latte; add large black tea; add large hot chocolate; place", nil},
		{"two large lattes and three small teas, all to go", "create; add large latte; add large latte; add small black tea; add small black tea; add small black tea; place", nil},
		{"large lattes x2 and cookie x 3", "create; add large latte; add large latte; add oat cookie; add oat cookie; add oat cookie; place", nil},
		{"2x large latte", "create; add large latte; add large latte; place", nil},
		{"latte, large x2", "create; add large latte; add large latte; place", nil},
		{"cheddar sandwiches, 2", "create; add cheddar sandwich; add cheddar sandwich; place", nil},
		{"2 cheddar sandwiches & 1 small black tea", "create; add cheddar sandwich; add cheddar sandwich; add small black tea; place", nil},
		{"I'd like half a dozen cookies", "create" + strings.Repeat("; add oat cookie", 6) + "; place", nil},
		{"a dozen cookies", "create" + strings.Repeat("; add oat cookie", 12) + "; place", []string{"Total $33.00"}},
		{"a couple of morning buns", "create; add morning bun; add morning bun; place", nil},
		{"twenty-one oat cookies", "create" + strings.Repeat("; add oat cookie", 21) + "; place", nil},
		{"I want 3 oat cookies and 2 of the morning buns", "create; add oat cookie; add oat cookie; add oat cookie; add morning bun; add morning bun; place", nil},
		{"a large coffee and a chocolate, small", "create; add large drip coffee; add small hot chocolate; place", nil},
		// Spelling.
		{"a large lattte and a moring bun", "create; add large latte; add morning bun; place", nil},
		{"lrge latte", "create; add large latte; place", nil},
		{"a large latté", "create; add large latte; place", nil},
		// Politeness and talk.
		{"hey you, can I get a large latte and, um, two morning buns?", "create; add large latte; add morning bun; add morning bun; place", nil},
		{"good morning! morning bun please", "create; add morning bun; place", nil},
		{"a large latte ASAP please!!! 🙂", "create; add large latte; place", nil},
		{"give my friend a large latte and me a small one", "create; add large latte; add small latte; place", nil},
		{"a large latte for my boss", "create; add large latte; place", nil},
		{"I'm in a hurry: a large latte, please, for here. Have a nice day!", "create; add large latte; place", nil},
		// Names.
		{"a large latte for Ada", "create; add large latte; place Ada", []string{"number 1, for Ada."}},
		{"It's for Mary-Jane O'Brien: a large latte", "create; add large latte; place Mary-Jane O'Brien", nil},
		{"a morning bun. My name is Grace", "create; add morning bun; place Grace", nil},
		{"a morning bun for lotte", "create; add morning bun; add latte", []string{"Which size of latte"}}, // one letter from the menu
		{"a morning bun for Lotte", "create; add morning bun; place Lotte", nil},
		// Changes of mind.
		{"a large latte, no, make that small", "create; add small latte; place", nil},
		{"a morning bun, no, a cookie", "create; add oat cookie; place", nil},
		{"a cookie, actually make that two", "create; add oat cookie; add oat cookie; place", nil},
		{"three cookies, make that two sandwiches", "create; add cheddar sandwich; add cheddar sandwich; place", nil},
		{"one large latte please and two, no, three cookies", "create; add large latte; add oat cookie; add oat cookie; add oat cookie; place", nil},
		{"a large latte, a cookie. Scratch that.", "create; add large latte; place", nil},
		{"a large latte and a cookie, no cookie", "create; add large latte; place", nil},
		{"a large latte, no, not a latte but a cookie", "create; add oat cookie; place", nil},
		{"one small, one large latte and a bun, no, a cookie", "create; add small latte; add large latte; add oat cookie; place", nil},
		// Sizes that are missing, and choices.
		{"one latte two buns", "create; add latte", []string{"Which one would you like: morning bun $3.50 or cardamom bun (sold out)?"}},
		{"latte latte", "create; add latte", []string{"Which size of latte (2 of them) would you like: small $4.00, medium $4.75 or large $5.50?"}},
		{"7 lattes", "create; add latte", []string{"(7 of them)"}},
		{"a latte and a large", "create; add latte; add large latte", []string{"Which size of latte would"}},
		{"a large morning bun", "create; add morning bun; place", []string{"one size only"}},
		// What cannot be had.
		{"a croissant please", "", []string{"no “croissant” on the menu", "latte, drip coffee"}},
		{"I'd like a vanilla latte", "", []string{"no “vanilla latte”"}},
		{"an oat latte", "", []string{"no “oat latte”"}},
		{"medium tea and a scone", "create; add medium black tea", []string{"no “scone”", "not placed yet"}},
		{"a large latte and a cardamom bun", "create; add large latte; add cardamom bun", []string{"Sorry, the cardamom bun is sold out. There is still latte, drip coffee,", "Total $5.50"}},
		{"A large latte with oat milk", "create; add large latte", []string{"cannot pass on “oat milk”", "not placed yet"}},
		{"A large latte, oat milk please", "create; add large latte", []string{"did not understand “oat milk”", "not placed yet"}},
		{"a large latte, no sugar", "create; add large latte", []string{"“sugar”", "not placed yet"}},
		{"a large latte at 10", "create; add large latte", []string{"10 of what?", "not placed yet"}},
		// Numbers that are none.
		{"zero morning buns", "", []string{"No morning bun, then."}},
		{"half a morning bun", "", []string{"How many of the morning bun"}},
		{"1.5 cookies", "", []string{"How many of the oat cookie"}},
		{"-3 cookies", "", []string{"How many of the oat cookie"}},
		{"a few cookies", "", []string{"How many of the oat cookie"}},
		{"51 morning buns", "", []string{"at most 50"}},
		{"1,000 morning buns", "", []string{"at most 50"}},
		{"99999999999999999999999 cookies", "", []string{"at most 50"}},
		{"30 cookies and 21 morning buns", "", []string{"at most 50"}},
		// Questions order nothing.
		{"what do you have?", "", []string{"latte (small $4.00, medium $4.75, large $5.50)", "cardamom bun (sold out)", "oat cookie $2.75"}},
		{"menu", "", []string{"Today there is:"}},
		{"is the cardamom bun available?", "", []string{"The cardamom bun is sold out today."}},
		{"how much is a latte?", "", []string{"latte (small $4.00, medium $4.75, large $5.50)"}},
		{"what sizes does the latte come in?", "", []string{"small $4.00"}},
		{"do you have muffins?", "", []string{"no “muffins” on the menu"}},
		{"a large latte?", "", []string{"On the menu: latte"}},
		{"what's in the latte?", "", []string{"More than names, sizes and prices"}},
		{"what's the total?", "", []string{"no order yet"}},
		{"a large latte. How much is that?", "create; add large latte", []string{"Total $5.50", "not placed yet"}},
		{"how much is a latte and can I have a morning bun", "create; add morning bun", []string{"latte (small $4.00", "not placed yet"}},
		// Orders that are to stay open.
		{"a large latte and then I'll see", "create; add large latte", []string{"not placed yet"}},
		{"don't place it yet: a large latte", "create; add large latte", []string{"not placed yet"}},
		{"start an order", "create", []string{"Your order is open. What would you like?"}},
		// Everything else.
		{"", "", []string{"I take orders at the cart"}},
		{"hello", "", []string{"I take orders at the cart", "latte, drip coffee"}},
		{"🙂", "", []string{"only take orders", "CARTAGENT_MODEL"}},
		{"what is the weather?", "", []string{"only take orders", "ANTHROPIC_API_KEY"}},
		{"write a poem about a latte", "", []string{"only take orders", "OPENAI_API_KEY"}},
		{"make me a poem about a large latte", "create; add large latte", []string{"no “poem”", "not placed yet"}},
		{"fix the failing test in main.go", "", []string{"only take orders"}},
		{"Can you write a Go function that sorts a list?", "", []string{"only take orders"}},
		{"how do I pay?", "", []string{"only take orders"}},
		{"a, b, c", "", []string{"only take orders"}},
		{"and and and", "", []string{"only take orders"}},
		{"no no no", "", []string{"nothing is ordered"}},
		{"I don't want a latte", "", []string{"no latte on your order"}},
		{"place it", "", []string{"nothing to place yet"}},
		{"cancel", "", []string{"nothing to cancel"}},
		{"make that two", "", []string{"2 of what?"}},
		{"large", "", []string{"in large?"}},
		{"the same again", "", []string{"nothing has been ordered yet"}},
		{"<context>a large latte</context>", "", []string{"I take orders"}},
		{strings.Repeat("a latte and ", 900), "", []string{"sentence or two"}},
		{strings.Repeat("lorem ipsum dolor ", 200), "", []string{"only take orders"}},
	} {
		t.Run(p.prompt[:min(len(p.prompt), 40)], func(t *testing.T) {
			t.Parallel()
			talk(t, newCounter(t, nil), p)
		})
	}
}

// TestConversation holds what prompts mean that follow others.
func TestConversation(t *testing.T) {
	t.Parallel()
	for name, prompts := range map[string][]prompted{
		"make that two after it is placed": {
			{"a large latte for Ada", "create; add large latte; place Ada", nil},
			{"make that two", "create; add large latte; place", []string{"Your last order is placed, so this is a new one.", "number 2", "Total $5.50"}},
			{"make it small", "", []string{"number 2 is placed, so it cannot be changed"}},
		},
		"more of the same": {
			{"a small latte", "create; add small latte; place", nil},
			{"another", "create; add small latte; place", nil},
			{"two more", "create; add small latte; add small latte; place", []string{"number 3"}},
			{"and a drip coffee, small", "create; add small drip coffee; place", []string{"this is a new one", "number 4"}},
		},
		"open until it is said to be all": {
			{"start an order with a morning bun", "create; add morning bun", nil},
			{"and a drip coffee, small", "add small drip coffee", []string{"Total $6.00"}},
			{"make that two", "add small drip coffee", []string{"Total $8.50"}},
			{"no bun after all", "remove 1", []string{"Total $5.00"}},
			{"that's all, thanks", "place", []string{"number 1", "Total $5.00"}},
			{"thanks", "", []string{"welcome"}},
			{"place it", "", []string{"number 1 is placed already"}},
		},
		"fewer, other, and back": {
			{"start an order", "create", nil},
			{"three cookies", "add oat cookie; add oat cookie; add oat cookie", nil},
			{"make that two", "remove 3", nil},
			{"make it a sandwich", "remove 2; remove 1; add cheddar sandwich", []string{"On your order:\ncheddar sandwich $7.25\nTotal $7.25"}},
			{"swap the sandwich for a large latte", "remove 1; add large latte", nil},
			{"make the latte small", "remove 1; add small latte", nil},
			{"change the latte to a medium", "remove 1; add medium latte", nil},
			{"scratch that", "remove 1", []string{"Your order is empty"}},
			{"place it", "", []string{"nothing to place"}},
		},
		"cancelling an item": {
			{"start an order with three cookies", "create; add oat cookie; add oat cookie; add oat cookie", nil},
			{"cancel two cookies", "remove 3; remove 2", nil},
			{"no bun, and a small tea", "add small black tea", []string{"no morning bun or cardamom bun on your order"}},
			{"remove the cookie and the tea", "remove 1; remove 1", []string{"Your order is empty"}},
			{"remove it", "", []string{"nothing on an open order"}},
		},
		"a choice that is not wanted": {
			{"a bun and a small latte", "create; add small latte", []string{"Which one"}},
			{"no bun", "", []string{"All right, no morning bun or cardamom bun."}},
			{"place it for Ada Lovelace", "place Ada Lovelace", nil},
		},
		"changing what is asked about": {
			{"a latte", "create; add latte", []string{"Which size of latte"}},
			{"make it a large tea", "add large black tea; place", nil},
		},
		"another size than there is": {
			{"start an order with a cookie", "create; add oat cookie", nil},
			{"make it large", "", []string{"does not come in large"}},
			{"make that one", "", []string{"what you have ordered"}},
		},
		"some of them": {
			{"start an order with two large lattes", "create; add large latte; add large latte", nil},
			{"make one of them small", "remove 2; add small latte", []string{"large latte $5.50\nsmall latte $4.00"}},
			{"remove the large one", "remove 1", []string{"On your order:\nsmall latte"}},
			{"for Ada", "place Ada", []string{"for Ada"}},
		},
		"which size": {
			{"a latte", "create; add latte", []string{"Which size of latte"}},
			{"large, please", "add large latte; place", []string{"Total $5.50"}},
		},
		"which size, in a sentence": {
			{"two lattes and a morning bun for Bob", "create; add latte; add morning bun", []string{"Which size of latte (2 of them)"}},
			{"one small and one large", "add small latte; add large latte; place Bob", []string{"for Bob"}},
		},
		"which size, one after the other": {
			{"two lattes", "create; add latte", nil},
			{"one small", "add small latte", []string{"Which size of latte would"}},
			{"the large one", "add large latte; place", nil},
		},
		"which size, twice": {
			{"a latte and a tea", "create; add latte; add black tea", []string{"Which size of latte"}},
			{"large", "add large latte", []string{"Which size of black tea"}},
			{"a small tea", "add small black tea; place", []string{"Total $7.75"}},
		},
		"which size, both": {
			{"a latte and a tea", "create; add latte; add black tea", nil},
			{"both large", "add large latte; add large black tea; place", nil},
		},
		"which size, and something else": {
			{"a latte", "create; add latte", nil},
			{"and a cookie", "add oat cookie", []string{"Which size of latte"}},
			{"huge", "", []string{"Which size of latte"}},
			{"medium", "add medium latte; place", []string{"Total $7.50"}},
		},
		"none of that size": {
			{"a latte and a morning bun", "create; add latte; add morning bun", nil},
			{"no thanks", "", []string{"no latte", "Total $3.50", "not placed yet"}},
			{"no thanks", "place", []string{"Total $3.50"}},
		},
		"something else instead": {
			{"a latte", "create; add latte", nil},
			{"no, a small tea", "add small black tea; place", nil},
		},
		"which one": {
			{"a bun", "", []string{"Which one"}},
			{"the morning one", "create; add morning bun; place", nil},
		},
		"sold out, then another": {
			{"a large latte and a cardamom bun", "create; add large latte; add cardamom bun", []string{"sold out"}},
			{"a morning bun then", "add morning bun; place", []string{"Total $9.00"}},
		},
		"sold out, then the rest": {
			{"a large latte and a cardamom bun", "create; add large latte; add cardamom bun", nil},
			{"ok", "place", []string{"Total $5.50"}},
		},
		"a question, then yes": {
			{"is the morning bun available?", "", []string{"morning bun $3.50"}},
			{"yes please", "create; add morning bun; place", nil},
		},
		"a question, then how many": {
			{"how much is a latte?", "", nil},
			{"I'll take two large ones", "create; add large latte; add large latte; place", nil},
		},
		"totals": {
			{"start an order with a large latte", "create; add large latte", nil},
			{"what's the total?", "get", []string{"Total $5.50", "not placed yet"}},
			{"yes, place it, for Bob", "place Bob", nil},
			{"what did I order?", "", []string{"number 1 is placed", "large latte $5.50"}},
			{"remove the latte", "", []string{"is placed, so I cannot take anything off"}},
			{"cancel my order", "cancel", []string{"could not cancel"}},
		},
		"cancelled": {
			{"a morning bun, and don't place it yet", "create; add morning bun", nil},
			{"cancel the order", "cancel", []string{"cancelled"}},
			{"place it", "", []string{"nothing to place"}},
			{"a cookie", "create; add oat cookie; place", nil},
		},
		"nothing to exchange": {
			{"start an order with a cookie", "create; add oat cookie", nil},
			{"swap the bun for a sandwich", "", []string{"no morning bun or cardamom bun on your order"}},
			{"remove the cookies", "remove 1", nil},
		},
		"too much in the end": {
			{"start an order with 40 cookies", "create" + strings.Repeat("; add oat cookie", 40), nil},
			{"11 more", "", []string{"at most 50"}},
			{"10 more", strings.TrimPrefix(strings.Repeat("; add oat cookie", 10), "; "), nil},
		},
		"talk in between": {
			{"hello", "", nil},
			{"what's the weather?", "", []string{"only take orders"}},
			{"a cookie", "create; add oat cookie; place", nil},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			talk(t, newCounter(t, nil), prompts...)
		})
	}
}

const teaHouse = `[
	{"name": "tea", "cents": {"small": 200, "medium": 250, "large": 300}},
	{"name": "iced tea", "cents": {"small": 220, "medium": 270, "large": 320}},
	{"name": "flat white", "cents": 420},
	{"name": "café crème", "cents": 390},
	{"name": "cheese & ham sandwich", "cents": 650},
	{"name": "bun", "cents": 150},
	{"name": "large cookie", "cents": 280},
	{"name": "glühwein", "cents": 500, "soldOut": true}
]`

// oddShop has no menu that a cart here could read: sizes of its own, and names in other scripts.
const oddShop = `{"day": "today", "sections": [{"title": "all", "items": [
	{"name": "抹茶ラテ", "cents": {"tall": 500, "extra tall": 650}},
	{"name": "loaf", "cents": 900.0},
	{"name": "Cherry Pie", "cents": {"slice": 350, "whole": 2400}},
	{"name": "☕", "cents": 100},
	{"name": "Special", "cents": null},
	{"note": "no name"}
]}]}`

func TestOtherMenus(t *testing.T) {
	t.Parallel()
	for _, p := range []prompted{
		{"a small tea and an iced tea, large", "create; add small tea; add large iced tea; place", nil},
		{"two flat whites", "create; add flat white; add flat white; place", []string{"Total $8.40"}},
		{"a cafe creme and two buns", "create; add café crème; add bun; add bun; place", nil},
		{"un café crème", "", []string{"no “un café crème”"}},
		{"a CAFE\u0301 CRE\u0300ME", "create; add café crème; place", nil},
		{"a cheese and ham sandwich", "create; add cheese & ham sandwich; place", nil},
		{"three ham & cheese sandwiches", "create; add cheese & ham sandwich; add cheese & ham sandwich; add cheese & ham sandwich; place", nil},
		{"a sandwich and a bun", "create; add cheese & ham sandwich; add bun; place", nil},
		{"a large cookie", "create; add large cookie; place", nil},
		{"a large tea and a large cookie", "create; add large tea; add large cookie; place", nil},
		{"an iced flat white", "", []string{"no “iced flat white”"}},
		{"a gluhwein", "create; add glühwein", []string{"glühwein is sold out"}},
		{"a large latte and a morning bun, please", "", []string{"no “latte”", "no “morning bun”"}},
	} {
		t.Run(p.prompt, func(t *testing.T) {
			t.Parallel()
			talk(t, newCounter(t, parseMenu(t, teaHouse)), p)
		})
	}
}

func TestOddMenu(t *testing.T) {
	t.Parallel()
	for _, p := range []prompted{
		{"two extra tall 抹茶ラテ", "create; add extra tall 抹茶ラテ; add extra tall 抹茶ラテ; place", nil},
		{"a 抹茶ラテ, tall, and three loaves", "create; add tall 抹茶ラテ; add loaf; add loaf; add loaf; place", nil},
		{"a slice of cherry pie", "create; add slice Cherry Pie; place", nil},
		{"cherry pies, whole, two of them", "create; add whole Cherry Pie; add whole Cherry Pie; place", nil},
		{"☕", "create; add ☕; place", nil},
		{"a tall loaf", "create; add loaf; place", []string{"one size only"}},
		{"tall cherry pie", "", []string{"does not come in tall", "slice $3.50 or whole $24.00"}},
		{"what do you have?", "", []string{"Special", "loaf $9.00"}},
	} {
		t.Run(p.prompt, func(t *testing.T) {
			t.Parallel()
			c := newCounter(t, nil)
			c.menu = oddShop
			c.fake = map[string]string{
				toolCreate: `{"order":"o-1"}`,
				toolAdd:    `Added. {"order":"o-1","lines":[{"item":"x","size":null,"cents":1}],"totalCents":1}`,
				toolPlace:  `{"order":"o-1","number":7,"lines":[{"item":"x","size":null,"cents":1}],"totalCents":1}`,
			}
			talk(t, c, p)
		})
	}
}
