// Checks while one writes: links that lead nowhere, and frontmatter that is not YAML.

import { linter, type Diagnostic } from "@codemirror/lint";
import { StateEffect, StateField, type Extension, type Text } from "@codemirror/state";
import type { EditorView } from "@codemirror/view";
import { parseFrontmatter } from "./frontmatter";
import type { DeadLink } from "./wiki";

const found = StateEffect.define<DeadLink[]>();

const dead = StateField.define<DeadLink[]>({
  create: () => [],
  update(value, tr) {
    for (const it of tr.effects) if (it.is(found)) return it.value;
    return value;
  },
});

const LINK = /\[\[([^[\]\n|#]+)(?:#[^[\]\n|]*)?(?:\|[^[\]\n]*)?\]\]|\[[^\]\n]*\]\(<?([^)\s>]+)>?[^)\n]*\)/g;

export const checks: Extension = [dead, linter(check, { delay: 400, needsRefresh: (update) => update.startState.field(dead) !== update.state.field(dead) })];

/** What the server's resolver says of the links of this document. */
export function showDeadLinks(view: EditorView, links: DeadLink[]): void {
  view.dispatch({ effects: found.of(links) });
}

function check(view: EditorView): Diagnostic[] {
  return [...frontmatter(view.state.doc), ...deadLinks(view.state.doc, view.state.field(dead))];
}

function frontmatter(doc: Text): Diagnostic[] {
  const problem = parseFrontmatter(doc.sliceString(0, Math.min(doc.length, 100_000)))?.problem;
  if (!problem) return [];
  return [{ from: problem.from, to: Math.min(problem.to, doc.length), severity: "error", source: "frontmatter", message: problem.message }];
}

function deadLinks(doc: Text, links: DeadLink[]): Diagnostic[] {
  if (!links.length) return [];
  const known = new Map(links.map((it) => [plain(it.target), it]));
  const rows: Diagnostic[] = [];
  for (const it of doc.toString().matchAll(LINK)) {
    const target = it[1] ?? decoded(it[2] ?? "");
    const link = known.get(plain(target)) ?? [...known.values()].find((one) => plain(one.target).endsWith(`/${plain(target).replace(/^(\.\.?\/)+/, "")}`));
    if (!link) continue;
    const candidates = link.sources[0]?.candidates;
    const message = candidates?.length
      ? `“${target}” may be any of: ${candidates.join(", ")}. Write the whole path.`
      : `There is no document “${target}”.`;
    rows.push({ from: it.index, to: it.index + it[0].length, severity: "warning", source: "link", message });
  }
  return rows;
}

function plain(target: string): string {
  return target.trim().replace(/\.mdx?(#.*)?$/i, "").replace(/#.*$/, "").toLowerCase();
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
