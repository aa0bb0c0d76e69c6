"""The law of rights over the lake: what every tool says is what the oracle says, both ways."""

import html
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

from pecia.kernel.corpus.file_uri import file_uri
from tests.laws.facts import Tenant
from tests.laws.lake_clients import Http, LakeClient, Mcp, Said
from tests.laws.lake_oracle import (
    At,
    Question,
    counts,
    file_refusal,
    hits,
    seen,
    source_refusal,
    sources,
)
from tests.laws.oracle import Caller, caller, covers, owns
from tests.laws.writes import KEYS, SOURCES

Standing: TypeAlias = tuple[object, ...]
"""What an index knows of a file: its words, and all that its class is made of."""

MISSING = "never-was"
MARK = re.compile(r"</?mark>|…")


@dataclass(slots=True)
class Tally:
    """How much was tried."""

    worlds: int = 0
    callers: int = 0
    answers: int = 0
    hits: int = 0
    refusals: int = 0


@dataclass(frozen=True, slots=True)
class TokenHolder:
    """A caller at one way in: who they are by the oracle, and the token they show."""

    way: LakeClient
    bearer: str
    who: Caller
    tally: Tally

    async def ask(self, tool: str, /, **arguments: Any) -> Said:
        self.tally.answers += 1
        return await self.way.ask(self.bearer, tool, **arguments)

    async def all(self, tool: str, items: str, /, **arguments: Any) -> AsyncIterator[Any]:
        """Every item of a listing, page by page."""
        cursor = None
        while True:
            more = {} if cursor is None else {"cursor": cursor}
            page = (await self.ask(tool, **arguments, **more))["ok"]
            assert page[items] or cursor is None, f"{tool} promised a page and had none"
            for it in page[items]:
                yield it
            cursor = page["next_cursor"]
            if cursor is None:
                return


async def check(
    way: LakeClient, tenant: Tenant, credential: str, bearer: str, chance: Random
) -> Tally:
    """Hold every tool to the law, for one token."""
    tally = Tally(callers=1)
    who = caller(tenant, credential)
    if who is None or not who.is_member:
        refused = await way.ask(bearer, "list_sources")
        assert refused.get("error", {}).get("code") in ("AUTH_REQUIRED", "FORBIDDEN"), refused
        return tally
    visitor = TokenHolder(way, bearer, who, tally)
    if "pecia.search" in who.scopes:
        for asked in questions(chance, tenant):
            await check_search(visitor, asked, chance)
    if "pecia.read" in who.scopes:
        await check_reading(visitor)
    return tally


def standing(tenant: Tenant, at: At) -> Standing:
    """Files whose standing is the same have moved between no classes."""
    file = tenant.file[at]
    above = sorted(
        (prefix, whom, it.role)
        for (source, prefix, whom), it in tenant.folder_grant.items()
        if source == at[0] and covers(prefix, at[1])
    )
    return file.texts[-1:], file.granted, file.known, tuple(above)


def questions(chance: Random, tenant: Tenant) -> Iterator[Question]:
    """Words of files whoever may see them, in places whoever may see those."""
    texts = [it.texts[-1] for it in tenant.file.values() if it.texts] or ["text 0"]
    anywhere = [chance.choice((None, *SOURCES, MISSING)), chance.choice(("a/**", "*.md"))]
    said = chance.choice(texts)
    yield Question("text", mode=chance.choice(("lexical", "hybrid")))
    yield Question(said, mode="hybrid", source=anywhere[0])
    yield Question(said, is_phrase=True, mode=chance.choice(("lexical", "hybrid")))
    yield Question(said.split()[1], path=anywhere[1], mode=chance.choice(("lexical", "hybrid")))
    yield Question("zebra", mode="hybrid")


async def check_search(visitor: TokenHolder, asked: Question, chance: Random) -> None:
    """Every page of it: exactly what may be seen and answers, once, best first."""
    who = visitor.who
    if asked.source is not None and (refusal := source_refusal(who, asked.source)):
        refused = await visitor.ask("search_content", **asked.arguments())
        assert refused == {"error": refusal}, (asked, refused)
        visitor.tally.refusals += 1
        return
    expected = hits(who, asked)
    found = await pages(visitor, asked, chance.choice((1, 2, 3, 20)))
    places = [(it["source_id"], it["key"]) for it in found]
    assert len(places) == len({*places}), f"{asked}: twice {places}"
    assert {*places} == expected.keys(), f"{asked}: {places}, not {[*expected]}"
    ranks = [it["rank"] for it in found]
    assert ranks == sorted(ranks, reverse=True)
    for hit in found:
        check_hit(who, asked, hit, by_words=expected[hit["source_id"], hit["key"]])
    visitor.tally.hits += len(found)


async def check_in_flight(
    visitor: TokenHolder, asked: Question, settled: Mapping[At, Standing], tally: Tally
) -> None:
    """Rights changed since the index was told: nothing too much, and nothing lost that stayed."""
    who = visitor.who
    if asked.source is not None and (refusal := source_refusal(who, asked.source)):
        refused = await visitor.ask("search_content", **asked.arguments())
        assert refused == {"error": refusal}, (asked, refused)
        return
    found = await pages(visitor, asked, 20)
    places = {(it["source_id"], it["key"]) for it in found}
    now = hits(who, asked)
    assert places <= {*seen(who)}, f"{asked}: {places - {*seen(who)}} may not be seen"
    stayed = {at for at in now if standing(who.tenant, at) == settled.get(at)}
    assert stayed <= places, f"{asked}: {stayed - places} is lost"
    for hit in found:
        text = who.tenant.file[hit["source_id"], hit["key"]].texts[-1]
        assert (hit["text"], html.unescape(MARK.sub("", hit["snippet"]))) == (text, text)
    tally.hits += len(found)


async def pages(visitor: TokenHolder, asked: Question, limit: int) -> list[dict[str, Any]]:
    """All hits. A page that is not the last is full, and says that there is more."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, Any] = {}
    while True:
        wanted = {**asked.arguments(), "limit": limit, "explain": True, **cursor}
        said = await visitor.ask("search_content", **wanted)
        assert "ok" in said, (asked, said)
        page = said["ok"]
        for note in page["degraded"]:
            check_note(visitor.who, asked, note)
        found += page["hits"]
        assert page["has_more"] == (page["next_cursor"] is not None)
        if not page["has_more"]:
            return found
        assert len(page["hits"]) == limit
        cursor = {"cursor": page["next_cursor"]}


def check_note(who: Caller, asked: Question, note: str) -> None:
    """A search says that files have no embeddings yet; and, to those who own it and to nobody
    else, that a source was never read: then it has no file."""
    if "embeddings are still being made" in note:
        return
    assert "not been crawled yet" in note, (asked, note)
    named = {it for it in (*SOURCES, MISSING) if repr(it) in note}
    with_files = {source for source, _ in who.tenant.file}
    assert named, (asked, note)
    assert all(it in who.tenant.source and owns(who, it) for it in named), (asked, note)
    assert not named & with_files, (asked, note)


def check_hit(who: Caller, asked: Question, hit: dict[str, Any], *, by_words: bool) -> None:
    """A hit says what its file says and nothing else."""
    file = who.tenant.file[hit["source_id"], hit["key"]]
    text = file.texts[-1]
    assert (hit["text"], hit["truncated"]) == (text, False)
    assert html.unescape(MARK.sub("", hit["snippet"])) == text
    assert (hit["seq"], hit["char_start"], hit["char_end"]) == (0, 0, len(text))
    why = hit["explain"]
    assert bool(why["found_by_words"]) == by_words, (asked, hit)
    by_meaning = asked.mode == "hybrid" and file.embedded
    assert (why["cosine"] is not None) == by_meaning, (asked, hit)


async def check_reading(visitor: TokenHolder) -> None:
    """Listings and files: those that may be seen, and one refusal for all others."""
    who, tally = visitor.who, visitor.tally
    shown = [it["source_id"] async for it in visitor.all("list_sources", "sources", limit=2)]
    assert shown == sources(who), (shown, sources(who))
    files = seen(who)
    for source in (*SOURCES, MISSING):
        if refusal := source_refusal(who, source):
            refused = await visitor.ask("list_files", source_id=source)
            assert refused == {"error": refusal}, refused
            tally.refusals += 1
            continue
        listed = visitor.all("list_files", "files", source_id=source, limit=2)
        keys = [(source, it["key"]) async for it in listed]
        assert keys == [at for at in files if at[0] == source], keys
    for at in {*who.tenant.file, *((it, KEYS[0]) for it in (*SOURCES, MISSING))}:
        await check_file(visitor, at)


async def check_file(visitor: TokenHolder, at: At) -> None:
    who = visitor.who
    file = seen(who).get(at)
    named = {"source_id": at[0], "key": at[1]}
    for tool in ("get_file_text", "get_file_window", "get_file_metadata"):
        said = await visitor.ask(tool, **named)
        if file is None:
            assert said == {"error": file_refusal(who, *at)}, (tool, said)
            visitor.tally.refusals += 1
        elif tool == "get_file_metadata":
            assert (said["ok"]["key"], said["ok"]["size"]) == (at[1], file.size_bytes)
        else:
            texts = [it["text"] for it in said["ok"]["chunks"]]
            assert texts == [*file.texts[-1:]], (tool, said)
            assert said["ok"]["total_chunks"] == len(texts)


async def check_extras(http: Http, mcp: Mcp, visitor: TokenHolder, vectors_a_file: int) -> None:
    """What is no tool: resources, completions, capacity."""
    who, bearer = visitor.who, visitor.bearer
    files = seen(who)
    listed = (await mcp.resources(bearer))["ok"]
    assert [it["uri"] for it in listed] == [file_uri(*at) for at in files]
    for at in {*who.tenant.file, (MISSING, "a/1.md")}:
        await _check_resource(mcp, visitor, at)
    suggested = (await mcp.complete(bearer, "source", ""))["ok"]
    assert suggested["values"] == sources(who)
    for source in (*SOURCES, MISSING):
        found = await mcp.complete(bearer, "key", "a", source=source)
        begun = [key for where, key in files if where == source and key.startswith("a")]
        if refusal := source_refusal(who, source):
            assert found["error"] == refusal, found
        else:
            assert found["ok"]["values"] == begun, found
    size = (await http.capacity(bearer))["ok"]["index"]
    assert {it: size[it] for it in ("files", "chunks", "vectors")} == counts(who, vectors_a_file)
    assert (size["bytes"] is None) == (not who.administers)
    assert (size["lag"] is None) == (not who.administers)


async def _check_resource(mcp: Mcp, visitor: TokenHolder, at: At) -> None:
    read = await mcp.read(visitor.bearer, file_uri(*at))
    file = seen(visitor.who).get(at)
    if file is None:
        assert read == {"error": file_refusal(visitor.who, *at)}, read
    else:
        assert read == {"ok": "".join(file.texts[-1:])}, read
