// Polls the crawls of the sources in view: often while one runs, seldom otherwise, and not at all
// while the tab is hidden.

import { asProblem, type Problem } from "./api";
import { crawlStatus, embedding, isRunning, type Crawl, type Embedding, type Source } from "./lake";

const TICK_MS = 500;
const RUNNING_MS = 1500;
const RESTING_MS = 15_000;
const AT_ONCE = 4;

export class CrawlPoll {
  crawl = $state.raw<Crawl | null>(null);
  refusal = $state.raw<Problem | null>(null);
  embedding = $state.raw<Embedding | null>(null);
  inView = false;
  due = 0;

  /** To administrators the server tells the condition of every source that is crawled: what has none is not asked about. */
  constructor(
    readonly source: Source,
    isAdmin: boolean,
  ) {
    if (isAdmin && source.condition === null) this.due = Infinity;
  }

  get known(): boolean {
    return this.crawl !== null || this.refusal !== null;
  }

  /** Whether search by meaning does not find all of it yet. */
  get isEmbedding(): boolean {
    return this.embedding !== null && this.embedding.embedded !== null && this.embedding.embedded < this.embedding.chunks;
  }

  async refresh(): Promise<void> {
    try {
      const crawl = await crawlStatus(this.source.source_id);
      // Counting takes the server a while: not beside a crawl, and not again for what is complete.
      const isCounted = this.embedding !== null && this.crawl?.ended_at === crawl.ended_at && !this.isEmbedding;
      if (!isRunning(crawl) && !isCounted) this.embedding = await embedding(this.source.source_id);
      this.take(crawl);
    } catch (error) {
      this.refusal = asProblem(error);
      // After 403 polling stops; a first crawl may still begin.
      this.due = this.refusal.status === 403 ? Infinity : Date.now() + RESTING_MS;
    }
  }

  take(crawl: Crawl): void {
    this.crawl = crawl;
    this.refusal = null;
    this.due = Date.now() + (isRunning(crawl) ? RUNNING_MS : RESTING_MS);
  }
}

/** Poll until the returned function is called. */
export function pollCrawls(rows: () => CrawlPoll[]): () => void {
  let over = false;
  let timer = 0;
  const round = async (): Promise<void> => {
    const due = rows().filter((it) => it.inView && it.due <= Date.now());
    if (!document.hidden) await Promise.all(due.slice(0, AT_ONCE).map((it) => it.refresh()));
    if (!over) timer = window.setTimeout(round, due.length > AT_ONCE ? 0 : TICK_MS);
  };
  void round();
  return () => {
    over = true;
    clearTimeout(timer);
  };
}

/** Keeps `inView` of a row up to date. */
export function inView(node: Element, row: CrawlPoll): { destroy: () => void } {
  const observer = new IntersectionObserver((seen) => {
    row.inView = seen.at(-1)?.isIntersecting ?? false;
  });
  observer.observe(node);
  return { destroy: () => observer.disconnect() };
}
