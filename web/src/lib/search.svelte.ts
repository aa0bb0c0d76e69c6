// The hits of one search, page by page. They are kept while a file is read, so that going back
// shows them as they were.

import { asProblem, type Problem } from "./api";
import { PAGE, TYPED_PAGE, question, search, type SearchContent, type Hit } from "./lake";
import { link } from "./route.svelte";

const MAX_AUTHORS = 8;
/** Somebody who has not typed for so long reads: the whole search is made. */
const REST_MS = 300;

/** A hit, and the page it came on. */
export type ListedHit = Hit & { cursor: string | null; limit: number };

/** The hits of one file, in the order of the best. */
export interface HitGroup {
  id: string;
  title: string;
  hits: ListedHit[];
}

class SearchState {
  hits = $state.raw<ListedHit[]>([]);
  degraded = $state.raw<string[]>([]);
  /** Words of the query that no text has; said of the first page. */
  absent = $state.raw<string[]>([]);
  isUnlikely = $state(false);
  /** Whose hits there are without a choice of author; they stay to be chosen when one is. */
  authors = $state.raw<string[]>([]);
  /** How long the last search took, seen from here. */
  tookMs = $state(0);
  problem = $state.raw<Problem | null>(null);
  next = $state<string | null>(null);
  busy = $state(false);
  /** The hits shown are of the query before. */
  isOld = $state(false);
  done = $state(false);
  /** The address of the search; empty where there was none. */
  address = $state("");
  /** The group whose hit was opened last, for going back. */
  opened: string | null = null;

  /** Set by whoever types a query, for the search that follows. */
  isTyped = false;
  /** The hits shown are those of a quick search by words, made while somebody types. */
  isQuick = $state(false);

  private params: Record<string, string> = {};
  private rest = 0;
  /** The address whose hits are shown. */
  private shown = "";
  private running = new AbortController();

  /** The hits, by file. */
  get groups(): HitGroup[] {
    const groups = new Map<string, HitGroup>();
    for (const it of this.hits) {
      const id = JSON.stringify([it.source_id, it.key]);
      const group = groups.get(id) ?? { id, title: it.title || (it.key.split("/").pop() ?? it.key), hits: [] };
      group.hits.push(it);
      groups.set(id, group);
    }
    return [...groups.values()];
  }

  /** Search, unless these hits are loaded already: quickly after a key, whole after a pause. */
  async begin(params: Record<string, string>, again = false): Promise<void> {
    const address = link("search", params);
    const isTyped = this.isTyped;
    this.isTyped = false;
    if (address === this.address && !this.problem && !again) return;
    this.params = params;
    this.address = address;
    this.opened = null;
    if (!params.q?.trim()) return this.forget();
    if (!isTyped) return this.find();
    const found = await this.ask({ ...question(params, TYPED_PAGE), typing: true }, null);
    if (!found) return;
    this.show(found, TYPED_PAGE);
    this.isQuick = true;
    this.rest = window.setTimeout(() => void this.find(), REST_MS);
  }

  private async find(): Promise<void> {
    const found = await this.ask(this.page(null, PAGE), null);
    if (!found) return;
    this.show(found, PAGE);
    this.isQuick = false;
    if (!this.params.author) this.authors = authorsOf(found.hits);
  }

  private show(found: SearchContent, limit: number): void {
    this.shown = this.address;
    this.hits = listed(found, null, limit);
    this.absent = found.absent;
    this.isUnlikely = found.unlikely;
    this.done = true;
  }

  async more(): Promise<void> {
    const cursor = this.next;
    const found = await this.ask(this.page(cursor, PAGE), cursor);
    if (!found) return;
    // Where files changed since the last page, a hit may come again.
    const known = new Set(this.hits.map(name));
    this.hits = [...this.hits, ...listed(found, cursor, PAGE).filter((it) => !known.has(name(it)))];
  }

  /** Load the page of a hit again, with the explanation of its scores. */
  async explain(hit: ListedHit): Promise<void> {
    const found = await search({ ...this.page(hit.cursor, hit.limit), explain: true });
    const why = new Map(found.hits.map((it) => [name(it), it.explain]));
    this.hits = this.hits.map((it) => ({ ...it, explain: why.get(name(it)) ?? it.explain }));
  }

  forget(): void {
    this.running.abort();
    window.clearTimeout(this.rest);
    this.hits = [];
    this.degraded = [];
    this.absent = [];
    this.isUnlikely = false;
    this.authors = [];
    this.problem = null;
    this.next = null;
    this.busy = false;
    this.done = this.isQuick = false;
    this.address = this.shown = "";
    this.opened = null;
  }

  private async ask(request: object, cursor: string | null): Promise<SearchContent | null> {
    this.running.abort();
    window.clearTimeout(this.rest);
    const running = (this.running = new AbortController());
    this.busy = true;
    this.isOld = cursor === null && this.shown !== this.address;
    this.problem = null;
    try {
      const begun = performance.now();
      const found = await search(request, running.signal);
      if (cursor === null) this.tookMs = Math.round(performance.now() - begun);
      if (running.signal.aborted) return null;
      this.next = found.next_cursor;
      this.degraded = found.degraded;
      return found;
    } catch (error) {
      if (!running.signal.aborted) this.fail(asProblem(error), cursor);
      return null;
    } finally {
      if (!running.signal.aborted) this.busy = this.isOld = false;
    }
  }

  private fail(problem: Problem, cursor: string | null): void {
    this.problem = problem;
    if (cursor !== null) return;
    // Old hits under a new query would be taken for its results.
    this.hits = [];
    this.absent = [];
    this.isUnlikely = false;
    this.next = null;
    this.done = false;
  }

  private page(cursor: string | null, limit: number): object {
    return { ...question(this.params, limit), ...(cursor ? { cursor } : {}) };
  }
}

export const results = new SearchState();

export function name(hit: Hit): string {
  return JSON.stringify([hit.source_id, hit.key, hit.seq]);
}

/** The most frequent first; as many as a list of choices can show. */
function authorsOf(hits: Hit[]): string[] {
  const found = new Map<string, number>();
  for (const it of hits.flatMap((hit) => hit.authors)) found.set(it, (found.get(it) ?? 0) + 1);
  return [...found].sort((one, other) => other[1] - one[1] || one[0].localeCompare(other[0])).map(([name]) => name).slice(0, MAX_AUTHORS);
}

function listed(found: SearchContent, cursor: string | null, limit: number): ListedHit[] {
  return found.hits.map((it) => ({ ...it, cursor, limit }));
}
