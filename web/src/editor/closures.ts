// Why a live document was closed, in words, and what a person can do then.

export type WayBack = "retry" | "reset" | "undo" | "sign-in" | "gone" | "again";

export interface Closure {
  /** What happened. */
  says: string;
  /**
   * `retry`: by itself, soon. `reset`: begin with the server's text, and offer one's own again.
   * `undo`: undo, then try. `sign-in`, `gone`: what their names say. `again`: by a button.
   */
  then: WayBack;
}

const WORDS: Record<number, Closure> = {
  1000: { says: "The server closed the connection.", then: "retry" },
  1001: { says: "The server is stopping or restarting.", then: "retry" },
  1003: { says: "This page sent something that the server does not take. Reload the page.", then: "again" },
  1006: { says: "The server cannot be reached.", then: "retry" },
  1009: { says: "The last change is larger than the server takes. Undo it, then try again.", then: "undo" },
  1011: { says: "The server had an internal error; its log says more.", then: "retry" },
  1012: { says: "The server is restarting.", then: "retry" },
  4400: { says: "The server did not accept the last change: this document holds plain text only.", then: "reset" },
  4401: { says: "Your sign-in has ended.", then: "sign-in" },
  4403: { says: "The server takes this tab for another editor.", then: "reset" },
  4404: { says: "The document was deleted or renamed, or you may no longer read it. What you type stays in this tab, and is stored if the document comes back.", then: "gone" },
  4409: { says: "The document has a new history.", then: "reset" },
  4413: { says: "The last change is larger than the server takes. Undo it, then try again.", then: "undo" },
  4422: { says: "The document cannot be edited here: its file is not UTF-8 text. Save it as UTF-8 first.", then: "again" },
  4500: { says: "The server had an internal error; its log says more.", then: "retry" },
  4503: { says: "Too many editors have this document open, or the server is not ready.", then: "retry" },
  4508: { says: "The server waited too long for this page.", then: "retry" },
  4529: { says: "Too many changes in a short time. They are sent again in a moment.", then: "retry" },
};

/** The words for a close code of the websocket. */
export function explain(code: number): Closure {
  return WORDS[code] ?? { says: `The server closed the connection (code ${code}).`, then: "again" };
}

/** The same for an HTTP status, where the socket could not be opened. */
export function explainStatus(status: number, message: string): Closure | null {
  if (status === 0) return null;
  const known = WORDS[4000 + status] ?? WORDS[4100 + status];
  return known ? { says: status === 404 || status === 401 ? known.says : message, then: known.then } : { says: message, then: "again" };
}
