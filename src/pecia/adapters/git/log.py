"""Who changed what, newest first, through renames. Blocking."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import pygit2
from pygit2.enums import DeltaStatus, SortMode

from pecia.adapters.git.libgit2 import to_commit
from pecia.adapters.git.model import Commit, FileHistoryEntry, GitChangeKind, require_valid_path
from pecia.adapters.git.tree import Oid, entry_at, size_of

# Comparing everything with everything is for small commits of small files.
_MAX_RENAMES = 200
_MAX_COMPARED_BYTES = 1_000_000


def walk_commits(repository: pygit2.Repository, tips: Iterable[Oid]) -> Iterator[pygit2.Commit]:
    """Every commit that a tip leads to, each before its parents."""
    walker: pygit2.Walker | None = None
    for tip in dict.fromkeys(tips):
        if walker is None:
            walker = repository.walk(tip, SortMode.TOPOLOGICAL | SortMode.TIME)
        else:
            walker.push(tip)
    if walker is not None:
        yield from walker


def walk_file_history(
    repository: pygit2.Repository, tips: Iterable[Oid], path: str, max_commits: int
) -> Iterator[FileHistoryEntry | None]:
    """The history of one file. None says that the limit of commits was reached."""
    tips = list(tips)
    tracker = _RenameTracker(repository)
    for tip in tips:
        tracker.want(tip, require_valid_path(path))
    for number, commit in enumerate(walk_commits(repository, tips)):
        if number == max_commits:
            yield None
            return
        yield from tracker.visit(commit)
        if tracker.ended:
            return


def describe_step(
    repository: pygit2.Repository, commit: pygit2.Commit, path: str
) -> FileHistoryEntry | None:
    """What a commit did to a file; None where it did nothing."""
    return _RenameTracker(repository).describe(commit, path)


def changed_files_of(commit: pygit2.Commit) -> set[str]:
    """The files that a commit added, changed or removed, compared with its first parent."""
    before = commit.parents[0].tree if commit.parents else None
    diff = before.diff_to_tree(commit.tree) if before else commit.tree.diff_to_tree(swap=True)
    return {side.path for it in diff.deltas for side in (it.old_file, it.new_file)}


def last_touched(
    repository: pygit2.Repository, tip: pygit2.Commit, max_commits: int
) -> dict[str, Commit]:
    """For each file of this commit the commit that last changed it, if known.

    At the edge of a shallow clone it is not: every file looks new there.
    """
    found: dict[str, Commit] = {}
    edge = _shallow_edge(repository)
    for number, commit in enumerate(walk_commits(repository, [tip.id])):
        if number == max_commits:
            break
        # What a merge brings in was changed on one of its sides, not by the merge.
        if str(commit.id) in edge or len(commit.parents) > 1:
            continue
        for path in _changed_paths(commit):
            if path not in found:
                found[path] = to_commit(commit)
    return {path: commit for path, commit in found.items() if entry_at(tip.tree, path) is not None}


def walk_removed_files(
    repository: pygit2.Repository, tip: pygit2.Commit, max_commits: int
) -> Iterator[tuple[pygit2.Commit, str]]:
    """The files that were removed before this commit and are not in it, with what removed each.

    A file that was renamed without a change is not among them.
    """
    seen: set[str] = set()
    for commit in islice(walk_commits(repository, [tip.id]), max_commits):
        if not commit.parents:
            continue
        deltas = [*commit.parents[0].tree.diff_to_tree(commit.tree).deltas]
        added = {it.new_file.id for it in deltas if it.status == DeltaStatus.ADDED}
        for it in (it.old_file for it in deltas if it.status == DeltaStatus.DELETED):
            is_gone = it.path not in seen and entry_at(tip.tree, it.path) is None
            seen.add(it.path)
            if is_gone and it.id not in added:
                yield commit, it.path


class _RenameTracker:
    """Which name of the file to look for in which commit, as the walk goes back."""

    def __init__(self, repository: pygit2.Repository) -> None:
        self._repository = repository
        self._wanted: dict[Oid, set[str]] = {}

    @property
    def ended(self) -> bool:
        return not self._wanted

    def want(self, oid: Oid, path: str) -> None:
        self._wanted.setdefault(oid, set()).add(path)

    def visit(self, commit: pygit2.Commit) -> Iterator[FileHistoryEntry]:
        for path in sorted(self._wanted.pop(commit.id, ())):
            step = self.describe(commit, path)
            earlier = path if step is None or step.came_from is None else step.came_from
            for parent in commit.parent_ids:
                self.want(parent, earlier)
            if step is not None:
                yield step

    def describe(self, commit: pygit2.Commit, path: str) -> FileHistoryEntry | None:
        mine = _state(commit, path)
        before = [_state(parent, path) for parent in commit.parents] or [None]
        # A merge that agrees with one side changed nothing itself.
        if mine in before:
            return None
        if mine is None:
            return FileHistoryEntry(to_commit(commit), GitChangeKind.REMOVED, path)
        if any(it is not None for it in before):
            return FileHistoryEntry(to_commit(commit), GitChangeKind.CHANGED, path)
        old = self._old_name(commit, path)
        return FileHistoryEntry(
            to_commit(commit), GitChangeKind.RENAMED if old else GitChangeKind.ADDED, path, old
        )

    def _old_name(self, commit: pygit2.Commit, path: str) -> str | None:
        if not commit.parents:
            return None
        diff = commit.parents[0].tree.diff_to_tree(commit.tree)
        new = entry_at(commit.tree, path)
        gone = [it.old_file for it in diff.deltas if it.status == DeltaStatus.DELETED]
        same = [it.path for it in gone if new is not None and it.id == new.id]
        if same:
            return same[0]
        if not gone or len(diff) > _MAX_RENAMES or not self._is_comparable(diff):
            return None
        diff.find_similar(rename_limit=_MAX_RENAMES)
        renamed = (it for it in diff.deltas if it.status == DeltaStatus.RENAMED)
        return next((it.old_file.path for it in renamed if it.new_file.path == path), None)

    def _is_comparable(self, diff: pygit2.Diff) -> bool:
        sides = (side for delta in diff.deltas for side in (delta.old_file, delta.new_file))
        present = (it.id for it in sides if it.id in self._repository)
        return all(size_of(self._repository, it) <= _MAX_COMPARED_BYTES for it in present)


def _state(commit: pygit2.Commit, path: str) -> tuple[Oid, int] | None:
    entry = entry_at(commit.tree, path)
    return None if entry is None else (entry.id, int(entry.filemode))


def _changed_paths(commit: pygit2.Commit) -> list[str]:
    before = commit.parents[0].tree if commit.parents else None
    diff = before.diff_to_tree(commit.tree) if before else commit.tree.diff_to_tree(swap=True)
    return [it.new_file.path for it in diff.deltas if it.status != DeltaStatus.DELETED]


def _shallow_edge(repository: pygit2.Repository) -> frozenset[str]:
    if not repository.is_shallow:
        return frozenset()
    return frozenset((Path(repository.path) / "shallow").read_text(encoding="ascii").split())
