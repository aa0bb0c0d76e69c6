"""A git repository without blocking: any one to read, and a bare one of ours to write.

Each call opens the repository anew in a thread, so that no handle is shared between threads and
none outlives a purge. It never runs a program, a hook or a filter.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import anyio
import pygit2
from anyio.to_thread import run_sync
from pygit2.enums import ReferenceType

from pecia.adapters.git import diff, log, purge, tree, write
from pecia.adapters.git.file_index import find_file_steps
from pecia.adapters.git.libgit2 import open_repository, resolve_commit, to_commit
from pecia.adapters.git.model import (
    Commit,
    CommitDraft,
    FileDiff,
    FileHistoryEntry,
    GitSignature,
    GitTreeListing,
    HistoryPurgeResult,
    require_valid_path,
)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GitReadLimits:
    """How much is read of a repository, which may have been made to hurt."""

    entries: int = 1_000_000
    file_bytes: int = 100_000_000
    diff_bytes: int = 5_000_000
    commits: int = 100_000


@dataclass(frozen=True, slots=True)
class FileHistoryPage:
    """Steps of a history, newest first."""

    steps: tuple[FileHistoryEntry, ...]
    has_more: bool


@dataclass(frozen=True, slots=True)
class CommitLog:
    """Commits, newest first."""

    commits: tuple[Commit, ...]
    has_more: bool


class Repository:
    """A repository to read: ours, a clone, or a folder somebody works in."""

    def __init__(self, place: Path, bounds: GitReadLimits | None = None) -> None:
        self.place = place
        self.bounds = bounds or GitReadLimits()

    async def commit(self, ref: str) -> Commit:
        """The commit that a branch, tag, reference or id names."""
        return await self._with(lambda repository: to_commit(resolve_commit(repository, ref)))

    async def references(self, prefix: str = "refs/") -> Mapping[str, str]:
        """The references under a prefix, and the id that each names."""
        return await self._with(lambda repository: _references(repository, prefix))

    async def tree(self, ref: str) -> GitTreeListing:
        """Every file of a commit with its mode, id and size."""

        def list_all(repository: pygit2.Repository) -> GitTreeListing:
            commit = resolve_commit(repository, ref)
            return tree.list_tree(repository, commit, self.bounds.entries)

        return await self._with(list_all)

    async def read(self, ref: str, path: str) -> bytes:
        """One file as of a commit."""

        def read_one(repository: pygit2.Repository) -> bytes:
            commit = resolve_commit(repository, ref)
            return tree.read_file(repository, commit, path, self.bounds.file_bytes)

        return await self._with(read_one)

    async def log(self, refs: Sequence[str], *, limit: int = 50, offset: int = 0) -> CommitLog:
        """What led to any of these references."""

        def walk(repository: pygit2.Repository) -> CommitLog:
            tips = [resolve_commit(repository, ref).id for ref in refs]
            found = list(islice(log.walk_commits(repository, tips), offset, offset + limit + 1))
            return CommitLog(
                tuple(to_commit(commit) for commit in found[:limit]), len(found) > limit
            )

        return await self._with(walk)

    async def history(
        self, refs: Sequence[str], path: str, *, limit: int = 50, offset: int = 0
    ) -> FileHistoryPage:
        """The life of one file on these references, through renames."""

        def walk(repository: pygit2.Repository) -> FileHistoryPage:
            tips = [resolve_commit(repository, ref).id for ref in refs]
            steps = log.walk_file_history(repository, tips, path, self.bounds.commits)
            found = list(islice(steps, offset, offset + limit + 1))
            shown = tuple(step for step in found[:limit] if step is not None)
            return FileHistoryPage(shown, len(found) > limit or None in found)

        return await self._with(walk)

    async def last_touched(self, ref: str) -> Mapping[str, Commit]:
        """For each file of a commit who changed it last, where the history reaches that far."""

        def walk(repository: pygit2.Repository) -> Mapping[str, Commit]:
            tip = resolve_commit(repository, ref)
            return log.last_touched(repository, tip, self.bounds.commits)

        return await self._with(walk)

    async def diff(
        self, old: str | None, new: str, *, path: str | None = None
    ) -> tuple[FileDiff, ...]:
        """What the newer commit changed; without an older one, everything is new."""

        def compare(repository: pygit2.Repository) -> tuple[FileDiff, ...]:
            before = None if old is None else resolve_commit(repository, old)
            after = resolve_commit(repository, new)
            limit = self.bounds.diff_bytes
            return tuple(diff.diff_commits(repository, before, after, path=path, max_bytes=limit))

        return await self._with(compare)

    async def _with(self, work: Callable[[pygit2.Repository], T]) -> T:
        return await run_sync(_in_repository, self.place, work)


class HistoryRepository(Repository):
    """A bare repository of ours beside the content. One writer at a time; one process owns it."""

    def __init__(
        self, place: Path, bounds: GitReadLimits | None = None, *, branch: str = "main"
    ) -> None:
        super().__init__(place, bounds)
        self.ref = f"refs/heads/{branch}"
        self._writing = anyio.Lock()

    @classmethod
    async def open(cls, place: Path, *, branch: str = "main") -> "HistoryRepository":
        """The history at this place, made when there is none."""
        await run_sync(write.create_bare_repository, place, branch)
        return cls(place, branch=branch)

    async def tip(self) -> str | None:
        """The latest commit of the branch; None before the first one."""

        def read_tip(repository: pygit2.Repository) -> str | None:
            found = repository.references.get(self.ref)
            return None if found is None else str(found.target)

        return await self._with(read_tip)

    async def find_differing(self, ref: str | None, files: Mapping[str, bytes | None]) -> list[str]:
        """The paths that have another content in a commit, or none of these; by ids, so that
        nothing of the commit is read but its folders."""
        if ref is None:
            return [path for path, body in files.items() if body is not None]

        def compare(repository: pygit2.Repository) -> list[str]:
            root = resolve_commit(repository, ref).tree
            return [path for path, it in files.items() if not tree.is_content(root, path, it)]

        return await self._with(compare)

    async def list_paths(self, ref: str) -> list[str]:
        """Every file of a commit."""
        return [it.path for it in (await self.tree(ref)).files]

    async def file_commits(self, path: str, limit: int) -> list[tuple[Commit, str]]:
        """The commits of the branch that changed a file, newest first, with its path then."""

        def find(repository: pygit2.Repository) -> list[FileHistoryEntry] | None:
            tip = repository.references.get(self.ref)
            if tip is None:
                return []
            oid = resolve_commit(repository, str(tip.target)).id
            valid = require_valid_path(path)
            steps = find_file_steps(repository, self.place, oid, valid, self.bounds.commits)
            return None if steps is None else list(islice(steps, limit))

        found = await self._with(find)
        if found is None:
            found = (await self.history([self.ref], path, limit=limit)).steps
        return [(it.commit, it.path) for it in found]

    async def removed_files(self, limit: int) -> list[tuple[Commit, str, str]]:
        """Files of former commits of the branch: what removed each, and the last that has it."""

        def walk(repository: pygit2.Repository) -> list[tuple[Commit, str, str]]:
            tip = resolve_commit(repository, self.ref)
            found = log.walk_removed_files(repository, tip, self.bounds.commits)
            return [
                (to_commit(commit), path, str(commit.parent_ids[0]))
                for commit, path in islice(found, limit)
            ]

        return await self._with(walk)

    async def prepare(
        self,
        changes: Mapping[str, bytes | None],
        message: str,
        *,
        parent: str | None,
        author: tuple[str, str],
        kept: bool = False,
    ) -> str | None:
        """A commit that is not in history until `advance`; None if it would change nothing.

        `author` is a name and an address. Unavailable while the branch could not advance.
        """
        parents = () if parent is None else (parent,)
        draft = CommitDraft(
            self.ref, changes, GitSignature(*author), message, parents=parents, kept=kept
        )
        made = await self._write(lambda repository: write.prepare_commit(repository, draft))
        return None if made is None else made.oid

    async def advance(self, base: str | None, tip: str) -> None:
        """Put prepared commits into history, the last of which is `tip`. Idempotent."""
        await self._write(
            lambda repository: write.advance_reference(repository, self.ref, base, tip)
        )

    async def record(self, draft: CommitDraft) -> Commit | None:
        """Commit a draft. None says that it changed nothing."""
        return await self._write(lambda repository: write.write_commit(repository, draft))

    async def tag(
        self, name: str, ref: str, *, message: str = "", tagger: GitSignature | None = None
    ) -> None:
        """Name a commit for good; with a message and a tagger the tag is a record of its own."""
        await self._write(
            lambda repository: write.write_tag(repository, name, ref, message, tagger)
        )

    async def point(self, reference: str, ref: str | None) -> None:
        """Make a reference name a commit, or remove it."""
        await self._write(lambda repository: write.set_reference(repository, reference, ref))

    async def purge(
        self, paths: Iterable[str], *, reword: Callable[[str], str] | None = None
    ) -> HistoryPurgeResult:
        """Take paths out of all history and leave no byte of them in the repository."""
        async with self._writing:
            return await run_sync(
                purge.purge_paths, self.place, list(paths), reword or _keep_message
            )

    async def compact(self) -> None:
        """Pack what counts and drop what nothing leads to."""
        async with self._writing:
            await run_sync(purge.compact_repository, self.place)

    async def _write(self, work: Callable[[pygit2.Repository], T]) -> T:
        async with self._writing:
            return await self._with(work)


def _in_repository(place: Path, work: Callable[[pygit2.Repository], T]) -> T:
    with open_repository(place) as repository:
        return work(repository)


def _references(repository: pygit2.Repository, prefix: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in repository.references:
        reference = repository.references[name]
        if name.startswith(prefix) and reference.type == ReferenceType.DIRECT:
            found[name] = str(reference.target)
    return found


def _keep_message(message: str) -> str:
    return message
