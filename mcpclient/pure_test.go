//go:build unix

package mcpclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/loop"
)

// TestToolNames is case C035.
func TestToolNames(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	servers := []string{
		"shop", "Shop", "Shop & Co.", "Shop & Co.-2", "Shop_Co", "a", "a_", "a__b", "", "購", "../../log", "_", "__", "a-b",
		strings.Repeat("s", 64), strings.Repeat("s", 128),
	}
	names := []string{
		"cart.add", "cart_add", "cart/add", "購入", strings.Repeat("n", 128), strings.Repeat("n", 64), "Read", "read",
		"b__c", "_b", "b", "c", "__", "_", "-", "", " ", "x_x0123456789ab", "\x00",
	}
	seen := map[string][2]string{}
	for _, s := range servers {
		for _, n := range names {
			name := ToolName(s, n)
			require.Regexp(t, valid, name)
			require.Contains(t, name, "__")
			require.NotContains(t, seen, name, "%q %q and %q", s, n, seen[name])
			seen[name] = [2]string{s, n}
			require.Equal(t, name, ToolName(s, n))
		}
	}
	assert.Equal(t, "cart__add_item", ToolName("cart", "add_item"))
	// Configurations hold rules by these names, so they must never change.
	assert.Equal(t, "shop__cart_add_xb940f153d2f8", ToolName("shop", "cart.add"))
	assert.Equal(t, "Shop_Co__x_xcc40a8d2934e", ToolName("Shop & Co.", "購入"))
	crafted := ToolName("shop", "cart.add")
	assert.NotEqual(t, crafted, ToolName("shop", strings.TrimPrefix(crafted, "shop__")))
}

func FuzzToolName(f *testing.F) {
	f.Add("shop", "a", "shop__a", "a")
	f.Fuzz(func(t *testing.T, s1, t1, s2, t2 string) {
		a, b := ToolName(s1, t1), ToolName(s2, t2)
		require.Regexp(t, `^[A-Za-z0-9_-]{1,64}$`, a)
		require.Contains(t, a, "__")
		require.Equal(t, s1 == s2 && t1 == t2, a == b, "%q %q", a, b)
	})
}

func TestUnique(t *testing.T) {
	t.Parallel()
	var in []Server
	for _, n := range []string{"shop", "shop", "shop-2", "", "shop", ""} {
		in = append(in, Server{Name: n, Command: n})
	}
	var got []string
	for i, s := range Unique(in) {
		got = append(got, s.Name)
		assert.Equal(t, in[i].Command, s.Command)
	}
	assert.Equal(t, []string{"shop", "shop-3", "shop-2", "server", "shop-4", "server-2"}, got)
	assert.Equal(t, "shop", in[1].Name, "the argument stays as it was")
}

// TestResults is case C041: nothing vanishes, nothing comes twice.
func TestResults(t *testing.T) {
	t.Parallel()
	text := func(s string) loop.Blocks { return loop.Blocks{loop.Text{Text: s}} }
	png := loop.Image{Data: []byte{0, 1}, MIME: "image/png"}
	for name, c := range map[string]struct {
		raw  string
		want loop.Result
	}{
		"text":            {`{"content":[{"type":"text","text":"hi"}]}`, loop.Result{Content: text("hi")}},
		"structured only": {`{"content":[],"structuredContent":{"total":9}}`, loop.Result{Content: text(`{"total":9}`), Raw: json.RawMessage(`{"total":9}`)}},
		"no content":      {`{"structuredContent":[1,2]}`, loop.Result{Content: text(`[1,2]`), Raw: json.RawMessage(`[1,2]`)}},
		"null alone":      {`{"structuredContent":null}`, loop.Result{Content: text(`null`), Raw: json.RawMessage(`null`)}},
		"null and text": {
			`{"content":[{"type":"text","text":"hi"}],"structuredContent":null}`,
			loop.Result{Content: text("hi"), Raw: json.RawMessage(`null`)},
		},
		"a summary": {
			`{"content":[{"type":"text","text":"nine"}],"structuredContent":{"total":9}}`,
			loop.Result{Content: append(text("nine"), text(`{"total":9}`)...), Raw: json.RawMessage(`{"total":9}`)},
		},
		"the same": {
			`{"content":[{"type":"text","text":" {\"b\":2, \"a\":1}"}],"structuredContent":{"a":1,"b":2}}`,
			loop.Result{Content: text(` {"b":2, "a":1}`), Raw: json.RawMessage(`{"a":1,"b":2}`)},
		},
		"nearly the same": {
			`{"content":[{"type":"text","text":"12345678901234567891"}],"structuredContent":12345678901234567890}`,
			loop.Result{Content: append(text("12345678901234567891"), text("12345678901234567890")...), Raw: json.RawMessage(`12345678901234567890`)},
		},
		"an image": {`{"content":[{"type":"image","data":"AAE=","mimeType":"image/png"}]}`, loop.Result{Content: loop.Blocks{png}}},
		"image, structured": {
			`{"content":[{"type":"image","data":"AAE=","mimeType":"image/png"}],"structuredContent":{"w":1}}`,
			loop.Result{Content: append(loop.Blocks{png}, text(`{"w":1}`)...), Raw: json.RawMessage(`{"w":1}`)},
		},
		"audio": {
			`{"content":[{"type":"audio","data":"","mimeType":"audio/wav"}]}`,
			loop.Result{Content: loop.Blocks{loop.Audio{Data: []byte{}, MIME: "audio/wav"}}},
		},
		"links and resources": {
			`{"content":[{"type":"resource_link","uri":"a:b","name":"n","size":1e3},{"type":"resource","resource":{"uri":"u","text":""}},` +
				`{"type":"resource","resource":{"uri":"u","mimeType":"m","blob":"AAE="}}]}`,
			loop.Result{Content: loop.Blocks{
				loop.Link{URI: "a:b", Name: "n", Size: 1000},
				loop.Resource{URI: "u"},
				loop.Resource{URI: "u", MIME: "m", Blob: []byte{0, 1}},
			}},
		},
		"unknown and broken": {
			`{"content":[{"type":"poem","lines":[1]},{"type":"image","data":"??"},{"type":"text"},7,{"type":"resource","resource":{}}]}`,
			loop.Result{Content: loop.Blocks{
				loop.Other{Type: "poem", Raw: json.RawMessage(`{"type":"poem","lines":[1]}`)},
				loop.Other{Type: "image", Raw: json.RawMessage(`{"type":"image","data":"??"}`)},
				loop.Other{Type: "text", Raw: json.RawMessage(`{"type":"text"}`)},
				loop.Other{Raw: json.RawMessage(`7`)},
				loop.Other{Type: "resource", Raw: json.RawMessage(`{"type":"resource","resource":{}}`)},
			}},
		},
		"an error":            {`{"content":[{"type":"text","text":"sold out"}],"isError":true}`, loop.Result{Content: text("sold out"), Failed: true}},
		"an error in silence": {`{"content":[],"isError":true}`, loop.Result{Content: text("The tool failed and did not say why."), Failed: true}},
		"nothing":             {`{}`, loop.Result{Content: text("The tool has answered with nothing.")}},
		"null content":        {`{"content":null}`, loop.Result{Content: text("The tool has answered with nothing.")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := decodeResult(json.RawMessage(c.raw))
			require.NoError(t, err)
			assert.Equal(t, c.want, got)
		})
	}
}

func TestArgumentsAreChecked(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","additionalProperties":false,"required":["item"],"properties":{
		"item":{"type":"string"},"size":{"enum":["small","large"]},
		"lines":{"type":"array","items":{"type":"object","properties":{"a/b":{"type":"integer"}}}},
		"tree":{"$ref":"#/$defs/node"}},
		"$defs":{"node":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`
	v, show, why, err := newValidator(json.RawMessage(schema))
	require.NoError(t, err)
	require.NoError(t, why)
	assert.JSONEq(t, schema, string(show))
	tool := &Tool{client: &Client{server: Server{Name: "cart"}}, name: "add", spec: loop.Spec{Name: "cart__add"}, check: v}
	for args, want := range map[string]string{
		`{"item":"latte","size":"large","lines":[{"a/b":3}],"tree":{"kids":[{"kids":[]}]}}`: "",
		`{}`:                                 `missing properties: ["item"]`,
		`{"item":3}`:                         `at item: type: 3 has type "integer", want "string"`,
		`{"item":"x","size":"huge"}`:         "at size: enum: huge",
		`{"item":"x","lines":[{"a/b":1.5}]}`: "at lines.[].a/b: type",
		`{"item":"x","tree":{"kids":[7]}}`:   "type: 7",
		`{"item":"x","colour":"red"}`:        "colour",
	} {
		p, err := tool.Preview(t.Context(), loop.Call{Args: json.RawMessage(args)})
		if want == "" {
			require.NoError(t, err)
			assert.Equal(t, "cart: add "+args[:80]+"…", p.Title)
			continue
		}
		require.ErrorContains(t, err, want, args)
		require.ErrorContains(t, err, "the arguments do not fit the schema of cart__add")
	}
	tool.spec.Title = "Add an\nitem"
	p, err := tool.Preview(t.Context(), loop.Call{Args: json.RawMessage(`{"item": "latte"}`)})
	require.NoError(t, err)
	assert.Equal(t, loop.Preview{Title: `cart: Add an item {"item":"latte"}`}, p)
}

// Constants of a schema keep their digits as the values do, wherever they are in it.
func TestLongConstants(t *testing.T) {
	t.Parallel()
	id, other := "9007199254740993", "9007199254740992" // the same as floats
	for _, schema := range []string{
		`{"properties":{"a":{"const":%s}}}`, `{"properties":{"a":{"enum":[7,%s]}}}`, `{"enum":[{"a":%s}]}`, `{"additionalProperties":{"const":%s}}`,
		`{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"a":{"const":%s}}}}}`, `{"anyOf":[false,{"properties":{"a":{"const":%s}}}]}`,
		`{"patternProperties":{"a":{"allOf":[true,{"const":%s}]}}}`, `{"properties":{"a":{"if":true,"then":{"const":%s}}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":{"properties":{"a":{"const":%s}}}}}`,
	} {
		v, _, why, err := newValidator(fmt.Appendf(nil, schema, id))
		require.NoError(t, err, schema)
		require.NoError(t, why, schema)
		require.NoError(t, v.check(json.RawMessage(`{"a":`+id+`}`)), schema)
		require.Error(t, v.check(json.RawMessage(`{"a":`+other+`}`)), schema)
	}
	lists := `{"properties":{"a":{"items":{"enum":[%s]}},"b":{"prefixItems":[true,{"const":%[1]s}]}}}`
	v, _, why, err := newValidator(fmt.Appendf(nil, lists, id))
	require.NoError(t, errors.Join(why, err))
	require.NoError(t, v.check(json.RawMessage(`{"a":[`+id+`],"b":[0,`+id+`]}`)))
	require.Error(t, v.check(json.RawMessage(`{"a":[`+other+`]}`)))
	require.Error(t, v.check(json.RawMessage(`{"b":[0,`+other+`]}`)))
}

// TestSchemas is a part of case C036: what is kept, what is left out, and what is not checked.
func TestSchemas(t *testing.T) {
	t.Parallel()
	wide := `{"$defs":{"a0":{}`
	for i := range 20 {
		ref := `{"$ref":"#/$defs/a` + string(rune('0'+i%10)) + `"}`
		if i < 9 {
			wide += `,"a` + string(rune('1'+i)) + `":{"anyOf":[` + strings.Repeat(ref+",", 9) + ref + `]}`
		}
	}
	wide += `},"$ref":"#/$defs/a9"}`
	for schema, want := range map[string]string{ // "" checked, "-" not checked, else an error
		`{}`: "", `{"type":"object"}`: "", `{"properties":{}}`: "", `true`: "",
		`{"type":"object","additionalProperties":false}`: "", `{"type":["object","null"]}`: "",
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`:                                 "",
		`{"properties":{"a":{"default":1,"pattern":"^a","format":"x","const":"a","examples":[1],"title":"t"}}}`: "",
		`{"properties":{"$ref":{"type":"string"}}}`:                                                             "",
		`{"properties":{"a":{"pattern":"(?=x)"}}}`:                                                              "-",
		`{"$schema":"http://json-schema.org/draft-04/schema#"}`:                                                 "-",
		`{"$defs":{"a":{"$anchor":"x"}},"properties":{"b":{"$ref":"#x"}}}`:                                      "-",
		wide:    "-",
		`null`:  "no inputSchema",
		``:      "no inputSchema",
		`false`: "no object",
		`"x"`:   "no object",
		`[]`:    "no object",
		`{"properties":{"b":{"$ref":"#/nowhere"}}}`:                                                    "-",
		`{"properties":{"b":{"$id":"x:y","$ref":"#"}}}`:                                                "-",
		`{"$id":"https://example.com/s","properties":{"b":{"$ref":"https://example.com/s#/$defs/x"}}}`: "-",
		`{"properties":{"default":{"$ref":"#/properties/%64efault"}}}`:                                 "without end",
		`{"$ref":"#"}`:             "without end",
		`{"allOf":[{"$ref":"#"}]}`: "without end",
		`{"$dynamicRef":"#"}`:      "without end",
		`{"properties":{"a":{"anyOf":[{"$ref":"#/properties/a"}]}}}`: "without end",
		`{"properties":{"a":{"$ref":"https://example.com/x.json"}}}`: "not a part of it",
	} {
		v, _, why, err := newValidator(json.RawMessage(schema))
		switch want {
		case "":
			require.NoError(t, err, schema)
			require.NoError(t, why, schema)
			require.NoError(t, v.check(json.RawMessage(`{}`)), schema)
		case "-":
			require.NoError(t, err, schema)
			require.Error(t, why, schema)
			require.NoError(t, v.check(json.RawMessage(`{"a":7}`)), schema)
		default:
			require.ErrorContains(t, err, want, schema)
		}
	}
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"items":{"$ref":"#"}}}}`, `{"a":[]}`)
	f.Add(`{"dependentSchemas":{"a":{"$ref":"#"}}}`, `{"a":[]}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		v, _, _, err := newValidator(json.RawMessage(schema))
		if err == nil && json.Valid([]byte(args)) {
			if err := v.check(json.RawMessage(args)); err != nil {
				require.NotEmpty(t, err.Error())
			}
		}
	})
}

func TestLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", 200<<10)
	all := "a\n\n" + long[:100<<10] + "\n{\"id\":7," + long + ",\"id\":8}\nb\n" + long[:120<<10] + "\nlast"
	in := newLines(strings.NewReader(all), 120<<10)
	for _, want := range []string{"a", "", long[:100<<10]} {
		line, err := in.next()
		require.NoError(t, err)
		require.Equal(t, want, string(line))
	}
	_, err := in.next()
	var skipped *tooLong
	require.ErrorAs(t, err, &skipped)
	assert.Equal(t, len(long)+len(`{"id":7,,"id":8}`), skipped.size)
	assert.Equal(t, `{"id":7,`, string(skipped.head[:8]))
	assert.Equal(t, `,"id":8}`, string(skipped.tail[edge-9:]))
	for _, want := range []string{"b", long[:120<<10], "last"} {
		line, err := in.next()
		require.NoError(t, err)
		require.Equal(t, want, string(line))
	}
	_, err = in.next()
	require.ErrorIs(t, err, io.EOF)
}

func FuzzLine(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Add([]byte(`[{"jsonrpc":"2.0","id":null,"error":{"code":1e99}}]`))
	f.Add([]byte(`{"jsonrpc":"2.0","method":"x","id":"a"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		o, _ := logged()
		c := newConn(Server{Name: "shop"}, o)
		c.wire = &pipe{conn: c}
		c.expect("1", &call{method: "tools/call"})
		close(c.closed) // nobody takes what is delivered
		c.incoming(bytes.Clone(line), "")
		c.overlong(&tooLong{size: len(line), head: line, tail: line}, "")
		require.LessOrEqual(t, len(c.kept), 1)
	})
}
