// The whole install: its health, its settings, its jobs.

import { call, read } from "./api";

export interface InstallStatus {
  database: { kind: string; state: string };
  worker: { alive: number };
  queue: { waiting: number; running: number; failed: number };
  sources: { failed: string[]; with_unread_files: string[] };
}

export interface Capacity {
  search: Record<string, { served: number; latency_ms: { p50: number | null; p95: number | null } | null }>;
  index: { files: number; chunks: number; vectors: number; bytes: number | null; lag: number | null };
  queue: { waiting: number; oldest_s: number } | null;
  embedder: { name: string; dimension: number; throughput: { texts_per_s: number | null } | null } | null;
  limits: Record<string, number>;
  /** Of the tenant, for its administrators; `most` is null where there is no limit. */
  quotas: { kind: string; most: number | null; used: number }[] | null;
}

export interface Backups {
  backups: { name: string; bytes: number; made_at: string }[];
  latest: { name: string; done: number; total: number | null; problem: string | null; running: boolean } | null;
  folder: string;
}

export const BACKUPS = "/api/v1/backups";

export interface Setting {
  name: string;
  value: unknown;
  unit: string;
  origin: Origin;
  meaning: string;
  default: unknown;
  env: string[];
}

interface Origin {
  layer: string;
  where: string;
  raw: string | null;
  overruled: Origin[];
}

export interface Job {
  id: number;
  name: string;
  key: string | null;
  status: "waiting" | "running" | "done" | "failed" | "cancelled";
  stopping: boolean;
  attempts: number;
  done: number | null;
  total: number | null;
  message: string | null;
  problem: { code?: string; message?: string } | null;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  next_at: string | null;
}

const JOB_NAMES: Record<string, string> = {
  "lake.crawl": "Crawl",
  "lake.read": "Read files",
  "corpus.embed": "Embed chunks",
  "corpus.trim": "Trim the index",
  "kernel.cleanup": "Maintenance",
};

export const installStatus = (): Promise<InstallStatus> => read<InstallStatus>("/api/v1/status");
export const settings = (): Promise<{ settings: Setting[]; warnings: string[] }> => read("/api/v1/settings");

export function jobs(filter: { status?: string; cursor?: number | null }): Promise<{ jobs: Job[]; next_cursor: number | null }> {
  return call("admin/list_jobs", { limit: 50, ...(filter.status ? { status: filter.status } : {}), ...(filter.cursor ? { cursor: filter.cursor } : {}) });
}

export function cancelJob(id: number): Promise<Job> {
  return call("admin/cancel_job", { id });
}

export function retryJob(id: number): Promise<Job> {
  return call("admin/retry_job", { id });
}

export function jobName(it: Job): string {
  return JOB_NAMES[it.name] ?? it.name;
}

/** What a job works on: the source of a crawl, the shard of a read. */
export function jobSubject(it: Job): string {
  const [subject = "", shard] = (it.key ?? "").split("\n");
  const name = subject.replace(/^wiki:/, "");
  return shard && shard !== "0" ? `${name}, part ${Number(shard) + 1}` : name;
}

/** A value as one would write it. */
export function shownValue(value: unknown, unit = ""): string {
  if (value === null || value === undefined || value === "") return "not set";
  if (Array.isArray(value)) return value.length ? value.map(String).join(", ") : "none";
  if (typeof value === "boolean") return value ? "on" : "off";
  return unit ? `${String(value)} ${unit}` : String(value);
}
