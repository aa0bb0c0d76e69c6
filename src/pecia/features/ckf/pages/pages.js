// What the pages do beyond HTML: files dropped or picked, printing, publishing, work that shows how
// far it is, packages that came in the address itself, the session and the theme of the console. Every text
// of a package is set as text; the only markup taken is what this server answers.

const LARGEST_FILE = 2_000_000;

function element(name, text, ...inside) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  made.append(...inside);
  return made;
}

function complain(beside, message) {
  const told = element("p", message);
  told.className = "complaint";
  told.setAttribute("role", "alert");
  beside.before(told);
}

async function take(file, area) {
  if (file.size > LARGEST_FILE) {
    complain(area.form, `${file.name} is too large: ${file.size} bytes.`);
    return;
  }
  area.value = await file.text();
}

function acceptDrops(area) {
  for (const kind of ["dragenter", "dragover"]) {
    area.addEventListener(kind, (event) => {
      event.preventDefault();
      area.classList.add("over");
    });
  }
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", (event) => {
    area.classList.remove("over");
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    take(file, area);
  });
}

function acceptPicks(input) {
  input.hidden = false;
  input.addEventListener("change", () => {
    const [file] = input.files;
    if (file) take(file, input.form.querySelector("textarea"));
  });
}

// Whoever is signed in has a session cookie, which counts only with this header: no page of another
// site can set it. Scripts cannot read the cookie; the console's own page says whether there is one.
let hasSession = false;
let isKnown = false;
const headers = () => (hasSession ? { "x-pecia-console": "1" } : {});
const isSignedIn = () => hasSession;

async function save(answer) {
  const [, name] = answer.headers.get("content-disposition").match(/filename="([^"]*)"/) ?? [];
  const link = element("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name ?? "package";
  link.click();
  URL.revokeObjectURL(link.href);
}

// An answer takes the place of the page. Scripts in it do not run: parsed pages have none that would.
async function show(answer) {
  if (answer.headers.get("content-disposition")) return save(answer);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const main = page.querySelector("main") ?? element("main", "", ...page.body.childNodes);
  document.title = page.title;
  document.querySelector("main").replaceWith(document.adoptNode(main));
  enhance();
  await showFragment();
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target) target.scrollIntoView();
  else scrollTo(0, 0);
}

const withoutHash = (address) => String(address).replace(/#.*$/, "");
let shownAddress = withoutHash(location.href);

// A browser sends no header with a link or a form of its own accord, so a signed-in tab asks itself.
async function go(address) {
  shownAddress = withoutHash(address);
  const answer = await fetch(address, { headers: { accept: "text/html", ...headers() } });
  await show(answer);
}

async function follow(name, bar, told) {
  const answer = await fetch(`/compiler/progress/${name}`, { headers: headers() });
  const found = answer.ok ? await answer.json() : null;
  if (!found?.total) return;
  bar.max = found.total;
  bar.value = found.done;
  told.textContent = found.message ?? "";
}

async function send(form, button) {
  const asked = new URLSearchParams(new FormData(form, button));
  const bar = form.querySelector("[data-progress]");
  const told = form.elements.told;
  let timer = 0;
  if (bar) {
    const name = crypto.randomUUID();
    asked.set("progress", name);
    bar.hidden = false;
    timer = setInterval(() => follow(name, bar, told), 400);
  }
  try {
    const answer = await fetch(form.action, {
      method: "POST",
      body: asked,
      headers: { accept: "text/html", ...headers() },
    });
    await show(answer);
  } catch (error) {
    complain(form, `The server did not answer: ${error.message}.`);
  } finally {
    clearInterval(timer);
    if (bar) bar.hidden = true;
  }
}

function acceptSending(form) {
  form.addEventListener("submit", async (event) => {
    if (isKnown && !isSignedIn() && !("work" in form.dataset)) return;
    event.preventDefault();
    await known;
    send(form, event.submitter);
  });
}

// The form is sent once more for the package itself, and that goes to the tool.
async function publish(form, told) {
  const kept = document.getElementById(form.dataset.publish);
  const asked = new URLSearchParams(new FormData(kept));
  asked.set("as", "json");
  const made = await fetch(kept.action, { method: "POST", body: asked, headers: headers() });
  if (!made.ok) throw new Error(`The package could not be made again (${made.status}).`);
  const given = new FormData(form);
  const body = { package: await made.text(), visibility: given.get("visibility") };
  for (const name of ["slug", "title"]) if (given.get(name).trim()) body[name] = given.get(name).trim();
  body.tags = given.get("tags").split(",").map((it) => it.trim()).filter(Boolean);
  const answer = await fetch("/api/v1/ckf/ckf.publish", {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...headers() },
  });
  const result = await answer.json();
  if (!answer.ok) throw new Error(result.error?.message ?? `Refused (${answer.status}).`);
  const link = element("a", `${result.slug}, version ${result.version}`);
  link.href = new URL(result.url).search ? `/viewer${new URL(result.url).search}` : "/viewer";
  told.replaceChildren("Published: ", link);
}

function acceptPublishing(form) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const told = form.elements.told;
    told.textContent = "…";
    try {
      await publish(form, told);
    } catch (error) {
      told.textContent = error.message;
    }
  });
}

async function unpacked(fragment) {
  const bytes = Uint8Array.from(atob(fragment.replaceAll("-", "+").replaceAll("_", "/")), (it) => it.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function isEmpty(value) {
  return value === null || value === "" || (typeof value === "object" && Object.keys(value).length === 0);
}

function shown(value) {
  if (Array.isArray(value)) {
    return element("ul", "", ...value.map((it) => element("li", "", shown(it))));
  }
  if (value === null || typeof value !== "object") return document.createTextNode(String(value));
  const rows = Object.entries(value).filter(([, it]) => !isEmpty(it));
  return element("dl", "", ...rows.flatMap(([name, it]) => [
    element("dt", name.replaceAll("_", " ")),
    element("dd", "", shown(it)),
  ]));
}

function section(name, value) {
  const items = Array.isArray(value) ? value : [value];
  const cards = items.map((it) => element("article", "", shown(it)));
  for (const card of cards) card.className = "item";
  return element("section", "", element("h2", name.replaceAll("_", " ")), ...cards);
}

async function showFragment() {
  const [, fragment] = location.hash.match(/^#ckf=([A-Za-z0-9_-]+=*)$/) ?? [];
  const place = document.getElementById("fragment");
  if (!fragment || !place) return;
  place.hidden = false;
  try {
    const found = await unpacked(fragment);
    const full = element("button", "Full view: sends the package to this server");
    full.addEventListener("click", () => {
      const form = document.querySelector("#index form");
      form.elements.document.value = JSON.stringify(found);
      form.requestSubmit();
    });
    const about = element("p", "From the link itself. It has not left this browser.");
    about.className = "about";
    const parts = Object.entries(found).filter(([name, it]) => name !== "metadata" && !isEmpty(it));
    const title = element("h1", String(found.metadata?.source_title ?? "A package"));
    place.replaceChildren(title, about, full, ...parts.map(([name, it]) => section(name, it)));
    document.getElementById("index").hidden = true;
  } catch {
    place.replaceChildren();
    complain(place, "The link holds no package that can be read.");
  }
}

// Everything on the page that listens; called again for every page that took the place of another.
function enhance() {
  for (const area of document.querySelectorAll("main textarea:not([hidden])")) acceptDrops(area);
  for (const input of document.querySelectorAll("[data-file]")) acceptPicks(input);
  for (const form of document.querySelectorAll("[data-publish]")) acceptPublishing(form);
  for (const form of document.querySelectorAll("main form[method=post]")) {
    acceptSending(form);
  }
  for (const button of document.querySelectorAll("[data-print]")) {
    button.hidden = false;
    button.addEventListener("click", () => print());
  }
}

function isOurs(link) {
  const pages = /^\/(viewer|compiler|compiler-heuristic-vs-llm|news)(\/|$)/;
  return link.origin === location.origin && pages.test(link.pathname);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href]");
  const plain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey;
  if (!link || !plain || !isSignedIn() || !isOurs(link)) return;
  const here = link.pathname === location.pathname && link.search === location.search;
  if (here && link.hash) return;
  event.preventDefault();
  if (!link.pathname.startsWith("/news/")) history.pushState(null, "", link.href);
  go(link.href);
});
window.addEventListener("popstate", () => {
  // A step to another place of the same page asks for nothing.
  if (isSignedIn() && withoutHash(location.href) !== shownAddress) go(location.href);
});
// Paper has no way to open what is folded.
window.addEventListener("beforeprint", () => {
  for (const it of document.querySelectorAll("main details:not(.publish)")) it.open = true;
});
enhance();
showFragment();
window.addEventListener("hashchange", showFragment);
// The theme that somebody chose in the console.
const theme = localStorage.getItem("pecia.theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
document.querySelector("[data-switch]")?.addEventListener("click", () => {
  const root = document.documentElement;
  const now = root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  root.dataset.theme = now === "dark" ? "light" : "dark";
  localStorage.setItem("pecia.theme", root.dataset.theme);
});
document.querySelector("[data-finder]")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const asked = new FormData(event.currentTarget).get("q").trim();
  location.assign(`/console/#/search?${new URLSearchParams({ q: asked })}`);
});

async function begin() {
  const answer = await fetch("/console/about.json", { cache: "no-store" });
  hasSession = answer.ok && (await answer.json()).has_session === true;
  // The empty form is the same for everybody, and may have been filled in already.
  if (hasSession && location.pathname !== "/compiler") await go(location.href);
}
// Without an answer the page is what everybody sees.
const known = begin()
  .catch(() => undefined)
  .finally(() => (isKnown = true));
