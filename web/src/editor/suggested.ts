// Suggestions in the source: what would go is struck through, what would come stands behind it.

import { StateEffect, StateField, type Extension, type Range } from "@codemirror/state";
import { Decoration, EditorView, WidgetType, keymap, type DecorationSet } from "@codemirror/view";
import { isByAgent, unitsAt, type OpenPiece } from "../lib/suggestions.svelte";

interface Mark {
  name: string;
  from: number;
  to: number;
  insert: string;
  kind: "agent" | "person";
}

const MAX_SHOWN = 400;
const shown = StateEffect.define<Mark[]>();

const marks = StateField.define<Mark[]>({
  create: () => [],
  update(value, tr) {
    for (const it of tr.effects) if (it.is(shown)) return it.value;
    if (!tr.docChanged) return value;
    return value.map((it) => ({ ...it, from: tr.changes.mapPos(it.from, 1), to: tr.changes.mapPos(it.to, -1) })).filter((it) => it.to >= it.from);
  },
});

class Insertion extends WidgetType {
  constructor(readonly mark: Mark) {
    super();
  }
  override eq(other: Insertion): boolean {
    return other.mark.name === this.mark.name && other.mark.insert === this.mark.insert;
  }
  toDOM(): HTMLElement {
    const made = document.createElement("span");
    made.className = `cm-suggested-text ${this.mark.kind}`;
    made.dataset.piece = this.mark.name;
    made.textContent = this.mark.insert.replace(/\r/g, "").slice(0, MAX_SHOWN) + (this.mark.insert.length > MAX_SHOWN ? "…" : "");
    made.title = "Suggested. Ctrl . goes to it.";
    return made;
  }
  override ignoreEvent(): boolean {
    return false;
  }
}

const decorations = EditorView.decorations.compute([marks], (state) => {
  const found: Range<Decoration>[] = [];
  for (const it of state.field(marks)) {
    const [from, to] = [Math.min(it.from, state.doc.length), Math.min(it.to, state.doc.length)];
    if (to > from) found.push(Decoration.mark({ class: "cm-suggested-gone", attributes: { "data-piece": it.name } }).range(from, to));
    if (it.insert) found.push(Decoration.widget({ widget: new Insertion(it), side: 1 }).range(to));
  }
  return Decoration.set(found, true) as DecorationSet;
});

/** `onopen`: somebody wants the card of a piece, by its name. */
export function suggested(onopen: (name: string) => void): Extension {
  return [
    marks,
    decorations,
    EditorView.domEventHandlers({
      mousedown(event) {
        const name = (event.target as HTMLElement).closest<HTMLElement>("[data-piece]")?.dataset.piece;
        if (name) onopen(name);
        return false;
      },
    }),
    keymap.of([
      {
        key: "Mod-.",
        run(view) {
          const all = view.state.field(marks);
          const at = view.state.selection.main.head;
          const nearest = [...all].sort((a, b) => Math.abs(a.from - at) - Math.abs(b.from - at))[0];
          onopen(nearest?.name ?? "");
          return true;
        },
      },
    ]),
  ];
}

export function nameOf({ of, piece }: OpenPiece): string {
  return `${of.suggestion}:${piece.piece}`;
}

/** Show these in the text, where they are now; those whose text is another are only in the list. */
export function showSuggested(view: EditorView, pieces: OpenPiece[]): void {
  const text = view.state.doc.toString();
  const found = pieces.flatMap((it): Mark[] => {
    if (it.piece.offset === undefined) return [];
    const from = unitsAt(text, it.piece.offset);
    const to = from + it.piece.old.length;
    if (text.slice(from, to) !== it.piece.old) return [];
    return [{ name: nameOf(it), from, to, insert: it.piece.new, kind: isByAgent(it.of) ? "agent" : "person" }];
  });
  view.dispatch({ effects: shown.of(found) });
}

/** Scroll to a piece and put the cursor before it, without taking the focus. */
export function revealSuggested(view: EditorView, name: string): void {
  const mark = view.state.field(marks).find((it) => it.name === name);
  if (mark) view.dispatch({ effects: EditorView.scrollIntoView(mark.from, { y: "center" }), selection: { anchor: mark.from } });
}
