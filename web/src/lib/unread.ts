// Files of a source that could not be read, a page at a time.

import { call } from "./api";
import type { SkippedFile } from "./lake";

const PAGE = 200;

interface Unread {
  files: { key: string; status: string; reason: string }[];
  next_cursor: string | null;
}

export async function unread(
  source_id: string,
  cursor: string | null,
): Promise<{ found: SkippedFile[]; next: string | null }> {
  const page: Unread = await call("admin/list_unread", {
    source_id,
    limit: PAGE,
    ...(cursor ? { cursor } : {}),
  });
  const found = page.files.map(({ key, status, reason }) => ({ key, reason: reason || status }));
  return { found, next: page.next_cursor };
}
