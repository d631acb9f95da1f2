package cart

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

type scenario struct {
	name string
	play func(c *customer)
}

func TestFeature(t *testing.T) {
	t.Parallel()
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.play(newCustomer(t))
		})
	}
}

func TestFeatureNamesEveryScenario(t *testing.T) {
	t.Parallel()
	feature, err := os.ReadFile("cart.feature")
	require.NoError(t, err)
	var written, played []string
	for line := range strings.Lines(string(feature)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Scenario:"); ok {
			written = append(written, strings.TrimSpace(name))
		}
	}
	for _, s := range scenarios() {
		played = append(played, s.name)
	}
	assert.Equal(t, written, played)
}

func scenarios() []scenario {
	return []scenario{
		{"A client discovers what the server speaks", discovers},
		{"A request in another version is refused with the versions the server speaks", otherVersion},
		{"A request without its version or its capabilities is refused", withoutMeta},
		{"A legacy handshake is refused by name", handshake},
		{"The agent starts an order and adds a drink", addsDrink},
		{"An item is found however it is spelled", spelled},
		{"A missing size asks the customer, and the retry completes the call", asksSize},
		{"A client that can't ask the customer reads a reason instead", cannotAsk},
		{"A customer who declines to choose gets nothing", declines},
		{"An answer that is no size is asked again", asksAgain},
		{"A line is removed by its number", removes},
		{"An order can be looked at and stays as it is", looks},
		{"A placed order gets the next number", numbers},
		{"The same idempotency key places one order", placesOnce},
		{"An idempotency key of another order or another caller places nothing by mistake", foreignKey},
		{"An empty order can't be placed", emptyOrder},
		{"A placed order can't be changed", placedStays},
		{"A cancelled order takes nothing more", cancelled},
		{"An expired order handle is an execution error", expires},
		{"A placed order outlives its expiry", outlives},
		{"An order handle opens nothing for another caller", foreignHandle},
		{"A handle can't borrow the end of another caller's name", borrowedName},
		{"A sold-out item is an execution error the model can act on", soldOut},
		{"An item that isn't on the menu is an execution error the model can act on", notOnMenu},
		{"An unknown tool is a protocol error", unknownTool},
		{"Arguments that break the schema are a protocol error", badArguments},
		{"The menu is a resource the application reads", readsMenu},
		{"Hours and allergens are resources too", readsOthers},
		{"An unknown resource is a protocol error that names it", unknownResource},
		{"Every list has one page", onePage},
		{"The week's special is a prompt", special},
		{"A catering reply is a prompt with arguments", catering},
		{"A notification gets no reply", notification},
		{"A batch is refused", batch},
		{"A client of the handshake era orders where the cart allows it", legacyEra},
		{"Orders outlive the cart that took them", outlivesCart},
		{"A cart that is killed has placed an order once or not at all", killedCart},
		{"Two carts on one file number no two orders alike", twoCarts},
		{"A file that is not the cart's is refused and stays as it was", foreignFile},
		{"A client orders over HTTP", ordersOverHTTP},
		{"There are no sessions over HTTP", noSessions},
		{"A request whose headers differ from its message is refused", headersDiffer},
		{"A page of another site is refused", otherSite},
		{"Each token has orders of its own", callersByToken},
		{"A caller who calls too often is told when to try again", tooOften},
		{"A client that goes away has ordered nothing", goesAway},
		{"A client that cancels has ordered nothing", cancels},
		{"A client of the handshake era orders over HTTP where the cart allows it", legacyOverHTTP},
	}
}

const menuWords = "latte, drip coffee, black tea, hot chocolate, morning bun, oat cookie, cheddar sandwich"

func discovers(c *customer) {
	t := c.t
	result := resultOf(t, c.ask("server/discover", ""))
	words, _ := result["instructions"].(string)
	assert.Contains(t, words, "create_order")
	delete(result, "instructions")
	assert.Equal(t, decoded(t, `{"resultType":"complete","supportedVersions":["2026-07-28"],
		"capabilities":{"tools":{},"resources":{},"prompts":{}},"ttlMs":300000,"cacheScope":"public",
		"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"coffee-cart","title":"Coffee cart","version":"0.1.0"}}}`), result)
}

func otherVersion(c *customer) {
	t := c.t
	for _, version := range []string{"1900-01-01", "2025-11-25", "2099-01-01", ""} {
		got := c.send(strings.Replace(modern(7, "tools/list", "", "{}"), Version, version, 1))
		assert.Equal(t, decoded(t, fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"error":{"code":-32022,
			"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":%q}}}`, version)), got)
	}
}

func withoutMeta(c *customer) {
	t := c.t
	create := `"name":"create_order"`
	for _, params := range []string{
		"", `,"params":{}`, `,"params":{` + create + `}`, `,"params":{"_meta":null,` + create + `}`, `,"params":{"_meta":[],` + create + `}`,
		`,"params":{"_meta":{},` + create + `}`,
		`,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},` + create + `}`,
		`,"params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}},` + create + `}`,
		`,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":20260728,"io.modelcontextprotocol/clientCapabilities":{}},` + create + `}`,
		`,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":null},` + create + `}`,
		`,"params":{"_meta":{"IO.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},` + create + `}`,
	} {
		code, message := errorOf(t, c.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call"`+params+`}`))
		assert.InDelta(t, codeInvalidParams, code, 0, params)
		assert.Contains(t, message, "_meta")
	}
	assert.Equal(t, Store{}, *c.store)
}

func handshake(c *customer) {
	t := c.t
	got := c.send(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"old","version":"1"}}}`)
	code, message := errorOf(t, got)
	assert.InDelta(t, codeMethodNotFound, code, 0)
	assert.Contains(t, message, "initialize")
	assert.Contains(t, message, Version)
	assert.Equal(t, decoded(t, `{"supported":["2026-07-28"]}`), got["error"].(map[string]any)["data"])
	code, _ = errorOf(t, c.ask("initialize", `"protocolVersion":"2026-07-28"`))
	assert.InDelta(t, codeMethodNotFound, code, 0)
}

func addsDrink(c *customer) {
	t := c.t
	order := c.starts()
	got := c.does("add_item", fmt.Sprintf(`{"order":%q,"item":"latte","size":"large"}`, order))
	assert.Equal(t, decoded(t, `{"order":"ord_1","lines":[{"item":"latte","size":"large","cents":550}],"totalCents":550}`), got)
	got = c.does("add_item", fmt.Sprintf(`{"order":%q,"item":"morning bun"}`, order))
	assert.Equal(t, decoded(t, `{"order":"ord_1","lines":[{"item":"latte","size":"large","cents":550},
		{"item":"morning bun","size":null,"cents":350}],"totalCents":900}`), got)
}

func spelled(c *customer) {
	t := c.t
	order := c.starts()
	got := c.does("add_item", fmt.Sprintf(`{"order":%q,"item":" Drip  COFFEE ","size":"small"}`, order))
	assert.Equal(t, decoded(t, `{"order":"ord_1","lines":[{"item":"drip coffee","size":"small","cents":250}],"totalCents":250}`), got)
}

func asksSize(c *customer) {
	t := c.t
	for _, caps := range []string{`{"elicitation":{}}`, `{"elicitation":{"form":{}}}`, `{"elicitation":{"form":{},"url":{}}}`} {
		c.caps = caps
		order := c.starts()
		params := fmt.Sprintf(`"name":"add_item","arguments":{"order":%q,"item":"latte"}`, order)
		result := resultOf(t, c.ask("tools/call", params))
		delete(result, "_meta")
		assert.Equal(t, decoded(t, `{"resultType":"input_required","inputRequests":{"size":{"method":"elicitation/create","params":{
			"mode":"form","message":"Which size of latte (small $4.00, medium $4.75, large $5.50)?","requestedSchema":{"type":"object",
			"properties":{"size":{"type":"string","title":"Size","enum":["small","medium","large"]}},"required":["size"]}}}}}`), result)
		assert.Empty(t, c.changed)

		params += `,"inputResponses":{"size":{"action":"accept","content":{"size":"medium"}},"other":{"action":"decline"}},"requestState":"made up"`
		result = resultOf(t, c.ask("tools/call", params))
		assert.Equal(t, "complete", result["resultType"])
		assert.Equal(t, decoded(t, fmt.Sprintf(`{"order":%q,"lines":[{"item":"latte","size":"medium","cents":475}],"totalCents":475}`, order)),
			result["structuredContent"])
	}
}

func cannotAsk(c *customer) {
	t := c.t
	order := c.starts()
	for _, caps := range []string{`{}`, `{"elicitation":{"url":{}}}`, `{"elicitation":null}`, `{"elicitation":true}`, `{"elicitation":{"form":null}}`} {
		c.caps = caps
		said := c.fails("add_item", fmt.Sprintf(`{"order":%q,"item":"latte"}`, order))
		assert.Equal(t, "The latte comes in small, medium or large; nothing was added. Ask the customer which size, then call add_item again with size.", said)
	}
	assert.Empty(t, c.does("get_order", fmt.Sprintf(`{"order":%q}`, order))["lines"])
}

func declines(c *customer) {
	t := c.t
	c.caps = `{"elicitation":{}}`
	order := c.starts()
	for _, action := range []string{"decline", "cancel"} {
		said := failedText(t, c.ask("tools/call", fmt.Sprintf(`"name":"add_item","arguments":{"order":%q,"item":"latte"},
			"inputResponses":{"size":{"action":%q}}`, order, action)))
		assert.Equal(t, "The customer chose no size, so no latte was added. Ask what they would like instead.", said)
	}
	assert.Empty(t, c.does("get_order", fmt.Sprintf(`{"order":%q}`, order))["lines"])
}

func asksAgain(c *customer) {
	t := c.t
	c.caps = `{"elicitation":{}}`
	order := c.starts()
	for _, responses := range []string{
		`{}`, `{"other":{"action":"accept"}}`, `{"size":{"action":"accept"}}`, `{"size":{"action":"accept","content":{}}}`,
		`{"size":{"action":"accept","content":{"size":"huge"}}}`, `{"size":{"action":"accept","content":{"size":["large"]}}}`,
		`{"size":{"action":"accept","content":{"Size":"large"}}}`,
	} {
		result := resultOf(t, c.ask("tools/call", fmt.Sprintf(`"name":"add_item","arguments":{"order":%q,"item":"latte"},"inputResponses":%s`, order, responses)))
		assert.Equal(t, "input_required", result["resultType"], responses)
	}
	for _, responses := range []string{`null`, `[]`, `{"size":null}`, `{"size":"large"}`, `{"size":{"action":"yes"}}`, `{"size":{}}`} {
		code, message := errorOf(t, c.ask("tools/call", fmt.Sprintf(`"name":"add_item","arguments":{"order":%q,"item":"latte"},"inputResponses":%s`, order, responses)))
		assert.InDelta(t, codeInvalidParams, code, 0, responses)
		assert.Contains(t, message, "inputResponses")
	}
	assert.Empty(t, c.does("get_order", fmt.Sprintf(`{"order":%q}`, order))["lines"])
}

func removes(c *customer) {
	t := c.t
	order := c.starts()
	for _, item := range []string{"morning bun", "oat cookie", "cheddar sandwich"} {
		c.does("add_item", fmt.Sprintf(`{"order":%q,"item":%q}`, order, item))
	}
	got := c.does("remove_item", fmt.Sprintf(`{"order":%q,"line":2}`, order))
	assert.Equal(t, decoded(t, `{"order":"ord_1","lines":[{"item":"morning bun","size":null,"cents":350},
		{"item":"cheddar sandwich","size":null,"cents":725}],"totalCents":1075}`), got)
	said := c.fails("remove_item", fmt.Sprintf(`{"order":%q,"line":3}`, order))
	assert.Equal(t, "Order ord_1 has no line 3; its lines are 1 to 2. Call get_order to see them.", said)
	c.does("remove_item", fmt.Sprintf(`{"order":%q,"line":2.0}`, order))
	got = c.does("remove_item", fmt.Sprintf(`{"order":%q,"line":1}`, order))
	assert.Equal(t, decoded(t, `{"order":"ord_1","lines":[],"totalCents":0}`), got)
	assert.Equal(t, "Order ord_1 has no lines to remove.", c.fails("remove_item", fmt.Sprintf(`{"order":%q,"line":1e300}`, order)))
}

func looks(c *customer) {
	t := c.t
	order := c.ordered()
	want := decoded(t, `{"order":"ord_1","lines":[{"item":"morning bun","size":null,"cents":350}],"totalCents":350,"status":"open"}`)
	assert.Equal(t, want, c.does("get_order", fmt.Sprintf(`{"order":%q}`, order)))
	assert.Empty(t, c.changed)
	c.does("place_order", fmt.Sprintf(`{"order":%q,"name":" Ada  L "}`, order))
	want["status"], want["number"], want["name"] = "placed", 1.0, "Ada L"
	assert.Equal(t, want, c.does("get_order", fmt.Sprintf(`{"order":%q}`, order)))
}

func numbers(c *customer) {
	t := c.t
	first := c.ordered()
	other := c.as("bob")
	second := other.ordered()
	assert.Equal(t, decoded(t, `{"order":"`+first+`","number":1,"lines":[{"item":"morning bun","size":null,"cents":350}],"totalCents":350,"name":"Ada"}`),
		c.does("place_order", fmt.Sprintf(`{"order":%q,"name":"Ada"}`, first)))
	assert.Equal(t, decoded(t, `{"order":"`+second+`","number":2,"lines":[{"item":"morning bun","size":null,"cents":350}],"totalCents":350}`),
		other.does("place_order", fmt.Sprintf(`{"order":%q}`, second)))
}

// place sends place_order with an idempotency key where clients put it.
func (c *customer) place(order, metaKeyValue, args string) map[string]any {
	message := modern(7, "tools/call", fmt.Sprintf(`"name":"place_order","arguments":{"order":%q%s}`, order, args), c.caps)
	return c.send(strings.Replace(message, `"_meta":{`, fmt.Sprintf(`"_meta":{%q:%s,`, metaKey, metaKeyValue), 1))
}

func placesOnce(c *customer) {
	t := c.t
	order, next := c.ordered(), c.ordered()
	first := c.place(order, `"k1"`, "")
	assert.InDelta(t, 1, resultOf(t, first)["structuredContent"].(map[string]any)["number"], 0)
	assert.Equal(t, first, c.place(order, `"k1"`, ""))
	assert.Empty(t, c.changed)
	assert.Equal(t, first, c.call("place_order", fmt.Sprintf(`{"order":%q,"idempotency_key":"k1","name":"someone"}`, order)))
	assert.Equal(t, first, c.place(order, `"k2"`, `,"idempotency_key":"k1"`))

	both := c.place(next, `"k3"`, `,"idempotency_key":"k4"`)
	assert.Equal(t, both, c.place(next, `"k3"`, ""))
	assert.Equal(t, both, c.place(next, `"k4"`, ""))
	assert.InDelta(t, 2, resultOf(t, both)["structuredContent"].(map[string]any)["number"], 0)

	for _, bad := range []string{`""`, `null`, `7`, `"` + strings.Repeat("k", 256) + `"`} {
		code, message := errorOf(t, c.place(c.ordered(), bad, ""))
		assert.InDelta(t, codeInvalidParams, code, 0)
		assert.Contains(t, message, metaKey)
	}
}

func foreignKey(c *customer) {
	t := c.t
	order, second := c.ordered(), c.ordered()
	c.place(order, `"k"`, "")
	said := failedText(t, c.place(second, `"k"`, ""))
	assert.Contains(t, said, "has placed order "+order+" already, as number 1; nothing was placed now")
	other := c.as("bob")
	third := other.ordered()
	assert.InDelta(t, 2, resultOf(t, other.place(third, `"k"`, ""))["structuredContent"].(map[string]any)["number"], 0)

	empty := c.starts()
	failedText(t, c.place(empty, `"later"`, ""))
	c.does("add_item", fmt.Sprintf(`{"order":%q,"item":"oat cookie"}`, empty))
	assert.Equal(t, false, resultOf(t, c.place(empty, `"later"`, ""))["isError"], "a key that has placed nothing is still new")
}

func emptyOrder(c *customer) {
	t := c.t
	order := c.starts()
	said := c.fails("place_order", fmt.Sprintf(`{"order":%q}`, order))
	assert.Equal(t, "Order ord_1 is empty, so it was not placed. Add something with add_item first.", said)
}

func placedStays(c *customer) {
	t := c.t
	order := c.ordered()
	c.does("place_order", fmt.Sprintf(`{"order":%q,"idempotency_key":"k"}`, order))
	before := c.does("get_order", fmt.Sprintf(`{"order":%q}`, order))
	for tool, more := range map[string]string{
		"add_item": `,"item":"oat cookie"`, "remove_item": `,"line":1`, "place_order": `,"idempotency_key":"new"`, "cancel_order": "",
	} {
		said := c.fails(tool, fmt.Sprintf(`{"order":%q%s}`, order, more))
		assert.Contains(t, said, "was placed already as number 1 and cannot be changed; nothing was done", tool)
	}
	assert.Equal(t, before, c.does("get_order", fmt.Sprintf(`{"order":%q}`, order)))
}

func cancelled(c *customer) {
	t := c.t
	order := c.ordered()
	want := decoded(t, `{"order":"ord_1","lines":[{"item":"morning bun","size":null,"cents":350}],"totalCents":350,"status":"cancelled"}`)
	assert.Equal(t, want, c.does("cancel_order", fmt.Sprintf(`{"order":%q}`, order)))
	assert.Equal(t, want, c.does("cancel_order", fmt.Sprintf(`{"order":%q}`, order)))
	assert.Empty(t, c.changed)
	for tool, more := range map[string]string{"add_item": `,"item":"oat cookie"`, "remove_item": `,"line":1`, "place_order": ""} {
		assert.Contains(t, c.fails(tool, fmt.Sprintf(`{"order":%q%s}`, order, more)), "was cancelled; nothing was done", tool)
	}
}

func expires(c *customer) {
	t := c.t
	order := c.starts()
	c.wait(30 * time.Minute)
	c.does("add_item", fmt.Sprintf(`{"order":%q,"item":"oat cookie"}`, order))
	c.wait(time.Millisecond)
	for tool, more := range map[string]string{
		"add_item": `,"item":"oat cookie"`, "remove_item": `,"line":1`, "place_order": "", "get_order": "", "cancel_order": "",
	} {
		assert.Contains(t, c.fails(tool, fmt.Sprintf(`{"order":%q%s}`, order, more)),
			"Order ord_1 has expired: orders stay open for 30 minutes. Call create_order", tool)
	}
}

func outlives(c *customer) {
	t := c.t
	order := c.ordered()
	first := c.place(order, `"k"`, "")
	c.wait(48 * time.Hour)
	c.starts()
	assert.Equal(t, first, c.place(order, `"k"`, ""))
	assert.Equal(t, "placed", c.does("get_order", fmt.Sprintf(`{"order":%q}`, order))["status"])
}

func foreignHandle(c *customer) {
	t := c.t
	order := c.ordered()
	other := c.as("bob")
	for tool, more := range map[string]string{
		"add_item": `,"item":"oat cookie"`, "remove_item": `,"line":1`, "place_order": "", "get_order": "", "cancel_order": "",
	} {
		assert.Contains(t, other.fails(tool, fmt.Sprintf(`{"order":%q%s}`, order, more)), `There is no order "ord_1" for this customer. Call create_order`, tool)
	}
}

func borrowedName(c *customer) {
	t := c.t
	for _, sep := range []string{":", "/", "\x00", `","`, ""} {
		a := c.as("a")
		next, reply := Handle(*c.store, []byte(modern(1, "tools/call", `"name":"create_order"`, "{}")), Env{Caller: "a", Now: start, Handle: "b" + sep + "c"})
		require.Nil(t, reply.Error)
		*a.store = next
		assert.Contains(t, c.as("a"+sep+"b").fails("get_order", `{"order":"c"}`), "There is no order")
		assert.Equal(t, "open", a.does("get_order", fmt.Sprintf(`{"order":%s}`, text("b"+sep+"c")))["status"])
	}
}

func soldOut(c *customer) {
	t := c.t
	order := c.starts()
	said := c.fails("add_item", fmt.Sprintf(`{"order":%q,"item":"Cardamom Bun"}`, order))
	assert.Equal(t, "The cardamom bun is sold out today; nothing was added. Ask the customer to choose from: "+menuWords+".", said)
	c.env.Menu = Menu{{Name: "toast", SoldOut: true}}
	assert.Contains(t, c.fails("add_item", fmt.Sprintf(`{"order":%q,"item":"toast"}`, order)), "Everything is sold out")
}

func notOnMenu(c *customer) {
	t := c.t
	order := c.starts()
	said := c.fails("add_item", fmt.Sprintf(`{"order":%q,"item":"flat white","size":"small"}`, order))
	assert.Equal(t, `Today's menu has no "flat white". Ask the customer to choose from: `+menuWords+".", said)
}

func unknownTool(c *customer) {
	t := c.t
	for _, name := range []string{"refund_order", "Create_order", ""} {
		code, message := errorOf(t, c.call(name, "{}"))
		assert.InDelta(t, codeInvalidParams, code, 0)
		assert.Contains(t, message, "Unknown tool: "+name)
	}
	code, _ := errorOf(t, c.ask("tools/call", `"arguments":{}`))
	assert.InDelta(t, codeInvalidParams, code, 0)
}

func badArguments(c *customer) {
	t := c.t
	order := c.ordered()
	before := *c.store
	for _, row := range []struct{ tool, args, names string }{
		{"create_order", `{"order":"x"}`, `"order"`},
		{"create_order", `7`, "arguments"},
		{"get_order", `null`, "order"},
		{"create_order", `[]`, "arguments"},
		{"add_item", `{"order":"` + order + `"}`, "item"},
		{"add_item", `{"item":"latte"}`, "order"},
		{"add_item", `{"order":7,"item":"latte"}`, "order"},
		{"add_item", `{"order":"` + order + `","item":null}`, "item"},
		{"add_item", `{"order":"` + order + `","item":"latte","size":"huge"}`, "size"},
		{"add_item", `{"order":"` + order + `","item":"latte","size":null}`, "size"},
		{"add_item", `{"order":"` + order + `","item":"latte","size":"Large"}`, "size"},
		{"add_item", `{"order":"` + order + `","Item":"latte"}`, `"Item"`},
		{"add_item", `{"order":"` + order + `","item":"latte","milk":"oat"}`, `"milk"`},
		{"remove_item", `{"order":"` + order + `"}`, "line"},
		{"remove_item", `{"order":"` + order + `","line":0}`, "line"},
		{"remove_item", `{"order":"` + order + `","line":-1}`, "line"},
		{"remove_item", `{"order":"` + order + `","line":1.5}`, "line"},
		{"remove_item", `{"order":"` + order + `","line":"1"}`, "line"},
		{"place_order", `{"order":"` + order + `","name":7}`, "name"},
		{"place_order", `{"order":"` + order + `","name":"` + strings.Repeat("é", 81) + `"}`, "name"},
		{"place_order", `{"order":"` + order + `","idempotency_key":""}`, "idempotency_key"},
		{"get_order", `{}`, "order"},
		{"cancel_order", `{"order":null}`, "order"},
	} {
		code, message := errorOf(t, c.call(row.tool, row.args))
		assert.InDelta(t, codeInvalidParams, code, 0, row)
		assert.Contains(t, message, row.tool)
		assert.Contains(t, message, row.names)
		requireInputRefused(t, row.tool, row.args)
	}
	assert.Equal(t, before, *c.store)
	c.does("create_order", "null") // as common clients send it
}

// requireInputRefused holds the cart's own check against the schema that it shows.
func requireInputRefused(t *testing.T, name, args string) {
	t.Helper()
	for _, entry := range toolList(Env{}) {
		if entry["name"] == name {
			require.Error(t, compile(t, entry["inputSchema"]).Validate(anyOf(t, args)))
		}
	}
}

func (c *customer) read(uri string) map[string]any {
	c.t.Helper()
	result := resultOf(c.t, c.ask("resources/read", fmt.Sprintf(`"uri":%q`, uri)))
	contents, _ := result["contents"].([]any)
	require.Len(c.t, contents, 1)
	content, _ := contents[0].(map[string]any)
	require.Equal(c.t, uri, content["uri"])
	require.Equal(c.t, "application/json", content["mimeType"])
	words, _ := content["text"].(string)
	return map[string]any{"value": anyOf(c.t, words), "ttlMs": result["ttlMs"]}
}

func readsMenu(c *customer) {
	t := c.t
	assert.Equal(t, map[string]any{"ttlMs": 60000.0, "value": anyOf(t, `[
		{"name":"latte","cents":{"small":400,"medium":475,"large":550},"soldOut":false},
		{"name":"drip coffee","cents":{"small":250,"medium":300,"large":350},"soldOut":false},
		{"name":"black tea","cents":{"small":225,"medium":275,"large":325},"soldOut":false},
		{"name":"hot chocolate","cents":{"small":375,"medium":425,"large":475},"soldOut":false},
		{"name":"morning bun","cents":350,"soldOut":false},
		{"name":"cardamom bun","cents":375,"soldOut":true},
		{"name":"oat cookie","cents":275,"soldOut":false},
		{"name":"cheddar sandwich","cents":725,"soldOut":false}]`)}, c.read("menu://today"))
}

func readsOthers(c *customer) {
	t := c.t
	hours := c.read("hours://week")
	assert.Len(t, hours["value"], 7)
	c.env.Menu = Menu{{Name: "bun", Allergens: []string{"egg"}}, {Name: "tea", Allergens: []string{}}, {Name: "pie"}}
	assert.Equal(t, anyOf(t, `[{"item":"bun","allergens":["egg"]},{"item":"tea","allergens":[]},{"item":"pie","allergens":null}]`),
		c.read("allergens://menu")["value"])
	listed := resultOf(t, c.ask("resources/list", ""))
	for _, entry := range listed["resources"].([]any) {
		uri, _ := entry.(map[string]any)["uri"].(string)
		assert.NotEmpty(t, c.read(uri)["value"])
	}
}

func unknownResource(c *customer) {
	t := c.t
	got := c.ask("resources/read", `"uri":"menu://yesterday"`)
	code, _ := errorOf(t, got)
	assert.InDelta(t, codeInvalidParams, code, 0)
	assert.Equal(t, decoded(t, `{"uri":"menu://yesterday"}`), got["error"].(map[string]any)["data"])
	code, _ = errorOf(t, c.ask("resources/read", `"uri":7`))
	assert.InDelta(t, codeInvalidParams, code, 0)
}

func onePage(c *customer) {
	t := c.t
	for _, list := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
		assert.NotContains(t, resultOf(t, c.ask(list, "")), "nextCursor")
		for _, cursor := range []string{`"page2"`, `""`, `7`, `null`} {
			code, message := errorOf(t, c.ask(list, `"cursor":`+cursor))
			assert.InDelta(t, codeInvalidParams, code, 0)
			assert.Contains(t, message, "cursor")
		}
	}
}

func (c *customer) prompt(params string) string {
	c.t.Helper()
	result := resultOf(c.t, c.ask("prompts/get", params))
	messages, _ := result["messages"].([]any)
	require.Len(c.t, messages, 1)
	message, _ := messages[0].(map[string]any)
	content, _ := message["content"].(map[string]any)
	words, _ := content["text"].(string)
	return words
}

func special(c *customer) {
	t := c.t
	c.env.Menu = Menu{
		{Name: "latte", Cents: SizePrices(400, 475, 550)}, {Name: "cardamom bun", SoldOut: true}, {Name: "oat cookie", Cents: OnePrice(275)},
	}
	both := c.prompt(`"name":"weekly_special"`)
	c.wait(7 * 24 * time.Hour)
	both += c.prompt(`"name":"weekly_special","arguments":null`)
	assert.Contains(t, both, "latte (small $4.00, medium $4.75, large $5.50)")
	assert.Contains(t, both, "oat cookie $2.75")
	c.env.Now = -start // a clock may be wrong
	assert.Contains(t, both, c.prompt(`"name":"weekly_special"`))
	c.wait(7 * 24 * time.Hour)
	assert.Contains(t, both, c.prompt(`"name":"weekly_special"`))
	c.env.Menu = Menu{{Name: "cardamom bun", SoldOut: true}}
	assert.Contains(t, c.prompt(`"name":"weekly_special"`), "sold out")
	code, _ := errorOf(t, c.ask("prompts/get", `"name":"weekly_special","arguments":{"week":"40"}`))
	assert.InDelta(t, codeInvalidParams, code, 0)
}

func catering(c *customer) {
	t := c.t
	words := c.prompt(`"name":"catering_reply","arguments":{"event":"a garden wedding","people":" 40 "}`)
	for _, want := range []string{"a garden wedding", "People: 40\n", "- latte (small $4.00,", "- morning bun $3.50\n"} {
		assert.Contains(t, words, want)
	}
	assert.NotContains(t, words, "cardamom")
	for _, params := range []string{
		`"name":"catering_reply"`, `"name":"catering_reply","arguments":{"event":"x"}`, `"name":"catering_reply","arguments":{"people":"4"}`,
		`"name":"catering_reply","arguments":{"event":" ","people":"4"}`, `"name":"catering_reply","arguments":{"event":"x","people":"many"}`,
		`"name":"catering_reply","arguments":{"event":"x","people":"0"}`, `"name":"catering_reply","arguments":{"event":"x","people":4}`,
		`"name":"catering_reply","arguments":{"event":"x","people":"4","cake":"y"}`, `"name":"catering_reply","arguments":[]`,
		`"name":"monthly_special"`, `"arguments":{}`,
	} {
		code, _ := errorOf(t, c.ask("prompts/get", params))
		assert.InDelta(t, codeInvalidParams, code, 0, params)
	}
}

func notification(c *customer) {
	t := c.t
	for _, message := range []string{
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/unknown","params":[]}`,
		strings.Replace(modern(7, "tools/call", `"name":"create_order"`, "{}"), `"id":7,`, "", 1),
		`{"jsonrpc":"2.0","method":"initialize"}`,
	} {
		assert.Nil(t, c.send(message), message)
	}
	assert.Equal(t, Store{}, *c.store)
}

func batch(c *customer) {
	t := c.t
	create := modern(7, "tools/call", `"name":"create_order"`, "{}")
	for _, message := range []string{"[" + create + "," + create + "]", "[" + create + "]", "[]", "[1]"} {
		got := c.send(message)
		assert.NotContains(t, got, "id")
		assert.InDelta(t, codeInvalidRequest, got["error"].(map[string]any)["code"], 0)
	}
	assert.Equal(t, Store{}, *c.store)
}

func legacyEra(c *customer) {
	t := c.t
	hello := func(version string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{"elicitation":{}},"clientInfo":{"name":"old","version":"1"}}}`, version)
	}
	legacy := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":{%s}}`, method, params)
	}
	c.env.Legacy = true

	for asked, want := range map[string]string{"2025-11-25": "2025-11-25", "2025-06-18": "2025-06-18", "2024-11-05": "2024-11-05", "1999-01-01": "2025-11-25", Version: "2025-11-25"} {
		result := resultOf(t, c.send(hello(asked)))
		assert.Equal(t, want, result["protocolVersion"])
		assert.Equal(t, decoded(t, text(serverInfo())), result["serverInfo"])
	}
	for _, params := range []string{"", `"protocolVersion":1`, `"protocolVersion":"2025-11-25"`, `"protocolVersion":"2025-11-25","capabilities":{}`} {
		code, _ := errorOf(t, c.send(legacy("initialize", params)))
		assert.InDelta(t, codeInvalidParams, code, 0)
	}

	code, message := errorOf(t, c.send(legacy("tools/list", "")))
	assert.InDelta(t, codeInvalidParams, code, 0, "before the handshake a request without _meta is of no era")
	assert.Contains(t, message, "_meta")

	c.env.Opened = true
	assert.Nil(t, c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`))
	assert.Empty(t, resultOf(t, c.send(legacy("ping", ""))))
	for _, list := range []string{"tools/list", "resources/list", "resources/templates/list", "prompts/list"} {
		result := resultOf(t, c.send(legacy(list, `"_meta":{"progressToken":1}`)))
		for _, modernField := range []string{"resultType", "ttlMs", "cacheScope", "_meta"} {
			assert.NotContains(t, result, modernField)
		}
	}
	created := resultOf(t, c.send(legacy("tools/call", `"name":"create_order"`)))
	order, _ := created["structuredContent"].(map[string]any)["order"].(string)
	said := failedText(t, c.send(legacy("tools/call", fmt.Sprintf(`"name":"add_item","arguments":{"order":%q,"item":"latte"}`, order))))
	assert.Contains(t, said, "small, medium or large", "nobody is asked in this era, whatever the client declared")
	resultOf(t, c.send(legacy("resources/read", `"uri":"menu://today"`)))
	resultOf(t, c.send(legacy("prompts/get", `"name":"weekly_special"`)))
	code, _ = errorOf(t, c.send(legacy("resources/read", `"uri":"menu://x"`)))
	assert.InDelta(t, codeLegacyNotFound, code, 0)
	code, _ = errorOf(t, c.send(legacy("server/discover", "")))
	assert.InDelta(t, codeMethodNotFound, code, 0)

	resultOf(t, c.ask("server/discover", ""))
	assert.Equal(t, "open", c.does("get_order", fmt.Sprintf(`{"order":%q}`, order))["status"], "both eras share the orders")
}
