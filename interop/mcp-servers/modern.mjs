// modern.mjs [http]: an MCP server of 2026-07-28 alone, on @modelcontextprotocol/server, over stdio or Streamable HTTP. It
// asks by input_required, and its list of tools grows.
import { createServer } from "node:http";
import { createMcpHandler, inputRequired, inputResponse, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import * as z from "zod";

const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const text = (words) => ({ content: [{ type: "text", text: words }] });
const size = {
  message: "Which size?",
  requestedSchema: { type: "object", properties: { size: { type: "string", enum: ["small", "large"] } }, required: ["size"] },
};
const name = {
  message: "Whom is it for, and how many?",
  requestedSchema: {
    type: "object",
    properties: { name: { type: "string" }, count: { type: "integer", minimum: 1, default: 2 } },
    required: ["name"],
  },
};

// What grows; shared, since over HTTP there is a new McpServer for each request.
let grown = false;
let changed = () => {};
const bloom = (server) => server.registerTool("bloom", { description: "Blooms.", inputSchema: z.object({}) }, () => text("in bloom"));

// round asks the questions that have no answer yet, all at once. Which round it is comes back in the state.
function asked(ctx, questions) {
  const answers = Object.fromEntries(Object.keys(questions).map((key) => [key, inputResponse(ctx.mcpReq.inputResponses, key)]));
  if (Object.values(answers).some((a) => a.kind === "missing")) {
    return { more: inputRequired({ inputRequests: questions, requestState: "of the first round" }) };
  }
  return { answers, state: ctx.mcpReq.requestState() };
}

function build() {
  const server = new McpServer({ name: "modern", version: "1" }, {
    capabilities: { tools: { listChanged: true }, prompts: {}, resources: {} },
    instructions: "A server for tests.",
  });
  server.registerTool("sum", {
    description: "Adds two numbers.",
    inputSchema: z.object({ a: z.number(), b: z.number() }),
    outputSchema: z.object({ sum: z.number() }),
    annotations: { readOnlyHint: true },
  }, ({ a, b }) => ({ content: [{ type: "text", text: JSON.stringify({ sum: a + b }) }], structuredContent: { sum: a + b } }));
  server.registerTool("look", { description: "Shows all kinds of content.", inputSchema: z.object({}) }, () => ({
    content: [
      { type: "text", text: "a dot" },
      { type: "image", data: dot, mimeType: "image/png" },
      { type: "resource_link", uri: "note://one", name: "one" },
      { type: "resource", resource: { uri: "note://two", mimeType: "text/plain", text: "the second note" } },
    ],
  }));
  server.registerTool("choose", { description: "Asks for a size.", inputSchema: z.object({}) }, (_, ctx) => {
    const { more, answers, state } = asked(ctx, { size: inputRequired.elicit(size) });
    return more ?? text(`chosen: ${JSON.stringify(answers.size)}, ${state}`);
  });
  server.registerTool("order", { description: "Asks for a size and a name.", inputSchema: z.object({}) }, (_, ctx) => {
    const { more, answers, state } = asked(ctx, { size: inputRequired.elicit(size), who: inputRequired.elicit(name) });
    return more ?? text(`ordered: ${JSON.stringify(answers.size)} ${JSON.stringify(answers.who)}, ${state}`);
  });
  server.registerTool("open", { description: "Has a page opened.", inputSchema: z.object({}) }, (_, ctx) => {
    const page = inputRequired.elicitUrl({ message: "Please look at this.", url: "https://example.com/page" });
    const { more, answers } = asked(ctx, { page });
    return more ?? text(`opened: ${JSON.stringify(answers.page)}`);
  });
  server.registerTool("work", { description: "Works for a while.", inputSchema: z.object({ steps: z.number() }) }, async ({ steps }, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let i = 1; i <= steps; i++) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (progressToken !== undefined) {
        await ctx.mcpReq.notify({
          method: "notifications/progress", params: { progressToken, progress: i, total: steps, message: `step ${i}` },
        });
      }
    }
    return text(`worked ${steps} steps`);
  });
  server.registerTool("fail", { description: "Fails.", inputSchema: z.object({}) }, () => {
    throw new Error("out of beans");
  });
  server.registerTool("grow", { description: "Grows another tool.", inputSchema: z.object({}) }, () => {
    grown = true;
    changed(server);
    return text("grown");
  });
  if (grown) bloom(server);
  for (const [uri, words] of [["note://one", "the first note"], ["note://two", "the second note"]]) {
    server.registerResource(uri, uri, { mimeType: "text/plain" }, () => ({ contents: [{ uri, mimeType: "text/plain", text: words }] }));
  }
  server.registerPrompt("greet", { description: "Greets.", argsSchema: z.object({ who: z.string() }) }, ({ who }) => (
    { messages: [{ role: "user", content: { type: "text", text: `Say hello to ${who}.` } }] }
  ));
  return server;
}

if (process.argv[2] !== "http") {
  changed = bloom; // registering tells the client
  serveStdio(build, { legacy: "reject", onerror: (e) => console.error(e) });
} else {
  const handler = createMcpHandler(build, { legacy: "reject", onerror: (e) => console.error(e) });
  changed = () => handler.notify.toolsChanged();
  createServer(async (req, res) => {
    const chunks = [];
    for await (const c of req) chunks.push(c);
    const gone = new AbortController();
    res.on("close", () => gone.abort());
    const answer = await handler.fetch(new Request(`http://${req.headers.host}${req.url}`, {
      method: req.method, headers: req.headers, signal: gone.signal,
      ...(req.method !== "GET" && { body: Buffer.concat(chunks) }),
    }));
    res.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) for await (const c of answer.body) res.write(c);
    res.end();
  }).listen();
}
