// Frontmatter as properties. A change is an edit of the text that touches one value and nothing
// else: what was not changed keeps its quotes, its comments and its order.

import { isScalar, isSeq, parseDocument, stringify, type Document, type Pair, type Scalar } from "yaml";

export interface TextEdit {
  from: number;
  to: number;
  insert: string;
}

export type PropertyKind = "text" | "number" | "boolean" | "date" | "list" | "other";

export interface Property {
  name: string;
  kind: PropertyKind;
  value: string | number | boolean | string[] | null;
  /** Of the value, in the whole text. */
  from: number;
  to: number;
  /** Of the line or lines that the property takes. */
  start: number;
  end: number;
  isFlow: boolean;
}

export interface Frontmatter {
  /** Of the YAML between the two lines of dashes. */
  from: number;
  to: number;
  properties: Property[];
  problem: { message: string; from: number; to: number } | null;
}

const FENCE = /^\uFEFF?---[ \t]*\r?\n/;
const END = /^(---|\.\.\.)[ \t]*\r?$/m;
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** The frontmatter of a document; null where it has none. */
export function parseFrontmatter(text: string): Frontmatter | null {
  const opening = FENCE.exec(text);
  if (!opening) return null;
  const from = opening[0].length;
  const closing = END.exec(text.slice(from));
  if (!closing) {
    const problem = { message: "The frontmatter is not closed: a line with three dashes is missing.", from: 0, to: from };
    return { from, to: from, properties: [], problem };
  }
  const to = from + closing.index;
  const source = text.slice(from, to);
  const parsed = parseDocument(source, { keepSourceTokens: true, uniqueKeys: true });
  const error = parsed.errors[0];
  if (error) {
    const message = error.message.split("\n")[0]!.replace(/:$/, "");
    const [start, end] = error.pos;
    return { from, to, properties: [], problem: { message, from: from + start, to: from + Math.max(end, start + 1) } };
  }
  return { from, to, properties: propertiesOf(parsed, source, from), problem: null };
}

function propertiesOf(parsed: Document.Parsed, source: string, offset: number): Property[] {
  const map = parsed.contents as unknown as { items?: Pair<Scalar, unknown>[] } | null;
  return (map?.items ?? []).flatMap((pair) => {
    const key = pair.key;
    if (!isScalar(key) || !key.range) return [];
    const found = propertyOf(pair.value, key.range[1], source);
    const start = source.lastIndexOf("\n", key.range[0] - 1) + 1;
    const end = lineEnd(source, found.to);
    return [{ name: String(key.value), ...found, from: found.from + offset, to: found.to + offset, start: start + offset, end: end + offset }];
  });
}

function propertyOf(node: unknown, keyEnd: number, source: string): Omit<Property, "name" | "start" | "end"> {
  const range = (node as { range?: [number, number, number] } | null)?.range;
  if (!range) {
    const at = source.indexOf(":", keyEnd) + 1;
    return { kind: "text", value: null, from: at, to: at, isFlow: true };
  }
  const place = { from: range[0], to: range[1], isFlow: true };
  if (isScalar(node)) {
    const { value } = node;
    if (typeof value === "boolean") return { kind: "boolean", value, ...place };
    if (typeof value === "number") return { kind: "number", value, ...place };
    if (value === null) return { kind: "text", value: null, ...place };
    const text = String(value);
    const isBlock = node.type === "BLOCK_LITERAL" || node.type === "BLOCK_FOLDED";
    if (isBlock) return { kind: "other", value: text, ...place };
    return { kind: DATE.test(text) ? "date" : "text", value: text, ...place };
  }
  if (isSeq(node) && node.items.every((it) => isScalar(it) && ["string", "number"].includes(typeof it.value))) {
    const value = node.items.map((it) => String((it as Scalar).value));
    return { kind: "list", value, ...place, isFlow: node.flow === true };
  }
  return { kind: "other", value: source.slice(range[0], range[1]), ...place };
}

function lineEnd(source: string, at: number): number {
  // A block ends with its own line break.
  if (at > 0 && source[at - 1] === "\n") return at;
  const found = source.indexOf("\n", at);
  return found < 0 ? source.length : found + 1;
}

/** The edit that gives a property another value. */
export function setProperty(text: string, property: Property, value: Property["value"]): TextEdit {
  const { from, to } = property;
  if (property.kind === "list" && Array.isArray(value)) {
    if (property.isFlow || !value.length) return { from, to, insert: `[${value.map(inline).join(", ")}]${endOf(text, property)}` };
    return { from, to, insert: blockList(text, property, value) };
  }
  const space = text[from - 1] === ":" ? " " : "";
  return { from, to, insert: value === null || value === "" ? "" : space + inline(value as string | number | boolean) };
}

/** The edit that adds a property at the end; with frontmatter of its own where there is none. */
export function addProperty(text: string, name: string, value: Property["value"]): TextEdit {
  const found = parseFrontmatter(text);
  const newline = /\r\n/.test(text) ? "\r\n" : "\n";
  const line = `${inline(name)}: ${Array.isArray(value) ? `[${value.map(inline).join(", ")}]` : inline(value ?? "")}${newline}`;
  if (!found) {
    const at = text.startsWith("\uFEFF") ? 1 : 0;
    return { from: at, to: at, insert: `---${newline}${line}---${newline}${text.length > at ? newline : ""}` };
  }
  return { from: found.to, to: found.to, insert: line };
}

export function removeProperty(property: Property): TextEdit {
  return { from: property.start, to: property.end, insert: "" };
}

function blockList(text: string, property: Property, value: string[]): string {
  // Lines that stay keep every character; only changed, new and removed ones differ.
  const old = text.slice(property.from, property.to);
  const indent = text.slice(text.lastIndexOf("\n", property.from - 1) + 1, property.from);
  const lines = old.match(/[^\n]*\n?/g)!.filter(Boolean);
  const was = property.value as string[];
  const newline = old.includes("\r\n") ? "\r\n" : "\n";
  if (lines.length !== was.length) return value.map((it, n) => `${n ? indent : ""}- ${inline(it)}`).join(newline) + endOf(text, property);
  const body = value.map((it, n) => {
    const same = was.indexOf(it);
    const line = same >= 0 ? lines[same]!.replace(/\r?\n$/, "").trimStart() : `- ${inline(it)}`;
    return (n ? indent : "") + line;
  });
  return body.join(newline) + endOf(text, property);
}

function endOf(text: string, { from, to }: Property): string {
  return /\r?\n$/.exec(text.slice(from, to))?.[0] ?? "";
}

function inline(value: string | number | boolean): string {
  const written = stringify(value, { lineWidth: 0, defaultStringType: "PLAIN" }).trimEnd();
  if (!written.includes("\n") && !(typeof value === "string" && /[,[\]{}]/.test(value))) return written;
  return JSON.stringify(value);
}
