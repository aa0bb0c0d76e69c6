// Images that are pasted or dropped: stored beside the document, then linked where they fell.

import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";

export type Upload = (image: Blob, name: string) => Promise<{ link: string }>;

const TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"];

export const ACCEPTED = TYPES.join(",");

const UPLOADING = "uploading-";

/** What a document links to until the image is stored. */
export function isUploading(target: string): boolean {
  return /^uploading-[a-z0-9]+$/.test(target);
}

export interface ImageOptions {
  upload: Upload;
  onproblem: (error: unknown) => void;
}

export function images(options: ImageOptions): Extension {
  return EditorView.domEventHandlers({
    paste(event, view) {
      const files = imagesOf(event.clipboardData);
      // With text beside it (a copied cell, a copied page) the text is meant.
      if (!files.length || event.clipboardData?.getData("text/plain") || view.state.readOnly) return false;
      event.preventDefault();
      void insertImages(view, files, view.state.selection.main.head, options);
      return true;
    },
    drop(event, view) {
      const files = imagesOf(event.dataTransfer);
      if (!files.length || view.state.readOnly) return false;
      event.preventDefault();
      const at = view.posAtCoords({ x: event.clientX, y: event.clientY }) ?? view.state.selection.main.head;
      void insertImages(view, files, at, options);
      return true;
    },
  });
}

export async function insertImages(view: EditorView, files: File[], at: number, { upload, onproblem }: ImageOptions): Promise<void> {
  for (const file of files) {
    const token = `![${alt(file.name)}](${UPLOADING}${Math.random().toString(36).slice(2, 8)})`;
    view.dispatch({ changes: { from: Math.min(at, view.state.doc.length), insert: token }, userEvent: "input.paste" });
    let text = "";
    try {
      text = `![${alt(file.name)}](${(await upload(file, file.name || "image.png")).link})`;
    } catch (error) {
      onproblem(error);
    }
    // Others may have written meanwhile: it is found by its text.
    const from = view.state.doc.toString().indexOf(token);
    if (from >= 0) view.dispatch({ changes: { from, to: from + token.length, insert: text }, userEvent: "input.paste" });
    at = (from >= 0 ? from : at) + text.length;
  }
}

function imagesOf(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])].filter((it) => TYPES.includes(it.type));
}

function alt(name: string): string {
  return name.replace(/\.[a-z0-9]+$/i, "").replace(/[[\]\\]/g, " ").trim();
}
