// client.mjs: an ACP client on @agentclientprotocol/sdk for sessions with MCP servers. The model behind the agent does
// what prompts say (toolmodel_test.go): `call TOOL {ARGS}`, `tools`.
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import { calls, check, cwd, fresh, launch, look, must, pause, until, update } from "../checks.mjs";

// The servers, as ACP has them, and whether this client shows forms; else what it is asked comes as buttons.
export const servers = JSON.parse(process.env.INTEROP_SERVERS);
export const forms = process.env.INTEROP_FORMS === "true";

// How the person answers: fills a form by what it asks for, or presses the button of that name.
let person = { fill: () => ({ action: "cancel" }), press: "" };
export const answering = (how) => (person = { ...person, ...how });
export const asked = { forms: [], buttons: [] };

const { agent, client } = acp.methods;
let commands = [];
const process_ = launch();
const conn = acp
  .client({ name: "interop" })
  .onNotification(client.session.update, ({ params }) => {
    if (params.update.sessionUpdate === "available_commands_update") commands = params.update.availableCommands;
    update(params.update);
  })
  .onRequest(client.elicitation.create, ({ params }) => {
    asked.forms.push(params);
    return person.fill(params);
  })
  .onRequest(client.session.requestPermission, ({ params }) => {
    const question = params.options.some((o) => o.optionId.startsWith("answer_"));
    if (question) asked.buttons.push(params);
    const option = params.options.find((o) => (question ? o.name === person.press : o.kind === "allow_once"));
    must(option, `no such option among ${JSON.stringify(params.options)}`);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .connect(acp.ndJsonStream(Writable.toWeb(process_.child.stdin), Readable.toWeb(process_.child.stdout)));

await conn.agent.request(agent.initialize, {
  protocolVersion: acp.PROTOCOL_VERSION,
  clientInfo: { name: "interop", version: "1" },
  clientCapabilities: forms ? { elicitation: { form: {}, url: {} } } : {},
});
const { sessionId } = await conn.agent.request(agent.session.new, { cwd, mcpServers: servers });
// A server that is slow to start joins the session later. The checks are of those that have.
while (/\| connecting \|/.test(await prompt("/mcp"))) await pause(100);

// prompt plays a turn and gives what the agent said.
export async function prompt(words) {
  fresh();
  asked.forms = [];
  asked.buttons = [];
  const { stopReason } = await conn.agent.request(agent.session.prompt, { sessionId, prompt: [{ type: "text", text: words }] });
  must(stopReason === "end_turn", `stop reason ${stopReason}`);
  calls();
  const { updates } = look();
  return updates.filter((u) => u.sessionUpdate === "agent_message_chunk").map((u) => u.content.text).join("");
}

// call has the model call one tool, which it finds first where it is on the shelf. It gives what the model saw of the
// result, and what the client did: the content of the call, its raw output and how it ended; and the texts that came before
// its end.
export async function call(tool, args = {}) {
  must(await find(tool), `the model is not offered ${tool}`);
  const said = await prompt(`call ${tool} ${JSON.stringify(args)}`);
  const seen = look().updates.filter((u) => u.sessionUpdate.startsWith("tool_call"));
  must(new Set(seen.map((u) => u.toolCallId)).size === 1, `not one call: ${said}`);
  return {
    said,
    content: seen.flatMap((u) => u.content ?? []).map((c) => c.content),
    raw: seen.findLast((u) => u.rawOutput !== undefined)?.rawOutput,
    status: seen.findLast((u) => u.status).status,
    progress: seen.filter((u) => !["completed", "failed"].includes(u.status)).flatMap((u) => u.content ?? []).map((c) => c.content?.text),
  };
}

export const tools = async () => (await prompt("tools")).replace("tools: ", "").split(" ");

// find is whether the model is offered a tool, at once or after a search for it by its name.
export async function find(tool) {
  const listed = await tools();
  if (listed.includes(tool)) return true;
  if (!listed.includes("tool_search")) return false;
  await prompt(`call tool_search ${JSON.stringify({ query: tool })}`);
  return (await tools()).includes(tool);
}

// comes is whether the model comes to be offered a tool: servers tell of changes when they like.
export async function comes(tool) {
  for (let i = 0; i < 1000; i++) {
    if (await find(tool)) return true;
    await pause(50);
  }
  return false;
}

export const command = (name) =>
  until(() => commands.find((c) => c.name === name), `no command ${name} among ${commands.map((c) => c.name)}`);

export function contains(text, ...wanted) {
  for (const w of wanted) must(w instanceof RegExp ? w.test(text) : text.includes(w), `no ${w} in: ${text}`);
}

// ended ends the agent, with all of its servers.
export const ended = () => check("end", () => process_.stop());
