"""Names that an attacker would choose, on every screen; and what a reader with few rights is sent.

Texts are tried in `test_pages.py`: here it is what they are called, and who may know of it.
"""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from playwright.sync_api import Dialog, Page, Route

from tests.web.conftest import Installed, sign_in_as
from tests.web.lake_server import LakeServer
from tests.web.test_accessibility import SCREENS as ALL_SCREENS
from tests.web.test_console import serve

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TAG = "<img src=x onerror=alert(1)>"
QUOTED = "\"'><svg onload=alert(2)>"
FILE = f"{TAG}.md"
FOLDER = "'><b onmouseover=alert(3)>"
HIDDEN = ("kestrel", "merlin-plan", "The merlin plan", "harrier", "osprey")
"""The hidden source and what is in it; somebody else's memory and token."""
READ = "#/read?source=wiki%3Anotes&key="
OWN = {
    "hostile document": f"{READ}{quote(FILE, safe='')}",
    "hostile folder": f"#/documents?source=wiki%3Anotes&folder={quote(FOLDER, safe='')}",
    "hostile editor": f"#/edit?space=notes&doc={quote(TAG, safe='')}",
    "hostile history": f"#/history?space=notes&doc={quote(TAG, safe='')}",
    "hostile search": f"#/search?q={quote(TAG, safe='')}",
    "hostile address": f"#/{quote(TAG, safe='')}/{quote(QUOTED, safe='')}",
    "hostile access": f"#/access?source=wiki%3Anotes&key={quote(FILE, safe='')}&user=bo",
    "hidden document": "#/read?source=kestrel&key=merlin-plan.md",
    "hidden folder": "#/documents?source=kestrel",
    "hidden search": "#/search?q=merlin&mode=words",
    "hidden beginning": "#/search?q=merl",
    "hidden question": "#/ask?q=what+is+the+merlin+plan",
}
SCREENS = {
    **{name: at for name, at in ALL_SCREENS.items() if "handbook" not in at},
    **OWN,
}
INJECTED = "[onerror], [onload], [onmouseover], img[src=x], svg[onload], script:not([src])"


@pytest.fixture(scope="module")
def server(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LakeServer]:
    home = tmp_path_factory.mktemp("hostile")
    notes, vault = home / "notes", home / "vault"
    (notes / FOLDER).mkdir(parents=True)
    vault.mkdir()
    (notes / FILE).write_text(f"---\ntitle: {TAG}\ntags: ['{QUOTED}']\n---\n\n# {TAG}\n\nOwls.\n")
    (notes / FOLDER / FILE).write_text(f"# {QUOTED}\n\nMore owls: [[{TAG}]].\n")
    (vault / "merlin-plan.md").write_text("# The merlin plan\n\nA harrier buys the mill.\n")
    for url in serve(installed, home, ["start", str(notes)]):
        it = LakeServer(url, vault, "")
        it.call("admin/add_user", name="bo")
        it.call("admin/add_user", name=QUOTED)
        it.call("admin/add_group", name=TAG)
        scopes = ["pecia.read", "pecia.search"]
        bo = it.call("admin/make_token", label="bo", user="bo", scopes=scopes)["token"]
        for label in (TAG, "osprey"):
            it.call("admin/make_token", label=label, scopes=scopes)
        it.call("memory/cipher_extract_and_operate_memory", interaction=[f"Owls like {TAG}."])
        it.call("memory/cipher_extract_and_operate_memory", interaction=["The harrier pays."])
        it.call("admin/add_source", source_id="kestrel", folder=str(vault), watch=False)
        it.crawl("kestrel")
        it.can_find("merlin")
        it.can_find("owls")
        it.call("lake/search_content", query=f"{TAG} {QUOTED}")
        yield LakeServer(url, vault, bo)


def test_no_name_becomes_a_part_of_a_page(server: LakeServer, page: Page) -> None:
    asked: list[str] = []

    def refuse(it: Dialog) -> None:
        asked.append(it.message)
        it.dismiss()

    page.on("dialog", refuse)
    server.sign_in(page)
    for name, at in SCREENS.items():
        page.goto("about:blank")
        server.open(page, at)
        page.wait_for_load_state("networkidle")
        found = page.locator(INJECTED).count()
        assert (name, found, asked) == (name, 0, [])


def test_nothing_that_is_sent_to_a_reader_names_what_they_may_not_see(
    server: LakeServer, page: Page
) -> None:
    answers: list[str] = []

    def keep(route: Route) -> None:
        answer = route.fetch(timeout=60_000)
        answers.append(answer.text())
        route.fulfill(response=answer)

    sign_in_as(page, server.url, server.bo)
    page.route("**/api/v1/**", keep)
    for name, at in SCREENS.items():
        page.goto("about:blank")
        answers.clear()
        server.open(page, at)
        page.wait_for_load_state("networkidle")
        told = [*answers, page.title(), page.locator("body").inner_text()]
        # What was asked for by its name is said again: that it is not there, or not for them.
        words = [it for it in HIDDEN if it not in at]
        assert [(name, it) for it in words if any(it in text for text in told)] == []
    page.unroute_all(behavior="ignoreErrors")
