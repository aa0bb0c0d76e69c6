// The source of a live document in CodeMirror: the text is the file, byte for byte.

import { closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, insertNewlineKeepIndent } from "@codemirror/commands";
import { lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { Compartment, EditorState, Prec } from "@codemirror/state";
import { EditorView, dropCursor, keymap, placeholder } from "@codemirror/view";
import { yCollab, yUndoManagerKeymap } from "y-codemirror.next";
import * as Y from "yjs";
import { checks } from "./checks";
import { completion, type LinkTarget } from "./completion";
import { images, type ImageOptions } from "./images";
import { wikiMarkdown } from "./language";
import { lineEnds } from "./line_ends";
import type { LiveDocument } from "./live";
import { continueMarkup, toggleMark } from "./markup";
import { presence } from "./presence";
import { suggested } from "./suggested";
import { theme } from "./theme";

export interface SourceOptions {
  live: LiveDocument;
  root: ShadowRoot;
  label: string;
  targets: () => Promise<LinkTarget[]>;
  images: ImageOptions;
  chooseImage: () => void;
  onsuggestion: (name: string) => void;
  onchange: () => void;
  /** The cursor was moved, by hand or by typing. */
  oncursor: () => void;
}

const writable = new Compartment();
/** The bar of the page and that of the editor. */
const STICKY_BARS_PX = 112;

export function openSource(options: SourceOptions): EditorView {
  const { live, root, label } = options;
  const text = live.text.toString();
  // Only what was typed here is undone here: the sync of this editor is the one tracked origin.
  const undoManager = new Y.UndoManager(live.text, { captureTimeout: 400 });
  return new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineEnds(text),
        yCollab(live.text, null, { undoManager }),
        presence(live.awareness, live.text),
        suggested(options.onsuggestion),
        wikiMarkdown,
        theme,
        // The cursor and the selection are the browser's: one that is drawn blinks by an animation, and each key waits for its frames.
        dropCursor(),
        EditorView.lineWrapping,
        // The bars that stay at the top of the page hide no line with the cursor.
        EditorView.scrollMargins.of(() => ({ top: STICKY_BARS_PX })),
        EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "true", autocapitalize: "sentences" }),
        writable.of(access(false)),
        placeholder("Write here. Type / for blocks, [[ for links."),
        completion(options.targets, { chooseImage: options.chooseImage }),
        closeBrackets(),
        checks,
        images(options.images),
        search({ top: true }),
        highlightSelectionMatches(),
        Prec.high(keymap.of([{ key: "Enter", run: continueMarkup }])),
        keymap.of([
          { key: "Mod-b", run: toggleMark("**") },
          { key: "Mod-i", run: toggleMark("*") },
          { key: "Mod-e", run: toggleMark("`") },
          // It is stored while one types: the browser's dialog would only be in the way.
          { key: "Mod-s", run: () => true },
          { key: "Shift-Enter", run: insertNewlineKeepIndent },
          ...closeBracketsKeymap,
          ...yUndoManagerKeymap,
          ...searchKeymap,
          ...completionKeymap,
          ...lintKeymap,
          ...defaultKeymap,
        ]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) options.onchange();
          if (update.selectionSet && update.transactions.some((it) => it.isUserEvent("select") || it.isUserEvent("input"))) options.oncursor();
        }),
      ],
    }),
  });
}

/** Take back the last change that was made here. */
export function undo(view: EditorView): void {
  yUndoManagerKeymap.find((it) => it.key === "Mod-z")?.run?.(view);
}

export function setWritable(view: EditorView, mayWrite: boolean): void {
  if (view.state.readOnly !== mayWrite) return;
  view.dispatch({ effects: writable.reconfigure(access(mayWrite)) });
}

function access(mayWrite: boolean): import("@codemirror/state").Extension {
  // Not editable would take away the focus, and with it the keys for selecting and copying.
  return [EditorState.readOnly.of(!mayWrite), EditorView.contentAttributes.of({ "aria-readonly": String(!mayWrite) })];
}

