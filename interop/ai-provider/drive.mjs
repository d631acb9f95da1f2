// drive.mjs AGENT [ARGS...]: drives an agent as a language model of the AI SDK, by @mcpc-tech/acp-ai-provider. It takes the
// first of the options of a permission, and on an abort it sends no cancel: the next prompt overlaps the turn that runs.
import { createACPProvider } from "@mcpc-tech/acp-ai-provider";
import { streamText } from "ai";
import { agent, run, update } from "../checks.mjs";

let provider, where, abort;
const provide = (more) =>
  createACPProvider({ command: agent[0], args: agent.slice(1), session: where, persistSession: true, ...more });

await run({
  deaf: true,
  picks: true,
  aborts: true,
  start() {},
  stop: () => provider.cleanup(),
  async open({ cwd, mcpServers }) {
    where = { cwd, mcpServers: mcpServers.map((server) => ({ type: "stdio", ...server })) };
    provider = provide();
    const s = await provider.initSession();
    return { ...s, sessionId: s.sessionId ?? provider.getSessionId() };
  },
  async prompt(_, text) {
    abort = new AbortController();
    const result = streamText({
      model: provider.languageModel(), prompt: text, tools: provider.tools, abortSignal: abort.signal, onError() {},
    });
    for await (const part of result.fullStream) {
      switch (part.type) {
        case "text-delta":
          update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: part.text } });
          break;
        case "tool-call":
          update({ sessionUpdate: "tool_call", toolCallId: part.toolCallId, status: "pending" });
          break;
        case "tool-result":
          update({ sessionUpdate: "tool_call_update", toolCallId: part.toolCallId, status: "completed" });
          break;
        case "tool-error":
          update({ sessionUpdate: "tool_call_update", toolCallId: part.toolCallId, status: "failed" });
          break;
        case "error":
          throw part.error;
      }
    }
  },
  cancel: () => abort.abort(),
  setMode: (_, mode) => provider.setMode(mode),
  async load(id) {
    provider = provide({ existingSessionId: id });
    await provider.initSession();
  },
});
