// Where each entry of the browser's history was scrolled to. Pages render after the browser would
// have restored that, so it is done here: when one goes back, and when a page is loaded again.

const STORED = "pecia.scroll";
/** A list that takes longer has lost its reader. */
const WAIT_MS = 3000;
/** Whoever does one of these is somewhere else already. */
const ACTS = ["wheel", "touchmove", "keydown", "pointerdown"];

const positions = new Map<number, number>(load());
let entry = nameEntry();
let wanted: number | null = null;
let stop = (): void => {};

/** Whether a page that is being drawn will be scrolled to where it was left. */
export function isRestoring(): boolean {
  return wanted !== null;
}

/** Begin: before any page is drawn. */
export function keepScroll(): void {
  history.scrollRestoration = "manual";
  window.addEventListener("hashchange", () => {
    positions.set(entry, window.scrollY);
    entry = nameEntry();
    restore();
  });
  window.addEventListener("pagehide", () => {
    positions.set(entry, window.scrollY);
    const scrolled = [...positions].filter(([, at]) => at > 0);
    if (scrolled.length) sessionStorage.setItem(STORED, JSON.stringify(scrolled.slice(-100)));
    else sessionStorage.removeItem(STORED);
  });
  restore();
}

function restore(): void {
  stop();
  wanted = positions.get(entry) || null;
  const to = wanted;
  if (to === null) return;
  const drawn = new ResizeObserver(() => {
    if (document.documentElement.scrollHeight - window.innerHeight >= to) window.scrollTo(0, to);
  });
  const timer = window.setTimeout(() => stop(), WAIT_MS);
  const acting = (): void => stop();
  stop = () => {
    wanted = null;
    drawn.disconnect();
    clearTimeout(timer);
    for (const act of ACTS) window.removeEventListener(act, acting);
    stop = () => {};
  };
  for (const act of ACTS) window.addEventListener(act, acting, { passive: true });
  drawn.observe(document.body);
}

/** The number of the current entry; a new one gets its own. */
function nameEntry(): number {
  const known = (history.state as { entry?: number } | null)?.entry;
  if (known !== undefined) return known;
  const made = Date.now() + Math.random();
  history.replaceState({ entry: made }, "");
  return made;
}

function load(): [number, number][] {
  try {
    return JSON.parse(sessionStorage.getItem(STORED) ?? "[]") as [number, number][];
  } catch {
    return [];
  }
}
