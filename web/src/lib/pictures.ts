// Pictures of wiki documents. They are read with the rights of whoever looks.

import { isSignedIn } from "./session.svelte";

const ASSET = "/wiki/asset?";

/** The address of a picture beside a document; null for one that lies elsewhere. */
export function pictureAddress(space: string, path: string): string | null {
  return /^[a-z][a-z0-9+.-]*:|^\/\//i.test(path) ? null : `${ASSET}${new URLSearchParams({ space, path })}`;
}

/** Pictures of one page, each fetched once. */
export class Pictures {
  private readonly known = new Map<string, Promise<string>>();

  /** An <img> cannot send the header that the session needs: it is fetched, and shown from memory. */
  load(inside: DocumentFragment | HTMLElement): void {
    for (const it of inside.querySelectorAll("img")) this.show(it);
  }

  release(): void {
    for (const it of this.known.values()) it.then((url) => URL.revokeObjectURL(url), () => undefined);
    this.known.clear();
  }

  private show(image: HTMLImageElement): void {
    const source = image.getAttribute("src") ?? "";
    const instead = `[${image.alt || "image"}]`;
    image.addEventListener("error", () => image.replaceWith(instead));
    if (!source.startsWith(ASSET) || !isSignedIn()) return;
    image.removeAttribute("src");
    // An arrow that is missing stands in a page many times: it is asked for once.
    const known = this.known.get(source) ?? this.fetch(source);
    this.known.set(source, known);
    known.then(
      (url) => (image.src = url),
      () => {
        // In a preview it may be there the next time.
        this.known.delete(source);
        image.replaceWith(instead);
      },
    );
  }

  private async fetch(source: string): Promise<string> {
    const answer = await fetch(source, { credentials: "same-origin", headers: { "x-pecia-console": "1" } });
    if (!answer.ok) throw new Error(`The server answered ${answer.status}.`);
    return URL.createObjectURL(await answer.blob());
  }
}
