package barista

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

func TestNoCart(t *testing.T) {
	t.Parallel()
	r := reply(loop.Request{
		Tools:    []loop.Spec{{Name: "read"}, {Name: "shop__create_order"}, {Name: "other__add_item"}, {Name: toolRead}},
		Messages: []loop.Message{{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: "a large latte"}}}},
	})
	assert.Equal(t, say(notConnected+" "+howToConfigure), r)
	assert.Contains(t, howToConfigure, "CARTAGENT_MODEL")
	assert.Equal(t, notConnected+" "+howToConfigure, loop.TextOf(reply(loop.Request{}).Message.Content))
}

func TestFirstServerThatIsACartIsTaken(t *testing.T) {
	t.Parallel()
	specs := []loop.Spec{
		{Name: "half__create_order"},
		{Name: toolRead},
		{Name: "a__b__create_order"},
		{Name: "zoo__create_order"},
		{Name: "zoo__add_item"},
		{Name: "a__b__add_item"},
		{Name: "a__b__place_order", Schema: json.RawMessage(`{"properties":{"order":{}}}`)},
		{Name: "a__b__read"},
	}
	box, ok := findTools(specs)
	require.True(t, ok)
	assert.Equal(t, toolbox{server: "a__b", names: map[string]string{
		toolCreate: "a__b__create_order", toolAdd: "a__b__add_item", toolPlace: "a__b__place_order", toolRead: toolRead,
	}}, box)

	box, ok = findTools([]loop.Spec{{Name: toolCreate}, {Name: toolAdd}})
	require.True(t, ok)
	assert.Equal(t, toolbox{names: map[string]string{toolCreate: toolCreate, toolAdd: toolAdd}, named: true}, box)
	assert.Equal(t, toolAdd, box.what(toolAdd))
	assert.Empty(t, box.what("zoo__add_item"))
}

func TestWithoutATool(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		without []string
		talk    []prompted
	}{
		"placing": {[]string{toolPlace}, []prompted{
			{"a large latte and a morning bun", "create; add large latte; add morning bun", []string{"On your order:\nlarge latte $5.50\nmorning bun $3.50\nTotal $9.00"}},
			{"place it", "", []string{"no way for me to place"}},
		}},
		"removing": {[]string{toolRemove}, []prompted{
			{"start an order with a cookie", "create; add oat cookie", nil},
			{"remove the cookie", "", []string{"no way to take something off"}},
		}},
		"looking": {[]string{toolGet}, []prompted{
			{"start an order with a cookie", "create; add oat cookie", nil},
			{"what's the total?", "", []string{"Total $2.75"}},
		}},
		"cancelling": {[]string{toolCancel}, []prompted{
			{"start an order with a cookie", "create; add oat cookie", nil},
			{"cancel it", "", []string{"no way to cancel"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCounter(t, nil)
			c.without = tt.without
			talk(t, c, tt.talk...)
		})
	}
}

func TestMenuThatCannotBeRead(t *testing.T) {
	t.Parallel()
	c := newCounter(t, nil)
	c.without = []string{toolRead}
	assert.Equal(t, "I cannot read the cart's menu: this session has no mcp_read tool.", c.hears("a latte"))
	assert.Empty(t, c.calls)

	c = newCounter(t, nil)
	c.fake = map[string]string{toolRead: "!server kiosk is not running"}
	assert.Equal(t, "I could not read the menu. The cart says: server kiosk is not running", c.hears("a large latte"))
	assert.Equal(t, []string{"mcp_read"}, c.calls)
	c.fake = nil
	c.hears("a large latte") // it tries again in the next turn
	assert.Equal(t, []string{"mcp_read", "create", "add large latte", "place"}, c.calls)

	for _, text := range []string{"", "no JSON here", "[]", `{"menu":[]}`, "[[[[[[[[[[", `[{"name":"x"}]`, strings.Repeat("{", 5000)} {
		c = newCounter(t, nil)
		c.fake = map[string]string{toolRead: text}
		assert.Contains(t, c.hears("a large latte"), "could not find a menu", "%q", text)
	}
}

func TestMissingSizeIsAskedByTheCart(t *testing.T) {
	t.Parallel()
	c := newCounter(t, nil)
	c.form = `{"action":"accept","content":{"size":"medium"}}`
	talk(t, c,
		prompted{"two lattes and a morning bun", "create; add latte; add latte; add morning bun; place", []string{"medium latte $4.75\nmedium latte $4.75\nmorning bun $3.50\nTotal $13.00"}},
		prompted{"another latte, large", "create; add large latte; place", nil},
		prompted{"one more", "create; add large latte; place", nil})

	c = newCounter(t, nil)
	c.form = `{"action":"decline"}`
	talk(t, c,
		prompted{"two lattes and a morning bun", "create; add latte; add morning bun", []string{"No size was chosen, so I left the latte out.", "Total $3.50", "not placed yet"}},
		prompted{"that's fine, place it", "place", []string{"Total $3.50"}})
}

func TestExpiredOrderIsStartedAgain(t *testing.T) {
	t.Parallel()
	c := newCounter(t, nil)
	talk(t, c, prompted{"start an order with a large latte and a cookie", "create; add large latte; add oat cookie", nil})
	c.leaves()
	talk(t, c, prompted{
		"and a morning bun", "add morning bun; create; add large latte; add oat cookie; add morning bun",
		[]string{"had expired, so I started a new one and put the same items", "large latte $5.50\noat cookie $2.75\nmorning bun $3.50\nTotal $11.75"},
	})
	c.leaves()
	talk(t, c, prompted{"remove the cookie", "remove 2; create; add large latte; add oat cookie; add morning bun; remove 2", []string{"Total $9.00"}})
	c.leaves()
	talk(t, c, prompted{"place it", "place; create; add large latte; add morning bun; place", []string{"had expired", "number 1", "Total $9.00"}})
	talk(t, c, prompted{"start an order with a cookie", "create; add oat cookie", nil})
	c.leaves()
	talk(t, c, prompted{"what's the total?", "get", []string{"That order is gone. The cart says: Order"}})
	talk(t, c, prompted{"place it", "", []string{"nothing to place"}})
}

func TestRefusalStops(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]prompted{
		toolRead:   {"", "mcp_read", []string{"I was not allowed to do that (mcp read), so I stopped. Nothing is ordered."}},
		toolCreate: {"", "mcp_read; create", []string{"not allowed to do that (create order), so I stopped. Nothing is ordered."}},
		toolAdd:    {"", "mcp_read; create; add large latte", []string{"not allowed to do that (add item)", "Nothing is ordered."}},
		toolPlace:  {"", "mcp_read; create; add large latte; add morning bun; place", []string{"Nothing is placed; the order is still open.", "Total $9.00"}},
	} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			c := newCounter(t, nil)
			c.refuse = tool
			text := c.hears("a large latte and a morning bun")
			assert.Equal(t, want.calls, strings.Join(c.calls, "; "))
			for _, w := range want.words {
				assert.Contains(t, text, w)
			}
		})
	}
	c := newCounter(t, nil)
	c.hears("a large latte")
	c.refuse = toolCreate
	assert.Contains(t, c.hears("another"), "Your order number 1 stays placed as it was.")
}

func TestOtherToolErrorsArePassedOn(t *testing.T) {
	t.Parallel()
	for tool, want := range map[string]string{
		toolCreate: "I could not start an order. The cart says: the till is stuck",
		toolAdd:    "I could not add the large latte. The cart says: the till is stuck",
		toolPlace:  "I could not place the order. The cart says: the till is stuck",
	} {
		c := newCounter(t, nil)
		c.fake = map[string]string{tool: "!the till\n is stuck"}
		assert.Contains(t, c.hears("three large lattes"), want)
		calls := map[string]int{}
		for _, call := range c.calls {
			calls[call]++
		}
		assert.LessOrEqual(t, calls["add large latte"], map[bool]int{true: 1, false: 3}[tool == toolAdd], "%v", c.calls)
	}
	c := newCounter(t, nil)
	c.hears("start an order with a cookie")
	c.fake = map[string]string{toolRemove: "!the till is stuck", toolGet: "!the till is stuck", toolCancel: "!the till is stuck"}
	assert.Contains(t, c.hears("remove the cookie"), "I could not take that off. The cart says: the till is stuck")
	assert.Contains(t, c.hears("what's on my order"), "I could not look at the order. The cart says: the till is stuck")
	assert.Contains(t, c.hears("cancel it"), "I could not cancel the order. The cart says: the till is stuck")
}

// TestToolsThatMakeNoSense holds that turns end whatever tools answer.
func TestToolsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	answers := []string{
		"", "ok", "{}", "null", `{"order":null}`, `{"order":""}`, `{"order":5}`, `{"order":"o","lines":null}`, `{"lines":[]}`,
		`{"order":"o","lines":[{}],"totalCents":"many"}`, `{"order":"o","lines":[{"item":5}]}`, `{"order":{"a":1}}`, "[1,2",
		"!", "!expired", "!sold out", "!There is no order o.", "!refused", "!small, medium or large?",
	}
	for _, create := range answers {
		for _, add := range answers {
			c := newCounter(t, nil)
			c.fake = map[string]string{toolCreate: create, toolAdd: add, toolRemove: add, toolPlace: add, toolGet: add, toolCancel: add}
			for _, prompt := range []string{"three large lattes and a tea", "large", "remove a latte", "what's the total?", "place it", "cancel it"} {
				c.hears(prompt)
				assert.LessOrEqual(t, len(c.calls), 15, "%q, %q, %q: %v", create, add, prompt, c.calls)
			}
		}
	}
}

// TestCancelledTurn holds that what a turn had done before it was cancelled is not done again, nor placed unasked.
func TestCancelledTurn(t *testing.T) {
	t.Parallel()
	c := newCounter(t, nil)
	c.messages = append(c.messages, loop.Message{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: "a large latte and two cookies"}}})
	for range 4 { // the menu, the order, a latte, a cookie
		_, done := c.step()
		require.False(t, done)
	}
	text := c.hears("a morning bun")
	assert.Equal(t, []string{"get", "add morning bun"}, c.calls)
	assert.Contains(t, text, "large latte $5.50\noat cookie $2.75\nmorning bun $3.50\nTotal $11.75")
	assert.Contains(t, text, "not placed yet")
	c.hears("place it")
	assert.Equal(t, []string{"place"}, c.calls)
}

// TestTurnsOfAnotherModel holds that what other models have done with the cart counts.
func TestTurnsOfAnotherModel(t *testing.T) {
	t.Parallel()
	c := newCounter(t, nil)
	c.messages = append(c.messages, loop.Message{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: "surprise me"}}})
	for _, call := range []loop.Call{
		loop.NewCall("", "kiosk__create_order", ""),
		loop.NewCall("", "kiosk__add_item", `{"order":"ord_1","item":"oat cookie"}`),
		loop.NewCall("", "kiosk__add_item", `{"order":"ord_1","item":"latte"}`),
	} {
		call.ID = "x" + call.Tool
		r := c.run(call)
		r.CallID = call.ID
		c.messages = append(c.messages, loop.Message{Role: loop.RoleAssistant, Calls: []loop.Call{call}},
			loop.Message{Role: loop.RoleTool, Results: []loop.Result{r}})
	}
	c.messages = append(c.messages, loop.Message{Role: loop.RoleAssistant, Content: loop.Blocks{loop.Text{Text: "A cookie it is. Shall I?"}}})
	text := c.hears("what's on my order?")
	assert.Equal(t, []string{"mcp_read", "get", "get"}, c.calls)
	assert.Contains(t, text, "oat cookie $2.75\nTotal $2.75")
	text = c.hears("yes")
	assert.Equal(t, []string{"place"}, c.calls)
	assert.Contains(t, text, "number 1")
}

func TestRequestStaysAsItWas(t *testing.T) {
	t.Parallel()
	c := newCounter(t, nil)
	for _, p := range []string{"two lattes and a cookie", "one small and one large", "make that two", "no thanks"} {
		c.hears(p)
		r := c.request()
		before, err := json.Marshal(r)
		require.NoError(t, err)
		reply(r)
		after, err := json.Marshal(r)
		require.NoError(t, err)
		assert.Equal(t, string(before), string(after))
	}
}

func TestOnlyTheTextOfThePromptCounts(t *testing.T) {
	t.Parallel()
	content := loop.Blocks{
		loop.Text{Text: "<context>\na cookie </context> and a bun\n</context>\n"},
		loop.Resource{URI: "file:///x", Text: "ten cookies"},
		loop.Text{Text: "a large"},
		loop.Link{URI: "file:///y", Name: "cookies"},
		loop.Text{Text: "latte"},
	}
	assert.Equal(t, "a large\nlatte", promptOf(content))
	assert.Equal(t, "hi", promptOf(loop.Blocks{loop.Text{Text: "<context>x</context> hi"}}))
	assert.Empty(t, promptOf(loop.Blocks{loop.Text{Text: "<context> never closed"}}))
}

func TestResultsByPlaceWhereCallsHaveNoIDs(t *testing.T) {
	t.Parallel()
	calls := []loop.Call{{Tool: "a"}, {Tool: "b"}}
	got := turnsOf([]loop.Message{
		{Role: loop.RoleAssistant, Calls: calls},
		{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: "p"}}},
		{Role: loop.RoleAssistant, Calls: calls},
		{Role: loop.RoleTool, Results: []loop.Result{{}, {Failed: true}, {CallID: "stray"}}},
	})
	assert.Equal(t, []exchange{{prompt: "p", steps: []doneCall{{calls[0], loop.Result{}}, {calls[1], loop.Result{Failed: true}}}}}, got)
}

func TestTroubles(t *testing.T) {
	t.Parallel()
	sizes := []sized{{"Short", 1}, {"tall", 2}}
	for text, want := range map[string]trouble{
		"The order o-1 has expired.":                 troubleGone,
		"There is no order \"o\" for this customer.": troubleGone,
		"It comes in short or TALL.":                 troubleSize,
		"The tool asks: Which one? Nobody can be asked that way here: ask the user in words, then call again.": troubleSize,
		"Not run: the user closed the question without an answer. Ask in words what they want. short or tall":  troubleRefused,
		"A rule forbids it. Do not try the same in another way.":                                               troubleRefused,
		"Only tall is left.": troubleOther,
		"":                   troubleOther,
	} {
		assert.Equal(t, want, troubleOf(text, sizes), text)
	}
	assert.Equal(t, troubleOther, troubleOf("It comes in short or tall.", nil))
	assert.Equal(t, strings.Repeat("x ", 200)[:399]+" …", quote(strings.Repeat("x \n", 300)))
	assert.Equal(t, "It gave no reason.", quote(" "))
}

func TestReceipt(t *testing.T) {
	t.Parallel()
	text := `Done: [1] {"x":1} {"order":"o-1","number":"A7","lines":[{"item":"x","size":null,"cents":100},{"item":"y","size":"big","cents":250}],"totalCents":350} bye`
	got, ok := readReceipt(loop.Result{Content: loop.Blocks{loop.Text{Text: "see below"}, loop.Resource{Text: text}}})
	require.True(t, ok)
	assert.Equal(t, receipt{
		id: "o-1", number: "A7", lines: []line{{"x", "", 100}, {"y", "big", 250}}, listed: true, total: 350, summed: true,
	}, got)
	_, ok = readReceipt(loop.Result{Content: loop.Blocks{loop.Text{Text: `{"total":3} and {`}}})
	assert.False(t, ok)
	assert.Equal(t, "big y $2.50", got.lines[1].String())
	assert.Equal(t, []string{"$0.05", "$12.00", "-$1.20"}, []string{dollars(5), dollars(1200), dollars(-120)})
}

func TestMenu(t *testing.T) {
	t.Parallel()
	wrapped, err := json.Marshal(map[string]any{"contents": []any{map[string]any{"uri": "menu://today", "text": teaHouse}}})
	require.NoError(t, err)
	for _, text := range []string{teaHouse, "menu://today (application/json):\n" + teaHouse, "```json\n" + teaHouse + "\n```", string(wrapped)} {
		m := readMenu(text)
		require.NotNil(t, m, text)
		require.Len(t, m.items, 8)
		assert.Equal(t, item{
			name: "iced tea", words: []string{"iced", "tea"}, sizes: []sized{{"small", 220}, {"medium", 270}, {"large", 320}},
		}, m.items[1])
		assert.Equal(t, item{name: "glühwein", words: []string{"gluhwein"}, cents: 500, priced: true, soldOut: true}, m.items[7])
		assert.Equal(t, 3, m.find("Café Crème"))
	}
	assert.Equal(t, -1, (*menu)(nil).find("tea"))
}

func TestWords(t *testing.T) {
	t.Parallel()
	var got []string
	for _, k := range tokenize("I’d like 2x CAFÉ-crème & 1,000 (thé): $5.50, -3? naïve…☕ 7up") {
		if k.sep != 0 {
			got = append(got, string(k.sep))
			continue
		}
		got = append(got, k.word)
	}
	assert.Equal(t, []string{
		"id", "like", "2", "x", "cafe", "creme", "and", "1000", "the", ",", "$5.50", ",", "-3", "?", "naive", ".", "☕", "7", "up",
	}, got)
	for plural, one := range map[string]string{
		"buns": "bun", "lattes": "latte", "coffees": "coffee", "sandwiches": "sandwich", "cookies": "cookie", "berries": "berry",
		"loaves": "loaf", "knives": "knife", "boxes": "box", "potatoes": "potato", "glasses": "glass", "teas": "tea",
	} {
		assert.True(t, slices.Contains(forms(plural), one), "%s: %v", plural, forms(plural))
	}
	assert.Equal(t, []string{"glass"}, forms("glass"))
	for _, pair := range [][2]string{{"latte", "latt"}, {"latte", "lattte"}, {"latte", "lette"}, {"latte", "lattel"}, {"ltate", "latte"}, {"a", ""}} {
		assert.True(t, oneOff(pair[0], pair[1]), "%v", pair)
		assert.True(t, oneOff(pair[1], pair[0]), "%v", pair)
	}
	for _, pair := range [][2]string{{"latte", "later"}, {"latte", "late r"}, {"latte", "lat"}, {"abcd", "badc"}} {
		assert.False(t, oneOff(pair[0], pair[1]), "%v", pair)
	}
}

func TestAmbiguousSpellingIsNotCorrected(t *testing.T) {
	t.Parallel()
	m := readMenu(`[{"name":"maple","cents":1},{"name":"mapla","cents":2},{"name":"bagel","cents":3}]`)
	assert.Equal(t, []string{"maple", "", "bagel", ""}, []string{m.canon("maple"), m.canon("mapli"), m.canon("bagal"), m.canon("total")})
}
