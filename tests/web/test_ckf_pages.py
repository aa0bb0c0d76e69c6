"""The ckf room's pages in a real browser: links opened, files picked, packages published."""

import base64
import zlib
from collections.abc import Iterator

import orjson
import pytest
from playwright.sync_api import Page, expect

from pecia.kernel.errors import Json
from pecia.rooms.ckf.examples.shelf import example_source
from pecia.rooms.ckf.viewer import packed
from tests.unit.rooms.ckf.ckf_sample import sample
from tests.web.conftest import ROOT, Installed
from tests.web.test_console import serve

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A local Pecia from this tree."""
    home = tmp_path_factory.mktemp("home")
    folder = home / "notes"
    folder.mkdir()
    yield from serve(Installed(ROOT / "src"), home, ["start", str(folder)])


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
    quiet.goto(f"{local}/viewer#ckf={packed(sample())}")
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
    text = example_source("clinical").text
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
