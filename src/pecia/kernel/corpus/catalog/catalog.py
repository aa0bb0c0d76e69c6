"""Sources and their files: list, describe, put and remove, always for a caller.

Every function takes the caller's transaction; row-level security checks rights, none of these does.
"""

import re
import shlex
from dataclasses import dataclass
from datetime import datetime

from psycopg.types.json import Jsonb

from pecia.kernel.errors import Conflict, InvalidFormat, Json, NotFound, PeciaError, list_hint
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction

SQL = load_queries("pecia.kernel.corpus.catalog")


@dataclass(frozen=True, slots=True)
class Source:
    """Where files come from."""

    source_id: str
    protocol: str
    trim_mode: str
    enabled: bool
    last_indexed_at: datetime | None


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One line of a listing."""

    key: str
    size_bytes: int | None
    modified_at: datetime | None
    etag: str | None
    content_type: str | None


@dataclass(frozen=True, slots=True)
class FileMetadata:
    """Everything known of a file but its text."""

    source_id: str
    key: str
    size_bytes: int | None = None
    modified_at: datetime | None = None
    etag: str | None = None
    content_type: str | None = None
    storage_class: str | None = None
    owner: str | None = None
    posix_mode: int | None = None
    posix_uid: int | None = None
    posix_gid: int | None = None


async def list_sources(tx: Transaction, *, after: str, limit: int) -> list[Source]:
    return await tx.fetch_all_as(Source, SQL["sources"], after=after, limit=limit)


async def get_source(tx: Transaction, source_id: str) -> Source:
    """The source, or NotFound: none, and none you may see, are the same."""
    found = await tx.fetch_all_as(Source, SQL["source"], source_id=source_id)
    if not found:
        raise no_source(source_id)
    return found[0]


async def get_enabled_source(tx: Transaction, source_id: str) -> Source:
    """The source, or Conflict where it is switched off: then nobody reads or writes its files."""
    found = await get_source(tx, source_id)
    if not found.enabled:
        raise _disabled_error(source_id)
    return found


async def missing_file(tx: Transaction, source_id: str, key: str) -> PeciaError:
    """Why a file is not there: its source is switched off, or there is none that you may see."""
    found = await tx.fetch_all_as(Source, SQL["source"], source_id=source_id)
    if found and not found[0].enabled:
        return _disabled_error(source_id)
    return no_file(source_id, key)


def no_source(source_id: str) -> NotFound:
    """The error for a source that does not exist, or that the caller may not see."""
    hint = list_hint("pecia source list")
    return NotFound(f"no source {source_id!r}", source_id=source_id, hint=hint)


def no_file(source_id: str, key: str) -> NotFound:
    """The error for a file that does not exist, or that the caller may not see."""
    return NotFound(
        f"no file {key!r} in source {source_id!r}",
        source_id=source_id,
        key=key,
        hint=list_hint("lake.list_files"),
    )


def _disabled_error(source_id: str) -> Conflict:
    return Conflict(
        f"the source {source_id!r} is switched off",
        source_id=source_id,
        hint=f"an administrator switches it on: pecia source set {source_id} --enabled true",
    )


def validate_source_name(name: str, *, field: str) -> str:
    """A name for a source, if it can stand in one line of a log or a terminal and in a URI, and
    change none of them.

    Sources that were called otherwise before keep their names.
    """
    if name in (".", ".."):
        # Whoever resolves pecia://file/../a.md reads pecia://file/a.md.
        raise InvalidFormat(
            f"{name!r} is a folder in every path, and no name for a source",
            field=field,
            got=name,
            expected="a name as in pecia://file/NAME/PATH",
        )
    found = _CONTROL.search(name)
    if found is None:
        return name
    raise InvalidFormat(
        f'Field "{field}" holds a control character, U+{ord(found.group()):04X}',
        field=field,
        got=ascii(name[:200]),
        expected="a name without control characters",
    )


async def add_source(
    tx: Transaction, source_id: str, *, protocol: str, trim_mode: str, config: dict[str, Json]
) -> Source:
    if await tx.fetch_all_as(Source, SQL["source"], source_id=source_id):
        raise Conflict(
            f"the source {source_id!r} exists already",
            field="source_id",
            got=source_id,
            hint=f"choose another id, or change it: pecia source set {source_id}",
        )
    await tx.execute(
        SQL["add_source"],
        source_id=source_id,
        protocol=protocol,
        trim_mode=trim_mode,
        config=Jsonb(config),
    )
    return await get_source(tx, source_id)


async def describe_overlap(tx: Transaction, source_id: str, folder: str) -> str:
    """A sentence about the caller's other sources whose folder is this one, lies around it or
    inside it; empty where there is none."""
    folder = folder.rstrip("/")
    rows = await tx.fetch_all(SQL["overlapping_sources"], source_id=source_id, folder=folder)
    if not rows:
        return ""
    parts = [f"{it['source_id']} ({it['folder']})" for it in rows]
    return (
        f"{folder} overlaps with {', '.join(parts)}: files in both are indexed and found twice. "
        f"To keep one of them: pecia source remove {shlex.quote(source_id)}"
    )


async def update_source(
    tx: Transaction, source_id: str, *, trim_mode: str | None, enabled: bool | None
) -> Source:
    """Change how a source is trimmed, or switch it on or off. What is None stays."""
    await get_source(tx, source_id)
    _require_affected(
        await tx.execute(
            SQL["set_source"], source_id=source_id, trim_mode=trim_mode, enabled=enabled
        ),
        f"no source {source_id!r} that you govern",
    )
    return await get_source(tx, source_id)


async def remove_source(tx: Transaction, source_id: str) -> None:
    await get_source(tx, source_id)
    _require_affected(
        await tx.execute(SQL["remove_source"], source_id=source_id),
        f"no source {source_id!r} that you govern",
    )


async def list_files(
    tx: Transaction, source_id: str, *, after: str, limit: int, prefix: str = ""
) -> list[FileEntry]:
    """Files by key. An unknown source is NotFound, an empty one is an empty list."""
    await get_enabled_source(tx, source_id)
    return await tx.fetch_all_as(
        FileEntry,
        SQL["files"],
        source_id=source_id,
        after=after,
        limit=limit,
        prefix=prefix,
        before=prefix_upper_bound(prefix),
    )


async def list_folder(
    tx: Transaction, source_id: str, folder: str, *, start: str, limit: int
) -> list[FileEntry]:
    """What is directly in a folder, by key: its files, and of each folder in it one file.

    `start` is where to begin: of the page before, `after_entry` of its last one.
    """
    await get_enabled_source(tx, source_id)
    prefix = f"{folder}/" if folder else ""
    return await tx.fetch_all_as(
        FileEntry,
        SQL["folder"],
        source_id=source_id,
        start=start or prefix,
        limit=limit,
        prefix=prefix,
        before=prefix_upper_bound(prefix),
    )


def after_entry(folder: str, key: str) -> str:
    """Where the listing of a folder goes on behind an entry: of a folder, behind all its files."""
    inside = find_folder(folder, key)
    return f"{key}\x01" if inside is None else f"{inside}0"


def find_folder(folder: str, key: str) -> str | None:
    """The folder directly in this one that a file is in; None where it is in this one itself."""
    prefix = f"{folder}/" if folder else ""
    name, slash, _ = key.removeprefix(prefix).partition("/")
    return f"{prefix}{name}" if slash else None


async def get_file(tx: Transaction, source_id: str, key: str) -> FileMetadata:
    found = await tx.fetch_all_as(FileMetadata, SQL["file"], source_id=source_id, key=key)
    if not found:
        raise await missing_file(tx, source_id, key)
    return found[0]


def prefix_upper_bound(prefix: str) -> str | None:
    """The first key after all that start with `prefix`; None when there is no end."""
    for at in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[at])
        if code < 0x10FFFF:
            # Surrogates cannot be sent to the database; the next sign after them can.
            follower = 0xE000 if code + 1 == 0xD800 else code + 1
            return prefix[:at] + chr(follower)
    return None


def _require_affected(rows: int, missing: str) -> None:
    if rows == 0:
        raise NotFound(missing)


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
