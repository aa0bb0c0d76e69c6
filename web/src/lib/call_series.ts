// Calls of the audit log over time: how many, and how long they took.

import type { AuditRow } from "./audit";

export interface CallSeries {
  /** Seconds since 1970, the start of each bucket. */
  at: number[];
  ok: number[];
  failed: number[];
  p50: (number | null)[];
  p95: (number | null)[];
}

const STEPS_S = [10, 30, 60, 300, 900, 3600, 6 * 3600, 86_400];
const MAX_BUCKETS = 60;

/** At most 60 buckets from the oldest row until now. */
export function series(rows: AuditRow[], now: number): CallSeries {
  const times = rows.map((it) => new Date(it.at).getTime() / 1000);
  const first = Math.min(now, ...times);
  const step = STEPS_S.find((it) => (now - first) / it <= MAX_BUCKETS) ?? STEPS_S.at(-1)!;
  const start = Math.floor(first / step) * step;
  const size = Math.max(2, Math.floor((now - start) / step) + 1);
  const buckets = Array.from({ length: size }, () => ({ ok: 0, failed: 0, took: [] as number[] }));
  rows.forEach((it, index) => {
    const bucket = buckets[Math.min(size - 1, Math.max(0, Math.floor((times[index]! - start) / step)))]!;
    if (it.status === "ok") bucket.ok++;
    else bucket.failed++;
    if (it.duration_us !== null) bucket.took.push(it.duration_us / 1000);
  });
  for (const it of buckets) it.took.sort((a, b) => a - b);
  return {
    at: buckets.map((_, index) => start + index * step),
    ok: buckets.map((it) => it.ok),
    failed: buckets.map((it) => it.failed),
    p50: buckets.map((it) => quantile(it.took, 0.5)),
    p95: buckets.map((it) => quantile(it.took, 0.95)),
  };
}

function quantile(sorted: number[], share: number): number | null {
  return sorted.length ? (sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? null) : null;
}
