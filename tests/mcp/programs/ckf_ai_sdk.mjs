// The snippet of the compiled-knowledge reference on its own endpoint: search, fetch, then words.
import { createMCPClient } from "@ai-sdk/mcp";
import { stepCountIs, streamText } from "ai";
import { MockLanguageModelV4, simulateReadableStream } from "ai/test";

const [url] = process.argv.slice(2);
const ckf = await createMCPClient({ transport: { type: "http", url } });
const tools = await ckf.tools();

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const end = (reason) => ({ type: "finish", finishReason: { unified: reason, raw: undefined }, usage });
const calling = (id, toolName, input) => [
  { type: "stream-start", warnings: [] },
  { type: "tool-call", toolCallId: id, toolName, input: JSON.stringify(input) },
  end("tool-calls"),
];
const saying = (text) => [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: text },
  { type: "text-end", id: "t" },
  end("stop"),
];
// The second call takes the slug that the first one found, as a model would.
const found = (prompt) => /"slug":"([a-z0-9-]+)"/.exec(JSON.stringify(prompt).replaceAll("\\", ""))[1];
const turns = [
  () => calling("1", "ckf.search_posts", { query: "package" }),
  (prompt) => calling("2", "ckf.fetch_post", { slug: found(prompt) }),
  () => saying("done"),
];
const model = new MockLanguageModelV4({
  doStream: async ({ prompt }) => ({
    stream: simulateReadableStream({ chunks: turns.shift()(prompt) }),
  }),
});
const result = streamText({ model, tools, prompt: "Explain.", stopWhen: stepCountIs(5) });
let said = "";
for await (const chunk of result.textStream) said += chunk;
const results = (await result.steps).flatMap((it) => it.toolResults);
await ckf.close();
const told = { tools: Object.keys(tools), said, called: results.map((it) => it.output) };
// A package is longer than a pipe holds: leave only when all of it is written.
process.stdout.write(`${JSON.stringify(told)}\n`, () => process.exit(0));
