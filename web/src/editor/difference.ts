// The difference of two texts as lines: what was removed, what was added, and some lines around.

import { diff } from "@codemirror/merge";

export interface Piece {
  text: string;
  isChanged: boolean;
}

export interface DifferenceLine {
  kind: "same" | "removed" | "added" | "skipped";
  pieces: Piece[];
  /** How many lines were left out. */
  skipped?: number;
}

const AROUND = 3;
/** Below the surrogates. */
const MAX_LINES = 0xd700;
const LIMITS = { scanLimit: 2000, timeout: 500 };

export function difference(before: string, after: string, around = AROUND): DifferenceLine[] {
  const a = split(before);
  const b = split(after);
  // Lines are compared as single UTF-16 units: one per different line.
  const codes = new Map<string, string>();
  const code = (line: string): string => {
    let found = codes.get(line);
    if (!found) codes.set(line, (found = String.fromCharCode(0x100 + codes.size)));
    return found;
  };
  const [asA, asB] = [a.map(code).join(""), b.map(code).join("")];
  if (codes.size > MAX_LINES) return [...a.map((it) => whole("removed", it)), ...b.map((it) => whole("added", it))];
  const lines: DifferenceLine[] = [];
  let at = 0;
  for (const { fromA, toA, fromB, toB } of diff(asA, asB, LIMITS)) {
    lines.push(...a.slice(at, fromA).map(same), ...changed(a.slice(fromA, toA), b.slice(fromB, toB)));
    at = toA;
  }
  lines.push(...a.slice(at).map(same));
  return fold(lines, around);
}

function split(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

function same(line: string): DifferenceLine {
  return { kind: "same", pieces: [{ text: line, isChanged: false }] };
}

function changed(before: string[], after: string[]): DifferenceLine[] {
  if (!before.length || !after.length || before.length + after.length > 400) {
    return [...before.map((it) => whole("removed", it)), ...after.map((it) => whole("added", it))];
  }
  const [a, b] = [before.join("\n"), after.join("\n")];
  const words = diff(a, b, LIMITS);
  return [
    ...marked("removed", a, words.map((it) => [it.fromA, it.toA])),
    ...marked("added", b, words.map((it) => [it.fromB, it.toB])),
  ];
}

function whole(kind: "removed" | "added", line: string): DifferenceLine {
  return { kind, pieces: [{ text: line, isChanged: false }] };
}

function marked(kind: "removed" | "added", text: string, ranges: [number, number][]): DifferenceLine[] {
  let offset = 0;
  return text.split("\n").map((line) => {
    const [start, end] = [offset, offset + line.length];
    offset = end + 1;
    const pieces: Piece[] = [];
    let at = start;
    for (const [from, to] of ranges) {
      const [left, right] = [Math.max(from, at), Math.min(to, end)];
      if (left >= right) continue;
      if (left > at) pieces.push({ text: text.slice(at, left), isChanged: false });
      pieces.push({ text: text.slice(left, right), isChanged: true });
      at = right;
    }
    if (at < end || !pieces.length) pieces.push({ text: text.slice(at, end), isChanged: false });
    return { kind, pieces };
  });
}

function fold(lines: DifferenceLine[], around: number): DifferenceLine[] {
  const isNear = lines.map(() => false);
  lines.forEach((it, n) => {
    if (it.kind === "same") return;
    for (let at = Math.max(0, n - around); at <= Math.min(lines.length - 1, n + around); at++) isNear[at] = true;
  });
  const found: DifferenceLine[] = [];
  lines.forEach((it, n) => {
    if (isNear[n]) return void found.push(it);
    const last = found.at(-1);
    if (last?.kind === "skipped") last.skipped! += 1;
    else found.push({ kind: "skipped", pieces: [], skipped: 1 });
  });
  return found;
}
