"""Every screen, from the example handbook: without scripts, by keyboard, and narrow."""

import gzip
import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.conftest import ROOT, Installed, findings
from tests.web.hostile_texts import (
    DRAWINGS,
    HOSTILE,
    HOSTILE_DRAWINGS,
    HOSTILE_HTML,
    HOSTILE_SVG,
    RULES,
)
from tests.web.lake_server import LakeServer, until
from tests.web.test_console import serve

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

SOURCE = "wiki:handbook"
READ = "#/read?source=wiki%3Ahandbook&key="
# The smallest PNG: one grey pixel.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010800000000"
    "3a7e9b550000000a49444154789c6368000000820081a3b0e0e40000000049454e44ae426082"
)


@pytest.fixture(scope="module")
def handbook(
    installed: Installed, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LakeServer]:
    home = tmp_path_factory.mktemp("screens")
    folder = home / "handbook"
    shutil.copytree(ROOT / "examples/handbook", folder)
    (folder / "hostile.md").write_text(HOSTILE)
    (folder / "hostile.html").write_text(HOSTILE_HTML)
    (folder / "hostile.svg").write_text(HOSTILE_SVG)
    (folder / "rules.md").write_text(RULES)
    (folder / "drawings.md").write_text(DRAWINGS)
    (folder / "hostile-drawings.md").write_text(HOSTILE_DRAWINGS)
    (folder / "disc.png").write_bytes(PIXEL)
    for url in serve(installed, home, ["start", str(folder)]):
        it = LakeServer(url, home / "handbook", "")
        it.can_find("quarantine")
        remember = "memory/cipher_extract_and_operate_memory"
        it.call(remember, interaction=["The harbour depot closes at 18:00 in winter."])
        yield it


def settled(page: Page) -> None:
    """Everything that the page asked for is there. The page of components shows loading itself."""
    page.wait_for_load_state("networkidle")
    if not page.url.endswith("#/components"):
        expect(page.locator(".bone")).to_have_count(0)


def test_what_the_console_reads_does_not_hide_what_was_done(
    handbook: LakeServer, page: Page
) -> None:
    handbook.call("admin/add_group", name="harbour")
    handbook.call("memory/cipher_extract_and_operate_memory", interaction=["Fog closes the quay."])
    for _ in range(210):
        handbook.call("admin/whoami")
    handbook.open(page)
    activity = page.get_by_role("region", name="Activity")
    expect(activity).to_contain_text("remembered something")


def test_the_code_of_the_pages_is_sent_compressed(handbook: LakeServer) -> None:
    index = httpx.get(f"{handbook.url}/console/", trust_env=False)
    script = re.search(r'src="(/console/assets/[^"]+\.js)"', index.text)
    assert script is not None
    plain = httpx.get(handbook.url + script[1], headers={"accept-encoding": "identity"})
    packed = httpx.get(handbook.url + script[1], headers={"accept-encoding": "gzip"})
    refused = httpx.get(handbook.url + script[1], headers={"accept-encoding": "gzip;q=0"})
    assert "content-encoding" not in plain.headers
    assert "content-encoding" not in refused.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2
    assert packed.headers["vary"] == "accept-encoding"


def test_the_owner_makes_a_backup_and_downloads_it(handbook: LakeServer, page: Page) -> None:
    handbook.open(page, "#/backup")
    expect(page.get_by_role("note")).to_contain_text("pecia open")
    expect(page.get_by_role("button", name="Back up now")).to_have_count(0)
    handbook.sign_in(page)
    expect(page.get_by_role("heading", name="Recent documents")).to_be_visible()
    handbook.open(page, "#/backup")
    page.get_by_role("button", name="Back up now").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=re.compile("^Download pecia-")).first.click()
    with zipfile.ZipFile(download.value.path()) as archive:
        assert "manifest.json" in archive.namelist()
    assert findings(page) == []


def test_a_document_is_read_without_scripts(handbook: LakeServer, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{handbook.url}/read/wiki%3Ahandbook/safety/battery-safety.md")
    expect(page.get_by_role("heading", name="Battery safety", level=1)).to_be_visible()
    page.get_by_role("link", name="Battery incident").first.click()
    expect(page.get_by_role("heading", name="Battery incident", level=1)).to_be_visible()
    context.close()


def outline_of(html: str) -> list[str]:
    """Tags and words of a rendered document, in order; addresses differ and are left out."""
    pieces = re.findall(r"</?[a-z0-9]+|[^<>\s]+(?=[^<>]*<)", html)
    attributes = re.compile(r'^(?:href|rel|loading|src)=|"')
    return [it for it in pieces if not attributes.search(it)]


@pytest.mark.parametrize("key", ["rules.md", "home.md", "products/parts-list.md", "hostile.md"])
def test_both_renderers_say_the_same(handbook: LakeServer, page: Page, key: str) -> None:
    page.goto(f"{handbook.url}/read/{quote(SOURCE, safe='')}/{key}")
    plain = page.locator(".prose").first.inner_html().partition("</h1>")[2]
    handbook.open(page, f"{READ}{quote(key, safe='')}")
    settled(page)
    rendered = page.locator(".prose").nth(1)
    expect(rendered).to_be_visible()
    page.evaluate(
        "document.querySelectorAll('pre span').forEach(it => it.replaceWith(...it.childNodes))"
    )
    assert outline_of(rendered.inner_html()) == outline_of(plain)


def test_a_hostile_document_is_inert_in_both(handbook: LakeServer, page: Page) -> None:
    page.on("dialog", lambda it: pytest.fail(f"a dialog opened: {it.message}"))
    for address in (f"{handbook.url}/read/wiki%3Ahandbook/hostile.md", f"{READ}hostile.md"):
        if address.startswith("#"):
            handbook.open(page, address)
            settled(page)
        else:
            page.goto(address)
        prose = page.locator(".prose").last
        expect(prose).to_be_visible()
        assert page.locator(".prose :is(script, iframe, style, img, svg)").count() == 0
        risky = page.locator(".prose *").evaluate_all(
            "them => them.flatMap(it => [...it.attributes].filter(a => a.name.startsWith('on')"
            " || /^(javascript|data):/i.test(a.value)).map(a => a.name + a.value))"
        )
        assert risky == []
        expect(prose).to_contain_text('onerror="alert(3)"')


@pytest.mark.parametrize("key", ["hostile.html", "hostile.svg"])
def test_a_hostile_file_of_another_kind_is_inert(
    handbook: LakeServer, page: Page, key: str
) -> None:
    page.on("dialog", lambda it: pytest.fail(f"a dialog opened: {it.message}"))
    handbook.open(page, f"{READ}{key}")
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    settled(page)
    assert page.locator("main :is(script, iframe, object, embed, svg[onload])").count() == 0
    assert page.locator("main [onclick], main [onload], main [onerror]").count() == 0
    original = page.get_by_role("link", name="Open original")
    if original.count():
        at = httpx.URL(handbook.url).join(str(original.get_attribute("href")))
        headers = httpx.get(at, trust_env=False).headers
        assert headers["x-content-type-options"] == "nosniff"
        policy = headers.get("content-security-policy", "")
        saved = headers.get("content-disposition", "")
        assert saved.startswith("attachment") or "sandbox" in policy


def test_formulas_diagrams_and_pictures_are_drawn(handbook: LakeServer, page: Page) -> None:
    handbook.open(page, f"{READ}drawings.md")
    expect(page.locator(".prose .katex-display")).to_have_count(2)
    expect(page.locator(".prose").last).to_contain_text("a pair costs $12 to $15.")
    expect(page.locator(".prose .diagram img")).to_have_count(1)
    expect(page.get_by_text("This diagram cannot be drawn")).to_be_visible()
    expect(page.get_by_role("img", name="A disc")).to_be_visible()
    # What lies elsewhere is not fetched, and what is gone is named.
    expect(page.locator(".prose").last).to_contain_text("[Elsewhere] [Gone]")
    plain = httpx.get(f"{handbook.url}/read/wiki%3Ahandbook/drawings.md", trust_env=False).text
    assert '<code class="math">m</code>' in plain
    assert "costs $12 to $15" in plain


def test_hostile_formulas_and_diagrams_are_inert(handbook: LakeServer, page: Page) -> None:
    asked: list[str] = []
    page.on("dialog", lambda it: pytest.fail(f"a dialog opened: {it.message}"))
    page.on("request", lambda it: asked.append(it.url))
    handbook.open(page, f"{READ}hostile-drawings.md")
    expect(page.locator(".prose .diagram")).to_have_count(3)
    expect(page.locator(".prose .diagram img")).to_have_count(2)
    prose = page.locator(".prose").last
    assert prose.locator(":is(script, iframe, style, object, embed)").count() == 0
    assert prose.locator("a").count() == 0
    shown = prose.locator("img").evaluate_all("them => them.map(it => it.src)")
    assert all(it.startswith("blob:") for it in shown)
    assert page.locator("iframe").get_attribute("sandbox") == "allow-scripts"
    assert [it for it in asked if not it.startswith((handbook.url, "blob:"))] == []


def test_a_space_is_browsed_folder_by_folder(handbook: LakeServer, page: Page) -> None:
    handbook.open(page, "#/documents")
    page.get_by_role("link", name="handbook").click()
    page.get_by_role("link", name="safety", exact=True).click()
    page.get_by_role("link", name="battery-safety.md").click()
    expect(page.get_by_role("heading", name="Battery safety", level=1)).to_be_visible()


def test_a_pinned_document_stands_at_home_while_it_may_be_seen(
    handbook: LakeServer, page: Page
) -> None:
    handbook.open(page, f"{READ}glossary.md")
    expect(page.get_by_role("heading", name="Glossary", level=1)).to_be_visible()
    page.keyboard.press("p")
    expect(page.get_by_role("button", name="Pinned")).to_be_visible()
    handbook.open(page)
    pinned = page.get_by_role("region", name="Pinned")
    expect(pinned.get_by_role("link", name="Glossary")).to_be_visible()
    # A pin of what is no longer there, or no longer theirs, shows no title.
    page.evaluate(
        "Object.keys(localStorage).filter(it => it.startsWith('pecia.shelf.')).forEach(it =>"
        " localStorage.setItem(it, localStorage.getItem(it).replaceAll('glossary.md', 'no.md')))"
    )
    page.reload()
    expect(page.get_by_role("heading", name="Recent documents")).to_be_visible()
    settled(page)
    expect(page.get_by_text("Glossary", exact=True)).to_have_count(0)


def test_a_setting_says_where_its_value_came_from(handbook: LakeServer, page: Page) -> None:
    handbook.open(page, "#/settings?only=changed")
    row = page.get_by_role("row").filter(has=page.get_by_text("port", exact=True)).first
    expect(row).to_contain_text("flag")
    expect(row).to_contain_text("default: 7324")
    page.get_by_label("Filter settings").fill("no such setting")
    expect(page.get_by_text("No setting matches")).to_be_visible()


def test_jobs_and_health_show_what_the_server_did(handbook: LakeServer, page: Page) -> None:
    handbook.open(page, "#/jobs?status=done")
    expect(page.get_by_role("row").filter(has_text="lake.crawl").first).to_contain_text("handbook")
    handbook.open(page, "#/health")
    expect(page.get_by_text("Everything works")).to_be_visible()
    expect(page.get_by_role("img", name="Calls.")).to_be_visible()
    expect(page.locator(".u-wrap")).to_have_count(2)


def test_an_agent_that_connects_is_told_at_once(handbook: LakeServer, page: Page) -> None:
    handbook.open(page)
    expect(page.get_by_role("heading", name="Connect an agent")).to_be_visible()
    ping = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    params: dict[str, object] = {"name": "whoami", "arguments": dict[str, str]()}
    headers = {"accept": "application/json, text/event-stream", **handbook.owner}
    httpx.post(
        f"{handbook.url}/mcp/admin",
        json={**ping, "params": params},
        headers=headers,
        trust_env=False,
    )
    expect(page.get_by_text("has just connected")).to_be_visible()


def test_links_are_alive_and_missing_pages_are_marked(handbook: LakeServer, page: Page) -> None:
    handbook.open(page, f"{READ}rules.md")
    expect(page.locator("a.missing")).to_have_text("no such page")
    page.get_by_role("link", name="label").click()
    expect(page.get_by_role("heading", name="Glossary", level=1)).to_be_visible()
    expect(page.get_by_role("heading", name="Systems")).to_be_in_viewport()
    backlinks = page.get_by_role("complementary", name="About this document")
    expect(backlinks.get_by_role("heading", name="Linked from")).to_be_visible()


def test_a_pdf_is_drawn_at_the_page_of_its_passage(handbook: LakeServer, page: Page) -> None:
    asked = {"query": "E-41 cells out of balance", "path": "manuals/**", "limit": 1}
    (hit,) = handbook.call("lake/search_content", **asked)["hits"]
    assert hit["page_no"] == 6
    key = quote(hit["key"], safe="")
    handbook.open(page, f"{READ}{key}&seq={hit['seq']}&q=balance")
    expect(page.get_by_text("Page 6 of 6")).to_be_visible()
    expect(page.locator(".sheet i").first).to_be_visible()
    page.get_by_role("button", name="Previous page").click()
    expect(page.get_by_text("Page 5 of 6")).to_be_visible()
    page.get_by_label("Page", exact=True).fill("2")
    page.get_by_label("Page", exact=True).press("Enter")
    expect(page.get_by_text("Page 2 of 6")).to_be_visible()
    page.get_by_role("button", name="Page 6", exact=True).click()
    expect(page.get_by_text("Page 6 of 6")).to_be_visible()


def test_the_lines_of_a_pdf_are_put_together_to_paragraphs(
    handbook: LakeServer, page: Page
) -> None:
    handbook.open(page, f"{READ}manuals%2Fwherry-service-manual.pdf")
    whole = "hold a valid battery card. Edition 3 replaces edition 2 of May 2024 and covers"
    expect(page.get_by_text(whole)).to_be_visible()
    shown = page.locator(".passage").first.inner_text()
    assert "Read this first\n" in shown


def test_the_path_of_a_document_opens_it(handbook: LakeServer, page: Page) -> None:
    """As the tools write it: they know no page of the console."""
    handbook.open(page, "#/safety/battery-safety")
    expect(page.get_by_role("heading", name="Battery safety", level=1)).to_be_visible()
    handbook.open(page, "#/safety/no-such-page")
    expect(page.get_by_role("heading", name="You cannot open this")).to_be_visible()


def test_on_a_low_window_the_navigation_shows_where_one_is(
    handbook: LakeServer, page: Page
) -> None:
    page.set_viewport_size({"width": 1440, "height": 600})
    handbook.open(page, "#/settings")
    expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
    pages = page.get_by_role("navigation", name="Pages")
    expect(pages.get_by_role("link", name="Settings")).to_be_in_viewport(ratio=1)


def test_a_memory_is_forgotten_after_a_question(handbook: LakeServer, page: Page) -> None:
    handbook.call(
        "memory/cipher_extract_and_operate_memory", interaction=["Zebra crossings are repainted."]
    )
    handbook.open(page, "#/memories")
    row = page.get_by_role("listitem").filter(has_text="Zebra crossings")
    row.get_by_role("button", name="Forget").click()
    page.get_by_role("dialog").get_by_role("button", name="Forget").click()
    expect(page.get_by_text("Memory forgotten")).to_be_visible()
    expect(row).to_have_count(0)


def test_a_right_is_found_and_given_and_removed(handbook: LakeServer, page: Page) -> None:
    handbook.call("admin/add_user", name="mira")
    handbook.open(page, "#/access?source=wiki%3Ahandbook&key=home.md&user=mira")
    expect(page.get_by_text("mira can see home.md")).to_be_visible()
    expect(page.get_by_text("open to everyone")).to_be_visible()
    page.get_by_label("Give", exact=True).fill("user:mira")
    page.get_by_label("the role").select_option("writer")
    page.get_by_role("button", name="Give").click()
    expect(page.get_by_text("and can write it")).to_be_visible()
    page.get_by_role("button", name="Remove user:mira").click()
    expect(page.get_by_text("and cannot write it")).to_be_visible()


def test_a_right_is_found_and_removed_in_four_clicks(handbook: LakeServer, page: Page) -> None:
    handbook.call("admin/add_user", name="noor")
    handbook.call("admin/grant", source_id=SOURCE, to="user:noor", role="writer")
    handbook.open(page)
    page.get_by_role("table").get_by_role("link").first.click()
    page.get_by_role("link", name="Who may see it").click()
    noor = page.get_by_role("rowheader", name="user:noor")
    expect(noor).to_be_visible()
    page.get_by_role("button", name="Remove user:noor").click()
    expect(noor).to_have_count(0)
    grants = handbook.call("admin/list_grants", source_id=SOURCE)["grants"]
    assert [it for it in grants if it["principal"] == "user:noor"] == []


def test_a_token_is_made_shown_once_and_revoked(handbook: LakeServer, page: Page) -> None:
    handbook.open(page, "#/tokens")
    page.get_by_role("button", name="Make a token").click()
    page.get_by_label("What it is for").fill("a laptop")
    page.get_by_role("button", name="Make the token").click()
    token = page.get_by_role("status").locator("code").inner_text()
    assert token.startswith("peciapat_")
    bearer = {"authorization": f"Bearer {token}"}
    whoami = f"{handbook.url}/api/v1/admin/whoami"
    assert httpx.get(whoami, headers=bearer, trust_env=False).status_code == 200
    page.reload()
    expect(page.get_by_role("rowheader", name="a laptop")).to_be_visible()
    assert token not in page.content()
    page.get_by_role("button", name="Revoke a laptop").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("Token revoked")).to_be_visible()

    def is_refused() -> bool | None:
        return httpx.get(whoami, headers=bearer, trust_env=False).status_code == 401 or None

    until(is_refused)


def test_two_memories_become_one(handbook: LakeServer, page: Page) -> None:
    facts = ["The zinc store has grey doors.", "The zinc store is locked at night."]
    for it in facts:
        handbook.call("memory/cipher_extract_and_operate_memory", interaction=[it])
    handbook.open(page, "#/memories")
    page.get_by_label("Filter by words").fill("zinc store")
    for it in facts:
        page.get_by_role("checkbox", name=f"Choose: {it}").check()
    page.get_by_role("button", name="Merge 2 memories").click()
    whole = "The zinc store has grey doors and is locked at night."
    page.get_by_label("One fact").fill(whole)
    page.get_by_role("dialog").get_by_role("button", name="Merge").click()
    expect(page.get_by_text("Merged into one memory")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="zinc store")).to_have_count(1)
    kept = handbook.call("memory/memory_list", all_projects=True)["memories"]
    assert [it["text"] for it in kept if "zinc" in it["text"]] == [whole]


def test_search_is_measured_on_a_file_of_questions(handbook: LakeServer, page: Page) -> None:
    handbook.open(page, "#/evaluation")
    chosen = page.get_by_label("File of questions")
    chosen.set_input_files([{"name": "q.jsonl", "mimeType": "text/plain", "buffer": b"[1]\nno"}])
    expect(page.get_by_role("alert")).to_contain_text("Line 1: the field question is missing.")
    lines = (ROOT / "examples/handbook/questions.jsonl").read_bytes().split(b"\n")[:2]
    missing = b'{"question": "quarantine?", "sources": [{"path": "no/such-file.md"}]}'
    given = {"name": "q.jsonl", "mimeType": "text/plain", "buffer": b"\n".join([*lines, missing])}
    chosen.set_input_files([given])  # pyright: ignore[reportArgumentType]
    page.get_by_role("button", name="Ask 3 questions").click()
    row = page.get_by_role("row").filter(has_text="quarantine?")
    expect(row.filter(has_text="such-file")).to_contain_text("not found")
    expect(page.get_by_text("document in the first 10").locator("..")).to_contain_text("67 %")
    assert findings(page) == []


def test_a_tool_of_another_server_has_a_form_and_its_description_is_text(
    handbook: LakeServer, page: Page, tmp_path: Path
) -> None:
    words = tmp_path / "described.txt"
    words.write_text("<img src=x onerror=alert(1)> Say it again.")
    program = f"{sys.executable} {ROOT / 'tests/unit/features/hub/upstream.py'} tools=echo"
    handbook.call("hub/add_server", server="parrot", command=f"{program} described={words}")
    page.on("dialog", lambda it: pytest.fail(f"a dialog opened: {it.message}"))
    handbook.sign_in(page)
    expect(page.get_by_role("link", name="Pecia, home")).to_be_visible()
    handbook.open(page, "#/hub")
    server = page.get_by_role("region", name="parrot")
    server.get_by_text("Tools", exact=True).click()
    expect(server).to_contain_text("<img src=x onerror=alert(1)> Say it again.")
    server.get_by_text("Call it").click()
    server.get_by_label("text required").fill("hello ")
    server.get_by_label("times").fill("many")
    server.get_by_role("button", name="Call echo").click()
    expect(server).to_contain_text("“many” is no number.")
    server.get_by_label("times").fill("2")
    server.get_by_role("button", name="Call echo").click()
    expect(server).to_contain_text("hello hello")
    assert server.locator("img").count() == 0
    assert findings(page) == []


def test_a_phone_is_enough_to_find_read_and_decide(handbook: LakeServer, browser: Browser) -> None:
    asked = {"docName": "glossary", "find": "# Glossary", "replace": "# Glossary of Quayload"}
    handbook.call("wiki/edit_document", space="handbook", suggest=True, **asked)
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    handbook.open(page)
    page.get_by_role("link", name="1 suggestion for glossary").tap()
    card = page.get_by_role("article", name="Suggestion of")
    expect(card).to_be_visible()
    assert findings(page) == []
    card.get_by_role("button", name="Reject").tap()
    card.get_by_label("Why not?").fill("One name is enough.")
    card.get_by_role("button", name="Reject").last.tap()
    expect(card).to_have_count(0)
    page.get_by_role("navigation").get_by_role("link", name="Search").tap()
    page.get_by_role("searchbox").fill("how long is quarantine")
    page.get_by_role("link", name="Battery safety").first.tap()
    expect(page.get_by_role("heading", name="Battery safety", level=1)).to_be_visible()
    page.get_by_role("button", name="Menu").tap()
    page.get_by_role("link", name="Health").tap()
    expect(page.get_by_role("heading", name="Health")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    context.close()


def test_nobody_can_put_a_page_into_a_frame_of_theirs(handbook: LakeServer) -> None:
    plain = "/read/wiki%3Ahandbook/home.md"
    for path in ("/console/", "/", plain, "/viewer", "/compiler", "/api/v1/docs", "/nothing"):
        answer = httpx.get(f"{handbook.url}{path}", trust_env=False, follow_redirects=True)
        policy = answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy, path
        assert "unsafe" not in policy, path
        assert answer.headers["x-content-type-options"] == "nosniff", path


def test_the_palette_opens_a_document_by_keys_alone(handbook: LakeServer, page: Page) -> None:
    handbook.open(page)
    expect(page.get_by_role("heading", name="Recent documents")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill("tracker outage")
    found = page.get_by_role("option").filter(has_text="runbooks/tracker-outage.md")
    expect(found).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Tracker outage", level=1)).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


def test_the_session_cookie_counts_only_for_our_own_page(handbook: LakeServer) -> None:
    made = handbook.call("admin/make_token", label="csrf", scopes=["pecia.read", "pecia.search"])
    port = httpx.URL(handbook.url).port
    cookies = {f"pecia_session_{port}": made["token"]}
    ours = {"x-pecia-console": "1"}

    def whoami(headers: dict[str, str]) -> httpx.Response:
        at = f"{handbook.url}/api/v1/admin/whoami"
        return httpx.post(at, json={}, headers=headers, cookies=cookies, trust_env=False)

    assert whoami(ours).json()["credential"] != "local"
    # Without the header the cookie is nothing: this is the owner's process, without a token.
    assert whoami({}).json()["credential"] == "local"
    assert whoami({**ours, "origin": "https://evil.example"}).status_code == 403
    assert whoami({"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}).status_code == 403


def test_the_bundles_keep_to_their_budgets() -> None:
    static = ROOT / "src/pecia/interfaces/web/static"
    index = (static / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(r'/console/(assets/[^"]+\.(?:js|css))', index)
    assert loaded
    assert sum(_packed(static / it) for it in loaded) <= 90_000
    reader = list((static / "assets").glob("Read-*.js"))
    assert sum(map(_packed, reader)) <= 90_000
    (editor,) = (static / "assets").glob("Edit-*.js")
    assert _packed(editor) <= 250_000
    # What draws is loaded by who needs it, and by nobody else.
    assert not [it for it in loaded if re.search("math|mermaid|diagrams|chart_library", it)]


def _packed(path: Path) -> int:
    return len(gzip.compress(path.read_bytes(), 6))


def test_a_page_that_was_never_opened_says_that_the_server_is_gone(
    handbook: LakeServer, page: Page
) -> None:
    handbook.open(page)
    expect(page.get_by_role("heading", name="Recent documents")).to_be_visible()
    page.context.set_offline(True)
    page.get_by_role("link", name="Memories").first.click()
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer")
    expect(page.get_by_role("alert")).not_to_contain_text("preload")
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("heading", name="Memories", level=1)).to_be_visible()
