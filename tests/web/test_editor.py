"""The editor in real browsers at a real server: together, with agents and programs, and alone."""

import re
from collections.abc import Iterator
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect

from pecia.app.local_owner import SESSIONS_FILE
from tests.web.conftest import Installed, sign_in_as
from tests.web.lake_server import until
from tests.web.wiki_server import WikiServer, open_editor, serve_wiki

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

PLAN = "# Plan\n\nFirst line.\nLast line.\n"


@pytest.fixture(scope="module")
def server(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WikiServer]:
    with serve_wiki(tmp_path_factory.mktemp("wiki"), installed) as it:
        yield it


@pytest.fixture
def doc(server: WikiServer) -> str:
    """A document of this test alone."""
    name = f"plan-{uuid4().hex[:6]}"
    server.write(f"{name}.md", PLAN)
    return name


@pytest.fixture
def other(browser: Browser) -> Iterator[Page]:
    """Another person's browser."""
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    yield context.new_page()
    context.close()


def test_two_tabs_and_an_agent_write_at_once_and_see_the_same_text(
    server: WikiServer, doc: str, page: Page, other: Page
) -> None:
    here, there = open_editor(page, server, doc), open_editor(other, server, doc)
    here.type_at_end("from the first tab")
    server.agent("edit_document", docName=doc, find="First line", replace="By the agent")
    there.source.focus()
    other.keyboard.press("ControlOrMeta+Home")
    other.keyboard.press("End")
    other.keyboard.type(" from the second tab")
    whole = "# Plan from the second tab\n\nBy the agent.\nLast line.\nfrom the first tab"
    here.expect_text(whole)
    there.expect_text(whole)
    here.expect_stored()
    there.expect_stored()
    until(lambda: True if server.read(f"{doc}.md") == whole else None)


def test_who_writes_stands_in_the_margin_and_covers_no_text(
    server: WikiServer, doc: str, page: Page, other: Page
) -> None:
    here, there = open_editor(page, server, doc), open_editor(other, server, doc)
    there.type_at_end("here")
    name = page.locator(".cm-name.person")
    expect(name).to_have_count(1)
    box, text = name.bounding_box(), here.source.bounding_box()
    assert box
    assert text
    assert box["x"] >= text["x"] + text["width"]
    server.agent("edit_document", docName=doc, find="First", replace="Very first")
    expect(page.locator(".cm-name.agent")).to_have_count(1)
    expect(page.get_by_role("group", name="Editing now").locator(".avatar")).to_have_count(3)
    server.write(f"{doc}.md", server.read(f"{doc}.md") + "By a program.\n")
    expect(page.locator(".cm-name.program")).to_have_text("another program")
    expect(here.source).to_contain_text("By a program.")


def test_a_server_that_is_killed_while_one_types_loses_nothing(
    installed: Installed, tmp_path_factory: pytest.TempPathFactory, page: Page
) -> None:
    with serve_wiki(tmp_path_factory.mktemp("killed"), installed) as server:
        server.write("plan.md", PLAN)
        here = open_editor(page, server, "plan")
        here.type_at_end("Before the end.\n", delay_ms=5)
        page.keyboard.type("While it is killed, ", delay=5)
        server.kill()
        page.keyboard.type("while it is gone", delay=5)
        expect(page.locator("[data-save-state=warn]")).to_contain_text("kept in this tab")
        server.start()
        page.keyboard.type(", and after.", delay=5)
        here.expect_stored()
        whole = f"{PLAN}Before the end.\nWhile it is killed, while it is gone, and after."
        here.expect_text(whole)
        until(lambda: True if server.read("plan.md") == whole else None)
        page.reload()
        here.expect_text(whole)


def test_a_restart_leaves_the_browser_signed_in_and_what_was_typed_meanwhile_is_sent(
    installed: Installed, tmp_path_factory: pytest.TempPathFactory, page: Page
) -> None:
    with serve_wiki(tmp_path_factory.mktemp("restarted"), installed) as server:
        server.write("plan.md", PLAN)
        server.sign_in(page)
        other = page.context.new_page()
        other.goto(f"{server.url}/console/#/tokens")
        here = open_editor(page, server, "plan")
        here.type_at_end("Before.")
        here.expect_stored()
        server.stop()
        page.keyboard.type(" While it was gone.")
        expect(page.locator("[data-save-state=warn]")).to_contain_text("kept in this tab")
        server.start()
        here.expect_stored()
        until(lambda: True if server.read("plan.md").endswith("While it was gone.") else None)
        # Tokens are only shown to who is signed in, and the other tab need not know of a restart.
        other.reload()
        expect(other.get_by_role("heading", name="Tokens", exact=True)).to_be_visible()
        expect(other.get_by_role("alert")).to_have_count(0)
        answer = page.request.get(
            f"{server.url}/api/v1/confirmations", headers={"x-pecia-console": "1"}
        )
        assert answer.status == 200, answer.text()


def test_a_sign_in_that_ended_is_said_in_words_and_the_text_is_offered_again(
    installed: Installed, tmp_path_factory: pytest.TempPathFactory, page: Page
) -> None:
    """On Linux the owner's own browser goes on without one."""
    with serve_wiki(tmp_path_factory.mktemp("ended"), installed) as server:
        server.write("plan.md", PLAN)
        server.sign_in(page)
        here = open_editor(page, server, "plan")
        here.type_at_end("Before.")
        here.expect_stored()
        other = page.context.new_page()
        other.goto(f"{server.url}/console/#/tokens")
        expect(other.get_by_role("heading", name="Tokens", exact=True)).to_be_visible()
        server.stop()
        page.keyboard.type(" While it was gone.")
        expect(page.locator("[data-save-state=warn]")).to_contain_text("kept in this tab")
        (server.home / "pecia" / SESSIONS_FILE).unlink()
        server.start()
        expect(page.get_by_text("Your sign-in has ended.")).to_be_visible()
        offered = page.get_by_role("alert").filter(has_text="Text of yours was not stored.")
        offered.get_by_role("button", name="Use my text").click()
        here.expect_stored()
        until(lambda: True if server.read("plan.md").endswith("While it was gone.") else None)
        other.get_by_role("link", name="Sources", exact=True).first.click()
        expect(other.get_by_role("heading", name="Sources", exact=True)).to_be_visible()
        expect(other.get_by_text("Authorization")).to_have_count(0)


def test_stored_is_said_when_the_server_says_so_and_not_before(
    server: WikiServer, doc: str, page: Page, other: Page
) -> None:
    held: list[WebSocketRoute] = []

    def hold(route: WebSocketRoute) -> None:
        held.append(route)
        to = route.connect_to_server()
        # Acknowledgements, messages 4, do not arrive.
        to.on_message(lambda it: None if it[0] == 4 and held else route.send(it))

    page.route_web_socket(re.compile("/collab/"), hold)
    here = open_editor(page, server, doc)
    here.type_at_end("more")
    expect(page.locator("[data-save-state]")).to_have_text("Sent, not stored yet")
    open_editor(other, server, doc).expect_text(f"{PLAN}more")
    expect(page.locator("[data-save-state]")).to_have_text("Sent, not stored yet")
    # What moves while one types makes each key wait for its frames.
    assert page.evaluate(MOVING) == []
    held.clear()
    page.keyboard.type("!")
    here.expect_stored()


MOVING = """() => {
  const roots = [document, ...[...document.querySelectorAll("*")].map((it) => it.shadowRoot)];
  return roots.filter(Boolean).flatMap((it) => it.getAnimations())
    .filter((it) => it.effect.getComputedTiming().endTime === Infinity)
    .map((it) => it.animationName);
}"""
CLOSURES = {
    4401: ("Your sign-in has ended.", "Sign in again"),
    4404: ("The document was deleted or renamed", "Copy your text"),
    4413: ("larger than the server takes", "Undo and try again"),
    4503: ("Too many editors", "Try again now"),
    4999: ("code 4999", "Try again"),
}


@pytest.mark.parametrize("code", CLOSURES)
def test_a_closed_socket_is_explained_with_a_way_back(
    server: WikiServer, doc: str, page: Page, code: int
) -> None:
    held: list[WebSocketRoute] = []

    def watch(route: WebSocketRoute) -> None:
        if held:
            route.close(code=code)
            return
        held.append(route)
        route.connect_to_server()

    page.route_web_socket(re.compile("/collab/"), watch)
    here = open_editor(page, server, doc)
    here.expect_stored()
    held[0].close(code=code)
    words, button = CLOSURES[code]
    expect(page.locator(".note")).to_contain_text(words)
    expect(page.get_by_role("button", name=button, exact=True)).to_be_visible()


def test_a_document_with_a_new_history_is_opened_again_and_ones_own_text_offered(
    server: WikiServer, doc: str, page: Page
) -> None:
    sockets: list[WebSocketRoute] = []

    def cut(route: WebSocketRoute) -> None:
        sockets.append(route)
        to = route.connect_to_server()
        # What is typed in the first one does not arrive.
        route.on_message(
            lambda it: None if len(sockets) == 1 and it[:2] == b"\0\2" else to.send(it)
        )

    page.route_web_socket(re.compile("/collab/"), cut)
    here = open_editor(page, server, doc)
    here.expect_stored()
    here.type_at_end("Not lost.")
    sockets[0].close(code=4409)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("group", name="Differences")).to_contain_text("Not lost.")
    here.expect_text(PLAN)
    page.get_by_role("button", name="Use my text").click()
    here.expect_text(f"{PLAN}Not lost.")
    here.expect_stored()


def test_who_may_only_read_sees_others_write_and_changes_nothing(
    server: WikiServer, doc: str, page: Page, other: Page
) -> None:
    sign_in_as(page, server.url, reader_token(server))
    here, there = open_editor(page, server, doc), open_editor(other, server, doc)
    expect(page.get_by_text("You may read this document, but not change it.")).to_be_visible()
    expect(page.locator("[data-save-state]")).to_have_text("Read only")
    here.type_at_end("mine")
    there.type_at_end("theirs")
    here.expect_text(f"{PLAN}theirs")
    there.expect_text(f"{PLAN}theirs")
    expect(page.get_by_role("button", name="More actions")).to_be_disabled()


def test_a_document_that_is_deleted_while_it_is_open_can_be_brought_back(
    server: WikiServer, doc: str, page: Page
) -> None:
    here = open_editor(page, server, doc)
    here.type_at_end("Typed.")
    here.expect_stored()
    server.agent("delete_document", docName=doc)
    expect(page.get_by_role("alert")).to_contain_text("deleted or renamed")
    page.get_by_role("link", name="Deleted documents").click()
    page.get_by_role("button", name=f"Restore {doc}").click()
    expect(page.get_by_role("status").get_by_text("is back")).to_be_visible()
    assert server.read(f"{doc}.md") == f"{PLAN}Typed."


def test_who_writes_at_the_end_of_a_long_document_sees_that_it_was_renamed(
    server: WikiServer, doc: str, page: Page
) -> None:
    server.write(f"{doc}.md", PLAN + "".join(f"Line {it}.\n\n" for it in range(300)))
    here = open_editor(page, server, doc)
    here.type_at_end("Typed.")
    here.expect_stored()
    server.agent("rename_document", docName=doc, newDocName=f"{doc}-moved")
    expect(page.get_by_role("alert")).to_contain_text("deleted or renamed")
    expect(page.get_by_role("alert")).to_be_in_viewport()
    page.keyboard.type(" Kept here.")
    expect(here.source).to_contain_text("Typed. Kept here.")
    expect(page.get_by_role("alert")).to_contain_text("Your last changes are not stored.")
    server.agent("rename_document", docName=f"{doc}-moved", newDocName=doc)
    here.expect_stored()
    until(lambda: True if server.read(f"{doc}.md").endswith("Typed. Kept here.") else None)


def test_who_writes_while_somebody_else_renames_goes_on_under_the_new_name(
    server: WikiServer, doc: str, page: Page
) -> None:
    here = open_editor(page, server, doc)
    here.type_at_end("Typed.")
    here.expect_stored()
    server.agent("rename_document", docName=doc, newDocName=f"notes/{doc}")
    # It is said for as long as it is so, however often the old address is tried again.
    for _ in range(2):
        page.wait_for_event("websocket")
    expect(page.get_by_role("alert")).to_contain_text(f"It was renamed to notes/{doc}.")
    here.type_at_end(" Kept here.")
    server.agent(
        "edit_document", docName=f"notes/{doc}", find="First line.", replace="Their first line."
    )
    page.get_by_role("button", name=f"Go on in notes/{doc}").click()
    here.expect_stored()
    expect(here.source).to_contain_text("Their first line.")
    whole = f"{PLAN}Typed. Kept here.".replace("First", "Their first")
    until(lambda: True if server.read(f"notes/{doc}.md") == whole else None)


def test_a_link_by_title_is_no_dead_link_in_the_preview(
    server: WikiServer, doc: str, page: Page
) -> None:
    title = f"Title of {doc}"
    server.write(f"{doc}-other.md", f"# {title}\n")
    server.write(f"{doc}.md", f"See [[{title}]] and [[nowhere-{doc}]].\n")
    until(lambda: True if not dead_links(server, doc, title) else None)
    open_editor(page, server, doc)
    page.get_by_role("button", name="Preview").click()
    preview = page.get_by_role("complementary", name="Preview")
    expect(preview.get_by_role("link", name=title)).to_have_attribute("href", re.compile("other"))
    expect(preview.get_by_role("link", name=f"nowhere-{doc}")).to_have_class(re.compile("missing"))


def dead_links(server: WikiServer, doc: str, target: str) -> list[str]:
    found = server.agent("get_dead_links", sourceDocNames=[doc])["deadLinks"]
    return [it["target"] for it in found if it["target"] == target]


@pytest.mark.parametrize("body", ["a\r\nb\r\n", "\ufeff# Bee 🐝\n\n\tx\u2028y\n\n\n", "no end"])
def test_the_file_stays_as_it_is_byte_for_byte(server: WikiServer, page: Page, body: str) -> None:
    name = f"odd-{uuid4().hex[:6]}"
    server.write(f"{name}.md", body)
    here = open_editor(page, server, name)
    here.type_at_end("\nz")
    here.expect_stored()
    end = "\r\nz" if "\r\n" in body else "\nz"
    until(lambda: True if server.read(f"{name}.md") == body + end else None)
    for _ in range(2):
        page.keyboard.press("Backspace")
    here.expect_stored()
    until(lambda: True if server.read(f"{name}.md") == body else None)


def test_undo_takes_back_ones_own_words_and_nobody_elses(
    server: WikiServer, doc: str, page: Page
) -> None:
    here = open_editor(page, server, doc)
    here.type_at_end("mine")
    server.agent("edit_document", docName=doc, find="First", replace="Agent's")
    expect(here.source).to_contain_text("Agent's line.")
    page.keyboard.press("ControlOrMeta+z")
    here.expect_text(PLAN.replace("First", "Agent's"))
    here.expect_stored()


def reader_token(server: WikiServer) -> str:
    """The token of somebody who may read this space."""
    name = f"reader-{uuid4().hex[:6]}"
    server.call("admin/add_user", name=name)
    scopes = ["pecia.read", "pecia.search"]
    return server.call("admin/make_token", label=name, user=name, scopes=scopes)["token"]


def test_the_preview_link_of_a_tool_opens_the_document(server: WikiServer, page: Page) -> None:
    server.write("guides/first steps.md", "# First steps\n\nOpen the box.\n")
    found = server.agent("read_document", path="guides/first steps.md")
    assert found["previewUrlSource"] == "lock"
    page.goto(found["previewUrl"].replace("localhost", "127.0.0.1"))
    expect(page.get_by_text("Open the box.")).to_be_visible()
