"""Search as you type: quick, by words, the last of which may be unfinished."""

from typing import Any

import pytest

from pecia.kernel.errors import InvalidFormat
from tests.features.lake.conftest import Lake

pytestmark = pytest.mark.anyio


@pytest.fixture
async def library(lake: Lake) -> Lake:
    lake.write(
        {
            "guides/brakes.md": "# Brakes\n\nReplace the pads when they squeal.\n",
            "guides/packs.md": "# Packs\n\nA pack that fell goes into quarantine.\n",
            "guides/oil.md": "# Oil\n\nOil the chain & <b>never</b> the pads.\n",
        }
    )
    await lake.crawl()
    return lake


def keys(found: dict[str, Any]) -> list[str]:
    return [it["key"] for it in found["hits"]]


async def test_the_beginning_of_a_word_finds_it_and_marks_it_whole(library: Lake) -> None:
    found = await library.search("pack in quar", typing=True)
    assert keys(found)[0] == "guides/packs.md"
    assert "<mark>quarantine</mark>" in found["hits"][0]["snippet"]
    assert (await library.search("quar", mode="lexical"))["hits"] == []


async def test_a_word_that_is_whole_is_not_continued(library: Lake) -> None:
    library.write({"a.md": "The cart stands in the yard.\n", "b.md": "A car stands there.\n"})
    await library.crawl()
    assert keys(await library.search("car", typing=True)) == ["b.md"]
    assert keys(await library.search("car ", typing=True)) == ["b.md"]
    # After a space the word is finished, whatever begins so.
    assert (await library.search("quar ", typing=True))["hits"] == []


async def test_it_has_what_a_list_of_hits_shows_and_nothing_that_takes_longer(
    library: Lake,
) -> None:
    found = await library.search("never pads", typing=True, limit=1)
    (hit,) = found["hits"]
    assert (hit["key"], hit["url"], hit["match"]) == ("guides/oil.md", None, None)
    assert "&lt;b&gt;<mark>never</mark>" in hit["snippet"]
    assert (found["has_more"], found["next_cursor"]) == (True, None)


async def test_filters_hold_while_somebody_types(library: Lake) -> None:
    assert keys(await library.search("pad", typing=True, path="guides/b*")) == ["guides/brakes.md"]
    assert (await library.search("pad", typing=True, content_type="text/html"))["hits"] == []
    assert (await library.search("pad", typing=True, author="agent"))["hits"] == []


async def test_there_are_no_pages_and_no_reasons_of_it(library: Lake) -> None:
    for more in ({"cursor": "x"}, {"explain": True}):
        with pytest.raises(InvalidFormat) as refused:
            await library.search("pad", typing=True, **more)
        assert refused.value.fields["field"] == "typing"


async def test_words_of_hidden_files_take_no_place_of_visible_ones(library: Lake) -> None:
    house = library.house
    others = " ".join(f"quar{it}" for it in ("", "k", "ry", "t", "tan", "ter", "tet", "tile", "tz"))
    library.write({f"hidden/{it}.md": f"Otters: {others}.\n" for it in range(4)})
    await library.crawl()
    await house.call(house.ana, "set_source", source_id="docs", trim_mode="per_file")
    await house.call(
        house.ana, "grant", source_id="docs", to="user:bo", folder="guides", role="reader"
    )
    await library.index()
    for who, first in ((house.ana, "hidden"), (house.bo, "guides")):
        found = await library.search("quar", typing=True, who=who)
        assert {it["key"].partition("/")[0] for it in found["hits"]} == {first}
