// Text that could not be stored before its page was left: kept by the tab, for the same person.

import type { Doc } from "./wiki";

/** What was typed in a document after it was renamed, until its editor at the new name opens. */
const carried = new Map<string, Uint8Array>();

const PREFIX = "pecia.unsaved ";

export function keepUnsaved(at: Doc, user: string, text: string): void {
  try {
    sessionStorage.setItem(PREFIX + JSON.stringify([user, at.space, at.doc]), text);
  } catch {
    // Over the browser's limit: the person was asked before leaving.
  }
}

/** The kept text, once. */
export function takeUnsaved(at: Doc, user: string): string | null {
  const key = PREFIX + JSON.stringify([user, at.space, at.doc]);
  const found = sessionStorage.getItem(key);
  sessionStorage.removeItem(key);
  return found;
}

/** Keep what a tab has of a live document for the editor of the same document under its new name. */
export function carry(to: Doc, state: Uint8Array): void {
  carried.set(JSON.stringify([to.space, to.doc]), state);
}

/** The carried state, once. */
export function takeCarried(at: Doc): Uint8Array | undefined {
  const key = JSON.stringify([at.space, at.doc]);
  const found = carried.get(key);
  carried.delete(key);
  return found;
}
