// What a bar shows. The tones are classes of the style sheet.

import type { Crawl } from "../lib/lake";

export type Tone = "accent" | "person" | "memory" | "good" | "warn" | "bad" | "quiet";

export interface Share {
  name: string;
  value: number;
  tone: Tone;
}

/** The files of a source as its last crawl left them. */
export function byStatus(it: Crawl | null): Share[] {
  const touched = it ? it.added + it.changed : 0;
  // Not readable in an earlier crawl, and unchanged since.
  const before = it ? Math.max(0, it.unread - it.failed) : 0;
  return [
    { name: "unchanged", value: it ? Math.max(0, it.seen - touched - before) : 0, tone: "accent" },
    { name: "newly read", value: it ? Math.max(0, it.read - it.failed) : 0, tone: "good" },
    { name: "waiting", value: it ? Math.max(0, touched - it.read) : 0, tone: "memory" },
    { name: "not readable", value: it?.unread ?? 0, tone: "bad" },
    { name: "skipped", value: it?.passed ?? 0, tone: "quiet" },
  ];
}
