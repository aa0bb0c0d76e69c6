"""Suggestions: changes that wait until somebody who may write the document accepts them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

import orjson
from pydantic import Field

from pecia.features.wiki.core.guard import document_version
from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.core.summary import EditSummary, parse_summary
from pecia.features.wiki.history.message import ClientProgram, is_agent
from pecia.features.wiki.space import OpenSpace, Wiki
from pecia.features.wiki.space_write import MergeBase, begin_space_write
from pecia.features.wiki.suggestion.pieces import ChangePiece, apply_pieces
from pecia.features.wiki.suggestion.policy import require_may_comment, suggest_rule
from pecia.features.wiki.suggestion.propose import locate_pieces, read_visible_text
from pecia.features.wiki.suggestion.store import (
    ACCEPTED,
    OPEN,
    REJECTED,
    SuggestedPiece,
    Suggestion,
    SuggestionFilter,
    Suggestions,
)
from pecia.features.wiki.tools.documents import FEATURE, listing_fields
from pecia.features.wiki.tools.edits import encode_text, read_guarded
from pecia.features.wiki.tools.pagination import MAX_PART_BYTES
from pecia.features.wiki.tools.schemas import (
    EXPECTED_VERSION,
    SUMMARY_FIELD,
    ListingOutput,
    OptionalText,
    PreviewedOutput,
    SpaceInput,
    WikiOutput,
)
from pecia.kernel.errors import Conflict, Forbidden, InvalidInput, Json
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, TextContent, Tool, ToolResult
from pecia.kernel.tool.plain_text import PlainText

MAX_LISTED = 100
MAX_COMMENT_CHARS = 20_000
MAX_SHOWN_CHARS = 50_000
CHANGED_NOTE = "the text it was about changed"


class ListSuggestions(SpaceInput):
    docName: OptionalText = Field(default=None, max_length=1100, description="Only of this one.")
    state: Literal["open", "closed", "all"] = "open"
    limit: int = Field(default=20, ge=1, le=MAX_LISTED)
    cursor: UUID | None = Field(default=None, description="`nextCursor` of the previous page.")


class SuggestionInput(SpaceInput):
    suggestion: UUID


class ReadSuggestion(SuggestionInput):
    offset: int = Field(default=0, ge=0, description="Pieces to skip: `nextOffset`.")


class CommentSuggestion(SuggestionInput):
    text: PlainText = Field(min_length=1, max_length=MAX_COMMENT_CHARS)


class DecideSuggestion(SuggestionInput):
    pieces: list[int] | None = Field(
        default=None, min_length=1, max_length=200, description="Their numbers; all open ones."
    )


class AcceptSuggestion(DecideSuggestion):
    expected_version: OptionalText = EXPECTED_VERSION
    summary: OptionalText = SUMMARY_FIELD


class RejectSuggestion(DecideSuggestion):
    comment: PlainText | None = Field(
        default=None, max_length=MAX_COMMENT_CHARS, description="Why, for the thread."
    )


class SuggestionsOut(ListingOutput):
    suggestions: list[dict[str, Any]]
    nextCursor: str | None = Field(description="The `cursor` of the next page; null at the end.")


class SuggestionOut(PreviewedOutput):
    suggestion: str
    docName: str
    pieces: list[dict[str, Any]]
    comments: list[dict[str, Any]]


class CommentedOut(WikiOutput):
    suggestion: str
    comment: int


class DecidedOut(PreviewedOutput):
    suggestion: str
    docName: str
    pieces: list[int]
    state: str


@dataclass(frozen=True, slots=True)
class SuggestionTools:
    """The handlers."""

    wiki: Wiki

    async def list_suggestions(self, call: Call, ask: ListSuggestions) -> ToolResult:
        """Changes that were suggested for documents, newest first: open ones, of the space or of
        one document. `changed` counts pieces whose text is another by now."""
        opened = await self.wiki.open(call, ask.cwd, ask.space, ask.docName)
        path = opened.find(ask.docName).path if ask.docName else None
        is_open = None if ask.state == "all" else ask.state == "open"
        which = SuggestionFilter(path, is_open, ask.cursor, ask.limit + 1)
        async with self.wiki.store.reading(call.caller) as tx:
            found = await Suggestions(tx, opened.location).list_page(which)
        page = found[: ask.limit]
        names = await self.wiki.load_writer_names(call)
        rows: list[Json] = [await _row(opened, it, names) for it in page]
        opened.record_returned([it.path for it in page])
        more = str(page[-1].id) if len(found) > len(page) else None
        return ToolResult({"suggestions": rows, "nextCursor": more, **listing_fields(opened)})

    async def read_suggestion(self, call: Call, ask: ReadSuggestion) -> ToolResult:
        """One suggestion: its pieces with old and new text and where they are now, and its
        thread. A piece whose text changed since says so; it stays readable."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        async with self.wiki.store.reading(call.caller) as tx:
            found = await Suggestions(tx, opened.location).get(ask.suggestion)
        names = await self.wiki.load_writer_names(call)
        fields = await _row(opened, found, names)
        now = await read_visible_text(opened, found.path)
        pieces = await _piece_rows(opened, found, now, names)
        page = _fit(pieces[ask.offset :])
        end = ask.offset + len(page)
        fields |= {
            "pieces": [*page],
            "nextOffset": end if end < len(pieces) else None,
            "comments": [
                {
                    "comment": it.number,
                    **_author(it.writer, it.client, names),
                    "timestamp": it.made_at.isoformat(timespec="seconds"),
                    "text": it.words,
                }
                for it in found.comments
            ],
            "version": document_version(None if now is None else now.encode()),
            **opened.preview.link(str(fields["docName"])),
        }
        opened.record_returned([found.path])
        return ToolResult(fields)

    async def comment_suggestion(self, call: Call, ask: CommentSuggestion) -> ToolResult:
        """Write in the thread of a suggestion."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        words = encode_text(ask.text).decode()
        async with self.wiki.store.writing(call.caller, call.trace) as tx:
            rows = Suggestions(tx, opened.location)
            found = await rows.get(ask.suggestion)
            await require_may_comment(opened, tx, found)
            number = await rows.comment(call, found.id, words)
        opened.record_returned([found.path])
        return ToolResult({"suggestion": str(found.id), "comment": number})

    async def accept_suggestion(self, call: Call, ask: AcceptSuggestion) -> ToolResult:
        """Make a suggested change, all open pieces or those named: an ordinary write, with the
        author of the suggestion as the version's. Nothing is changed if the text of one piece is
        another by now."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        async with begin_space_write(opened) as writer:
            rows = Suggestions(writer.tx, opened.location)
            found = await rows.get(ask.suggestion)
            name = split_extension(found.path)[0]
            await writer.require_may_write(found.path)
            _require_person(opened, found.path)
            chosen = _select(found, ask.pieces)
            old = await read_guarded(writer, name, found.path, ask.expected_version)
            body = encode_text(await _apply(opened, found, chosen, old))
            await writer.write(found.path, body, MergeBase.DOCUMENT)
            summary = parse_summary(ask.summary) or _summary(found)
            author = (found.writer, found.client)
            await writer.record(f"suggestion: {name}", [name], summary, author)
            await rows.decide(call, found.id, [it.number for it in chosen], ACCEPTED)
        fields = _report_decision(opened, found, chosen)
        fields["version"] = document_version(body)
        return ToolResult(fields, (TextContent(f"Accepted {len(chosen)} of {name}."),))

    async def reject_suggestion(self, call: Call, ask: RejectSuggestion) -> ToolResult:
        """Close a suggestion, all open pieces or those named, without a change. An author may take
        back their own. It stays readable."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        async with self.wiki.store.writing(call.caller, call.trace) as tx:
            rows = Suggestions(tx, opened.location)
            found = await rows.get(ask.suggestion)
            chosen = _select(found, ask.pieces)
            await rows.decide(call, found.id, [it.number for it in chosen], REJECTED)
            if ask.comment:
                await rows.comment(call, found.id, encode_text(ask.comment).decode())
        fields = _report_decision(opened, found, chosen)
        return ToolResult(fields, (TextContent(f"Rejected {len(chosen)} of {found.path}."),))


async def _apply(
    opened: OpenSpace, found: Suggestion, chosen: Sequence[SuggestedPiece], old: str | None
) -> str:
    anchors = await locate_pieces(opened, found, [it.change for it in chosen], old)
    lost: list[Json] = [it.number for it, at in zip(chosen, anchors, strict=True) if at is None]
    if lost:
        said = ", ".join(map(str, lost))
        raise Conflict(
            f"the text that piece {said} was about changed",
            field="pieces",
            changed=lost,
            hint="Accept the other pieces by their numbers, make the change with edit_document, "
            "and close this one with reject_suggestion.",
        )
    return apply_pieces(old or "", [it for it in anchors if it is not None])


def _select(found: Suggestion, numbers: Sequence[int] | None) -> list[SuggestedPiece]:
    """The pieces that are meant, all of them open."""
    known = {it.number: it for it in found.pieces}
    if numbers is None:
        if not found.open_pieces:
            raise Conflict("no piece of this suggestion is open", field="suggestion")
        return found.open_pieces
    unknown = [it for it in numbers if it not in known]
    if unknown:
        allowed: list[Json] = [it.number for it in found.open_pieces]
        raise InvalidInput(f"there is no piece {unknown[0]}", field="pieces", allowed=allowed)
    chosen = [known[it] for it in dict.fromkeys(numbers)]
    decided = next((it for it in chosen if it.status != OPEN), None)
    if decided is not None:
        raise Conflict(f"piece {decided.number} is {decided.status} already", field="pieces")
    return chosen


def _require_person(opened: OpenSpace, path: str) -> None:
    if suggest_rule(opened, path) == "agents" and is_agent(opened.call):
        raise Forbidden(
            "a folder rule leaves it to people to accept suggestions here",
            path=path,
            hint="A person accepts it: pecia call wiki.accept_suggestion --suggestion ID.",
        )


def _summary(found: Suggestion) -> EditSummary | None:
    return None if found.summary is None else EditSummary(found.summary)


def _report_decision(
    opened: OpenSpace, found: Suggestion, chosen: Sequence[SuggestedPiece]
) -> dict[str, Json]:
    name = split_extension(found.path)[0]
    left = len(found.open_pieces) - len(chosen)
    opened.record_returned([found.path])
    return {
        "suggestion": str(found.id),
        "docName": name,
        "pieces": [it.number for it in chosen],
        "state": "open" if left else "closed",
        **opened.preview.link(name),
    }


async def _row(opened: OpenSpace, it: Suggestion, names: Mapping[str, str]) -> dict[str, Json]:
    now = await read_visible_text(opened, it.path)
    waiting = it.open_pieces
    anchors = await locate_pieces(opened, it, [piece.change for piece in waiting], now)
    row: dict[str, Json] = {
        "suggestion": str(it.id),
        "docName": split_extension(it.path)[0],
        "documentExists": now is not None,
        **_author(it.writer, it.client, names),
        "timestamp": it.made_at.isoformat(timespec="seconds"),
        "state": "open" if waiting else "closed",
        "pieceCount": len(it.pieces),
        "open": len(waiting),
        "changed": anchors.count(None),
        "commentCount": len(it.comments),
    }
    if it.summary is not None:
        row["summary"] = it.summary
    return row


async def _piece_rows(
    opened: OpenSpace, it: Suggestion, now: str | None, names: Mapping[str, str]
) -> list[dict[str, Json]]:
    anchors = await locate_pieces(opened, it, [piece.change for piece in it.pieces], now)
    return [
        _piece_row(it, piece, at, now, names) for piece, at in zip(it.pieces, anchors, strict=True)
    ]


def _piece_row(
    it: Suggestion,
    piece: SuggestedPiece,
    at: ChangePiece | None,
    now: str | None,
    names: Mapping[str, str],
) -> dict[str, Json]:
    row: dict[str, Json] = {"piece": piece.number, "state": piece.status}
    for key, text in (("old", it.old(piece)), ("new", piece.change.new)):
        row[key] = text[:MAX_SHOWN_CHARS]
        if len(text) > MAX_SHOWN_CHARS:
            row[f"{key}Chars"] = len(text)
    if piece.status != OPEN:
        by = piece.decided_by or ""
        row |= {"decidedBy": names.get(by, by)}
        row["decidedAt"] = piece.decided_at and piece.decided_at.isoformat(timespec="seconds")
    elif at is None:
        row["changed"] = CHANGED_NOTE
    else:
        row |= {"offset": at.start, "line": (now or "").count("\n", 0, at.start) + 1}
    return row


def _author(writer: str, client: ClientProgram | None, names: Mapping[str, str]) -> dict[str, Json]:
    made: dict[str, Json] = {"author": names.get(writer, writer), "writerId": writer}
    if client is not None:
        made |= {"clientName": client.name, "clientVersion": client.version}
    return made


def _fit(rows: Sequence[dict[str, Json]]) -> list[dict[str, Json]]:
    page: list[dict[str, Json]] = []
    size = 0
    for row in rows:
        size += len(orjson.dumps(row))
        if page and size > MAX_PART_BYTES:
            break
        page.append(row)
    return page


def suggestion_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = SuggestionTools(wiki)
    read, write = Scope.READ, Scope.WRITE
    return (
        Tool(
            FEATURE, "list_suggestions", read, ListSuggestions, SuggestionsOut, it.list_suggestions
        ),
        Tool(FEATURE, "read_suggestion", read, ReadSuggestion, SuggestionOut, it.read_suggestion),
        Tool(
            FEATURE,
            "comment_suggestion",
            write,
            CommentSuggestion,
            CommentedOut,
            it.comment_suggestion,
            read_only=False,
        ),
        Tool(
            FEATURE,
            "accept_suggestion",
            write,
            AcceptSuggestion,
            DecidedOut,
            it.accept_suggestion,
            read_only=False,
            destructive=True,
        ),
        Tool(
            FEATURE,
            "reject_suggestion",
            write,
            RejectSuggestion,
            DecidedOut,
            it.reject_suggestion,
            read_only=False,
        ),
    )
