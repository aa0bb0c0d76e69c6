// The filters of a search as choices, each with its parameter in the address.

export interface Choice {
  value: string;
  name: string;
}

export const KINDS: Choice[] = [
  { value: "", name: "Any kind" },
  { value: "text/markdown", name: "Documents" },
  { value: "application/pdf", name: "PDF" },
  { value: "text/html", name: "Web pages" },
  { value: "message/rfc822", name: "Mail" },
  { value: "text/plain", name: "Plain text" },
  { value: "audio/*", name: "Recordings" },
];

const DAY_MS = 86_400_000;

/** Dates, not moments: the address of a search stays the same all day. */
export function times(now: Date): Choice[] {
  const before = (days: number): string => new Date(now.getTime() - days * DAY_MS).toISOString().slice(0, 10);
  return [
    { value: "", name: "Any time" },
    { value: before(7), name: "Past week" },
    { value: before(30), name: "Past month" },
    { value: before(365), name: "Past year" },
  ];
}

/** Kinds of authors; the names are those of the hits. */
export const AUTHORS: Choice[] = [
  { value: "", name: "Anyone" },
  { value: "person", name: "People" },
  { value: "agent", name: "Agents" },
];

export const MODES: Choice[] = [
  { value: "", name: "Words and meaning" },
  { value: "words", name: "Words only" },
];
