"""Conflicts with the git remote of a space: seen by who sees the document, resolved by who may
write it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from anyio.to_thread import run_sync
from pydantic import Field

from pecia.features.wiki.core.document import decode_utf8
from pecia.features.wiki.core.guard import document_version
from pecia.features.wiki.core.names import find_path_problem, split_extension
from pecia.features.wiki.core.summary import parse_summary
from pecia.features.wiki.parse import MAX_INLINE_BYTES
from pecia.features.wiki.remote.core.merge import mark_conflicts
from pecia.features.wiki.remote.store import SQL
from pecia.features.wiki.space import OpenSpace, Wiki
from pecia.features.wiki.space_write import MergeBase, SpaceWrite, begin_space_write
from pecia.features.wiki.storage import disk
from pecia.features.wiki.tools.documents import FEATURE, listing_fields
from pecia.features.wiki.tools.edits import encode_text
from pecia.features.wiki.tools.schemas import (
    SUMMARY_FIELD,
    ListingOutput,
    OptionalText,
    SpaceInput,
    WikiOutput,
)
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import Conflict, InvalidFormat, InvalidInput, Json, NotFound
from pecia.kernel.identity.caller import Scope
from pecia.kernel.store.store import Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, TextContent, Tool, ToolResult
from pecia.kernel.tool.plain_text import PlainText

MAX_LISTED = 100
MAX_SHOWN_CHARS = 100_000
GONE = "deleted"


class ListConflicts(SpaceInput):
    limit: int = Field(default=50, ge=1, le=MAX_LISTED)
    cursor: OptionalText = Field(
        default=None, max_length=2000, description="`nextCursor` of the previous page."
    )


class ReadConflict(SpaceInput):
    path: str = Field(max_length=1100, description="Of the file, with its extension.")


class ResolveConflict(ReadConflict):
    remoteVersion: str = Field(
        max_length=64, description="As read_conflict said: refused if the remote is another now."
    )
    keep: Literal["local", "remote", "text"] = Field(
        description="Whose file stays; `text`: the one given in `markdown`."
    )
    markdown: PlainText | None = Field(default=None, max_length=1_000_000)
    summary: OptionalText = SUMMARY_FIELD


class ConflictsOut(ListingOutput):
    conflicts: list[dict[str, Any]]
    nextCursor: str | None = Field(description="The `cursor` of the next page; null at the end.")


class ConflictOut(WikiOutput):
    path: str
    remoteVersion: str
    kind: str


class ResolvedOut(WikiOutput):
    path: str
    kept: str


@dataclass(frozen=True, slots=True)
class ConflictTools:
    """The handlers."""

    wiki: Wiki

    async def list_conflicts(self, call: Call, ask: ListConflicts) -> ToolResult:
        """Files that were changed here and in the git remote of the space, in ways that contradict
        each other. The local text stays and is not pushed until somebody resolves the conflict."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        async with self.wiki.store.reading(call.caller) as tx:
            rows = await _load(tx, opened, None, ask.cursor, ask.limit + 1)
        page = rows[: ask.limit]
        listed: list[Json] = [_row(opened, it) for it in page]
        opened.record_returned([_path(opened, it) for it in page])
        more = page[-1]["key"] if len(rows) > len(page) else None
        return ToolResult({"conflicts": listed, "nextCursor": more, **listing_fields(opened)})

    async def read_conflict(self, call: Call, ask: ReadConflict) -> ToolResult:
        """One conflict: the local text, the remote's, what both had in common, and a text in which
        git's marks show the contradictions."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        path = _parse_path(opened.parse_path(ask.path, "path"))
        async with self.wiki.store.reading(call.caller) as tx:
            row = await _find(tx, opened, path)
        fields = _row(opened, row)
        local = await run_sync(_read_visible, opened, path)
        fields["version"] = document_version(local)
        for name, body in (("local", local), ("remote", row["remote"]), ("base", row["base"])):
            fields |= _show_text(name, body)
        marked = await self._mark(opened, row, local)
        if marked is not None:
            fields |= _show_text("marked", marked.encode())
        opened.record_returned([path])
        return ToolResult(fields)

    async def resolve_conflict(self, call: Call, ask: ResolveConflict) -> ToolResult:
        """End a conflict: keep the local file, take the remote's, or write a text of your own. The
        next sync pushes it, where the space pushes."""
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        path = _parse_path(opened.parse_path(ask.path, "path"))
        if (ask.keep == "text") != (ask.markdown is not None):
            raise InvalidInput(
                "`markdown` goes with keep: text, and with nothing else", field="markdown"
            )
        async with begin_space_write(opened) as writer:
            row = await _find(writer.tx, opened, path)
            await writer.require_may_write(path)
            await self._require_current(writer, row, ask.remoteVersion)
            body = await writer.read(path)
            if ask.keep == "remote":
                body = None if row["remote"] is None else bytes(row["remote"])
            elif ask.markdown is not None:
                body = encode_text(ask.markdown)
            await _put(writer, path, body, ask.summary)
        opened.record_returned([path])
        fields: dict[str, Json] = {"path": opened.prefix + path, "kept": ask.keep}
        fields["version"] = document_version(body)
        return ToolResult(fields, (TextContent(f"Resolved {path}: kept the {ask.keep} file."),))

    async def _require_current(
        self, writer: SpaceWrite, row: Mapping[str, Any], expected: str
    ) -> None:
        known = row["remote_id"]
        asked = {"source_id": writer.scope.location.source_id, "key": row["key"]}
        is_same = expected == (known or GONE)
        if not is_same or not await writer.tx.fetch_value(
            SQL["resolve_conflict"], **asked, remote_id=known
        ):
            raise Conflict(
                "the remote has another version by now",
                field="remoteVersion",
                remoteVersion=known or GONE,
                hint="Read it again: read_conflict.",
            )

    async def _mark(
        self, opened: OpenSpace, row: Mapping[str, Any], local: bytes | None
    ) -> str | None:
        """The merged text with git's marks; None where one of the files is missing or no text."""
        bodies = [row["base"] or b"", local, row["remote"]]
        texts = [None if it is None else decode_utf8(bytes(it)) for it in bodies]
        base, ours, theirs = texts
        if base is None or ours is None or theirs is None:
            return None
        if sum(map(len, (base, ours, theirs))) <= MAX_INLINE_BYTES:
            return mark_conflicts(base, ours, theirs)
        tenant_id = opened.call.caller.tenant_id
        return await compute(tenant_id, mark_conflicts, base, ours, theirs)


def conflict_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = ConflictTools(wiki)
    return (
        Tool(FEATURE, "list_conflicts", Scope.READ, ListConflicts, ConflictsOut, it.list_conflicts),
        Tool(FEATURE, "read_conflict", Scope.READ, ReadConflict, ConflictOut, it.read_conflict),
        Tool(
            FEATURE,
            "resolve_conflict",
            Scope.WRITE,
            ResolveConflict,
            ResolvedOut,
            it.resolve_conflict,
            read_only=False,
            destructive=True,
        ),
    )


async def _put(writer: SpaceWrite, path: str, body: bytes | None, summary: str | None) -> None:
    now = await writer.read(path)
    if body == now:
        return
    if body is None:
        await writer.remove(path)
    else:
        await writer.write(path, body, MergeBase.DOCUMENT)
    name, extension = split_extension(path)
    if extension:
        await writer.record(f"resolve: {name}", [name], parse_summary(summary))


async def _load(
    tx: Transaction, opened: OpenSpace, key: str | None, after: str | None, limit: int
) -> list[dict[str, Any]]:
    asked = {"source_id": opened.location.source_id, "key": key, "after": after, "limit": limit}
    rows = await tx.fetch_all(SQL["my_conflicts"], **asked)
    return [it for it in rows if it["key"].startswith(opened.prefix)]


async def _find(tx: Transaction, opened: OpenSpace, path: str) -> dict[str, Any]:
    rows = await _load(tx, opened, opened.location.key(path), None, 1)
    if not rows:
        raise NotFound(
            f"{path!r} has no conflict", field="path", hint="list_conflicts has those there are."
        )
    return rows[0]


def _row(opened: OpenSpace, it: Mapping[str, Any]) -> dict[str, Json]:
    at: datetime = it["found_at"]
    path = _path(opened, it)
    is_there = path in {document.path for document in opened.documents.values()}
    row: dict[str, Json] = {
        "path": path,
        "kind": _kind(opened, it, is_there or path in opened.other_files),
        "remoteVersion": it["remote_id"] or GONE,
        "commit": it["commit_id"],
        "author": it["author"],
        "subject": it["subject"],
        "since": at.isoformat(timespec="seconds"),
    }
    if it["renamed_to"]:
        row["renamedTo"] = str(it["renamed_to"]).removeprefix(opened.prefix)
    return row


def _kind(opened: OpenSpace, it: Mapping[str, Any], is_there: bool) -> str:
    if it["renamed_to"]:
        return "renamed on both sides"
    if it["remote_id"] is None:
        return "deleted in the remote, changed here"
    return "changed on both sides" if is_there else "deleted here, changed in the remote"


def _show_text(name: str, body: bytes | None) -> dict[str, Json]:
    """A text, or what is to be said of a file that is none."""
    if body is None:
        return {name: None}
    text = decode_utf8(bytes(body))
    if text is None:
        return {name: None, f"{name}Bytes": len(body)}
    fields: dict[str, Json] = {name: text[:MAX_SHOWN_CHARS]}
    if len(text) > MAX_SHOWN_CHARS:
        fields[f"{name}Chars"] = len(text)
    return fields


def _path(opened: OpenSpace, it: Mapping[str, Any]) -> str:
    return str(it["key"]).removeprefix(opened.prefix)


def _parse_path(text: str) -> str:
    if problem := find_path_problem(text):
        raise InvalidFormat(f"Invalid path: {problem}", field="path", got=text[:200])
    return text


def _read_visible(opened: OpenSpace, path: str) -> bytes | None:
    """The local file, if the caller sees it. Blocking."""
    seen = path in opened.other_files
    if not seen and not any(it.path == path for it in opened.documents.values()):
        return None
    try:
        return disk.read(opened.root, path)
    except NotFound:
        return None
