// Which files of a source could not be read. No tool lists them, so each file is asked for in turn.

import { call } from "./api";
import { fileWindow, type Told } from "./lake";

export const MOST = 1000;
const PAUSE_MS = 30;
const READ = ["ok", "empty", "waiting"];

interface Files {
  files: { key: string }[];
  next_cursor: string | null;
}

/** Those among the first thousand files. `told` hears after each how many were asked, and which. */
export async function unread(
  source_id: string,
  told: (asked: number, found: Told[]) => void,
  signal: AbortSignal,
): Promise<void> {
  let found: Told[] = [];
  let asked = 0;
  for await (const key of keys(source_id)) {
    if (signal.aborted || asked >= MOST) break;
    const { status, reason } = await fileWindow(source_id, key, 0, 1);
    if (!READ.includes(status)) found = [...found, { key, reason: reason || status }];
    told((asked += 1), found);
    // Nobody may ask for more than so many things a second.
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}

async function* keys(source_id: string): AsyncGenerator<string> {
  let cursor: string | null = null;
  do {
    const page: Files = await call("lake/list_files", {
      source_id,
      limit: 200,
      ...(cursor ? { cursor } : {}),
    });
    for (const file of page.files) yield file.key;
    cursor = page.next_cursor;
  } while (cursor);
}
