"""Search in the documents of a space: literal lines, or ranked passages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import decode_any_charset
from pecia.features.wiki.core.literal_search import MAX_LINE_CHARS, LineMatch, find_lines
from pecia.features.wiki.core.metadata import DocumentMetadata
from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.space import OpenSpace, Wiki, WikiDocument
from pecia.features.wiki.storage import disk
from pecia.features.wiki.tools.documents import FEATURE, NOT_INDEXED, listing_fields
from pecia.features.wiki.tools.schemas import WikiSearch, WikiSearchOut
from pecia.kernel.corpus.search.search import SearchHit, SearchMode, SearchRequest
from pecia.kernel.errors import InvalidInput, Json, NotFound, PayloadTooLarge, Unprocessable
from pecia.kernel.identity.caller import Scope
from pecia.kernel.text.canonical import normalize
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, TextContent, Tool, ToolResult

SKIPPED_FOLDERS = frozenset(("node_modules", ".claude", ".changeset"))
MAX_RANKED = 100
MAX_UNREAD = 20


@dataclass(frozen=True, slots=True)
class MatchedDocument:
    """A document with its matching lines, or its ranked passage."""

    document: WikiDocument
    matches: Sequence[LineMatch]
    rank: float | None = None


@dataclass(frozen=True, slots=True)
class WikiSearchTool:
    """The handler."""

    wiki: Wiki

    async def search(self, call: Call, ask: WikiSearch) -> ToolResult:
        """Find lines that contain the exact text, in every document you may see; mode ranked gives
        the best passages by hybrid search instead. The number of matches is limited by the setting
        mcp.tools.search.maxResults; truncated says when there are more."""
        if not ask.query.strip():
            raise InvalidInput('Field "query" must not be blank', field="query")
        opened = await self.wiki.open_early(call, ask.cwd, ask.space)
        limit = opened.settings.config.mcp.tools.search.maxResults
        if ask.mode == "ranked":
            if ask.case_sensitive:
                raise InvalidInput(
                    'Field "case_sensitive" goes with mode literal', field="case_sensitive"
                )
            return await self._search_ranked(opened, ask, limit)
        searched = [it for it in opened.documents.values() if _is_searched(it.path)]
        found, unread = await run_sync(_search_literal, opened.root, searched, ask, limit + 1)
        return _with_unread(await _build_result(opened, ask.query, found, limit), opened, unread)

    async def _search_ranked(self, opened: OpenSpace, ask: WikiSearch, limit: int) -> ToolResult:
        question = SearchRequest(
            ask.query,
            limit=min(limit, MAX_RANKED),
            mode=SearchMode.HYBRID,
            source=opened.space.source_id,
        )
        answer = await self.wiki.corpus.search(opened.call.caller, question)
        found: dict[str, list[SearchHit]] = {}
        templates = opened.template_names
        for hit in answer.hits:
            path = hit.passage.key.removeprefix(opened.prefix)
            name = split_extension(path)[0]
            if (
                name in opened.documents
                and opened.documents[name].path == path
                and name not in templates
            ):
                found.setdefault(name, []).append(hit)
        ranked: list[MatchedDocument] = []
        unread: dict[str, str] = {}
        for name, hits in found.items():
            try:
                ranked.append(await _locate_passages(opened, name, hits))
            except (NotFound, PayloadTooLarge, Unprocessable) as error:
                # Changed or deleted since it was indexed; the others are returned all the same.
                unread[opened.documents[name].path] = error.message
        result = _with_unread(await _build_result(opened, ask.query, ranked, limit), opened, unread)
        assert isinstance(result.structured, dict)
        result.structured["truncated"] = answer.has_more
        if not opened.is_indexed:
            result.structured["incomplete"] = NOT_INDEXED
        if answer.degraded:
            result.structured["degraded"] = [*answer.degraded]
        return result


def search_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    return (
        Tool(
            FEATURE, "search", Scope.SEARCH, WikiSearch, WikiSearchOut, WikiSearchTool(wiki).search
        ),
    )


async def _build_result(
    opened: OpenSpace, query: str, found: Sequence[MatchedDocument], limit: int
) -> ToolResult:
    truncated = sum(len(it.matches) for it in found) > limit
    kept = _limit_matches(found, limit)
    facts = await opened.load_metadata_of([it.document for it in kept])
    rows: list[Json] = []
    lines: list[str] = []
    for it in kept:
        card = opened.card(it.document, facts.get(it.document.name, DocumentMetadata()))
        row: dict[str, Json] = {
            "path": opened.prefix + it.document.path,
            "docName": it.document.name,
            "title": card.title,
            "description": card.description,
            "tags": [*card.tags],
            "matches": [_match_row(match) for match in it.matches],
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
    opened.record_returned([it.document.path for it in kept])
    if not rows:
        lines = [f"No document contains {query!r}."]
    if truncated:
        lines.append(f"There are more than {limit} matches: narrow the query.")
    return ToolResult(
        {
            "query": query,
            "matchCount": count,
            "fileCount": len(rows),
            "truncated": truncated,
            "results": rows,
            **listing_fields(opened),
        },
        (TextContent("\n".join(lines)),),
    )


def _with_unread(result: ToolResult, opened: OpenSpace, unread: Mapping[str, str]) -> ToolResult:
    """The result, with the documents that could not be searched, and why."""
    if not unread:
        return result
    assert isinstance(result.structured, dict)
    rows: list[Json] = [
        {"path": opened.prefix + path, "reason": why}
        for path, why in [*unread.items()][:MAX_UNREAD]
    ]
    structured: dict[str, Json] = {**result.structured, "unread": rows}
    note = TextContent(f"Not searched: {len(unread)} documents, {rows[0]} first.")
    return ToolResult(structured, (*result.content, note))


def _search_literal(
    root: Path, documents: Sequence[WikiDocument], ask: WikiSearch, most: int
) -> tuple[list[MatchedDocument], dict[str, str]]:
    found: list[MatchedDocument] = []
    unread: dict[str, str] = {}
    left = most
    for it in documents:
        try:
            text = decode_any_charset(disk.read(root, it.path))
        except NotFound:
            continue
        except PayloadTooLarge as error:
            unread[it.path] = error.message
            continue
        if text is None:
            unread[it.path] = "it is not text"
            continue
        lines = find_lines(text, ask.query, case_sensitive=ask.case_sensitive)
        matches = [*islice(lines, left)]
        if matches:
            found.append(MatchedDocument(it, matches))
            left -= len(matches)
        if not left:
            break
    return found, unread


def _limit_matches(found: Sequence[MatchedDocument], limit: int) -> list[MatchedDocument]:
    kept: list[MatchedDocument] = []
    for it in found:
        matches = it.matches[:limit]
        limit -= len(matches)
        if matches:
            kept.append(MatchedDocument(it.document, matches, it.rank))
    return kept


async def _locate_passages(
    opened: OpenSpace, name: str, hits: Sequence[SearchHit]
) -> MatchedDocument:
    """The passages of one document, each by its first line."""
    document = opened.documents[name]
    text = normalize(await opened.text(document))
    matches = [
        LineMatch(
            text.count("\n", 0, it.passage.start) + 1,
            it.passage.text[:MAX_LINE_CHARS],
            len(it.passage.text) > MAX_LINE_CHARS,
        )
        for it in hits
    ]
    return MatchedDocument(document, matches, round(hits[0].rank, 6))


def _match_row(match: LineMatch) -> Json:
    row: dict[str, Json] = {"line": match.line, "text": match.text}
    return {**row, "cut": True} if match.cut else row


def _is_searched(path: str) -> bool:
    return not SKIPPED_FOLDERS & {*path.split("/")[:-1]}
