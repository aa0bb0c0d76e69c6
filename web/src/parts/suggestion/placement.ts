// Cards of suggestions in a rendered document: each below the block that it changes.

import { mount, unmount } from "svelte";
import type { OpenPiece, Suggestions } from "../../lib/suggestions.svelte";
import PieceCard from "./PieceCard.svelte";

export interface Placement {
  text: string;
  /** Lines of the frontmatter, which are not rendered. */
  headLines: number;
  mayDecide: boolean;
}

/** Put the cards into the page; what it returns takes them out again. */
export function placeCards(host: HTMLElement, book: Suggestions, pieces: OpenPiece[], at: Placement): () => void {
  const blocks = [...host.querySelectorAll<HTMLElement>("[data-line]")];
  const slots = pieces.map((it) => {
    const slot = document.createElement("div");
    slot.className = "suggestion-slot";
    const block = blockOf(blocks, (it.piece.line ?? 1) - 1 - at.headLines);
    if (block) insertBelow(block, slot);
    else host.prepend(slot);
    block?.classList.add("suggested");
    const card = mount(PieceCard, { target: slot, props: { book, it, mayDecide: at.mayDecide, get text() { return at.text; } } });
    return { slot, card, block };
  });
  return () => {
    for (const { slot, card, block } of slots) {
      void unmount(card);
      slot.remove();
      block?.classList.remove("suggested");
    }
  };
}

/** The innermost block that begins at this line or before it. */
function blockOf(blocks: HTMLElement[], line: number): HTMLElement | null {
  let found: HTMLElement | null = null;
  for (const it of blocks) if (Number(it.dataset.line) <= line && (!found || Number(it.dataset.line) >= Number(found.dataset.line))) found = it;
  return found?.closest("li") ?? found?.closest<HTMLElement>(".table-frame, blockquote, .callout, pre, p, h1, h2, h3, h4, h5, h6") ?? found;
}

function insertBelow(block: HTMLElement, slot: HTMLElement): void {
  const last = block.matches("li") ? [...block.children].filter((it) => it.matches(".suggestion-slot")).at(-1) : siblingSlot(block);
  if (last) last.after(slot);
  else if (block.matches("li")) block.append(slot);
  else block.after(slot);
}

/** Cards of one block stand in the order of its pieces. */
function siblingSlot(block: HTMLElement): Element | null {
  let found: Element | null = null;
  for (let it = block.nextElementSibling; it?.matches(".suggestion-slot"); it = it.nextElementSibling) found = it;
  return found;
}
