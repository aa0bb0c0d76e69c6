"""Rolls back an interrupted rename, or finds it complete; edits made meanwhile stay.

A file is restored only if it is as the rename left it. Any other text is somebody's: it stays, and
is committed as a version. A deleted file stays deleted, and its former text is committed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from anyio.to_thread import run_sync

from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.history.history import SpaceHistory
from pecia.features.wiki.history.message import FILE_SYSTEM, CommitNote
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.journal import (
    JournaledFile,
    JournaledMove,
    RenameJournal,
    digest,
    restore_file,
)
from pecia.kernel.errors import (
    Collision,
    Conflict,
    InvalidInput,
    NotFound,
    PayloadTooLarge,
    PeciaError,
)
from pecia.kernel.logs import Log
from pecia.kernel.text.links.name_index import folder_of

_log = Log(__name__)
MAX_NAMED = 20


@dataclass(slots=True)
class RecoveryOutcome:
    """What differs from what the rename made. Paths from the content folder.

    `edited` have somebody's text, `deleted` are gone, `kept` block a file that should be restored,
    or could not be moved. `before` must be committed first.
    """

    edited: list[str] = field(default_factory=list[str])
    deleted: list[str] = field(default_factory=list[str])
    kept: list[str] = field(default_factory=list[str])
    before: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])

    @property
    def touched(self) -> list[str]:
        return sorted({*self.edited, *self.deleted, *self.kept})


def roll_back(root: Path, journal: RenameJournal) -> RecoveryOutcome:
    """Undo the rename. Idempotent. Blocking."""
    outcome = RecoveryOutcome()
    for move in reversed(journal.moves):
        _move_back(root, move, outcome)
    for snapshot in journal.snapshots:
        _restore(root, snapshot, outcome)
    return outcome


def check_finished(root: Path, journal: RenameJournal) -> RecoveryOutcome:
    """The rename is complete; only collects edits made since. Blocking."""
    outcome = RecoveryOutcome()
    for it in journal.snapshots:
        path = journal.path_after(it.path)
        now = _read_all(root, [path]).get(path, b"")
        if now is None:
            outcome.deleted.append(path)
        elif now != it.body and digest(now) != it.after:
            outcome.edited.append(path)
    outcome.kept += [
        old
        for move in journal.moves
        for old, _ in move.pairs()
        if split_extension(old)[1] and _read_all(root, [old]).get(old) is not None
    ]
    return outcome


async def record_outcome(
    history: SpaceHistory,
    root: Path,
    journal: RenameJournal,
    outcome: RecoveryOutcome,
    *,
    is_finished: bool,
) -> None:
    """Commit what people did, and the undo of a rename that history already has."""
    known = await history.list_tracked()
    paths = [it for it in _paths(journal) if it in known or it in outcome.touched]
    now = await run_sync(_read_all, root, paths)
    if not now:
        return
    what = "rename finished" if is_finished else "rename undone"
    summary = f"kept by hand: {', '.join(outcome.touched)}" if outcome.touched else None
    docs = tuple(split_extension(it)[0] for it in sorted(now))
    note = CommitNote(FILE_SYSTEM, f"recover: {what}", docs, summary)
    await history.record(outcome.before, now, note)


def report_outcome(
    space: str, journal: RenameJournal, outcome: RecoveryOutcome, *, is_finished: bool
) -> None:
    """Log what was renamed, the outcome, and what people had done."""
    _log.warning(
        "wiki.rename_recovered",
        space=space,
        outcome="finished" if is_finished else "undone",
        moves=[f"{it.old} -> {it.new}" for it in journal.moves],
        edited=[*outcome.edited[:MAX_NAMED]],
        deleted=[*outcome.deleted[:MAX_NAMED]],
        kept=[*outcome.kept[:MAX_NAMED]],
    )


def _move_back(root: Path, move: JournaledMove, outcome: RecoveryOutcome) -> None:
    pairs = [(move.old, move.new)]
    # Somebody recreated the old folder: files are moved back one by one, between theirs.
    if move.below and _path_exists(root, move.old):
        pairs = move.pairs()
    for old, new in pairs:
        if not _path_exists(root, new):
            continue
        try:
            disk.move(root, new, old)
        except (Conflict, InvalidInput, NotFound):
            # If the move was never made, a file may exist in both places.
            outcome.kept.append(new)
            continue
        disk.prune(root, folder_of(new))


def _restore(root: Path, snapshot: JournaledFile, outcome: RecoveryOutcome) -> None:
    path = snapshot.path
    try:
        now = _read_one(root, path)
    except (InvalidInput, PayloadTooLarge):
        # A link, a folder, or larger than a document may be: not ours.
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
            # The rename's result was not recorded, so it may be somebody's edit: history has it.
            outcome.before[path] = now
            outcome.edited.append(path)
        try:
            restore_file(root, snapshot, now)
        except Collision:
            # Somebody is writing it now.
            outcome.edited.append(path)
            outcome.before[path] = snapshot.body


def _paths(journal: RenameJournal) -> Iterable[str]:
    """Every document that the rename touches, before and after."""
    moved = [it for move in journal.moves for pair in move.pairs() for it in pair]
    written = [it for row in journal.snapshots for it in (row.path, journal.path_after(row.path))]
    return dict.fromkeys(it for it in (*moved, *written) if split_extension(it)[1])


def _read_all(root: Path, paths: Iterable[str]) -> dict[str, bytes | None]:
    found: dict[str, bytes | None] = {}
    for path in paths:
        try:
            found[path] = _read_one(root, path)
        except PeciaError:
            continue
    return found


def _read_one(root: Path, path: str) -> bytes | None:
    try:
        return disk.read(root, path)
    except NotFound:
        return None


def _path_exists(root: Path, path: str) -> bool:
    try:
        return disk.exists(root, path)
    except InvalidInput:
        # Below a link or a file: not created by us.
        return False
