// The server's API, and its errors: a stable code, a message, fields.

import { announce, endSession, isSignedIn, setSignedIn } from "./session.svelte";

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
  has_session: boolean;
  oidc: { issuer: string; client_id: string; scopes: string[] } | null;
}

const TIMEOUT_MS = 60_000;

export async function call<T>(tool: string, input: object = {}, signal?: AbortSignal, timeoutMs = TIMEOUT_MS): Promise<T> {
  return request<T>(`/api/v1/${tool}`, { method: "POST", body: JSON.stringify(input), signal }, timeoutMs);
}

/** A call made by a person in the page: a confirmation that it needs is given at once. */
export async function callByHand<T>(tool: string, input: object): Promise<T> {
  try {
    return await call<T>(tool, input);
  } catch (error) {
    const waits = asProblem(error).confirmation;
    if (!waits || !isSignedIn()) throw error;
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

/** Sign this browser in, with a token or with the code of a one-time link. */
export async function signIn(proof: { token: string } | { code: string }): Promise<void> {
  await request("/api/v1/session", { method: "POST", body: JSON.stringify(proof) });
  setSignedIn(true);
  announce();
}

/** Sign out in every tab of this browser; `everywhere` ends the owner's other browsers too. */
export async function signOut(everywhere = false): Promise<void> {
  await request("/api/v1/session", { method: "DELETE", body: JSON.stringify({ everywhere }) });
  setSignedIn(false);
  announce();
}

/** The same, where something is done. */
export function send<T>(path: string): Promise<T> {
  return request<T>(path, { method: "POST", body: "{}" });
}

/** A page of the API that is no tool. */
export function read<T>(path: string): Promise<T> {
  return request<T>(path);
}

export async function capacity<T>(): Promise<T> {
  return request<T>("/capacity");
}

export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  return new Problem("UNEXPECTED", error instanceof Error ? error.message : String(error), 0, null);
}

export async function about(): Promise<About> {
  const found = await parse<About>(await reach("/console/about.json", { cache: "no-store" }));
  setSignedIn(found.has_session);
  return found;
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

async function request<T>(url: string, init: RequestInit = {}, timeoutMs = TIMEOUT_MS): Promise<T> {
  // The header that no page of another site can set: with it the session cookie counts.
  const headers = { "content-type": "application/json", accept: "application/json", "x-pecia-console": "1" };
  const answer = await reach(url, { ...init, headers }, timeoutMs);
  if (answer.status === 401 && isSignedIn()) endSession();
  return parse<T>(answer);
}

async function reach(url: string, init: RequestInit = {}, timeoutMs = TIMEOUT_MS): Promise<Response> {
  const deadline = AbortSignal.timeout(timeoutMs);
  const signal = init.signal ? AbortSignal.any([init.signal, deadline]) : deadline;
  try {
    return await fetch(url, { ...init, credentials: "same-origin", signal });
  } catch {
    throw new Problem("UNREACHABLE", "The server does not answer. Is it running?", 0, null);
  }
}

async function parse<T>(answer: Response): Promise<T> {
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

/** Every row of a list that comes in pages; 20 pages at most. */
export async function callAll<T>(tool: string, field: string, input: object = {}): Promise<T[]> {
  const rows: T[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < 20; page++) {
    const found: Record<string, unknown> = await call(tool, { ...input, limit: 100, ...(cursor ? { cursor } : {}) });
    rows.push(...(found[field] as T[]));
    cursor = (found.next_cursor as string | null) ?? null;
    if (cursor === null) break;
  }
  return rows;
}

/** A call whose result is shown as it comes: `onpartial` gets what is known of it so far. */
export async function stream<T>(tool: string, input: object, onpartial: (found: T) => void, signal: AbortSignal, timeoutMs = TIMEOUT_MS): Promise<T> {
  const headers = { "content-type": "application/json", accept: "text/event-stream", "x-pecia-console": "1" };
  const answer = await reach(`/api/v1/${tool}`, { method: "POST", body: JSON.stringify(input), headers, signal }, timeoutMs);
  if (answer.status === 401 && isSignedIn()) endSession();
  if (!answer.ok || !answer.body) return parse<T>(answer);
  try {
    for await (const { event, data } of events(answer.body)) {
      if (event === "partial") onpartial(JSON.parse(data) as T);
      else if (event === "result") return JSON.parse(data) as T;
      else if (event === "error") return await parse<T>(new Response(data, { status: 500, headers: answer.headers }));
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
  }
  throw new Problem("UNREACHABLE", "The server stopped answering before the answer was whole.", 0, null);
}

/** Server-sent events, each with one line of data. */
async function* events(body: ReadableStream<Uint8Array>): AsyncGenerator<{ event: string; data: string }> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    const whole = (text + part.value).split("\n\n");
    text = whole.pop() ?? "";
    for (const it of whole) {
      const [, event = "", data = ""] = /^event: (.*)\ndata: (.*)$/.exec(it) ?? [];
      yield { event, data };
    }
  }
}
