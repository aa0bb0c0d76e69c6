"""One sync of a space with its git remote: fetch, pull, push.

Every step can be repeated, and a kill between any two loses and doubles nothing: a file and what it
has in common with the remote are written in one transaction, and a push is a row before it begins
(ADR 96).
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.features.wiki.config.files import read_project
from pecia.features.wiki.config.merge import ConfigTexts, merge_config
from pecia.features.wiki.core.document import decode_utf8
from pecia.features.wiki.remote.audit import SyncAudit
from pecia.features.wiki.remote.core.authors import AuthorMap, parse_author
from pecia.features.wiki.remote.core.plan import (
    SyncPlan,
    ThreeStates,
    has_lost_folder,
    kept_share,
    line_similarity,
    plan_sync,
    rename_candidates,
)
from pecia.features.wiki.remote.files import LocalContents, SyncedPaths, leave_out
from pecia.features.wiki.remote.port import RemoteAccess, RemoteChange, RemoteCopy, RemoteTree
from pecia.features.wiki.remote.pull import PullBatch, Puller, RemoteState
from pecia.features.wiki.remote.push import Pusher
from pecia.features.wiki.remote.store import SQL, RemoteRows, RemoteRun, SyncTakenOver, begin_run
from pecia.features.wiki.space import Wiki, content_prefix
from pecia.features.wiki.storage import disk
from pecia.features.wiki.store import SpaceLocation
from pecia.features.wiki.sync import ReportSync
from pecia.kernel.errors import BadArgument, Conflict, NotFound, Unavailable, Unprocessable
from pecia.kernel.jobs.outcome import describe_problem
from pecia.kernel.logs import Log

_log = Log(__name__)

MAX_ROUNDS = 8
"""Fetches of one sync: others may push at the same time."""
BATCH_FILES = 100
MAX_SKIPPED = 200


@dataclass(slots=True)
class SyncOutcome:
    """What one sync did."""

    tip: str | None = None
    pulled: int = 0
    pushed: int = 0
    skipped: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class SpaceReconciler:
    """All spaces with a remote."""

    wiki: Wiki
    access: RemoteAccess
    contents: LocalContents = field(default_factory=LocalContents)

    async def sync(
        self, tenant_id: UUID, source_id: str, progress: ReportSync, user_id: UUID | None = None
    ) -> SyncOutcome | None:
        """Sync a space. None where it has no remote. A failure is recorded, and raised. `user_id`
        is who asked for it; nobody did where its time had come."""
        async with self.wiki.store.system() as tx:
            run = await begin_run(tx, tenant_id, source_id)
        if run is None:
            return None
        audit = SyncAudit(run, user_id)
        try:
            done = await self._sync(run, progress)
        except SyncTakenOver:
            raise
        except Exception as error:
            async with self.wiki.store.system() as tx:
                problem = describe_problem(error)
                await RemoteRows(tx, run).fail(str(problem["message"]))
                await audit.record_failure(tx, str(problem["code"]))
            raise
        async with self.wiki.store.system() as tx:
            rows = RemoteRows(tx, run)
            skipped = dict(sorted(done.skipped.items())[:MAX_SKIPPED])
            await rows.end(done.tip, skipped, done.pulled, done.pushed)
            await audit.record_changes(tx, done.pulled, done.pushed)
        _log.info("wiki.remote_synced", space=source_id, pulled=done.pulled, pushed=done.pushed)
        return done

    async def _sync(self, run: RemoteRun, progress: ReportSync) -> SyncOutcome:
        place = await self._locate(run)
        await self.wiki.recovery.recover(place)
        await self.wiki.flusher.flush_all(place)
        async with self.wiki.store.system() as tx:
            users = await RemoteRows(tx, run).load_users()
        authors = AuthorMap([parse_author(it) for it in run.authors], users)
        done = SyncOutcome()
        async with self.access.open(run.address) as copy:
            for _ in range(MAX_ROUNDS):
                one = _Round(self, run, place, copy, authors, done)
                if await one.run_once(progress):
                    return done
        raise Unavailable("the remote was changed by others all the time; tried again later")

    async def _locate(self, run: RemoteRun) -> SpaceLocation:
        roots, folder = self.wiki.roots, Path(run.folder)
        project = await roots.resolve_folder(
            run.tenant_id, folder, is_confined=run.is_folder_confined
        )
        text = await run_sync(read_project, project)
        config = merge_config(ConfigTexts(project=text)).config
        lead = await run_sync(content_prefix, project, config.content.dir)
        return SpaceLocation(run.tenant_id, run.source_id, project, lead)


@dataclass(slots=True)
class _Round:
    """One fetch, and what follows from it."""

    of: SpaceReconciler
    run: RemoteRun
    place: SpaceLocation
    copy: RemoteCopy
    authors: AuthorMap
    done: SyncOutcome

    async def run_once(self, progress: ReportSync) -> bool:
        """Whether the sync is complete; else others pushed meanwhile."""
        await progress(0, None, "fetching")
        tip = await self.copy.fetch()
        tree = None if tip is None else await self.copy.list_files(tip)
        skipped: dict[str, str] = {}
        paths = await self._scan()
        pusher = Pusher(self.of.wiki, self.run, self.copy, paths, self.authors)
        await pusher.promote(tip)
        await progress(0, None, "comparing files")
        states = await self._load_states(paths, tree, skipped)
        self._require_plausible(tip, states)
        texts = await self._load_rename_texts(paths, states)
        plan = plan_sync(states, _by_texts(texts, line_similarity), _by_texts(texts, kept_share))
        changes = await self._load_changes(paths, tip, plan)
        state = RemoteState(tip, states.remote, changes)
        self.done.tip, self.done.skipped = tip, skipped
        await self._pull(Puller(self.of.wiki, self.run, self.copy, paths, state), plan, progress)
        if not self.run.pushes:
            return True
        # Again from the disk: what was merged is pushed as well.
        paths = await self._scan()
        pusher = Pusher(self.of.wiki, self.run, self.copy, paths, self.authors)
        states = await self._load_states(paths, tree, skipped)
        behind = await self._load_unflushed()
        wanted = [it for it in plan_sync(states).push if self.place.key(it) not in behind]
        if not wanted:
            return True
        pushed = await pusher.push(tip, tree, wanted, skipped, progress)
        if pushed is None:
            return False
        self.done.tip, self.done.pushed = pushed.tip, self.done.pushed + pushed.files
        return True

    async def _load_unflushed(self) -> set[str]:
        """Live documents whose files lack edits, perhaps those that were just pulled."""
        async with self.of.wiki.store.system() as tx:
            rows = await tx.fetch_all(SQL["unflushed"], **self.run.sql_params())
        return {it["key"] for it in rows}

    async def _scan(self) -> SyncedPaths:
        found = await self.of.wiki.sync.sync(self.place)
        return SyncedPaths(self.place, self.run.subfolder, found.scan)

    async def _load_states(
        self, paths: SyncedPaths, tree: RemoteTree | None, skipped: dict[str, str]
    ) -> ThreeStates:
        local = await self.of.contents.load_ids(paths, skipped)
        remote: dict[str, str] = {}
        if tree is not None:
            skipped |= paths.select(tree.skipped)
            remote = paths.select(tree.files, skipped)
        async with self.of.wiki.store.system() as tx:
            rows = RemoteRows(tx, self.run)
            bases, held = await rows.load_bases(), await rows.load_held()
        prefix = self.place.prefix
        base = {
            path: it
            for key, it in bases.items()
            if key.startswith(prefix)
            if not paths.find_problem(path := key.removeprefix(prefix))
        }
        held_ids = {key.removeprefix(prefix): it.remote_id for key, it in held.items()}
        return ThreeStates(
            leave_out(base, skipped),
            leave_out(local, skipped),
            leave_out(remote, skipped),
            held_ids,
        )

    def _require_plausible(self, tip: str | None, states: ThreeStates) -> None:
        """Refuse to take a lost folder or branch for a wish to delete everything."""
        if tip is None and states.base:
            raise Unprocessable(
                "the remote's branch is gone; nothing was changed",
                hint="pecia space disconnect NAME forgets the remote; pecia space remote NAME URL "
                "--branch BRANCH sets another",
            )
        for side, files in (("this space", states.local), ("the remote", states.remote)):
            if not self.run.allow_deletions and has_lost_folder(states.base, files):
                lost = len(states.base.keys() - files.keys())
                raise Conflict(
                    f"{lost} of {len(states.base)} files are gone in {side}; nothing was changed",
                    hint="If they were deleted on purpose: pecia space sync NAME --allow-deletions "
                    "true",
                )

    async def _load_rename_texts(self, paths: SyncedPaths, states: ThreeStates) -> dict[str, str]:
        """The contents that may be renamed files, by id."""
        texts: dict[str, str] = {}
        wanted = rename_candidates(states)
        here = {it: path for path, it in states.local.items()}
        for content in wanted:
            body = await self.copy.read(content)
            if body is None and content in here:
                body = await run_sync(_read_or_none, paths.place.root, here[content])
            text = None if body is None else decode_utf8(body)
            if text is not None:
                texts[content] = text
        return texts

    async def _load_changes(
        self, paths: SyncedPaths, tip: str | None, plan: SyncPlan
    ) -> dict[str, RemoteChange]:
        """The commits that changed files there; empty where nothing is pulled."""
        if tip is None or not (plan.pull or plan.remote_renames or plan.local_renames):
            return {}
        found = await self.copy.last_changes(self.run.tip, tip)
        return {own: it for path, it in found.items() if (own := paths.to_local(path))}

    async def _pull(self, pull: Puller, plan: SyncPlan, progress: ReportSync) -> None:
        batches = [*_batches(plan, pull.remote.changes, self.authors)]
        total = sum(len(it.settled) + len(it.renamed) for it in batches)
        seen = 0
        for it in batches:
            await progress(seen, total, "pulling files")
            await self._apply(pull, it)
            seen += len(it.settled) + len(it.renamed)
        if batches:
            await progress(total, total, "pulling files")
        for rename in plan.local_renames:
            change = pull.remote.changes.get(rename.old)
            writer, subject = _describe(change, self.authors)
            self.done.pulled += await pull.merge_into_renamed(rename, writer, subject)
        for rename in plan.diverged_renames:
            await pull.hold_diverged(rename)

    async def _apply(self, pull: Puller, batch: PullBatch) -> None:
        """A batch; one file at a time where one of them cannot be written."""
        try:
            self.done.pulled += await pull.apply(batch)
        except SyncTakenOver:
            raise
        except (BadArgument, Conflict, NotFound, Unprocessable) as error:
            if len(batch.settled) + len(batch.renamed) == 1:
                name = batch.settled[0] if batch.settled else batch.renamed[0].new
                self.done.skipped[name] = error.message
                return
            for one in _split(batch):
                await self._apply(pull, one)


def _batches(
    plan: SyncPlan, changes: Mapping[str, RemoteChange], authors: AuthorMap
) -> Iterator[PullBatch]:
    """Files by the author of their last commit."""
    for start in range(0, len(plan.agreed), BATCH_FILES):
        yield PullBatch("", "", plan.agreed[start : start + BATCH_FILES])
    groups: defaultdict[str, list[str]] = defaultdict(list)
    subjects: defaultdict[str, set[str]] = defaultdict(set)
    for path in plan.pull:
        writer, subject = _describe(changes.get(path), authors)
        groups[writer].append(path)
        subjects[writer].add(subject)
    for writer, group in groups.items():
        subject = subjects[writer].pop() if len(subjects[writer]) == 1 else ""
        for start in range(0, len(group), BATCH_FILES):
            yield PullBatch(writer, subject, group[start : start + BATCH_FILES])
    for rename in plan.remote_renames:
        yield PullBatch(*_describe(changes.get(rename.new), authors), (), (rename,))


def _split(batch: PullBatch) -> Sequence[PullBatch]:
    return [PullBatch(batch.writer, batch.subject, (it,)) for it in batch.settled]


def _describe(change: RemoteChange | None, authors: AuthorMap) -> tuple[str, str]:
    if change is None:
        return "git", ""
    return authors.to_writer(change.author_name, change.author_email), change.subject


def _by_texts(
    texts: Mapping[str, str], compare: Callable[[str, str], float]
) -> Callable[[str, str], float]:
    """A measure of two texts, by their ids; nothing in common where one is not known."""

    def measure(one: str, other: str) -> float:
        if one not in texts or other not in texts:
            return 0.0
        return compare(texts[one], texts[other])

    return measure


def _read_or_none(root: Path, path: str) -> bytes | None:
    try:
        return disk.read(root, path)
    except NotFound:
        return None
