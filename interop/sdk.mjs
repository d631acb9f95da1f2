// sdk.mjs AGENT [ARGS...]: drives an agent with the client side of @agentclientprotocol/sdk, as an editor would.
// Prints a line for each check, and exits with 1 when one fails.
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";
import { ask, launch, run, update } from "./checks.mjs";

const methods = acp.methods.agent;
let conn, agent;
const call = (method, params) => conn.agent.request(method, params);

await run({
  start() {
    agent = launch();
    conn = acp
      .client({ name: "interop" })
      .onNotification(acp.methods.client.session.update, ({ params }) => update(params.update))
      .onRequest(acp.methods.client.session.requestPermission, ({ params }) => (
        { outcome: { outcome: "selected", optionId: ask(params) } }
      ))
      .connect(acp.ndJsonStream(Writable.toWeb(agent.child.stdin), Readable.toWeb(agent.child.stdout)));
    return call(methods.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientInfo: { name: "interop", version: "1" },
      clientCapabilities: { session: { configOptions: { boolean: {} } } },
    });
  },
  stop: () => agent.stop(),
  open: (where) => call(methods.session.new, where),
  prompt: (sessionId, text) => call(methods.session.prompt, { sessionId, prompt: [{ type: "text", text }] }),
  cancel: (sessionId) => conn.agent.notify(methods.session.cancel, { sessionId }),
  setMode: (sessionId, modeId) => call(methods.session.setMode, { sessionId, modeId }),
  setOption: async (sessionId, configId, value) =>
    (await call(methods.session.setConfigOption, { sessionId, configId, value })).configOptions,
  list: async (params) => (await call(methods.session.list, params)).sessions,
  load: (sessionId, where) => call(methods.session.load, { sessionId, ...where }),
  resume: (sessionId, where) => call(methods.session.resume, { sessionId, ...where }),
  close: (sessionId) => call(methods.session.close, { sessionId }),
  remove: (sessionId) => call(methods.session.delete, { sessionId }),
});
