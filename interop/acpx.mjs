// acpx.mjs AGENT [ARGS...]: drives an agent with the acpx command line, one process a turn and with a session that it
// keeps. Prints a line for each check, and exits with 1 when one fails.
import { spawn } from "node:child_process";
import { mkdtempSync, realpathSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const agent = process.argv.slice(2).join(" ");
const cli = fileURLToPath(new URL("node_modules/acpx/dist/cli.js", import.meta.url));
const cwd = realpathSync(mkdtempSync(join(tmpdir(), "interop-")));
const home = mkdtempSync(join(tmpdir(), "interop-home-"));
const base = ["--agent", agent, "--cwd", cwd, "--format", "json", "--ttl", "5"];

// acpx runs one command line of it. onMessage sees every message that it prints.
function acpx(policy, args, onMessage = () => {}) {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [cli, ...base, policy, ...args], {
      cwd,
      env: { ...process.env, HOME: home, XDG_CONFIG_HOME: "", NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const messages = [];
    let rest = "";
    let stderr = "";
    child.stderr.on("data", (d) => (stderr += d));
    child.stdout.on("data", (d) => {
      const lines = (rest + d).split("\n");
      rest = lines.pop();
      for (const line of lines) {
        try {
          const m = JSON.parse(line);
          messages.push(m);
          onMessage(m, child);
        } catch {
          stderr += `not JSON: ${line}\n`;
        }
      }
    });
    child.on("close", (code) => {
      const updates = messages.filter((m) => m.method === "session/update").map((m) => m.params.update);
      resolve({
        code, stderr, messages, updates,
        text: updates.filter((u) => u.sessionUpdate === "agent_message_chunk").map((u) => u.content.text).join(""),
        stop: messages.map((m) => m.result?.stopReason).filter(Boolean).at(-1),
        asked: messages.filter((m) => m.method === "session/request_permission").length,
      });
    });
  });
}

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
function settled(updates) {
  const last = new Map();
  for (const u of updates) if (u.toolCallId && u.status) last.set(u.toolCallId, u.status);
  must(last.size > 0, "no tool call");
  for (const [id, s] of last) must(["completed", "failed"].includes(s), `call ${id} ended ${s}`);
  return [...last.values()];
}

await check("an order, everything approved", async () => {
  const r = await acpx("--approve-all", ["exec", "A large latte and a morning bun, please"]);
  must(r.code === 0, `exit ${r.code}: ${r.stderr}`);
  must(r.stop === "end_turn", `stop reason ${r.stop}`);
  must(/\$9\.00/.test(r.text), `no total in: ${r.text}`);
  must(r.asked > 0, "nobody was asked");
  must(settled(r.updates).every((s) => s === "completed"), "a call did not complete");
  return `${r.updates.length} updates, ${r.asked} permissions`;
});
await check("an order, everything denied", async () => {
  const r = await acpx("--deny-all", ["exec", "a morning bun"]);
  must(r.stop === "end_turn", `stop reason ${r.stop}`);
  must(settled(r.updates).includes("failed"), "no call failed");
  must(!/\$/.test(r.text), `something was ordered: ${r.text}`);
});
await check("a kept session", async () => {
  const r = await acpx("--approve-all", ["sessions", "new"]);
  must(r.code === 0, `exit ${r.code}: ${r.stderr}`);
});
await check("a cancel in mid-stream", async () => {
  let cancelled;
  const r = await acpx("--approve-all", ["prompt", "What do you have?"], (m) => {
    if (!cancelled && m.params?.update?.sessionUpdate === "agent_message_chunk") {
      cancelled = acpx("--approve-all", ["cancel"]);
    }
  });
  must(cancelled, `nothing was streamed: ${r.stderr}`);
  const c = await cancelled;
  must(c.code === 0, `cancel: exit ${c.code}: ${c.stderr}`);
  must(r.stop === "cancelled", `stop reason ${r.stop}, exit ${r.code}: ${r.stderr}`);
});
await check("a second prompt after it", async () => {
  const r = await acpx("--approve-all", ["prompt", "What does a small latte cost?"]);
  must(r.code === 0, `exit ${r.code}: ${r.stderr}`);
  must(/\$4\.00/.test(r.text), `no price in: ${r.text}`);
});
await check("the kept session closes", async () => {
  const r = await acpx("--approve-all", ["sessions", "close"]);
  must(r.code === 0, `exit ${r.code}: ${r.stderr}`);
});
process.exit(failures ? 1 : 0);
