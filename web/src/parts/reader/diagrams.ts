// Mermaid diagrams, as pictures. The library runs in a sandboxed frame (public/diagram.html): it
// needs styles that the policy of this page forbids, and it reads text of strangers. What comes
// back is shown in an <img>, where nothing in an SVG can act. Loaded when a document has a diagram.

import libraryUrl from "@mermaid-js/tiny/dist/mermaid.tiny.js?url";

const TIMEOUT_MS = 20_000;
const COLOURS: Record<string, string> = {
  background: "--paper",
  primaryColor: "--accent-soft",
  primaryBorderColor: "--accent",
  primaryTextColor: "--ink",
  secondaryColor: "--sunk",
  secondaryTextColor: "--ink",
  tertiaryColor: "--sunk",
  tertiaryTextColor: "--ink",
  lineColor: "--ink-3",
  textColor: "--ink",
  noteBkgColor: "--warn-soft",
  noteTextColor: "--ink",
};

interface Reply {
  isReady?: boolean;
  id?: number;
  svg?: string;
  problem?: string;
}

let frame: Promise<HTMLIFrameElement> | null = null;
let last = 0;

/** Draw every diagram of a rendered document; again when the theme changes. Returns how to stop. */
export function drawDiagrams(blocks: HTMLElement[]): () => void {
  const figures = blocks.map((it) => new Figure(it));
  const draw = (): void => figures.forEach((it) => void it.draw());
  const scheme = matchMedia("(prefers-color-scheme: dark)");
  window.addEventListener("theme", draw);
  scheme.addEventListener("change", draw);
  draw();
  return () => {
    window.removeEventListener("theme", draw);
    scheme.removeEventListener("change", draw);
    figures.forEach((it) => it.release());
  };
}

/** A diagram in the place of its source, which stays below it to be opened. */
class Figure {
  private readonly figure = document.createElement("figure");
  private readonly image = document.createElement("img");
  private readonly note = document.createElement("p");
  private readonly source: string;
  private url = "";

  constructor(code: HTMLElement) {
    const block = code.closest("pre") ?? code;
    this.source = code.textContent ?? "";
    this.figure.className = "diagram";
    this.note.className = "note-text small";
    this.note.setAttribute("role", "status");
    this.note.textContent = "Drawing…";
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "Source of the diagram";
    block.replaceWith(this.figure);
    details.append(summary, block);
    this.figure.append(this.note, details);
  }

  async draw(): Promise<void> {
    try {
      const svg = await render(this.source);
      this.release();
      this.url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
      const size = /viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"/.exec(svg);
      if (size) [this.image.width, this.image.height] = [Math.ceil(Number(size[1])), Math.ceil(Number(size[2]))];
      this.image.alt = `Diagram (${/^\s*(?:---[\s\S]*?---\s*)?(?:%%.*\n\s*)*(\w+)/.exec(this.source)?.[1] ?? "mermaid"}); its source follows`;
      this.image.src = this.url;
      if (this.note.isConnected) this.note.replaceWith(this.image);
    } catch (error) {
      this.note.textContent = `This diagram cannot be drawn: ${error instanceof Error ? error.message : String(error)}`;
      if (this.image.isConnected) this.image.replaceWith(this.note);
      this.figure.querySelector("details")?.setAttribute("open", "");
    }
  }

  release(): void {
    if (this.url) URL.revokeObjectURL(this.url);
    this.url = "";
  }
}

async function render(text: string): Promise<string> {
  const target = (await (frame ??= open())).contentWindow;
  const id = ++last;
  const style = getComputedStyle(document.documentElement);
  const probe = document.createElement("i");
  document.body.append(probe);
  const colours = Object.fromEntries(Object.entries(COLOURS).map(([name, token]) => [name, resolved(probe, token)]));
  probe.remove();
  const isDark = style.colorScheme === "dark" || (style.colorScheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  return new Promise((resolve, reject) => {
    const ended = (): void => {
      clearTimeout(timer);
      window.removeEventListener("message", heard);
    };
    const heard = (event: MessageEvent<Reply>): void => {
      if (event.source !== target || event.data.id !== id) return;
      ended();
      if (typeof event.data.svg === "string") resolve(event.data.svg);
      else reject(new Error(String(event.data.problem ?? "no picture came back").slice(0, 300)));
    };
    const timer = setTimeout(() => {
      ended();
      // Whatever it is busy with ends with its frame.
      void frame?.then((it) => it.remove());
      frame = null;
      reject(new Error("drawing it took too long"));
    }, TIMEOUT_MS);
    window.addEventListener("message", heard);
    target?.postMessage({ id, text, colours: { ...colours, fontFamily: "sans-serif" }, isDark }, "*");
  });
}

/** A colour as the library can read it: tokens are `light-dark()`. */
function resolved(probe: HTMLElement, token: string): string {
  probe.style.color = `var(${token})`;
  const [r = 0, g = 0, b = 0] = (getComputedStyle(probe).color.match(/[\d.]+/g) ?? []).map(Number);
  return `#${[r, g, b].map((it) => Math.round(it).toString(16).padStart(2, "0")).join("")}`;
}

async function open(): Promise<HTMLIFrameElement> {
  const library = await (await fetch(libraryUrl)).text();
  const it = document.createElement("iframe");
  it.setAttribute("sandbox", "allow-scripts");
  it.className = "diagram-frame";
  it.title = "Draws diagrams";
  it.setAttribute("aria-hidden", "true");
  it.tabIndex = -1;
  const ready = new Promise<void>((resolve) => {
    const heard = (event: MessageEvent<Reply>): void => {
      if (event.source !== it.contentWindow || !event.data.isReady) return;
      window.removeEventListener("message", heard);
      resolve();
    };
    window.addEventListener("message", heard);
  });
  it.src = `${import.meta.env.BASE_URL}diagram.html`;
  document.body.append(it);
  await ready;
  it.contentWindow?.postMessage({ library }, "*");
  return it;
}
