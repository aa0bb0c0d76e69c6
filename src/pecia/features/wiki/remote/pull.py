"""Brings the remote's state of files into the space: each file with its base in one transaction.

What is to be done with a file is decided again under the lock of the space, from its base, its text
there and the remote's, so that nobody's change in between is lost.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pecia.features.wiki.core.names import split_extension
from pecia.features.wiki.core.summary import parse_summary
from pecia.features.wiki.parse import MAX_INLINE_BYTES
from pecia.features.wiki.remote.core.plan import DivergedRename, FileRename
from pecia.features.wiki.remote.core.settle import (
    SettledFile,
    SideChange,
    compare,
    content_id,
    settle_file,
)
from pecia.features.wiki.remote.files import SyncedPaths
from pecia.features.wiki.remote.local_changes import load_local_changes
from pecia.features.wiki.remote.port import RemoteChange, RemoteCopy
from pecia.features.wiki.remote.store import HeldConflict, NewConflict, RemoteRows, RemoteRun
from pecia.features.wiki.space import Wiki
from pecia.features.wiki.space_write import MergeBase, SpaceWrite, begin_system_write
from pecia.features.wiki.storage import disk
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import Collision

MAX_RETRIES = 5
MAX_SUBJECT_CHARS = 200


@dataclass(frozen=True, slots=True)
class RemoteState:
    """The remote at one commit."""

    tip: str | None
    files: Mapping[str, str]
    """Ids of contents by local path."""
    changes: Mapping[str, RemoteChange] = field(default_factory=dict[str, RemoteChange])


@dataclass(frozen=True, slots=True)
class PullBatch:
    """Files that one author changed: one version."""

    writer: str
    subject: str
    settled: Sequence[str] = ()
    renamed: Sequence[FileRename] = ()


@dataclass(frozen=True, slots=True)
class Puller:
    """For one run."""

    wiki: Wiki
    run: RemoteRun
    copy: RemoteCopy
    paths: SyncedPaths
    remote: RemoteState

    async def apply(self, batch: PullBatch) -> int:
        """One transaction; again if a program changed a file meanwhile. How many files changed."""
        for attempt in range(MAX_RETRIES):
            try:
                return await self._apply(batch)
            except Collision:
                if attempt == MAX_RETRIES - 1:
                    raise
        raise AssertionError("unreachable")

    async def _apply(self, batch: PullBatch) -> int:
        async with begin_system_write(self.wiki, self.paths.place, batch.writer) as writer:
            renamed = [path for it in batch.renamed for path in (it.old, it.new)]
            it = await self._begin(writer, [*batch.settled, *renamed])
            for path in batch.settled:
                await it.settle(path)
            for rename in batch.renamed:
                await it.follow_rename(rename)
            await it.finish(batch.subject)
        return it.written

    async def merge_into_renamed(self, rename: FileRename, writer: str, subject: str) -> int:
        """Merge the remote's change of a file that was renamed here into its new name."""
        async with begin_system_write(self.wiki, self.paths.place, writer) as write:
            it = await self._begin(write, [rename.old, rename.new])
            await it.merge_into_renamed(rename)
            await it.finish(subject)
        return it.written

    async def hold_diverged(self, rename: DivergedRename) -> None:
        """Record that both sides renamed a file."""
        async with begin_system_write(self.wiki, self.paths.place, "") as writer:
            it = await self._begin(writer, [rename.old])
            await it.hold_diverged(rename)
            await it.finish("")

    async def _begin(self, writer: SpaceWrite, paths: Sequence[str]) -> "_PullWrite":
        rows = RemoteRows(writer.tx, self.run)
        await rows.hold()
        bases = await rows.load_bases([self.paths.place.key(it) for it in paths])
        return _PullWrite(self, writer, rows, await rows.load_held(), bases)


@dataclass(slots=True)
class _PullWrite:
    """One transaction."""

    pull: Puller
    writer: SpaceWrite
    rows: RemoteRows
    held: Mapping[str, HeldConflict]
    bases: Mapping[str, str]
    agreed: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """What both sides have in common from now on."""
    documents: list[str] = field(default_factory=list[str])
    merged_writers: list[str] = field(default_factory=list[str])
    """Whose changes here were merged with the remote's."""
    written: int = 0

    async def settle(self, path: str) -> None:
        """The file, its base and its conflict."""
        base_id, remote_id = self._base_id(path), self.pull.remote.files.get(path)
        local = await self.writer.read(path)
        local_id = None if local is None else content_id(local)
        change = compare(base_id, local_id, remote_id)
        if change is SideChange.LOCAL:
            held = self.held.get(self._key(path))
            if held is not None and held.remote_id != remote_id:
                # The remote has what both had in common again.
                await self.rows.drop_conflicts([self._key(path)])
            return
        if change is not SideChange.SAME:
            remote = await self._read(remote_id)
            base = await self._read(base_id) if change is SideChange.BOTH else None
            done = await self._settle(base_id, base, local, remote, change)
            if done.is_conflict:
                found = NewConflict(base, remote, remote_id)
                await self._put_conflict(path, found, path)
                return
            await self._note_writers(path, change)
            await self._write(path, local, done.body)
        self._agree(path, remote_id)

    async def follow_rename(self, it: FileRename) -> None:
        """Rename the file here too, with what both sides changed in it; without a rename where that
        is not possible."""
        base_id, remote_id = self._base_id(it.old), self.pull.remote.files[it.new]
        local = await self.writer.read(it.old)
        is_free = not disk.exists(self.pull.paths.place.root, it.new)
        if base_id is not None and local is not None and is_free:
            base, remote = await self._read(base_id), await self._read(remote_id)
            change = compare(base_id, content_id(local), remote_id)
            done = await self._settle(base_id, base, local, remote, change)
            is_whole = done.body is not None and not done.is_conflict
            if is_whole and self._base_id(it.new) is None:
                await self._note_writers(it.old, change)
                await self._write(it.old, local, done.body)
                pairs = [(it.old, it.new)] if split_extension(it.old)[1] else []
                await self.writer.move(it.old, it.new, pairs)
                self._note(it.new)
                self._agree(it.old, None)
                self._agree(it.new, remote_id)
                return
        await self.settle(it.old)
        await self.settle(it.new)

    async def merge_into_renamed(self, it: FileRename) -> None:
        base_id, remote_id = self._base_id(it.old), self.pull.remote.files[it.old]
        local, old = await self.writer.read(it.new), await self.writer.read(it.old)
        if base_id is not None and local is not None and old is None:
            base, remote = await self._read(base_id), await self._read(remote_id)
            change = compare(base_id, content_id(local), remote_id)
            done = await self._settle(base_id, base, local, remote, change)
            if done.body is not None and not done.is_conflict:
                # The name is a change of somebody here, also where the text is none.
                await self._note_writers(it.new, SideChange.BOTH, base=it.old)
                await self._write(it.new, local, done.body)
                self._agree(it.old, remote_id)
                return
        await self.settle(it.old)

    async def hold_diverged(self, it: DivergedRename) -> None:
        local, old = await self.writer.read(it.local), await self.writer.read(it.old)
        base_id = self._base_id(it.old)
        if local is None or old is not None or base_id is None:
            return
        found = NewConflict(await self._read(base_id), None, None, renamed_to=self._key(it.remote))
        await self._put_conflict(it.local, found, it.remote)
        self._agree(it.old, None)

    async def finish(self, subject: str) -> None:
        """The bases, and one version of all documents."""
        await self.rows.set_bases(self.agreed)
        await self.rows.drop_conflicts([*self.agreed])
        if self.documents:
            names = [split_extension(it)[0] for it in self.documents]
            first, more = names[0], len(names) - 1
            title = f"import: {first} and {more} more" if more else f"import: {first}"
            summary = parse_summary(subject[:MAX_SUBJECT_CHARS])
            await self.writer.record(title, names, summary, others=self.merged_writers)

    async def _settle(
        self,
        base_id: str | None,
        base: bytes | None,
        local: bytes | None,
        remote: bytes | None,
        change: SideChange,
    ) -> SettledFile:
        if change is not SideChange.BOTH:
            return SettledFile(remote if change is SideChange.REMOTE else local)
        is_known = base_id is None or base is not None
        if sum(len(it or b"") for it in (base, local, remote)) <= MAX_INLINE_BYTES:
            return settle_file(base, local, remote, is_base_known=is_known)
        if not is_known:
            return SettledFile(local, is_conflict=True)
        tenant_id = self.pull.run.tenant_id
        return await compute(tenant_id, settle_file, base, local, remote)

    async def _write(self, path: str, local: bytes | None, body: bytes | None) -> None:
        if body == local:
            return
        if body is None:
            await self.writer.remove(path)
        else:
            await self.writer.write(path, body, MergeBase.DOCUMENT)
        self.written += 1
        self._note(path)

    async def _note_writers(self, path: str, change: SideChange, base: str | None = None) -> None:
        """Before a file is merged; `base` is the name that it had when both sides were equal."""
        if change is SideChange.BOTH:
            key = self._key(base or path)
            times = await self.rows.load_base_times([key])
            history = self.pull.wiki.recovery.history(self.pull.paths.place)
            found = await load_local_changes(history, path, times.get(key))
            self.merged_writers += found.writers

    def _note(self, path: str) -> None:
        if split_extension(path)[1]:
            self.documents.append(path)

    def _agree(self, path: str, content: str | None) -> None:
        self.agreed[self._key(path)] = content

    async def _put_conflict(self, path: str, found: NewConflict, remote_path: str) -> None:
        change = self.pull.remote.changes.get(remote_path)
        await self.rows.put_conflict(self._key(path), found, self.pull.remote.tip or "", change)

    def _base_id(self, path: str) -> str | None:
        key = self._key(path)
        return self.agreed[key] if key in self.agreed else self.bases.get(key)

    async def _read(self, content: str | None) -> bytes | None:
        return None if content is None else await self.pull.copy.read(content)

    def _key(self, path: str) -> str:
        return self.pull.paths.place.key(path)
