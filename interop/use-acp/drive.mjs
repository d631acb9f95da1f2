// drive.mjs AGENT [ARGS...]: drives an agent with use-acp, hooks for React that speak over a WebSocket. The agent's lines
// are served on a loopback WebSocket, one text frame each, and the hook lives in a simulated browser.
import { JSDOM } from "jsdom";
import { WebSocket, WebSocketServer } from "ws";
import { ask, launch, run, until, update } from "../checks.mjs";

const dom = new JSDOM("<div id=root></div>");
Object.assign(globalThis, { window: dom.window, document: dom.window.document });
globalThis.navigator ??= dom.window.navigator;
globalThis.WebSocket ??= WebSocket;
const say = console.log;
console.log = (...parts) => String(parts[0]).startsWith("[acp]") || say(...parts); // the client's own chatter
// React and the hook look for the browser when they are loaded.
const { createElement } = await import("react");
const { createRoot } = await import("react-dom/client");
const { useAcpClient } = await import("use-acp");

let agent, hook, root, server;

await run({
  async start() {
    server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    await new Promise((resolve) => server.once("listening", resolve));
    server.on("connection", (socket) => {
      agent = launch();
      let rest = "";
      agent.child.stdout.on("data", (data) => {
        const lines = (rest + data).split("\n");
        rest = lines.pop();
        for (const line of lines) socket.send(`${line}\n`);
      });
      socket.on("message", (data) => agent.child.stdin.write(`${String(data).trimEnd()}\n`));
    });
    const options = {
      wsUrl: `ws://127.0.0.1:${server.address().port}`,
      autoConnect: true,
      clientOptions: {
        onSessionNotification: (n) => update(n.update),
        async onRequestPermission(params) {
          const optionId = ask(params);
          await until(() => hook.pendingPermission?.toolCall.toolCallId === params.toolCall.toolCallId, "the hook shows no question");
          hook.resolvePermission({ outcome: { outcome: "selected", optionId } });
        },
      },
    };
    root = createRoot(document.createElement("div"));
    hook = undefined;
    root.render(createElement(() => {
      hook = useAcpClient(options);
      return null;
    }));
    await until(() => hook?.agent, "the hook does not connect");
    return hook.agent.initialize({
      protocolVersion: 1,
      clientCapabilities: { fs: { readTextFile: false, writeTextFile: false } },
    });
  },
  async stop() {
    await agent.stop();
    for (const socket of server.clients) socket.close(); // the client throws when it is closed from both sides
    await until(() => server.clients.size === 0, "the WebSocket stays open");
    root.unmount();
    server.close();
  },
  open: (where) => hook.agent.newSession(where),
  prompt: (sessionId, text) => hook.agent.prompt({ sessionId, prompt: [{ type: "text", text }] }),
  cancel: (sessionId) => hook.agent.cancel({ sessionId }),
  setMode: (sessionId, modeId) => hook.agent.setSessionMode({ sessionId, modeId }),
  load: (sessionId, where) => hook.agent.loadSession({ sessionId, ...where }),
});
