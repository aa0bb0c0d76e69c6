"""The pages of the ckf feature in a real browser: links, pickers, publishing."""

import base64
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import orjson
import pytest
from playwright.sync_api import Page, expect

from pecia.features.ckf.examples.loader import load_example_source
from pecia.features.ckf.tools.viewer import pack_fragment
from pecia.kernel.errors import Json
from tests.unit.features.ckf.ckf_sample import sample
from tests.web.conftest import Installed, sign_in_as
from tests.web.test_console import serve

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")
def local(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A local Pecia from the wheel."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "notes"
    folder.mkdir()
    yield from serve(installed, home, ["start", str(folder)])


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A Pecia in server mode, and the token of its administrator."""

    url: str
    token: str


@pytest.fixture(scope="module")
def signed(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SignedIn]:
    home = tmp_path_factory.mktemp("server")
    config = home / "pecia.yml"
    config.write_text("mode: server\n")
    made = installed.run(home, "--config", str(config), "--json", "tenant", "add", "acme")
    token = json.loads(made.stdout)["token"]
    for url in serve(installed, home, ["serve", "--config", str(config)]):
        yield SignedIn(url, token)


@pytest.fixture
def quiet(page: Page) -> Page:
    """A page on which no dialog may open."""

    def fail(_: object) -> None:
        raise AssertionError("a dialog opened")

    page.on("dialog", fail)
    return page


@pytest.mark.requirement("ckf.viewer_url.for_people")
def test_a_package_in_the_link_is_read_without_leaving_the_browser(local: str, quiet: Page) -> None:
    asked: list[str] = []
    quiet.on("request", lambda it: asked.append(it.url))
    quiet.goto(f"{local}/viewer#ckf={pack_fragment(sample())}")
    expect(quiet.get_by_role("heading", name="Refunds")).to_be_visible()
    expect(quiet.get_by_role("heading", name="decision rules")).to_be_visible()
    expect(quiet.get_by_text("pay in 14 days")).to_be_visible()
    expect(quiet.locator("#index")).to_be_hidden()
    assert not any("refund" in it.lower() for it in asked)
    quiet.get_by_role("button", name="Full view").click()
    expect(quiet.get_by_role("heading", name="Inspection report")).to_be_visible()


def test_a_hostile_package_in_the_link_is_text(local: str, quiet: Page) -> None:
    body: dict[str, Json] = {
        "metadata": {"source_title": HOSTILE},
        "concepts": [{"id": HOSTILE, HOSTILE: HOSTILE}],
    }
    fragment = base64.urlsafe_b64encode(zlib.compress(orjson.dumps(body))).decode().rstrip("=")
    quiet.goto(f"{local}/viewer#ckf={fragment}")
    expect(quiet.get_by_role("heading", name=HOSTILE)).to_be_visible()
    assert quiet.locator("main img, main script").count() == 0
    # Only the fragment changes, so the page stays and is told.
    quiet.goto(f"{local}/viewer#ckf=AAAA")
    expect(quiet.get_by_text("holds no package")).to_be_visible()


def test_a_picked_file_is_compiled_published_and_read(local: str, quiet: Page) -> None:
    text = load_example_source("clinical").text
    quiet.goto(f"{local}/compiler")
    picked = {"name": "burns.md", "mimeType": "text/markdown", "buffer": text.encode()}
    quiet.locator("[data-file]").set_input_files(picked)  # type: ignore[arg-type]
    expect(quiet.locator("textarea[name=text]")).to_have_value(text)
    quiet.get_by_role("button", name="Compile").click()
    expect(quiet.get_by_role("heading", name="Inspection report")).to_be_visible()
    quiet.get_by_text("Publish").first.click()
    quiet.get_by_label("Slug").fill("burns")
    quiet.locator("[data-publish] button").click()
    quiet.get_by_role("link", name="burns, version 1").click()
    expect(quiet.get_by_text("version 1")).to_be_visible()
    with quiet.expect_download() as saved:
        quiet.get_by_role("link", name="Markdown").click()
    assert saved.value.suggested_filename.endswith(".ckf.md")


def test_a_mark_in_the_source_leads_to_its_item(local: str, quiet: Page) -> None:
    quiet.goto(f"{local}/viewer?example=legal")
    quiet.locator(".source .mark").nth(3).click()
    target = quiet.locator(".item:target")
    expect(target).to_be_in_viewport()
    target.get_by_role("link", name="in the source").first.click()
    expect(quiet.locator(".mark:target")).to_be_in_viewport()


def test_a_dropped_file_fills_the_form(local: str, quiet: Page) -> None:
    quiet.goto(f"{local}/compiler")
    data = quiet.evaluate_handle(
        "() => { const it = new DataTransfer(); it.items.add(new File(['Dropped words.'], 'a.md'));"
        " return it; }"
    )
    quiet.dispatch_event("textarea[name=text]", "drop", {"dataTransfer": data})
    expect(quiet.locator("textarea[name=text]")).to_have_value("Dropped words.")


def test_a_long_text_shows_how_far_it_is(local: str, quiet: Page) -> None:
    asked: list[str] = []
    quiet.on("response", lambda it: asked.append(f"{it.status} {it.url}"))
    quiet.goto(f"{local}/compiler")
    text = "\n\n".join(f"Member {it} must pay {it} euros by noon." for it in range(6_000))
    quiet.locator("textarea[name=text]").evaluate("(it, text) => { it.value = text; }", text)
    quiet.get_by_role("button", name="Compile", exact=True).click()
    expect(quiet.locator("progress")).to_be_visible()
    expect(quiet.get_by_role("heading", name="Inspection report")).to_be_visible(timeout=60_000)
    expect(quiet.get_by_text(f"from {len(text):,} characters")).to_be_visible()
    assert any("/compiler/progress/" in it and it.startswith("200") for it in asked)
    # Only the beginning of each section is on the page, and the rest is a click away.
    assert quiet.locator(".item").count() < 600
    quiet.get_by_role("button", name=re.compile("^All ")).first.click()
    expect(quiet.get_by_role("button", name="Next").first).to_be_visible(timeout=60_000)


def test_a_signed_in_tab_compiles_on_a_server_and_other_tabs_are_told_to_sign_in(
    signed: SignedIn, quiet: Page
) -> None:
    text = load_example_source("legal").text
    quiet.goto(f"{signed.url}/compiler")
    quiet.locator("textarea[name=text]").fill(text)
    quiet.get_by_role("button", name="Compile", exact=True).click()
    expect(quiet.get_by_role("alert")).to_contain_text("Sign in at the start page")
    sign_in_as(quiet, signed.url, signed.token)
    quiet.goto(f"{signed.url}/compiler")
    quiet.locator("textarea[name=text]").fill(text)
    quiet.get_by_role("button", name="Compile", exact=True).click()
    expect(quiet.get_by_role("heading", name="Inspection report")).to_be_visible()
    # A mark leads to its item within the page, and asks the server for nothing.
    asked: list[str] = []
    quiet.on("request", lambda it: asked.append(it.url))
    quiet.locator(".source .mark").nth(3).click()
    expect(quiet.locator(".item:target")).to_be_in_viewport()
    # Chromium fetches a page's icon when it pleases.
    assert [it for it in asked if not it.endswith("/icon.svg")] == []
    quiet.get_by_text("Publish").first.click()
    quiet.get_by_label("Slug").fill("law")
    quiet.locator("[data-publish] button").click()
    quiet.get_by_role("link", name="law, version 1").click()
    expect(quiet.get_by_text("version 1")).to_be_visible()
    with quiet.expect_download() as saved:
        quiet.get_by_role("link", name="YAML").click()
    assert saved.value.suggested_filename.endswith(".ckf.yaml")
    names = [it.get("name", "") for it in quiet.context.cookies()]
    assert [it.partition("_session")[0] for it in names] == ["pecia"]


def test_the_bar_of_a_package_searches_in_the_console_and_changes_the_theme(
    local: str, quiet: Page
) -> None:
    quiet.goto(f"{local}/viewer")
    quiet.get_by_role("button", name="Change theme").click()
    expect(quiet.locator("html")).to_have_attribute("data-theme", "dark")
    quiet.get_by_role("searchbox").fill("tide & fog")
    quiet.keyboard.press("Enter")
    quiet.wait_for_url("**/console/#/search?q=*")
    expect(quiet.get_by_role("searchbox")).to_have_value("tide & fog")
    expect(quiet.locator("html")).to_have_attribute("data-theme", "dark")
