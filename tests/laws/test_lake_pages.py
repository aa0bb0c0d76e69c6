"""Pages of a large answer, for callers who see all of it, most, little or nothing.

Worlds of the law are small. Here the candidates are more than are read, and more than are ranked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

import anyio
import pytest

from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import ExtractedText, put_many
from pecia.kernel.corpus.search.plan import MAX_CANDIDATES, MAX_NEAREST
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import Caller
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text
from tests.conftest import CONTEXT, EVERY_SCOPE, House
from tests.laws.lake_clients import embed, index, vector, with_hashing

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(120)]

SOURCE = "docs"
FOLDERS = [f"f{it:02}" for it in range(20)]
FILES = 10
WORDS = ("heron", "otter", "lantern", "harbour", "meadow", "willow", "quarry", "thimble")
SHARES = {"most": 14, "some": 7, "few": 2, "none": 0}
# The nearest are compared in the store's own precision.
CLOSE = 0.002
CHANGES = 12

At: TypeAlias = tuple[str, int]
"""A chunk: its key and its place."""


@dataclass(frozen=True, slots=True)
class Large:
    """A source of two hundred files, some of several chunks, and callers with their folders."""

    house: House
    chunks: Mapping[At, str]
    callers: Mapping[str, tuple[Caller, frozenset[str]]]

    def seen(self, who: str) -> dict[At, str]:
        folders = self.callers[who][1]
        return {at: it for at, it in self.chunks.items() if at[0].partition("/")[0] in folders}

    async def pages(self, who: str, limit: int, /, **asked: Json) -> list[dict[str, Any]]:
        """Every hit. Pages that are not the last are full."""
        found: list[dict[str, Any]] = []
        cursor: dict[str, Json] = {}
        while True:
            given = {**asked, **cursor, "limit": limit}
            page = await self.house.call(self.callers[who][0], "search_content", **given)
            found += page["hits"]
            # Half of the files have no embeddings, and a search says so.
            rest = [it for it in page["degraded"] if "embeddings are still being made" not in it]
            assert rest == []
            assert page["has_more"] == (page["next_cursor"] is not None)
            if not page["has_more"]:
                return found
            assert len(page["hits"]) == limit
            cursor = {"cursor": page["next_cursor"]}


@pytest.fixture
async def large(house: House) -> Large:
    app = with_hashing(house.app)
    house = House(app, house.ana, house.bo, house.bo_token)
    await house.call(house.ana, "add_source", source_id=SOURCE, protocol="upload")
    chance = Random(4)
    files = [
        (FileMetadata(SOURCE, f"{folder}/{n}.txt"), said(chance))
        for folder in FOLDERS
        for n in range(FILES)
    ]
    async with app.store.system() as tx:
        await put_many(tx, files, tenant_id=house.ana.tenant_id)
        rows = await tx.fetch_all(
            "SELECT f.key, c.seq, c.text FROM kernel.chunk c JOIN kernel.file f"
            " ON f.tenant_id = c.tenant_id AND f.id = c.file_id"
        )
    chunks = {(row["key"], row["seq"]): row["text"] for row in rows}
    tenant_id = str(house.ana.tenant_id)
    # Every third has no vector yet.
    texts = [it for n, it in enumerate(sorted(chunks.values())) if n % 3]
    await embed(app.store, tenant_id, texts)
    callers = {
        name: (await member(house, name, n), frozenset(FOLDERS[:n])) for name, n in SHARES.items()
    }
    await index(app, [tenant_id])
    return Large(house, chunks, {"all": (house.ana, frozenset(FOLDERS)), **callers})


def said(chance: Random) -> ExtractedText:
    """One to three paragraphs, each long enough to be a chunk."""
    paragraphs = [
        " ".join([f"n{chance.randrange(1 << 40)}", *chance.choices(WORDS, k=100)])
        for _ in range(chance.choice((1, 1, 1, 3)))
    ]
    body = "\n\n".join(paragraphs)
    return ExtractedText(build_canonical_text([RawUnit(1, UnitKind.SECTION, body)]), language="en")


async def member(house: House, name: str, folders: int) -> Caller:
    await house.call(house.ana, "add_user", name=name)
    made = await house.call(house.ana, "make_token", label="t", user=name, scopes=EVERY_SCOPE)
    for folder in FOLDERS[:folders]:
        await grant(house, name, folder, "reader")
    who = await house.app.authenticate(made["token"], CONTEXT)
    assert isinstance(who, Caller)
    return who


async def grant(house: House, name: str, folder: str, role: str | None) -> None:
    to: dict[str, Json] = {"source_id": SOURCE, "to": f"user:{name}", "folder": folder}
    await house.call(house.ana, "grant", **to, role=role)


def at(hit: Mapping[str, Any]) -> At:
    return hit["key"], hit["seq"]


async def test_pages_neither_overlap_nor_skip_nor_show_what_is_hidden(large: Large) -> None:
    for who in large.callers:
        seen = large.seen(who)
        expected = {it for it, text in seen.items() if WORDS[0] in text.split()}
        whole = await large.pages(who, 100, query=WORDS[0], mode="lexical")
        found = [at(it) for it in whole]
        assert len(found) == len({*found})
        assert {*found} == expected, who
        limit = 7 if who == "few" else 64
        again = await large.pages(who, limit, query=WORDS[0], mode="lexical")
        assert [at(it) for it in again] == found, (who, limit)
        ranks = [it["rank"] for it in whole]
        assert ranks == sorted(ranks, reverse=True)
    assert len(large.seen("most")) > 2 * MAX_CANDIDATES > len(large.seen("few"))


async def test_pages_of_both_arms_are_the_words_and_the_nearest_that_may_be_seen(
    large: Large,
) -> None:
    word = WORDS[0]
    near = vector(word)
    texts = sorted(large.chunks.values())
    embedded = {it for n, it in enumerate(texts) if n % 3}
    for who in large.callers:
        seen = large.seen(who)
        words = {it for it, text in seen.items() if word in text.split()}
        whole = await large.pages(who, 100, query=word)
        found = [at(it) for it in whole]
        assert len(found) == len({*found})
        assert words <= {*found} <= seen.keys(), who
        cosines = {it: cosine(near, text) for it, text in seen.items() if text in embedded}
        nearest = sorted(cosines.values(), reverse=True)[:MAX_NEAREST]
        by_meaning = {*found} - words
        must = {it for it, value in cosines.items() if nearest and value > nearest[-1] + CLOSE}
        assert must - words <= by_meaning, who
        assert all(cosines[it] >= nearest[-1] - CLOSE for it in by_meaning), who
        limit = 9 if who == "few" else 64
        assert [at(it) for it in await large.pages(who, limit, query=word)] == found, who


async def test_a_hit_is_widened_within_its_own_file(large: Large) -> None:
    for hit in await large.pages("few", 100, query=WORDS[0], mode="lexical"):
        own = [text for (key, _), text in sorted(large.chunks.items()) if key == hit["key"]]
        assert hit["text"].strip("…\n ") in "".join(own)


async def test_a_revoked_folder_is_gone_from_the_next_page_and_the_others_are_not(
    large: Large,
) -> None:
    """The index is not told: whatever it believes, rights are asked anew."""
    house = large.house
    for who in ("most", "some"):
        caller, folders = large.callers[who]
        first = await house.call(caller, "search_content", query=WORDS[0], limit=20, mode="lexical")
        gone = {it["key"].partition("/")[0] for it in first["hits"]}
        for folder in gone:
            await grant(house, who, folder, None)
        left = Large(house, large.chunks, {who: (caller, folders - gone)})
        more: dict[str, Json] = {"cursor": first["next_cursor"], "limit": 100}
        rest = await house.call(caller, "search_content", query=WORDS[0], mode="lexical", **more)
        seen = left.seen(who)
        assert {at(it) for it in rest["hits"]} <= seen.keys(), who
        for mode in ("lexical", "hybrid"):
            found = {at(it) for it in await left.pages(who, 50, query=WORDS[0], mode=mode)}
            words = {it for it, text in seen.items() if WORDS[0] in text.split()}
            assert words <= found <= seen.keys(), (who, mode)


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
async def test_searches_that_run_while_rights_change_show_what_could_be_seen_meanwhile(
    large: Large, mode: str
) -> None:
    """Nothing that was taken before they began, and all that was theirs throughout."""
    house, (caller, folders) = large.house, large.callers["most"]
    # What may be seen at least and at most, from one moment to the next.
    moments = [(folders, folders)]
    searches, is_over = 0, False

    async def regrant() -> None:
        nonlocal is_over
        chance = Random(5)
        for _ in range(CHANGES):
            folder = chance.choice(FOLDERS)
            now = moments[-1][0]
            after = now ^ {folder}
            moments.append((now & after, now | after))
            await grant(house, "most", folder, "reader" if folder in after else None)
            moments.append((after, after))
        is_over = True

    async def search() -> None:
        nonlocal searches
        while not is_over:
            begun = len(moments) - 1
            asked: dict[str, Json] = {"query": WORDS[0], "mode": mode, "path": "*/0.txt"}
            page = await house.call(caller, "search_content", **asked, limit=100)
            shown = {it["key"].partition("/")[0] for it in page["hits"]}
            lived = moments[begun:]
            assert all(any(it in most for _, most in lived) for it in shown)
            throughout = [it for it in FOLDERS if all(it in least for least, _ in lived)]
            assert {*throughout} <= shown
            assert not page["has_more"]
            searches += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(search)
        tasks.start_soon(search)
        tasks.start_soon(regrant)
    assert searches


def cosine(near: list[float], text: str) -> float:
    return sum(one * other for one, other in zip(near, vector(text), strict=True))
