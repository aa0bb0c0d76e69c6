"""Renames: documents move, and links to and from them are rewritten to the same targets."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import decode_any_charset, decode_utf8
from pecia.features.wiki.core.graph import LinkGraph
from pecia.features.wiki.core.guard import require_unlocked, require_version
from pecia.features.wiki.core.names import parse_document_name, parse_folder_name
from pecia.features.wiki.core.rename import (
    LinkRewrite,
    RenamePlan,
    find_affected,
    plan_document_rename,
    plan_folder_rename,
    plan_rewrites,
)
from pecia.features.wiki.core.summary import EditSummary, parse_summary
from pecia.features.wiki.space import OpenSpace, Wiki, WikiDocument
from pecia.features.wiki.space_write import MergeBase, SpaceWrite, begin_space_write
from pecia.features.wiki.storage import disk
from pecia.features.wiki.suggestion.policy import require_direct
from pecia.features.wiki.tools.documents import FEATURE
from pecia.features.wiki.tools.edits import require_free_path
from pecia.features.wiki.tools.schemas import RenameDocument, RenamedOut, RenameFolder
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
from pecia.kernel.layered_dict import LayeredDict
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, TextContent, Tool, ToolResult


@dataclass(frozen=True, slots=True)
class RenameResult:
    """What was done: names, and how many links were rewritten in which documents."""

    renaming: RenamePlan
    rewritten: Sequence[LinkRewrite]
    unwritable: Sequence[str] = ()
    """Documents with affected links that are not UTF-8, and so are not rewritten."""


@dataclass(frozen=True, slots=True)
class RenameTools:
    """The handlers."""

    wiki: Wiki

    async def rename_document(self, call: Call, ask: RenameDocument) -> ToolResult:
        """Rename or move a document, and rewrite every link to it, and its own."""
        old, new = (
            parse_document_name(ask.docName),
            parse_document_name(ask.newDocName, "newDocName"),
        )
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        opened.find(old)
        summary = parse_summary(ask.summary) or EditSummary(f"Renamed {old} → {new}")
        async with begin_space_write(opened) as writer:
            now = await _all_documents(writer)
            renaming = plan_document_rename(old, new, now)
            await _require_as_expected(writer, now[old], ask.expected_version)
            moved = await _rename(writer, now, renaming)
            if renaming.documents:
                await writer.record(f"rename: {old} -> {new}", [old, new], summary)
        fields = _rename_fields(opened, moved, summary if renaming.documents else None)
        fields |= {**opened.preview.link(new), "previousPreviewUrl": opened.preview.url(old)}
        return ToolResult(fields, (TextContent(_format_text(f"{old} is {new}", moved)),))

    async def rename_folder(self, call: Call, ask: RenameFolder) -> ToolResult:
        """Rename or move a folder with everything in it, and rewrite all links, atomically."""
        old, new = (
            parse_folder_name(ask.fromFolder, "fromFolder"),
            parse_folder_name(ask.toFolder, "toFolder"),
        )
        summary = parse_summary(ask.summary)
        opened = await self.wiki.open(call, ask.cwd, ask.space)
        if not await run_sync(disk.is_folder, opened.root, old):
            raise NotFound(f"no folder {old!r}", field="fromFolder")
        async with begin_space_write(opened) as writer:
            now = await _all_documents(writer)
            files = sum(it.startswith(f"{old}/") for it in opened.other_files)
            plan = plan_folder_rename(old, new, now, has_files=files > 0)
            moved = await _rename(writer, now, plan)
            names = moved.renaming.documents
            docs = [*names, *names.values()] or [it.name for it in moved.rewritten if it.count]
            if docs:
                await writer.record(f"rename: {old} -> {new}", docs, summary)
        fields = _rename_fields(opened, moved, summary)
        if plan.folder and files:
            fields["movedFiles"] = files
        names = moved.renaming.documents.values()
        fields["previewUrls"] = {it: opened.preview.url(it) for it in names}
        if opened.preview.source is not None:
            fields["previewUrlSource"] = opened.preview.source
        text = _format_text(f"{old}/ is {new}/", moved)
        if "movedFiles" in fields:
            text += f" {files} other files moved with it."
        return ToolResult(fields, (TextContent(text),))


def rename_tools(wiki: Wiki) -> tuple[AnyTool, ...]:
    it = RenameTools(wiki)
    write = Scope.WRITE
    return (
        Tool(
            FEATURE,
            "rename_document",
            write,
            RenameDocument,
            RenamedOut,
            it.rename_document,
            read_only=False,
            destructive=True,
        ),
        Tool(
            FEATURE,
            "rename_folder",
            write,
            RenameFolder,
            RenamedOut,
            it.rename_folder,
            read_only=False,
            destructive=True,
        ),
    )


async def _require_as_expected(
    writer: SpaceWrite, document: WikiDocument, expected: str | None
) -> None:
    """Require the version that the caller read, and no lock."""
    body = await writer.read(document.path)
    require_version(document.name, body, expected)
    opened = writer.opened
    text = None if body is None else decode_utf8(body)
    rules = opened.settings.config.folders
    require_unlocked(document.name, opened.prefix + document.path, text, rules)


async def _all_documents(writer: SpaceWrite) -> LayeredDict[str, WikiDocument]:
    """All documents, visible to the caller or not: links in hidden ones must not break either."""
    opened = writer.opened
    every = opened.documents.copy()
    every.update(opened.hidden)
    now = await opened.wiki.sync.scan(opened.location)
    if {name: (it.path, it.stamp) for name, it in every.items()} != {
        name: (path, now.stamps[path]) for name, path in now.documents.items()
    }:
        # Somebody wrote before we had the lock: start over.
        raise Collision("the space changed meanwhile; try again")
    return every


async def _rename(
    writer: SpaceWrite, now: LayeredDict[str, WikiDocument], renaming: RenamePlan
) -> RenameResult:
    if not renaming.documents and not renaming.folder:
        return RenameResult(renaming, ())
    opened = writer.opened
    paths = {old: new + now[old].extension for old, new in renaming.documents.items()}
    await _require_open(writer, now, renaming, paths)
    graph = await opened.wiki.graph_of_all(opened, now)
    found, unwritable = await run_sync(_plan_link_rewrites, opened, now, graph, renaming)
    await _require_may_rewrite(writer, now, found)
    moves = [renaming.folder] if renaming.folder else [(now[it].path, paths[it]) for it in paths]
    await writer.require_unchanged({now[it.name].path: it.old_text.encode() for it in found})
    for it in found:
        if it.count:
            await writer.write(now[it.name].path, it.text.encode(), MergeBase.FILE)
    documents = [(now[old].path, path) for old, path in paths.items()]
    for old, new in moves:
        await writer.move(old, new, documents)
    opened.record_returned([*paths.values()])
    return RenameResult(renaming, found, unwritable)


def _plan_link_rewrites(
    opened: OpenSpace,
    now: Mapping[str, WikiDocument],
    graph: LinkGraph,
    renaming: RenamePlan,
) -> tuple[list[LinkRewrite], list[str]]:
    """The documents to rewrite, and those that cannot be because they are not UTF-8."""
    foreign: set[str] = set()
    affected = find_affected(renaming, graph)
    some = {name: it for name, it in now.items() if affected is None or name in affected}
    every = plan_rewrites(renaming, graph.names, _texts(opened, some, foreign), graph.rules)
    unwritable = sorted(it.name for it in every if it.name in foreign)
    return [it for it in every if it.name not in foreign], unwritable


def _texts(
    opened: OpenSpace, now: Mapping[str, WikiDocument], foreign: set[str]
) -> Iterator[tuple[str, str]]:
    for it in now.values():
        try:
            body = disk.read(opened.root, it.path)
        except PeciaError:
            continue
        text = decode_any_charset(body)
        if text is not None:
            if decode_utf8(body) is None:
                foreign.add(it.name)
            yield it.name, text


async def _require_open(
    writer: SpaceWrite,
    now: Mapping[str, WikiDocument],
    renaming: RenamePlan,
    paths: Mapping[str, str],
) -> None:
    """Require free target paths that are not ignored."""
    opened = writer.opened
    await writer.require_may_write(*(now[it].path for it in paths), *paths.values())
    for old, path in paths.items():
        require_direct(opened, now[old].path, "renaming it")
        require_free_path(opened, renaming.documents[old], "newDocName")
        if not renaming.folder and await run_sync(disk.exists, opened.root, path):
            raise Conflict(
                "a file of that name exists already",
                colliding=[{"existing": path, "incoming": now[old].path, "to": path}],
            )
    if renaming.folder:
        old, new = renaming.folder
        if await run_sync(disk.exists, opened.root, new):
            raise Conflict(
                f"{new!r} exists already",
                colliding=[{"existing": new, "incoming": old, "to": new}],
            )
        await writer.require_may_write(f"{old}/")
        await writer.require_may_write(f"{new}/")
    if any(it not in opened.documents for it in paths):
        raise InvalidInput("the folder contains files that you may not move", field="fromFolder")


async def _require_may_rewrite(
    writer: SpaceWrite, now: Mapping[str, WikiDocument], found: Sequence[LinkRewrite]
) -> None:
    """A caller who may not rewrite the links may not break them."""
    try:
        await writer.require_may_write(*(now[it.name].path for it in found))
    except Forbidden:
        raise Forbidden("documents that you may not change link to this") from None


def _rename_fields(
    opened: OpenSpace, moved: RenameResult, summary: EditSummary | None
) -> dict[str, Json]:
    renamed: list[Json] = [
        {"fromDocName": old, "toDocName": new} for old, new in moved.renaming.documents.items()
    ]
    rewritten: list[Json] = [
        {"docName": moved.renaming.documents.get(it.name, it.name), "rewrites": it.count}
        for it in moved.rewritten
        if it.count
    ]
    fields: dict[str, Json] = {"ok": True, "renamed": renamed, "rewrittenDocs": rewritten}
    if moved.unwritable:
        # By their new names. Those that the caller may not see are not named.
        now = [moved.renaming.documents.get(it, it) for it in moved.unwritable]
        fields["notRewritten"] = [
            it for it, was in zip(now, moved.unwritable, strict=True) if was in opened.documents
        ]
    if stranded := sum(it.unresolved for it in moved.rewritten):
        fields["strandedLinks"] = stranded
    if summary is not None:
        fields["summary"] = summary.to_json()
    return fields


def _format_text(what: str, moved: RenameResult) -> str:
    links = sum(it.count for it in moved.rewritten)
    count = len(moved.renaming.documents)
    return f"{what} now: {count} documents moved, {links} links rewritten."
