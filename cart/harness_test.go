package cart

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

const start = int64(1_790_000_000_000) // an afternoon in 2026

// A customer talks to Handle the way a client does, and holds every reply against the published schema.
type customer struct {
	t       *testing.T
	store   *Store
	env     Env
	caps    string
	handles int
	changed []Key
}

func newCustomer(t *testing.T) *customer {
	t.Helper()
	return &customer{t: t, store: &Store{}, env: Env{Caller: "ada", Now: start, Menu: DefaultMenu()}, caps: "{}"}
}

// as is another caller at the same cart.
func (c *customer) as(caller string) *customer {
	other := *c
	other.env.Caller = caller
	return &other
}

func (c *customer) wait(d time.Duration) { c.env.Now += d.Milliseconds() }

// send hands Handle a message and gives the reply as it goes over the wire, decoded; nil where there is none.
func (c *customer) send(message string) map[string]any {
	c.t.Helper()
	c.handles++
	c.env.Handle = fmt.Sprintf("ord_%d", c.handles)
	before := maps.Collect(c.store.Orders())
	next, reply := Handle(*c.store, json.RawMessage(message), c.env)
	require.Equal(c.t, before, maps.Collect(c.store.Orders()), "the store that was handed in changed")
	requireChangesNamed(c.t, *c.store, next, reply.Changed)
	*c.store, c.changed = next, reply.Changed
	if reply.Silent() {
		return nil
	}
	wire, err := encode(reply)
	require.NoError(c.t, err)
	var got map[string]any
	require.NoError(c.t, json.Unmarshal(wire, &got))
	requireValid(c.t, reply, c.env, got)
	return got
}

// requireChangesNamed holds Reply.Changed against what did change.
func requireChangesNamed(t *testing.T, before, after Store, named []Key) {
	t.Helper()
	was, is := maps.Collect(before.Orders()), maps.Collect(after.Orders())
	var want []Key
	for k, o := range is {
		if old, ok := was[k]; !ok || !sameOrder(old, o) {
			want = append(want, k)
		}
	}
	for k := range was {
		if _, ok := is[k]; !ok {
			want = append(want, k)
		}
	}
	require.ElementsMatch(t, want, named)
}

func sameOrder(a, b Order) bool { return text(a) == text(b) }

// ask sends a request of the modern era; params is what stands beside _meta.
func (c *customer) ask(method, params string) map[string]any {
	c.t.Helper()
	return c.send(modern(7, method, params, c.caps))
}

func modern(id int, method, params, caps string) string {
	if params = strings.TrimSpace(params); params != "" {
		params = "," + params
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":{%q:%q,%q:%s}%s}}`,
		id, method, metaVersion, Version, metaClient, caps, params)
}

func (c *customer) call(tool, args string) map[string]any {
	c.t.Helper()
	return c.ask("tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, tool, args))
}

// does calls a tool that must succeed and gives its structured content.
func (c *customer) does(tool, args string) map[string]any {
	c.t.Helper()
	result := resultOf(c.t, c.call(tool, args))
	require.Equal(c.t, false, result["isError"], "%v", result["content"])
	structured, ok := result["structuredContent"].(map[string]any)
	require.True(c.t, ok)
	require.NoError(c.t, outputOf(c.t, c.env.withDefaults(), tool).Validate(structured))
	require.JSONEq(c.t, text(structured), textOf(c.t, result), "the text is the structured content")
	return structured
}

// fails calls a tool that must answer with an error of its own, and gives the sentence.
func (c *customer) fails(tool, args string) string {
	c.t.Helper()
	return failedText(c.t, c.call(tool, args))
}

// starts creates an order and gives its handle.
func (c *customer) starts() string {
	c.t.Helper()
	handle, ok := c.does("create_order", "{}")["order"].(string)
	require.True(c.t, ok)
	return handle
}

// ordered is an order with one bun on it.
func (c *customer) ordered() string {
	c.t.Helper()
	order := c.starts()
	c.does("add_item", fmt.Sprintf(`{"order":%q,"item":"morning bun"}`, order))
	return order
}

func failedText(t *testing.T, reply map[string]any) string {
	t.Helper()
	result := resultOf(t, reply)
	require.Equal(t, true, result["isError"])
	require.NotContains(t, result, "structuredContent")
	return textOf(t, result)
}

func resultOf(t *testing.T, reply map[string]any) map[string]any {
	t.Helper()
	require.NotContains(t, reply, "error", "%v", reply["error"])
	result, ok := reply["result"].(map[string]any)
	require.True(t, ok, "%v", reply)
	return result
}

func textOf(t *testing.T, result map[string]any) string {
	t.Helper()
	content, ok := result["content"].([]any)
	require.True(t, ok)
	require.Len(t, content, 1)
	block, ok := content[0].(map[string]any)
	require.True(t, ok)
	require.Equal(t, "text", block["type"])
	words, ok := block["text"].(string)
	require.True(t, ok)
	return words
}

// errorOf gives the code and the message of a protocol error that carries the id 7.
func errorOf(t *testing.T, reply map[string]any) (float64, string) {
	t.Helper()
	failure, ok := reply["error"].(map[string]any)
	require.True(t, ok, "%v", reply)
	require.InDelta(t, 7, reply["id"], 0)
	code, ok := failure["code"].(float64)
	require.True(t, ok)
	message, ok := failure["message"].(string)
	require.True(t, ok)
	return code, message
}

// decoded is JSON as a test compares it.
func decoded(t *testing.T, s string) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(s), &v))
	return v
}

// definitions finds a definition of a revision; both schemas are read once.
var definitions = sync.OnceValue(func() func(revision, name string) *jsonschema.Schema {
	c := jsonschema.NewCompiler()
	var mu sync.Mutex
	for _, revision := range []string{Version, "2025-11-25"} {
		f, err := os.Open("testdata/schema-" + revision + ".json")
		if err != nil {
			panic(err)
		}
		doc, err := jsonschema.UnmarshalJSON(f)
		if err != nil {
			panic(err)
		}
		if err := c.AddResource("mcp:"+revision, doc); err != nil {
			panic(err)
		}
	}
	return func(revision, name string) *jsonschema.Schema {
		mu.Lock()
		defer mu.Unlock()
		return c.MustCompile("mcp:" + revision + "#/$defs/" + name)
	}
})

// requireValid holds a reply against the definition of its method's response in the revision it was given in.
func requireValid(t *testing.T, reply Reply, env Env, got map[string]any) {
	t.Helper()
	names := map[string]string{
		"server/discover": "Discover", "tools/list": "ListTools", "tools/call": "CallTool",
		"resources/list": "ListResources", "resources/templates/list": "ListResourceTemplates",
		"resources/read": "ReadResource", "prompts/list": "ListPrompts", "prompts/get": "GetPrompt",
		"initialize": "Initialize", "ping": "Empty",
	}
	schemas := definitions()
	result, _ := reply.Result.(body)
	_, isModern := result["resultType"]
	switch {
	case reply.Error != nil && reply.Error.Code == codeUnsupportedVersion:
		require.NoError(t, schemas(Version, "UnsupportedProtocolVersionError").Validate(got))
	case reply.Error != nil:
		require.NoError(t, schemas(Version, "JSONRPCErrorResponse").Validate(got))
	case isModern:
		require.NoError(t, schemas(Version, names[reply.Method]+"ResultResponse").Validate(got))
		requireWholeResult(t, reply.Method, got)
	default:
		require.True(t, env.Legacy, "only the handshake era has results without resultType")
		require.NoError(t, schemas("2025-11-25", names[reply.Method]+"Result").Validate(got["result"]))
	}
}

// requireWholeResult asks for what the revision wants beyond a type: serverInfo always, freshness where it is cached.
func requireWholeResult(t *testing.T, method string, got map[string]any) {
	t.Helper()
	result := resultOf(t, got)
	require.Equal(t, map[string]any{metaServerInfo: decoded(t, text(serverInfo()))}, result["_meta"])
	if method == "tools/call" || method == "prompts/get" {
		return
	}
	require.Contains(t, result, "ttlMs")
	require.Equal(t, "public", result["cacheScope"])
}

// outputOf is the output schema that tools/list shows for a tool.
func outputOf(t *testing.T, env Env, tool string) *jsonschema.Schema {
	t.Helper()
	for _, entry := range toolList(env) {
		if entry["name"] == tool {
			return compile(t, entry["outputSchema"])
		}
	}
	require.Fail(t, "no such tool", tool)
	return nil
}

func compile(t *testing.T, schema any) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text(schema)))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("tool:schema", doc))
	s, err := c.Compile("tool:schema")
	require.NoError(t, err)
	return s
}

func anyOf(t *testing.T, s string) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal([]byte(s), &v))
	return v
}
