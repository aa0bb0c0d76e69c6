"""What it takes to put a space back when a change of many files was cut off. Blocking.

The journal lies beside the settings, is written before the first change and goes after the last.
"""

from base64 import b64decode, b64encode
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import orjson

from pecia.kernel.errors import NotFound, PeciaError
from pecia.kernel.text.names import folder_of
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.names import split_extension, why_not
from pecia.rooms.wiki.own import prepare

PLACE = ".pecia/managed-rename.json"
VERSION = 3
MOST_BYTES = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A file before a change; no body where there was none."""

    path: str
    body: bytes | None


@dataclass(frozen=True, slots=True)
class Journal:
    """Moves in their order, and files as they were, by their paths before the moves."""

    moves: tuple[tuple[str, str], ...]
    snapshots: tuple[Snapshot, ...]


def keep(project: Path, lead: str, journal: Journal) -> None:
    """Write the journal down."""
    rows = [
        {"path": it.path, "body": None if it.body is None else b64encode(it.body).decode()}
        for it in journal.snapshots
    ]
    prepare(project)
    plain = {"version": VERSION, "root": lead, "moves": journal.moves, "snapshots": rows}
    disk.write(project, PLACE, orjson.dumps(plain))


def forget(project: Path) -> None:
    with suppress(NotFound):
        disk.remove(project, PLACE)


def recover(project: Path, lead: str) -> bool:
    """Put everything back that a journal speaks of. False where there is none to follow.

    It lies where others can write, so it is believed only of documents in the content folder. One
    that cannot be followed stays where it is, for a person to look at.
    """
    journal = _read(project, lead)
    if journal is None:
        return False
    root = project / lead
    for old, new in reversed(journal.moves):
        if disk.exists(root, new) and not disk.exists(root, old):
            disk.move(root, new, old)
            disk.prune(root, folder_of(new))
    for snapshot in journal.snapshots:
        put_back(root, snapshot)
    forget(project)
    return True


def _read(project: Path, lead: str) -> Journal | None:
    try:
        plain = orjson.loads(disk.read(project, PLACE, MOST_BYTES))
        if (plain["version"], plain["root"]) != (VERSION, lead):
            return None
        moves = tuple((str(old), str(new)) for old, new in plain["moves"])
        snapshots = tuple(
            Snapshot(str(row["path"]), None if row["body"] is None else b64decode(row["body"]))
            for row in plain["snapshots"]
        )
    except (PeciaError, ValueError, TypeError, KeyError):
        return None
    paths = [*(it for pair in moves for it in pair), *(it.path for it in snapshots)]
    is_ours = not any(why_not(it) for it in paths) and all(
        split_extension(it.path)[1] for it in snapshots
    )
    return Journal(moves, snapshots) if is_ours else None


def put_back(root: Path, snapshot: Snapshot) -> None:
    """The file as it was."""
    if snapshot.body is not None:
        disk.write(root, snapshot.path, snapshot.body)
        return
    with suppress(NotFound):
        disk.remove(root, snapshot.path)
        disk.prune(root, folder_of(snapshot.path))
