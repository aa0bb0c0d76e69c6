"""Sends what was written here to the remote: commits on top of its branch, never by force.

A push is a row before it begins. Whether it arrived is read from the remote: a process that is
killed in between leaves a commit that the remote has or has not, and the next sync looks.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from anyio.to_thread import run_sync

from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.history.message import FILE_SYSTEM
from pecia.features.wiki.remote.core.authors import AuthorMap
from pecia.features.wiki.remote.files import SyncedPaths, TakenPaths, read_stable
from pecia.features.wiki.remote.local_changes import load_local_changes
from pecia.features.wiki.remote.port import RemoteCopy, RemoteTree
from pecia.features.wiki.remote.store import RemoteRows, RemoteRun
from pecia.features.wiki.space import Wiki
from pecia.features.wiki.sync import ReportSync

MAX_LISTED = 20


@dataclass(slots=True)
class OutgoingCommit:
    """Changes of one author."""

    author: str
    others: set[str] = field(default_factory=set[str])
    summaries: list[str] = field(default_factory=list[str])
    changes: dict[str, bytes | None] = field(default_factory=dict[str, bytes | None])

    def message(self, authors: AuthorMap) -> str:
        names = [split_extension(it)[0] for it in sorted(self.changes)]
        about = names[0] if len(names) == 1 else f"{len(names)} files"
        subject = self.summaries[0] if len(self.summaries) == 1 else f"Update {about}"
        listed = [f"- {it}" for it in names[:MAX_LISTED]]
        if len(names) > MAX_LISTED:
            listed.append(f"- and {len(names) - MAX_LISTED} more")
        parts = [subject, "\n".join(listed)]
        people = sorted({authors.to_git(it) for it in self.others} - {authors.to_git(self.author)})
        if people:
            parts.append("\n".join(f"Co-authored-by: {name} <{email}>" for name, email in people))
        return "\n\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True)
class PushedFiles:
    """`tip` is the branch's last commit from then on."""

    tip: str | None
    files: int


@dataclass(frozen=True, slots=True)
class Pusher:
    """For one run."""

    wiki: Wiki
    run: RemoteRun
    copy: RemoteCopy
    paths: SyncedPaths
    authors: AuthorMap

    async def promote(self, tip: str | None) -> None:
        """What the remote has of our pushes is common from now on."""
        async with self.wiki.store.system() as tx:
            pushes = await RemoteRows(tx, self.run).load_pushes()
        for commit, parent in pushes:
            if tip is not None and await self.copy.contains(tip, commit):
                await self._promote(commit, parent)

    async def push(
        self,
        tip: str | None,
        tree: RemoteTree | None,
        wanted: Sequence[str],
        skipped: dict[str, str],
        progress: ReportSync,
    ) -> PushedFiles | None:
        """Push these files. None where the branch moved on meanwhile."""
        found = await run_sync(read_stable, self.paths, wanted)
        changes = self._select_free(found, tree, skipped)
        last = await self._commit(tip, changes, progress)
        if last is None:
            return PushedFiles(tip, 0)
        async with self.wiki.store.system() as tx:
            rows = RemoteRows(tx, self.run)
            await rows.hold()
            await rows.add_push(last, tip)
        if not await self.copy.push(tip, last):
            return None
        await self._promote(last, tip)
        return PushedFiles(last, len(changes))

    async def _promote(self, commit: str, parent: str | None) -> None:
        changed = await self.copy.diff(parent, commit)
        place = self.paths.place
        bases = {
            place.key(own): content
            for path, content in changed.items()
            if (own := self.paths.to_local(path))
        }
        recovery = self.wiki.recovery
        async with recovery.queue.turn(place), recovery.locked(place) as tx:
            rows = RemoteRows(tx, self.run)
            await rows.hold()
            await rows.set_bases(bases)
            await rows.drop_push(commit)

    def _select_free(
        self,
        found: Mapping[str, bytes | None],
        tree: RemoteTree | None,
        skipped: dict[str, str],
    ) -> dict[str, bytes | None]:
        """Without files in whose place the remote has a folder, a link or a submodule."""
        if tree is None:
            return dict(found)
        taken = TakenPaths.of(tree.files, tree.skipped)
        free: dict[str, bytes | None] = {}
        for path, body in found.items():
            there = self.paths.to_remote(path)
            other = there if there in tree.skipped else taken.find_obstacle(there)
            if body is None or other is None:
                free[path] = body
            else:
                skipped[path] = f"the remote has {other!r}, which leaves no room for it"
        return free

    async def _commit(
        self, tip: str | None, changes: Mapping[str, bytes | None], progress: ReportSync
    ) -> str | None:
        """The last of our commits on top of the branch; None if there is nothing to commit."""
        parent = tip
        groups = await self._group(changes, progress)
        await progress(len(changes), len(changes), "pushing files")
        for it in groups:
            files = {self.paths.to_remote(path): body for path, body in it.changes.items()}
            author = self.authors.to_git(it.author)
            made = await self.copy.commit(parent, files, author, it.message(self.authors))
            parent = made or parent
        return None if parent == tip else parent

    async def _group(
        self, changes: Mapping[str, bytes | None], progress: ReportSync
    ) -> list[OutgoingCommit]:
        keys = [self.paths.place.key(it) for it in changes]
        async with self.wiki.store.system() as tx:
            times = await RemoteRows(tx, self.run).load_base_times(keys)
        made: defaultdict[tuple[str, str], OutgoingCommit] = defaultdict(lambda: OutgoingCommit(""))
        history = self.wiki.recovery.history(self.paths.place)
        for seen, (path, body) in enumerate(changes.items()):
            await progress(seen, len(changes), "reading who wrote the files")
            since = times.get(self.paths.place.key(path))
            news = await load_local_changes(history, path, since, is_gone=body is None)
            author = news.writers[0] if news.writers else FILE_SYSTEM
            it = made[self.authors.to_git(author)]
            it.author = author
            it.others |= {*news.writers, *news.others}
            if news.summary is not None and news.summary not in it.summaries:
                it.summaries.append(news.summary)
            it.changes[path] = body
        return [made[key] for key in sorted(made)]
