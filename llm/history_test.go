package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/llm"
	"github.com/cartagent/cartagent/loop"
)

func user(text string) loop.Message {
	return loop.Message{Role: loop.RoleUser, Content: loop.Blocks{loop.Text{Text: text}}}
}

func says(text string, calls ...string) loop.Message {
	m := loop.Message{Role: loop.RoleAssistant}
	if text != "" {
		m.Content = loop.Blocks{loop.Text{Text: text}}
	}
	for _, id := range calls {
		m.Calls = append(m.Calls, loop.Call{ID: id, Tool: "t", Args: json.RawMessage("{}")})
	}
	return m
}

func results(ids ...string) loop.Message {
	m := loop.Message{Role: loop.RoleTool}
	for _, id := range ids {
		m.Results = append(m.Results, loop.Result{CallID: id, Content: loop.Blocks{loop.Text{Text: "out " + id}}})
	}
	return m
}

func missing(id string) loop.Result {
	return loop.Failed(id, "The call was interrupted, and its outcome is unknown. Look before you repeat it.")
}

func TestTidy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want []loop.Message }{
		"as it is": {
			[]loop.Message{user("a"), says("b", "1", "2"), results("1", "2"), says("c"), user("d")},
			[]loop.Message{user("a"), says("b", "1", "2"), results("1", "2"), says("c"), user("d")},
		},
		"C048 empty turn left out": {
			[]loop.Message{user("a"), says(""), user("b"), says(" \n"), user("c")},
			[]loop.Message{user("a"), says("(no answer)"), user("b"), says("(no answer)"), user("c")},
		},
		"blank prompt": {
			[]loop.Message{user(" \n"), says("b")},
			[]loop.Message{user("(empty message)"), says("b")},
		},
		"missing result": {
			[]loop.Message{user("a"), says("", "1", "2"), results("2"), says("c")},
			[]loop.Message{
				user("a"), says("", "1", "2"),
				{Role: loop.RoleTool, Results: []loop.Result{missing("1"), results("2").Results[0]}},
				says("c"),
			},
		},
		"no results at all": {
			[]loop.Message{user("a"), says("", "1"), user("b")},
			[]loop.Message{
				user("a"), says("", "1"), {Role: loop.RoleTool, Results: []loop.Result{missing("1")}}, user("b"),
			},
		},
		"no results at the end": {
			[]loop.Message{user("a"), says("", "1")},
			[]loop.Message{user("a"), says("", "1"), {Role: loop.RoleTool, Results: []loop.Result{missing("1")}}},
		},
		"orphans dropped": {
			[]loop.Message{results("0"), user("a"), results("1"), says("x"), results("2"), user("b")},
			[]loop.Message{user("a"), says("x"), user("b")},
		},
		"results apart and out of order": {
			[]loop.Message{user("a"), says("", "1", "2"), results("2"), results("1", "3"), says("c")},
			[]loop.Message{user("a"), says("", "1", "2"), results("1", "2"), says("c")},
		},
		"begins with the assistant": {
			[]loop.Message{says("x"), user("a")},
			[]loop.Message{user("(the conversation began earlier)"), says("x"), user("a")},
		},
		"assistants merged": {
			[]loop.Message{user("a"), says("x"), says("", "1"), results("1")},
			[]loop.Message{user("a"), says("x", "1"), results("1")},
		},
		"empty": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, err := json.Marshal(c.in)
			require.NoError(t, err)
			assert.Equal(t, c.want, llm.Tidy(c.in))
			assert.Equal(t, c.want, llm.Tidy(llm.Tidy(c.in)), "it is a fixed point")
			after, err := json.Marshal(c.in)
			require.NoError(t, err)
			assert.Equal(t, before, after, "the input is as it was")
		})
	}
}

func TestResultContent(t *testing.T) {
	t.Parallel()
	raw := json.RawMessage(`{"total":9}`)
	text, img := loop.Text{Text: "nine"}, loop.Image{Data: []byte("x"), MIME: "image/png"}
	for name, c := range map[string]struct {
		in   loop.Result
		want loop.Blocks
	}{
		"C048 empty":          {loop.Result{}, loop.Blocks{loop.Text{Text: "(no output)"}}},
		"C048 blank":          {loop.Result{Content: loop.Blocks{loop.Text{Text: "\n"}}}, loop.Blocks{loop.Text{Text: "(no output)"}}},
		"raw alone":           {loop.Result{Raw: raw}, loop.Blocks{loop.Text{Text: `{"total":9}`}}},
		"a plan alone":        {loop.Result{Content: loop.Blocks{loop.Plan{Entries: []loop.PlanEntry{{Content: "x"}}}}}, loop.Blocks{loop.Text{Text: "(no output)"}}},
		"null":                {loop.Result{Raw: json.RawMessage("null")}, loop.Blocks{loop.Text{Text: "(no output)"}}},
		"raw not beside text": {loop.Result{Content: loop.Blocks{text}, Raw: raw}, loop.Blocks{text}},
		"raw beside an image": {loop.Result{Content: loop.Blocks{img}, Raw: raw}, loop.Blocks{img, loop.Text{Text: `{"total":9}`}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, llm.ResultContent(c.in))
		})
	}
}

func TestRenderNamesEveryBlock(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]loop.Block{
		"hi": loop.Text{Text: "hi"},
		"[1 audio/wav block, 14 kB, not forwardable to this model]":                    loop.Audio{Data: make([]byte, 14_000), MIME: "audio/wav"},
		"[1 image/tiff block, 2.0 MB, not forwardable to this model]":                  loop.Image{Data: make([]byte, 2_000_000), MIME: "image/tiff"},
		"[1 poem block, 12 B, not forwardable to this model]":                          loop.Other{Type: "poem", Raw: json.RawMessage(`{"verse":[]} `)[:12]},
		"[1 application/pdf block, 3 B, not forwardable to this model] from file:///a": loop.Resource{URI: "file:///a", MIME: "application/pdf", Blob: []byte("pdf")},
		"<resource uri=\"menu://today\" mime=\"text/plain\">\nlatte\n</resource>":      loop.Resource{URI: "menu://today", MIME: "text/plain", Text: "latte"},
		"[resource link Menu: menu://today (text/plain, 12 kB)] all of it":             loop.Link{URI: "menu://today", Name: "menu", Title: "Menu", MIME: "text/plain", Size: 12_000, Description: "all of it"},
		"[resource link: x://y]":                                                              loop.Link{URI: "x://y"},
		"[1 diff block, 1 B, not forwardable to this model] of /a":                            loop.Diff{Path: "/a", New: "x"},
		"[1 terminal block, not forwardable to this model] with id 7":                         loop.Terminal{ID: "7"},
		"[1 image block, not forwardable to this model] from https://example.com/picture.png": loop.Image{URI: "https://example.com/picture.png"},
		"": loop.Thought{Text: "secret"},
	} {
		assert.Equal(t, want, llm.Render(b))
	}
	assert.Empty(t, llm.Render(loop.Plan{Entries: []loop.PlanEntry{{Content: "x"}}}), "clients alone see plans")
}

func TestPicture(t *testing.T) {
	t.Parallel()
	png := []byte("\x89PNG\r\n\x1a\n....")
	got, ok := llm.Picture(loop.Image{Data: png, MIME: "image/jpeg"}, 100)
	assert.True(t, ok)
	assert.Equal(t, loop.Image{Data: png, MIME: "image/png"}, got)
	_, ok = llm.Picture(loop.Resource{Blob: png, MIME: "image/png"}, 100)
	assert.True(t, ok)
	for name, b := range map[string]loop.Block{
		"no image": loop.Image{Data: []byte("<svg/>"), MIME: "image/png"},
		"empty":    loop.Image{URI: "https://example.com/a.png"},
		"too big":  loop.Image{Data: append(png, make([]byte, 100)...)},
		"text":     loop.Resource{Text: string(png)},
		"audio":    loop.Audio{Data: png},
	} {
		_, ok = llm.Picture(b, 100)
		assert.False(t, ok, name)
	}
}

func TestToolName(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "cart__add_item", llm.ToolName("cart__add_item"))
	assert.Equal(t, "unknown", llm.ToolName(""))
	assert.Equal(t, "a_b_c_", llm.ToolName("a.b cé"))
	assert.Len(t, llm.ToolName(string(make([]byte, 100))), 64)
}
