// cart.mjs URL|COMMAND [ARGS...]: orders at a coffee cart with @modelcontextprotocol/client, over Streamable HTTP or stdio.
// CART_ERA is the era that the client opens with (modern or legacy), CART_TOKEN its bearer token. Prints a line for each
// check, as checks.mjs does, and exits with 1 when one fails.
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [where, ...args] = process.argv.slice(2);
const legacy = process.env.CART_ERA === "legacy";
const token = process.env.CART_TOKEN;
const key = "dev.cartagent/idempotencyKey";

const transport = where.startsWith("http://")
  ? new StreamableHTTPClientTransport(new URL(where), token ? { requestInit: { headers: { Authorization: `Bearer ${token}` } } } : {})
  : new StdioClientTransport({ command: where, args, stderr: "inherit" });
const client = new Client(
  { name: "interop", version: "1" },
  {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: legacy ? "legacy" : { pin: "2026-07-28" } },
  },
);
const asked = [];
client.setRequestHandler("elicitation/create", (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { size: "medium" } };
});

let failures = 0;
async function check(name, fn) {
  try {
    const note = await fn();
    console.log(`ok    ${name}${note ? ` (${note})` : ""}`);
  } catch (e) {
    failures++;
    console.log(`FAIL  ${name} (${String(e?.message ?? e).replaceAll("\n", " ")})`);
  }
}
const call = (name, params, meta) => client.callTool({ name, arguments: params, ...(meta && { _meta: meta }) });
const done = async (...of) => {
  const result = await call(...of);
  assert.notEqual(result.isError, true, result.content?.[0]?.text);
  return result.structuredContent;
};

let order;
await check("connect", async () => {
  await client.connect(transport);
  assert.equal(client.getServerVersion()?.name, "coffee-cart");
  return client.getNegotiatedProtocolVersion?.();
});
await check("tools", async () => {
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map((t) => t.name), ["create_order", "add_item", "remove_item", "get_order", "place_order", "cancel_order"]);
});
await check("a size is asked for", async () => {
  ({ order } = await done("create_order", {}));
  if (legacy) {
    const refused = await call("add_item", { order, item: "latte" });
    assert.equal(refused.isError, true);
    assert.match(refused.content[0].text, /small, medium or large/);
    await done("add_item", { order, item: "latte", size: "medium" });
  } else {
    const { lines } = await done("add_item", { order, item: "latte" });
    assert.deepEqual(lines, [{ item: "latte", size: "medium", cents: 475 }]);
  }
  assert.equal(asked.length, legacy ? 0 : 1);
});
await check("a rule of the cart is a result", async () => {
  const soldOut = await call("add_item", { order, item: "cardamom bun" });
  assert.equal(soldOut.isError, true);
  assert.match(soldOut.content[0].text, /sold out/);
});
await check("a wrong call is an error", async () => {
  await assert.rejects(call("get_order", {}), (e) => e.code === -32602);
});
await check("one key places one order", async () => {
  const first = await done("place_order", { order, name: "Ada" }, { [key]: `interop ${order}` });
  const second = await done("place_order", { order, name: "Ada" }, { [key]: `interop ${order}` });
  assert.deepEqual(second, first);
  assert.equal(first.totalCents, 475);
  assert.equal((await done("get_order", { order })).status, "placed");
  return `number ${first.number}`;
});
await check("resources and prompts", async () => {
  const { contents } = await client.readResource({ uri: "menu://today" });
  assert.match(contents[0].text, /drip coffee/);
  const { messages } = await client.getPrompt({ name: "catering_reply", arguments: { event: "a fair", people: "9" } });
  assert.equal(messages.length, 1);
});
await check("close", () => client.close());
process.exit(failures ? 1 : 0);
