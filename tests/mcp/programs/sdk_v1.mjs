// The TypeScript SDK, first major version: lists and calls over HTTP, SSE or stdio.
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
await client.ping();
const { tools } = await client.listTools();
const result = await client.callTool({ name: "find_tools", arguments: { query: "make a token" } });
console.log(JSON.stringify({ tools: tools.map((it) => it.name), called: result.structuredContent }));
await client.close();
process.exit(0);
