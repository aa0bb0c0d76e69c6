// Marked text as pieces. Each piece is inserted as text, so nothing in a file becomes markup.

export interface Piece {
  text: string;
  marked: boolean;
}

const ESCAPES: Record<string, string> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#x27;": "'",
  "&#39;": "'",
  "&amp;": "&",
};

/** A snippet of the API: escaped, with `<mark>` around matches. No other tag counts. */
export function snippetPieces(html: string): Piece[] {
  const pieces: Piece[] = [];
  let marked = false;
  for (const part of html.split(/(<\/?mark>)/)) {
    if (part === "<mark>") marked = true;
    else if (part === "</mark>") marked = false;
    else if (part) pieces.push({ text: unescaped(part), marked });
  }
  return pieces;
}

// While Markdown is taken off, one character stands for each tag: a tag has a slash, as paths have.
const OPEN = "\ue000";
const CLOSE = "\ue001";

/** Its address may have a pair of brackets, as those of encyclopedias have. */
const LINK = /!?\[([^\][\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)/g;

/** A snippet on one line: without the marks of headings, lists and frontmatter, and without the
 * heading above it, which stands beside the passage already. */
export function flatPieces(html: string, heading = ""): Piece[] {
  const text = html
    .replace(/[\ue000\ue001]/g, "")
    .replaceAll("<mark>", OPEN)
    .replaceAll("</mark>", CLOSE)
    .replace(/^(?:\.\.\.|…)?---\n[\s\S]*?\n---\n/, "")
    .replace(/^([\ue000]?)[ \t]*(?:#{1,6}|[-*+]|\d+\.|&gt;|>)[ \t]+/gm, "$1")
    .replace(/^[|:\s-]{3,}$/gm, "")
    .replace(/\[\[([^\][|\n]*\|)?([^\][\n]*)\]\]/g, (_, __, target: string) => linkWords(target))
    .replace(LINK, "$1")
    // A picture that is a link is one inside another.
    .replace(LINK, "$1")
    // A passage may begin or end in the middle of one.
    .replace(/^([^[\]()\n]*)\]\((?:[^()\n]|\([^()\n]*\))*\)/, "$1")
    .replace(/!?\[([^[\]\n]*)\]\([^()\n]*$/, "$1")
    .replace(/^\|[ \t]*|[ \t]*\|[ \t]*$/gm, "")
    .replace(/(?:[ \t]+\|)+[ \t]+/g, " · ")
    .replace(/`/g, "")
    .replace(/\*\*/g, "")
    .replace(/\s*\n\s*\n\s*/g, " · ")
    .replace(/\s+/g, " ")
    .replace(/([:;,]) · /g, "$1 ")
    .replace(/^[ ·]+|[ ·]+$/g, "");
  const shown = withoutHeading(text, heading).replaceAll(OPEN, "<mark>").replaceAll(CLOSE, "</mark>");
  return snippetPieces(shown);
}

/** Markdown as its words, on one line. */
export function flatText(text: string): string {
  const words = flatPieces(escaped(text)).map((it) => it.text).join("");
  return words.replace(/\*|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, "");
}

/** A heading as its words; in a text made from HTML it may end in a link to it that is only a sign. */
export function headingWords(heading: string): string {
  return flatText(heading.replace(/\[[^\p{L}\p{N}\]]*\]\([^)]*\)\s*$/u, ""));
}

const HEAD = /^---\r?\n[\s\S]*?(?:\r?\n---[ \t]*(?:\r?\n|$)|$)/;

/** The frontmatter at the beginning of a file, with its fences; empty where there is none. A passage may end in it. */
export function headOf(text: string): string {
  return HEAD.exec(text)?.[0] ?? "";
}

/** Whether a snippet is of the frontmatter alone: properties, not text. */
export function isOfHead(snippet: string, text: string, start: number): boolean {
  const head = start === 0 ? headOf(text).trimEnd() : "";
  const plain = snippetPieces(snippet).map((it) => it.text).join("").replace(/^(?:\.\.\.|…)|(?:\.\.\.|…)$/g, "").trim();
  const at = plain ? text.indexOf(plain) : -1;
  return head !== "" && at >= 0 && at + plain.length <= head.length;
}

/** Properties as text, on one line: without fences, brackets and the title, which stands above. */
export function propertyPieces(snippet: string): Piece[] {
  const lines = propertyLines(snippet.replaceAll("<mark>", OPEN).replaceAll("</mark>", CLOSE));
  return snippetPieces(lines.filter((it) => !/^title:/.test(it)).join(" · ").replaceAll(OPEN, "<mark>").replaceAll(CLOSE, "</mark>"));
}

/** The lines of a frontmatter that say something. */
export function propertyLines(head: string): string[] {
  return head
    .split("\n")
    .map((it) => it.replace(/[[\]]/g, "").trimEnd())
    .filter((it) => it.trim() && !/^(?:\.\.\.|…)?---[ \t]*$/.test(it));
}

/** What stands before a passage that begins with a line or a sentence. */
const LINE_BEGIN = /(?:(?:^|\n)[ \t]*(?:#{1,6}|[-*+|>]|\d+\.)?[ \t]*|[.!?:]["”’)]?\s+)$/;

/** A passage of a hit: where a sentence is cut off at its begin or end, an ellipsis says so. */
export function passagePieces(snippet: string, text: string, heading: string): Piece[] {
  const pieces = flatPieces(snippet, heading);
  const plain = snippetPieces(snippet).map((it) => it.text).join("").trim();
  const at = plain ? text.indexOf(plain) : -1;
  if (at < 0 || !pieces.length) return pieces;
  const [before, after] = [text.slice(0, at), text.slice(at + plain.length)];
  const isWhole = lengthOf(flatPieces(snippet)) === lengthOf(pieces);
  if (isWhole && before.trim() && !LINE_BEGIN.test(before)) pieces.unshift({ text: "… ", marked: false });
  if (after.trim() && !/^[ \t]*\n/.test(after) && !/[.!?]["”’)]?$/.test(plain)) pieces.push({ text: " …", marked: false });
  return pieces;
}

function lengthOf(pieces: Piece[]): number {
  return pieces.reduce((sum, it) => sum + it.text.length, 0);
}

/** Its words may be marked as found, and a snippet may begin in the middle of it. */
function withoutHeading(text: string, heading: string): string {
  const [first = "", ...rest] = text.split(" · ");
  const words = first.replace(/[\ue000\ue001]/g, "").trim();
  return words && rest.length && escaped(heading.trim()).endsWith(words) ? rest.join(" · ") : text;
}

/** What a wiki link is called: the name of its page, and its heading. */
function linkWords(target: string): string {
  const [page = "", anchor] = target.split("#");
  const name = page.split("/").pop() ?? page;
  const words = [name, anchor].filter(Boolean).join(", ");
  const opened = words.split(OPEN).length - words.split(CLOSE).length;
  return OPEN.repeat(Math.max(0, -opened)) + words + CLOSE.repeat(Math.max(0, opened));
}

/** A text with these words marked wherever they stand alone, in any case. */
export function wordPieces(text: string, words: string[]): Piece[] {
  const wanted = words.map((it) => it.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (!wanted.length) return [{ text, marked: false }];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${wanted.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  // `split` puts the captured group at every odd index.
  return text
    .split(pattern)
    .map((it, index) => ({ text: it, marked: index % 2 === 1 }))
    .filter((it) => it.text);
}

/** The words to mark in a file: those of the query, and the forms that a snippet marked. */
export function wordsOf(query: string, snippet = ""): string[] {
  const terms = query.match(/[\p{L}\p{N}]+/gu) ?? [];
  const found = snippetPieces(snippet).filter((it) => it.marked);
  const words = [...terms, ...found.map((it) => it.text)].map((it) => it.toLowerCase());
  return [...new Set(words)].sort((a, b) => b.length - a.length).slice(0, 100);
}

function unescaped(text: string): string {
  return text.replace(/&(?:lt|gt|quot|amp|#x27|#39);/g, (it) => ESCAPES[it] ?? it);
}

function escaped(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;").replace(/'/g, "&#x27;");
}
