// Suggestions for a document: changes that wait until somebody who may write it accepts them.

import { asProblem, call, type Problem } from "./api";

export interface SuggestedPiece {
  piece: number;
  state: "open" | "accepted" | "rejected";
  old: string;
  new: string;
  /** Where it is in the document of now, in characters and lines; absent if its text changed. */
  offset?: number;
  line?: number;
  changed?: string;
  decidedBy?: string;
  decidedAt?: string | null;
}

export interface Comment {
  comment: number;
  author: string;
  writerId: string;
  clientName?: string;
  timestamp: string;
  text: string;
}

/** A row of `list_suggestions`. */
export interface SuggestionRow {
  suggestion: string;
  docName: string;
  author: string;
  writerId: string;
  clientName?: string;
  timestamp: string;
  state: "open" | "closed";
  summary?: string;
  pieceCount: number;
  open: number;
  changed: number;
  commentCount: number;
}

export interface Suggestion extends SuggestionRow {
  pieces: SuggestedPiece[];
  comments: Comment[];
}

/** A piece that waits, with the suggestion it belongs to. */
export interface OpenPiece {
  of: Suggestion;
  piece: SuggestedPiece;
}

export type Decision = "accept" | "reject";

const MAX_READ = 20;
const MAX_LISTED = 100;
const REFRESH_MS = 60_000;

export async function listSuggestions(space: string, doc?: string, limit = MAX_READ): Promise<SuggestionRow[]> {
  return (await call<{ suggestions: SuggestionRow[] }>("wiki/list_suggestions", { space, ...(doc ? { docName: doc } : {}), limit })).suggestions;
}

/** Whether an agent wrote it. */
export function isByAgent(it: { writerId: string }): boolean {
  return it.writerId.startsWith("agent-");
}

/** Who, with the program: the name of an agent is that of the user it works for. */
export function authorOf(it: { author: string; writerId: string; clientName?: string }): string {
  return isByAgent(it) && it.clientName ? `${it.clientName} for ${it.author}` : it.author;
}

/** The place of a character, counted as the server does, in a string of the browser. */
export function unitsAt(text: string, characters: number): number {
  let units = 0;
  for (let left = characters; left > 0 && units < text.length; left--) units += text.codePointAt(units)! > 0xffff ? 2 : 1;
  return units;
}

/** The open suggestions for one document, as they are now. */
export class Suggestions {
  list = $state.raw<Suggestion[]>([]);
  /** Whether the list is that of the server: until then nobody can say that it is empty. */
  isKnown = $state(false);
  problem = $state.raw<Problem | null>(null);
  isBusy = $state(false);
  readonly open = $derived<OpenPiece[]>(this.list.flatMap((of) => of.pieces.filter((it) => it.state === "open").map((piece) => ({ of, piece }))));
  private turn = 0;

  constructor(
    readonly space: string,
    readonly doc: string,
    /** Called when a piece was accepted: the text is another. */
    private readonly onaccepted: () => void | Promise<void> = () => undefined,
    /** Whether there is no such document: it was moved, deleted, or is not made yet. */
    private readonly isGone = false,
  ) {}

  async refresh(): Promise<void> {
    const turn = ++this.turn;
    try {
      // By its name only a document that exists is found.
      const rows = this.isGone ? (await listSuggestions(this.space, undefined, MAX_LISTED)).filter((it) => it.docName === this.doc) : await listSuggestions(this.space, this.doc);
      const found = await Promise.all(rows.map((it) => this.read(it.suggestion)));
      // The same rows stay the same objects: a card that somebody writes in is not drawn again.
      if (turn === this.turn && JSON.stringify(found) !== JSON.stringify(this.list)) this.list = found;
      this.isKnown = true;
    } catch {
      // What was shown stays; the next refresh tries again.
    }
  }

  /** Keep them current until the returned function is called. */
  follow(): () => void {
    void this.refresh();
    const again = (): void => void (document.visibilityState === "visible" && this.refresh());
    const timer = window.setInterval(again, REFRESH_MS);
    document.addEventListener("visibilitychange", again);
    return () => (window.clearInterval(timer), document.removeEventListener("visibilitychange", again));
  }

  /** Accept or reject pieces of a suggestion; all open ones without their numbers. */
  async decide(decision: Decision, suggestion: string, pieces: number[] | null, why = ""): Promise<boolean> {
    const asked = { space: this.space, suggestion, ...(pieces ? { pieces } : {}), ...(why && decision === "reject" ? { comment: why } : {}) };
    return this.act(async () => {
      await call(`wiki/${decision}_suggestion`, asked);
      if (decision === "accept") await this.onaccepted();
    });
  }

  comment(suggestion: string, text: string): Promise<boolean> {
    return this.act(() => call("wiki/comment_suggestion", { space: this.space, suggestion, text }));
  }

  private async act(make: () => Promise<unknown>): Promise<boolean> {
    if (this.isBusy) return false;
    [this.isBusy, this.problem] = [true, null];
    try {
      await make();
      return true;
    } catch (error) {
      this.problem = asProblem(error);
      return false;
    } finally {
      this.isBusy = false;
      await this.refresh();
    }
  }

  private async read(suggestion: string): Promise<Suggestion> {
    const first = await call<Suggestion & { nextOffset: number | null }>("wiki/read_suggestion", { space: this.space, suggestion });
    const pieces = [...first.pieces];
    let offset = first.nextOffset;
    while (offset !== null) {
      const part: { pieces: SuggestedPiece[]; nextOffset: number | null } = await call("wiki/read_suggestion", { space: this.space, suggestion, offset });
      pieces.push(...part.pieces);
      offset = part.nextOffset;
    }
    return { ...first, pieces };
  }
}
