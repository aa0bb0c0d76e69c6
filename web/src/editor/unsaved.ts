// Text that could not be stored before its page was left: kept by the tab, for the same person.

import type { Doc } from "./wiki";

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
