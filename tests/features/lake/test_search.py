"""Searching: filters hold, pages follow each other, what may not be seen is not there."""

from typing import Any

import pytest

from pecia.kernel.errors import (
    InvalidEnum,
    InvalidFormat,
    MissingField,
    NotFound,
    OutOfRange,
)
from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio


def keys(found: dict[str, Any]) -> list[str]:
    return [it["key"] for it in found["hits"]]


@pytest.fixture
async def library(lake: Lake) -> Lake:
    lake.write(
        {
            "guides/brakes.md": "# Brakes\n\nReplace the pads when they squeal.\n",
            "guides/chain.md": "# Chain\n\nOil the chain, not the pads.\n",
            "reports/2025.txt": "Pads sold in 2025: 4211.\n",
            **{
                f"many/{it:02}.md": f"# Note {it}\n\nA note on saddles, number {it}.\n"
                for it in range(30)
            },
        }
    )
    await lake.crawl()
    return lake


@pytest.mark.requirement("lake.search.lexical", "lake.search.hits_object")
async def test_words_alone_find_and_nothing_found_is_an_empty_list(library: Lake) -> None:
    assert "guides/brakes.md" in keys(await library.search("squeal", mode="lexical"))
    assert (await library.search("zeppelin", mode="lexical"))["hits"] == []


@pytest.mark.requirement("lake.search.query_required")
async def test_a_search_without_a_query_names_it(library: Lake) -> None:
    with pytest.raises(MissingField) as refused:
        await library.house.call(library.house.ana, "search_content")
    assert refused.value.fields["field"] == "query"


@pytest.mark.requirement("lake.search.limit_default", "lake.search.limit_maximum")
async def test_limits_are_those_of_the_reference(library: Lake) -> None:
    assert len((await library.search("saddles"))["hits"]) == 20
    assert len((await library.search("saddles", limit=100))["hits"]) == 30
    for wrong in (0, 101):
        with pytest.raises(OutOfRange):
            await library.search("saddles", limit=wrong)


@pytest.mark.requirement("lake.search.mode_values")
async def test_another_mode_is_refused_with_the_two(library: Lake) -> None:
    with pytest.raises(InvalidEnum) as refused:
        await library.search("pads", mode="fuzzy")
    assert refused.value.fields["allowed"] == ["hybrid", "lexical"]


@pytest.mark.requirement(
    "lake.search.path_filter", "lake.search.content_type_filter", "lake.search.filters_optional"
)
async def test_filters_hold_alone_and_together(library: Lake) -> None:
    assert {*keys(await library.search("pads", path="guides/*"))} == {
        "guides/brakes.md",
        "guides/chain.md",
    }
    assert keys(await library.search("pads", content_type="text/plain")) == ["reports/2025.txt"]
    assert keys(await library.search("pads", path="guides/*", content_type="text/plain")) == []
    with pytest.raises(NotFound):
        await library.search("pads", source_id="elsewhere")


@pytest.mark.requirement("lake.search.source_filter")
async def test_a_source_narrows_the_search_to_itself(library: Lake) -> None:
    house = library.house
    other = library.folder.with_name("other")
    Lake(house, other).write({"pads.md": "Pads of another make.\n"})
    await house.call(house.ana, "add_source", source_id="other", folder=str(other))
    await library.crawl("other")
    found = await library.search("pads")
    assert {it["source_id"] for it in found["hits"]} == {"docs", "other"}
    for source in ("docs", "other"):
        found = await library.search("pads", source_id=source)
        assert {it["source_id"] for it in found["hits"]} == {source}


@pytest.mark.requirement("lake.search.modified_after", "lake.search.modified_before")
async def test_times_filter_inclusive_after_and_exclusive_before(library: Lake) -> None:
    assert keys(await library.search("pads", modified_after="2100-01-01")) == []
    assert len(keys(await library.search("pads", modified_before="2100-01-01T00:00:00Z"))) == 3
    with pytest.raises(InvalidFormat) as refused:
        await library.search("pads", modified_after="yesterday")
    assert refused.value.fields["field"] == "modified_after"


@pytest.mark.requirement("lake.pattern.page_on")
async def test_pages_neither_overlap_nor_skip(library: Lake) -> None:
    seen: list[str] = []
    cursor: dict[str, Any] = {}
    for size in (7, 7, 7, 7, 7):
        page = await library.search("saddles", limit=size, **cursor)
        seen += keys(page)
        if not page["has_more"]:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert sorted(seen) == [f"many/{it:02}.md" for it in range(30)]


async def test_a_filter_in_the_query_that_means_nothing_is_an_error(library: Lake) -> None:
    with pytest.raises(InvalidFormat) as refused:
        await library.search("pads after:sometime")
    assert refused.value.fields["field"] == "query"


@pytest.mark.requirement("lake.search.only_visible")
async def test_a_revoked_grant_is_gone_from_the_next_answer(library: Lake) -> None:
    house = library.house
    await house.call(house.ana, "set_source", source_id="docs", trim_mode="per_file")
    assert keys(await library.search("pads", who=house.bo)) == []
    guides = {"source_id": "docs", "to": "user:bo", "folder": "guides"}
    await house.call(house.ana, "grant", role="reader", **guides)
    await library.index()
    assert {*keys(await library.search("pads", who=house.bo))} == {
        "guides/brakes.md",
        "guides/chain.md",
    }
    await house.call(house.ana, "grant", role=None, **guides)
    assert keys(await library.search("pads", who=house.bo)) == []


@pytest.mark.requirement("lake.hit.locator", "lake.hit.char_span")
async def test_a_hit_points_to_its_very_characters(library: Lake) -> None:
    [hit] = (await library.search("squeal", limit=1, mode="lexical"))["hits"]
    window = await library.house.call(
        library.house.ana,
        "get_file_window",
        source_id="docs",
        key=hit["key"],
        start=hit["seq"],
        length=1,
    )
    [chunk] = window["chunks"]
    assert chunk["seq"] == hit["seq"]
    whole = (library.folder / hit["key"]).read_text()
    assert whole[hit["char_start"] : hit["char_end"]] == chunk["text"]


@pytest.mark.requirement("lake.hit.snippet")
async def test_a_snippet_marks_the_words_and_escapes_the_rest(lake: Lake) -> None:
    lake.write({"x.md": "if a < b the saddle & post <script>alert(1)</script> move\n"})
    await lake.crawl()
    [hit] = (await lake.search("saddle", mode="lexical"))["hits"]
    assert "<mark>saddle</mark>" in hit["snippet"]
    assert "&lt;script&gt;" in hit["snippet"]
    assert "<script>" not in hit["snippet"]
