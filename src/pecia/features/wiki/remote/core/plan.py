"""What a sync has to do, from the ids of all files on both sides. Pure: no content is read here."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pecia.features.wiki.remote.core.settle import SideChange, compare

FileIds: TypeAlias = Mapping[str, str]
"""The ids of contents, by path."""

MAX_RENAME_PAIRS = 2_000
"""Comparisons of contents for renames; beyond, only identical contents count as one."""
MIN_SIMILARITY = 0.5
MIN_KEPT, MIN_KEPT_LINES = 0.2, 3
"""How much of a file that is gone on both sides a new one has to keep to count as its rename. Less
than for others: two copies would be kept without a word, and a conflict only asks."""
MAX_LOST_SHARE, MIN_LOST = 0.5, 10
"""So many files that are gone at once look like a folder that is not mounted."""


@dataclass(frozen=True, slots=True)
class FileRename:
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class DivergedRename:
    """One file that got another name on each side: whether it is one or two, people decide."""

    old: str
    local: str
    remote: str


@dataclass(frozen=True, slots=True)
class SyncPlan:
    """Paths by what is to be done with them. One that needs nothing is in none."""

    pull: tuple[str, ...] = ()
    """The remote changed them, or both sides did: the remote's state is settled locally."""
    agreed: tuple[str, ...] = ()
    """Equal on both sides, and not recorded so yet."""
    push: tuple[str, ...] = ()
    """Only changed here, and not in conflict."""
    remote_renames: tuple[FileRename, ...] = ()
    """Renamed there. Both paths are in none of the other lists."""
    local_renames: tuple[FileRename, ...] = ()
    """Renamed here and changed there. The old path is in none of the other lists."""
    diverged_renames: tuple[DivergedRename, ...] = ()
    """The old path and the local one are in none of the other lists."""


Similarity: TypeAlias = Callable[[str, str], float]
"""How similar two contents are, by their ids: 0 to 1."""


@dataclass(frozen=True, slots=True)
class ThreeStates:
    """The files in their common state, here and there."""

    base: FileIds
    local: FileIds
    remote: FileIds
    held: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    """Conflicts that nobody has resolved: what the remote had then."""

    def paths(self) -> list[str]:
        return sorted({*self.base, *self.local, *self.remote})

    def change(self, path: str) -> SideChange:
        return compare(self.base.get(path), self.local.get(path), self.remote.get(path))


def plan_sync(
    states: ThreeStates,
    similarity: Similarity = lambda one, other: 0.0,
    kept: Similarity = lambda old, new: 0.0,
) -> SyncPlan:
    """Compare all files. Identical contents always count as similar. `kept` is how much of an old
    content a new one has."""
    changes = {path: states.change(path) for path in states.paths()}
    finder = _Renames(states, similarity, kept)
    there, diverged = finder.there(), finder.find_diverged()
    apart = {it.old for it in diverged}
    here = [it for it in finder.here() if it.old not in apart]
    renamed = {path for it in there for path in (it.old, it.new)} | {it.old for it in here}
    renamed |= {path for it in diverged for path in (it.old, it.local)}
    todo = _Lists()
    for path, change in changes.items():
        if path not in renamed:
            todo.add(states, path, change)
    return SyncPlan(
        tuple(todo.pull),
        tuple(todo.agreed),
        tuple(todo.push),
        tuple(there),
        tuple(here),
        tuple(diverged),
    )


def rename_candidates(states: ThreeStates) -> set[str]:
    """The contents whose similarity can matter to `plan_sync`; empty where there are too many."""
    gone = [it for it in states.base if it not in states.local or it not in states.remote]
    added = {
        content
        for side in (states.local, states.remote)
        for path, content in side.items()
        if path not in states.base
    }
    if not gone or not added or len(gone) * len(added) > MAX_RENAME_PAIRS:
        return set()
    there = {states.remote[it] for it in gone if it in states.remote}
    return added | there | {states.base[it] for it in gone}


def has_lost_folder(base: Iterable[str], local: Iterable[str]) -> bool:
    """Whether so many files are gone here that nobody is likely to have deleted them."""
    known, here = {*base}, {*local}
    lost = len(known - here)
    return lost >= MIN_LOST and lost > MAX_LOST_SHARE * len(known)


def line_similarity(one: str, other: str) -> float:
    """The share of lines that two texts have in common; blank lines do not count."""
    ours, theirs = (Counter(it for it in text.split("\n") if it.strip()) for text in (one, other))
    most = max(ours.total(), theirs.total())
    return (ours & theirs).total() / most if most else 0.0


def kept_share(old: str, new: str) -> float:
    """The share of the old text's lines that the new one has; none for a line or two."""
    ours, theirs = (Counter(it for it in text.split("\n") if it.strip()) for text in (old, new))
    shared = (ours & theirs).total()
    return shared / ours.total() if shared >= MIN_KEPT_LINES else 0.0


@dataclass(slots=True)
class _Lists:
    pull: list[str] = field(default_factory=list[str])
    agreed: list[str] = field(default_factory=list[str])
    push: list[str] = field(default_factory=list[str])

    def add(self, states: ThreeStates, path: str, change: SideChange) -> None:
        theirs = states.remote.get(path)
        is_held = path in states.held
        is_outdated = is_held and states.held[path] != theirs
        if change in (SideChange.REMOTE, SideChange.BOTH) or is_outdated:
            self.pull.append(path)
        elif change is SideChange.SAME:
            if states.base.get(path) != theirs or is_held:
                self.agreed.append(path)
        elif not is_held:
            self.push.append(path)


@dataclass(frozen=True, slots=True)
class _Renames:
    states: ThreeStates
    similarity: Similarity
    kept: Similarity

    def there(self) -> list[FileRename]:
        it = self.states
        gone = [path for path in it.base if path in it.local and path not in it.remote]
        return _pair(gone, self._new(it.remote, it.local), self._contents(it.remote))

    def here(self) -> list[FileRename]:
        """Those that matter: of a file that the remote left alone, a new one and a deletion say
        the same."""
        it = self.states
        gone = [
            path
            for path in it.base
            if path not in it.local and it.remote.get(path, it.base[path]) != it.base[path]
        ]
        return _pair(gone, self._new(it.local, it.remote), self._contents(it.local))

    def find_diverged(self) -> list[DivergedRename]:
        it = self.states
        gone = [path for path in it.base if path not in it.local and self._is_gone_there(path)]
        ours = self._pair_loosely(gone, it.local, it.remote)
        theirs = self._pair_loosely(gone, it.remote, it.local)
        names = {pair.old: pair.new for pair in theirs}
        return [
            DivergedRename(pair.old, pair.new, names[pair.old])
            for pair in ours
            if pair.old in names
        ]

    def _pair_loosely(self, gone: Sequence[str], side: FileIds, other: FileIds) -> list[FileRename]:
        contents = _Contents(self.states.base, side, self._measure_loosely, MIN_KEPT)
        return _pair(gone, self._new(side, other), contents)

    def _measure_loosely(self, old: str, new: str) -> float:
        similarity = self.similarity(old, new)
        return similarity if similarity >= MIN_SIMILARITY else self.kept(old, new)

    def _is_gone_there(self, path: str) -> bool:
        """Also where another file has its name by now."""
        was, now = self.states.base[path], self.states.remote.get(path)
        return now is None or (now != was and self.similarity(was, now) < MIN_SIMILARITY)

    def _new(self, side: FileIds, other: FileIds) -> list[str]:
        return [path for path in side if path not in self.states.base and path not in other]

    def _contents(self, side: FileIds) -> "_Contents":
        return _Contents(self.states.base, side, self.similarity)


@dataclass(frozen=True, slots=True)
class _Contents:
    old: FileIds
    new: FileIds
    similarity: Similarity
    least: float = MIN_SIMILARITY


def _pair(gone: Sequence[str], added: Sequence[str], contents: _Contents) -> list[FileRename]:
    """Files that are gone and new ones that have their content; each at most once."""
    if not gone or not added:
        return []
    found: list[tuple[float, str, str]] = []
    is_small = len(gone) * len(added) <= MAX_RENAME_PAIRS
    for old in gone:
        for new in added:
            if _extension(old) != _extension(new):
                continue
            was, now = contents.old[old], contents.new[new]
            score = 1.0 if was == now else contents.similarity(was, now) if is_small else 0.0
            if score >= contents.least:
                found.append((-score, old, new))
    pairs: list[FileRename] = []
    taken: set[str] = set()
    for _, old, new in sorted(found):
        if old not in taken and new not in taken:
            taken |= {old, new}
            pairs.append(FileRename(old, new))
    return pairs


def _extension(path: str) -> str:
    _, dot, extension = path.rpartition("/")[2].rpartition(".")
    return dot and extension.lower()
