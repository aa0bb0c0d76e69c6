// The current page and its parameters, in the URL fragment: a query can be shared and gone back to,
// and is in no server log.

export interface Place {
  page: string;
  params: Record<string, string>;
}

let place = $state<Place>(read());

// Pages render after the browser would have scrolled: each restores its own position.
history.scrollRestoration = "manual";
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

function read(): Place {
  const [page = "", query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { page, params: Object.fromEntries(new URLSearchParams(query)) };
}
