"""The journal of a write: how to undo it, and the versions that complete it. Blocking.

It lies in the project folder, is written before the first file changes and deleted after the last
step. One write at a time has one, under the lock of the space.
"""

import re
from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from pecia.features.wiki.core.names import find_path_problem, split_extension
from pecia.features.wiki.history.history import PreparedVersions
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.project_folder import (
    JOURNAL_NAME,
    PROJECT_FOLDER,
    ensure_project_folder,
)
from pecia.kernel.errors import NotFound, PeciaError
from pecia.kernel.text.links.name_index import folder_of

JOURNAL_PATH = f"{PROJECT_FOLDER}/{JOURNAL_NAME}"
REJECTED_PATH = f"{JOURNAL_PATH}.rejected"
VERSION = 1
MAX_JOURNAL_BYTES = 2_000_000_000
_OID = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class JournaledFile:
    """A file before a change, and the digest of what it will be; None where there is no file."""

    path: str
    body: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class JournaledOther:
    """The same of a file that is no document, by digests alone: a journal that somebody made up
    must not write a Makefile."""

    path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True, slots=True)
class JournaledMove:
    """A file or folder that moves; `below` are a folder's files, by their relative paths."""

    old: str
    new: str
    below: tuple[str, ...] = ()

    def pairs(self) -> list[tuple[str, str]]:
        """Every file, before and after."""
        if not self.below:
            return [(self.old, self.new)]
        return [(f"{self.old}/{it}", f"{self.new}/{it}") for it in self.below]


@dataclass(frozen=True, slots=True)
class WriteJournal:
    """Moves in order, files by their paths before the moves, and the versions of the write.

    `transaction` is that of the store. If it is committed, the write is completed, else undone.
    """

    transaction: str
    moves: tuple[JournaledMove, ...] = ()
    files: tuple[JournaledFile, ...] = ()
    versions: PreparedVersions | None = None
    installation: str = ""
    """Whose transaction it is; empty in journals of earlier versions."""
    others: tuple[JournaledOther, ...] = ()
    written_at_s: float = 0.0
    """When the journal was written, by the file system. The write came after it."""

    def path_after(self, path: str) -> str:
        """The path of a file after the moves."""
        for it in self.moves:
            if path == it.old or path.startswith(f"{it.old}/"):
                path = it.new + path[len(it.old) :]
        return path

    def documents(self) -> list[str]:
        """The documents that the write changed, by their paths before and after."""
        moved = [it for move in self.moves for pair in move.pairs() for it in pair]
        written = [self.path_after(it.path) for it in self.files]
        return [it for it in dict.fromkeys((*moved, *written)) if split_extension(it)[1]]


def digest(body: bytes | None) -> bytes | None:
    return None if body is None else sha256(body).digest()


def write_journal(project: Path, lead: str, journal: WriteJournal) -> None:
    """Write the journal, durable when this returns."""
    versions = journal.versions
    plain = {
        "version": VERSION,
        "root": lead,
        "transaction": journal.transaction,
        "installation": journal.installation,
        "moves": [[it.old, it.new, it.below] for it in journal.moves],
        "files": [
            {"path": it.path, "body": _encode(it.body), "after": _encode(it.after)}
            for it in journal.files
        ],
        "others": [[it.path, _encode(it.before), _encode(it.after)] for it in journal.others],
        "versions": versions and [versions.base, versions.tip, versions.is_checkpoint],
    }
    ensure_project_folder(project)
    disk.write(project, JOURNAL_PATH, orjson.dumps(plain))


def delete_journal(project: Path) -> None:
    """Not synced: a journal of a settled write that comes back is settled once more."""
    with suppress(NotFound):
        disk.remove(project, JOURNAL_PATH, is_synced=False)


def reject_journal(project: Path) -> None:
    """Set an invalid journal aside, for a person to check: the next write has its own."""
    body = disk.read(project, JOURNAL_PATH, MAX_JOURNAL_BYTES)
    disk.write(project, REJECTED_PATH, body)
    delete_journal(project)


def read_journal(project: Path, lead: str) -> WriteJournal | None:
    """The journal, None where there is none to follow.

    Others can write it, so it is trusted only for documents in the content folder.
    """
    try:
        found = disk.read_snapshot(project, JOURNAL_PATH, MAX_JOURNAL_BYTES)
        if found is None:
            return None
        plain = orjson.loads(found.body)
        if plain["version"] != VERSION or plain["root"] != lead:
            return None
        journal = replace(_parse_journal(plain), written_at_s=found.changed_at)
    except (PeciaError, ValueError, TypeError, KeyError):
        return None
    return journal if _is_confined(journal) else None


def restore_file(root: Path, file: JournaledFile, made: bytes | None) -> None:
    """Restore the file, if it is as the change left it; Collision otherwise."""
    if file.body is not None:
        disk.replace(root, file.path, file.body, made)
    elif made is not None:
        with suppress(NotFound):
            disk.remove_known(root, file.path, made)
            disk.prune(root, folder_of(file.path))


def _parse_journal(plain: dict[str, Any]) -> WriteJournal:
    transaction = plain["transaction"]
    if not transaction.isascii() or not transaction.isdigit():
        raise ValueError(transaction)
    moves = tuple(
        JournaledMove(str(old), str(new), tuple(str(it) for it in below))
        for old, new, below in plain["moves"]
    )
    files = tuple(
        JournaledFile(str(row["path"]), _decode(row["body"]), _decode(row["after"]))
        for row in plain["files"]
    )
    others = tuple(
        JournaledOther(str(path), _decode(before), _decode(after))
        for path, before, after in plain.get("others", ())
        if not find_path_problem(str(path))
    )
    installation = str(plain.get("installation", ""))
    versions = _parse_versions(plain["versions"])
    return WriteJournal(transaction, moves, files, versions, installation, others)


def _parse_versions(plain: Any) -> PreparedVersions | None:
    if plain is None:
        return None
    base, tip, is_checkpoint = plain
    if not all(_OID.fullmatch(it) for it in (base or tip, tip)):
        raise ValueError(tip)
    return PreparedVersions(base, tip, bool(is_checkpoint))


def _is_confined(journal: WriteJournal) -> bool:
    places = [it for move in journal.moves for it in (move.old, move.new)]
    documents = [it.path for it in journal.files]
    below = [it for move in journal.moves for it in move.below]
    if any(find_path_problem(it) for it in (*places, *documents)):
        return False
    # A folder moves with its hidden files.
    if any(find_path_problem(it, may_be_ours=True) for it in below):
        return False
    return all(split_extension(it)[1] for it in documents)


def _encode(body: bytes | None) -> str | None:
    return None if body is None else b64encode(body).decode()


def _decode(text: Any) -> bytes | None:
    return None if text is None else b64decode(text)
