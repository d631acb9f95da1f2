package barista

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// FuzzPrompts holds that any conversation ends, with a real cart, and that what is said of an order is what the cart
// said last.
func FuzzPrompts(f *testing.F) {
	for _, seed := range []string{
		"A large latte and a morning bun, please", "one latte two buns|morning|large", "make that two|make the latte a tea",
		"a latte, no, make that small|no bun|swap it for a cookie", "-1.5 & x2 ½ of half a dozen dozen", "for for For FOR",
		"no no not no|without|both all", "\x00\xff\xfe|e\u0301\u0301|🙂👩‍👩‍👧", "is the is there|how much?|yes|again|scratch that",
		"change the large latte to|into small|to", "two hundred thousand dozen couple pair|another more more", "<context>|</context>",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 300 {
			return
		}
		c := newCounter(t, nil)
		for i, prompt := range strings.Split(text, "|") {
			if i == 4 {
				return
			}
			answer := c.hears(prompt)
			for n, call := range c.calls {
				if strings.HasPrefix(call, "place") && !c.results[n].Failed {
					got, ok := readReceipt(c.results[n])
					require.True(t, ok)
					for _, l := range got.lines {
						require.Contains(t, answer, l.String())
					}
					require.Contains(t, answer, "Total "+dollars(got.total))
				}
			}
		}
	})
}

// FuzzMenus holds that any text is a menu or none, and that prompts can be read by any menu.
func FuzzMenus(f *testing.F) {
	f.Add(teaHouse, "a tea")
	f.Add(oddShop, "☕ and a slice of loaves")
	f.Add(`[{"name":"and","cents":1},{"name":"one","cents":{"no":1,"one two":2}},{"name":"please","cents":-5}]`, "one two and no please")
	f.Add(`[{"name":"","cents":1},{"name":" ","cents":1},{"name":"...","cents":{}}]`, "... a")
	f.Fuzz(func(t *testing.T, text, prompt string) {
		m := readMenu(text)
		if m == nil || len(prompt) > 300 || len(text) > 2000 {
			return
		}
		c := newCounter(t, nil)
		c.menu = text
		c.fake = map[string]string{toolCreate: `{"order":"o"}`, toolAdd: `{"order":"o","lines":[{"item":"x","cents":1}],"totalCents":1}`, toolPlace: `{"order":"o","number":1}`}
		c.hears(prompt)
		u := parse(prompt, m)
		for _, g := range u.groups {
			require.GreaterOrEqual(t, g.count, 0)
			for _, i := range g.items {
				require.Less(t, i, len(m.items))
			}
		}
	})
}

// FuzzResults holds that turns end whatever the tools answer, also when the answers contradict each other.
func FuzzResults(f *testing.F) {
	f.Add(uint64(1), "three lattes and a tea, all large|remove a latte|place it|cancel")
	f.Add(uint64(7), "fifty cookies|make that two|again|what's the total?")
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		if len(text) > 200 {
			return
		}
		r := rand.New(rand.NewPCG(seed, 1))
		c := newCounter(t, nil)
		for i, prompt := range strings.Split(text, "|") {
			if i == 3 {
				return
			}
			c.messages = append(c.messages, loop.Message{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: prompt}}})
			steps := 0
			for done := false; !done; steps++ {
				require.LessOrEqual(t, steps, maxCalls+1, "%q does not end", prompt)
				c.fake = map[string]string{}
				for _, tool := range []string{toolCreate, toolAdd, toolRemove, toolGet, toolPlace, toolCancel} {
					c.fake[tool] = someResult(r)
				}
				_, done = c.step()
			}
		}
	})
}

func someResult(r *rand.Rand) string {
	lines := make([]string, r.IntN(4))
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"item":%q,"size":%q,"cents":%d}`,
			[]string{"latte", "oat cookie", "nothing"}[r.IntN(3)], []string{"", "large", "small"}[r.IntN(3)], r.IntN(900))
	}
	good := fmt.Sprintf(`{"order":"o%d","lines":[%s],"totalCents":%d}`, r.IntN(2), strings.Join(lines, ","), r.IntN(2000))
	return []string{
		good, good, good, good, `{"order":"o1"}`, "fine", "!The order has expired.", "!The latte is sold out today.",
		"!It comes in small, medium or large.", "!There is no order o1.", "!the till is stuck", "!Not run: the user refused it.",
	}[r.IntN(12)]
}

// BenchmarkReply is a reply in the twentieth turn of a session.
func BenchmarkReply(b *testing.B) {
	c := newCounter(b, nil)
	for range 10 {
		c.hears("a large latte and two morning buns, please")
		c.hears("what do you have?")
	}
	r := c.request()
	r.Messages = append(slices.Clone(r.Messages), loop.Message{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: "make that two"}}})
	raw, err := json.Marshal(r)
	require.NoError(b, err)
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		reply(r)
	}
}

// BenchmarkParse is one order.
func BenchmarkParse(b *testing.B) {
	m := readMenu(teaHouse)
	b.ReportAllocs()
	for b.Loop() {
		parse("two small and one large tea, a flat white and three ham and cheese sandwiches, please", m)
	}
}
