// Where others are: a thin caret in the text, their names in the margin. Nothing covers the text.

import { StateEffect, StateField, type Extension, type Range } from "@codemirror/state";
import { Decoration, EditorView, GutterMarker, ViewPlugin, WidgetType, gutter, type DecorationSet, type ViewUpdate } from "@codemirror/view";
import type { Awareness } from "y-protocols/awareness";
import * as Y from "yjs";

export interface Presence {
  client: number;
  name: string;
  kind: "person" | "agent" | "program";
  isMe: boolean;
  /** Where they are in the text; null if they have not said. */
  head: number | null;
  anchor: number | null;
}

interface State {
  user?: { name?: string; kind?: string };
  cursor?: { anchor: unknown; head: unknown } | null;
}

/** Everybody at the document, oneself first. */
export function presences(awareness: Awareness, text: Y.Text): Presence[] {
  const found: Presence[] = [];
  for (const [client, state] of awareness.getStates() as Map<number, State>) {
    const kind = state.user?.kind;
    found.push({
      client,
      name: state.user?.name ?? "you",
      kind: kind === "agent" || kind === "program" ? kind : "person",
      isMe: client === awareness.clientID,
      head: place(state.cursor?.head, text),
      anchor: place(state.cursor?.anchor, text),
    });
  }
  return found.sort((a, b) => Number(b.isMe) - Number(a.isMe) || a.name.localeCompare(b.name));
}

export interface AwarenessChange {
  added: number[];
  updated: number[];
  removed: number[];
}

/** Whether somebody else came, moved or left. One's own cursor moves with every key. */
export function concernsOthers({ added, updated, removed }: AwarenessChange, me: number): boolean {
  return [...added, ...updated, ...removed].some((client) => client !== me);
}

function place(position: unknown, text: Y.Text): number | null {
  if (!position || !text.doc) return null;
  try {
    return Y.createAbsolutePositionFromRelativePosition(Y.createRelativePositionFromJSON(position), text.doc)?.index ?? null;
  } catch {
    // Cursors come from others: one that makes no sense is not shown.
    return null;
  }
}

class Caret extends WidgetType {
  constructor(readonly kind: string, readonly name: string) {
    super();
  }
  override eq(other: Caret): boolean {
    return other.kind === this.kind && other.name === this.name;
  }
  toDOM(): HTMLElement {
    const made = document.createElement("span");
    made.className = `cm-caret ${this.kind}`;
    made.setAttribute("aria-hidden", "true");
    return made;
  }
  override ignoreEvent(): boolean {
    return true;
  }
}

class NameMarker extends GutterMarker {
  constructor(readonly people: Presence[]) {
    super();
  }
  override eq(other: NameMarker): boolean {
    return this.text === other.text;
  }
  private get text(): string {
    return this.people.map((it) => it.kind + it.name).join("\n");
  }
  override toDOM(): HTMLElement {
    const made = document.createElement("span");
    made.className = "cm-names";
    for (const it of this.people) {
      const name = made.appendChild(document.createElement("span"));
      name.className = `cm-name ${it.kind}`;
      name.textContent = it.name;
      name.title = `${it.name}${it.kind === "agent" ? ", an agent" : ""}`;
    }
    return made;
  }
}

const moved = StateEffect.define<Presence[]>();

const others = StateField.define<Presence[]>({
  create: () => [],
  update(value, tr) {
    for (const it of tr.effects) if (it.is(moved)) return it.value;
    if (!tr.docChanged) return value;
    const map = (at: number | null): number | null => (at === null ? null : tr.changes.mapPos(Math.min(at, tr.changes.length), 1));
    return value.map((it) => ({ ...it, head: map(it.head), anchor: map(it.anchor) }));
  },
});

const carets = EditorView.decorations.compute([others], (state) => {
  const found: Range<Decoration>[] = [];
  for (const it of state.field(others)) {
    if (it.head === null) continue;
    const head = Math.min(it.head, state.doc.length);
    const anchor = Math.min(it.anchor ?? head, state.doc.length);
    found.push(Decoration.widget({ widget: new Caret(it.kind, it.name), side: -1 }).range(head));
    if (anchor !== head) {
      const mark = Decoration.mark({ class: `cm-chosen ${it.kind}` });
      found.push(mark.range(Math.min(anchor, head), Math.max(anchor, head)));
    }
  }
  return Decoration.set(found, true) as DecorationSet;
});

const names = gutter({
  class: "cm-presence",
  side: "after",
  lineMarker(view, line) {
    const here = view.state.field(others).filter((it) => it.head !== null && it.head >= line.from && it.head <= line.to);
    return here.length ? new NameMarker(here) : null;
  },
  lineMarkerChange: (update) => update.docChanged || update.startState.field(others) !== update.state.field(others),
});

/** Shows others, and tells them where one is. */
export function presence(awareness: Awareness, text: Y.Text): Extension {
  const follow = ViewPlugin.fromClass(
    class {
      private isQueued = false;
      private readonly listen = (change: AwarenessChange): void => {
        if (concernsOthers(change, awareness.clientID)) this.queue();
      };
      constructor(readonly view: EditorView) {
        awareness.on("change", this.listen);
        this.queue();
      }
      update(update: ViewUpdate): void {
        if (update.selectionSet || update.docChanged || update.focusChanged) this.tell();
      }
      destroy(): void {
        awareness.off("change", this.listen);
      }
      private queue(): void {
        if (this.isQueued) return;
        this.isQueued = true;
        // Not at once: a change may come while the view is being updated.
        window.setTimeout(() => {
          this.isQueued = false;
          if (!this.view.dom.isConnected) return;
          const found = presences(awareness, text).filter((it) => !it.isMe);
          this.view.dispatch({ effects: moved.of(found) });
        });
      }
      private tell(): void {
        const { main } = this.view.state.selection;
        if (main.head > text.length || main.anchor > text.length) return;
        const cursor = this.view.hasFocus
          ? { anchor: Y.relativePositionToJSON(Y.createRelativePositionFromTypeIndex(text, main.anchor)), head: Y.relativePositionToJSON(Y.createRelativePositionFromTypeIndex(text, main.head)) }
          : null;
        const before = awareness.getLocalState()?.cursor;
        if (JSON.stringify(before ?? null) !== JSON.stringify(cursor)) awareness.setLocalStateField("cursor", cursor);
      }
    },
  );
  return [others, carets, names, follow];
}
