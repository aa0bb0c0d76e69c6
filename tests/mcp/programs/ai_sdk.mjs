// The snippet of the compiled-knowledge reference, with a model that follows a script.
import { createMCPClient } from "@ai-sdk/mcp";
import { stepCountIs, streamText } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";

const [url] = process.argv.slice(2);
const client = await createMCPClient({ transport: { type: "http", url } });
const tools = await client.tools();

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const calling = (id, toolName, input) => [
  { type: "stream-start", warnings: [] },
  { type: "tool-call", toolCallId: id, toolName, input: JSON.stringify(input) },
  { type: "finish", finishReason: { unified: "tool-calls", raw: undefined }, usage },
];
const saying = (text) => [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: text },
  { type: "text-end", id: "t" },
  { type: "finish", finishReason: { unified: "stop", raw: undefined }, usage },
];
const script = [
  calling("1", "find_tools", { query: "list users" }),
  calling("2", "call_tool", { name: "list_users", arguments: {} }),
  saying("done"),
];
const model = new MockLanguageModelV4({
  doStream: async () => ({ stream: simulateReadableStream({ chunks: script.shift() }) }),
});
const result = streamText({ model, tools, prompt: "Who is here?", stopWhen: stepCountIs(5) });
let said = "";
for await (const chunk of result.textStream) said += chunk;
const results = (await result.steps).flatMap((it) => it.toolResults);
await client.close();
console.log(
  JSON.stringify({ tools: Object.keys(tools), said, called: results.map((it) => it.output) }),
);
process.exit(0);
