"""What it takes to put a space back when a change of many files was cut off. Blocking.

The journal lies beside the settings, is written before the first change and goes after the last.
"""

from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from pecia.kernel.errors import NotFound, PeciaError
from pecia.kernel.text.names import folder_of
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.names import split_extension, why_not
from pecia.rooms.wiki.own import prepare

PLACE = ".pecia/managed-rename.json"
VERSION = 4
# The same without digests, files of folders and the transaction.
OLDER = 3
MOST_BYTES = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file before a change; no body where there was none. `after` is the digest of what the
    change puts there, None where nobody wrote that down."""

    path: str
    body: bytes | None
    after: bytes | None = None


@dataclass(frozen=True, slots=True)
class Move:
    """A file or folder that goes elsewhere; `below` are a folder's files, by their paths in it."""

    old: str
    new: str
    below: tuple[str, ...] = ()

    def pairs(self) -> list[tuple[str, str]]:
        """Every file, before and after."""
        if not self.below:
            return [(self.old, self.new)]
        return [(f"{self.old}/{it}", f"{self.new}/{it}") for it in self.below]


@dataclass(frozen=True, slots=True)
class Journal:
    """Moves in their order, and files as they were, by their paths before the moves.

    `transaction` is the one that tells the store: once it is committed, the change is made.
    """

    moves: tuple[Move, ...]
    snapshots: tuple[Snapshot, ...]
    transaction: str | None = None

    def moved(self, path: str) -> str:
        """Where a file is after the moves."""
        for it in self.moves:
            if path == it.old or path.startswith(f"{it.old}/"):
                path = it.new + path[len(it.old) :]
        return path


def digest(body: bytes) -> bytes:
    return sha256(body).digest()


def keep(project: Path, lead: str, journal: Journal) -> None:
    """Write the journal down."""
    plain = {
        "version": VERSION,
        "root": lead,
        "transaction": journal.transaction,
        "moves": [[it.old, it.new, it.below] for it in journal.moves],
        "snapshots": [
            {"path": it.path, "body": _coded(it.body), "after": _coded(it.after)}
            for it in journal.snapshots
        ],
    }
    prepare(project)
    disk.write(project, PLACE, orjson.dumps(plain))


def forget(project: Path) -> None:
    with suppress(NotFound):
        disk.remove(project, PLACE)


def read(project: Path, lead: str) -> Journal | None:
    """The journal, None where there is none to follow.

    It lies where others can write, so it is believed only of documents in the content folder. One
    that cannot be followed stays where it is, for a person to look at.
    """
    try:
        plain = orjson.loads(disk.read(project, PLACE, MOST_BYTES))
        if plain["version"] not in (VERSION, OLDER) or plain["root"] != lead:
            return None
        journal = _journal(plain)
    except (PeciaError, ValueError, TypeError, KeyError):
        return None
    return journal if _is_ours(journal) else None


def put_back(root: Path, snapshot: Snapshot, made: bytes | None) -> None:
    """The file as it was, where it is what the change made of it; Collision elsewhere."""
    if snapshot.body is not None:
        disk.replace(root, snapshot.path, snapshot.body, made)
    elif made is not None:
        with suppress(NotFound):
            disk.remove_known(root, snapshot.path, made)
            disk.prune(root, folder_of(snapshot.path))


def _journal(plain: dict[str, Any]) -> Journal:
    moves = tuple(
        Move(str(old), str(new), tuple(str(it) for it in (more[0] if more else ())))
        for old, new, *more in plain["moves"]
    )
    snapshots = tuple(
        Snapshot(str(row["path"]), _decoded(row["body"]), _decoded(row.get("after")))
        for row in plain["snapshots"]
    )
    transaction = plain.get("transaction")
    is_number = isinstance(transaction, str) and transaction.isascii() and transaction.isdigit()
    return Journal(moves, snapshots, transaction if is_number else None)


def _is_ours(journal: Journal) -> bool:
    places = [it for move in journal.moves for it in (move.old, move.new)]
    documents = [it.path for it in journal.snapshots]
    below = [it for move in journal.moves for it in move.below]
    if any(why_not(it) for it in (*places, *documents)):
        return False
    # A folder goes with its hidden files.
    if any(why_not(it, may_be_ours=True) for it in below):
        return False
    return all(split_extension(it)[1] for it in documents)


def _coded(body: bytes | None) -> str | None:
    return None if body is None else b64encode(body).decode()


def _decoded(text: Any) -> bytes | None:
    return None if text is None else b64decode(text)
