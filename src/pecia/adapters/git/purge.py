"""History rewritten without some paths, and not one byte of them left in the repository. Blocking.

Every step leaves a repository that works, and running it again finishes what was interrupted.
It cannot reach copies that others fetched, nor blocks of the disk that were freed.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

import pygit2
from pygit2.enums import FileMode, ObjectType, ReferenceType, SortMode

from pecia.adapters.git.durable import sync_paths
from pecia.adapters.git.libgit2 import open_repository
from pecia.adapters.git.model import HistoryPurgeResult, require_valid_path
from pecia.adapters.git.tree import Oid, entry_at, write_tree
from pecia.kernel.errors import InternalError

Reword: TypeAlias = Callable[[str], str]


def purge_paths(place: Path, paths: Iterable[str], reword: Reword) -> HistoryPurgeResult:
    """Take these files or folders out of every commit of every reference.

    A commit that then changes nothing is dropped with its message. The messages of the others go
    through `reword`, which may take out names and summaries.
    """
    doomed = frozenset(require_valid_path(path, field="paths") for path in paths)
    with open_repository(place) as repository:
        rewrite = _Rewrite(repository, doomed, reword)
        rewrite.run()
    # The references must not be older than the pack, which has nothing else.
    sync_paths(place, sorted(place.rglob("*")))
    compact_repository(place)
    with open_repository(place) as repository:
        held = tuple(sorted(str(oid) for oid in rewrite.removed if oid in repository))
    return HistoryPurgeResult(rewrite.rewritten, rewrite.dropped, held)


def compact_repository(place: Path) -> None:
    """Everything a reference leads to in one pack, everything else gone."""
    with open_repository(place) as repository:
        pack = _write_pack(repository, place / "objects")
    _remove_all_but(pack, place / "objects")
    shutil.rmtree(place / "logs", ignore_errors=True)
    for name in ("FETCH_HEAD", "ORIG_HEAD"):
        (place / name).unlink(missing_ok=True)


@dataclass
class _Rewrite:
    repository: pygit2.Repository
    purged_paths: frozenset[str]
    reword: Reword
    removed: set[Oid] = field(default_factory=set[Oid])
    rewritten: int = 0
    dropped: int = 0
    _new_by_old: dict[Oid, Oid | None] = field(default_factory=dict[Oid, Oid | None])

    @cached_property
    def _empty(self) -> Oid:
        return self.repository.TreeBuilder().write()

    def run(self) -> None:
        for commit in _every_commit(self.repository):
            self._new_by_old[commit.id] = self._rewritten(commit)
        for reference in _references(self.repository):
            new = self._resolve_moved(Oid(hex=str(reference.target)))
            if new is None:
                reference.delete()
            elif new != reference.target:
                reference.set_target(new)

    def _rewritten(self, commit: pygit2.Commit) -> Oid | None:
        tree = self._clean_tree(commit.tree)
        mapped = (self._new_by_old[parent] for parent in commit.parent_ids)
        parents = list(dict.fromkeys(parent for parent in mapped if parent is not None))
        if tree == commit.tree.id and parents == list(commit.parent_ids):
            return commit.id
        if self._says_nothing(commit, tree, parents):
            self.dropped += 1
            return parents[0] if parents else None
        self.rewritten += 1
        message = self.reword(commit.raw_message.decode(errors="surrogateescape"))
        raw = message.encode(errors="surrogateescape")
        return self.repository.create_commit(
            None, commit.author, commit.committer, raw, tree, parents
        )

    def _says_nothing(self, commit: pygit2.Commit, tree: Oid, parents: list[Oid]) -> bool:
        """Whether it was about the purged paths alone. A commit that was empty before is kept."""
        before = commit.parents[0].tree.id if commit.parents else self._empty
        now = self.repository[parents[0]].peel(pygit2.Tree).id if parents else self._empty
        return len(parents) <= 1 and before != commit.tree.id and tree == now

    def _clean_tree(self, tree: pygit2.Tree) -> Oid:
        found = [entry_at(tree, path) for path in self.purged_paths]
        doomed = [entry for entry in found if entry is not None]
        if not doomed:
            return tree.id
        self.removed.update(oid for entry in doomed for oid in _blobs(entry))
        return write_tree(self.repository, tree, dict.fromkeys(self.purged_paths))

    def _resolve_moved(self, oid: Oid) -> Oid | None:
        """What a reference to this object should name now."""
        if oid in self._new_by_old:
            return self._new_by_old[oid]
        target = self.repository[oid]
        if isinstance(target, pygit2.Tree):
            return self._clean_tree(target)
        if isinstance(target, pygit2.Tag):
            return self._moved_tag(target)
        return None if oid in self.removed else oid

    def _moved_tag(self, tag: pygit2.Tag) -> Oid | None:
        new = self._resolve_moved(tag.target)
        if new is None or new == tag.target:
            return None if new is None else tag.id
        raw = tag.read_raw().replace(str(tag.target).encode(), str(new).encode(), 1)
        return self.repository.odb.write(ObjectType.TAG, raw)


def _references(repository: pygit2.Repository) -> Iterator[pygit2.Reference]:
    for name in list(repository.references):
        reference = repository.references[name]
        if reference.type == ReferenceType.DIRECT:
            yield reference


def _every_commit(repository: pygit2.Repository) -> Iterator[pygit2.Commit]:
    """Each commit after its parents."""
    walker: pygit2.Walker | None = None
    for reference in _references(repository):
        try:
            tip = reference.peel(pygit2.Commit).id
        except pygit2.InvalidSpecError:
            continue
        if walker is None:
            walker = repository.walk(tip, SortMode.TOPOLOGICAL | SortMode.REVERSE)
        else:
            walker.push(tip)
    yield from walker or ()


def _blobs(entry: pygit2.Object) -> Iterator[Oid]:
    if isinstance(entry, pygit2.Tree):
        for child in entry:
            yield from _blobs(child)
    elif entry.filemode != FileMode.COMMIT:
        yield entry.id


def _reachable(repository: pygit2.Repository) -> set[Oid]:
    seen: set[Oid] = set()
    waiting = [Oid(hex=str(reference.target)) for reference in _references(repository)]
    while waiting:
        oid = waiting.pop()
        if oid not in seen:
            seen.add(oid)
            waiting.extend(_named_by(repository[oid]))
    return seen


def _named_by(target: pygit2.Object) -> Iterator[Oid]:
    if target.type == ObjectType.COMMIT:
        commit = target.peel(pygit2.Commit)
        yield commit.tree_id
        yield from commit.parent_ids
    elif isinstance(target, pygit2.Tag):
        yield target.target
    elif isinstance(target, pygit2.Tree):
        yield from (entry.id for entry in target if entry.filemode != FileMode.COMMIT)


def _write_pack(repository: pygit2.Repository, objects: Path) -> str:
    """One pack of everything that counts, safely on the disk; its name without the ending."""
    wanted = _reachable(repository)
    if not wanted:
        return ""
    with TemporaryDirectory(prefix="repack-", dir=objects) as folder:
        builder = pygit2.PackBuilder(repository)
        for oid in wanted:
            builder.add(oid)
        builder.write(folder)
        if builder.written_objects_count != len(wanted):
            raise InternalError("the new pack is not complete, the old one stays")
        packed = next(Path(folder).glob("*.pack"))
        # Readers look for the index, so it comes last.
        for file in (packed, packed.with_suffix(".idx")):
            _sync(file)
            file.replace(objects / "pack" / file.name)
        _sync(objects / "pack")
    return packed.stem


def _remove_all_but(pack: str, objects: Path) -> None:
    for file in (objects / "pack").iterdir():
        if file.stem != pack or file.suffix not in (".pack", ".idx"):
            file.unlink()
    for folder in objects.iterdir():
        if re.fullmatch(r"[0-9a-f]{2}|info|repack-.*", folder.name):
            shutil.rmtree(folder)
        elif folder.name != "pack":
            folder.unlink()


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
