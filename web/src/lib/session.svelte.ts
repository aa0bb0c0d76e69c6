// The token of this tab. It lives as long as the tab, is sent to this server only, and is in no
// cookie, so no other site can use it.

const KEY = "pecia.token";

let token = $state<string | null>(sessionStorage.getItem(KEY));

export function bearer(): string | null {
  return token;
}

export function remember(given: string): void {
  token = given;
  sessionStorage.setItem(KEY, given);
}

export function forget(): void {
  token = null;
  sessionStorage.removeItem(KEY);
}
