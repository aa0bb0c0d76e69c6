// Markdown to HTML: markdown-it, then DOMPurify. The server renders the same rules without scripts
// (src/pecia/interfaces/http/pages/markdown.py); a test compares the two.

import DOMPurify from "dompurify";
import MarkdownIt from "markdown-it";
import { addFootnotes } from "./footnotes";

type Parser = InstanceType<typeof MarkdownIt>;
type BlockState = InstanceType<Parser["block"]["State"]>;
type Token = ReturnType<Parser["parse"]>[number];

export interface Heading {
  level: number;
  text: string;
  id: string;
}

/** Where a link of a document leads. `missing`: nowhere yet. */
export interface Resolved {
  href: string;
  missing?: boolean;
  title?: string;
}

export interface RenderOptions {
  /** A `[[wiki link]]` or relative address, and its `#anchor`. */
  resolve: (target: string, anchor: string) => Resolved | null;
  /** Where an image is; null shows its description instead. */
  image?: (target: string) => string | null;
  /** Lines of the source that are marked as found, and words that narrow them down. */
  found?: { first: number; last: number; words: string[] };
  /** Whether blocks say which line of the source they begin at, in `data-line`. */
  hasLines?: boolean;
}

export interface Rendered {
  /** The first heading, where the document begins with one: it is not in the fragment. */
  title: string;
  fragment: DocumentFragment;
  headings: Heading[];
}

const HTML_TAGS = new Set("b br code del details em i ins kbd mark s small strong sub summary sup u".split(" "));
/** Their colours; any other kind is a plain note. */
const CALLOUTS: Record<string, string> = {
  tip: "good", hint: "good", success: "good", check: "good", done: "good",
  important: "warn", warning: "warn", attention: "warn", question: "warn", help: "warn", faq: "warn",
  caution: "bad", danger: "bad", error: "bad", failure: "bad", fail: "bad", missing: "bad", bug: "bad",
};
const PURIFY = {
  ALLOWED_TAGS: [
    ..."a b blockquote br code del details div em h1 h2 h3 h4 h5 h6 hr i img ins kbd li mark ol p pre s small".split(" "),
    ..."strong sub summary sup table tbody td th thead tr u ul".split(" "),
  ],
  ALLOWED_ATTR: ["href", "title", "id", "class", "src", "alt", "rel", "start", "tabindex", "role", "aria-label", "loading", "open", "data-line"],
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true as const,
};

const MAX_SECTION_BLOCKS = 20;

export function slug(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .trim()
    .replace(/\s+/g, "-");
}

/** The frontmatter of a document and what follows it, with the number of lines before. */
export function splitFrontmatter(text: string): { head: string; body: string; lines: number } {
  const match = /^---\r?\n([\s\S]*?)\r?\n---[ \t]*(?:\r?\n|$)/.exec(text);
  if (!match) return { head: "", body: text, lines: 0 };
  return { head: match[1] ?? "", body: text.slice(match[0].length), lines: match[0].split("\n").length - 1 };
}

export function renderMarkdown(text: string, options: RenderOptions): Rendered {
  const { md, tokens, headings, title } = parse(text, options);
  if (options.found) markFound(tokens, options.found);
  if (options.hasLines) for (const it of tokens) if (it.map && it.nesting >= 0 && it.type !== "inline") it.attrSet("data-line", String(it.map[0]));
  const html = md.renderer.render(tokens, md.options, {});
  return { fragment: sanitize(html), headings, title };
}

export interface RenderedSection {
  html: string;
  /** The line of the source that it begins at. Not in the HTML: a new line above would change it. */
  line: number;
}

/** The HTML of a document section by section, to be sanitized: an edit leaves most of them as they were. */
export function renderSections(text: string, options: RenderOptions): RenderedSection[] {
  const { md, tokens, title } = parse(text, options);
  const sections = splitSections(tokens).map((it) => ({ html: md.renderer.render(it, md.options, {}), line: it[0]?.map?.[0] ?? 0 }));
  return title ? [{ html: `<h1>${md.utils.escapeHtml(title)}</h1>`, line: 0 }, ...sections] : sections;
}

export function sanitize(html: string): DocumentFragment {
  return DOMPurify.sanitize(html, PURIFY) as unknown as DocumentFragment;
}

function parse(text: string, options: RenderOptions): { md: Parser; tokens: Token[]; headings: Heading[]; title: string } {
  const md = parser(options);
  const tokens = md.parse(text, {});
  const headings = nameHeadings(tokens);
  const isTitled = tokens[0]?.type === "heading_open" && tokens[0].tag === "h1";
  const title = isTitled ? (headings.shift()?.text ?? "") : "";
  if (isTitled) tokens.splice(0, 3);
  tidy(tokens);
  return { md, tokens, headings, title };
}

/** A section begins with a heading, and where one would have too many blocks. */
function splitSections(tokens: Token[]): Token[][] {
  const sections: Token[][] = [];
  let blocks = MAX_SECTION_BLOCKS;
  for (const it of tokens) {
    const isBegin = it.level === 0 && it.nesting >= 0;
    if (isBegin && (blocks >= MAX_SECTION_BLOCKS || it.type === "heading_open")) {
      sections.push([]);
      blocks = 0;
    }
    if (isBegin) blocks++;
    sections.at(-1)!.push(it);
  }
  return sections;
}

function parser(options: RenderOptions): Parser {
  const md = new MarkdownIt({ html: true, linkify: true });
  md.inline.ruler.before("link", "wiki_link", (state, silent) => {
    const match = /^\[\[([^[\]|\n#]*)(?:#([^[\]|\n]*))?(?:\|([^[\]\n]*))?\]\]/.exec(state.src.slice(state.pos, state.pos + 600));
    if (!match || !(match[1] || match[2])) return false;
    if (!silent) {
      const [whole, target = "", anchor = "", label] = match;
      const found = options.resolve(target.trim(), anchor.trim());
      const open = state.push("link_open", "a", 1);
      open.markup = "wiki";
      open.attrs = linkAttributes(found ?? { href: "", missing: true });
      state.push("text", "", 0).content = label?.trim() || found?.title || whole.slice(2, -2);
      state.push("link_close", "a", -1);
    }
    state.pos += match[0].length;
    return true;
  });
  addFootnotes(md, (id) => options.resolve("", id)?.href ?? "");
  md.inline.ruler.before("escape", "math", (state, silent) => {
    const match = /^\$([^\s$](?:[^$\n]{0,998}[^\s$\\])?)\$(?!\d)/.exec(state.src.slice(state.pos, state.pos + 1002));
    if (!match) return false;
    if (!silent) state.push("math_inline", "", 0).content = match[1] ?? "";
    state.pos += match[0].length;
    return true;
  });
  md.block.ruler.before("fence", "math_block", mathBlock, { alt: ["paragraph", "reference", "blockquote", "list"] });
  md.renderer.rules.math_inline = (tokens, at) => `<code class="math">${md.utils.escapeHtml(tokens[at]?.content ?? "")}</code>`;
  md.renderer.rules.math_block = (tokens, at) => formula(md, tokens[at]?.content ?? "");
  md.renderer.rules.html_block = md.renderer.rules.html_inline = (tokens, at) => bareTags(tokens[at]?.content ?? "");
  md.renderer.rules.table_open = () => '<div class="table-frame" role="group" aria-label="Table" tabindex="0"><table>\n';
  md.renderer.rules.table_close = () => "</table></div>\n";
  md.renderer.rules.fence = (tokens, at) => codeBlock(md, tokens[at]);
  md.renderer.rules.code_block = (tokens, at) => codeBlock(md, tokens[at]);
  md.core.ruler.push("addresses", (state) => {
    for (const block of state.tokens) for (const it of block.children ?? []) resolveAddress(it, options);
    return true;
  });
  return md;
}

/** `$$` on a line, or at its start and end: what stands between is a formula. */
function mathBlock(state: BlockState, first: number, end: number, silent: boolean): boolean {
  const lineOf = (at: number): string => state.src.slice(state.bMarks[at]! + state.tShift[at]!, state.eMarks[at]).trimEnd();
  if (state.sCount[first]! - state.blkIndent >= 4 || !lineOf(first).startsWith("$$")) return false;
  const lines = [lineOf(first).slice(2)];
  let last = first;
  while (!lines[last - first]!.endsWith("$$")) {
    last++;
    if (last >= end || (lineOf(last) && state.sCount[last]! < state.blkIndent)) return false;
    lines.push(lineOf(last));
  }
  if (silent) return true;
  const token = state.push("math_block", "", 0);
  token.block = true;
  token.content = lines.join("\n").slice(0, -2).trim();
  token.map = [first, last + 1];
  state.line = last + 1;
  return true;
}

function formula(md: Parser, text: string): string {
  return `<pre class="math" tabindex="0"><code class="math">${md.utils.escapeHtml(text)}</code></pre>\n`;
}

function codeBlock(md: Parser, token: Token | undefined): string {
  if (token?.info.trim() === "math") return formula(md, token.content.trim());
  const language = /^[\w+#-]{1,30}/.exec(token?.info.trim() ?? "")?.[0];
  const kind = language ? ` class="language-${language.toLowerCase()}"` : "";
  const line = token?.attrGet("data-line");
  return `<pre tabindex="0"${line ? ` data-line="${line}"` : ""}><code${kind}>${md.utils.escapeHtml(token?.content ?? "")}</code></pre>\n`;
}

/** HTML in a document: a few tags without attributes, no comments; the rest is shown as text. */
function bareTags(html: string): string {
  const plain = html.replace(/<!--[\s\S]*?-->/g, "");
  return plain.replace(/<(\/?)([a-zA-Z][\w-]*)[^<>]*>|[<>&]/g, (whole, close: string | undefined, name: string | undefined) => {
    const tag = name?.toLowerCase() ?? "";
    if (HTML_TAGS.has(tag)) return `<${close ?? ""}${tag}>`;
    return whole.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  });
}

function linkAttributes(to: Resolved): [string, string][] {
  const attributes: [string, string][] = to.href ? [["href", to.href]] : [];
  if (to.missing) attributes.push(["class", "missing"], ["title", "This page does not exist yet"]);
  return attributes;
}

function resolveAddress(token: Token, options: RenderOptions): void {
  if (token.type === "link_open" && token.markup !== "") return;
  if (token.type === "link_open") {
    const href = attribute(token, "href");
    if (!token.attrs || href.startsWith("#/")) return;
    if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(href)) {
      token.attrSet("class", "external");
      token.attrSet("rel", "noopener noreferrer");
      return;
    }
    const [target = "", anchor = ""] = href.split(/#(.*)/s);
    const found = options.resolve(decode(target), decode(anchor));
    if (found) token.attrs = linkAttributes(found);
  } else if (token.type === "image") {
    const src = options.image?.(decode(attribute(token, "src"))) ?? null;
    if (src === null) Object.assign(token, { type: "text", content: `[${token.content || "image"}]`, children: null });
    else token.attrs = [["src", src], ["alt", token.content], ["loading", "lazy"]];
  }
}

function attribute(token: Token, name: string): string {
  return String(token.attrGet(name) ?? "");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function nameHeadings(tokens: Token[]): Heading[] {
  const headings: Heading[] = [];
  const used = new Map<string, number>();
  tokens.forEach((token, at) => {
    if (token.type !== "heading_open") return;
    const inline = tokens[at + 1];
    dropSign(inline?.children ?? []);
    const text = (inline?.children ?? []).map((it) => (/^(text|code_inline|html_inline)$/.test(it.type) ? it.content : "")).join("").trim();
    const base = slug(text) || "section";
    const seen = used.get(base) ?? 0;
    used.set(base, seen + 1);
    const id = seen ? `${base}-${seen}` : base;
    token.attrSet("id", id);
    headings.push({ level: Number(token.tag.slice(1)), text, id });
  });
  return headings;
}

/** A page that was made from HTML may have, at the end of a heading, a link to it that is only a sign. */
function dropSign(children: Token[]): void {
  const [open, sign, close] = children.slice(-3);
  if (open?.type === "link_open" && close?.type === "link_close" && sign?.type === "text" && !/[\p{L}\p{N}]/u.test(sign.content)) children.splice(-3);
}

/** Alignments as classes (the policy allows no styles), tasks, callouts. */
function tidy(tokens: Token[]): void {
  tokens.forEach((token, at) => {
    const align = /text-align:(\w+)/.exec(attribute(token, "style"))?.[1];
    if (align) token.attrs = align === "left" ? null : [["class", `align-${align}`]];
    if (token.type === "list_item_open") tidyTask(token, tokens[at + 2]);
    if (token.type === "blockquote_open") tidyCallout(token, tokens, at);
  });
}

function tidyTask(item: Token, inline: Token | undefined): void {
  const first = inline?.type === "inline" ? inline.children?.[0] : undefined;
  const match = /^\[([ xX])\] /.exec(first?.content ?? "");
  if (!match || !first) return;
  first.content = `${match[1] === " " ? "☐" : "☑"} ${first.content.slice(4)}`;
  item.attrJoin("class", "task");
}

/** `> [!kind] Name`: its first line is the name, what follows is text. With `-` or `+` it folds. */
function tidyCallout(quote: Token, tokens: Token[], at: number): void {
  const inline = tokens[at + 2];
  const children = (inline?.type === "inline" && inline.children) || [];
  const match = /^\[!([\w-]+)\]([+-]?)[ \t]*(.*)$/.exec(children[0]?.content ?? "");
  if (!inline || !match) return;
  const [, kind = "", fold, name] = match;
  quote.tag = fold ? "details" : "div";
  quote.attrs = [["class", `callout ${CALLOUTS[kind.toLowerCase()] ?? ""}`.trim()]];
  if (fold === "+") quote.attrs.push(["open", ""]);
  const close = tokens.findIndex((it, index) => index > at && it.type === "blockquote_close" && it.level === quote.level);
  if (close > 0) tokens[close]!.tag = quote.tag;
  const end = children.findIndex((it) => it.type === "softbreak" || it.type === "hardbreak");
  const isNamed = name !== "" || (end < 0 ? children.length : end) > 1;
  children[0]!.content = isNamed ? (name ?? "") : kind[0]!.toUpperCase() + kind.slice(1);
  const [open, shut] = [tokens[at + 1]!, tokens[at + 3]!];
  if (end >= 0) tokens.splice(at + 4, 0, ...[open, inline, shut].map((it) => Object.assign(Object.create(Object.getPrototypeOf(it)), it, { attrs: null, children: it === inline ? children.slice(end + 1) : null })));
  if (end >= 0) inline.children = children.slice(0, end);
  open.attrs = [["class", "callout-name"]];
  if (fold) open.tag = shut.tag = "summary";
}

function markFound(tokens: Token[], { first, last, words }: { first: number; last: number; words: string[] }): void {
  const blocks = tokens.flatMap((token, at) => {
    const isBlock = /^(paragraph_open|footnote_open|heading_open|fence|math_block|tr_open|list_item_open)$/.test(token.type);
    if (!isBlock || !token.map || token.map[1] <= first || token.map[0] > last) return [];
    if (token.type === "paragraph_open" && tokens[at - 1]?.type === "list_item_open") return [];
    const text = tokens.slice(at, at + 12).find((it) => it.type === "inline" || it.type === "fence" || it.type === "math_block")?.content ?? "";
    return [{ token, score: words.filter((it) => text.toLowerCase().includes(it)).length }];
  });
  // A heading alone does not narrow a passage down: what stands below it is what was found.
  const texts = blocks.filter((it) => it.token.type !== "heading_open");
  const best = Math.max(0, ...texts.map((it) => it.score));
  for (const { token, score } of texts) if (score >= Math.max(1, best - 1)) token.attrJoin("class", "found");
  if (best === 0) for (const { token } of blocks) token.attrJoin("class", "found");
}
