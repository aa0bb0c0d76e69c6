// Numbers and times as text.

const NUMBER = new Intl.NumberFormat("en");
const AGO = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ["second", 60],
  ["minute", 60],
  ["hour", 24],
  ["day", 30],
  ["month", 12],
  ["year", Infinity],
];

export function number(value: number): string {
  return NUMBER.format(value);
}

export function count(value: number, one: string, many = `${one}s`): string {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** A size: 1.2 MB. */
export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, value > 0 ? Math.floor(Math.log10(value) / 3) : 0);
  const scaled = value / 1000 ** power;
  return `${power && scaled < 10 ? scaled.toFixed(1) : Math.round(scaled)} ${units[power]}`;
}

export function ago(moment: string): string {
  let span = (new Date(moment).getTime() - Date.now()) / 1000;
  for (const [unit, size] of STEPS) {
    if (Math.abs(span) < size) return AGO.format(Math.round(span), unit);
    span /= size;
  }
  return moment;
}

/** A moment in a list: relative for a day, then dated. */
export function when(moment: string): string {
  const at = new Date(moment);
  const seconds = (Date.now() - at.getTime()) / 1000;
  if (seconds < 0) return ago(moment);
  if (seconds < 60) return "now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  const isThisYear = at.getFullYear() === new Date().getFullYear();
  return (isThisYear ? DAY : DATE).format(at);
}

const TIME = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** A moment in a log: the time of today, the day too of any other. */
export function exactly(moment: string): string {
  const at = new Date(moment);
  const isToday = at.toDateString() === new Date().toDateString();
  return isToday ? TIME.format(at) : `${when(moment).replace(/ h$/, " h ago")}, ${TIME.format(at)}`;
}

/** A position in a recording: 1:02:03. */
export function clock(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const shown = parts[0] ? parts : parts.slice(1);
  return shown.map((it, index) => (index ? String(it).padStart(2, "0") : String(it))).join(":");
}

/** Groups of items by key, the largest first. */
export function grouped<T>(items: T[], by: (it: T) => string): [string, T[]][] {
  const groups = new Map<string, T[]>();
  for (const it of items) groups.set(by(it), [...(groups.get(by(it)) ?? []), it]);
  return [...groups].sort((a, b) => b[1].length - a[1].length);
}
