"""Undoes an interrupted write on disk, or finds it complete; edits made meanwhile stay.

A file is restored only if it is as the write left it. Any other text is somebody's: it stays, and
is committed as a version. Links in it that an undone rename wrote are undone, where nobody touched
them. A deleted file stays deleted, and its former text is committed.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from anyio.to_thread import run_sync

from pecia.features.wiki.core.document import decode_utf8
from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.core.rename import undo_rewrites
from pecia.features.wiki.history.history import VersionDraft
from pecia.features.wiki.history.message import FILE_SYSTEM, CommitNote
from pecia.features.wiki.storage import disk
from pecia.features.wiki.storage.displacement import TemporaryFiles, put_back
from pecia.features.wiki.storage.journal import (
    JournaledFile,
    JournaledMove,
    JournaledOther,
    WriteJournal,
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
    """What differs from what the write made. Paths from the content folder.

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


def roll_back(root: Path, journal: WriteJournal) -> RecoveryOutcome:
    """Undo the write. Idempotent. Blocking."""
    outcome = RecoveryOutcome()
    for move in reversed(journal.moves):
        _move_back(root, move, outcome)
    asides = TemporaryFiles(root, journal.written_at_s)
    for file in journal.files:
        _restore(root, file, outcome, asides, (file.path, journal.path_after(file.path)))
    for file in journal.others:
        _restore_other(root, file, outcome, asides, (file.path, journal.path_after(file.path)))
    return outcome


def restore_links(root: Path, file: JournaledFile, after: bytes) -> None:
    """Undo the rewrites of an undone rename in a text that somebody made from its own, `after`.
    Idempotent. Blocking."""
    now = _read_one(root, file.path)
    if now is None or file.body is None:
        return
    texts = [decode_utf8(it) for it in (file.body, after, now)]
    before, written, current = texts
    if before is None or written is None or current is None:
        return
    body = undo_rewrites(before, written, current).encode()
    if body != now:
        # Somebody who is writing it again just now is not held up.
        with suppress(Collision):
            disk.replace(root, file.path, body, now)


def check_finished(root: Path, journal: WriteJournal) -> RecoveryOutcome:
    """The write is complete; only collects edits made since. Blocking."""
    outcome = RecoveryOutcome()
    for it in journal.files:
        path = journal.path_after(it.path)
        now = _read_all(root, [path]).get(path, b"")
        if digest(now) != it.after:
            (outcome.deleted if now is None else outcome.edited).append(path)
    outcome.kept += [
        old
        for move in journal.moves
        for old, _ in move.pairs()
        if split_extension(old)[1] and _read_all(root, [old]).get(old) is not None
    ]
    return outcome


def prune_emptied(root: Path, journal: WriteJournal) -> None:
    """Remove the folders that a finished write left empty. Idempotent. Blocking."""
    removed = [journal.path_after(it.path) for it in journal.files if it.after is None]
    for folder in {folder_of(it) for it in (*removed, *(it.old for it in journal.moves))}:
        disk.prune(root, folder)


async def record_outcome(
    versions: VersionDraft, root: Path, outcome: RecoveryOutcome, *, is_finished: bool
) -> None:
    """Prepare a version of what people did."""
    paths = [it for it in outcome.touched if split_extension(it)[1]]
    now = await run_sync(_read_all, root, paths)
    if not now:
        return
    docs = tuple(split_extension(it)[0] for it in sorted(now))
    subject = f"recover: write {'finished' if is_finished else 'undone'}"
    summary = f"kept by hand: {', '.join(outcome.touched)}"
    note = CommitNote(FILE_SYSTEM, subject, docs, summary)
    await versions.record(outcome.before, now, note)


def report_outcome(
    space: str, journal: WriteJournal, outcome: RecoveryOutcome, *, is_finished: bool
) -> None:
    """Log what was written, the outcome, and what people had done."""
    _log.warning(
        "wiki.write_recovered",
        space=space,
        outcome="finished" if is_finished else "undone",
        moves=[f"{it.old} -> {it.new}" for it in journal.moves],
        files=[it.path for it in journal.files[:MAX_NAMED]],
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


def _restore(
    root: Path,
    file: JournaledFile,
    outcome: RecoveryOutcome,
    asides: TemporaryFiles,
    paths: tuple[str, str],
) -> None:
    path = file.path
    try:
        now = _read_one(root, path)
    except (InvalidInput, PayloadTooLarge):
        # A link, a folder, or larger than a document may be: not ours.
        outcome.kept.append(path)
        return
    # A file that was not there was not put aside.
    aside = asides.find_displaced(paths, file.body, now) if file.body is not None else None
    if now != file.body and not (digest(now) == file.after and _undo(root, file, now, aside)):
        now = _read_one(root, path)
        (outcome.deleted if now is None else outcome.edited).append(path)
        outcome.before[path] = file.body
    outcome.edited += asides.clear(paths, now, file.body, digests=(file.after,))


def _undo(root: Path, file: JournaledFile, now: bytes | None, aside: str | None) -> bool:
    """Undo a change of a file that is as the write left it. False where a program wrote it: before
    it was put aside, or just now."""
    try:
        if aside is None:
            restore_file(root, file, now)
        else:
            put_back(root, aside, file.path, now)
    except Collision:
        return False
    return aside is None


def _restore_other(
    root: Path,
    file: JournaledOther,
    outcome: RecoveryOutcome,
    asides: TemporaryFiles,
    paths: tuple[str, str],
) -> None:
    """Its bytes are not in the journal. It stays as it was written, which a sync finds, unless what
    it replaced is still there: that may be what a program wrote."""
    path = file.path
    try:
        now = _read_one(root, path)
    except (InvalidInput, PayloadTooLarge):
        outcome.kept.append(path)
        return
    aside = asides.find_displaced(paths, now) if file.before is not None else None
    if digest(now) == file.after and aside is not None:
        # Where somebody is writing it now, what is aside gets a name.
        with suppress(Collision):
            put_back(root, aside, path, now)
            now = _read_one(root, path)
    outcome.edited += asides.clear(paths, now, digests=(file.before, file.after))


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
