// The TypeScript SDK, second major version: lists and calls in either era.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import * as stdio from "@modelcontextprotocol/client/stdio";

const [kind, era, target, ...args] = process.argv.slice(2);
const options = era === "modern" ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client({ name: "test", version: "1" }, options);
const transport =
  kind === "http"
    ? new StreamableHTTPClientTransport(new URL(target))
    : new stdio.StdioClientTransport({ command: target, args, stderr: "ignore" });
await client.connect(transport);
const { tools } = await client.listTools();
const result = await client.callTool({ name: "find_tools", arguments: { query: "make a token" } });
let refused = null;
try {
  await client.callTool({ name: "nope", arguments: {} });
} catch (error) {
  refused = error.data?.code ?? String(error);
}
console.log(
  JSON.stringify({ tools: tools.map((it) => it.name), called: result.structuredContent, refused }),
);
await client.close();
process.exit(0);
