// Text of a page, whose lines end where the paper did.

const BULLET = /^\s*(?:[•‣▪–—*·-]|\(?\d{1,3}[.)]|\d+(?:\.\d+)+\.?|[a-z][.)])\s/;
/** A line as long as this share of the longest one was broken for want of space; a shorter one too, where the next begins small. */
const FULL = 0.85;
const NEARLY_FULL = 0.6;
const MIN_CHARS = 40;

/** The same text with its paragraphs in one line each, to be wrapped by who shows it. Only line ends change, one character for one. */
export function joinLines(text: string): string {
  const lines = text.split("\n");
  const longest = Math.max(...lines.map((it) => it.length));
  if (longest < MIN_CHARS) return text;
  return lines.reduce((joined, line, at) => {
    if (at === 0) return line;
    const before = lines[at - 1]!;
    const isFull = before.trimEnd().length >= longest * (/^\p{Ll}/u.test(line) ? NEARLY_FULL : FULL);
    const isHeld = isFull && line.trim() !== "" && !BULLET.test(line) && !before.includes(". . .");
    return joined + (isHeld ? " " : "\n") + line;
  }, "");
}
