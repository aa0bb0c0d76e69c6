"""Renaming: documents move, and every link to and from them goes on meaning the same."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from anyio.to_thread import run_sync

from pecia.kernel.errors import (
    Collision,
    Conflict,
    Forbidden,
    InvalidInput,
    Json,
    NotFound,
    PeciaError,
)
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Result, Text, Tool
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.facts import Facts
from pecia.rooms.wiki.graph import names_of
from pecia.rooms.wiki.move import Renaming, Rewrite, rename_below, rename_one, rewrites
from pecia.rooms.wiki.names import document_name, folder_name
from pecia.rooms.wiki.scan import scan
from pecia.rooms.wiki.stored import decoded, readable
from pecia.rooms.wiki.summary import Summary, read_summary
from pecia.rooms.wiki.tools.reading import ROOM
from pecia.rooms.wiki.tools.shapes import RenameDocument, RenamedOut, RenameFolder
from pecia.rooms.wiki.tools.writing import require_free
from pecia.rooms.wiki.turn import Turn, taking_turn
from pecia.rooms.wiki.wiki import Document, Opened, Wiki


@dataclass(frozen=True, slots=True)
class Moved:
    """What was done: names, and how many links were written anew in which documents."""

    renaming: Renaming
    rewritten: Sequence[Rewrite]
    unwritable: Sequence[str] = ()
    """Documents with links that should change, which are not in UTF-8 and so are left alone."""


@dataclass(frozen=True, slots=True)
class Moving:
    """The handlers."""

    wiki: Wiki

    async def rename_document(self, call: Call, ask: RenameDocument) -> Result:
        """Rename or move a document, and write every link to it, and its own, anew."""
        old, new = document_name(ask.docName), document_name(ask.newDocName, "newDocName")
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        opened.find(old)
        summary = read_summary(ask.summary) or Summary(f"Renamed {old} → {new}")
        async with taking_turn(opened) as turn:
            now = await _every(turn)
            renaming = rename_one(old, new, now)
            moved = await _moved(turn, now, renaming)
            if renaming.documents:
                await turn.record(f"rename: {old} -> {new}", [old, new], summary)
        told = _told(opened, moved, summary if renaming.documents else None)
        told |= {**opened.preview.link(new), "previousPreviewUrl": opened.preview.url(old)}
        return Result(told, (Text(_said(f"{old} is {new}", moved)),))

    async def rename_folder(self, call: Call, ask: RenameFolder) -> Result:
        """Rename or move a folder with everything in it, and write all links anew, in one step."""
        old, new = folder_name(ask.fromFolder, "fromFolder"), folder_name(ask.toFolder, "toFolder")
        summary = read_summary(ask.summary)
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        if not await run_sync(disk.is_folder, opened.root, old):
            raise NotFound(f"no folder {old!r}", field="fromFolder")
        async with taking_turn(opened) as turn:
            now = await _every(turn)
            moved = await _moved(turn, now, rename_below(old, new, now))
            if names := moved.renaming.documents:
                docs = [*names, *names.values()]
                await turn.record(f"rename: {old} -> {new}", docs, summary)
        told = _told(opened, moved, summary)
        names = moved.renaming.documents.values()
        told["previewUrls"] = {it: opened.preview.url(it) for it in names}
        if opened.preview.source is not None:
            told["previewUrlSource"] = opened.preview.source
        return Result(told, (Text(_said(f"{old}/ is {new}/", moved)),))


def moving_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = Moving(wiki)
    write = Scope.WRITE
    return (
        Tool(
            ROOM,
            "rename_document",
            write,
            RenameDocument,
            RenamedOut,
            it.rename_document,
            read_only=False,
            destructive=True,
        ),
        Tool(
            ROOM,
            "rename_folder",
            write,
            RenameFolder,
            RenamedOut,
            it.rename_folder,
            read_only=False,
            destructive=True,
        ),
    )


async def _every(turn: Turn) -> Mapping[str, Document]:
    """All documents, seen by the caller or not: a link in a hidden one must not break either."""
    opened = turn.opened
    every = {**opened.documents, **opened.hidden}
    now = await run_sync(scan, opened.root)
    if {name: (it.path, it.stamp) for name, it in every.items()} != {
        name: (path, now.stamps[path]) for name, path in now.documents.items()
    }:
        # Somebody wrote before it was our turn: look at everything again.
        raise Collision("the space changed meanwhile; try again")
    return every


async def _moved(turn: Turn, now: Mapping[str, Document], renaming: Renaming) -> Moved:
    if not renaming.documents:
        return Moved(renaming, ())
    opened = turn.opened
    paths = {old: new + now[old].extension for old, new in renaming.documents.items()}
    await _require_open(turn, now, renaming, paths)
    facts = await opened.facts_of([*now.values()])
    found, unwritable = await run_sync(_rewrites, opened, now, facts, renaming)
    await _require_may_rewrite(turn, now, found)
    moves = [renaming.folder] if renaming.folder else [(now[it].path, paths[it]) for it in paths]
    writes = {now[it.name].path: (it.was.encode(), it.text.encode()) for it in found}
    await turn.plan(moves, writes)
    keys = [(now[old].path, path) for old, path in paths.items()]
    for old, new in moves:
        await turn.move(old, new, keys)
    for it in found:
        if it.count:
            await turn.write(paths.get(it.name, now[it.name].path), it.text.encode())
    opened.returned([*paths.values()])
    return Moved(renaming, found, unwritable)


def _rewrites(
    opened: Opened, now: Mapping[str, Document], facts: Mapping[str, Facts], renaming: Renaming
) -> tuple[list[Rewrite], list[str]]:
    """What is to be written anew, and what should be and is not in UTF-8."""
    foreign: set[str] = set()
    every = rewrites(renaming, names_of(facts), _texts(opened, now, foreign))
    unwritable = sorted(it.name for it in every if it.name in foreign)
    return [it for it in every if it.name not in foreign], unwritable


def _texts(
    opened: Opened, now: Mapping[str, Document], foreign: set[str]
) -> Iterator[tuple[str, str]]:
    for it in now.values():
        try:
            body = disk.read(opened.root, it.path)
        except PeciaError:
            continue
        text = readable(body)
        if text is not None:
            if decoded(body) is None:
                foreign.add(it.name)
            yield it.name, text


async def _require_open(
    turn: Turn, now: Mapping[str, Document], renaming: Renaming, paths: Mapping[str, str]
) -> None:
    """The places to go to, where documents may lie and nothing does."""
    opened = turn.opened
    for old, path in paths.items():
        await turn.require_may_write(now[old].path)
        await turn.require_may_write(path)
        require_free(opened, renaming.documents[old], "newDocName")
        if not renaming.folder and await run_sync(disk.exists, opened.root, path):
            raise Conflict(
                "there is a file of that name already",
                colliding=[{"existing": path, "incoming": now[old].path, "to": path}],
            )
    if renaming.folder:
        old, new = renaming.folder
        if await run_sync(disk.exists, opened.root, new):
            raise Conflict(
                f"there is something at {new!r} already",
                colliding=[{"existing": new, "incoming": old, "to": new}],
            )
        await turn.require_may_write(f"{old}/")
        await turn.require_may_write(f"{new}/")
    if any(it not in opened.documents for it in paths):
        raise InvalidInput("the folder holds what you may not move", field="fromFolder")


async def _require_may_rewrite(
    turn: Turn, now: Mapping[str, Document], found: Sequence[Rewrite]
) -> None:
    """Whoever may not mend the links may not break them."""
    for it in found:
        try:
            await turn.require_may_write(now[it.name].path)
        except Forbidden:
            raise Forbidden("documents that you may not change link to this") from None


def _told(opened: Opened, moved: Moved, summary: Summary | None) -> dict[str, Json]:
    renamed: list[Json] = [
        {"fromDocName": old, "toDocName": new} for old, new in moved.renaming.documents.items()
    ]
    rewritten: list[Json] = [
        {"docName": moved.renaming.documents.get(it.name, it.name), "rewrites": it.count}
        for it in moved.rewritten
        if it.count
    ]
    told: dict[str, Json] = {"ok": True, "renamed": renamed, "rewrittenDocs": rewritten}
    if moved.unwritable:
        # By their names now. Those that the caller may not see are not named.
        now = [moved.renaming.documents.get(it, it) for it in moved.unwritable]
        told["notRewritten"] = [
            it for it, was in zip(now, moved.unwritable, strict=True) if was in opened.documents
        ]
    if stranded := sum(it.stranded for it in moved.rewritten):
        told["strandedLinks"] = stranded
    if summary is not None:
        told["summary"] = summary.shown()
    return told


def _said(what: str, moved: Moved) -> str:
    links = sum(it.count for it in moved.rewritten)
    count = len(moved.renaming.documents)
    return f"{what} now: {count} documents moved, {links} links written anew."
