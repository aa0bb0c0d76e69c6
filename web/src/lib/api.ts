// The server's API, and its errors: a stable code, a message, fields.

import { bearer, forget } from "./session.svelte";

export class Problem extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status: number,
    readonly requestId: string | null,
    readonly field?: string,
    readonly hint?: string,
    readonly confirmation?: string,
  ) {
    super(message);
  }
}

interface ErrorPayload {
  code?: string;
  message?: string;
  field?: string;
  hint?: string;
  confirmation?: string;
}

export interface Confirmation {
  id: string;
  tool: string;
  question: string;
  asked_at: string;
  user: string;
}

export interface Me {
  tenant: string;
  user: string;
  is_admin: boolean;
  scopes: string[];
  credential: string;
}

export interface Check {
  name: string;
  ok: boolean;
  detail: string;
}

export interface About {
  version: string;
  mode: "local" | "server";
  mcp: boolean;
  oidc: { issuer: string; client_id: string; scopes: string[] } | null;
}

export async function call<T>(tool: string, input: object = {}, signal?: AbortSignal): Promise<T> {
  return request<T>(`/api/v1/${tool}`, { method: "POST", body: JSON.stringify(input), signal });
}

/** A call made by a person in the page: a confirmation that it needs is given at once. */
export async function callByHand<T>(tool: string, input: object): Promise<T> {
  try {
    return await call<T>(tool, input);
  } catch (error) {
    const waits = asProblem(error).confirmation;
    if (!waits || !bearer()) throw error;
    await answer(waits, "confirm");
    return call<T>(tool, input);
  }
}

export async function confirmations(): Promise<Confirmation[]> {
  return (await request<{ confirmations: Confirmation[] }>("/api/v1/confirmations")).confirmations;
}

export async function answer(id: string, decision: "confirm" | "refuse"): Promise<void> {
  const body = JSON.stringify({ answer: decision });
  await request(`/api/v1/confirmations/${encodeURIComponent(id)}`, { method: "POST", body });
}

/** The session token for the code of a one-time sign-in link. */
export async function signIn(code: string): Promise<string> {
  const body = JSON.stringify({ code });
  return (await request<{ token: string }>("/api/v1/session", { method: "POST", body })).token;
}

export async function capacity<T>(): Promise<T> {
  return request<T>("/capacity");
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem("UNEXPECTED", error instanceof Error ? error.message : String(error), 0, null);
}

export async function about(): Promise<About> {
  return read<About>(await reach("/console/about.json"));
}

export async function readiness(): Promise<Check[]> {
  const answer = await reach("/readyz");
  const body = (await answer.json()) as { checks?: Record<string, unknown> };
  return Object.entries(body.checks ?? {}).map(([name, found]) => check(name, found));
}

function check(name: string, found: unknown): Check {
  if (typeof found === "object" && found !== null) {
    const { ok, found: detail } = found as { ok?: boolean; found?: string };
    return { name, ok: ok === true, detail: detail ?? "" };
  }
  return { name, ok: found === true || found === "ok", detail: "" };
}

async function request<T>(url: string, init: RequestInit = {}): Promise<T> {
  const token = bearer();
  const headers = {
    "content-type": "application/json",
    accept: "application/json",
    ...(token ? { authorization: `Bearer ${token}` } : {}),
  };
  const answer = await reach(url, { ...init, headers });
  if (answer.status === 401) forget();
  return read<T>(answer);
}

async function reach(url: string, init: RequestInit = {}): Promise<Response> {
  const deadline = AbortSignal.timeout(60_000);
  const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
  try {
    return await fetch(url, { ...init, credentials: "omit", signal });
  } catch {
    throw new Problem("UNREACHABLE", "The server does not answer. Is it running?", 0, null);
  }
}

async function read<T>(answer: Response): Promise<T> {
  const id = answer.headers.get("x-request-id");
  const body: unknown = await answer.json().catch(() => null);
  if (answer.ok) return body as T;
  const error = (body as { error?: ErrorPayload } | null)?.error;
  throw new Problem(
    error?.code ?? "UNEXPECTED",
    error?.message ?? `The server answered ${answer.status}.`,
    answer.status,
    id,
    error?.field,
    error?.hint,
    error?.confirmation,
  );
}
