// everything.mjs AGENT [ARGS...]: puts the servers of the session, each a @modelcontextprotocol/server-everything, through
// what it has. Prints a line for each check, and exits with 1 when one fails.
import { answering, asked, call, comes, command, contains, ended, find, forms, prompt, servers, tools } from "./client.mjs";
import { check, done, must } from "../checks.mjs";

// fill answers the server's form: some of it by hand, the rest by what it proposes.
const fill = ({ requestedSchema }) => {
  const defaults = Object.entries(requestedSchema.properties).filter(([, p]) => p.default !== undefined);
  return { action: "accept", content: { ...Object.fromEntries(defaults.map(([k, p]) => [k, p.default])), name: "Ada", check: true, integer: 7 } };
};

for (const { name } of servers) {
  const tool = (of) => `${name}__${of}`;
  await check(`${name}: connected`, async () => {
    const said = await prompt("/mcp");
    contains(said, new RegExp(`\\| ${name} \\| connected \\| legacy \\| \\d+ \\|`));
  });
  await check(`${name}: tools`, async () => {
    for (const t of ["echo", "get-sum", "get-tiny-image", "trigger-long-running-operation"]) {
      must(await find(tool(t)), `the model is not offered ${t}`);
    }
    // Those that it registers once it knows the client, and tells of.
    must(await comes(tool("trigger-elicitation-request")), "the tool for who can be asked did not come");
    must(!(await find(tool("trigger-sampling-request"))), "a tool that needs sampling, which is not offered");
    must(!(await find(tool("simulate-research-query"))), "a tool that needs to be a task, which is not offered either");
    return `${(await tools()).length} listed`;
  });
  await check(`${name}: a call`, async () => {
    const r = await call(tool("echo"), { message: "naïve ☕ \"quoted\"" });
    contains(r.said, 'result: Echo: naïve ☕ "quoted"');
    must(r.status === "completed", `status ${r.status}`);
    contains((await call(tool("get-sum"), { a: 2, b: 40.5 })).said, "42.5");
  });
  await check(`${name}: several calls at once`, async () => {
    const said = await prompt([1, 2, 3].map((n) => `call ${tool("echo")} {"message":"number ${n}"}`).join("\n"));
    contains(said, "Echo: number 1", "Echo: number 2", "Echo: number 3");
  });
  await check(`${name}: arguments that do not fit`, async () => {
    const r = await call(tool("get-sum"), { a: "two", b: 3 });
    contains(r.said, "Error: ", /correct them/);
    must(r.status === "failed", `status ${r.status}`);
  });
  await check(`${name}: structured content`, async () => {
    const r = await call(tool("get-structured-content"), { location: "Chicago" });
    contains(r.said, "Light rain / drizzle");
    must(r.raw?.humidity === 82, `raw output ${JSON.stringify(r.raw)}`);
  });
  await check(`${name}: an image`, async () => {
    const r = await call(tool("get-tiny-image"));
    contains(r.said, "images: 1");
    const image = r.content.find((c) => c.type === "image");
    must(image?.mimeType === "image/png" && image.data.startsWith("iVBORw0KGgo"), "the client got no image");
  });
  await check(`${name}: resources in results`, async () => {
    const links = await call(tool("get-resource-links"), { count: 2 });
    must(links.content.some((c) => c.type === "resource_link" && c.uri.endsWith("/blob/1")), JSON.stringify(links.content));
    contains(links.said, "demo://resource/dynamic/text/2");
    const reference = await call(tool("get-resource-reference"), { resourceType: "Text", resourceId: 3 });
    contains(reference.said, "Resource 3: This is a plaintext resource");
    must(reference.content.some((c) => c.type === "resource"), JSON.stringify(reference.content));
  });
  await check(`${name}: resources by mcp_read`, async () => {
    contains((await call("mcp_read", { server: name, uri: "demo://resource/static/document/structure.md" })).said, "# Everything Server - Project Structure");
    contains((await call("mcp_read", { server: name, uri: "demo://resource/dynamic/text/7" })).said, "Resource 7: This is a plaintext");
    const gone = await call("mcp_read", { server: name, uri: "demo://resource/nowhere" });
    contains(gone.said, "Error: ", "demo://resource/static/document/features.md");
  });
  await check(`${name}: a resource that a prompt names`, async () => {
    contains(await prompt(`What is in @${name}:demo://resource/dynamic/text/9 ?`), "heard: ", "Resource 9: This is a plaintext");
  });
  await check(`${name}: prompts as slash commands`, async () => {
    await command(`${name}:simple-prompt`);
    contains(await prompt(`/${name}:simple-prompt`), "This is a simple prompt without arguments.");
    must((await command(`${name}:args-prompt`)).input?.hint.includes("city"), "no hint of the arguments");
    contains(await prompt(`/${name}:args-prompt city="New York" state=NY`), "What's weather in New York, NY?");
    contains(await prompt(`/${name}:args-prompt state=NY`), /city/);
    contains(await prompt(`/${name}:resource-prompt resourceType=Text resourceId=5`), "Resource 5: This is a plaintext");
  });
  await check(`${name}: a form`, async () => {
    answering({ fill });
    const r = await call(tool("trigger-elicitation-request"));
    if (!forms) {
      // Nothing but a form could hold it: the model is told to ask in words.
      contains(r.said, "Please provide inputs", "Ask the user in words");
      must(asked.forms.length === 0 && asked.buttons.length === 0, "it was asked all the same");
      return "by a client without forms";
    }
    must(asked.forms.length === 1 && asked.forms[0].mode === "form", `asked ${JSON.stringify(asked.forms)}`);
    contains(asked.forms[0].message, `${name} asks: Please provide inputs`);
    contains(r.said, "Ada", '"integer": 7', "It was a dark and stormy night.");
    answering({ fill: () => ({ action: "decline" }) });
    contains((await call(tool("trigger-elicitation-request"))).said, /declined/i);
  });
  await check(`${name}: a page`, async () => {
    answering({ fill: () => ({ action: "accept" }) });
    const args = { url: "https://example.com/consent", message: "Please consent.", elicitationId: `of ${name}` };
    const r = await call(tool("trigger-url-elicitation"), args);
    if (!forms) {
      contains(r.said, "https://example.com/consent", "cannot show");
      return "by a client without pages";
    }
    must(asked.forms[0]?.mode === "url" && asked.forms[0].url === args.url, `asked ${JSON.stringify(asked.forms)}`);
    contains(r.said, "User completed the URL elicitation flow");
  });
  await check(`${name}: a long-running tool`, async () => {
    const r = await call(tool("trigger-long-running-operation"), { duration: 1, steps: 4 });
    contains(r.said, "Long running operation completed. Duration: 1 seconds, Steps: 4.");
    must(r.progress.some((t) => /^[123] of 4/.test(t)), `its progress was not seen: ${JSON.stringify(r.progress)}`);
  });
  await check(`${name}: a resource that comes to be`, async () => {
    const data = `data:text/plain,${"coffee ".repeat(20).trim().replaceAll(" ", "%20")}`;
    const r = await call(tool("gzip-file-as-resource"), { name: "beans.gz", data, outputType: "resourceLink" });
    const link = r.content.find((c) => c.type === "resource_link");
    must(link?.uri, `no link in ${r.said}`);
    const read = await call("mcp_read", { server: name, uri: link.uri });
    must(read.status === "completed", read.said);
    must(read.content.some((c) => c.type === "resource" && c.resource.blob), JSON.stringify(read.content));
  });
}
await ended();
done();
