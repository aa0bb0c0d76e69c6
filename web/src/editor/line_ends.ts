// Line ends of the file as they are. CodeMirror would turn every kind into one; here a line ends
// with "\n" alone, so that a "\r" before it is a character that stays. In a document with "\r\n"
// it is hidden, and what is typed gets one too.

import { Annotation, EditorState, type Extension, type Range, type Transaction, type TransactionSpec } from "@codemirror/state";
import { Decoration, EditorView, ViewPlugin, type DecorationSet, type ViewUpdate } from "@codemirror/view";
import { ySyncAnnotation } from "y-codemirror.next";

const converted = Annotation.define<boolean>();
const hidden = Decoration.replace({});

export function lineEnds(text: string): Extension {
  const base = EditorState.lineSeparator.of("\n");
  return text.includes("\r\n") ? [base, withReturns, EditorState.transactionFilter.of(addReturns), atomic] : base;
}

const withReturns = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;
    constructor(view: EditorView) {
      this.decorations = returns(view);
    }
    update(update: ViewUpdate): void {
      if (update.docChanged || update.viewportChanged) this.decorations = returns(update.view);
    }
  },
  { decorations: (it) => it.decorations },
);

const atomic = EditorView.atomicRanges.of((view) => view.plugin(withReturns)?.decorations ?? Decoration.none);

function returns(view: EditorView): DecorationSet {
  const found: Range<Decoration>[] = [];
  for (const { from, to } of view.visibleRanges) {
    for (let at = from; at <= to; ) {
      const line = view.state.doc.lineAt(at);
      if (line.text.endsWith("\r")) found.push(hidden.range(line.to - 1, line.to));
      at = line.to + 1;
    }
  }
  return Decoration.set(found);
}

function addReturns(tr: Transaction): TransactionSpec | readonly TransactionSpec[] {
  if (!tr.docChanged || tr.annotation(ySyncAnnotation) || tr.annotation(converted)) return tr;
  const changes: { from: number; to: number; insert: string }[] = [];
  let isNeeded = false;
  const { doc } = tr.startState;
  tr.changes.iterChanges((fromA, toA, _fromB, _toB, insert) => {
    const text = insert.sliceString(0, insert.length, "\n");
    const full = text.replace(/\r?\n/g, "\r\n");
    let [from, to] = [fromA, toA];
    if (to > from) {
      // Half of a line end is not deleted.
      if (doc.sliceString(from - 1, from + 1) === "\r\n") from -= 1;
      if (doc.sliceString(to - 1, to + 1) === "\r\n") to += 1;
    }
    isNeeded ||= full !== text || from !== fromA || to !== toA;
    changes.push({ from, to, insert: full });
  });
  if (!isNeeded) return tr;
  const made = tr.startState.changes(changes);
  const last = changes.at(-1)!;
  const head = made.mapPos(last.to, 1);
  return {
    changes: made,
    selection: { anchor: head },
    annotations: converted.of(true),
    userEvent: "input",
    scrollIntoView: true,
  };
}
