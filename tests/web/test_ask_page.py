"""Ask: a question, and quotations that open their passages; with a model and without."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.provider import LoopbackProvider, Says
from tests.web.conftest import Installed, findings
from tests.web.lake_server import LakeServer
from tests.web.test_console import serve

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

NOTES = {
    "returns.md": """# Returns

## On hold

A returned bike stays on hold for three days. Only the workshop lead may release it.

- <img src=x onerror=alert(1)> is inspected first.
""",
    "opening.md": "# Opening hours\n\nThe harbour depot closes at 18:00 in winter.\n",
    "tyres.md": "# Tyres\n\nA tyre is replaced when its rubber is thinner than one millimetre.\n",
}
QUESTION = "How long does a returned bike stay on hold?"
QUOTE = "A returned bike stays on hold for three days."
REPLY = json.dumps(
    {
        "sentences": [
            {"text": QUOTE, "quotes": [{"passage": 1, "words": QUOTE}]},
            {"text": "It may be sold.", "quotes": [{"passage": 1, "words": "it may be sold"}]},
        ]
    }
)


class WithModel(Installed):
    """An install whose operator has a model."""

    model_url = ""

    def environ(self, home: Path, **more: str) -> dict[str, str]:
        model = {"PECIA_CKF_OPERATOR_URL": self.model_url, "PECIA_CKF_OPERATOR_MODEL": "scripted"}
        return {**super().environ(home, **more), **model}


@dataclass(frozen=True, slots=True)
class Asked:
    lake: LakeServer
    provider: LoopbackProvider

    def open(self, page: Page, question: str = "", more: str = "") -> None:
        self.lake.open(page, f"#/ask?q={question.replace(' ', '+')}{more}" if question else "#/ask")


@pytest.fixture(scope="module")
def asked(installed: Installed, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    home = tmp_path_factory.mktemp("ask")
    folder = home / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text)
    with LoopbackProvider(*[Says(REPLY)] * 30) as provider:
        install = WithModel(installed.site)
        WithModel.model_url = f"{provider.url}/v1"
        for url in serve(install, home, ["start", str(folder)]):
            it = LakeServer(url, folder, "")
            it.can_find("hold")
            yield Asked(it, provider)


def test_an_answer_is_quoted_and_a_quotation_opens_its_passage(asked: Asked, page: Page) -> None:
    page.on("dialog", lambda it: pytest.fail(f"a dialog opened: {it.message}"))
    asked.open(page, QUESTION)
    answer = page.get_by_role("region", name="Answer")
    expect(answer.get_by_role("status").first).to_contain_text("An answer with 1 quotation")
    expect(answer.locator(".answer")).to_contain_text(QUOTE)
    expect(answer).to_contain_text("1 sentence of the model left out")
    expect(answer).not_to_contain_text("may be sold")
    page.get_by_role("button", name="Quotation 1").click()
    expect(page.locator('[data-quotation="1"]')).to_be_focused()
    page.get_by_role("button", name="Verify again").click()
    expect(page.get_by_text("stands there now")).to_be_visible()
    page.locator('[data-quotation="1"]').click()
    expect(page.get_by_role("heading", name="Returns", level=1)).to_be_visible()
    expect(page.locator(".prose .found").first).to_contain_text(QUOTE)


def test_verified_passages_stand_before_the_model_has_answered(asked: Asked, page: Page) -> None:
    asked.provider.gate.clear()
    try:
        asked.open(page, QUESTION)
        expect(page.get_by_role("article", name="Quotation 1")).to_contain_text(QUOTE)
        expect(page.get_by_role("status").first).to_contain_text("a sentence is being written")
        assert page.locator(".answer").count() == 0
        assert findings(page) == []
    finally:
        asked.provider.gate.set()
    expect(page.get_by_role("status").first).to_contain_text("An answer with 1 quotation")
    expect(page.locator(".answer")).to_contain_text(QUOTE)


def test_without_a_model_the_passages_stand_verbatim(asked: Asked, page: Page) -> None:
    before = len(asked.provider.requests)
    asked.open(page, QUESTION, "&mode=passages")
    quoted = page.get_by_role("article", name="Quotation 1")
    expect(quoted).to_contain_text(QUOTE)
    # What a file says stays text.
    expect(quoted).to_contain_text("<img src=x onerror=alert(1)>")
    assert page.locator("#answer img").count() == 0
    assert len(asked.provider.requests) == before


def test_what_nothing_answers_is_said_plainly(asked: Asked, page: Page) -> None:
    asked.open(page, "What is the boiling point of tungsten?", "&mode=passages")
    expect(page.get_by_role("status").first).to_have_text("Nothing here answers this")
    expect(page.get_by_text("Nothing was made up in its place")).to_be_visible()


def test_a_failure_is_told_and_can_be_tried_again(asked: Asked, page: Page) -> None:
    waiting: list[Route] = []
    page.route("**/api/v1/desk/ask", lambda it: waiting.append(it))
    asked.open(page, QUESTION, "&mode=passages")
    expect(page.get_by_role("status").first).to_have_text("Looking for passages that answer…")
    waiting.pop().abort()
    expect(page.get_by_role("alert")).to_contain_text("does not answer")
    page.unroute("**/api/v1/desk/ask")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("article", name="Quotation 1")).to_be_visible()


def test_by_keys_alone_from_the_palette_and_from_home(asked: Asked, page: Page) -> None:
    asked.lake.open(page)
    expect(page.get_by_role("heading", name="Recent documents")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type(QUESTION)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Returns", level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox").fill(QUESTION)
    option = page.get_by_role("option", name=re.compile("^Ask"))
    expect(option.first).to_be_visible()
    expect(page.get_by_role("option").filter(has_text="returns.md")).to_be_visible()
    # Documents come first, then what is typed as a question.
    while option.first.get_attribute("aria-selected") != "true":
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Ask", level=1)).to_be_visible()
    expect(page.get_by_label("Your question")).to_have_value(QUESTION)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_axe_finds_nothing_on_an_answer(
    asked: Asked, browser: Browser, theme: str, width: int
) -> None:
    scheme = "dark" if theme == "dark" else "light"
    viewport = {"width": width, "height": 900}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, reduced_motion="reduce")  # pyright: ignore[reportArgumentType]
    page = context.new_page()
    asked.open(page, QUESTION)
    expect(page.locator(".answer")).to_be_visible()
    assert findings(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    context.close()
