// acpx.mjs AGENT [ARGS...]: drives an agent with the acpx command line, one process a turn, and with a session that it
// keeps. Prints a line for each check, and exits with 1 when one fails.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { absent, agent, calls, cart, check, cwd, done, must, offers, pause, unoffered, until, words } from "./checks.mjs";

const cli = fileURLToPath(new URL("node_modules/acpx/dist/cli.js", import.meta.url));
const home = mkdtempSync(join(tmpdir(), "interop-home-"));
const servers = join(home, "servers.json");
writeFileSync(servers, JSON.stringify({ mcpServers: [cart] }));
// What acpx sends does not all show in what it prints, so it passes a file on its way to the agent.
// The agent's process and its end are noted in others.
const [sent, ends, pid, script] = ["sent.jsonl", "ends", "pid", "agent.sh"].map((name) => join(home, name));
for (const file of [sent, ends]) writeFileSync(file, "");
const quoted = agent.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
writeFileSync(script, `tee -a '${sent}' | sh -c 'echo $$ >"$0"; exec "$@"' '${pid}' ${quoted}\necho >>'${ends}'\n`);
const ended = () => readFileSync(ends, "utf8").length;
const requests = (method) => readFileSync(sent, "utf8").split("\n").filter((l) => l.includes(`"method":"${method}"`)).length;
// A process keeps the session between commands, until it has been without work for so long.
let ttl = "60";
const base = ["--agent", `/bin/sh ${script}`, "--cwd", cwd, "--format", "json", "--mcp-config", servers];

// Only a cancel needs a slow agent.
const hasty = { CARTAGENT_BARISTA_PACE: "10ms" };

// acpx runs one command line of it. onMessage sees every message that it prints.
function acpx(policy, args, onMessage = () => {}) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [cli, ...base, "--ttl", ttl, policy, ...args], {
      cwd,
      env: { ...process.env, HOME: home, XDG_CONFIG_HOME: "", NO_COLOR: "1", ...(args[0] === "exec" && hasty) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const messages = [];
    let rest = "", stderr = "", stdout = "";
    child.stderr.on("data", (d) => (stderr += d));
    child.stdout.on("data", (d) => {
      stdout += d;
      const lines = (rest + d).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        try {
          const m = JSON.parse(line);
          messages.push(m);
          onMessage(m);
        } catch {
          stderr += `not JSON: ${line}\n`;
        }
      }
    });
    child.on("close", (code) => {
      const updates = messages.filter((m) => m.method === "session/update").map((m) => m.params.update);
      const said = updates.filter((u) => u.sessionUpdate === "agent_message_chunk").map((u) => u.content.text);
      resolve({
        code, messages, updates, said, text: said.join(""), out: stdout,
        why: `exit ${code}: ${(stderr || stdout).trim().slice(0, 300)}`,
        stop: messages.map((m) => m.result?.stopReason).filter(Boolean).at(-1),
        asked: messages.filter((m) => m.method === "session/request_permission").length,
      });
    });
  });
}
const approve = (args, onMessage) => acpx("--approve-all", args, onMessage);
const fine = (r) => must(r.code === 0, r.why) && r;

const can = await offers();
let order;
await check("streamed text", async () => {
  order = fine(await approve(["exec", words.order]));
  must(order.stop === "end_turn", `stop reason ${order.stop}`);
  must(order.said.length > 1, "the text came in one piece");
  return `${order.said.length} chunks`;
});
await check("tool calls", async () => {
  const all = calls(order.updates);
  must(all.length > 2 && all.every((s) => s.at(-1) === "completed"), `calls ended ${JSON.stringify(all)}`);
  return `${all.length} calls`;
});
await check("permission granted", async () => {
  must(order.asked > 0, "nobody was asked");
  must(/is placed/.test(order.text), `nothing was placed: ${order.text}`);
  return `${order.asked} asked`;
});
await check("MCP servers of the client", async () => {
  must(/\$7\.77/.test(order.text), `no total in that server's prices in: ${order.text}`);
});
await check("permission refused", async () => {
  const r = await acpx("--deny-all", ["exec", words.more]);
  must(r.stop === "end_turn", `stop reason ${r.stop}`);
  must(calls(r.updates).some((s) => s.at(-1) === "failed"), "no call failed");
  must(!/is placed/.test(r.text), `it was placed all the same: ${r.text}`);
});
await check("session/new", async () => {
  fine(await approve(["sessions", "new"]));
});
if (!can.resume && !can.load) unoffered("session/resume");
else {
  await check("session/resume", async () => {
    const method = can.resume ? "session/resume" : "session/load";
    const before = ended();
    ttl = "1";
    fine(await approve(["prompt", words.price]));
    await until(() => ended() > before, "the process that keeps the session does not go");
    ttl = "60";
    const asked = requests(method);
    let r;
    do {
      await pause(200);
      r = await approve(["prompt", words.price]);
    } while (r.messages.at(-1)?.error?.data?.retryable); // it is still about to go
    fine(r);
    must(/\$4\.01/.test(r.text), `no price in: ${r.text}`);
    must(requests(method) > asked, `no ${method}`);
    return `by ${method}`;
  });
}
absent("session/load", "it prefers to resume");
await check("cancel", async () => {
  // The process that cancels takes a while to start. The agent stands still until it has.
  let cancelled;
  const before = requests("session/cancel");
  const r = await approve(["prompt", words.menu], (m) => {
    if (m.params?.update?.sessionUpdate !== "agent_message_chunk" || cancelled) return;
    const held = Number(readFileSync(pid, "utf8"));
    process.kill(held, "SIGSTOP");
    cancelled = approve(["cancel"]);
    until(() => requests("session/cancel") > before, "no session/cancel").catch(() => {}).finally(() => process.kill(held, "SIGCONT"));
  });
  must(cancelled, `nothing was streamed: ${r.why}`);
  fine(await cancelled);
  must(r.stop === "cancelled", `stop reason ${r.stop}, ${r.why}`);
});
await check("a prompt after a cancel", async () => {
  const r = fine(await approve(["prompt", words.price]));
  must(/\$4\.01/.test(r.text), `no price in: ${r.text}`);
});
if (!can.list) unoffered("session/list");
else {
  await check("session/list", async () => {
    const before = requests("session/list");
    const r = fine(await approve(["sessions", "list"]));
    must(requests("session/list") > before, `it listed its own: ${r.out.slice(0, 200)}`);
    must(r.out.includes(cwd), `nothing of this folder: ${r.out.slice(0, 200)}`);
  });
}
for (const [name, args] of [["modes", ["set-mode", "accept-edits"]], ["config options", ["set", "mode", "ask"]]]) {
  if (!(name === "modes" ? can.modes : can.options)) unoffered(name);
  else await check(name, async () => void fine(await approve(args)));
}
if (!can.close) unoffered("session/close");
else {
  await check("session/close", async () => {
    fine(await approve(["sessions", "close"]));
    must(requests("session/close") > 0, "no session/close");
  });
}
absent("session/delete");
done();
