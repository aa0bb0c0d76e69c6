"""A question that names a long file is answered from the right page of it."""

import pytest

from tests.rooms.lake.conftest import Lake

pytestmark = pytest.mark.anyio

STATEMENTS = ("Risks", "Statement of Cash Flows", "Balance Sheet", "Notes on Leases")


def report(name: str) -> str:
    """A report of four parts of six pages each; only its first page and its name tell whose."""
    pages = [f"Annual report of {name}\n\nWe speak of risks, cash flows and leases at {name}."]
    for title in STATEMENTS:
        for part in range(6):
            rows = "\n".join(f"Line {row} of part {part}: {row * 7 + part}" for row in range(12))
            pages.append(f"{title}\n\nThe year at {name} in {name} terms.\n{rows}")
    return "\f".join(pages)


@pytest.fixture
async def reports(lake: Lake) -> Lake:
    lake.write(
        {
            f"{name.replace(' ', '').upper()}_{year}.txt": report(name)
            for name in ("Blue Harbor", "Northwind", "Old Mill")
            for year in (2021, 2022)
        }
    )
    await lake.crawl()
    return lake


async def test_the_named_file_comes_first_with_the_pages_that_answer(reports: Lake) -> None:
    question = "What does the cash flow statement of Blue Harbor for FY2021 say?"
    hits = (await reports.search(question, mode="lexical", limit=10))["hits"]
    first = [it for it in hits if it["key"] == "BLUEHARBOR_2021.txt"]
    assert hits[0] == first[0]
    assert [it["page_no"] for it in first[:6]] == [*range(8, 14)]


async def test_pages_of_such_an_answer_neither_overlap_nor_skip(reports: Lake) -> None:
    question = "the balance sheet of Northwind in 2022"
    whole = (await reports.search(question, mode="lexical", limit=60))["hits"]
    paged: list[tuple[str, int]] = []
    cursor = None
    while len(paged) < 60:
        more = {} if cursor is None else {"cursor": cursor}
        page = await reports.search(question, mode="lexical", limit=9, **more)
        paged += [(it["key"], it["seq"]) for it in page["hits"]]
        cursor = page["next_cursor"]
    assert paged[:60] == [(it["key"], it["seq"]) for it in whole]
    assert len({*paged}) == len(paged)


async def test_an_explanation_says_what_the_file_earned(reports: Lake) -> None:
    question = "leases of Old Mill in 2022"
    found = await reports.search(question, mode="lexical", explain=True)
    parts = found["hits"][0]["explain"]["parts"]
    assert parts["file"] > 0
    assert sum(parts.values()) == pytest.approx(found["hits"][0]["explain"]["score"])
