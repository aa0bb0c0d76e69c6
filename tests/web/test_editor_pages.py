"""What stands around the text: properties, links, images, history, new and deleted documents."""

import base64
import gzip
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.contract.requirement import requirement
from tests.web.conftest import ROOT, Installed, findings
from tests.web.lake_server import until
from tests.web.wiki_server import SPACE, WikiServer, open_editor, serve_wiki

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)
EDITOR_BYTES = 250_000
"""Of its chunk, compressed; the renderer is in another, which the reader has too."""
PLAN = "# Plan\n\nFirst line.\n"


@pytest.fixture(scope="module")
def server(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WikiServer]:
    with serve_wiki(tmp_path_factory.mktemp("pages"), installed) as it:
        it.write("guides/start.md", "# Start\n\nSee [[guides/second]].\n")
        it.write("guides/second.md", "# Second\n")
        it.write("templates/decision.md", "---\ntype: decision\n---\n# {{title}}\n")
        yield it


@pytest.fixture
def wide(page: Page) -> Page:
    """A window with room for the preview beside the source."""
    page.set_viewport_size({"width": 1440, "height": 900})
    return page


@pytest.fixture
def doc(server: WikiServer) -> str:
    name = f"plan-{uuid4().hex[:6]}"
    server.write(f"{name}.md", PLAN)
    return name


def test_a_property_is_changed_and_no_other_character(server: WikiServer, page: Page) -> None:
    name = f"props-{uuid4().hex[:6]}"
    head = "title:   'Old'  # kept\ntags: [ a,b ]\nlist:\n  - one   # kept\n  - two\ndone: false\n"
    server.write(f"{name}.md", f"---\n{head}nested: {{a: 1}}\n---\n# Body\n")
    here = open_editor(page, server, name)
    page.get_by_role("button", name="Properties").click()
    form = page.get_by_role("complementary", name="Properties")
    form.get_by_label("title", exact=True).fill("New: title")
    form.get_by_label("title", exact=True).press("Enter")
    form.get_by_label("list", exact=True).fill("one, three")
    form.get_by_label("list", exact=True).press("Enter")
    form.get_by_label("done", exact=True).check()
    here.expect_stored()
    new = head.replace("'Old'", '"New: title"').replace("two", "three").replace("false", "true")
    whole = f"---\n{new}nested: {{a: 1}}\n---\n# Body\n"
    until(lambda: True if server.read(f"{name}.md") == whole else None)


def test_links_and_blocks_are_completed_and_dead_links_and_bad_frontmatter_shown(
    server: WikiServer, wide: Page
) -> None:
    page = wide
    name = f"links-{uuid4().hex[:6]}"
    server.write(f"{name}.md", "---\ntitle: [open\n---\n")
    here = open_editor(page, server, name)
    expect(page.locator(".cm-lintRange-error")).to_have_count(1)
    here.type_at_end("/heading 2")
    expect(page.get_by_role("option").first).to_contain_text("heading 2")
    page.keyboard.press("Enter")
    page.keyboard.type("Links")
    page.keyboard.press("Enter")
    page.keyboard.type("[[guides/sec")
    page.get_by_role("option", name="guides/second").click()
    page.keyboard.type(" and [[nowhere at all]]")
    expect(here.source).to_contain_text("[[guides/second]] and [[nowhere at all]]")
    here.expect_stored()
    expect(page.locator(".cm-lintRange-warning")).to_have_text("[[nowhere at all]]")
    beside = page.get_by_role("complementary", name="Preview")
    # As readers see it: by its title.
    expect(beside.get_by_role("link", name="Second", exact=True)).to_be_visible()
    expect(beside.locator(".missing")).to_have_text("nowhere at all")


def test_the_preview_is_the_same_after_edits_as_when_it_is_opened_anew(
    server: WikiServer, wide: Page
) -> None:
    page, name = wide, f"long-{uuid4().hex[:6]}"
    parts = [f'## Part {it}\n\nText $x_{it}$.\n\n```mermaid\npie\n  "a": 1\n```' for it in range(4)]
    plain = [f"Paragraph {it}." for it in range(50)]
    server.write(f"{name}.md", "\n\n".join(["# Long", *parts, *plain, ""]))
    open_editor(page, server, name)
    beside = page.get_by_role("complementary", name="Preview")
    expect(beside.locator(".katex")).to_have_count(4)
    edits = [
        ("## Part 2", "## Parts two"),
        ("Text $x_1$.", ""),
        ("# Long", "Before.\n\n# Long"),
        ("Paragraph 10.", "- one\n- two\n\n## New"),
        ("Paragraph 49.", "Last **words**."),
    ]
    for find, replace in edits:
        server.agent("edit_document", docName=name, find=find, replace=replace, summary="e")
    expect(beside).to_contain_text("Last words.")
    expect(beside.locator("h2")).to_have_count(5)
    drawn = beside.locator("figure img")
    expect(drawn).to_have_count(4)
    edited = beside.inner_text()
    counts = [beside.locator(it).count() for it in (".katex", "figure, pre", "p", "li")]
    page.reload()
    expect(beside.locator(".katex")).to_have_count(3)
    expect(drawn).to_have_count(4)
    until(lambda: beside.inner_text() == edited or None)
    assert [beside.locator(it).count() for it in (".katex", "figure, pre", "p", "li")] == counts


def test_a_pasted_image_lies_beside_the_document_and_is_shown(
    server: WikiServer, doc: str, wide: Page
) -> None:
    page = wide
    here = open_editor(page, server, doc)
    here.source.focus()
    page.keyboard.press("ControlOrMeta+End")
    here.source.evaluate(
        """(node, data) => {
            const bytes = Uint8Array.from(atob(data), (it) => it.charCodeAt(0));
            const pasted = new DataTransfer();
            pasted.items.add(new File([bytes], "A shot.png", { type: "image/png" }));
            const how = { clipboardData: pasted, bubbles: true, cancelable: true };
            node.dispatchEvent(new ClipboardEvent("paste", how));
        }""",
        PNG,
    )
    image = page.get_by_role("complementary", name="Preview").get_by_role("img", name="A shot")
    expect(image).to_be_visible()
    assert until(lambda: image.evaluate("it => it.naturalWidth") or None) == 1
    (stored,) = server.folder.glob("a-shot-*.png")
    assert stored.read_bytes() == base64.b64decode(PNG)
    expect(here.source).to_contain_text(f"![A shot]({stored.name})")


def test_a_version_is_compared_and_restored(server: WikiServer, doc: str, page: Page) -> None:
    server.agent("edit_document", docName=doc, find="First", replace="Second", summary="Why not")
    server.agent("edit_document", docName=doc, find="Second", replace="Third")
    page.goto(f"{server.url}/console/#/history?space={SPACE}&doc={doc}")
    rows = page.get_by_role("region", name="Versions").get_by_role("listitem")
    expect(rows).to_have_count(3)
    expect(rows.nth(1)).to_contain_text("Why not")
    expect(rows.nth(1)).to_contain_text(", agent")
    rows.nth(1).get_by_role("button").click()
    changes = page.get_by_role("group", name="Differences")
    expect(changes.locator(".removed")).to_have_text("Removed: First line.\u200b")
    expect(changes.locator(".added")).to_have_text("Added: Second line.\u200b")
    rows.nth(2).get_by_role("button").click()
    page.get_by_role("button", name="Restore version 1").click()
    page.get_by_role("dialog").get_by_role("button", name="Restore").click()
    expect(rows).to_have_count(4)
    assert server.read(f"{doc}.md") == PLAN


def test_two_people_who_restore_at_once_both_make_a_version(
    server: WikiServer, doc: str, page: Page, browser: Browser
) -> None:
    server.agent("edit_document", docName=doc, find="First", replace="Second")
    second = server.read(f"{doc}.md")
    server.agent("edit_document", docName=doc, find="Second", replace="Third")
    other = browser.new_context().new_page()
    dialogs: list[Locator] = []
    for tab, row in ((page, 1), (other, 2)):
        tab.goto(f"{server.url}/console/#/history?space={SPACE}&doc={doc}")
        rows = tab.get_by_role("region", name="Versions").get_by_role("listitem")
        expect(rows).to_have_count(3)
        rows.nth(row).get_by_role("button").click()
        tab.get_by_role("button", name="Restore version").click()
        dialogs.append(tab.get_by_role("dialog"))
    for it in dialogs:
        it.get_by_role("button", name="Restore").click(no_wait_after=True)
    for it in dialogs:
        expect(it).to_have_count(0)
    for tab in (page, other):
        tab.reload()
        rows = tab.get_by_role("region", name="Versions").get_by_role("listitem")
        expect(rows).to_have_count(5)
        expect(tab.get_by_role("alert")).to_have_count(0)
    assert server.read(f"{doc}.md") in (PLAN, second)
    other.context.close()


def test_the_keyboard_is_enough_from_a_new_document_to_its_end(
    server: WikiServer, page: Page
) -> None:
    title = f"Keys {uuid4().hex[:6]}"
    name = title.lower().replace(" ", "-")
    page.goto(f"{server.url}/console/#/new?space={SPACE}")
    expect(page.get_by_label("Title")).to_be_focused()
    page.keyboard.type(title)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda it: "#/edit" in it)
    here = open_editor(page, server, name)
    expect(here.source).to_be_focused()
    page.keyboard.press("ControlOrMeta+End")
    page.keyboard.type("/ is typed, and ? too.")
    here.expect_stored()
    expect(page.get_by_role("dialog")).to_have_count(0)
    # Tab leaves the text: nobody is trapped in it.
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("link", name="Done")).to_be_focused()
    page.get_by_role("button", name="More actions").press("Enter")
    page.get_by_role("button", name="Rename or move").press("Enter")
    page.get_by_label("Path and name").fill(f"moved/{name}")
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation", name="Place")).to_have_text(f"{SPACE} / moved / {name}")
    expect(here.source).to_contain_text("/ is typed, and ? too.")
    page.get_by_role("button", name="More actions").press("Enter")
    page.get_by_role("button", name="Delete", exact=True).press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Delete").press("Enter")
    page.get_by_role("button", name=f"Restore moved/{name}").press("Enter")
    until(lambda: (server.folder / "moved" / f"{name}.md").exists() or None)


def test_a_template_is_filled_in(server: WikiServer, page: Page) -> None:
    title = f"Bikes {uuid4().hex[:6]}"
    page.goto(f"{server.url}/console/#/new?space={SPACE}&folder=decisions")
    page.get_by_label("Title").fill(title)
    page.get_by_label("Template").select_option("decision")
    page.get_by_role("button", name="Create").click()
    path = f"decisions/{title.lower().replace(' ', '-')}.md"
    until(lambda: (server.folder / path).exists() or None)
    assert server.read(path) == f"---\ntype: decision\n---\n# {title}\n"


def test_the_editor_is_within_its_budget() -> None:
    (built,) = (ROOT / "src/pecia/interfaces/web/static/assets").glob("Edit-*.js")
    assert len(gzip.compress(built.read_bytes())) <= EDITOR_BYTES


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_every_screen_is_accessible_and_fits(
    server: WikiServer, doc: str, browser: Browser, theme: Any, width: int
) -> None:
    server.agent("edit_document", docName=doc, find="First", replace="Very first")
    server.agent("write_document", docName=f"{doc}-gone", markdown="x\n", position="replace")
    server.agent("delete_document", docName=f"{doc}-gone")
    context = browser.new_context(viewport={"width": width, "height": 844}, color_scheme=theme)
    page = context.new_page()
    here = open_editor(page, server, doc)
    here.expect_stored()
    check(page)
    page.get_by_role("button", name="Properties").click()
    check(page)
    page.get_by_role("button", name="More actions").click()
    page.get_by_role("button", name="Delete", exact=True).click()
    check(page)
    page.get_by_role("button", name="Keep it").click()
    for at, shown in (
        (f"history?space={SPACE}&doc={doc}", "History of"),
        (f"trash?space={SPACE}", "Deleted documents"),
        (f"new?space={SPACE}", "New document"),
    ):
        page.goto(f"{server.url}/console/#/{at}")
        expect(page.get_by_role("heading", level=1)).to_contain_text(shown)
        check(page)
    context.close()


def check(page: Page) -> None:
    """No finding of any level, and nothing wider than the window."""
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@requirement("wiki.preview.opens_the_document")
def test_the_preview_link_of_a_tool_opens_the_document(server: WikiServer, page: Page) -> None:
    name = f"previews/a b {uuid4().hex[:6]}"
    done = server.agent(
        "write_document", docName=name, markdown=f"# Shown {name}\n", position="replace"
    )
    assert done["previewUrlSource"] == "lock"
    page.goto(done["previewUrl"])
    expect(page.get_by_role("heading", name=f"Shown {name}")).to_be_visible()
