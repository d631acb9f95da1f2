// modern-client.mjs AGENT [ARGS...]: puts the servers of the session, each a modern.mjs, through what it has. Prints a
// line for each check, and exits with 1 when one fails.
import { answering, asked, call, comes, command, contains, ended, forms, prompt, servers, tools } from "./client.mjs";
import { check, done, must } from "../checks.mjs";

const fills = { size: "large", name: "Ada", count: 3 };
const fill = ({ requestedSchema: { properties } }) => ({
  action: "accept", content: Object.fromEntries(Object.keys(properties).map((key) => [key, fills[key]])),
});

for (const { name } of servers) {
  const tool = (of) => `${name}__${of}`;
  await check(`${name}: connected`, async () => {
    contains(await prompt("/mcp"), new RegExp(`\\| ${name} \\| connected \\| modern \\| 8 \\|`));
  });
  await check(`${name}: a call`, async () => {
    const r = await call(tool("sum"), { a: 2, b: 40 });
    contains(r.said, '{"sum":42}');
    must(r.raw?.sum === 42, `raw output ${JSON.stringify(r.raw)}`);
    must((await call(tool("sum"), { a: 2 })).status === "failed", "half of the arguments will do");
  });
  await check(`${name}: a failure`, async () => {
    const r = await call(tool("fail"));
    contains(r.said, "Error: ", "out of beans");
    must(r.status === "failed", `status ${r.status}`);
  });
  await check(`${name}: all kinds of content`, async () => {
    const r = await call(tool("look"));
    contains(r.said, "a dot", "note://one", "the second note", "images: 1");
    must(r.content.map((c) => c.type).join() === "text,image,resource_link,resource", JSON.stringify(r.content));
  });
  await check(`${name}: resources by mcp_read`, async () => {
    contains((await call("mcp_read", { server: name, uri: "note://one" })).said, "the first note");
    contains((await call("mcp_read", { server: name, uri: "note://none" })).said, "Error: ", "note://two");
  });
  await check(`${name}: prompts as slash commands`, async () => {
    await command(`${name}:greet`);
    contains(await prompt(`/${name}:greet who="Ada Lovelace"`), "Say hello to Ada Lovelace.");
  });
  await check(`${name}: a choice`, async () => {
    answering({ fill, press: "large" });
    const r = await call(tool("choose"));
    contains(r.said, '"action":"accept"', '"size":"large"', "of the first round");
    must((forms ? asked.forms : asked.buttons).length === 1, "it was not asked once");
    answering({ fill: () => ({ action: "decline" }), press: "None of these" });
    contains((await call(tool("choose"))).said, '"action":"decline"');
  });
  await check(`${name}: two questions at once`, async () => {
    answering({ fill, press: "large" });
    const r = await call(tool("order"));
    if (!forms) { // the second one wants a text
      contains(r.said, "Whom is it for", "Ask the user in words");
      return "by a client without forms";
    }
    must(asked.forms.length === 2, `${asked.forms.length} forms`);
    contains(r.said, '"size":"large"', '"name":"Ada"', '"count":3', "of the first round");
  });
  await check(`${name}: a page`, async () => {
    answering({ fill: () => ({ action: "accept" }) });
    const r = await call(tool("open"));
    if (!forms) {
      contains(r.said, "https://example.com/page", "cannot show");
      return "by a client without pages";
    }
    must(asked.forms[0]?.mode === "url" && asked.forms[0].url === "https://example.com/page", JSON.stringify(asked.forms));
    contains(r.said, 'opened: {"kind":"elicit","action":"accept"');
  });
  await check(`${name}: a long-running tool`, async () => {
    const r = await call(tool("work"), { steps: 20 });
    contains(r.said, "worked 20 steps");
    must(r.progress.some((t) => /^\d+ of 20: step \d+/.test(t)), `its progress was not seen: ${JSON.stringify(r.progress)}`);
  });
  await check(`${name}: a tool that comes to be`, async () => {
    must(!(await tools()).includes(tool("bloom")), "it is there already");
    contains((await call(tool("grow"))).said, "grown");
    must(await comes(tool("bloom")), "the model is not offered it");
    contains((await call(tool("bloom"))).said, "in bloom");
  });
}
await ended();
done();
