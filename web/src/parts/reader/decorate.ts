// What is done to a rendered document in place: found words are marked, code is coloured.

/** Put a rendered text into its place, from the side that its letters begin at. */
export function fill(host: HTMLElement, text: DocumentFragment): void {
  host.replaceChildren(text);
  // Chromium does not look again at a direction that was `auto` before the text came.
  host.dir = "";
  host.dir = "auto";
}

export function markWords(host: HTMLElement, words: string[]): void {
  if (!words.length) return;
  const escaped = words.map((it) => it.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${escaped.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  for (const block of host.querySelectorAll(".found")) {
    const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
    const texts: Text[] = [];
    while (walker.nextNode()) texts.push(walker.currentNode as Text);
    for (const it of texts) markIn(it, pattern);
  }
}

function markIn(node: Text, pattern: RegExp): void {
  const matches = [...node.data.matchAll(pattern)];
  for (const match of matches.reverse()) {
    const found = node.splitText(match.index);
    found.splitText(match[0].length);
    const mark = document.createElement("mark");
    found.replaceWith(mark);
    mark.append(found);
  }
}

export async function highlightCode(host: ParentNode): Promise<void> {
  const blocks = [...host.querySelectorAll<HTMLElement>('pre > code[class^="language-"]')];
  if (!blocks.length) return;
  const { highlighter } = await import("./languages");
  for (const it of blocks) {
    const language = it.className.replace("language-", "");
    if (highlighter.getLanguage(language)) highlighter.highlightElement(it);
  }
}

/** Formulas and diagrams, drawn. Returns how to let go of what that took. */
export async function drawInside(host: ParentNode): Promise<() => void> {
  const formulas = [...host.querySelectorAll<HTMLElement>("code.math")];
  const diagrams = [...host.querySelectorAll<HTMLElement>("pre > code.language-mermaid")];
  if (formulas.length) (await import("./math")).renderFormulas(formulas);
  return diagrams.length ? (await import("./diagrams")).drawDiagrams(diagrams) : () => undefined;
}
