// Where a text comes from. Shape, colour and word come together, on every page.

export type Origin = "original" | "person" | "agent" | "memory";

export const ORIGIN_WORDS: Record<Origin, string> = {
  original: "Original",
  person: "Written by a person",
  agent: "Written by an agent",
  memory: "Memory",
};

/** The initials of a name: two letters at most. */
export function initials(name: string): string {
  const words = name.split(/[\s@._-]+/).filter(Boolean);
  return words
    .slice(0, 2)
    .map((it) => [...it][0]?.toUpperCase() ?? "")
    .join("");
}
