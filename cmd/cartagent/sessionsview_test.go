package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cartagent/cartagent/internal/transcript"
	"github.com/cartagent/cartagent/loop"
	"github.com/cartagent/cartagent/session"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writtenLog are the records of one of the recorded sessions, a second apart.
func writtenLog(t *testing.T, name string) []session.Record {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../testdata/sessions", name+".txtar"))
	require.NoError(t, err)
	s, err := transcript.Parse(data)
	require.NoError(t, err)
	inputs, err := s.LoopInputs()
	require.NoError(t, err)
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var out []session.Record
	for i, in := range inputs {
		out = append(out, session.Record{N: i + 1, At: at.Add(time.Duration(i) * time.Second), Input: in})
	}
	return out
}

func asText(v *sessionView, colour bool) string {
	var b bytes.Buffer
	textWriter{w: &b, colour: colour}.session(v)
	return b.String()
}

func TestShowASession(t *testing.T) {
	t.Parallel()
	v := viewOf(session.Info{ID: "sess_x", Cwd: "/w"}, writtenLog(t, "edit_and_test"), nil)
	text := asText(v, false)
	for _, want := range []string{
		"The greeting is wrong: fix it and run the test.\nsess_x · /w", "\n── 1 ── ", "\n> The greeting is wrong",
		"  ✓ Edit greet.sh  edit · allowed once after 1.0 s · 1.0 s\n      /workspace/greet.sh  +1 −1\n       #!/bin/sh\n" +
			"      -echo \"Hallo, $1\"\n      +echo \"Hello, $1\"\n      Edited greet.sh",
		"  ✓ sh test.sh  terminal · allowed once", "      [exit 0]\n", "\nend_turn · ",
	} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "\x1b")
	assert.Contains(t, asText(v, true), "\x1b[31m-echo \"Hallo, $1\"\x1b[0m")

	text = asText(viewOf(session.Info{}, writtenLog(t, "permission_refused"), nil), false)
	assert.Contains(t, text, "refused after 1.0 s")
	text = asText(viewOf(session.Info{}, writtenLog(t, "cancel"), nil), false)
	assert.Contains(t, text, "  ✗ Write story.txt  write\n")
	assert.Contains(t, text, "\ncancelled · ")
	text = asText(viewOf(session.Info{}, writtenLog(t, "model_failure"), nil), false)
	assert.Contains(t, text, "  ! ")
}

// TestShowIsNotObeyed: nothing that a model, a tool or a file says moves the cursor or turns the text around.
func TestShowIsNotObeyed(t *testing.T) {
	t.Parallel()
	bad := "a\x1b]0;title\x07b\x9bJ\r\u202ec\x00"
	records := []session.Record{
		{N: 1, Input: loop.Configured{Specs: []loop.Spec{{Name: "t", Default: loop.Allow}}}},
		{N: 2, Input: loop.Prompted{Content: loop.Blocks{loop.Text{Text: bad}}}},
		{N: 3, Input: loop.Streamed{Kind: loop.ChunkThought, Text: bad}},
		{N: 4, Input: loop.Streamed{Kind: loop.ChunkText, Text: bad}},
		{N: 5, Input: loop.Replied{Message: loop.Message{Role: loop.RoleAssistant, Calls: []loop.Call{loop.NewCall("", "t", `{}`)}}}},
		{N: 6, Input: loop.Previewed{CallID: "call_1_1", Preview: loop.Preview{Title: bad, Display: loop.Blocks{loop.Diff{Path: bad, New: bad}}}}},
		{N: 7, Input: loop.Intended{CallID: "call_1_1"}},
		{N: 8, Input: loop.Finished{Result: loop.Result{CallID: "call_1_1", Content: loop.Blocks{loop.Text{Text: bad}}}}},
	}
	text := asText(viewOf(session.Info{ID: "sess_x", Cwd: bad}, records, nil), false)
	assert.Equal(t, 9, strings.Count(text, "title"), text)
	assert.False(t, strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && obeyed(r) }), "%q", text)
}

// TestPage: a page shows what the terminal shows, loads nothing, runs nothing, and everything in it is escaped.
func TestPage(t *testing.T) {
	t.Parallel()
	records := writtenLog(t, "edit_and_test")
	evil := `<script>alert(1)</script><img src=x onerror=alert(2)>"' javascript:`
	records = append(records,
		session.Record{Input: loop.Prompted{Content: loop.Blocks{
			loop.Text{Text: evil + "\n```\n" + evil + "\n```"},
			loop.Image{MIME: "image/png", Data: []byte("png")},
			loop.Image{MIME: "image/svg+xml", Data: []byte("<svg onload=alert(3)>")},
			loop.Resource{URI: "javascript:alert(4)", Text: evil},
		}}},
		session.Record{Input: loop.Streamed{Kind: loop.ChunkText, Text: evil}},
		session.Record{Input: loop.Unknown{Kind: evil}},
	)
	var b bytes.Buffer
	require.NoError(t, writePage(&b, viewOf(session.Info{ID: "sess_x", Cwd: evil}, records, []session.Problem{{Line: 1, Text: evil}})))
	page := b.String()
	assert.NotContains(t, page, "<script")
	assert.NotContains(t, page, "<img src=x")
	assert.NotContains(t, page, "<svg")
	assert.NotContains(t, page, "http:")
	assert.NotContains(t, page, "https:")
	for _, want := range []string{
		"<h1>The greeting is wrong: fix it and run the test.</h1>", "&lt;script&gt;", `<img src="data:image/png;base64,cG5n"`,
		`<span class="del">-echo &#34;Hallo, $1&#34;`, `<span class="add">+echo &#34;Hello, $1&#34;`, "allowed once after 1.0 s", "prefers-color-scheme: dark",
		`name="viewport"`, "default-src 'none'",
	} {
		assert.Contains(t, page, want)
	}
}

// TestPageReadsWell: the Markdown of a model's lines, plans as lists, arguments apart from titles, and when the model was
// at work. A person's words stay as they are, and nothing gets in that is not escaped.
func TestPageReadsWell(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	plan := loop.Plan{Entries: []loop.PlanEntry{{Content: "read <it>", Status: "completed"}, {Content: "fix", Status: "in_progress"}, {Content: "test", Status: "pending"}}}
	text := func(s string) loop.Blocks { return loop.Blocks{loop.Text{Text: s}} }
	inputs := []loop.Input{
		loop.Configured{Specs: []loop.Spec{{Name: "t", Default: loop.Allow}}},
		loop.Prompted{Content: text("**as** `it` is")},
		loop.Streamed{Kind: loop.ChunkText, Text: "# Head `c` #1\n- a **b<i>** `x**y<` 2 ** 3 ` 4\n  * in ``\n#not\n*this* ** no**"},
		loop.Replied{Message: loop.Message{Role: loop.RoleAssistant, Calls: []loop.Call{loop.NewCall("", "t", `{"a":"<b>"}`)}}},
		loop.Previewed{CallID: "call_1_1", Preview: loop.Preview{Title: `shop: Do it {"a":"<b>"}`, Display: loop.Blocks{plan}}},
		loop.Intended{CallID: "call_1_1"},
		loop.Finished{Result: loop.Result{CallID: "call_1_1", Content: text("Plan updated.")}},
		loop.Replied{Message: loop.Message{Role: loop.RoleAssistant, Content: text("Done.")}, Stop: loop.StopEndTurn},
	}
	var records []session.Record
	for i, in := range inputs {
		records = append(records, session.Record{N: i + 1, At: at.Add(time.Duration(i) * time.Second), Input: in})
	}
	var b bytes.Buffer
	require.NoError(t, writePage(&b, viewOf(session.Info{ID: "sess_x"}, records, nil)))
	for _, want := range []string{
		`<div class="said">**as** ` + "`it`" + ` is</div>`,
		`<b class="head">Head <code>c</code> #1</b>` + "\n• a <b>b&lt;i&gt;</b> <code>x**y&lt;</code> 2 ** 3 ` 4\n  • in ``\n#not\n*this* ** no**</div>",
		`<span class="name">shop: Do it <code>{&#34;a&#34;:&#34;&lt;b&gt;&#34;}</code></span>`,
		`<li class="done"><span class="mark" aria-label="done">✓</span> read &lt;it&gt;</li><li class="now">`,
		`<i class="model" style="left:0.00%;width:33.33%" title="the model, 2.0 s">`, `<i class="model" style="left:83.33%;width:16.67%" title="the model, 1.0 s">`,
	} {
		assert.Contains(t, b.String(), want)
	}
	assert.NotContains(t, b.String(), "Plan updated.")
}

func TestDiffLines(t *testing.T) {
	t.Parallel()
	flat := func(d loop.Diff) string {
		var out strings.Builder
		for _, l := range diffLines(d) {
			if l.Op == '@' {
				out.WriteString(l.Text + "\n")
				continue
			}
			out.WriteString(string(l.Op) + l.Text + "\n")
		}
		return out.String()
	}
	text := func(s string) *string { return &s }
	var many []string
	for i := range 20 {
		many = append(many, fmt.Sprint("line ", i+1))
	}
	long := strings.Join(many, "\n") + "\n"
	for name, c := range map[string]struct {
		old  *string
		new  string
		want string
	}{
		"new":     {nil, "a\nb\n", "+a\n+b\n"},
		"emptied": {text("a\n"), "", "-a\n"},
		"same":    {text("a\n"), "a\n", ""},
		"in the middle": {text(long), strings.Replace(long, "line 10\n", "ten\n", 1), "@@ line 7, now 7 @@\n line 7\n line 8\n line 9\n" +
			"-line 10\n+ten\n line 11\n line 12\n line 13\n"},
		"both ends": {text("x\na\nb\ny\n"), "a\nc\nb\nz\n", "-x\n a\n+c\n b\n-y\n+z\n"},
		"two places": {text(long), strings.NewReplacer("line 2\n", "", "line 19\n", "line 19\nmore\n").Replace(long), " line 1\n-line 2\n line 3\n line 4\n line 5\n" +
			"@@ line 17, now 16 @@\n line 17\n line 18\n line 19\n+more\n line 20\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, flat(loop.Diff{Old: c.old, New: c.new}))
		})
	}
	huge := strings.Repeat("a\n", 3000)
	added, removed := counts(diffLines(loop.Diff{Old: &huge, New: strings.Repeat("b\n", 3000)}))
	assert.Equal(t, []int{3000, 3000}, []int{added, removed})
}

// TestOutlineHidesAll fills every text of every kind of input, and names all places where one is left. What is new in an
// input is hidden until it is let out here.
func TestOutlineHidesAll(t *testing.T) {
	t.Parallel()
	all := []loop.Input{
		loop.Configured{},
		loop.Chosen{},
		loop.Prompted{},
		loop.Noted{},
		loop.Revoked{},
		loop.Streamed{},
		loop.Replied{},
		loop.ModelFailed{},
		loop.Previewed{},
		loop.Decided{},
		loop.Intended{},
		loop.Asked{},
		loop.Answered{},
		loop.Progressed{},
		loop.Finished{},
		loop.Compacting{},
		loop.Compacted{},
		loop.Cancelled{},
		loop.Interrupted{},
	}
	var left []string
	for _, in := range all {
		v := reflect.New(reflect.TypeOf(in)).Elem()
		fill(v)
		full := v.Interface().(loop.Input)
		outline, private := outlineOf(full)
		if !private {
			outline = full
		}
		kind, body, err := loop.EncodeInput(outline)
		require.NoError(t, err)
		var tree any
		require.NoError(t, json.Unmarshal(body, &tree))
		left = append(left, privateIn(kind, tree)...)
		_, err = loop.DecodeInput(kind, body)
		require.NoError(t, err)
	}
	slices.Sort(left)
	assert.Equal(t, []string{
		"Answered.answer.action", "Answered.answer.id", "Answered.call", "Asked.call", "Asked.question.id", "Chosen.option",
		"Compacting.messageId", "Configured.specs.kind", "Configured.specs.name", "Decided.call", "Decided.outcome",
		"Finished.result.call", "Intended.call", "Intended.key", "ModelFailed.failure.kind", "Noted.messageId", "Previewed.call",
		"Progressed.call", "Prompted.messageId", "Replied.message.calls.id", "Replied.message.calls.tool", "Replied.message.id",
		"Replied.message.results.call", "Replied.message.role", "Replied.stop", "Streamed.kind",
	}, slices.Compact(left))
}

const privateText = "private"

// fill puts the text wherever one can be.
func fill(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes([]byte(`{"private":["private"]}`))
	case v.Type() == reflect.TypeFor[loop.Blocks]():
		old := privateText
		v.Set(reflect.ValueOf(loop.Blocks{
			loop.Text{Text: privateText},
			loop.Thought{Text: privateText, Provider: privateText, State: json.RawMessage(`"private"`)},
			loop.Image{Data: []byte(privateText), MIME: privateText, URI: privateText},
			loop.Audio{Data: []byte(privateText), MIME: privateText},
			loop.Link{URI: privateText, Name: privateText, Title: privateText},
			loop.Resource{URI: privateText, Text: privateText},
			loop.Diff{Path: privateText, Old: &old, New: privateText},
			loop.Terminal{ID: privateText},
			loop.Plan{Entries: []loop.PlanEntry{{Content: privateText, Status: "pending", Priority: "high"}}},
			loop.Other{Type: privateText, Raw: json.RawMessage(`"private"`)},
		}))
	case v.Kind() == reflect.String:
		v.SetString(privateText)
	case v.Kind() == reflect.Struct:
		for _, field := range v.Fields() {
			fill(field)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case v.Kind() == reflect.Map:
		v.Set(reflect.ValueOf(loop.Trace{privateText: privateText}))
	}
}

// privateIn are the places in a tree of JSON where the text is.
func privateIn(path string, tree any) (out []string) {
	switch v := tree.(type) {
	case map[string]any:
		for key, one := range v {
			if key == privateText {
				out = append(out, path)
			}
			out = append(out, privateIn(path+"."+key, one)...)
		}
	case []any:
		for _, one := range v {
			out = append(out, privateIn(path, one)...)
		}
	case string:
		if strings.Contains(v, privateText) {
			out = append(out, path)
		}
	}
	return out
}
