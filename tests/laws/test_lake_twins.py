"""What a caller may not see changes nothing in what they are told, by any tool of the lake.

Two tenants are equal in all that one caller may see. Everything is asked in both, and compared:
every row, text, snippet, cursor, length of a page, count and error. Two things are left out: ids
of revisions, which are taken in their order, and, where hidden words differ in number, the order
and the scores of hits, for how long texts are on average is counted over the whole tenant.
"""

from collections.abc import Sequence
from itertools import islice
from random import Random
from typing import Any, cast

import pytest

from tests.laws.facts import Tenant
from tests.laws.lake_clients import Inside, Said
from tests.laws.lake_oracle import Question
from tests.laws.lake_twins import near, reworded, twin, worlds_to_tell_apart
from tests.laws.sql import bearer
from tests.laws.test_lake_rights import LakeApp, shore
from tests.laws.worlds import World
from tests.laws.writes import KEYS, SITE_KEYS, SOURCES
from tests.soak import FIRST, SOAK, WORLDS, record

__all__ = ["shore"]

SHARE = 25
WORDS = ("text", "1", "text 9001", "zebra", "md")
PAGE = 2
TOOLS = ("get_file_text", "get_file_window", "get_file_metadata")


@pytest.mark.timeout(0 if SOAK else 120)
@pytest.mark.parametrize("exactly", [True, False])
def test_twins_give_equal_answers(shore: LakeApp, exactly: bool) -> None:
    compared = 0
    for seed, chance, _, (tenant, credential) in islice(
        worlds_to_tell_apart(FIRST), max(1, WORLDS // SHARE)
    ):
        other = reworded(tenant, credential) if exactly else twin(chance, tenant, credential)
        asked = questions(tenant)
        one, two = (told(shore, it, credential, asked) for it in (tenant, other))
        for mine, yours in zip(one, two, strict=True):
            if not exactly:
                mine, yours = unranked(mine), unranked(yours)
            assert mine == near(yours), f"seed {seed}, {credential} of\n{tenant}\nand\n{other}"
        compared += len(one)
    assert compared
    record(f"search-twins-{'exact' if exactly else 'any'}", {"answers": compared})


def questions(tenant: Tenant) -> list[Question]:
    """Words and places that are the same in both, whether or not there is anything there."""
    return [
        Question(word, mode=mode, source=source)
        for word in WORDS
        for mode in ("lexical", "hybrid")
        for source in (None, *SOURCES[:2])
    ]


def told(
    shore: LakeApp, tenant: Tenant, credential: str, asked: Sequence[Question]
) -> list[Said | list[Said]]:
    world = World([tenant])
    names = shore.load(world, Random(0))
    shore.house.date_sources(names, world)
    shore.settle(world, names)
    return shore.portal.call(ask_all, Inside(shore.app), bearer(names, credential), asked)


async def ask_all(way: Inside, token: str, asked: Sequence[Question]) -> list[Said | list[Said]]:
    """Every tool, about everything there might be."""
    found: list[Said | list[Said]] = [await listed(way, token, "list_sources")]
    for source in SOURCES:
        found.append(await listed(way, token, "list_files", source_id=source))
        for n, key in enumerate((*KEYS, *SITE_KEYS)):
            tool = TOOLS[n % len(TOOLS)]
            found.append(await way.ask(token, tool, source_id=source, key=key))
    for it in asked:
        wanted = {**it.arguments(), "limit": PAGE, "explain": True}
        found.append(await listed(way, token, "search_content", **wanted))
    return in_order(found)


async def listed(way: Inside, token: str, tool: str, /, **arguments: Any) -> list[Said]:
    """Every page of it, with its cursor."""
    pages = [await way.ask(token, tool, **{"limit": PAGE, **arguments})]
    while cursor := pages[-1].get("ok", {}).get("next_cursor"):
        pages.append(await way.ask(token, tool, **{"limit": PAGE, **arguments, "cursor": cursor}))
    return pages


def in_order(found: Any) -> Any:
    """The same, with the ids of revisions as places in their order, and links only as such."""
    ids = sorted(_revisions(found))

    def plain(it: Any) -> Any:
        if isinstance(it, dict):
            named = cast(dict[str, Any], it)
            return {name: _plain(name, plain(value), ids) for name, value in named.items()}
        return [plain(each) for each in cast(list[Any], it)] if isinstance(it, list) else it

    return plain(found)


def unranked(pages: Said | list[Said]) -> Any:
    """The hits of all pages as a set, with the lengths of the pages."""
    if not isinstance(pages, list) or not any("hits" in it.get("ok", {}) for it in pages):
        return pages
    rows = [hit for page in pages for hit in page["ok"]["hits"]]
    kept = [{**it, "rank": None, "explain": _unweighed(it["explain"])} for it in rows]
    rest = [{**page["ok"], "hits": len(page["ok"]["hits"])} for page in pages]
    return sorted(kept, key=lambda it: (it["source_id"], it["key"], it["seq"])), rest


def _unweighed(why: dict[str, Any]) -> dict[str, Any]:
    """What of an explanation does not depend on how much a word weighs."""
    return {
        **why,
        "score": None,
        "trust": None,
        "parts": sorted(why["parts"]),
        "found_by_words": bool(why["found_by_words"]),
    }


def _plain(name: str, value: Any, ids: list[int]) -> Any:
    match name:
        case "revision" if value is not None:
            return ids.index(value)
        case "url":
            return value is not None
        case _:
            return value


def _revisions(found: Any) -> set[int]:
    if isinstance(found, dict):
        named = cast(dict[str, Any], found)
        own = [named["revision"]] if named.get("revision") is not None else []
        return {*own, *_revisions([*named.values()])}
    if isinstance(found, list):
        return {it for each in cast(list[Any], found) for it in _revisions(each)}
    return set()
