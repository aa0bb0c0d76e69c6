// The TypeScript SDK, first major version: a long list and a long document, read to their ends.
import { createHash } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [kind, target, ...args] = process.argv.slice(2);
const transport = {
  http: () => new StreamableHTTPClientTransport(new URL(target)),
  sse: () => new SSEClientTransport(new URL(target)),
  stdio: () => new StdioClientTransport({ command: target, args, stderr: "ignore" }),
}[kind]();
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const called = async (name, given) => (await client.callTool({ name, arguments: given })).structuredContent;
const names = [];
for (let cursor; ; ) {
  const page = await called("list_documents", cursor ? { cursor } : {});
  names.push(...page.documents.map((it) => it.docName));
  if (!(cursor = page.nextCursor)) break;
}
let text = "";
for (let offset = 0; offset != null; ) {
  const part = await called("read_document", { path: "long.md", ...(offset ? { offset } : {}) });
  text += part.content;
  offset = part.nextOffset;
}
const { tools } = await client.listTools();
const hash = createHash("sha256").update(text).digest("hex");
console.log(JSON.stringify({ names: new Set(names).size, rows: names.length, tools: tools.length, text: hash }));
await client.close();
process.exit(0);
