// The lake tools that the pages of the console use.

import { Problem, call, callAll, capacity } from "./api";
import type { Origin } from "./provenance";

type Provenance = "original" | "written by a person" | "written by an agent" | "memory" | "derived";
const ORIGINS: Record<Provenance, Origin> = { original: "original", "written by a person": "person", "written by an agent": "agent", memory: "memory", derived: "agent" };

export interface Hit {
  source_id: string;
  key: string;
  seq: number;
  title: string;
  text: string;
  snippet: string;
  char_start: number;
  char_end: number;
  page_no: number | null;
  ts_start_ms: number | null;
  revision: number;
  url: string | null;
  rank: number;
  provenance: Provenance;
  /** Who wrote it last, as far as one may know. */
  authors: string[];
  explain: { score: number; parts: Record<string, number> } | null;
}

export interface SearchContent {
  hits: Hit[];
  has_more: boolean;
  next_cursor: string | null;
  degraded: string[];
  /** Words of the query that no text here has. */
  absent: string[];
  /** None of the hits is likely to answer. */
  unlikely: boolean;
}

export interface Chunk {
  seq: number;
  text: string;
  page_no: number | null;
  char_start: number;
  char_end: number;
  ts_start_ms: number | null;
  headings: string[];
}

export interface FileWindow {
  chunks: Chunk[];
  total_chunks: number;
  next_cursor: number | null;
  status: string;
  reason: string;
  revision: number | null;
}

export interface Source {
  source_id: string;
  protocol: string;
  enabled: boolean;
  last_indexed_at: string | null;
  condition: string | null;
  unread?: number | null;
}

export interface SkippedFile {
  key: string;
  reason: string;
}

export interface Crawl {
  source_id: string;
  state: "waiting" | "listing" | "reading" | "done" | "stopped" | "failed";
  started_at: string;
  ended_at: string | null;
  seen: number;
  added: number;
  changed: number;
  gone: number;
  read: number;
  failed: number;
  /** Files of the source that could not be read, by this crawl or one before. */
  unread: number;
  passed: number;
  passed_first: SkippedFile[];
  problem: string;
  underway: { key: string; pages_read: number; pages: number }[];
}

export interface IndexSize {
  files: number;
  chunks: number;
  vectors: number;
}

/** The filters of a search by their names in the address, and in the API. */
const FILTERS: Record<string, string> = {
  source: "source_id",
  path: "path",
  type: "content_type",
  after: "modified_after",
  before: "modified_before",
  author: "author",
};

export const FILTER_NAMES = Object.keys(FILTERS);
export const PAGE = 20;
/** How many hits are asked for while somebody types. */
export const TYPED_PAGE = 10;

/** The arguments of the search, from the parameters in the address. */
export function question(params: Record<string, string>, limit = PAGE): Record<string, string | number> {
  const request: Record<string, string | number> = { query: params.q ?? "", limit };
  if (params.mode === "words") request.mode = "lexical";
  for (const [name, field] of Object.entries(FILTERS)) {
    const value = params[name];
    if (value) request[field] = value;
  }
  return request;
}

export function search(request: object, signal?: AbortSignal): Promise<SearchContent> {
  return call<SearchContent>("lake/search_content", request, signal);
}

export function fileWindow(
  source_id: string,
  key: string,
  start: number,
  length: number,
): Promise<FileWindow> {
  return call<FileWindow>("lake/get_file_window", { source_id, key, start, length });
}

export function sources(cursor: string | null): Promise<{ sources: Source[]; next_cursor: string | null }> {
  return call("lake/list_sources", { limit: 200, ...(cursor ? { cursor } : {}) });
}

/** What a search had to do without, as a person says it: "lexical only in notes: …". */
export function inWords(degraded: string): string {
  const said = degraded.replace(/^lexical only/, "Found by words only, not by meaning");
  return said.charAt(0).toUpperCase() + said.slice(1);
}

/** Files of these sources that could not be read. */
export function unreadOf(found: Source[]): number {
  return found.reduce((sum, it) => sum + (it.unread ?? 0), 0);
}

/** What is known of a file beside its text. `url` opens the original, for some minutes: of a picture or recording without text, too. */
export interface FileFacts {
  mtime: string | null;
  content_type: string | null;
  url: string | null;
}

export function fileFacts(source_id: string, key: string): Promise<FileFacts | null> {
  return call<FileFacts>("lake/get_file_metadata", { source_id, key }).catch(() => null);
}

/** Its title and who wrote it come with hits only: so the file is searched by its name. */
export async function asHit(source_id: string, key: string): Promise<Hit | null> {
  const path = key.replace(/[[*?]/g, "[$&]");
  const query = key.split("/").pop() ?? key;
  try {
    const found = await search({ query, source_id, path, mode: "lexical", limit: 1 });
    return found.hits[0] ?? null;
  } catch (error) {
    // A token that may read but not search gets no title.
    if (error instanceof Problem) return null;
    throw error;
  }
}

export function crawlStatus(source_id: string): Promise<Crawl> {
  return call<Crawl>("admin/crawl_status", { source_id });
}

/** Chunks of a source, and how many of them search by meaning finds; null where it finds none. */
export interface Embedding {
  chunks: number;
  embedded: number | null;
}

export function embedding(source_id: string): Promise<Embedding> {
  return call<Embedding>("admin/source_stats", { source_id });
}

/** How a source is trimmed, crawled and searched. */
export interface SourceRules {
  trim_mode: string;
  enabled: boolean;
  include: string[];
  exclude: string[];
  most_bytes: number;
  schedule: string | null;
  hybrid: boolean;
}

export async function sourceRules(source_id: string): Promise<SourceRules | null> {
  return (await call<{ rules: SourceRules | null }>("admin/source_stats", { source_id })).rules;
}

/** A space by its id: a name given later is only known to administrators. */
export async function spaceConfig(source_id: string): Promise<{ name: string; folder: string } | null> {
  const found = await callAll<{ source_id: string; name: string; folder: string }>("admin/list_spaces", "spaces");
  return found.find((it) => it.source_id === source_id) ?? null;
}

/** Who sees the files of a source: the choices of `trim_mode`. */
export const VISIBILITY = [
  { value: "per_file", name: "by grants on folders and files" },
  { value: "source_only", name: "who has a role in the source" },
  { value: "open", name: "everyone in the tenant" },
];

export function crawl(source_id: string): Promise<Crawl> {
  return call<Crawl>("admin/crawl_source", { source_id });
}

export function stop(source_id: string): Promise<Crawl> {
  return call<Crawl>("admin/stop_crawl", { source_id });
}

export async function size(): Promise<IndexSize> {
  return (await capacity<{ index: IndexSize }>()).index;
}

export function isRunning(it: Crawl | null): boolean {
  return it !== null && ["waiting", "listing", "reading"].includes(it.state);
}

export function fileUri(source_id: string, key: string): string {
  const path = key.split("/").map(encodeURIComponent).join("/");
  return `pecia://file/${encodeURIComponent(source_id)}/${path}`;
}

/** Who a file comes from: as the hit says, else as far as its source does. */
export function originOf(it: { source_id: string; provenance?: Provenance }): Origin {
  if (it.provenance) return ORIGINS[it.provenance] ?? "original";
  return it.source_id === "memory" ? "memory" : "original";
}
