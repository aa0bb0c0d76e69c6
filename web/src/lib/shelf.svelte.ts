// Documents that somebody pinned, and those they opened last: in this browser, by user.

import { call } from "./api";

export interface Kept {
  source: string;
  key: string;
  title: string;
}

const MAX_PINS = 12;
const MAX_OPENED = 6;

class Shelf {
  pins = $state.raw<Kept[]>([]);
  opened = $state.raw<Kept[]>([]);
  private owner = "";

  /** Whose shelf it is. Another user of this browser sees their own. */
  open(owner: string): void {
    this.owner = owner;
    const found = this.load();
    this.pins = found.pins;
    this.opened = found.opened;
  }

  isPinned(source: string, key: string): boolean {
    return this.pins.some((it) => it.source === source && it.key === key);
  }

  pin(it: Kept): void {
    this.pins = [it, ...without(this.pins, it)].slice(0, MAX_PINS);
    this.store();
  }

  unpin(it: Pick<Kept, "source" | "key">): void {
    this.pins = without(this.pins, it);
    this.store();
  }

  remember(it: Kept): void {
    this.opened = [it, ...without(this.opened, it)].slice(0, MAX_OPENED);
    this.store();
  }

  /** Keep only what the user may still see: a right may have been removed, a file deleted. */
  async check(): Promise<void> {
    const known = [...this.pins, ...without(this.opened, ...this.pins)];
    const gone = await Promise.all(known.map(async (it) => ((await isReadable(it)) ? null : it)));
    const lost = gone.filter((it) => it !== null);
    if (!lost.length) return;
    this.pins = without(this.pins, ...lost);
    this.opened = without(this.opened, ...lost);
    this.store();
  }

  private load(): { pins: Kept[]; opened: Kept[] } {
    try {
      const found = JSON.parse(localStorage.getItem(this.name()) ?? "{}") as Partial<Record<"pins" | "opened", unknown>>;
      return { pins: kept(found.pins), opened: kept(found.opened) };
    } catch {
      return { pins: [], opened: [] };
    }
  }

  private store(): void {
    if (this.owner) localStorage.setItem(this.name(), JSON.stringify({ pins: this.pins, opened: this.opened }));
  }

  private name(): string {
    return `pecia.shelf.${this.owner}`;
  }
}

export const shelf = new Shelf();

function without(list: Kept[], ...these: Pick<Kept, "source" | "key">[]): Kept[] {
  return list.filter((it) => !these.some((other) => other.source === it.source && other.key === it.key));
}

function kept(found: unknown): Kept[] {
  const isKept = (it: unknown): it is Kept => typeof it === "object" && it !== null && ["source", "key", "title"].every((name) => typeof (it as Record<string, unknown>)[name] === "string");
  return Array.isArray(found) ? found.filter(isKept) : [];
}

async function isReadable(it: Kept): Promise<boolean> {
  return call("lake/get_file_metadata", { source_id: it.source, key: it.key }).then(
    () => true,
    (error: { status?: number }) => error.status !== 404 && error.status !== 403,
  );
}
