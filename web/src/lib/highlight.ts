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

/** A snippet on one line: without the marks of headings, lists and frontmatter. */
export function flatPieces(html: string): Piece[] {
  const text = html
    .replace(/^(?:\.\.\.|…)?---\n[\s\S]*?\n---\n/, "")
    .replace(/^[ \t]*(?:#{1,6}|[-*+]|\d+\.|&gt;|>)[ \t]+/gm, "")
    .replace(/^[|:\s-]{3,}$/gm, "")
    .replace(/\[\[([^\][|\n]*\|)?([^\][\n]*)\]\]/g, (_, __, target: string) => linkWords(target))
    .replace(/!?\[([^\][\n]*)\]\([^()\n]*\)/g, "$1")
    .replace(/^\|[ \t]*|[ \t]*\|[ \t]*$/gm, "")
    .replace(/[ \t]+\|[ \t]+/g, " · ")
    .replace(/`/g, "")
    .replace(/\*\*/g, "")
    .replace(/\s*\n\s*\n\s*/g, " · ")
    .replace(/\s+/g, " ")
    .replace(/^[ ·]+|[ ·]+$/g, "");
  return snippetPieces(text);
}

/** What a wiki link is called: the name of its page, and its heading. */
function linkWords(target: string): string {
  const [page = "", anchor] = target.split("#");
  const name = page.split("/").pop() ?? page;
  return [name, anchor].filter(Boolean).join(", ");
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
