"""The console in Chromium: first contentful paint, typing in a long document, search as you type.

`python -m bench.console [FILES [PARTS]]` serves FILES generated documents (2,000) of PARTS chunks
(1) and a long one from a server of its own on loopback; other settings are taken from the
environment (`PECIA_EMBED_KIND=none`). Other sizes are written beside the result. Needs Chromium
and the built pages (`make web`).
Lighthouse (npm) is run where `LIGHTHOUSE` names its program or it is on the PATH: on home, search
and a document, with its desktop preset. Bundles: kilobytes, compressed as they are sent.
Paint: a fresh browser profile and one that has the page cached. Typing: what the page does
from a key until its change is drawn, without the wait for the next frame of the display; `cpu` is
the processor time of the page's main thread, a key. Floors: CodeMirror alone with the same long
text, and an empty text area: the browser and the machine, without us.
Search: the requests that the page sends while a question is typed letter by letter, those that were
given up for the next one counted at what they had taken; and the whole search after each pause.
"""

import gzip
import json
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import httpx
from playwright.sync_api import Browser, CDPSession, Locator, Page, sync_playwright

from bench import result

TARGETS = {
    "typing_p95_ms": 16,
    "search_p95_ms": 100,
    "lighthouse": 95,
    "shell_kb": 90,
    "editor_kb": 250,
}
PAGES = {
    "home": "",
    "search": "#/search?q=lantern",
    "document": "#/read?source=wiki%3Anotes&key=note-0.md",
}
STATIC = Path(__file__).parents[1] / "src/pecia/interfaces/web/static"
FILES = 2_000
PARTS = 1
LONG_BYTES = 500_000
KEYS = 200
PAINTS = 7
QUESTION = "how long does the harbour keep a lantern"
VOCABULARY = (
    "harbour lantern quay pack charge depot winter crane ledger rope tide engine wharf cargo "
    "keeper signal bell fog mooring ladder manual brake wheel valve pump inspection permit"
)
WORDS = VOCABULARY.split()
ARGUMENTS = ["--no-sandbox"]
MODULES = Path(__file__).parents[1] / "web/node_modules"
BARE_EDITOR = """
import {{ EditorState }} from "{modules}/@codemirror/state/dist/index.js";
import {{ EditorView }} from "{modules}/@codemirror/view/dist/index.js";
const look = {{ ".cm-scroller": {{ font: "17px/28px serif", overflowX: "hidden" }} }};
const extensions = [EditorView.lineWrapping, EditorView.theme(look)];
window.open_editor = (doc) => void new EditorView({{
  parent: document.body,
  state: EditorState.create({{ doc, extensions }}),
}});
"""
"""The least that shows the same text the same way."""
# Times are taken in the page: the driver's own way would be in them otherwise.
WATCH_KEYS = """() => {
  window.taken = [];
  addEventListener("keydown", (event) => {
    const handled = new MessageChannel();
    handled.port1.onmessage = () => {
      const input = performance.now() - event.timeStamp;
      requestAnimationFrame(() => {
        const drawn = new MessageChannel();
        drawn.port1.onmessage = () => taken.push(input + performance.now() - began);
        const began = performance.now();
        drawn.port2.postMessage(null);
      });
    };
    handled.port2.postMessage(null);
  }, { capture: true });
}"""
WATCH_SEARCHES = """
window.asked = { typed: [], whole: [] };
const ask = window.fetch;
window.fetch = async (...request) => {
  const begun = performance.now();
  try {
    return await ask(...request);
  } finally {
    const kind = String(request[1]?.body).includes('"typing":true') ? "typed" : "whole";
    if (String(request[0]).includes("search_content")) asked[kind].push(performance.now() - begun);
  }
};"""


def main() -> Path:
    given = [int(it) for it in sys.argv[1:] if it.isdigit()]
    count, parts = [*given, *(FILES, PARTS)[len(given) :]]
    found: dict[str, Any] = {"documents": count, "targets": TARGETS}
    with (
        tempfile.TemporaryDirectory() as folder,
        sync_playwright() as playwright,
        serve(Path(folder), count, parts) as url,
    ):
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        found |= chunks(url)
        for measure in (paints, searches):
            found |= measure(browser, url)
        found |= lighthouse(chromium or "", url)
        # Last: what was typed is indexed and embedded, beside whatever is measured then.
        found |= typing(browser, url)
    found |= bundles()
    return result.write("console" if not given else f"console-{found['chunks']}-chunks", found)


def paints(browser: Browser, url: str) -> dict[str, Any]:
    """First contentful paint in milliseconds: the median, with nothing cached and with all."""
    found: dict[str, Any] = {}
    for name, at in PAGES.items():
        cold, warm = list[float](), list[float]()
        for _ in range(PAINTS):
            context = browser.new_context()
            page = context.new_page()
            for times in (cold, warm):
                page.goto("about:blank")
                page.goto(f"{url}/console/{at}", wait_until="networkidle")
                entry = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
                times.append(page.evaluate(entry))
            context.close()
        found[f"{name}_paint_ms"] = {"cold": median(cold), "cached": median(warm)}
    return found


def typing(browser: Browser, url: str) -> dict[str, Any]:
    """In the middle of a document of 500 kB, and in one of a page: what is not the text's size is
    the browser's and the machine's."""
    long, keys = type_in(browser, url, "long")
    return {
        "typing_ms": long,
        "keys": keys,
        "typing_short_ms": type_in(browser, url, "note-0")[0],
        "typing_bare_editor_ms": type_in_bare_editor(browser),
        "typing_floor_ms": type_in_text_area(browser),
    }


def type_in_text_area(browser: Browser) -> dict[str, float]:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_content("<textarea rows=30 cols=80></textarea>")
    page.locator("textarea").focus()
    times = type_words(page)
    page.close()
    return times


def type_in_bare_editor(browser: Browser) -> dict[str, float]:
    """In as much of a page as the text has in the console, beside its preview."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.set_content("<body style='width: 560px'></body>")
    page.add_script_tag(content=bundle_bare_editor())
    page.evaluate("text => window.open_editor(text)", long_text(random.Random(7)))
    go_into(page, page.get_by_role("textbox"))
    times = type_words(page)
    page.close()
    return times


def bundle_bare_editor() -> str:
    with tempfile.TemporaryDirectory() as folder:
        source, built = Path(folder) / "bare.js", Path(folder) / "built.js"
        source.write_text(BARE_EDITOR.format(modules=MODULES), encoding="utf-8")
        words = ["node", str(MODULES / "rolldown/bin/cli.mjs"), str(source)]
        options = ["--file", str(built), "--format", "iife", "--minify"]
        subprocess.run([*words, *options], check=True, capture_output=True)
        return built.read_text(encoding="utf-8")


def type_in(browser: Browser, url: str, name: str) -> tuple[dict[str, float], int]:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(f"{url}/console/#/edit?space=notes&doc={name}")
    source = page.get_by_role("textbox", name=f"Source of {name}")
    source.wait_for(timeout=60_000)
    go_into(page, source)
    times = type_words(page)
    keys = page.evaluate("taken.length")
    page.close()
    return times, keys


def go_into(page: Page, source: Locator) -> None:
    source.focus()
    page.keyboard.press("ControlOrMeta+Home")
    for _ in range(60):
        page.keyboard.press("PageDown")
    # What scrolling began is over.
    page.wait_for_timeout(1_000)


def type_words(page: Page) -> dict[str, float]:
    page.evaluate(WATCH_KEYS)
    watch = page.context.new_cdp_session(page)
    send(watch, "Performance.enable", timeDomain="threadTicks")
    before = busy_s(watch)
    page.keyboard.type(" lantern" * (KEYS // 8), delay=60)
    page.wait_for_timeout(500)
    times: list[float] = page.evaluate("taken")
    return {**spread(times), "cpu": round((busy_s(watch) - before) * 1000 / len(times), 1)}


def busy_s(watch: CDPSession) -> float:
    found: list[dict[str, Any]] = send(watch, "Performance.getMetrics")["metrics"]
    return next(float(it["value"]) for it in found if it["name"] == "TaskDuration")


def send(watch: CDPSession, method: str, **words: str) -> dict[str, Any]:
    ask: Callable[[str, dict[str, Any]], dict[str, Any]] = cast("Any", watch).send
    return ask(method, dict(words))


def searches(browser: Browser, url: str) -> dict[str, Any]:
    """What the requests took that somebody's typing caused, without the pause before each."""
    page = browser.new_page()
    page.add_init_script(WATCH_SEARCHES)
    page.goto(f"{url}/console/#/search")
    box = page.get_by_role("searchbox").first
    box.wait_for()
    box.focus()
    for word in QUESTION.split():
        page.keyboard.type(f"{word} ", delay=180)
        page.wait_for_timeout(1_000)
    page.wait_for_load_state("networkidle")
    typed, whole = page.evaluate("[asked.typed, asked.whole]")
    page.close()
    return {
        "search_ms": spread(typed),
        "searches": len(typed),
        "whole_search_ms": spread(whole),
    }


def lighthouse(chromium: str, url: str) -> dict[str, Any]:
    """The four scores of 100 by page; None where the program is missing."""
    program = os.environ.get("LIGHTHOUSE") or shutil.which("lighthouse")
    if program is None:
        return {"lighthouse": None}
    flags = "--headless --no-sandbox --disable-gpu"
    words = ["--quiet", "--output=json", "--preset=desktop", f"--chrome-flags={flags}"]
    found: dict[str, Any] = {}
    for name, at in PAGES.items():
        said = subprocess.run(
            [program, f"{url}/console/{at}", *words],
            env={**os.environ, "CHROME_PATH": chromium},
            capture_output=True,
            text=True,
            check=True,
        )
        categories = json.loads(said.stdout)["categories"]
        found[name] = {key: round(it["score"] * 100) for key, it in categories.items()}
    return {"lighthouse": found}


def bundles() -> dict[str, Any]:
    index = (STATIC / "index.html").read_text(encoding="utf-8")
    shell = re.findall(r'/console/(assets/[^"]+\.(?:js|css))', index)
    editor = [it.relative_to(STATIC) for it in STATIC.glob("assets/Edit-*.js")]
    sizes = {"shell_kb": shell, "editor_kb": editor}
    return {
        name: round(
            sum(len(gzip.compress((STATIC / it).read_bytes(), 6)) for it in files) / 1000, 1
        )
        for name, files in sizes.items()
    }


def chunks(url: str) -> dict[str, Any]:
    found = httpx.get(f"{url}/capacity", trust_env=False, timeout=60).json()
    return {"chunks": found["index"]["chunks"]}


def median(times: Sequence[float]) -> float:
    return round(statistics.median(times), 1)


def spread(times: Sequence[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {"p50": median(ordered), "p95": round(ordered[int(len(ordered) * 0.95)], 1)}


@contextmanager
def serve(home: Path, count: int, parts: int) -> Generator[str]:
    folder = home / "notes"
    write(folder, count, parts)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environ = {**os.environ, "PECIA_HOME": str(home / "pecia"), "HOME": str(home)}
    words = ["start", str(folder), "--no-ask", "--port", str(port)]
    process = subprocess.Popen(
        [sys.executable, "-m", "pecia", *words],
        env=environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait(url)
        yield url
    finally:
        process.terminate()
        process.wait(30)


def write(folder: Path, count: int, parts: int) -> None:
    folder.mkdir()
    dice = random.Random(7)
    for number in range(count):
        body = "\n\n".join(f"## Part {it}\n\n{passage(dice)}" for it in range(parts))
        (folder / f"note-{number}.md").write_text(f"# Note {number}\n\n{body}\n")
    (folder / f"note-{count}.md").write_text("# Last\n\nThe heron stands in the reeds at dawn.\n")
    (folder / "long.md").write_text(long_text(dice))


def passage(dice: random.Random) -> str:
    return ".\n".join(" ".join(dice.choices(WORDS, k=12)) for _ in range(10))


def long_text(dice: random.Random) -> str:
    days = (f"## Day {it}\n\n{' '.join(dice.choices(WORDS, k=60))}." for it in range(50))
    section = "\n\n".join(days)
    whole = "# Long\n\n" + "\n\n".join([section] * (LONG_BYTES // len(section) + 1))
    return whole[:LONG_BYTES]


def wait(url: str) -> None:
    """Until the last document can be found, and the embedder no longer takes the processors."""
    end = time.monotonic() + 3600
    while time.monotonic() < end:
        try:
            found = ask(url, "lake/search_content", query="heron reeds dawn", mode="lexical")
            stats = ask(url, "admin/source_stats", source_id="wiki:notes")
        except (httpx.HTTPError, json.JSONDecodeError):
            found = stats = {}
        if found.get("hits") and stats.get("embedded") in (None, stats.get("chunks")):
            return
        time.sleep(0.5)
    raise RuntimeError("the server did not become ready")


def ask(url: str, tool: str, **arguments: str) -> dict[str, Any]:
    return httpx.post(f"{url}/api/v1/{tool}", json=arguments, trust_env=False, timeout=60).json()


if __name__ == "__main__":
    print(main())
