// Completion: documents after `[[`, and blocks after a slash at the start of a line.

import { autocompletion, type Completion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import type { Extension } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";

export interface LinkTarget {
  name: string;
  title?: string;
}

interface Block {
  label: string;
  detail: string;
  /** `‸` is where the cursor goes. */
  text: string;
}

const BLOCKS: Block[] = [
  { label: "/heading 1", detail: "title", text: "# ‸" },
  { label: "/heading 2", detail: "section", text: "## ‸" },
  { label: "/heading 3", detail: "smaller section", text: "### ‸" },
  { label: "/list", detail: "bullets", text: "- ‸" },
  { label: "/numbered", detail: "numbered list", text: "1. ‸" },
  { label: "/task", detail: "to do", text: "- [ ] ‸" },
  { label: "/quote", detail: "quotation", text: "> ‸" },
  { label: "/callout", detail: "highlighted note", text: "> [!note]\n> ‸" },
  { label: "/code", detail: "code block", text: "```‸\n\n```" },
  { label: "/table", detail: "two columns", text: "| ‸ |  |\n| --- | --- |\n|  |  |" },
  { label: "/rule", detail: "horizontal line", text: "---\n‸" },
  { label: "/link", detail: "to a document", text: "[[‸" },
  { label: "/date", detail: "today", text: "" },
];

export interface Commands {
  /** Opens the file chooser for an image. */
  chooseImage: () => void;
}

export function completion(targets: () => Promise<LinkTarget[]>, commands: Commands): Extension {
  return autocompletion({
    override: [(context) => links(context, targets), (context) => blocks(context, commands)],
    icons: false,
    closeOnBlur: true,
  });
}

async function links(context: CompletionContext, targets: () => Promise<LinkTarget[]>): Promise<CompletionResult | null> {
  const open = context.matchBefore(/\[\[[^\[\]\n|#]*/);
  if (!open) return null;
  const found = await targets();
  if (context.aborted) return null;
  return {
    from: open.from + 2,
    options: found.map((it) => ({ label: it.name, detail: it.title, type: "text", apply: close })),
    validFor: /^[^\[\]\n|#]*$/,
  };
}

/** The target, and the closing brackets where they are not there yet. */
function close(view: EditorView, chosen: Completion, from: number, to: number): void {
  const has = view.state.sliceDoc(to, to + 2) === "]]";
  const insert = chosen.label + (has ? "" : "]]");
  view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + chosen.label.length + 2 }, userEvent: "input.complete" });
}

function blocks(context: CompletionContext, commands: Commands): CompletionResult | null {
  const typed = context.matchBefore(/^[ \t]*\/[\w ]*/);
  if (!typed) return null;
  const from = typed.from + typed.text.indexOf("/");
  const options: Completion[] = BLOCKS.map((it) => ({ label: it.label, detail: it.detail, apply: (view, _, start, end) => insertBlock(view, it, start, end) }));
  options.push({
    label: "/image",
    detail: "from a file",
    apply: (view, _, start, end) => {
      view.dispatch({ changes: { from: start, to: end } });
      commands.chooseImage();
    },
  });
  return { from, options, validFor: /^\/[\w ]*$/ };
}

function insertBlock(view: EditorView, block: Block, from: number, to: number): void {
  const text = block.label === "/date" ? `${new Date().toISOString().slice(0, 10)}‸` : block.text;
  const at = text.indexOf("‸");
  const insert = text.slice(0, at) + text.slice(at + 1);
  view.dispatch({ changes: { from, to, insert }, selection: { anchor: from + at }, userEvent: "input.complete", scrollIntoView: true });
}
