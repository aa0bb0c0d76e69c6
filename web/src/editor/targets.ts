// What links of a document lead to, among the documents of its space. The order is the server's.

import { join, withoutExtension } from "../lib/wiki";
import type { Resolved } from "../lib/markdown";
import { link, readLink } from "../lib/route.svelte";
import type { DocumentRow } from "./wiki";

export class Targets {
  private readonly byName = new Map<string, DocumentRow>();
  private readonly byPlain = new Map<string, DocumentRow>();
  readonly files = new Set<string>();
  /** Titles of the documents that this one links to, as the server knows them. */
  titles = new Map<string, string>();

  constructor(
    readonly space: string,
    readonly sourceId: string,
    rows: DocumentRow[],
  ) {
    for (const it of rows) {
      if (it.kind !== "document") {
        this.files.add(it.path);
        continue;
      }
      this.byName.set(it.docName, it);
      this.byPlain.set(plain(it.docName), it);
    }
  }

  get names(): string[] {
    return [...this.byName.keys()];
  }

  has(name: string): boolean {
    return this.byName.has(name);
  }

  find(from: string, target: string): DocumentRow | null {
    const wanted = withoutExtension(target.trim());
    const beside = withoutExtension(join(from, target.trim()));
    const places = [wanted.replace(/^\//, ""), beside];
    for (const it of places) if (this.byName.has(it)) return this.byName.get(it)!;
    for (const it of places) if (this.byPlain.has(plain(it))) return this.byPlain.get(plain(it))!;
    for (const it of places) if (this.byName.has(`${it}/index`)) return this.byName.get(`${it}/index`)!;
    const suffix = [...this.byPlain].filter(([name]) => name.endsWith(`/${plain(wanted)}`));
    return suffix.length === 1 ? suffix[0]![1] : null;
  }

  /** A document that this one links to by its title. */
  private titled(target: string): DocumentRow | null {
    const wanted = plain(target.trim());
    for (const [name, title] of this.titles) if (plain(title) === wanted) return this.byName.get(name) ?? null;
    return null;
  }

  /** For the preview. What the server did not call dead may still be an alias. */
  resolve(from: string, target: string, dead: Set<string>, anchor = ""): Resolved | null {
    if (!target) return null;
    const found = this.find(from, target) ?? this.titled(target);
    if (found) {
      const title = this.titles.get(found.docName);
      return { href: readLink(this.sourceId, found.path, { at: anchor || undefined }), title: title && anchor ? `${title}, ${anchor}` : title };
    }
    if (/\.[a-z0-9]{1,5}$/i.test(target) && !/\.mdx?$/i.test(target)) return null;
    const name = withoutExtension(target.startsWith(".") ? join(from, target) : target);
    return dead.has(plain(name)) ? { href: link("new", { space: this.space, doc: name }), missing: true } : null;
  }
}

export function plain(name: string): string {
  return name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}
