"""A rename that was cut off is undone, or found finished; what people did meanwhile stays.

A file is put back only where it is what the rename made of it. Any other text is somebody's: it
stays where it is, and history gets it as a version. A file that went stays away, and history gets
the text that it had.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from anyio.to_thread import run_sync

from pecia.kernel.errors import (
    Collision,
    Conflict,
    InvalidInput,
    NotFound,
    PayloadTooLarge,
    PeciaError,
)
from pecia.kernel.logs import Log
from pecia.kernel.text.names import folder_of
from pecia.rooms.wiki import disk
from pecia.rooms.wiki.history.history import History
from pecia.rooms.wiki.history.note import FILE_SYSTEM, Note
from pecia.rooms.wiki.journal import Journal, Move, Snapshot, digest, put_back
from pecia.rooms.wiki.names import split_extension

_log = Log(__name__)
MOST_NAMED = 20


@dataclass(slots=True)
class Outcome:
    """What was found beside what the rename made. Paths from the content folder.

    `edited` hold somebody's text, `deleted` are gone, `kept` are files that are in the way of one
    that should go back, or could not be moved. `before` is what history must know first.
    """

    edited: list[str] = field(default_factory=list[str])
    deleted: list[str] = field(default_factory=list[str])
    kept: list[str] = field(default_factory=list[str])
    before: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])

    @property
    def touched(self) -> list[str]:
        return sorted({*self.edited, *self.deleted, *self.kept})


def roll_back(root: Path, journal: Journal) -> Outcome:
    """Everything as it was before the rename. Doing it twice is doing it once. Blocking."""
    outcome = Outcome()
    for move in reversed(journal.moves):
        _move_back(root, move, outcome)
    for snapshot in journal.snapshots:
        _restore(root, snapshot, outcome)
    return outcome


def check_finished(root: Path, journal: Journal) -> Outcome:
    """All of the rename was made; only what people did since is looked for. Blocking."""
    outcome = Outcome()
    for it in journal.snapshots:
        path = journal.moved(it.path)
        now = _texts(root, [path]).get(path, b"")
        if now is None:
            outcome.deleted.append(path)
        elif now != it.body and digest(now) != it.after:
            outcome.edited.append(path)
    outcome.kept += [
        old
        for move in journal.moves
        for old, _ in move.pairs()
        if split_extension(old)[1] and _texts(root, [old]).get(old) is not None
    ]
    return outcome


async def record_outcome(
    history: History, root: Path, journal: Journal, outcome: Outcome, *, is_finished: bool
) -> None:
    """A version of what people did, and of an undone rename where history has it already."""
    known = await history.tracked()
    paths = [it for it in _paths(journal) if it in known or it in outcome.touched]
    now = await run_sync(_texts, root, paths)
    if not now:
        return
    what = "rename finished" if is_finished else "rename undone"
    summary = f"kept by hand: {', '.join(outcome.touched)}" if outcome.touched else None
    docs = tuple(split_extension(it)[0] for it in sorted(now))
    note = Note(FILE_SYSTEM, f"recover: {what}", docs, summary)
    await history.record(outcome.before, now, note)


def report_outcome(space: str, journal: Journal, outcome: Outcome, *, is_finished: bool) -> None:
    """Into the log: what was renamed, how it ended, and what people had done."""
    _log.warning(
        "wiki.rename_recovered",
        space=space,
        outcome="finished" if is_finished else "undone",
        moves=[f"{it.old} -> {it.new}" for it in journal.moves],
        edited=[*outcome.edited[:MOST_NAMED]],
        deleted=[*outcome.deleted[:MOST_NAMED]],
        kept=[*outcome.kept[:MOST_NAMED]],
    )


def _move_back(root: Path, move: Move, outcome: Outcome) -> None:
    pairs = [(move.old, move.new)]
    # Somebody made the old folder anew: its files go back one by one, between theirs.
    if move.below and _is_there(root, move.old):
        pairs = move.pairs()
    for old, new in pairs:
        if not _is_there(root, new):
            continue
        try:
            disk.move(root, new, old)
        except (Conflict, InvalidInput, NotFound):
            # A file of the folder is in both places where the move was never made.
            outcome.kept.append(new)
            continue
        disk.prune(root, folder_of(new))


def _restore(root: Path, snapshot: Snapshot, outcome: Outcome) -> None:
    path = snapshot.path
    try:
        now = _text(root, path)
    except (InvalidInput, PayloadTooLarge):
        # A link, a folder, or more than a document may be: nothing of ours.
        outcome.kept.append(path)
        return
    if now == snapshot.body:
        return
    if now is None:
        outcome.deleted.append(path)
        outcome.before[path] = snapshot.body
    elif snapshot.after is not None and digest(now) != snapshot.after:
        outcome.edited.append(path)
        outcome.before[path] = snapshot.body
    else:
        if snapshot.after is None:
            # Nobody wrote down what the rename made of it, so it may be somebody's: history has it.
            outcome.before[path] = now
            outcome.edited.append(path)
        try:
            put_back(root, snapshot, now)
        except Collision:
            # Somebody writes it just now.
            outcome.edited.append(path)
            outcome.before[path] = snapshot.body


def _paths(journal: Journal) -> Iterable[str]:
    """Every document that the rename touches, before and after."""
    moved = [it for move in journal.moves for pair in move.pairs() for it in pair]
    written = [it for row in journal.snapshots for it in (row.path, journal.moved(row.path))]
    return dict.fromkeys(it for it in (*moved, *written) if split_extension(it)[1])


def _texts(root: Path, paths: Iterable[str]) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for path in paths:
        try:
            found[path] = _text(root, path)
        except PeciaError:
            continue
    return found


def _text(root: Path, path: str) -> bytes | None:
    try:
        return disk.read(root, path)
    except NotFound:
        return None


def _is_there(root: Path, path: str) -> bool:
    try:
        return disk.exists(root, path)
    except InvalidInput:
        # Below a link or a file: nothing that we put there.
        return False
