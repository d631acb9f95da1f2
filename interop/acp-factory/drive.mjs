// drive.mjs AGENT [ARGS...]: drives an agent with acp-factory, by which harnesses spawn agents. It hands a turn's updates
// on only while the turn runs, does not tell how a turn ended, and ends an agent by SIGTERM.
import { AgentFactory } from "acp-factory";
import { agent, ask, run, update } from "../checks.mjs";

AgentFactory.register("agent", { command: agent[0], args: agent.slice(1), env: {} });
let handle;
const sessions = new Map();
const keep = (s) => sessions.set(s.id, s) && s;

await run({
  deaf: true,
  async start() {
    handle = await AgentFactory.spawn("agent", {
      permissionMode: "callback",
      onPermissionRequest: async (params) => ({ outcome: { outcome: "selected", optionId: ask(params) } }),
    });
  },
  stop: () => handle.close(),
  async open({ cwd, mcpServers }) {
    const s = keep(await handle.createSession(cwd, { mcpServers }));
    const modes = s.modes.length ? { currentModeId: "ask", availableModes: s.modes.map((id) => ({ id })) } : undefined;
    return { sessionId: s.id, modes };
  },
  async prompt(id, text) {
    for await (const u of sessions.get(id).prompt(text)) update(u);
  },
  cancel: (id) => sessions.get(id).cancel(),
  setMode: (id, mode) => sessions.get(id).setMode(mode),
  load: async (id, { cwd, mcpServers }) => keep(await handle.loadSession(id, cwd, mcpServers)),
});
