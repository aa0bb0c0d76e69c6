// Where a text comes from. Shape, colour and word come together, on every page.

export type Origin = "original" | "person" | "agent" | "memory";

export const ORIGIN_WORDS: Record<Origin, string> = {
  original: "Original",
  person: "Written by a person",
  agent: "Written by an agent",
  memory: "Memory",
};

/** The same with the names of the authors, where they are known. */
export function writtenBy(of: Origin, authors: string[]): string {
  if (!authors.length) return ORIGIN_WORDS[of];
  const before: Record<Origin, string> = { original: "Original by", person: "Written by", agent: "Written by an agent of", memory: "Memory of" };
  return `${before[of]} ${authors.join(", ")}`;
}

/** The initials of a name: two letters at most. */
export function initials(name: string): string {
  const words = name.split(/[\s@._-]+/).filter(Boolean);
  return words
    .slice(0, 2)
    .map((it) => [...it][0]?.toUpperCase() ?? "")
    .join("");
}
