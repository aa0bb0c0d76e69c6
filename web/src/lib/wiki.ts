// Documents of spaces, through the wiki tools.

import { call } from "./api";
import { headOf } from "./highlight";

export interface DocumentLink {
  kind: string;
  docName?: string;
  url?: string;
  anchor: string | null;
  title: string;
  snippet: string;
  dead?: boolean;
}

export interface Backlink {
  source: string;
  anchor: string | null;
  title: string;
  snippet: string;
}

export interface WikiDocument {
  docName: string;
  path: string;
  title: string;
  description: string | null;
  tags: string[];
  backlinks: Backlink[];
  backlinkCount: number;
  forwardLinks: DocumentLink[];
  forwardLinkCount: number;
  frontmatter: Record<string, unknown> | null;
  content: string;
  truncated?: boolean;
  nextOffset?: number | null;
}

export interface Version {
  sha: string;
  timestamp: string;
  author: string;
  authorEmail: string;
  type: string;
  message: string;
  contributors: { id: string; name: string; summaries?: string[] }[];
}

export interface DocumentEntry {
  kind: string;
  docName: string;
  docExt: string;
  path: string;
  size: number;
  modified: string;
}

export interface SpaceEntry {
  source_id: string;
  name: string;
  enabled: boolean;
}

const PREFIX = "wiki:";

/** The space of a source; null where it is none. */
export function spaceOf(source: string): string | null {
  return source.startsWith(PREFIX) ? source.slice(PREFIX.length) : null;
}

export function withoutExtension(key: string): string {
  return key.replace(/\.(md|mdx|markdown)$/i, "");
}

/** The whole document, however many parts it comes in. */
export async function readDocument(space: string, path: string): Promise<WikiDocument> {
  const first = await call<WikiDocument>("wiki/read_document", { space, path });
  let { content, nextOffset } = first;
  while (nextOffset != null) {
    const part = await call<WikiDocument>("wiki/read_document", { space, path, offset: nextOffset });
    content += part.content;
    nextOffset = part.nextOffset;
  }
  return { ...first, content };
}

export async function listDocuments(space: string, folder?: string): Promise<DocumentEntry[]> {
  const found: DocumentEntry[] = [];
  let cursor: string | null = null;
  do {
    const page: { documents: DocumentEntry[]; nextCursor?: string | null } = await call("wiki/list_documents", {
      space,
      ...(folder ? { dir: folder } : {}),
      ...(cursor ? { cursor } : {}),
    });
    found.push(...page.documents);
    cursor = page.nextCursor ?? null;
  } while (cursor && found.length < 5000);
  return found;
}

/** A document by its name: the list of a space has no titles. */
export interface NamedDocument {
  source: string;
  key: string;
  name: string;
}

/** The first documents of a space, by name; none where it cannot be listed. */
export async function documentNames(source: string): Promise<NamedDocument[]> {
  const space = spaceOf(source) ?? "";
  const page = await call<{ documents: DocumentEntry[] }>("wiki/list_documents", { space, limit: 1000 }).catch(() => ({ documents: [] }));
  return page.documents
    .filter((it) => it.kind === "document")
    .map((it) => ({ source, key: it.path, name: withoutExtension(it.path.split("/").pop() ?? it.path).toLowerCase() }));
}

export async function history(space: string, docName: string, limit = 20): Promise<{ entries: Version[]; total: number }> {
  return call("wiki/get_history", { space, docName, limit });
}

/** Whether an agent wrote this version. */
export function isAgent(version: Version): boolean {
  return version.authorEmail.startsWith("agent-");
}

/** The document that a link means, among those its page links to. The server resolved them. */
export function findLinked(links: DocumentLink[], from: string, target: string): DocumentLink | null {
  const wanted = withoutExtension(target).toLowerCase();
  const inPlace = withoutExtension(join(from, target)).toLowerCase();
  const named = links.filter((it) => it.docName);
  const is = (test: (name: string, it: DocumentLink) => boolean): DocumentLink | undefined =>
    named.find((it) => test((it.docName ?? "").toLowerCase(), it));
  return (
    is((name) => name === inPlace && inPlace !== "") ??
    is((name) => name === wanted.replace(/^\//, "")) ??
    is((name) => name.endsWith(`/${wanted}`)) ??
    is((_, it) => it.title.toLowerCase() === wanted) ??
    null
  );
}

/** A relative address, as seen from a file. */
export function join(from: string, target: string): string {
  if (target.startsWith("/")) return target.slice(1);
  const parts = from.split("/").slice(0, -1);
  for (const part of target.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  return parts.join("/");
}

const TEMPLATES = /(^|\/)templates\//;

export function isTemplate(path: string): boolean {
  return TEMPLATES.test(path);
}

/** What the reader calls a document: the heading that it begins with, else its title. */
export function titleIn(text: string, title: string): string {
  return /^\s*#[ \t]+(.+?)[ \t]*#*[ \t]*(?:\r?\n|$)/.exec(text.slice(headOf(text).length))?.[1]?.replace(/[*_`]/g, "") || title;
}

/** Who made a version, for its label. */
export function writerOf(version: Version): { of: "agent" | "person" | "original"; name: string } {
  if (version.contributors[0]?.id === "file-system") return { of: "original", name: "another program" };
  return { of: isAgent(version) ? "agent" : "person", name: version.author };
}
