// The whole text of a file, from its chunks.

import { call } from "./api";
import type { Chunk } from "./lake";

const MAX_CHARS = 2_000_000;

interface TextPart {
  chunks: Chunk[];
  next_cursor: number | null;
  status: string;
  reason: string;
  revision: number | null;
}

export interface FileText {
  text: string;
  status: string;
  reason: string;
  revision: number | null;
  /** Whether the file goes on after the text. */
  isCut: boolean;
}

export async function fileText(source_id: string, key: string, most = MAX_CHARS): Promise<FileText> {
  // Characters are code points on the server, and UTF-16 here.
  const points: string[] = [];
  let start: number | null = 0;
  let last: TextPart | null = null;
  while (start !== null && points.length < most) {
    const part: TextPart = await call<TextPart>("lake/get_file_text", { source_id, key, start });
    for (const chunk of part.chunks) {
      const text = [...chunk.text];
      // Chunks may overlap, and blank space between them is in none.
      while (points.length < chunk.char_start) points.push("\n");
      points.splice(chunk.char_start, text.length, ...text);
    }
    start = part.next_cursor;
    last = part;
  }
  return {
    text: points.join(""),
    status: last?.status ?? "ok",
    reason: last?.reason ?? "",
    revision: last?.revision ?? null,
    isCut: start !== null,
  };
}
