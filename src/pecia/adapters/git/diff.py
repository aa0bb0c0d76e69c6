"""What differs between two commits, as patches people can read. Blocking."""

from collections.abc import Iterator

import pygit2
from pygit2.enums import DeltaStatus

from pecia.adapters.git.model import FileDiff, GitChangeKind
from pecia.adapters.git.tree import size_of

_KINDS = {
    DeltaStatus.ADDED: GitChangeKind.ADDED,
    DeltaStatus.DELETED: GitChangeKind.REMOVED,
    DeltaStatus.RENAMED: GitChangeKind.RENAMED,
}
_MAX_RENAMES = 200


def diff_commits(
    repository: pygit2.Repository,
    old: pygit2.Commit | None,
    new: pygit2.Commit,
    *,
    path: str | None,
    max_bytes: int,
) -> Iterator[FileDiff]:
    """Each file that differs, or the one at `path` alone. Without `old`, every file is new."""
    diff = old.tree.diff_to_tree(new.tree) if old else new.tree.diff_to_tree(swap=True)
    if len(diff) <= _MAX_RENAMES and _all_within(repository, diff, max_bytes):
        diff.find_similar(rename_limit=_MAX_RENAMES)
    for number, delta in enumerate(diff.deltas):
        if path is None or path in (delta.new_file.path, delta.old_file.path):
            yield _to_file_diff(repository, diff, number, max_bytes)


def _to_file_diff(
    repository: pygit2.Repository, diff: pygit2.Diff, number: int, max_bytes: int
) -> FileDiff:
    delta = list(diff.deltas)[number]
    kind = _KINDS.get(delta.status, GitChangeKind.CHANGED)
    path = delta.old_file.path if kind is GitChangeKind.REMOVED else delta.new_file.path
    came_from = delta.old_file.path if kind is GitChangeKind.RENAMED else None
    if not _is_within(repository, delta, max_bytes):
        return FileDiff(path, kind, came_from, reason="too large")
    patch = diff[number]
    if patch is None or patch.delta.is_binary:
        return FileDiff(path, kind, came_from, reason="binary")
    _, added, removed = patch.line_stats
    text = patch.data.decode(errors="replace")
    return FileDiff(path, kind, came_from, added, removed, text)


def _all_within(repository: pygit2.Repository, diff: pygit2.Diff, max_bytes: int) -> bool:
    return all(_is_within(repository, delta, max_bytes) for delta in diff.deltas)


def _is_within(repository: pygit2.Repository, delta: pygit2.DiffDelta, max_bytes: int) -> bool:
    sides = (side.id for side in (delta.old_file, delta.new_file) if side.id in repository)
    return all(size_of(repository, oid) <= max_bytes for oid in sides)
