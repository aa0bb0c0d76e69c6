"""The undo journal of a change to many files. Blocking.

It lies in the project folder, is written before the first change and deleted after the last.
"""

from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from pecia.features.wiki.core.names import find_path_problem, split_extension
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.project_folder import ensure_project_folder
from pecia.kernel.errors import NotFound, PeciaError
from pecia.kernel.text.links.name_index import folder_of

JOURNAL_PATH = ".pecia/managed-rename.json"
VERSION = 4
# The old format, without digests, files of folders and the transaction.
OLDER_VERSION = 3
MAX_JOURNAL_BYTES = 2_000_000_000


@dataclass(frozen=True, slots=True)
class JournaledFile:
    """A file before a change; no body if it did not exist. `after` is the digest of the new
    content, None if not recorded."""

    path: str
    body: bytes | None
    after: bytes | None = None


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
class RenameJournal:
    """Moves in order, and original files, by their paths before the moves.

    `transaction` is that of the store: once it is committed, the change is complete.
    """

    moves: tuple[JournaledMove, ...]
    snapshots: tuple[JournaledFile, ...]
    transaction: str | None = None

    def path_after(self, path: str) -> str:
        """The path of a file after the moves."""
        for it in self.moves:
            if path == it.old or path.startswith(f"{it.old}/"):
                path = it.new + path[len(it.old) :]
        return path


def digest(body: bytes) -> bytes:
    return sha256(body).digest()


def write_journal(project: Path, lead: str, journal: RenameJournal) -> None:
    """Write the journal."""
    plain = {
        "version": VERSION,
        "root": lead,
        "transaction": journal.transaction,
        "moves": [[it.old, it.new, it.below] for it in journal.moves],
        "snapshots": [
            {"path": it.path, "body": _encode_body(it.body), "after": _encode_body(it.after)}
            for it in journal.snapshots
        ],
    }
    ensure_project_folder(project)
    disk.write(project, JOURNAL_PATH, orjson.dumps(plain))


def delete_journal(project: Path) -> None:
    with suppress(NotFound):
        disk.remove(project, JOURNAL_PATH)


def read_journal(project: Path, lead: str) -> RenameJournal | None:
    """The journal, None where there is none to follow.

    Others can write it, so it is trusted only for documents in the content folder. An invalid one
    is left in place, for a person to check.
    """
    try:
        plain = orjson.loads(disk.read(project, JOURNAL_PATH, MAX_JOURNAL_BYTES))
        if plain["version"] not in (VERSION, OLDER_VERSION) or plain["root"] != lead:
            return None
        journal = _parse_journal(plain)
    except (PeciaError, ValueError, TypeError, KeyError):
        return None
    return journal if _is_confined(journal) else None


def restore_file(root: Path, snapshot: JournaledFile, made: bytes | None) -> None:
    """Restore the file, if it is as the change left it; Collision otherwise."""
    if snapshot.body is not None:
        disk.replace(root, snapshot.path, snapshot.body, made)
    elif made is not None:
        with suppress(NotFound):
            disk.remove_known(root, snapshot.path, made)
            disk.prune(root, folder_of(snapshot.path))


def _parse_journal(plain: dict[str, Any]) -> RenameJournal:
    moves = tuple(
        JournaledMove(str(old), str(new), tuple(str(it) for it in (more[0] if more else ())))
        for old, new, *more in plain["moves"]
    )
    snapshots = tuple(
        JournaledFile(str(row["path"]), _decode_body(row["body"]), _decode_body(row.get("after")))
        for row in plain["snapshots"]
    )
    transaction = plain.get("transaction")
    is_number = isinstance(transaction, str) and transaction.isascii() and transaction.isdigit()
    return RenameJournal(moves, snapshots, transaction if is_number else None)


def _is_confined(journal: RenameJournal) -> bool:
    places = [it for move in journal.moves for it in (move.old, move.new)]
    documents = [it.path for it in journal.snapshots]
    below = [it for move in journal.moves for it in move.below]
    if any(find_path_problem(it) for it in (*places, *documents)):
        return False
    # A folder moves with its hidden files.
    if any(find_path_problem(it, may_be_ours=True) for it in below):
        return False
    return all(split_extension(it)[1] for it in documents)


def _encode_body(body: bytes | None) -> str | None:
    return None if body is None else b64encode(body).decode()


def _decode_body(text: Any) -> bytes | None:
    return None if text is None else b64decode(text)
