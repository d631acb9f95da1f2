// drive.mjs AGENT [ARGS...]: drives an agent through @thinkwell/conductor, which stands between a client and an agent: all
// that either says must pass through it unharmed. Its bridge for MCP servers knows none on stdio, so it is off.
import { ChannelConnector, Conductor, StdioConnector, fromConnectors } from "@thinkwell/conductor";
import { agent, ask, run, until, update } from "../checks.mjs";

let conductor, end, waiting, next = 0;

async function listen() {
  for await (const m of end.messages) {
    if (m.method === "session/update") update(m.params.update);
    else if (m.method === "session/request_permission") {
      end.send({ jsonrpc: "2.0", id: m.id, result: { outcome: { outcome: "selected", optionId: ask(m.params) } } });
    } else if (m.method !== undefined) {
      if (m.id !== undefined) end.send({ jsonrpc: "2.0", id: m.id, error: { code: -32601, message: "Method not found" } });
    } else {
      const { resolve, reject } = waiting.get(m.id);
      if (m.error) reject(new Error(`${m.error.code} ${m.error.message}`));
      else resolve(m.result);
    }
  }
}
const call = (method, params) => {
  const id = next++;
  const answer = new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
  end.send({ jsonrpc: "2.0", id, method, params });
  return answer;
};

await run({
  async start() {
    waiting = new Map();
    const connector = new StdioConnector({ command: agent[0], args: agent.slice(1) });
    conductor = new Conductor({ instantiator: fromConnectors(connector, []), mcpBridgeMode: "disabled" });
    const channel = new ChannelConnector();
    conductor.connect(channel).catch((e) => console.error(`conductor: ${e.message}`));
    end = await until(() => channel.getOtherEnd(), "the conductor did not connect");
    listen();
    return call("initialize", { protocolVersion: 1, clientInfo: { name: "interop", version: "1" }, clientCapabilities: {} });
  },
  stop: () => conductor.shutdown(),
  open: (where) => call("session/new", where),
  prompt: (sessionId, text) => call("session/prompt", { sessionId, prompt: [{ type: "text", text }] }),
  cancel: (sessionId) => end.send({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } }),
  setMode: (sessionId, modeId) => call("session/set_mode", { sessionId, modeId }),
  setOption: async (sessionId, configId, value) =>
    (await call("session/set_config_option", { sessionId, configId, value })).configOptions,
  list: async (params) => (await call("session/list", params)).sessions,
  load: (sessionId, where) => call("session/load", { sessionId, ...where }),
  resume: (sessionId, where) => call("session/resume", { sessionId, ...where }),
  close: (sessionId) => call("session/close", { sessionId }),
  remove: (sessionId) => call("session/delete", { sessionId }),
});
