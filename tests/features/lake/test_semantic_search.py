"""Search by meaning: what it adds to words, where it is off, and what the answer then says."""

import json
from collections.abc import Sequence
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from pecia.app.app import index_root
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search.search import Corpus, SearchMode, SearchRequest
from pecia.kernel.corpus.vectors.embed_job import embed_job
from pecia.kernel.corpus.vectors.embedder import Vectors
from pecia.kernel.errors import Forbidden, UpstreamError
from pecia.kernel.jobs import NoArguments, defer_as_system
from pecia.kernel.jobs.worker import run_until_idle
from tests.conftest import House
from tests.features.lake.conftest import SOURCE, Lake

pytestmark = pytest.mark.anyio

PHYSICIAN = "The physician examined the ailing child.\n"
PARAPHRASE = "doctor looked at a sick kid"
FLEET = "Invoice AX-4471 covers the leased vans.\n"


def keys(found: dict[str, Any]) -> list[str]:
    return [it["key"] for it in found["hits"]]


async def embed(house: House) -> None:
    app = house.app
    assert app.embedder is not None
    job = embed_job(app.embedder, schedule=None)
    async with app.store.system() as tx:
        await defer_as_system(tx, job, NoArguments(), tenant_id=house.ana.tenant_id)
    await run_until_idle(app.store, [job])


@pytest.mark.requirement(
    "lake.search.hybrid_by_default",
    "lake.hybrid.paraphrase",
    "lake.hybrid.fused",
    "lake.hybrid.reranked",
)
async def test_without_a_mode_words_and_meaning_are_searched_and_reranked(lake: Lake) -> None:
    lake.write({"visit.md": PHYSICIAN, "fleet.md": FLEET})
    await lake.crawl()
    await embed(lake.house)
    assert keys(await lake.search(PARAPHRASE, mode="lexical")) == []
    found = await lake.search(PARAPHRASE, explain=True)
    assert keys(found)[0] == "visit.md"
    assert found["degraded"] == []
    # One is found by its number alone, the other by what it means.
    both = await lake.search(f"AX-4471 {PARAPHRASE}", explain=True)
    why = {it["key"]: it["explain"] for it in both["hits"]}
    assert why["fleet.md"]["found_by_words"]
    assert not why["visit.md"]["found_by_words"]
    plain = await lake.search(f"AX-4471 {PARAPHRASE}", explain=True, mode="lexical")
    [words] = [it["explain"] for it in plain["hits"]]
    assert any(why["fleet.md"]["evidence"].values())
    assert not any(words["evidence"].values())
    assert (words["cosine"], why["fleet.md"]["cosine"] is None) == (None, False)


async def test_an_owner_is_told_how_much_of_a_source_is_found_by_meaning(lake: Lake) -> None:
    async def count() -> tuple[int, int | None]:
        told = await lake.house.call(lake.house.ana, "source_stats", source_id=SOURCE)
        return told["chunks"], told["embedded"]

    lake.write({"visit.md": PHYSICIAN, "fleet.md": FLEET})
    await lake.crawl()
    assert await count() == (2, 0)
    await embed(lake.house)
    assert await count() == (2, 2)
    await lake.house.call(lake.house.ana, "set_source", source_id=SOURCE, hybrid=False)
    assert await count() == (2, None)


@pytest.mark.requirement(
    "lake.hybrid.source_toggle", "lake.hybrid.degrades", "lake.lexical.where_embeddings_off"
)
async def test_a_source_can_be_left_out_of_meaning_and_come_back(lake: Lake) -> None:
    house = lake.house
    lake.write({"visit.md": PHYSICIAN})
    other = lake.folder.with_name("other")
    other.mkdir()
    (other / "twin.md").write_text(PHYSICIAN)
    await house.call(house.ana, "add_source", source_id="other", folder=str(other))
    await lake.crawl()
    await lake.crawl("other")
    await embed(house)
    assert {*keys(await lake.search(PARAPHRASE))} == {"visit.md", "twin.md"}
    await house.call(house.ana, "set_source", source_id="docs", hybrid=False)
    await embed(house)
    found = await lake.search(PARAPHRASE)
    assert keys(found) == ["twin.md"]
    assert found["degraded"] == ["lexical only in the source 'docs': semantic search is off there"]
    alone = await lake.search("physician", source_id="docs")
    assert keys(alone) == ["visit.md"]
    assert alone["degraded"]
    assert (await lake.search("physician", source_id="other"))["degraded"] == []
    await house.call(house.ana, "set_source", source_id="docs", hybrid=True)
    await embed(house)
    assert {*keys(await lake.search(PARAPHRASE))} == {"visit.md", "twin.md"}


@pytest.mark.requirement("lake.hybrid.tenant_toggle", "lake.hybrid.degrades")
async def test_a_tenant_can_switch_meaning_off_and_on_for_all_its_sources(lake: Lake) -> None:
    house = lake.house
    lake.write({"visit.md": PHYSICIAN})
    await lake.crawl()
    await embed(house)
    await house.call(house.ana, "set_search", hybrid=False)
    assert keys(await lake.search(PARAPHRASE)) == []
    found = await lake.search("physician")
    assert found["hits"] == unlinked(await lake.search("physician", mode="lexical"), found)
    assert found["degraded"] == ["lexical only: semantic search is off here"]
    with pytest.raises(Forbidden):
        await house.call(house.bo, "set_search", hybrid=True)
    await house.call(house.ana, "set_search", hybrid=True)
    found = await lake.search(PARAPHRASE)
    assert (keys(found), found["degraded"]) == (["visit.md"], [])


def unlinked(one: dict[str, Any], other: dict[str, Any]) -> list[dict[str, Any]]:
    """The hits of one with the links of the other, which are fresh in every answer."""
    return [{**a, "url": b["url"]} for a, b in zip(one["hits"], other["hits"], strict=True)]


class UnavailableEmbedder:
    """An embedder that cannot be had, and counts who tried."""

    name = "away"
    language = ""
    asked = 0

    async def dimension(self) -> int:
        return 384

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += 1
        raise UpstreamError("the model is away")


@pytest.mark.requirement("lake.lexical.no_embedder")
async def test_lexical_search_asks_no_embedder_and_hybrid_does_without_one_that_fails(
    lake: Lake,
) -> None:
    lake.write({"visit.md": PHYSICIAN})
    await lake.crawl()
    app, ana = lake.house.app, lake.house.ana
    away = UnavailableEmbedder()
    corpus = Corpus(app.store, ReaderCache(index_root(app.settings.kernel)), away)
    by_words = await corpus.search(
        ana, SearchRequest("physician", mode=SearchMode.LEXICAL, explain=True)
    )
    assert [it.passage.key for it in by_words.hits] == ["visit.md"]
    assert (away.asked, by_words.degraded) == (0, ())
    hybrid = await corpus.search(ana, SearchRequest("physician"))
    assert [it.passage.key for it in hybrid.hits] == ["visit.md"]
    assert (away.asked, hybrid.degraded) == (1, ("lexical only: the model is away",))


@pytest.mark.requirement("lake.hybrid.nearest_neighbours")
def test_the_recall_of_the_approximate_way_is_on_record() -> None:
    record = Path(__file__).parents[3] / "bench" / "results" / "corpus-store.json"
    nearest = json.loads(record.read_text())["nearest"]
    by_index = [it for it in nearest.values() if it["way"] == "index"]
    assert by_index
    assert all(it["recall"] >= 0.98 for it in by_index)


@pytest.mark.requirement("lake.hybrid.diversified")
async def test_near_copies_and_one_long_file_leave_room_for_others(lake: Lake) -> None:
    filler = " ".join(f"word{it}" for it in range(120))
    long = "".join(f"# Spokes {it}\n\nSpokes number {it}. {filler}\n\n" for it in range(30))
    others = {
        "steel.md": "Steel spokes bend before they break.\n",
        "tension.md": "Measure the tension of all spokes after a fall.\n",
        "wood.md": "Carts had wooden wheels with ten spokes.\n",
    }
    lake.write({"long.md": long, **others})
    await lake.crawl()
    await embed(lake.house)
    first = keys(await lake.search("spokes", limit=6))
    assert {*others} <= {*first}


async def test_an_index_that_cannot_be_read_is_told_as_such_in_either_mode(lake: Lake) -> None:
    lake.write({"visit.md": PHYSICIAN})
    await lake.crawl()
    await embed(lake.house)
    for torn in index_root(lake.house.app.settings.kernel).rglob("meta.json"):
        torn.write_text("{")
    for mode in ("lexical", "hybrid"):
        assert (await lake.search("physician", mode=mode))["degraded"]


async def test_an_index_that_is_not_there_yet_is_told(lake: Lake) -> None:
    lake.write({"visit.md": PHYSICIAN})
    await lake.crawl()
    await embed(lake.house)
    rmtree(index_root(lake.house.app.settings.kernel))
    building = "the keyword index is being built: search again shortly"
    assert (await lake.search("physician", mode="lexical"))["degraded"] == [building]
    found = await lake.search(PARAPHRASE)
    assert (keys(found), found["degraded"]) == (["visit.md"], [building])


async def test_without_a_keyword_index_no_word_is_said_to_stand_nowhere(lake: Lake) -> None:
    house = lake.house
    lake.write({"visit.md": PHYSICIAN})
    await house.call(house.ana, "crawl_source", source_id="docs")
    await run_until_idle(house.app.store, house.app.jobs)
    await embed(house)
    found = await lake.search("physician patients")
    assert [it["key"] for it in found["hits"]] == ["visit.md"]
    assert any("index is being built" in it for it in found["degraded"])
    assert found["absent"] == []


async def test_while_the_keyword_index_is_behind_no_word_is_said_to_stand_nowhere(
    lake: Lake,
) -> None:
    house = lake.house
    lake.write({"visit.md": PHYSICIAN})
    await lake.crawl()
    asked = "physician zeppelin"
    assert (await lake.search(asked, mode="lexical"))["absent"] == ["zeppelin"]
    lake.write({"flight.md": "A zeppelin lands on Mondays.\n"})
    await house.call(house.ana, "crawl_source", source_id="docs")
    await run_until_idle(house.app.store, house.app.jobs)
    behind = await lake.search(asked, mode="lexical")
    assert (keys(behind), behind["absent"]) == (["visit.md"], [])
    await lake.crawl()
    assert (await lake.search("zeppelin airship", mode="lexical"))["absent"] == ["airship"]
