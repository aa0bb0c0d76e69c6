// Footnotes: `[^name]` in the text, `[^name]: words` where they stand. The server renders the same
// (src/pecia/interfaces/http/pages/footnotes.py).

import type MarkdownIt from "markdown-it";

type Parser = InstanceType<typeof MarkdownIt>;
type BlockState = InstanceType<Parser["block"]["State"]>;

const DEFINITION = /^\[\^([^\][\s]{1,60})\]:[ \t]*(.*)$/;
const REFERENCE = /^\[\^([^\][\s]{1,60})\]/;

/** `href` gives the address of a place in the document by its id. */
export function addFootnotes(md: Parser, href: (id: string) => string): void {
  const defined = new Set<string>();
  const numbers = new Map<string, number>();
  const { escapeHtml } = md.utils;
  const id = (kind: "fn" | "fnref", name: string): string => `${kind}-${[...defined].indexOf(name) + 1}`;
  const anchor = (to: string, more: string, words: string): string => `<a href="${escapeHtml(href(to))}"${more}>${words}</a>`;

  md.block.ruler.before("reference", "footnote", (state, first, end, silent) => definition(state, first, end, silent, defined), { alt: ["paragraph"] });
  md.inline.ruler.before("link", "footnote_reference", (state, silent) => {
    const match = REFERENCE.exec(state.src.slice(state.pos, state.pos + 70));
    const name = match?.[1] ?? "";
    if (!match || !defined.has(name)) return false;
    if (!silent) {
      const token = state.push("footnote_reference", "", 0);
      token.meta = { name, isFirst: !numbers.has(name) };
      if (!numbers.has(name)) numbers.set(name, numbers.size + 1);
    }
    state.pos += match[0].length;
    return true;
  });
  md.renderer.rules.footnote_reference = (tokens, at) => {
    const { name, isFirst } = tokens[at]!.meta as { name: string; isFirst: boolean };
    return `<sup${isFirst ? ` id="${id("fnref", name)}"` : ""}>${anchor(id("fn", name), "", String(numbers.get(name)))}</sup>`;
  };
  md.renderer.rules.footnote_open = (tokens, at, options, _, renderer) => {
    const token = tokens[at]!;
    token.attrSet("id", id("fn", token.info));
    return `${renderer.renderToken(tokens, at, options)}<sup>${numbers.get(token.info) ?? escapeHtml(token.info)}</sup> `;
  };
  md.renderer.rules.footnote_close = (tokens, at) => {
    const { info } = tokens[at]!;
    return numbers.has(info) ? ` ${anchor(id("fnref", info), ' aria-label="Back to the text"', "↩")}</p>\n` : "</p>\n";
  };
}

function definition(state: BlockState, first: number, end: number, silent: boolean, defined: Set<string>): boolean {
  const lineOf = (at: number): string => state.src.slice(state.bMarks[at]! + state.tShift[at]!, state.eMarks[at]).trimEnd();
  const match = state.sCount[first]! - state.blkIndent < 4 ? DEFINITION.exec(lineOf(first)) : null;
  if (!match) return false;
  if (silent) return true;
  const [, name = "", words = ""] = match;
  const lines = [words];
  let next = first + 1;
  while (next < end && lineOf(next) && !DEFINITION.test(lineOf(next))) lines.push(lineOf(next++));
  defined.add(name);
  const open = state.push("footnote_open", "p", 1);
  open.attrs = [["class", "footnote"]];
  open.info = name;
  const inline = state.push("inline", "", 0);
  inline.content = lines.join("\n");
  inline.children = [];
  state.push("footnote_close", "p", -1).info = name;
  open.map = inline.map = [first, next];
  state.line = next;
  return true;
}
