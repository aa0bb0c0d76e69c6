// Formulas, by KaTeX. It builds elements and sets their styles by script, which the page's policy
// allows; no markup of a document goes in. Loaded when a document has a formula.

import katex from "katex";
import "katex/dist/katex.min.css";

export function renderFormulas(blocks: HTMLElement[]): void {
  for (const it of blocks) {
    const isBlock = it.parentElement?.matches("pre.math") ?? false;
    const place = document.createElement(isBlock ? "div" : "span");
    place.className = "formula";
    try {
      katex.render(it.textContent ?? "", place, { displayMode: isBlock, trust: false, strict: "ignore", maxSize: 20, maxExpand: 200 });
    } catch (error) {
      // It stays as it was written, with the reason.
      it.title = error instanceof Error ? error.message : String(error);
      it.classList.add("wrong");
      continue;
    }
    const [annotation] = place.getElementsByTagName("annotation");
    annotation?.remove();
    if (isBlock) place.tabIndex = 0;
    (isBlock ? it.parentElement! : it).replaceWith(place);
  }
}
