// Lines of a text that were ended, or cut, where nobody meant it: by the paper, or between two passages.

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

interface Part {
  text: string;
  char_start: number;
  char_end: number;
}

/** The texts of passages: a line that was cut between two of them stands whole in the one where it begins.
 * Those that `isKept` names stay exactly as they are. */
export function wholeLines<T extends Part>(parts: T[], isKept: (it: T) => boolean): string[] {
  const texts = parts.map((it) => it.text);
  parts.forEach((it, at) => {
    const before = parts[at - 1];
    const end = it.text.indexOf("\n") + 1;
    if (!before || !end || before.char_end !== it.char_start || before.text.endsWith("\n") || isKept(before) || isKept(it)) return;
    texts[at - 1] += it.text.slice(0, end);
    texts[at] = it.text.slice(end);
  });
  return texts;
}
