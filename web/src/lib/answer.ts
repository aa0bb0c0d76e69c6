// `desk.ask`: an answer made of quotations that were verified, and where each leads.

import { call, stream } from "./api";
import type { Origin } from "./provenance";
import { readLink } from "./route.svelte";

export interface Quotation {
  number: number;
  uri: string;
  title: string;
  where?: string;
  kind: string;
  revision: number;
  start: number;
  end: number;
  text: string;
  /** Of the table whose rows these are. */
  header?: string;
}

export interface Answer {
  outcome: "answered" | "passages" | "nothing";
  sentences: { text: string; quotations: number[] }[];
  quotations: Quotation[];
  nearest: { uri: string; title: string; where?: string; match?: number }[];
  used_model: boolean;
  /** No passage stands out as the answer: these are the nearest. */
  unsure: boolean;
  dropped: number;
  reworded: number;
  note?: string;
  /** Words of the question that no text here has. */
  absent: string[];
  degraded: string[];
}

const ORIGINS: Record<string, Origin> = {
  original: "original",
  "written by a person": "person",
  "written by an agent": "agent",
  memory: "memory",
  derived: "agent",
};
// A model may think for two minutes; the server ends the call then.
const TIMEOUT_MS = 130_000;

/** The answer. `onpartial` gets the verified passages before a model has worded anything. */
export function ask(question: string, options: { source?: string; useModel: boolean }, onpartial: (it: Answer) => void, signal: AbortSignal): Promise<Answer> {
  const { source, useModel } = options;
  const input = { question, use_model: useModel, ...(source ? { source_id: source } : {}) };
  return stream<Answer>("desk/ask", input, onpartial, signal, TIMEOUT_MS);
}

/** Whether each quotation still stands in its file, in the order given. */
export async function verify(quotations: Quotation[]): Promise<boolean[]> {
  const wanted = quotations.map(({ uri, start, end, text, revision }) => ({ uri, start, end, text, revision }));
  const found = await call<{ quotations: { holds: boolean }[] }>("desk/verify_quotations", { quotations: wanted });
  return found.quotations.map((it) => it.holds);
}

/** The source and key of `pecia://file/SOURCE/KEY`. */
export function placeOf(uri: string): { source: string; key: string } {
  const [source = "", ...path] = uri.replace(/^pecia:\/\/file\//, "").split("/");
  return { source: decode(source), key: path.map(decode).join("/") };
}

/** The passage in the reader. */
export function passageLink(it: { uri: string; revision?: number; start?: number; end?: number }): string {
  const { source, key } = placeOf(it.uri);
  return readLink(source, key, { rev: it.revision, from: it.start, to: it.end });
}

export function originOfKind(kind: string): Origin {
  return ORIGINS[kind] ?? "original";
}

/** A citation as text, for the clipboard. */
export function cite(it: Quotation): string {
  return [it.title, it.where ?? "", it.uri, `revision ${it.revision}`, `characters ${it.start}–${it.end}`].filter(Boolean).join(", ");
}

/** The quotations by file, each file where its first quotation stands. */
export function byFile(quotations: Quotation[]): { uri: string; title: string; kind: string; quotations: Quotation[] }[] {
  const files = new Map<string, { uri: string; title: string; kind: string; quotations: Quotation[] }>();
  for (const it of quotations) {
    const file = files.get(it.uri) ?? { uri: it.uri, title: it.title, kind: it.kind, quotations: [] };
    file.quotations.push(it);
    files.set(it.uri, file);
  }
  return [...files.values()];
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
