"""A branch of a remote repository, with our copy of it: fetched, read, committed to and pushed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

import pygit2
from anyio.to_thread import run_sync
from pygit2.enums import SortMode

from pecia.adapters.git import log, tree, write
from pecia.adapters.git.fetch import (
    GitBranchUpdate,
    GitCredentials,
    GitFetchLimits,
    GitFetchPolicy,
    fetch,
    push,
)
from pecia.adapters.git.libgit2 import open_repository, resolve_commit, to_commit
from pecia.adapters.git.model import Commit, CommitDraft, GitSignature
from pecia.kernel.errors import InvalidFormat, NotFound

T = TypeVar("T")

MAX_FILES = 200_000
MAX_BLOB_BYTES = 20_000_000
MAX_WALKED = 2_000
"""Commits of one fetch whose files are looked at; files of older ones have no known author."""
COMMITTER = ("Pecia", "sync@pecia.local")
DEFAULT_BRANCH = "main"


@dataclass(frozen=True, slots=True)
class RemoteBranchFiles:
    """The files of a commit: ids by path, and why others are left out."""

    files: Mapping[str, str]
    skipped: Mapping[str, str]


@dataclass(slots=True)
class RemoteBranch:
    """One branch; None is the default one of the repository, known after `fetch`."""

    url: str
    copy: Path
    branch: str | None
    trust: GitFetchPolicy
    credentials: GitCredentials | None = None
    limits: GitFetchLimits | None = None

    async def fetch(self) -> str | None:
        """Bring the copy up to date: the branch's commit; None in a repository without commits."""
        found = await fetch(
            self.url, self.copy, self.trust, credentials=self.credentials, limits=self.limits
        )
        if self.branch is None:
            head = found.head or f"refs/heads/{DEFAULT_BRANCH}"
            self.branch = head.removeprefix("refs/heads/")
        tip = found.references.get(f"refs/heads/{self.branch}")
        others = [it for it in found.references if it.startswith("refs/heads/")]
        if tip is None and others:
            names = sorted(it.removeprefix("refs/heads/") for it in others)
            raise NotFound(
                f"the remote has no branch {self.branch!r}",
                field="branch",
                got=self.branch,
                allowed=[*names[:20]],
            )
        return tip

    async def list_files(self, commit: str) -> RemoteBranchFiles:
        def list_all(repository: pygit2.Repository) -> RemoteBranchFiles:
            found = tree.list_tree(repository, resolve_commit(repository, commit), MAX_FILES)
            files: dict[str, str] = {}
            skipped = dict(found.skipped)
            for it in found.files:
                if it.size_bytes > MAX_BLOB_BYTES:
                    skipped[it.path] = f"has more than {MAX_BLOB_BYTES} bytes"
                else:
                    files[it.path] = it.oid
            return RemoteBranchFiles(files, skipped)

        return await self._with(list_all)

    async def read(self, content_id: str) -> bytes | None:
        def read_one(repository: pygit2.Repository) -> bytes | None:
            oid = pygit2.Oid(hex=content_id)
            if oid not in repository:
                return None
            return tree.read_blob(repository, oid, MAX_BLOB_BYTES)

        return await self._with(read_one)

    async def contains(self, tip: str, commit: str) -> bool:
        def is_there(repository: pygit2.Repository) -> bool:
            old, new = pygit2.Oid(hex=commit), pygit2.Oid(hex=tip)
            return old == new or (old in repository and repository.descendant_of(new, old))

        return await self._with(is_there)

    async def diff(self, old: str | None, new: str) -> dict[str, str | None]:
        """The files that differ, with their new ids."""

        def compare(repository: pygit2.Repository) -> dict[str, str | None]:
            after = resolve_commit(repository, new).tree
            before = None if old is None else resolve_commit(repository, old).tree
            found = before.diff_to_tree(after) if before else after.diff_to_tree(swap=True)
            changed = {side.path for it in found.deltas for side in (it.old_file, it.new_file)}
            entries = {path: tree.entry_at(after, path) for path in changed}
            return {path: None if it is None else str(it.id) for path, it in entries.items()}

        return await self._with(compare)

    async def last_changes(self, old: str | None, new: str) -> dict[str, Commit]:
        """For the files that commits since `old` changed, the last of these, as far as known."""

        def walk(repository: pygit2.Repository) -> dict[str, Commit]:
            order = SortMode.TOPOLOGICAL | SortMode.TIME
            walker = repository.walk(pygit2.Oid(hex=new), order)
            if old is not None and pygit2.Oid(hex=old) in repository:
                walker.hide(pygit2.Oid(hex=old))
            found: dict[str, Commit] = {}
            for commit in islice(walker, MAX_WALKED):
                if len(commit.parent_ids) < 2:
                    for path in log.changed_files_of(commit):
                        found.setdefault(path, to_commit(commit))
            return found

        return await self._with(walk)

    async def commit(
        self,
        parent: str | None,
        changes: Mapping[str, bytes | None],
        author: tuple[str, str],
        message: str,
    ) -> str | None:
        """A commit that no branch has yet; None where it would change nothing."""
        draft = CommitDraft(
            "refs/pecia/draft",
            changes,
            GitSignature(*author),
            message,
            GitSignature(*COMMITTER),
            parents=() if parent is None else (parent,),
        )
        made = await self._with(lambda repository: write.prepare_commit(repository, draft))
        return None if made is None else made.oid

    async def push(self, old: str | None, new: str) -> bool:
        """Advance the branch, never by force; False where it is not at `old` any more."""
        update = GitBranchUpdate(f"refs/heads/{self.branch}", old, new)
        return await push(
            self.url,
            self.copy,
            update,
            self.trust,
            credentials=self.credentials,
            limits=self.limits,
        )

    async def _with(self, work: Callable[[pygit2.Repository], T]) -> T:
        return await run_sync(_in_repository, self.copy, work)


def require_branch_name(name: str) -> str:
    if not pygit2.reference_is_valid_name(f"refs/heads/{name}"):
        raise InvalidFormat(f"{name!r} is not the name of a branch", field="branch", got=name[:200])
    return name


def _in_repository(place: Path, work: Callable[[pygit2.Repository], T]) -> T:
    with open_repository(place) as repository:
        return work(repository)
