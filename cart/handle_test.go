package cart

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is not a request gets an error, with the id wherever one could be read; want is the reply's id and code.
func TestHandleRefusesWhatIsNoRequest(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ message, id, code string }{
		{``, ``, `-32700`},
		{`{`, ``, `-32700`},
		{`{"jsonrpc":"2.0","id":1,`, ``, `-32700`},
		{`nonsense`, ``, `-32700`},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", ``, `-32700`},
		{`{} {}`, ``, `-32700`},
		{strings.Repeat("[", 20_000), ``, `-32700`},
		{`null`, ``, `-32600`},
		{`7`, ``, `-32600`},
		{`"x"`, ``, `-32600`},
		{`[]`, ``, `-32600`},
		{`{}`, ``, `-32600`},
		{`{"id":7}`, `7`, `-32600`},
		{`{"jsonrpc":"1.0","id":7,"method":"tools/list"}`, `7`, `-32600`},
		{`{"JSONRPC":"2.0","id":7,"method":"tools/list"}`, `7`, `-32600`},
		{`{"id":"a","method":"tools/list"}`, `"a"`, `-32600`},
		{`{"jsonrpc":2.0,"id":7,"method":"tools/list"}`, `7`, `-32600`},
		{`{"jsonrpc":"2.0","id":7}`, `7`, `-32600`},
		{`{"jsonrpc":"2.0","id":7,"method":null}`, `7`, `-32600`},
		{`{"jsonrpc":"2.0","id":7,"method":["tools/list"]}`, `7`, `-32600`},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":[]}`, `7`, `-32600`},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":null}`, `7`, `-32600`},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":"x"}`, `7`, `-32600`},
		{`{"jsonrpc":"2.0","id":null,"method":"tools/list"}`, ``, `-32600`},
		{`{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}`, ``, `-32600`},
		{`{"jsonrpc":"2.0","id":true,"method":"tools/list"}`, ``, `-32600`},
		{`{"jsonrpc":"2.0","id":[7],"method":"tools/list"}`, ``, `-32600`},
		{`{"jsonrpc":"2.0","id":{},"method":"tools/list"}`, ``, `-32600`},
		{`{"jsonrpc":"2.0","id":-7,"method":"tools/list"}`, `-7`, `-32602`},
		{`{"jsonrpc":"2.0","id":123456789012345678901234567890,"method":"tools/list"}`, `123456789012345678901234567890`, `-32602`},
		{`{"jsonrpc":"2.0","id":"","method":"tools/list"}`, `""`, `-32602`},
		{`{"jsonrpc":"2.0","id":"\u003c<é","method":"tools/list"}`, `"\u003c<é"`, `-32602`},
		{modern(7, "tools/lists", "", "{}"), `7`, `-32601`},
		{modern(7, "ping", "", "{}"), `7`, `-32601`},
		{modern(7, "logging/setLevel", `"level":"info"`, "{}"), `7`, `-32601`},
		{modern(7, "subscriptions/listen", `"notifications":{}`, "{}"), `7`, `-32601`},
		{modern(7, "", "", "{}"), `7`, `-32601`},
	} {
		store, reply := Handle(Store{}, []byte(row.message), Env{Handle: "x"})
		require.NotNil(t, reply.Error, row.message)
		assert.Equal(t, row.id, string(reply.ID), row.message)
		assert.Equal(t, row.code, text(reply.Error.Code), row.message)
		assert.NotEmpty(t, reply.Error.Message)
		assert.Equal(t, Store{}, store)
		wire, err := encode(reply)
		require.NoError(t, err)
		if row.id == "" {
			assert.NotContains(t, string(wire), `"id"`)
		} else {
			assert.Contains(t, string(wire), `"id":`+row.id+`,`)
		}
		requireValid(t, reply, Env{}, decoded(t, string(wire)))
	}
}

// The cart asks nothing of a client, so a response is for nobody and is not answered.
func TestHandleIgnoresResponses(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	assert.Nil(t, c.send(`{"jsonrpc":"2.0","id":7,"result":{}}`))
	assert.Nil(t, c.send(`{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"x"}}`))
}

func TestHandleChecksOptionalMeta(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		meta string
		good bool
	}{
		{`"progressToken":"p"`, true},
		{`"progressToken":7`, true},
		{`"progressToken":null`, false},
		{`"progressToken":1.5`, false},
		{`"io.modelcontextprotocol/logLevel":"emergency"`, true},
		{`"io.modelcontextprotocol/logLevel":"loud"`, false},
		{`"io.modelcontextprotocol/logLevel":3`, false},
		{`"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}`, true},
		{`"io.modelcontextprotocol/clientInfo":{"name":"a"}`, false},
		{`"io.modelcontextprotocol/clientInfo":"a"`, false},
		{`"com.example/own":[1]`, true},
		{`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"`, true},
	} {
		got := newCustomer(t).send(strings.Replace(modern(7, "tools/list", "", "{}"), `"_meta":{`, `"_meta":{`+row.meta+`,`, 1))
		if row.good {
			resultOf(t, got)
			continue
		}
		code, message := errorOf(t, got)
		assert.InDelta(t, codeInvalidParams, code, 0)
		assert.Contains(t, message, "_meta")
	}
}

func TestToolsAreListedWhole(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	listed, ok := resultOf(t, c.ask("tools/list", ""))["tools"].([]any)
	require.True(t, ok)
	got := map[string]any{}
	var order []string
	for _, entry := range listed {
		tool, _ := entry.(map[string]any)
		name, _ := tool["name"].(string)
		order = append(order, name)
		compile(t, tool["inputSchema"])
		compile(t, tool["outputSchema"])
		assert.NotEmpty(t, tool["description"])
		assert.NotEmpty(t, tool["title"])
		got[name] = []any{tool["annotations"], tool["_meta"]}
	}
	hint := func(read, destroy, idempotent bool) map[string]any {
		return map[string]any{"readOnlyHint": read, "destructiveHint": destroy, "idempotentHint": idempotent, "openWorldHint": false}
	}
	assert.Equal(t, []string{"create_order", "add_item", "remove_item", "get_order", "place_order", "cancel_order"}, order)
	assert.Equal(t, map[string]any{
		"create_order": []any{hint(false, false, false), nil},
		"add_item":     []any{hint(false, false, false), nil},
		"remove_item":  []any{hint(false, true, false), nil},
		"get_order":    []any{hint(true, false, true), nil},
		"place_order":  []any{hint(false, true, true), map[string]any{"dev.cartagent/idempotencyKey": true}},
		"cancel_order": []any{hint(false, true, true), nil},
	}, got)
	assert.Equal(t, map[string]any{"type": "object", "additionalProperties": false}, listed[0].(map[string]any)["inputSchema"])
	assert.Equal(t, listed, resultOf(t, c.ask("tools/list", ""))["tools"], "the list never varies")
}

func TestExpiryIsWhatTheEnvironmentSays(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	c.env.Expire = 90 * time.Second
	order := c.starts()
	tools, _ := resultOf(t, c.ask("tools/list", ""))["tools"].([]any)
	assert.Contains(t, text(tools[0]), "expires after 1m30s")
	c.wait(90*time.Second + time.Millisecond)
	assert.Contains(t, c.fails("get_order", fmt.Sprintf(`{"order":%q}`, order)), "stay open for 1m30s")
	c.env.Expire = time.Minute
	assert.Contains(t, c.fails("get_order", fmt.Sprintf(`{"order":%q}`, order)), "stay open for 1 minute.")
}

// A handle that was used, by whatever fault of the shell, must not open or overwrite the order it names.
func TestCreateOrderNeedsAFreshHandle(t *testing.T) {
	t.Parallel()
	create := []byte(modern(7, "tools/call", `"name":"create_order"`, "{}"))
	store, reply := Handle(Store{}, create, Env{Caller: "a", Handle: "h"})
	require.Nil(t, reply.Error)
	for _, env := range []Env{{Caller: "a", Handle: "h", Now: 5}, {Caller: "a"}} {
		next, reply := Handle(store, create, env)
		require.NotNil(t, reply.Error)
		assert.Equal(t, codeInternal, reply.Error.Code)
		assert.Equal(t, store, next)
	}
}

func TestOrdersHaveAnEnd(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	order := c.starts()
	add := fmt.Sprintf(`{"order":%q,"item":"oat cookie"}`, order)
	for range maxLines {
		c.does("add_item", add)
	}
	assert.Contains(t, c.fails("add_item", add), "is full: it has 100 lines")
}

// What a caller sends is repeated in part only, and never splits a character.
func TestLongNamesAreClipped(t *testing.T) {
	t.Parallel()
	c := newCustomer(t)
	said := c.fails("add_item", fmt.Sprintf(`{"order":%q,"item":%q}`, c.starts(), strings.Repeat("é", 100_000)))
	assert.Contains(t, said, `Today's menu has no "`+strings.Repeat("é", 80)+`…". Ask`)
	_, message := errorOf(t, c.ask(strings.Repeat("é", 100_000), ""))
	assert.Equal(t, "Method not found: "+strings.Repeat("é", 80)+"…", message)
}

func ExampleHandle() {
	env := Env{Caller: "ada", Now: 1_790_000_000_000, Handle: "ord_1", Menu: DefaultMenu()}
	say := func(store Store, params string) Store {
		store, reply := Handle(store, json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{
			"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},`+params+`}}`), env)
		result, err := json.Marshal(reply.Result)
		if err != nil {
			panic(err)
		}
		var shown struct{ StructuredContent json.RawMessage }
		if err := json.Unmarshal(result, &shown); err != nil {
			panic(err)
		}
		fmt.Println(string(shown.StructuredContent))
		return store
	}
	store := say(Store{}, `"name":"create_order"`)
	store = say(store, `"name":"add_item","arguments":{"order":"ord_1","item":"latte","size":"small"}`)
	say(store, `"name":"place_order","arguments":{"order":"ord_1","name":"Ada"}`)
	// Output:
	// {"order":"ord_1"}
	// {"order":"ord_1","lines":[{"item":"latte","size":"small","cents":400}],"totalCents":400}
	// {"order":"ord_1","number":1,"lines":[{"item":"latte","size":"small","cents":400}],"totalCents":400,"name":"Ada"}
}
