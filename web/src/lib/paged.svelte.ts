// A list that comes in pages. Reloading keeps the old rows until the new ones are there.

import { asProblem, type Problem } from "./api";

export class Paged<T> {
  rows = $state.raw<T[] | null>(null);
  next = $state<string | null>(null);
  problem = $state.raw<Problem | null>(null);
  busy = $state(false);
  private turn = 0;

  constructor(private readonly load: (cursor: string | null) => Promise<{ rows: T[]; next: string | null }>) {}

  async refresh(): Promise<void> {
    await this.ask(null);
  }

  async more(): Promise<void> {
    await this.ask(this.next);
  }

  private async ask(cursor: string | null): Promise<void> {
    const turn = ++this.turn;
    this.busy = true;
    this.problem = null;
    try {
      const found = await this.load(cursor);
      if (turn !== this.turn) return;
      this.rows = cursor ? [...(this.rows ?? []), ...found.rows] : found.rows;
      this.next = found.next;
    } catch (error) {
      if (turn === this.turn) this.problem = asProblem(error);
    } finally {
      if (turn === this.turn) this.busy = false;
    }
  }
}
