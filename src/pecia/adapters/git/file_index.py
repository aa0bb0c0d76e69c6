"""Which commits of a history changed which file, kept in memory: reading a document's latest
versions must not walk through everybody's.

Only for histories without merges, as ours are unless another program commits too. Blocking.
"""

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import pygit2

from pecia.adapters.git.log import changed_files_of, describe_step
from pecia.adapters.git.model import FileHistoryEntry

MAX_REPOSITORIES = 32


@dataclass(slots=True)
class _FileIndex:
    """Commits from the first to `commits[-1]`; by path, the positions of those that changed it."""

    commits: list[pygit2.Oid] = field(default_factory=list[pygit2.Oid])
    positions: dict[str, list[int]] = field(default_factory=dict[str, list[int]])

    def add(self, commit: pygit2.Commit) -> None:
        for path in [*changed_files_of(commit)]:
            self.positions.setdefault(path, []).append(len(self.commits))
        self.commits.append(commit.id)


_indexes: "OrderedDict[Path, _FileIndex]" = OrderedDict()
_lock = Lock()


def find_file_steps(
    repository: pygit2.Repository, place: Path, tip: pygit2.Oid, path: str, max_commits: int
) -> Iterator[FileHistoryEntry] | None:
    """The life of one file up to `tip`, newest first, through renames; None where the history has
    merges or more commits than this."""
    with _lock:
        index = _update(repository, place, tip, max_commits)
        if index is None:
            return None
        _indexes.move_to_end(place)
        while len(_indexes) > MAX_REPOSITORIES:
            _indexes.popitem(last=False)
        # Other threads only append to it, behind this.
        count = len(index.commits)
    return _steps(repository, index, count, path)


def _update(
    repository: pygit2.Repository, place: Path, tip: pygit2.Oid, max_commits: int
) -> _FileIndex | None:
    known = _indexes.get(place)
    last = known.commits[-1] if known and known.commits else None
    news: list[pygit2.Commit] = []
    at: pygit2.Oid | None = tip
    while at is not None and at != last:
        commit = repository[at].peel(pygit2.Commit)
        if len(commit.parent_ids) > 1 or len(news) >= max_commits:
            return None
        news.append(commit)
        at = commit.parent_ids[0] if commit.parent_ids else None
    # Met its first commit without the last known one: the history was rewritten.
    index = known if known is not None and at is not None else _FileIndex()
    for commit in reversed(news):
        index.add(commit)
    _indexes[place] = index
    return index


def _steps(
    repository: pygit2.Repository, index: _FileIndex, before: int, path: str
) -> Iterator[FileHistoryEntry]:
    while True:
        found = index.positions.get(path, [])
        at = bisect_left(found, before) - 1
        if at < 0:
            return
        before = found[at]
        step = describe_step(
            repository, repository[index.commits[before]].peel(pygit2.Commit), path
        )
        if step is not None:
            yield step
            path = step.came_from or path
