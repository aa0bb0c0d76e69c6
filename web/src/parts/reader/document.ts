// What a document page shows, gathered: text, links, history, the passage that was found.

import { asHit, fileFacts, fileWindow, originOf, type Chunk } from "../../lib/lake";
import type { Origin } from "../../lib/provenance";
import type { RenderOptions } from "../../lib/markdown";
import { readLink } from "../../lib/route.svelte";
import { findLinked, history, join, readDocument, spaceOf, withoutExtension, type Version, type WikiDocument } from "../../lib/wiki";
import { fileText } from "../../lib/file_text";
import { splitFrontmatter } from "../../lib/markdown";
import { pictureAddress } from "../../lib/pictures";
import type { Neighbour } from "./Nearby.svelte";

/** A browser lays out a long text in no time, and a long table not. */
const MAX_TABLE_CHARS = 200_000;

export interface Loaded {
  source: string;
  key: string;
  title: string;
  text: string;
  status: string;
  reason: string;
  revision: number | null;
  isCut: boolean;
  modified: string | null;
  /** The passage that a hit points to. */
  chunk: Chunk | null;
  wiki: WikiDocument | null;
  versions: Version[];
  versionCount: number;
  /** Opens the original, for some minutes. */
  original: string | null;
  origin: Origin;
}

export async function loadDocument(source: string, key: string, seq: number | null): Promise<Loaded> {
  const space = spaceOf(source);
  const window = fileWindow(source, key, seq ?? 0, 1).catch(() => null);
  const details = fileFacts(source, key);
  const hit = asHit(source, key);
  const shared = async (): Promise<Pick<Loaded, "source" | "key" | "chunk" | "modified" | "original" | "origin">> => ({
    source,
    key,
    chunk: seq === null ? null : ((await window)?.chunks[0] ?? null),
    modified: (await details)?.mtime ?? null,
    original: sameOrigin((await details)?.url ?? null),
    origin: originOf((await hit) ?? { source_id: source }),
  });
  if (space !== null && /\.(md|mdx|markdown)$/i.test(key)) {
    const past = history(space, withoutExtension(key), 5).catch(() => ({ entries: [], total: 0 }));
    const wiki = await readDocument(space, key);
    const { entries, total } = await past;
    return {
      ...(await shared()),
      title: wiki.title,
      text: wiki.content,
      status: "ok",
      reason: "",
      revision: (await window)?.revision ?? null,
      isCut: false,
      wiki,
      versions: entries,
      versionCount: total,
    };
  }
  const file = await fileText(source, key, /\.(csv|tsv|xlsx?|ods)$/i.test(key) ? MAX_TABLE_CHARS : undefined);
  return {
    ...(await shared()),
    ...file,
    title: (await hit)?.title || headingOf(file.text) || withoutExtension(key.split("/").pop() ?? key),
    wiki: null,
    versions: [],
    versionCount: 0,
  };
}

/** Where the links of a document lead. */
export function resolver(it: Loaded): Pick<RenderOptions, "resolve" | "image"> {
  const isBound = /\.(epub|docx?|odt|rtf|ods|xlsx?)$/i.test(it.key);
  const extension = /\.\w+$/.exec(it.key)?.[0] ?? ".md";
  return {
    resolve(target, anchor) {
      // What a book or an office file links to is inside it.
      if (!target || isBound) return { href: readLink(it.source, it.key, { at: anchor || undefined }) };
      if (it.wiki) {
        const found = findLinked(it.wiki.forwardLinks, it.key, target);
        if (found?.docName && !found.dead) {
          return { href: readLink(it.source, `${found.docName}${extension}`, { at: anchor || undefined }), title: shownTitle(found.title, anchor) };
        }
        if (/\.\w{1,5}$/.test(target) && !/\.(md|mdx)$/i.test(target)) return { href: readLink(it.source, join(it.key, target)) };
        const name = found?.docName ?? withoutExtension(join("", target));
        return { href: readLink(it.source, `${name}.md`), missing: true };
      }
      const key = join(it.key, target);
      return { href: readLink(it.source, /\.\w+$/.test(key) ? key : `${key}${extension}`, { at: anchor || undefined }) };
    },
    image: (target) => {
      const space = isBound ? null : spaceOf(it.source);
      return space === null || pictureAddress(space, target) === null ? null : pictureAddress(space, join(it.key, target));
    },
  };
}

export function neighbours(it: Loaded): Neighbour[] {
  if (!it.wiki) return [];
  const outgoing = it.wiki.forwardLinks
    .filter((to) => to.docName)
    .map((to) => ({ key: `${to.docName}.md`, title: to.title, isIncoming: false, isMissing: to.dead ?? false }));
  const incoming = it.wiki.backlinks.map((from) => ({ key: `${from.source}.md`, title: from.title, isIncoming: true, isMissing: false }));
  const seen = new Set<string>();
  // Half and half, so that neither hides the other.
  const mixed = [...outgoing.slice(0, 4), ...incoming, ...outgoing.slice(4)];
  return mixed.filter((one) => !seen.has(one.key) && seen.add(one.key));
}

function shownTitle(title: string, anchor: string): string {
  return anchor ? `${title}, ${anchor}` : title;
}

function headingOf(text: string): string {
  return /^#\s+(.+)$/m.exec(splitFrontmatter(text).body)?.[1]?.trim() ?? "";
}

/** Links have the server's public address; the page may be open at another of its names. */
export function sameOrigin(url: string | null): string | null {
  if (!url || !/^https?:/.test(url)) return null;
  const { pathname, search } = new URL(url);
  return `${pathname}${search}`;
}
