"""Completes or undoes the write that the journal of a space describes.

COMMIT of the store decides. After it, what is left is to put the prepared versions into history;
without it, the files are restored and no reference ever names the versions. Each step can be
repeated: a crash at any of them is settled by the next call.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from anyio.to_thread import run_sync

from pecia.features.wiki.history.history import PreparedVersions, SpaceHistory, VersionDraft
from pecia.features.wiki.history.port import OpenVersions
from pecia.features.wiki.space_queue import SpaceQueue
from pecia.features.wiki.storage import disk, journal
from pecia.features.wiki.storage.folder_claim import FolderClaims
from pecia.features.wiki.storage.journal import (
    JournaledFile,
    JournaledMove,
    JournaledOther,
    WriteJournal,
    digest,
)
from pecia.features.wiki.storage.recovery import (
    RecoveryOutcome,
    check_finished,
    prune_emptied,
    record_outcome,
    report_outcome,
    restore_links,
    roll_back,
)
from pecia.features.wiki.store import SQL, SpaceLocation
from pecia.kernel.errors import NotFound, PeciaError
from pecia.kernel.logs import Log
from pecia.kernel.store.store import Store, Transaction

_log = Log(__name__)


@dataclass(frozen=True, slots=True)
class SettledFiles:
    """A journal whose files are settled; its history may not be."""

    journal: WriteJournal
    is_finished: bool
    """Whether the store committed the write."""
    outcome: RecoveryOutcome = field(default_factory=RecoveryOutcome)


@dataclass(frozen=True, slots=True)
class SpaceRecovery:
    """For all spaces of a server. All of it holds the lock of the space."""

    store: Store
    versions: OpenVersions
    queue: SpaceQueue = field(default_factory=SpaceQueue)
    claims: FolderClaims | None = None

    def history(self, place: SpaceLocation) -> SpaceHistory:
        return SpaceHistory(place.project, place.prefix, self.versions)

    async def begin(
        self,
        tx: Transaction,
        place: SpaceLocation,
        versions: PreparedVersions | None,
        moves: tuple[JournaledMove, ...] = (),
        files: tuple[JournaledFile, ...] = (),
        others: tuple[JournaledOther, ...] = (),
    ) -> str:
        """Journal a write before it changes a file; returns its transaction."""
        transaction = str(await tx.fetch_value(SQL["this_transaction"]))
        installation = await self._load_installation()
        if self.claims is not None:
            await run_sync(partial(self.claims.claim, place.project, installation, makes=True))
        entry = WriteJournal(transaction, moves, files, versions, installation, others)
        await run_sync(journal.write_journal, place.project, place.prefix, entry)
        return transaction

    async def finish(self, place: SpaceLocation, transaction: str) -> None:
        """After COMMIT: complete the write. If it fails, the journal stays, and the next call does.

        The lock was released by COMMIT, so another process may have done it already.
        """
        async with self.queue.turn(place):
            await self.finish_in_turn(place, transaction)

    async def finish_in_turn(self, place: SpaceLocation, transaction: str) -> None:
        """The same for one who has the turn already."""
        try:
            async with self.locked(place):
                found = await run_sync(journal.read_journal, place.project, place.prefix)
                if found is not None and found.transaction == transaction:
                    await self._settle_history(place, SettledFiles(found, is_finished=True))
        except PeciaError as error:
            _log.failure("wiki.write_recovered", error, space=place.source_id)

    async def recover(self, place: SpaceLocation, *, has_journal: bool | None = None) -> None:
        """Settle a journal, so that a reader finds all of a write or nothing.

        If only history cannot be written now, readers go on: files and store agree. `has_journal`
        is what a caller saw who looked already.
        """
        if not (await _has_journal(place) if has_journal is None else has_journal):
            return
        async with self.queue.turn(place):
            await self.recover_in_turn(place)

    async def recover_in_turn(self, place: SpaceLocation) -> None:
        """The same for one who has the turn already."""
        async with self.locked(place) as tx:
            found = await self._settle_files(tx, place)
            try:
                await self._settle_history(place, found)
            except PeciaError as error:
                _log.failure("wiki.write_recovered", error, space=place.source_id)

    async def settle(self, tx: Transaction, place: SpaceLocation) -> bool:
        """Settle a journal before the next write; whether files were restored."""
        if not await _has_journal(place):
            return False
        found = await self._settle_files(tx, place)
        await self._settle_history(place, found)
        return found is not None and not found.is_finished

    async def _settle_files(self, tx: Transaction, place: SpaceLocation) -> SettledFiles | None:
        found = await run_sync(journal.read_journal, place.project, place.prefix)
        if found is None:
            return await self._reject(place)
        if found.installation != await self._load_installation():
            # Perhaps made up by whoever made the folder.
            found = replace(found, others=())
        is_finished = await self._is_finished(tx, place, found)
        settle = check_finished if is_finished else roll_back
        outcome = await run_sync(settle, place.root, found)
        if found.moves and not is_finished:
            await self._restore_links(place, found, outcome)
        if outcome.touched or not is_finished:
            report_outcome(place.source_id, found, outcome, is_finished=is_finished)
        return SettledFiles(found, is_finished, outcome)

    async def _is_finished(
        self, tx: Transaction, place: SpaceLocation, found: WriteJournal
    ) -> bool:
        if found.installation in ("", await self._load_installation()):
            asked = {"transaction": found.transaction}
            return bool(await tx.fetch_value(SQL["was_committed"], **asked))
        # Of an installation that served the folder before: its store cannot be asked. What it
        # committed is whole on disk.
        return not (await run_sync(check_finished, place.root, found)).touched

    async def _load_installation(self) -> str:
        return await self.claims.installation.load_id() if self.claims else ""

    async def _restore_links(
        self, place: SpaceLocation, found: WriteJournal, outcome: RecoveryOutcome
    ) -> None:
        """In files that somebody edited since the rename rewrote them. What it wrote is in the
        versions that it had prepared."""
        for it in found.files:
            if it.path in outcome.edited and found.versions is not None:
                after = await self.history(place).read_prepared(
                    found.versions, found.path_after(it.path)
                )
                if after is not None and digest(after) == it.after:
                    await run_sync(restore_links, place.root, it, after)

    async def _settle_history(self, place: SpaceLocation, found: SettledFiles | None) -> None:
        if found is None:
            return
        history, outcome = self.history(place), found.outcome
        if found.is_finished:
            await run_sync(prune_emptied, place.root, found.journal)
        if found.is_finished and found.journal.versions is not None:
            try:
                await history.advance(found.journal.versions)
            except NotFound:
                # Somebody pruned the repository: the files say what was written.
                outcome.edited += found.journal.documents()
        draft = VersionDraft(history)
        await record_outcome(draft, place.root, outcome, is_finished=found.is_finished)
        if draft.prepared is not None:
            await history.advance(draft.prepared)
        await run_sync(journal.delete_journal, place.project)

    async def _reject(self, place: SpaceLocation) -> None:
        if await _has_journal(place):
            _log.warning("wiki.journal_rejected", space=place.source_id, path=journal.REJECTED_PATH)
            await run_sync(journal.reject_journal, place.project)

    @asynccontextmanager
    async def locked(self, place: SpaceLocation) -> AsyncGenerator[Transaction]:
        """A system transaction that holds the lock of a space, for one who has the turn."""
        async with self.store.system() as tx:
            await tx.execute(SQL["lock_space"], **place.sql_params())
            yield tx


async def _has_journal(place: SpaceLocation) -> bool:
    return await run_sync(disk.exists, place.project, journal.JOURNAL_PATH)
