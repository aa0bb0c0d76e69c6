// Light or dark: as the system says until somebody chooses. The choice stays in this browser.

type Theme = "light" | "dark";

const KEY = "pecia.theme";
const system = window.matchMedia("(prefers-color-scheme: dark)");

export function restoreTheme(): void {
  const chosen = localStorage.getItem(KEY);
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
}

export function switchTheme(): void {
  const root = document.documentElement;
  const now: Theme = (root.dataset.theme as Theme | undefined) ?? (system.matches ? "dark" : "light");
  const next: Theme = now === "dark" ? "light" : "dark";
  root.dataset.theme = next;
  localStorage.setItem(KEY, next);
  window.dispatchEvent(new Event("theme"));
}
