"""Pictures of the console, from the example handbook: `python -m scripts.screens [NAME …]`.

Needs Chromium and the built pages. Writes docs/screens/, a few small files: look at each of them.
"""

import base64
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

import httpx
from playwright.sync_api import Browser, Page, sync_playwright

from pecia.kernel.identity import owner_token
from scripts.palette_png import encode_png

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "docs" / "screens"
READ = "#/read?source=wiki%3Ahandbook&key="
SPACE = "space=handbook&doc=safety%2Fbattery-safety"
SCREENS = {
    "home": "",
    "palette": "",
    "search": "#/search?q=how+long+does+a+pack+stay+in+quarantine",
    "ask": "#/ask?q=how+long+does+a+pack+stay+in+quarantine",
    "document": f"{READ}safety%2Fbattery-safety.md",
    "drawings": f"{READ}workshop%2Fbrake-energy.md",
    "pdf": f"{READ}manuals%2Fwherry-service-manual.pdf",
    "documents": "#/documents?source=wiki%3Ahandbook",
    "suggestion": f"{READ}runbooks%2Fbattery-incident.md&suggestions=1",
    "editor": f"#/edit?{SPACE}",
    "suggestions": "#/edit?space=handbook&doc=runbooks%2Fbattery-incident&suggestions=1",
    "history": f"#/history?{SPACE}",
    "new": "#/new?space=handbook",
    "deleted": "#/trash?space=handbook",
    "memories": "#/memories",
    "packages": "/viewer?example=legal",
    "compiler": "/compiler",
    "comparison": "/compiler-heuristic-vs-llm",
    "cascade": "#/cascade",
    "sources": "#/sources",
    "confirmations": "#/confirm",
    "hub": "#/hub",
    "people": "#/people",
    "access": "#/access?source=wiki%3Ahandbook&key=home.md&user=mira",
    "tokens": "#/tokens",
    "audit": "#/audit?acts=1",
    "jobs": "#/jobs",
    "health": "#/health",
    "evaluation": "#/evaluation",
    "settings": "#/settings",
    "backup": "#/backup",
    "missing": "#/no/such-page",
    "api": "/api/v1/docs",
    "without-scripts": "/read/wiki%3Ahandbook/safety/battery-safety.md",
    "not-found": "/nothing-here",
}
TYPED = {"palette": "batt"}
"""What is typed into the command palette of a screen."""
OPENED = {"hub": "Tools"}
"""What is unfolded on a screen."""
Theme = Literal["light", "dark"]
THEMES: tuple[Theme, ...] = ("light", "dark")
WIDTHS = (1440, 390)
DRAWINGS = r"""---
title: Brake energy
type: reference
tags: [brakes, physics]
---

# Brake energy

A loaded Wherry of mass $m$ at speed $v$ has the energy $E = \tfrac{1}{2} m v^2$, and all of it
goes into the discs.

$$
\Delta T = \frac{E}{m_\mathrm{disc}\, c} = \frac{\tfrac{1}{2}\, m\, v^2}{m_\mathrm{disc}\, c}
$$

## How a pad is judged

```mermaid
flowchart LR
  A[Pad in hand] --> B{Thinner than 1 mm?}
  B -- yes --> C[Replace both]
  B -- no --> D{Glazed?}
  D -- yes --> E[Sand, test ride]
  D -- no --> F[Keep]
```
"""
# A browser decodes pictures: there is no other library for it here.
PIXELS = """async (shot) => {
  const picture = await fetch("data:image/png;base64," + shot);
  const image = await createImageBitmap(await picture.blob());
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, image.width, image.height);
  let text = "";
  for (let at = 0; at < data.length; at += 8190)
    text += String.fromCharCode(...data.subarray(at, at + 8190));
  return btoa(text);
}"""
# The list of components has the grey lines of what is loading; no screen here has them at the end.
IS_SETTLED = """() => !document.querySelector(".bone")
  && !/Drawing…|Opening$/m.test(document.body.innerText)"""
MAX_BYTES = 120_000
HEIGHT = 740
MEMORIES = (
    "Call-outs to zone 2 are off with more than 10 cm of fresh snow.",
    "The harbour depot closes at 18:00 in winter.",
    "Spare packs for Nordkai come on Tuesdays.",
    "Quotes to customers name the price with tax.",
)


class Server(NamedTuple):
    """Where it is served, and what its owner sends."""

    url: str
    folder: Path
    owner: Mapping[str, str]


def main() -> int:
    TARGET.mkdir(exist_ok=True)
    with serve_handbook() as server, sync_playwright() as playwright:
        url = server.url
        prepare(server)
        wait(url)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--disable-background-networking"],
        )
        studio = browser.new_page()
        for theme, width in product(THEMES, WIDTHS):
            draw_all(browser, studio, server, sys.argv[1:] or [*SCREENS], theme, width)
        browser.close()
    large = [it for it in TARGET.glob("*.png") if it.stat().st_size > MAX_BYTES]
    for it in large:
        sys.stderr.write(f"{it.name} has more than {MAX_BYTES} bytes\n")
    return 1 if large else 0


@contextmanager
def serve_handbook() -> Generator[Server, None, None]:
    """A local server of its own, on a copy of the handbook."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        home = Path(folder)
        shutil.copytree(ROOT / "examples/handbook", home / "handbook")
        (home / "handbook/workshop/brake-energy.md").write_text(DRAWINGS)
        (home / "handbook/notes/to-be-deleted.md").write_text("# Old list\n")
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        words = ["start", str(home / "handbook"), "--no-ask", "--port", str(port)]
        programs = home / "bin"
        programs.mkdir()
        (programs / "pecia").symlink_to(Path(sys.executable).parent / "pecia")
        environ = {
            "PATH": f"{programs}:/usr/bin:/bin",
            "HOME": folder,
            "PECIA_HOME": str(home / "pecia"),
            "PECIA_CASCADE_MANIFESTS": f"kb={home / 'handbook/cascade/manifest.json'}",
        }
        process = subprocess.Popen([sys.executable, "-m", "pecia", *words], env=environ)
        url = f"http://127.0.0.1:{port}"
        try:
            wait(url)
            owner = {"authorization": f"Bearer {owner_token.read(home / 'pecia')}"}
            yield Server(url, home / "handbook", owner)
        finally:
            process.terminate()
            process.wait(30)


def wait(url: str) -> None:
    """Until it is ready and has indexed what it has, embeddings too."""
    for _ in range(600):
        try:
            found = call(url, "lake/search_content", query="quarantine")
            if found["hits"] and not found["degraded"]:
                return
        except (httpx.HTTPError, KeyError):
            pass
        time.sleep(0.2)
    raise RuntimeError("the server did not become ready")


def call(url: str, tool: str, **arguments: object) -> dict[str, object]:
    answer = httpx.post(f"{url}/api/v1/{tool}", json=arguments, trust_env=False, timeout=60)
    return answer.json()


def call_confirmed(at: Server, tool: str, **arguments: object) -> dict[str, Any]:
    """A call that a person has to allow, and does."""
    waits = call(at.url, tool, **arguments)["error"]
    assert isinstance(waits, dict)
    answer = f"{at.url}/api/v1/confirmations/{waits['confirmation']}"
    httpx.post(answer, json={}, headers=at.owner, trust_env=False).raise_for_status()
    return call(at.url, tool, **arguments)


def prepare(server: Server) -> None:
    """What a company would have after a morning."""
    url = server.url
    command = "pecia cascade serve --manifest cascade/manifest.json"
    folder = str(server.folder)
    call_confirmed(server, "hub/add_server", server="decisions", command=command, cwd=folder)
    call(url, "admin/add_user", name="mira")
    call(url, "admin/add_group", name="workshop")
    call(url, "admin/add_member", group="workshop", user="mira")
    call(url, "admin/make_token", label="the workshop's tablet", scopes=["pecia.search"])
    # It waits for the owner to confirm it.
    call(url, "admin/add_source", source_id="system-manuals", folder="/usr/share/doc")
    call(url, "memory/cipher_extract_and_operate_memory", interaction=[*MEMORIES])
    call(
        url,
        "wiki/edit_document",
        docName="safety/battery-safety",
        find="Check the charge every month.",
        replace="Check the charge every month, in winter every two weeks.",
        summary="Winter checks",
    )
    suggest(url)
    call(url, "wiki/delete_document", docName="notes/to-be-deleted")


def suggest(url: str) -> None:
    """As an agent does, over MCP: two pieces, and a thread."""
    path = "runbooks/battery-incident"
    found = call(url, "wiki/read_document", path=f"{path}.md")
    text = str(found["content"])
    changed = text.replace("72 hours start now", "72 hours start when the box is locked")
    changed = changed.replace("Take a photograph", "Take two photographs, of pack and label")
    assert changed != text
    ask = {"docName": path, "markdown": changed, "position": "replace", "suggest": True}
    ask["summary"] = "The insurer asks for both, and counts from the lock"
    made = agent(url, "write_document", ask)
    words = "See the letter of 3 May: they refused a claim because the label could not be read."
    agent(url, "comment_suggestion", {"suggestion": made["suggestion"], "text": words})


def agent(url: str, tool: str, arguments: Mapping[str, object]) -> dict[str, Any]:
    params = {"name": tool, "arguments": {"space": "handbook", **arguments}}
    answer = httpx.post(
        f"{url}/mcp/wiki",
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        headers={"accept": "application/json, text/event-stream"},
        trust_env=False,
        timeout=60,
    )
    text = answer.text.partition("data: ")[2] or answer.text
    result = json.loads(text)["result"]
    assert not result.get("isError"), result
    return result["structuredContent"]


def draw_all(
    browser: Browser, studio: Page, server: Server, names: Sequence[str], theme: Theme, width: int
) -> None:
    """In one context: the code of the pages is fetched once."""
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT},
        color_scheme=theme,
        reduced_motion="reduce",
    )
    link = httpx.post(
        f"{server.url}/api/v1/session/link", json={}, headers=server.owner, trust_env=False
    )
    context.new_page().goto(link.json()["url"])
    for name in names:
        page = context.new_page()
        shot = draw(page, server.url, name)
        page.close()
        (TARGET / f"{name}-{theme}-{width}.png").write_bytes(reduced(studio, shot, width))
    context.close()


def draw(page: Page, url: str, name: str) -> bytes:
    at = SCREENS[name]
    # A package is compiled when its page is asked for: on a busy machine that takes a while.
    page.goto(url + at if at.startswith("/") else f"{url}/console/{at}", timeout=120_000)
    page.wait_for_load_state("networkidle")
    page.wait_for_function(IS_SETTLED, timeout=60_000)
    if name in TYPED:
        page.keyboard.press("Control+k")
        page.get_by_role("combobox").fill(TYPED[name])
        page.wait_for_load_state("networkidle")
    if name in OPENED:
        page.get_by_text(OPENED[name], exact=True).click()
    page.wait_for_timeout(500)
    return page.screenshot()


def reduced(studio: Page, shot: bytes, width: int) -> bytes:
    """The same picture with a palette, a third of its size."""
    pixels = studio.evaluate(PIXELS, base64.b64encode(shot).decode())
    return encode_png(base64.b64decode(pixels), width, HEIGHT)


if __name__ == "__main__":
    sys.exit(main())
