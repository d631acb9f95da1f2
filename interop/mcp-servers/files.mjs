// files.mjs AGENT [ARGS...]: works with the servers `files` (@modelcontextprotocol/server-filesystem, for the folder
// $INTEROP_FOLDER) and `memory` (@modelcontextprotocol/server-memory). Prints a line for each check, and exits with 1
// when one fails.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { call, contains, ended, prompt, tools } from "./client.mjs";
import { check, done, must } from "../checks.mjs";

const folder = process.env.INTEROP_FOLDER;
const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const note = join(folder, "note.txt");

await check("connected", async () => {
  const said = await prompt("/mcp");
  contains(said, /\| files \| connected \| legacy \| \d+ \|/, /\| memory \| connected \| legacy \| \d+ \|/);
  const all = await tools();
  for (const t of ["files__write_file", "files__edit_file", "memory__create_entities"]) must(all.includes(t), `no ${t} among ${all}`);
});
await check("files: write, edit, read", async () => {
  const wrote = await call("files__write_file", { path: note, content: "one\ntwo\n" });
  must(wrote.status === "completed" && readFileSync(note, "utf8") === "one\ntwo\n", wrote.said);
  contains((await call("files__edit_file", { path: note, edits: [{ oldText: "two", newText: "zwei" }] })).said, "+zwei");
  // The server says everything twice, as text and structured; the model sees it once.
  contains((await call("files__read_text_file", { path: note })).said, /^result: one\nzwei\n\nimages: 0$/);
  contains((await call("files__search_files", { path: folder, pattern: "*.txt" })).said, note);
});
await check("files: an image", async () => {
  writeFileSync(join(folder, "dot.png"), Buffer.from(dot, "base64"));
  const r = await call("files__read_media_file", { path: join(folder, "dot.png") });
  contains(r.said, "images: 1");
  must(!r.said.includes(dot), "its bytes are among the texts");
});
await check("files: out of its folder", async () => {
  const r = await call("files__write_file", { path: join(folder, "..", "outside.txt"), content: "no" });
  contains(r.said, "Error: ", /access denied/i);
  must(r.status === "failed" && !existsSync(join(folder, "..", "outside.txt")), r.said);
});
await check("memory: a graph", async () => {
  const ada = { name: "Ada", entityType: "person", observations: ["takes a large latte"] };
  const cart = { name: "cart", entityType: "place", observations: [] };
  contains((await call("memory__create_entities", { entities: [ada, cart] })).said, "takes a large latte");
  await call("memory__create_relations", { relations: [{ from: "Ada", to: "cart", relationType: "orders at" }] });
  const graph = await call("memory__read_graph");
  contains(graph.said, "orders at");
  const { entities } = graph.raw ?? {};
  must(entities?.length === 2, `raw output ${JSON.stringify(graph.raw)}`);
  contains((await call("memory__search_nodes", { query: "latte" })).said, "Ada");
});
await ended();
done();
