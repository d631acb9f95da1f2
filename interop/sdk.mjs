// sdk.mjs AGENT [ARGS...]: drives an agent with the client side of @agentclientprotocol/sdk, as an editor would.
// Prints a line for each check, and exits with 1 when one fails.
import { spawn } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [command, ...args] = process.argv.slice(2);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const exited = new Promise((resolve) => agent.on("exit", (code, signal) => resolve({ code, signal })));

let updates = [];
let asked = [];
let answer = "allow_once";
let onUpdate = () => {};
const app = acp
  .client({ name: "interop" })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    updates.push(params.update);
    onUpdate(params.update);
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    asked.push(params);
    const option = params.options.find((o) => o.kind === answer);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  });
const conn = app.connect(acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)));
const call = (method, params) => conn.agent.request(method, params);

let failures = 0;
async function check(name, fn) {
  try {
    const note = await fn();
    console.log(`ok    ${name}${note ? ` (${note})` : ""}`);
  } catch (e) {
    failures++;
    console.log(`FAIL  ${name}: ${e.message}`);
  }
}
function must(condition, why) {
  if (!condition) throw new Error(why);
}
const text = () =>
  updates.filter((u) => u.sessionUpdate === "agent_message_chunk").map((u) => u.content.text).join("");

async function prompt(sessionId, words) {
  updates = [];
  asked = [];
  return call(acp.methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: words }] });
}

// Each call's statuses, in order; the last one must settle it.
function calls() {
  const seen = new Map();
  for (const u of updates) {
    if (u.sessionUpdate === "tool_call") {
      must(!seen.has(u.toolCallId), `call ${u.toolCallId} was announced twice`);
      seen.set(u.toolCallId, [u.status]);
    } else if (u.sessionUpdate === "tool_call_update") {
      must(seen.has(u.toolCallId), `call ${u.toolCallId} was not announced`);
      if (u.status) seen.get(u.toolCallId).push(u.status);
    }
  }
  for (const [id, statuses] of seen) {
    must(["completed", "failed"].includes(statuses.at(-1)), `call ${id} ended ${statuses.at(-1)}`);
  }
  return [...seen.values()];
}

let sessionId;
await check("initialize", async () => {
  const r = await call(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientInfo: { name: "interop", version: "1" },
    clientCapabilities: {},
  });
  must(r.protocolVersion === 1, `version ${r.protocolVersion}`);
  return `${r.agentInfo.name} ${r.agentInfo.version}`;
});
await check("session/new", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "interop-"));
  sessionId = (await call(acp.methods.agent.session.new, { cwd, mcpServers: [] })).sessionId;
  must(sessionId, "no session id");
});
await check("an order: text, tool calls, permissions", async () => {
  const r = await prompt(sessionId, "A large latte and a morning bun, please");
  must(r.stopReason === "end_turn", `stop reason ${r.stopReason}`);
  must(/\$9\.00/.test(text()), `no total in: ${text()}`);
  must(updates.filter((u) => u.sessionUpdate === "agent_message_chunk").length > 1, "the text came in one piece");
  must(asked.length > 0, "nobody was asked");
  const ids = updates.filter((u) => u.sessionUpdate === "tool_call").map((u) => u.toolCallId);
  must(asked.every((a) => ids.includes(a.toolCall.toolCallId)), "a permission for a call that was not announced");
  const all = calls();
  must(all.every((s) => s.at(-1) === "completed"), "a call did not complete");
  return `${all.length} calls, ${asked.length} permissions`;
});
await check("a refused permission", async () => {
  answer = "reject_once";
  const r = await prompt(sessionId, "another morning bun");
  answer = "allow_once";
  must(r.stopReason === "end_turn", `stop reason ${r.stopReason}`);
  must(calls().some((s) => s.at(-1) === "failed"), "no call failed");
});
await check("a cancel in mid-stream ends the turn within a second", async () => {
  let at;
  onUpdate = (u) => {
    if (u.sessionUpdate === "agent_message_chunk" && at === undefined) {
      at = Date.now();
      conn.agent.notify(acp.methods.agent.session.cancel, { sessionId });
    }
  };
  const r = await prompt(sessionId, "What do you have?");
  const took = Date.now() - at;
  onUpdate = () => {};
  must(at !== undefined, "nothing was streamed");
  must(r.stopReason === "cancelled", `stop reason ${r.stopReason}`);
  must(took < 1000, `it took ${took} ms`);
  const before = updates.length;
  await new Promise((resolve) => setTimeout(resolve, 200));
  must(updates.length === before, "updates after the answer");
  return `${took} ms`;
});
await check("a second prompt after it", async () => {
  const r = await prompt(sessionId, "What does a small latte cost?");
  must(r.stopReason === "end_turn", `stop reason ${r.stopReason}`);
  must(/\$4\.00/.test(text()), `no price in: ${text()}`);
});
await check("the agent ends with its input", async () => {
  agent.stdin.end();
  const late = new Promise((resolve) => setTimeout(() => resolve(undefined), 2000));
  const r = await Promise.race([exited, late]);
  must(r, "it is still there after 2 s");
  must(r.code === 0, `it exited with ${r.code ?? r.signal}`);
});
agent.kill("SIGKILL");
process.exit(failures ? 1 : 0);
