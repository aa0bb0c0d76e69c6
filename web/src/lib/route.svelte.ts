// Where the reader is, in the part of the address that browsers keep to themselves: a question is
// in the address, so that it can be shared and gone back to, and in no server's log.

export interface Place {
  room: string;
  params: Record<string, string>;
}

let place = $state<Place>(read());

// Rooms are drawn after the browser would have scrolled: each finds its place itself.
history.scrollRestoration = "manual";
window.addEventListener("hashchange", () => (place = read()));

export function here(): Place {
  return place;
}

export function link(room: string, params: Record<string, string | number | undefined> = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  const text = query.toString();
  return `#/${room}${text ? `?${text}` : ""}`;
}

export function go(address: string): void {
  location.hash = address;
}

function read(): Place {
  const [room = "", query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  return { room, params: Object.fromEntries(new URLSearchParams(query)) };
}
