// checks.mjs: what every client is put through, in one order, so that their results compare. A driver says how its client
// does each thing; what it leaves out is reported as `n/a`, what the agent does not advertise as `skip`. The lines are
// `ok`, `FAIL`, `n/a` and `skip`, then two spaces or more, then the check's name and a note in parentheses.
import { spawn } from "node:child_process";
import { mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const agent = process.argv.slice(2);
if (agent.length === 0) {
  console.error("give the agent's command line, such as: cartagent acp");
  process.exit(2);
}
export const cwd = realpathSync(mkdtempSync(join(tmpdir(), "interop-")));

// What the offline model does with these is known: it reads the menu, or takes an order.
export const words = {
  menu: "What do you have?",
  order: "A large latte and a morning bun, please",
  more: "another morning bun",
  price: "What does a small latte cost?",
};

// cart is an MCP server that the client passes. Its prices are its own and come by way of its environment, so a total in
// them proves that the agent started this server, with this environment, and called its tools.
const menu = join(cwd, "menu.json");
writeFileSync(menu, JSON.stringify([
  { name: "latte", cents: { small: 401, medium: 451, large: 501 } },
  { name: "morning bun", cents: 276 },
  { name: "nettle soda", cents: 123 },
]));
export const cart = {
  name: "interop",
  command: "/bin/sh",
  args: ["-c", 'exec "$INTEROP_AGENT" cart --menu "$INTEROP_MENU"'],
  env: [{ name: "INTEROP_AGENT", value: agent[0] }, { name: "INTEROP_MENU", value: menu }],
};
const placed = /is placed/, total = /\$7\.77/, price = /\$4\.01/, lastItem = /nettle soda/;

export function must(condition, why) {
  if (!condition) throw new Error(why);
  return condition;
}
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
// patience is how long, in ms, what must come may take: long enough for a machine that is busy with other tests.
const patience = 60000;
export async function until(condition, why, ms = patience) {
  for (const end = Date.now() + ms; Date.now() < end; await pause(20)) {
    const value = condition();
    if (value) return value;
  }
  throw new Error(why);
}

let failures = 0;
function line(kind, name, note) {
  console.log(`${kind.padEnd(4)}  ${name}${note ? ` (${String(note).replaceAll("\n", " ")})` : ""}`);
}
export const absent = (name, why = "not in that client") => line("n/a", name, why);
export const unoffered = (name) => line("skip", name, "the agent does not advertise it");
export async function check(name, fn) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("nothing after two minutes")), 2 * patience)));
  try {
    line("ok", name, await Promise.race([fn(), late]));
    return true;
  } catch (e) {
    failures++;
    line("FAIL", name, e?.message ?? JSON.stringify(e));
    return false;
  } finally {
    clearTimeout(timer);
  }
}
export function done() {
  process.exit(failures ? 1 : 0);
}

// offers asks the agent itself what it can do, for clients that do not tell.
export async function offers() {
  const child = spawn(agent[0], agent.slice(1), { stdio: ["pipe", "pipe", "ignore"] });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (id, method, params) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    for (;;) {
      const { value, done: ended } = await answers.next();
      must(!ended, `the agent ended before it answered ${method}`);
      const m = JSON.parse(value);
      if (m.id === id) return must(m.result, `${method}: ${m.error?.message}`);
    }
  };
  const { agentCapabilities: caps } = await ask(0, "initialize", { protocolVersion: 1 });
  const session = await ask(1, "session/new", { cwd, mcpServers: [] });
  child.stdin.end();
  await new Promise((resolve) => child.once("close", resolve));
  return { load: caps?.loadSession, ...caps?.sessionCapabilities, modes: session.modes, options: session.configOptions };
}

// What the client said since the last look.
let updates = [];
let asked = [];
let answer = "allow_once";
let onUpdate = () => {};

// update takes each session/update's update, ask each session/request_permission's params; ask returns the id to choose.
export function update(u) {
  updates.push(u);
  onUpdate(u);
}
export function ask(params) {
  asked.push(params);
  return must(params.options.find((o) => o.kind === answer), `no ${answer} among the options`).optionId;
}
export const look = () => ({ updates, asked });
export const fresh = () => {
  updates = [];
  asked = [];
};

const chunks = (kind) => updates.filter((u) => u.sessionUpdate === kind).map((u) => u.content?.text ?? "");
const text = () => chunks("agent_message_chunk").join("");
const turnUpdate = (u) => /_chunk$|^tool_call|^plan$/.test(u.sessionUpdate);

// calls gives each call's statuses, in order; the last one settles it.
export function calls(list = updates) {
  const seen = new Map();
  for (const u of list) {
    if (u.sessionUpdate === "tool_call") {
      must(!seen.has(u.toolCallId), `call ${u.toolCallId} was announced twice`);
      seen.set(u.toolCallId, [u.status ?? "pending"]);
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

// run puts a client through every check.
//   start() → the initialize result, if the client tells     stop() ends the agent; start may follow
//   open({ cwd, mcpServers }) → { sessionId, modes, configOptions }     prompt(id, words) → { stopReason? }
//   cancel(id)   setMode(id, mode)   setOption(id, option, value) → configOptions   list({ cwd }) → sessions
//   load(id, { cwd, mcpServers })   resume(the same)   close(id)   remove(id)
//   deaf: updates are seen only during a turn     picks: it answers permissions by itself     aborts: cancel is not sent
export async function run(client) {
  const can = await offers();
  // has decides whether a check can be made at all, and says so if not.
  const has = (name, method, capability) => {
    if (!client[method]) absent(name);
    else if (!capability) unoffered(name);
    return client[method] && capability;
  };
  const turn = async (id, said, stop = "end_turn") => {
    fresh();
    const r = (await client.prompt(id, said)) ?? {};
    must(r.stopReason === undefined || r.stopReason === stop, `stop reason ${r.stopReason}`);
    return text();
  };
  const ready = async (id) => must(price.test(await turn(id, words.price)), `no price in: ${text()}`);
  const turns = []; // what was said in each turn that ended by itself

  const began = await check("initialize", async () => {
    const r = await client.start();
    if (!r?.protocolVersion) return "the client does not tell the version";
    must(r.protocolVersion === 1, `version ${r.protocolVersion}`);
    return r.agentInfo && `${r.agentInfo.name} ${r.agentInfo.version}`;
  });
  let session;
  const where = { cwd, mcpServers: [cart] };
  const opened = began && (await check("session/new", async () => {
    session = await client.open(where);
    must(session?.sessionId, "no session id");
  }));
  if (!opened) done();
  const id = session.sessionId;

  await check("streamed text", async () => {
    const said = await turn(id, words.menu);
    turns.push([words.menu, said]);
    must(lastItem.test(said), `the menu is not that of the client's server: ${said}`);
    must(chunks("agent_message_chunk").length > 1, "the text came in one piece");
    return `${chunks("agent_message_chunk").length} chunks`;
  });
  await check("tool calls", async () => {
    const said = await turn(id, words.order);
    turns.push([words.order, said]);
    const all = calls();
    must(all.length > 2 && all.every((s) => s.at(-1) === "completed"), `calls ended ${JSON.stringify(all)}`);
    return `${all.length} calls`;
  });
  const ordered = { said: text(), ...look() };
  await check("permission granted", async () => {
    must(placed.test(ordered.said), `nothing was placed: ${ordered.said}`);
    if (client.picks) return "the client answers by itself; seen by its effect";
    must(ordered.asked.length > 0, "nobody was asked");
    const ids = ordered.updates.filter((u) => u.sessionUpdate === "tool_call").map((u) => u.toolCallId);
    must(ordered.asked.every((a) => ids.includes(a.toolCall.toolCallId)), "a permission for a call that was not announced");
    return `${ordered.asked.length} asked`;
  });
  await check("MCP servers of the client", async () => {
    must(total.test(ordered.said), `no total in that server's prices in: ${ordered.said}`);
  });
  if (client.picks) absent("permission refused");
  else {
    await check("permission refused", async () => {
      answer = "reject_once";
      try {
        turns.push([words.more, await turn(id, words.more)]);
      } finally {
        answer = "allow_once";
      }
      must(asked.length > 0, "nobody was asked");
      must(calls().some((s) => s.at(-1) === "failed"), "no call failed");
      must(!placed.test(text()), `it was placed all the same: ${text()}`);
    });
  }
  if (has("cancel", "cancel", true)) {
    await check("cancel", async () => {
      let at;
      onUpdate = (u) => {
        if (u.sessionUpdate !== "agent_message_chunk" || at !== undefined) return;
        at = Date.now();
        client.cancel(id);
      };
      let said;
      try {
        said = await turn(id, words.menu, "cancelled");
      } finally {
        onUpdate = () => {};
      }
      const took = Date.now() - at;
      must(at !== undefined, "nothing was streamed");
      must(!lastItem.test(said), "it went on to the end");
      if (client.aborts) return "the client sends no session/cancel, it stops listening";
      const before = updates.filter(turnUpdate).length;
      await pause(200);
      must(updates.filter(turnUpdate).length === before, "updates after the answer");
      return `${took} ms`;
    });
    await check(client.aborts ? "a prompt that overlaps" : "a prompt after a cancel", () => ready(id).then(() => ""));
  }
  await options(client, has, { can, session, turn });
  await stored(client, has, { can, id, where, turns, ready });
  await check("end", () => client.stop());
  done();
}

// options are the session's modes and configuration.
async function options(client, has, { can, session, turn }) {
  const id = session.sessionId;
  if (has("modes", "setMode", can.modes ?? can.options)) {
    await check("modes", async () => {
      const offered = must(session.modes, "options, but no modes").availableModes.map((m) => m.id);
      must(session.modes.currentModeId === "ask", `it starts in ${session.modes.currentModeId}`);
      must(offered.includes("plan"), `no plan among ${offered}`);
      fresh();
      await client.setMode(id, "plan");
      if (!client.deaf) {
        await until(() => updates.some((u) => u.sessionUpdate === "current_mode_update" && u.currentModeId === "plan"), "the change was not announced");
      }
      const said = await turn(id, words.order);
      must(asked.length === 0 && !placed.test(said), `it acted in plan mode: ${said}`);
      await client.setMode(id, "ask");
      return offered.join(", ");
    });
  }
  if (has("config options", "setOption", can.options)) {
    await check("config options", async () => {
      const kinds = session.configOptions.map((o) => o.id);
      must(kinds.includes("mode") && kinds.includes("model"), `no mode and model among ${kinds}`);
      for (const value of ["accept-edits", "ask"]) {
        const now = await client.setOption(id, "mode", value);
        must(now.length === kinds.length, "not the whole list came back");
        must(now.find((o) => o.id === "mode")?.currentValue === value, `mode is not ${value}`);
      }
      return kinds.join(", ");
    });
  }
}

// stored is what a session's log is for. Loading and resuming are done by a new process.
async function stored(client, has, { can, id, where, turns, ready }) {
  const again = async () => {
    await client.stop();
    await client.start();
  };
  if (has("session/list", "list", can.list)) {
    await check("session/list", async () => {
      const ours = must((await client.list({ cwd })).find((s) => s.sessionId === id), "ours is not listed");
      must(ours.cwd === cwd, `its cwd is ${ours.cwd}`);
      must(ours.title, "it has no title");
      must(!Number.isNaN(Date.parse(ours.updatedAt)), `updatedAt is ${ours.updatedAt}`);
      must((await client.list({ cwd: "/nowhere" })).length === 0, "a folder without sessions has some");
      return ours.title;
    });
  }
  if (has("session/load", "load", can.load)) {
    await check("session/load", async () => {
      await again();
      fresh();
      await client.load(id, where);
      const replayed = updates;
      if (!client.deaf) {
        calls(replayed);
        let at = 0, said = text();
        const heard = chunks("user_message_chunk");
        for (const [question, reply] of turns) {
          must(heard.includes(question), `the prompt ${question} was not replayed`);
          at = said.indexOf(reply, at);
          must(at >= 0, `not replayed as it was said: ${reply}`);
          at += reply.length;
        }
      }
      await ready(id);
      return client.deaf ? "prompted after it" : `${replayed.length} updates`;
    });
  }
  if (has("session/resume", "resume", can.resume)) {
    await check("session/resume", async () => {
      await again();
      fresh();
      await client.resume(id, where);
      await pause(200);
      must(!updates.some(turnUpdate), "it replayed");
      await ready(id);
    });
  }
  if (has("session/close", "close", can.close)) {
    await check("session/close", async () => {
      await client.close(id);
      const after = await client.prompt(id, words.price).then((r) => r.stopReason, () => undefined);
      must(after === undefined, `a prompt after it ended ${after}`);
    });
  }
  if (has("session/delete", "remove", can.delete)) {
    await check("session/delete", async () => {
      await client.remove(id);
      must(!(await client.list({ cwd })).some((s) => s.sessionId === id), "it is still listed");
    });
  }
}

// launch starts the agent for drivers whose client leaves that to them. stop ends its input and sees that it goes well.
export function launch() {
  const child = spawn(agent[0], agent.slice(1), { stdio: ["pipe", "pipe", "inherit"] });
  const exited = new Promise((resolve) => child.once("exit", (code, signal) => resolve(code ?? signal)));
  const stop = async () => {
    child.stdin.end();
    const code = await Promise.race([exited, pause(patience).then(() => "still there after a minute")]);
    child.kill("SIGKILL");
    must(code === 0, `the agent's end: ${code}`);
  };
  return { child, stop };
}
