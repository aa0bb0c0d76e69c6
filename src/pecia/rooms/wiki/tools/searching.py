"""Searching the documents of a space: for the very words, or for the best passages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from anyio.to_thread import run_sync

from pecia.kernel.corpus.search import Ask, Hit, Mode
from pecia.kernel.errors import InvalidInput, Json, NotFound, PayloadTooLarge, Unprocessable
from pecia.kernel.identity.caller import Scope
from pecia.kernel.text.canonical import normalize
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Result, Text, Tool
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.facts import Facts
from pecia.rooms.wiki.literal import LONGEST_LINE, Match, lines_with
from pecia.rooms.wiki.names import split_extension
from pecia.rooms.wiki.stored import readable
from pecia.rooms.wiki.tools.reading import ROOM, listed
from pecia.rooms.wiki.tools.shapes import Search, SearchOut
from pecia.rooms.wiki.wiki import Document, Opened, Wiki

UNSEARCHED = frozenset(("node_modules", ".claude", ".changeset"))
MOST_RANKED = 100
MOST_UNREAD = 20


@dataclass(frozen=True, slots=True)
class Found:
    """A document with the lines that matched, or the passage that ranks."""

    document: Document
    matches: Sequence[Match]
    rank: float | None = None


@dataclass(frozen=True, slots=True)
class Searching:
    """The handler."""

    wiki: Wiki

    async def search(self, call: Call, ask: Search) -> Result:
        """Find lines that hold the very words, in every document you may see; mode ranked gives
        the best passages by words and meaning instead. The number of matches is bounded by the
        setting mcp.tools.search.maxResults; truncated says when there are more."""
        if not ask.query.strip():
            raise InvalidInput('Field "query" must hold more than spaces', field="query")
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        most = opened.settings.config.mcp.tools.search.maxResults
        if ask.mode == "ranked":
            if ask.case_sensitive:
                raise InvalidInput(
                    'Field "case_sensitive" goes with mode literal', field="case_sensitive"
                )
            return await self._ranked(opened, ask, most)
        searched = [it for it in opened.documents.values() if _is_searched(it.path)]
        found, unread = await run_sync(_literal, opened.root, searched, ask, most + 1)
        return _with_unread(await _answer(opened, ask.query, found, most), opened, unread)

    async def _ranked(self, opened: Opened, ask: Search, most: int) -> Result:
        question = Ask(
            ask.query,
            limit=min(most, MOST_RANKED),
            mode=Mode.HYBRID,
            source=opened.space.source_id,
        )
        answer = await self.wiki.corpus.search(opened.call.caller, question)
        found: dict[str, list[Hit]] = {}
        for hit in answer.hits:
            path = hit.passage.key.removeprefix(opened.lead)
            name = split_extension(path)[0]
            if name in opened.documents and opened.documents[name].path == path:
                found.setdefault(name, []).append(hit)
        ranked: list[Found] = []
        unread: dict[str, str] = {}
        for name, hits in found.items():
            try:
                ranked.append(await _passages(opened, name, hits))
            except (NotFound, PayloadTooLarge, Unprocessable) as error:
                # Gone or another since it was indexed; the others are found all the same.
                unread[opened.documents[name].path] = error.message
        result = _with_unread(await _answer(opened, ask.query, ranked, most), opened, unread)
        assert isinstance(result.structured, dict)
        result.structured["truncated"] = answer.has_more
        if answer.degraded:
            result.structured["degraded"] = [*answer.degraded]
        return result


def searching_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    return (Tool(ROOM, "search", Scope.SEARCH, Search, SearchOut, Searching(wiki).search),)


async def _answer(opened: Opened, query: str, found: Sequence[Found], most: int) -> Result:
    truncated = sum(len(it.matches) for it in found) > most
    kept = _first(found, most)
    facts = await opened.facts_of([it.document for it in kept])
    rows: list[Json] = []
    lines: list[str] = []
    for it in kept:
        card = opened.card(it.document, facts.get(it.document.name, Facts()))
        row: dict[str, Json] = {
            "path": opened.lead + it.document.path,
            "docName": it.document.name,
            "title": card.title,
            "description": card.description,
            "tags": [*card.tags],
            "matches": [_shown(match) for match in it.matches],
            **({} if it.rank is None else {"rank": it.rank}),
            **opened.preview.link(it.document.name),
        }
        rows.append(row)
        tags = f" [{', '.join(card.tags)}]" if card.tags else ""
        lines.append(f"{row['path']} — {card.title or it.document.name}{tags}")
        if card.description:
            lines.append(f"  {card.description}")
        lines += [f"  {match.line}: {match.text}" for match in it.matches]
    count = sum(len(it.matches) for it in kept)
    opened.returned([it.document.path for it in kept])
    if not rows:
        lines = [f"No document holds {query!r}."]
    if truncated:
        lines.append(f"There are more than {most} matches: narrow the query.")
    return Result(
        {
            "query": query,
            "matchCount": count,
            "fileCount": len(rows),
            "truncated": truncated,
            "results": rows,
            **listed(opened),
        },
        (Text("\n".join(lines)),),
    )


def _with_unread(result: Result, opened: Opened, unread: Mapping[str, str]) -> Result:
    """The same, with the documents that could not be searched, and why."""
    if not unread:
        return result
    assert isinstance(result.structured, dict)
    rows: list[Json] = [
        {"path": opened.lead + path, "reason": why} for path, why in [*unread.items()][:MOST_UNREAD]
    ]
    structured: dict[str, Json] = {**result.structured, "unread": rows}
    said = Text(f"Not searched: {len(unread)} documents, {rows[0]} first.")
    return Result(structured, (*result.content, said))


def _literal(
    root: Path, documents: Sequence[Document], ask: Search, most: int
) -> tuple[list[Found], dict[str, str]]:
    found: list[Found] = []
    unread: dict[str, str] = {}
    left = most
    for it in documents:
        try:
            text = readable(disk.read(root, it.path))
        except NotFound:
            continue
        except PayloadTooLarge as error:
            unread[it.path] = error.message
            continue
        if text is None:
            unread[it.path] = "it is no text"
            continue
        lines = lines_with(text, ask.query, case_sensitive=ask.case_sensitive)
        matches = [*islice(lines, left)]
        if matches:
            found.append(Found(it, matches))
            left -= len(matches)
        if not left:
            break
    return found, unread


def _first(found: Sequence[Found], most: int) -> list[Found]:
    kept: list[Found] = []
    for it in found:
        matches = it.matches[:most]
        most -= len(matches)
        if matches:
            kept.append(Found(it.document, matches, it.rank))
    return kept


async def _passages(opened: Opened, name: str, hits: Sequence[Hit]) -> Found:
    """The passages of one document, each by the line that it begins in."""
    document = opened.documents[name]
    text = normalize(await opened.text(document))
    matches = [
        Match(
            text.count("\n", 0, it.passage.start) + 1,
            it.passage.text[:LONGEST_LINE],
            len(it.passage.text) > LONGEST_LINE,
        )
        for it in hits
    ]
    return Found(document, matches, round(hits[0].rank, 6))


def _shown(match: Match) -> Json:
    told: dict[str, Json] = {"line": match.line, "text": match.text}
    return {**told, "cut": True} if match.cut else told


def _is_searched(path: str) -> bool:
    return not UNSEARCHED & {*path.split("/")[:-1]}
