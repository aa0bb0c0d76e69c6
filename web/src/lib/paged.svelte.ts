// A list that comes in pages. Reloading keeps the old rows until the new ones are there; where they
// do not come, the old ones stay below what went wrong.

import { asProblem, type Problem } from "./api";

export class Paged<T> {
  rows = $state.raw<T[] | null>(null);
  next = $state<string | null>(null);
  problem = $state.raw<Problem | null>(null);
  busy = $state(false);
  private turn = 0;
  private asked: string | null = null;

  constructor(private readonly load: (cursor: string | null) => Promise<{ rows: T[]; next: string | null }>) {}

  async refresh(): Promise<void> {
    await this.ask(null);
  }

  /** The list of another question: if it does not come, the rows of the last one are not its answer. */
  async change(): Promise<void> {
    await this.ask(null, true);
  }

  async more(): Promise<void> {
    await this.ask(this.next);
  }

  /** What failed, once more. */
  async retry(): Promise<void> {
    await this.ask(this.asked);
  }

  private async ask(cursor: string | null, isOther = false): Promise<void> {
    const turn = ++this.turn;
    this.asked = cursor;
    this.busy = true;
    try {
      const found = await this.load(cursor);
      if (turn !== this.turn) return;
      this.rows = cursor ? [...(this.rows ?? []), ...found.rows] : found.rows;
      this.next = found.next;
      this.problem = null;
    } catch (error) {
      if (turn !== this.turn) return;
      this.problem = asProblem(error);
      if (isOther) this.rows = null;
    } finally {
      if (turn === this.turn) this.busy = false;
    }
  }
}
