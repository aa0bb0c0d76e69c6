// The current page and its parameters, in the URL fragment: a query can be shared and gone back to,
// and is in no server log.

export interface Place {
  page: string;
  /** What follows the page's name: `a/b` of `#/page/a/b`. */
  rest: string;
  params: Record<string, string>;
}

let place = $state.raw<Place>(read());

window.addEventListener("hashchange", () => (place = read()));

export function here(): Place {
  return place;
}

export function link(page: string, params: Record<string, string | number | undefined> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return `#/${page}${text ? `?${text}` : ""}`;
}

export function go(address: string): void {
  location.hash = address;
}

/** Change the address without a new entry in the history: for what is being typed. */
export function replace(address: string): void {
  history.replaceState(history.state, "", address);
  place = read();
}

/** A file or document, in the reader. */
export function readLink(
  source: string,
  key: string,
  more: { seq?: number; rev?: number; q?: string; at?: string; page?: number; t?: number; from?: number; to?: number } = {},
): string {
  return link("read", { source, key, ...more });
}

function read(): Place {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [page = "", rest = ""] = path.split(/\/(.*)/s);
  return { page: decoded(page), rest: decoded(rest), params: Object.fromEntries(new URLSearchParams(query)) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
