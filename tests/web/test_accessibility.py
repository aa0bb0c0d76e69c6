"""Every screen in both themes, wide and at 390 px: axe-core, width, names, focus and motion."""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Literal
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.soak import SOAK
from tests.web.conftest import ROOT, Installed, findings
from tests.web.hostile_texts import DRAWINGS
from tests.web.lake_server import LakeServer
from tests.web.test_console import serve

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

READ = "#/read?source=wiki%3Ahandbook&key="
DOC = "space=handbook&doc=safety%2Fbattery-safety"
SCREENS = {
    "home": "",
    "search": "#/search?q=quarantine",
    "search before a question": "#/search",
    "search without a hit": "#/search?q=zyzzyva&mode=words",
    "document": f"{READ}safety%2Fbattery-safety.md",
    "table": f"{READ}products%2Fparts-list.md",
    "drawings": f"{READ}drawings.md",
    "pdf": f"{READ}manuals%2Fwherry-service-manual.pdf",
    "suggestion": f"{READ}glossary.md&suggestions=1",
    "documents": "#/documents?source=wiki%3Ahandbook",
    "all documents": "#/documents",
    "editor": f"#/edit?{DOC}",
    "editor with suggestions": "#/edit?space=handbook&doc=glossary&suggestions=1",
    "history": f"#/history?{DOC}",
    "new": "#/new?space=handbook",
    "deleted": "#/trash?space=handbook",
    "ask": "#/ask",
    "passages": "#/ask?q=how+long+does+a+pack+stay+in+quarantine",
    "nothing": "#/ask?q=what+is+the+capital+of+france",
    "jobs": "#/jobs",
    "evaluation": "#/evaluation",
    "health": "#/health",
    "backup": "#/backup",
    "settings": "#/settings",
    "cascade": "#/cascade",
    "memories": "#/memories",
    "packages": "#/packages",
    "sources": "#/sources",
    "confirmations": "#/confirm",
    "hub": "#/hub",
    "people": "#/people",
    "access": "#/access?source=wiki%3Ahandbook&key=home.md&user=mira",
    "tokens": "#/tokens",
    "audit": "#/audit",
    "missing": "#/nowhere/at-all",
    "components": "#/components",
}
FAILING = ("components", "missing")
"""Screens that show what went wrong."""
PLAIN = (
    "/read/wiki%3Ahandbook/home.md",
    "/api/v1/docs",
    "/nothing-here",
    "/viewer",
    "/viewer?example=legal",
    "/viewer?example=no-such-example",
    "/compiler",
    "/compiler/pick",
    "/compiler-heuristic-vs-llm",
)
"""Pages that the server renders."""


def _press(keys: str) -> Callable[[Page], None]:
    return lambda page: page.keyboard.press(keys)


def _click(name: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("button", name=name).first.click()


def _click_if_shown(name: str) -> Callable[[Page], None]:
    def act(page: Page) -> None:
        button = page.get_by_role("button", name=name, exact=True)
        if button.count():
            button.click()

    return act


DIALOGS: dict[str, tuple[str, Callable[[Page], None]]] = {
    "palette": ("", _press("Control+k")),
    "keys": ("", _press("?")),
    "account": ("", _click("Signed in as")),
    "new source": ("#/sources", _click("Add a source")),
    "edit a space": ("#/sources", _click("Edit handbook")),
    "new token": ("#/tokens", _click("Make a token")),
    "forget a memory": ("#/memories", _click("Forget")),
    "actions of a document": (f"#/edit?{DOC}", _click("More actions")),
    "more pages": ("", _click_if_shown("Menu")),
}
"""What opens over a screen, and by what."""
Theme = Literal["light", "dark"]
FRAMES = [("light", 1440), ("dark", 390), *([("dark", 1440), ("light", 390)] if SOAK else [])]
"""Both themes and both widths; all four of them in `make soak`."""
# Where the focus is must be seen without a pointer: at the control, or at what holds it.
UNSEEN_FOCUS = """async () => {
  const look = (it) => {
    const s = getComputedStyle(it);
    const shown = s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0;
    return [shown, s.outlineColor, s.boxShadow, s.borderColor, s.backgroundColor].join();
  };
  const looks = (it) => [it, it.parentElement, it.closest("label, li, tr, form, article")]
    .filter(Boolean).map(look).join();
  const controls = [...document.querySelectorAll(
    "a[href], button, input, select, textarea, summary, [tabindex='0'], [contenteditable=true]")];
  const unseen = [];
  for (const it of controls) {
    const isShown = it.checkVisibility({ checkVisibilityCSS: true, checkOpacity: true });
    if (it.disabled || !isShown) continue;
    document.activeElement?.blur();
    const before = looks(it);
    it.focus({ focusVisible: true, preventScroll: true });
    const isUnseen = document.activeElement === it && looks(it) === before;
    if (isUnseen) unseen.push(it.outerHTML.slice(0, 160));
  }
  return unseen;
}"""
MOVING = """() => document.getAnimations().filter((it) => it.playState === "running"
  && it.effect.getComputedTiming().duration > 1)
  .map((it) => it.effect.target?.outerHTML.slice(0, 160))"""


@pytest.fixture(scope="module")
def handbook(
    installed: Installed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LakeServer]:
    """With what a company has after a morning: versions, a suggestion, a deleted document."""
    home = tmp_path_factory.mktemp("accessible")
    folder = home / "handbook"
    shutil.copytree(ROOT / "examples/handbook", folder)
    (folder / "drawings.md").write_text(DRAWINGS)
    (folder / "old.md").write_text("# Old list\n")
    for url in serve(installed, home, ["start", str(folder)]):
        it = LakeServer(url, folder, "")
        it.can_find("quarantine")
        it.call("admin/add_user", name="mira")
        words = ["The harbour depot closes at 18:00 in winter."]
        it.call("memory/cipher_extract_and_operate_memory", interaction=words)
        battery = {"docName": "safety/battery-safety", "find": "month", "replace": "week"}
        it.call("wiki/edit_document", space="handbook", **battery)
        glossary = {"docName": "glossary", "find": "# Glossary", "replace": "# The glossary"}
        it.call("wiki/edit_document", space="handbook", suggest=True, **glossary)
        it.call("wiki/delete_document", space="handbook", docName="old")
        yield it


def settled(page: Page) -> None:
    """Everything that the page asked for is there. The page of components shows loading itself."""
    page.wait_for_load_state("networkidle")
    if not page.url.endswith("#/components"):
        expect(page.locator(".bone")).to_have_count(0)


def faults(page: Page) -> list[str]:
    found = findings(page)
    overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    if overflow > 0:
        found.append(f"too wide by {overflow}")
    found += [f"moves: {it}" for it in page.evaluate(MOVING)]
    return found


def open_frame(browser: Browser, theme: Theme, width: int) -> Page:
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
    )
    return context.new_page()


@dataclass(slots=True)
class Visits:
    """What was found on the screens of one frame, by screen."""

    wrong: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    unseen: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


@pytest.fixture(scope="module")
def visits(handbook: LakeServer, browser: Browser) -> Callable[[Theme, int], Visits]:
    """Every screen of a frame is loaded once, which takes longer than to look at it."""
    return cache(partial(visit_screens, handbook, browser))


def visit_screens(handbook: LakeServer, browser: Browser, theme: Theme, width: int) -> Visits:
    page = open_frame(browser, theme, width)
    found = Visits()
    addresses = {name: f"{handbook.url}/console/{at}" for name, at in SCREENS.items()}
    addresses |= {path: f"{handbook.url}{path}" for path in PLAIN}
    for name, address in addresses.items():
        page.goto("about:blank")
        page.goto(address)
        settled(page)
        if wrong := faults(page):
            found.wrong[name] = wrong
        may_fail = name in FAILING or name in PLAIN
        if not may_fail and page.get_by_role("alert").count():
            found.wrong[f"{name} shows a failure"] = page.get_by_role("alert").all_inner_texts()
        if unseen := page.evaluate(UNSEEN_FOCUS):
            found.unseen[name] = unseen
    page.context.close()
    return found


@pytest.mark.parametrize(("theme", "width"), FRAMES)
def test_axe_finds_nothing_on_any_screen(
    visits: Callable[[Theme, int], Visits], theme: Theme, width: int
) -> None:
    assert visits(theme, width).wrong == {}


@pytest.mark.parametrize(("theme", "width"), FRAMES)
def test_the_focus_is_seen_on_every_control(
    visits: Callable[[Theme, int], Visits], theme: Theme, width: int
) -> None:
    assert visits(theme, width).unseen == {}


@pytest.mark.parametrize(("theme", "width"), FRAMES)
def test_axe_finds_nothing_on_what_opens_over_a_screen(
    handbook: LakeServer, browser: Browser, theme: Theme, width: int
) -> None:
    page = open_frame(browser, theme, width)
    handbook.sign_in(page)
    wrong: dict[str, list[str]] = {}
    for name, (at, act) in DIALOGS.items():
        page.goto("about:blank")
        handbook.open(page, at)
        settled(page)
        act(page)
        settled(page)
        if found := faults(page):
            wrong[name] = found
    page.context.close()
    assert wrong == {}


@pytest.mark.parametrize(("theme", "width"), FRAMES)
def test_axe_finds_nothing_before_one_is_in(
    handbook: LakeServer, browser: Browser, theme: Theme, width: int
) -> None:
    page = open_frame(browser, theme, width)
    page.route("**/console/about.json", lambda route: route.abort())
    handbook.open(page)
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    assert faults(page) == []
    page.unroute("**/console/about.json")
    # A token that has ended leads to the sign-in, also where the owner needs none.
    answer = {"status": 401, "json": {"error": {"code": "UNAUTHENTICATED", "message": "No token."}}}
    page.route("**/api/v1/admin/whoami", lambda route: route.fulfill(**answer))  # pyright: ignore[reportArgumentType]
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Sign in to Pecia")).to_be_visible()
    assert faults(page) == []
    page.unroute("**/api/v1/admin/whoami")
    answer |= {"status": 403}
    page.route("**/api/v1/admin/whoami", lambda route: route.fulfill(**answer))  # pyright: ignore[reportArgumentType]
    page.reload()
    expect(page.get_by_role("heading", name="have no access")).to_be_visible()
    assert faults(page) == []
    page.context.close()


def test_every_page_of_the_console_is_checked() -> None:
    routes = (ROOT / "web/src/routes.ts").read_text(encoding="utf-8")
    pages = set(re.findall(r"\{ page: \"([^\"]*)\"", routes))
    assert len(pages) > 20
    checked = {it.removeprefix("#/").partition("?")[0] for it in SCREENS.values()}
    assert pages - checked == set()


def test_every_page_that_the_server_renders_is_checked(handbook: LakeServer) -> None:
    """Every route of a feature that answers a browser with a page and needs no name in its path."""
    served = (ROOT / "src/pecia/features").rglob("*.py")
    routes = (it.read_text(encoding="utf-8") for it in served)
    paths = {path for text in routes for path in re.findall(r'"GET",\s+"(/[^"{}]*)"', text)}
    assert paths
    pages = {
        path
        for path in paths
        if "text/html"
        in httpx.get(f"{handbook.url}{path}", trust_env=False).headers["content-type"]
    }
    assert pages - {urlsplit(it).path for it in PLAIN} == set()
