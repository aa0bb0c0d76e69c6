// Editors of somebody else: yjs documents, each with y-websocket's provider, as an application has them.
// Commands are lines of JSON on stdin; each is answered by one line.
import readline from "node:readline";
import * as Y from "yjs";
import { WebsocketProvider } from "y-websocket";

const [server, space] = process.argv.slice(2);
const editors = new Map();

function connect(doc, room) {
  const options = { params: { space }, disableBc: true, maxBackoffTime: 200 };
  const provider = new WebsocketProvider(`${server}/collab`, encodeURIComponent(room), doc, options);
  provider.on("connection-close", (event) => {
    if (event) provider.closed = `${event.code} ${event.reason}`;
  });
  return provider;
}

const commands = {
  open({ name, room }) {
    const doc = new Y.Doc();
    editors.set(name, { doc, text: doc.getText("source"), provider: connect(doc, room) });
  },
  // The same document under another name: an editor follows a rename with what it typed.
  move({ name, room }) {
    const it = editors.get(name);
    it.provider.destroy();
    it.provider = connect(it.doc, room);
  },
  // Behind the given separator, counted from the start.
  type({ name, at, word }) {
    const { text } = editors.get(name);
    const ends = [...text.toString().matchAll(/[;\n]/g)].map((it) => it.index + 1);
    if (ends.length === 0) return false;
    text.insert(ends[at % ends.length], word);
    return true;
  },
  replay({ name, patches }) {
    const { doc, text } = editors.get(name);
    doc.transact(() => {
      for (const [at, gone, words] of patches) {
        if (gone) text.delete(at, gone);
        if (words) text.insert(at, words);
      }
    });
  },
  texts() {
    return Object.fromEntries([...editors].map(([name, it]) => [name, it.text.toString()]));
  },
  states() {
    const told = [...editors].map(([name, { provider: it }]) => [
      name,
      { room: it.roomname, connected: it.wsconnected, synced: it.synced, closed: it.closed },
    ]);
    return Object.fromEntries(told);
  },
  synced() {
    return [...editors.values()].every((it) => it.provider.synced);
  },
};

console.error = () => {}; // a connection that is refused is an event, not a message
for await (const line of readline.createInterface({ input: process.stdin })) {
  const { command, ...given } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify({ answer: commands[command](given) ?? null })}\n`);
}
process.exit(0);
