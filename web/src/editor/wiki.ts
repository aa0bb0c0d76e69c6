// The wiki of the server: documents, versions, images. Names as in its tools.

import { Problem, call } from "../lib/api";

export interface Space {
  source_id: string;
  name: string;
  enabled: boolean;
}

export interface DocumentRow {
  kind: "document" | "asset";
  docName: string;
  path: string;
  modified: string;
  size: number;
}

export interface WikiDocument {
  docName: string;
  path: string;
  title: string;
  content: string;
  nextOffset?: number | null;
  backlinkCount: number;
}

export interface Contributor {
  id: string;
  name: string;
  summaries?: string[];
}

export interface Version {
  sha: string;
  timestamp: string;
  author: string;
  type: "wip" | "checkpoint" | "upstream";
  message: string;
  contributors: Contributor[];
}

export interface Deleted {
  docName: string;
  version: string;
  timestamp: string | null;
  writerId: string | null;
  author: string | null;
}

export interface DeadLink {
  target: string;
  sources: { source: string; candidates?: string[] }[];
}

/** A document, by the name of its space and its own. */
export interface Doc {
  space: string;
  doc: string;
}

let known: Promise<Space[]> | null = null;

/** The spaces that one may see. */
export function spaces(again = false): Promise<Space[]> {
  if (again || !known) {
    known = listSpaces();
    known.catch(() => (known = null));
  }
  return known;
}

/** The space that an address means: by its name, by its source, or the first one; empty without any. */
export async function chooseSpace(params: Record<string, string>): Promise<string> {
  const all = await spaces();
  const bySource = all.find((it) => it.source_id === params.source)?.name;
  return params.space ?? bySource ?? all[0]?.name ?? "";
}

async function listSpaces(): Promise<Space[]> {
  const found: Space[] = [];
  let cursor: string | null = null;
  do {
    const page: { spaces: Space[]; next_cursor: string | null } = await call("admin/list_spaces", cursor ? { cursor } : {});
    found.push(...page.spaces);
    cursor = page.next_cursor;
  } while (cursor);
  return found.filter((it) => it.enabled);
}

export async function documents(space: string, dir?: string): Promise<DocumentRow[]> {
  const found: DocumentRow[] = [];
  let cursor: string | null = null;
  do {
    const page: { documents: DocumentRow[]; nextCursor: string | null } = await call("wiki/list_documents", {
      space,
      ...(dir ? { dir } : {}),
      ...(cursor ? { cursor } : {}),
    });
    found.push(...page.documents);
    cursor = page.nextCursor;
  } while (cursor);
  return found;
}

export function readDocument(space: string, path: string): Promise<WikiDocument> {
  return call("wiki/read_document", { space, path });
}

/** The document that an address means: `space` and `doc`, or a file of a source as search names it. */
export async function resolveDocument(params: Record<string, string>): Promise<Doc> {
  if (params.doc !== undefined) {
    const space = params.space ?? (await spaces())[0]?.name;
    if (space) return { space, doc: params.doc };
  }
  const space = (await spaces()).find((it) => it.source_id === params.source);
  if (!space || !params.key) throw new Problem("NOT_FOUND", "There is no such document, or you may not read it.", 404, null);
  return { space: space.name, doc: (await readDocument(space.name, params.key)).docName };
}

/** A document with its address as a file of a source. */
export interface Found extends Doc {
  sourceId: string;
  key: string;
}

/** The documents of this name, in every space: links of tools do not say which. */
export async function lookUp(doc: string): Promise<Found[]> {
  const found = await Promise.all(
    (await spaces()).map(async ({ name, source_id }): Promise<Found[]> => {
      const rows = (await documents(name, doc.split("/").slice(0, -1).join("/")).catch(() => [])).filter((it) => it.docName === doc);
      return rows[0] ? [{ space: name, doc, sourceId: source_id, key: rows[0].path }] : [];
    }),
  );
  return found.flat();
}

export function versions(at: Doc, offset = 0): Promise<{ entries: Version[]; total: number; hasMore: boolean }> {
  return call("wiki/get_history", { space: at.space, docName: at.doc, limit: 100, offset });
}

/** The name that a document has now, if its last version says that it was renamed. */
export async function renamedTo(at: Doc): Promise<string | null> {
  const last = (await call<{ entries: Version[] }>("wiki/get_history", { space: at.space, docName: at.doc, limit: 1 })).entries[0];
  const [, old = "", now = ""] = /^rename: (.+?) -> (.+?)(?: — |$)/.exec(last?.message ?? "") ?? [];
  const isInside = old !== "" && at.doc.startsWith(`${old}/`);
  const name = at.doc === old ? now : isInside ? now + at.doc.slice(old.length) : "";
  if (!name) return null;
  const beside = await documents(at.space, name.split("/").slice(0, -1).join("/"));
  return beside.some((it) => it.docName === name) ? name : null;
}

export async function versionText(at: Doc, version: string): Promise<string> {
  return (await get<{ text: string }>("/wiki/version", { ...at, version })).text;
}

export async function deleted(space: string): Promise<Deleted[]> {
  return (await get<{ deleted: Deleted[] }>("/wiki/deleted", { space })).deleted;
}

export function restore(at: Doc, version: string): Promise<unknown> {
  return call("wiki/rollback_to_version", { space: at.space, docName: at.doc, commitSha: version });
}

/** The titles of what a document links to. */
export async function linkedTitles(at: Doc): Promise<Map<string, string>> {
  const found = await call<{ forwardLinks: { docName?: string; title: string }[] }>("wiki/get_forward_links", { space: at.space, docName: at.doc });
  return new Map(found.forwardLinks.flatMap((it) => (it.docName ? [[it.docName, it.title] as const] : [])));
}

export async function deadLinks(at: Doc): Promise<DeadLink[]> {
  const asked = { space: at.space, sourceDocNames: [at.doc] };
  return (await call<{ deadLinks: DeadLink[] }>("wiki/get_dead_links", asked)).deadLinks;
}

/** Store an image beside the document; what it gives is the link to write. */
export async function addImage(at: Doc, image: Blob, name: string): Promise<{ path: string; link: string }> {
  return ask("/wiki/asset", { ...at, name }, { method: "POST", body: image });
}

/** Where the socket of a document is. The cookie of the session goes with it. */
export function socketAddress({ space, doc }: Doc): { url: string; protocols: string[] } {
  const path = doc.split("/").map(encodeURIComponent).join("/");
  const base = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}`;
  return { url: `${base}/collab/${path}?space=${encodeURIComponent(space)}&stored=1&rights=1`, protocols: ["pecia"] };
}

function get<T>(path: string, query: Record<string, string>): Promise<T> {
  return ask<T>(path, query, {});
}

async function ask<T>(path: string, query: Record<string, string>, init: RequestInit): Promise<T> {
  const answer = await send(path, query, init);
  if (!answer.ok) throw await problemOf(answer);
  return (await answer.json()) as T;
}

async function send(path: string, query: Record<string, string>, init: RequestInit = {}): Promise<Response> {
  // The header that no page of another site can set: with it the session cookie counts.
  const headers = { accept: "application/json", "x-pecia-console": "1" };
  try {
    return await fetch(`${path}?${new URLSearchParams(query)}`, { ...init, headers, credentials: "same-origin" });
  } catch {
    throw new Problem("UNREACHABLE", "The server does not answer. Is it running?", 0, null);
  }
}

async function problemOf(answer: Response): Promise<Problem> {
  const body = (await answer.json().catch(() => null)) as { error?: { code?: string; message?: string; hint?: string } } | null;
  const error = body?.error;
  return new Problem(
    error?.code ?? "UNEXPECTED",
    error?.message ?? `The server answered ${answer.status}.`,
    answer.status,
    answer.headers.get("x-request-id"),
    undefined,
    error?.hint,
  );
}
