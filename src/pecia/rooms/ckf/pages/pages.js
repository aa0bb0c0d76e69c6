// What the pages do beyond HTML: files dropped or picked, printing, publishing, and packages that
// came in the address itself. Every text is set as text; nothing here makes markup of a package.

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

function headers() {
  const token = sessionStorage.getItem("pecia.token");
  return token ? { authorization: `Bearer ${token}` } : {};
}

// The form is sent once more for the package itself, and that goes to the tool.
async function publish(form, told) {
  const asked = new URLSearchParams(new FormData(document.getElementById(form.dataset.publish)));
  asked.set("as", "json");
  const made = await fetch("/compiler", { method: "POST", body: asked, headers: headers() });
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

for (const area of document.querySelectorAll("main textarea:not([hidden])")) acceptDrops(area);
for (const input of document.querySelectorAll("[data-file]")) acceptPicks(input);
for (const form of document.querySelectorAll("[data-publish]")) acceptPublishing(form);
for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => print());
}
// Paper has no way to open what is folded.
window.addEventListener("beforeprint", () => {
  for (const it of document.querySelectorAll("main details:not(.publish)")) it.open = true;
});
showFragment();
window.addEventListener("hashchange", showFragment);
