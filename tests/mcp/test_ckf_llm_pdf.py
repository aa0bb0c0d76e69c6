"""The bibliography of a PDF, over the wire: printed facts win, and every one of them is told."""

from pathlib import Path
from typing import Any

import pytest

from pecia.kernel.store.cluster import DatabaseLogins
from tests.mcp.ckf_llm_server import KEY, SOURCE, answer, serving_llm
from tests.provider import Calls, LoopbackProvider

pytestmark = pytest.mark.anyio

MIDDLE = (
    f"{SOURCE}\nISBN 0-306-40615-2\n© 1901 Nobody\nPublished by Nowhere\n9th edition\nby Al Gone"
)
BOOK = "\f".join(
    [
        "The Refund Book: How money comes back\nMary Smith and José da Silva",
        "The Refund Book\n2nd edition\nPublished by North Press, London\n© 2021 Mary Smith",
        *[SOURCE] * 3,
        *[MIDDLE] * 3,
        *[SOURCE] * 2,
        "ISBN 978-0-306-40615-7",
    ]
)
PLAIN = "\f".join(["Minutes of the meeting", SOURCE])
WRONG: dict[str, Any] = {
    "metadata": {"source_title": "Wrong", "source_year": 1, "source_isbn": "x"},
    "source_title": "Wrong",
}


async def headers(
    database: DatabaseLogins, home: Path, said: dict[str, Any], text: str
) -> tuple[dict[str, Any], list[str]]:
    with LoopbackProvider(Calls(said)) as provider:
        async with serving_llm(database, home, provider) as llm:
            made = await llm.made(provider="openai", byok_key=KEY, text=text, filename="a.pdf")
    return made["package"]["metadata"], made["metrics"]["warnings"]


@pytest.mark.requirement(
    "ckf.pdf.front_pages",
    "ckf.pdf.back_pages",
    "ckf.pdf.middle_pages",
    "ckf.pdf.no_model",
    "ckf.pdf.overrides_model",
    "ckf.pdf.source_title",
    "ckf.pdf.source_subtitle",
    "ckf.pdf.source_authors",
    "ckf.pdf.source_author",
    "ckf.pdf.source_edition",
    "ckf.pdf.source_publisher",
    "ckf.pdf.source_year",
    "ckf.pdf.source_isbn",
    "ckf.pdf.source_type",
    "ckf.pdf.warns_of_overrides",
)
async def test_what_is_printed_wins_over_what_is_inferred(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    printed = {
        "source_title": "The Refund Book",
        "source_subtitle": "How money comes back",
        "source_authors": ["Mary Smith", "José da Silva"],
        "source_author": "Mary Smith, José da Silva",
        "source_edition": "2nd edition",
        "source_publisher": "North Press",
        "source_year": 2021,
        "source_isbn": "9780306406157",
        "source_type": "PDF e-book",
    }
    with LoopbackProvider(Calls(answer()), Calls(answer(**WRONG))) as provider:
        async with serving_llm(database, tmp_path / "home", provider) as llm:
            wanted = {"provider": "openai", "byok_key": KEY, "text": BOOK, "filename": "a.pdf"}
            both = [await llm.made(**wanted), await llm.made(**wanted)]
    for made in both:
        header, warnings = made["package"]["metadata"], made["metrics"]["warnings"]
        assert {name: header[name] for name in printed} == printed
        isbn = 'metadata.source_isbn: overridden by back-matter (p.11): "" -> "9780306406157"'
        assert isbn in warnings
        title = [it for it in warnings if it.startswith("metadata.source_title: overridden by")]
        assert len(title) == 1
        assert 'front-matter (p.1): "' in title[0]
        assert title[0].endswith('-> "The Refund Book"')


@pytest.mark.requirement("ckf.pdf.absent_when_not_found")
async def test_what_is_not_printed_is_left_out(database: DatabaseLogins, tmp_path: Path) -> None:
    said = answer(**WRONG)
    header, warnings = await headers(database, tmp_path / "home", said, PLAIN)
    assert header["source_type"] == "PDF document"
    assert header["source_title"] == "Minutes of the meeting"
    absent = ("authors", "edition", "publisher", "year", "isbn", "subtitle")
    for name in (f"source_{it}" for it in absent):
        assert name not in header
        assert f"metadata.{name}: not found in front/back matter" in warnings
