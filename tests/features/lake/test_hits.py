"""A hit: what it says of its place, how much of its surroundings it holds, and why it ranks."""

from typing import Any

import pytest

from tests.features.lake.conftest import Lake
from tests.unit.adapters.extraction.samples import pdf

pytestmark = pytest.mark.anyio

LIMIT = 1800


def report(rare: str = "zirconium", sections: int = 12) -> str:
    """A long file whose middle section alone holds a rare word."""
    parts: list[str] = []
    for number in range(sections):
        said = f"The {rare} fittings arrived." if number == sections // 2 else ""
        filler = " ".join(f"Plain sentence {number}-{it} about wheels." for it in range(20))
        parts.append(f"## Section {number}\n\n{said} {filler}\n")
    return "# Report\n\n" + "\n".join(parts)


async def window(lake: Lake, hit: dict[str, Any], **more: Any) -> dict[str, Any]:
    ana = lake.house.ana
    named = {"source_id": hit["source_id"], "key": hit["key"]}
    return await lake.house.call(ana, "get_file_window", **named, **more)


async def one(lake: Lake, query: str, **more: Any) -> dict[str, Any]:
    return (await lake.search(query, mode="lexical", **more))["hits"][0]


@pytest.mark.requirement(
    "lake.hit.text_has_neighbours",
    "lake.hit.text_bounded",
    "lake.hit.truncated",
    "lake.hit.read_on",
    "lake.window.around_hit",
    "lake.pattern.read_around",
)
async def test_a_hit_stands_among_its_neighbours_and_says_when_they_are_cut(lake: Lake) -> None:
    lake.write({"long.md": report(), "short.md": "# Note\n\nOnly tungsten here.\n"})
    await lake.crawl()
    short = await one(lake, "tungsten")
    assert not short["truncated"]
    assert short["text"] == (await window(lake, short))["text"]
    hit = await one(lake, "zirconium")
    assert hit["truncated"]
    assert len(hit["text"]) <= LIMIT
    around = await window(lake, hit, start=hit["seq"] - 1, length=3)
    before, middle, after = (it["text"] for it in around["chunks"])
    assert hit["text"] in before + middle + after
    assert "zirconium" in middle
    assert middle.strip() in hit["text"]
    assert len(hit["text"]) > len(middle)
    # What the text has no room for follows in the window from the hit on.
    assert after.strip().splitlines()[-1] not in hit["text"]
    on = await window(lake, hit, start=hit["seq"], length=2)
    assert after in on["text"]


@pytest.mark.requirement("lake.hit.document_locators", "lake.hit.media_locators")
async def test_documents_say_their_page_and_captions_their_time(lake: Lake) -> None:
    cues = "WEBVTT\n\n00:00:01.000 --> 00:00:04.500\nWelcome to the velodrome.\n"
    pages = [["The first page is on frames."], ["The second page is on derailleurs."]]
    lake.write({"talk.vtt": cues, "book.pdf": pdf(pages), "plain.txt": "Panniers are bags.\n"})
    await lake.crawl()
    page = await one(lake, "derailleurs")
    assert (page["key"], page["page_no"]) == ("book.pdf", 2)
    assert page["char_end"] > page["char_start"] > 0
    cue = await one(lake, "velodrome")
    assert (cue["ts_start_ms"], cue["ts_end_ms"]) == (1000, 4500)
    plain = await one(lake, "panniers")
    assert (plain["page_no"], plain["ts_start_ms"], plain["ts_end_ms"]) == (None, None, None)


@pytest.mark.requirement("lake.hit.rank", "lake.keywords.highlight_any", "lake.hit.snippet")
async def test_ranks_fall_from_one_and_a_snippet_marks_every_word_it_holds(lake: Lake) -> None:
    lake.write({"a.md": "The sprocket and the wheel.\n", "b.md": "A wheel. Another wheel.\n"})
    await lake.crawl()
    hits = (await lake.search("wheel sprocket", mode="lexical"))["hits"]
    ranks = [it["rank"] for it in hits]
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] == 1
    assert "<mark>sprocket</mark>" in hits[0]["snippet"]
    assert "<mark>wheel</mark>" in hits[0]["snippet"]


@pytest.mark.requirement(
    "lake.keywords.any_term",
    "lake.keywords.rare_term_wins",
    "lake.keywords.no_phrasing",
    "lake.keywords.shared_words",
    "lake.lexical.needs_shared_words",
    "lake.pattern.reformulate",
)
async def test_the_rare_word_decides_however_the_question_is_put(lake: Lake) -> None:
    common = {f"common{it}.md": "brake brake brake cable brake\n" for it in range(12)}
    lake.write({**common, "rare.md": "The molybdenum cable snapped in May.\n"})
    await lake.crawl()
    for query in (
        "brake molybdenum",
        "MOLYBDENUM of the brake and the",
        "why did the molybdenum thing on my bicycle break apart?",
        "molybdenum unicorns",
    ):
        assert (await one(lake, query))["key"] == "rare.md", query
    assert (await lake.search("fatigued alloy tether", mode="lexical"))["hits"] == []
    assert (await one(lake, "alloy tether molybdenum"))["key"] == "rare.md"


@pytest.mark.requirement("lake.limits.true_top", "lake.limits.scan_exceeds_limit")
async def test_hidden_files_take_no_place_among_the_best(lake: Lake) -> None:
    hidden = {f"hidden/{it:03}.md": "gasket gasket gasket gasket\n" for it in range(150)}
    shown = {
        f"shown/{it}.md": f"Note {it}: one gasket among many other words.\n" for it in range(7)
    }
    lake.write({**hidden, **shown})
    await lake.crawl()
    house = lake.house
    await house.call(house.ana, "set_source", source_id="docs", trim_mode="per_file")
    grant = {"source_id": "docs", "to": "user:bo", "role": "reader", "folder": "shown"}
    await house.call(house.ana, "grant", **grant)
    await lake.index()
    found = await lake.search("gasket", mode="lexical", limit=5, who=house.bo)
    assert len(found["hits"]) == 5
    assert found["has_more"]
    every = await lake.search("gasket", mode="lexical", limit=100, who=house.bo)
    assert {it["key"] for it in every["hits"]} == {*shown}
    assert not every["has_more"]
    filtered = await lake.search("gasket", mode="lexical", limit=5, path="shown/*")
    assert {it["key"] for it in filtered["hits"]} <= {*shown}
    assert len(filtered["hits"]) == 5


async def test_what_a_feature_wrote_itself_has_no_original_to_open(lake: Lake) -> None:
    """A link that could never serve is not given."""
    lake.write({"a.md": "The heron stands in the reeds.\n"})
    await lake.crawl()
    said = "The heron is fed on Mondays."
    await lake.house.call(lake.house.ana, "cipher_extract_and_operate_memory", interaction=said)
    await lake.index()
    found = await lake.search("heron", mode="lexical")
    urls = {it["source_id"]: it["url"] for it in found["hits"]}
    assert urls["memory"] is None
    assert urls["docs"].startswith("http")


async def test_who_asked_often_is_answered_like_one_who_never_did(lake: Lake) -> None:
    """One who needed few hits for long begins with few; a file with pages needs more of them."""
    notes = {f"note-{it}.md": f"# Note {it}\n\nA heron by pond {it}.\n" for it in range(60)}
    lake.write(notes | {"herons-2021.md": report("heron", 40)})
    await lake.crawl()
    for _ in range(10):
        assert len((await lake.search("pond", mode="lexical", limit=10))["hits"]) == 10
    for query in ("heron", "herons 2021 fittings", "pond 7"):
        often = await lake.search(query, mode="lexical", limit=10)
        never = await lake.search(query, mode="lexical", limit=10, source_id="docs")
        assert [_place(it) for it in often["hits"]] == [_place(it) for it in never["hits"]]
        assert often["has_more"] == never["has_more"]


async def test_the_first_hits_are_the_same_however_many_are_asked_for(lake: Lake) -> None:
    """Of few, only the first are read; where many say the same, those do not tell who is shown."""
    twins = {
        f"copy-{it}.md": f"The heron stands in the reeds, {'heron ' * 3}\n" for it in range(14)
    }
    notes = {f"note-{it}.md": f"A heron by pond {it}, seen {'once ' * it}.\n" for it in range(30)}
    lake.write(twins | notes)
    await lake.crawl()
    for query in ("heron", "heron reeds", "pond"):
        most = await lake.search(query, mode="lexical", limit=29)
        for limit in (1, 5, 10, 20):
            few = await lake.search(query, mode="lexical", limit=limit)
            assert [_place(it) for it in few["hits"]] == [_place(it) for it in most["hits"][:limit]]
            assert few["has_more"]


def _place(hit: dict[str, Any]) -> tuple[str, int, float]:
    return hit["key"], hit["seq"], hit["rank"]
