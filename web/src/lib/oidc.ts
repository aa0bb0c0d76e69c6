// Sign-in at the organisation's issuer: authorization code with PKCE, as a public client.

import type { About } from "./api";

type Oidc = NonNullable<About["oidc"]>;

interface Attempt {
  state: string;
  verifier: string;
  tokenEndpoint: string;
  /** The page to return to after sign-in. */
  hash: string;
}

const KEY = "pecia.sign-in";

export async function leave(oidc: Oidc): Promise<void> {
  const found = await discover(oidc.issuer);
  const attempt: Attempt = {
    state: random(),
    verifier: random(),
    tokenEndpoint: found.token_endpoint,
    hash: location.hash,
  };
  sessionStorage.setItem(KEY, JSON.stringify(attempt));
  const query = new URLSearchParams({
    response_type: "code",
    client_id: oidc.client_id,
    redirect_uri: redirect(),
    scope: ["openid", ...oidc.scopes].join(" "),
    state: attempt.state,
    code_challenge: await challenge(attempt.verifier),
    code_challenge_method: "S256",
    resource: location.origin,
  });
  location.assign(`${found.authorization_endpoint}?${query.toString()}`);
}

/** The access token, when this page was opened by the issuer's redirect; else null. */
export async function arrive(oidc: Oidc): Promise<string | null> {
  const given = new URLSearchParams(location.search);
  const stored = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  if (!given.has("code") && !given.has("error")) return null;
  history.replaceState(null, "", "/console/");
  if (given.has("error")) {
    throw new Error(given.get("error_description") ?? given.get("error") ?? "refused");
  }
  const attempt = stored ? (JSON.parse(stored) as Attempt) : null;
  if (!attempt || given.get("state") !== attempt.state) {
    throw new Error("This sign-in was not begun in this tab. Please begin again.");
  }
  if (attempt.hash) location.hash = attempt.hash;
  return exchange(oidc, attempt, given.get("code") ?? "");
}

async function exchange(oidc: Oidc, attempt: Attempt, code: string): Promise<string> {
  const answer = await fetch(attempt.tokenEndpoint, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: oidc.client_id,
      code,
      redirect_uri: redirect(),
      code_verifier: attempt.verifier,
    }),
  });
  const body = (await answer.json()) as { access_token?: string; error_description?: string };
  if (!body.access_token) throw new Error(body.error_description ?? "The issuer gave no token.");
  return body.access_token;
}

async function discover(
  issuer: string,
): Promise<{ authorization_endpoint: string; token_endpoint: string }> {
  const answer = await fetch(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  if (!answer.ok) throw new Error(`The issuer ${issuer} does not answer.`);
  return (await answer.json()) as { authorization_endpoint: string; token_endpoint: string };
}

function redirect(): string {
  return `${location.origin}/console/`;
}

function random(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(32)));
}

async function challenge(verifier: string): Promise<string> {
  const bytes = new TextEncoder().encode(verifier);
  return base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)));
}

function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
