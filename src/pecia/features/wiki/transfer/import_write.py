"""Writes what a converter made of another program's export into a space, all of a call or none."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from anyio.to_thread import run_sync

from pecia.features.wiki.core.names import (
    EXTENSIONS,
    parse_document_name,
    parse_file_path,
    split_extension,
)
from pecia.features.wiki.space import OpenSpace
from pecia.features.wiki.space_write import MergeBase, SpaceWrite, begin_space_write
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.scan import load_ignore_rules
from pecia.features.wiki.suggestion.policy import WriteTarget
from pecia.features.wiki.tools.edits import encode_text, find_target, read_guarded
from pecia.features.wiki.transfer.file_parts import (
    FilePart,
    join_parts,
    remove_parts,
    store_part,
)
from pecia.features.wiki.transfer.import_plan import (
    FoundFiles,
    ImportDecision,
    ImportOutcome,
    decide,
)
from pecia.features.wiki.transfer.origin_record import (
    ImportedFile,
    OriginRecord,
    file_digest,
    read_record,
    write_record,
)
from pecia.kernel.errors import (
    Collision,
    InvalidFormat,
    Json,
    NotFound,
    PayloadTooLarge,
    PeciaError,
    Unavailable,
)

SUGGESTIONS_ONLY = "changes there are suggestions: a person imports it, or the folder rule changes"


@dataclass(frozen=True, slots=True)
class ImportItem:
    """A document (by its name) or another file (by its path), with its id in the source."""

    origin: str
    place: str
    body: bytes
    is_document: bool
    part: FilePart | None = None
    """Of a file that comes in several calls."""


@dataclass(slots=True)
class ImportReport:
    """The outcome of each item, in order."""

    rows: list[Json] = field(default_factory=list[Json])

    def add(self, item: ImportItem, path: str, decision: ImportDecision) -> None:
        row: dict[str, Json] = {
            "origin": item.origin,
            "path": path,
            "outcome": decision.outcome.value,
        }
        self.rows.append({**row, **({"reason": decision.reason} if decision.reason else {})})


async def import_items(
    opened: OpenSpace, source: str, items: Sequence[ImportItem], *, dry_run: bool
) -> ImportReport:
    """Import the items of one source; with `dry_run` only say what would be done."""
    report = ImportReport()
    async with begin_space_write(opened) as writer:
        project = opened.space.folder
        record = await run_sync(read_record, project)
        run = _ImportRun(writer, source, record, report, dry_run=dry_run)
        for item in items:
            await run.import_item(item)
        if run.written:
            await writer.record(_subject(run.written), run.written, None)
    # Only after COMMIT: a record of what was undone would take the next import's files for edited.
    if run.is_record_changed and not dry_run:
        async with begin_space_write(opened):
            await run_sync(_merge_record, project, source, run.made)
    return report


@dataclass(slots=True)
class _ImportRun:
    writer: SpaceWrite
    source: str
    record: OriginRecord
    report: ImportReport
    dry_run: bool
    written: list[str] = field(default_factory=list[str])
    made: dict[str, ImportedFile] = field(default_factory=dict[str, ImportedFile])

    @property
    def is_record_changed(self) -> bool:
        return bool(self.made)

    async def import_item(self, item: ImportItem) -> None:
        """One item; what is refused is a row of the report, and the others go on."""
        try:
            path, decision = await self._import(item)
        except (Collision, Unavailable):
            # The whole call is tried again, or fails.
            raise
        except PeciaError as error:
            path, decision = item.place, ImportDecision(ImportOutcome.DROPPED, error.message)
        self.report.add(item, path, decision)

    async def _import(self, item: ImportItem) -> tuple[str, ImportDecision]:
        if item.is_document and b"\0" in item.body:
            at = item.body.decode().index("\0")
            raise InvalidFormat(
                f"it has a NUL character at position {at}", field="markdown", position=at
            )
        path = await (self._document_path(item) if item.is_document else self._file_path(item))
        if item.part is not None:
            whole = await self._take_part(item, item.part)
            if whole is None:
                return path, ImportDecision(ImportOutcome.PARTIAL)
            item = replace(item, body=whole)
        key = self.writer.opened.location.key(path)
        known = self.record.find(self.source, item.origin)
        former = None
        if known is not None and known.path != key:
            former = await self._read(self._inside(known.path))
        found = FoundFiles(await self._read(path), former)
        decision = decide(key, item.body, known, found)
        if decision.replaces is not None:
            await self.writer.require_may_write(self._inside(decision.replaces))
        if decision.writes and not self.dry_run:
            await self._write(item, path, found.current, decision)
        if item.part is not None:
            await run_sync(remove_parts, self.writer.opened.space.folder, self._part_key(item))
        if decision.outcome not in (ImportOutcome.KEPT, ImportOutcome.DROPPED):
            made = ImportedFile(key, file_digest(item.body))
            if known != made and (decision.writes or found.current == item.body):
                self.made[item.origin] = made
        return path, decision

    async def _take_part(self, item: ImportItem, part: FilePart) -> bytes | None:
        """The whole file with its last part, else None."""
        project, key = self.writer.opened.space.folder, self._part_key(item)
        if part.total > disk.MAX_FILE_BYTES:
            raise PayloadTooLarge(
                f"a file has at most {disk.MAX_FILE_BYTES} bytes",
                field="total",
                max=disk.MAX_FILE_BYTES,
            )
        if part.offset + len(item.body) < part.total:
            await run_sync(store_part, project, key, part, item.body)
            return None
        return await run_sync(join_parts, project, key, part, item.body)

    def _part_key(self, item: ImportItem) -> str:
        opened = self.writer.opened
        return f"{opened.call.caller.user_id}/{self.source}/{item.origin}"

    async def _document_path(self, item: ImportItem) -> str:
        name = parse_document_name(item.place)
        path, target = await find_target(self.writer.opened, self.writer, name, suggest=False)
        if target is WriteTarget.SUGGESTION:
            raise InvalidFormat(SUGGESTIONS_ONLY, field="docName", got=name)
        # Locked documents and texts that are not UTF-8 are refused.
        await read_guarded(self.writer, name, path, None)
        return path

    async def _file_path(self, item: ImportItem) -> str:
        path = parse_file_path(item.place)
        if any(it.startswith(".") for it in path.split("/")):
            raise InvalidFormat(
                f"hidden files are not part of a space: {path!r}", field="path", got=path
            )
        if split_extension(path)[1].lower() in EXTENSIONS:
            raise InvalidFormat(
                f"a Markdown file is imported as a document: give {path!r} as docName",
                field="path",
                got=path,
            )
        if load_ignore_rules(self.writer.opened.root, path).is_path_ignored(path):
            raise InvalidFormat(
                f"the ignore rules of the space leave {path!r} out", field="path", got=path
            )
        await self.writer.require_may_write(path)
        return path

    async def _read(self, path: str) -> bytes | None:
        try:
            if split_extension(path)[1]:
                return await self.writer.read(path)
            return await run_sync(disk.read, self.writer.opened.root, path)
        except NotFound:
            return None

    async def _write(
        self, item: ImportItem, path: str, current: bytes | None, decision: ImportDecision
    ) -> None:
        former = self._inside(decision.replaces) if decision.replaces else None
        root = self.writer.opened.root
        if item.is_document:
            await self.writer.write(path, item.body, MergeBase.DOCUMENT)
            self.written.append(split_extension(path)[0])
            if former is not None:
                await self.writer.remove(former)
            return
        await run_sync(disk.replace, root, path, item.body, current)
        if former is not None:
            await run_sync(disk.remove, root, former)

    def _inside(self, key: str) -> str:
        return key.removeprefix(self.writer.opened.prefix)


def document_item(origin: str, name: str, markdown: str) -> ImportItem:
    return ImportItem(origin, name, encode_text(markdown), is_document=True)


def _merge_record(project: Path, source: str, made: dict[str, ImportedFile]) -> None:
    """Under the lock: another import of the same source may have written the record meanwhile."""
    record = read_record(project)
    for origin, it in made.items():
        record.put(source, origin, it)
    write_record(project, record)


def _subject(names: Sequence[str]) -> str:
    return f"wip: import {names[0]}" if len(names) == 1 else f"wip: import {len(names)} docs"
