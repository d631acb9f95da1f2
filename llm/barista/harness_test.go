package barista

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cartagent/cartagent/cart"
	"github.com/cartagent/cartagent/loop"
)

const opening = int64(1_790_000_000_000)

// counter is a conversation with the model in front of a real cart: it runs what the model calls through cart.Handle,
// as a client of the protocol would, and keeps the messages as the loop does.
type counter struct {
	t        testing.TB
	store    cart.Store
	env      cart.Env
	menu     string // what menu://today says, when it is not the cart's own
	server   string
	without  []string          // tools that this cart does not have
	refuse   string            // the tool that the person does not allow
	form     string            // the answer to the cart's question about a size; "" when nobody can be asked
	handles  int               //
	messages []loop.Message    //
	calls    []string          // of the last prompt
	results  []loop.Result     // of the last prompt
	fake     map[string]string // results in place of the cart's, by tool
}

func newCounter(tb testing.TB, menu cart.Menu) *counter {
	tb.Helper()
	return &counter{t: tb, server: "kiosk", env: cart.Env{Caller: "ada", Now: opening, Menu: menu}}
}

func parseMenu(tb testing.TB, text string) cart.Menu {
	tb.Helper()
	m, err := cart.ParseMenu(strings.NewReader(text))
	require.NoError(tb, err)
	return m
}

// leaves lets so much time pass that an open order expires.
func (c *counter) leaves() { c.env.Now += (31 * time.Minute).Milliseconds() }

func (c *counter) specs() []loop.Spec {
	specs := []loop.Spec{{Name: "read"}, {Name: "other__create_order"}}
	for _, what := range []string{toolCreate, toolAdd, toolRemove, toolGet, toolPlace, toolCancel} {
		if !slices.Contains(c.without, what) {
			specs = append(specs, loop.Spec{Name: c.server + "__" + what, Schema: json.RawMessage(`{"type":"object"}`)})
		}
	}
	if !slices.Contains(c.without, toolRead) {
		specs = append(specs, loop.Spec{Name: toolRead})
	}
	return specs
}

func (c *counter) request() loop.Request {
	return loop.Request{System: "You are helpful.", Tools: c.specs(), Messages: c.messages}
}

// hears has the model answer a prompt, and runs its calls until it says something.
func (c *counter) hears(prompt string) string {
	c.t.Helper()
	c.messages = append(c.messages, loop.Message{Role: loop.RoleUser, Content: loop.Blocks{
		loop.Text{Text: "<context>\nToday is a day. A large latte is not an order here.\n</context>"}, loop.Text{Text: prompt},
	}})
	c.calls, c.results = nil, nil
	for range maxCalls + 10 {
		if text, done := c.step(); done {
			return text
		}
	}
	c.t.Fatalf("the turn does not end: %q", prompt)
	return ""
}

// step asks the model once.
func (c *counter) step() (string, bool) {
	c.t.Helper()
	r := reply(c.request())
	require.Equal(c.t, r, reply(c.request()), "the same request has two replies")
	calls := r.Message.Calls
	for i := range calls {
		calls[i].ID = fmt.Sprintf("call_%d", len(c.messages))
	}
	r.Message.Calls = calls
	c.messages = append(c.messages, r.Message)
	if len(calls) == 0 {
		text := loop.TextOf(r.Message.Content)
		require.NotEmpty(c.t, text)
		return text, true
	}
	require.Len(c.t, calls, 1)
	require.Empty(c.t, calls[0].Bad)
	result := c.run(calls[0])
	result.CallID = calls[0].ID
	c.results = append(c.results, result)
	c.messages = append(c.messages, loop.Message{Role: loop.RoleTool, Results: []loop.Result{result}})
	return "", false
}

func (c *counter) run(call loop.Call) loop.Result {
	c.t.Helper()
	what := strings.TrimPrefix(call.Tool, c.server+"__")
	c.calls = append(c.calls, brief(what, call.Args))
	if what == c.refuse {
		return loop.Failed("", "Not run: the user refused it. Do not try the same in another way; ask what they want instead.")
	}
	if text, ok := c.fake[what]; ok {
		if why, failed := strings.CutPrefix(text, "!"); failed {
			return loop.Failed("", why)
		}
		return loop.Result{Content: loop.Blocks{loop.Text{Text: text}}}
	}
	if what == toolRead {
		return c.read(call)
	}
	params := fmt.Sprintf(`"name":%q,"arguments":%s`, what, call.Args)
	if c.form == "" {
		return c.result(c.send("tools/call", params, "{}"))
	}
	body := c.send("tools/call", params, `{"elicitation":{}}`)
	if body["resultType"] == "input_required" {
		body = c.send("tools/call", params+`,"inputResponses":{"size":`+c.form+`}`, `{"elicitation":{}}`)
	}
	return c.result(body)
}

func (c *counter) read(call loop.Call) loop.Result {
	c.t.Helper()
	require.JSONEq(c.t, fmt.Sprintf(`{"server":%q,"uri":"menu://today"}`, c.server), string(call.Args))
	text := c.menu
	if text == "" {
		body := c.send("resources/read", `"uri":"menu://today"`, "{}")
		contents, _ := body["contents"].([]any)
		require.Len(c.t, contents, 1)
		one, _ := contents[0].(map[string]any)
		text, _ = one["text"].(string)
	}
	return loop.Result{Content: loop.Blocks{loop.Text{Text: "menu://today (application/json)\n" + text}}}
}

func (c *counter) result(body map[string]any) loop.Result {
	content, _ := body["content"].([]any)
	require.Len(c.t, content, 1)
	one, _ := content[0].(map[string]any)
	text, _ := one["text"].(string)
	failed, _ := body["isError"].(bool)
	return loop.Result{Content: loop.Blocks{loop.Text{Text: text}}, Failed: failed}
}

// send puts one request to the cart and returns its result.
func (c *counter) send(method, params, capabilities string) map[string]any {
	c.t.Helper()
	c.handles++
	c.env.Handle = fmt.Sprintf("ord_%d", c.handles)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":` + capabilities + `}`
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,%s}}`, c.handles, method, params, meta)
	next, reply := cart.Handle(c.store, json.RawMessage(message), c.env)
	c.store = next
	require.Nil(c.t, reply.Error, "%s", message)
	raw, err := json.Marshal(reply.Result)
	require.NoError(c.t, err)
	var body map[string]any
	require.NoError(c.t, json.Unmarshal(raw, &body))
	return body
}

// brief is a call as the tests write it: what it does and, for an item, which; handles are left out.
func brief(what string, raw json.RawMessage) string {
	var args struct {
		Item, Size, Name string
		Line             int
	}
	if json.Unmarshal(raw, &args) != nil {
		return what + " ?"
	}
	words := []string{strings.TrimSuffix(strings.TrimSuffix(what, "_order"), "_item")}
	if args.Line > 0 {
		words = append(words, strconv.Itoa(args.Line))
	}
	for _, w := range []string{args.Size, args.Item, args.Name} {
		if w != "" {
			words = append(words, w)
		}
	}
	return strings.Join(words, " ")
}
