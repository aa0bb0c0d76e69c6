"""Sync with a git remote: nothing written is lost or doubled, whatever the order and the kills.

Two servers, a remote and a person's clone, in memory (`sync_world.py`). Every word is written once
by somebody. In the end it is in each replica exactly once, or in a conflict that is shown.
"""

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pecia.features.wiki.remote.core.merge import mark_conflicts, merge_texts
from pecia.features.wiki.remote.core.plan import DivergedRename, ThreeStates, plan_sync
from tests.laws.sync_world import BINARY, PATHS, Remote, Replica
from tests.soak import SOAK, record

SCHEDULES = 200_000 if SOAK else 1_500
STEPS = 40
FIXED = 6
"""Lines of each file that nobody changes one by one: a file that is moved has at least half of its
lines from before, else no program could tell it from a new one."""

pytestmark = pytest.mark.timeout(0 if SOAK else 120)


@dataclass
class World:
    """Everybody. `deleted` are words that somebody deleted on purpose."""

    random: Random
    remote: Remote = field(default_factory=Remote)
    servers: list[Replica] = field(default_factory=lambda: [Replica(), Replica()])
    clone: Replica = field(default_factory=Replica)
    runs: list[Generator[str] | None] = field(default_factory=lambda: [None, None, None])
    words: list[str] = field(default_factory=list[str])
    names: int = 0
    left: set[str] = field(default_factory=set[str])
    """Paths from which a file was moved: a new one there would not be told from the old one."""
    images: dict[str, str] = field(default_factory=dict[str, str])
    """What was done to a file that is no text, by its first word. One that is renamed and changed
    counts as a new one: nothing can tell it from the old one."""
    kills: int = 0
    deleted: set[str] = field(default_factory=set[str])

    @property
    def replicas(self) -> list[Replica]:
        """The person's clone is one too: git merges the same way, and shows the same conflicts."""
        return [*self.servers, self.clone]

    def step(self) -> None:
        at = self.random.randrange(3)
        what = self.random.random()
        if what < 0.45:
            self._edit(self.replicas[at])
        elif what < 0.93:
            self._advance(at)
        elif self.runs[at] is not None:
            self._kill(at)

    def _advance(self, at: int) -> None:
        run = self.runs[at] or self.replicas[at].sync(self.remote)
        self.runs[at] = run
        if next(run, None) is None:
            self.runs[at] = None

    def _kill(self, at: int) -> None:
        """Nothing more of the run; a push that it had begun may land all the same."""
        self.kills += 1
        self.runs[at] = None
        for it in self.replicas[at].intents:
            if it.landed is None and self.random.random() < 0.5:
                it.landed = self.remote.push(it.parent, it.tree)

    def _edit(self, replica: Replica) -> None:
        free = [it for it in PATHS if it not in self.left]
        path = self.random.choice(
            [*free, *replica.files, f"n{len(self.words)}.{self._extension()}"]
        )
        if path not in replica.files:
            lead = BINARY if path.endswith(".png") else ""
            words = [self._word(path, "f") for _ in range(FIXED)]
            replica.files[path] = lead + "".join(words)
            return
        lines = replica.files[path].splitlines(keepends=True)
        loose = [at for at, line in enumerate(lines) if line.startswith("w")]
        what = self.random.random()
        first = int(lines[0] == BINARY)
        if first and what < 0.85 and not self._may(lines, "change"):
            return
        if what < 0.6 and len(lines) < 2 * FIXED:
            lines.insert(self.random.randint(first, len(lines)), self._word(path))
        elif what < 0.75 and loose:
            at = self.random.choice(loose)
            self.deleted.add(lines[at].strip())
            lines[at] = self._word(path)
        elif what < 0.85 and loose:
            self.deleted.add(lines.pop(self.random.choice(loose)).strip())
        elif what < 0.93:
            if "/" in path and self.random.random() < 0.5:
                self._move_folder(replica, path.partition("/")[0])
            else:
                self._move(replica, path)
            return
        else:
            self.deleted |= {*replica.files.pop(path).split()}
            return
        replica.files[path] = "".join(lines)

    def _extension(self) -> str:
        return self.random.choice(("md", "md", "txt", "png"))

    def _may(self, lines: Sequence[str], what: str) -> bool:
        word = next(it for it in lines if it.startswith("f"))
        return self.images.setdefault(word, what) == what

    def _may_move(self, replica: Replica, path: str) -> bool:
        lines = replica.files[path].splitlines(keepends=True)
        return lines[0] != BINARY or self._may(lines, "move")

    def _move(self, replica: Replica, path: str) -> None:
        if not self._may_move(replica, path):
            return
        self.names += 1
        self.left.add(path)
        folder = self.random.choice(("", "", "d/", "e/"))
        leaf = path.rpartition("/")[2]
        _, dot, extension = leaf.rpartition(".")
        replica.files[f"{folder}m{self.names}{dot}{extension if dot else ''}"] = replica.files.pop(
            path
        )

    def _move_folder(self, replica: Replica, folder: str) -> None:
        self.names += 1
        for path in [it for it in replica.files if it.startswith(f"{folder}/")]:
            if not self._may_move(replica, path):
                continue
            self.left.add(path)
            name = path.removeprefix(folder)
            replica.files[f"g{self.names}{name}"] = replica.files.pop(path)

    def _word(self, path: str, kind: str = "w") -> str:
        self.words.append(f"{kind}{len(self.words)}")
        return self.words[-1] + ("\r\n" if path.startswith("crlf") else "\n")

    def settle(self) -> None:
        """Runs end, and everybody syncs until nothing changes any more."""
        for at in range(3):
            if self.random.random() < 0.5 and self.runs[at] is not None:
                self._kill(at)
            self.runs[at] = None
        for _ in range(6):
            for it in self.replicas:
                for _ in it.sync(self.remote):
                    pass

    def check_shown(self) -> None:
        """Each word once in each replica, or in a file that somebody has a conflict for."""
        shown = {
            word
            for replica in self.replicas
            for path, theirs in replica.conflicts.items()
            for text in (theirs, replica.files.get(path), replica.base.get(path))
            for word in (text or "").split()
        }
        for replica in self.replicas:
            found = Counter(" ".join(replica.files.values()).split())
            for word in self.words:
                least = 0 if word in self.deleted else 1
                assert word in shown or least <= found[word] <= 1, (word, found[word])

    def resolve(self) -> None:
        """People decide: all words of both sides that are nowhere else in the space."""
        for _ in range(12):
            if not any(it.conflicts for it in self.replicas):
                return
            for replica in self.replicas:
                for path in [*replica.conflicts]:
                    if path not in replica.conflicts:
                        continue
                    theirs = replica.conflicts[path]
                    others = {
                        word
                        for name, text in replica.files.items()
                        if name != path
                        for word in text.split()
                    }
                    both = [*(replica.files.get(path) or "").split(), *(theirs or "").split()]
                    kept = [it for it in dict.fromkeys(both) if it in {*self.words} - others]
                    lead = BINARY if BINARY.strip() in both else ""
                    text = "".join(f"{it}\n" for it in kept)
                    replica.resolve(path, lead + text if kept else None)
                    for _ in replica.sync(self.remote):
                        pass
            self.settle()

    def check_equal(self) -> None:
        tip = self.remote.trees[-1]
        for replica in self.replicas:
            assert not replica.conflicts
            assert replica.files == tip
        found = Counter(" ".join(tip.values()).split())
        for word in self.words:
            assert found[word] == 1 or (word in self.deleted and found[word] == 0), word


def run_schedule(seed: int, breaks: str = "") -> World:
    world = World(Random(seed))
    for it in world.replicas:
        it.breaks = breaks
    for _ in range(STEPS):
        world.step()
    world.settle()
    world.check_shown()
    world.resolve()
    world.check_equal()
    return world


def test_every_schedule_with_kills_converges_and_loses_nothing() -> None:
    kills = pushes = 0
    for seed in range(SCHEDULES):
        try:
            world = run_schedule(seed)
        except AssertionError as error:
            raise AssertionError(f"schedule {seed}: {error}") from error
        kills += world.kills
        pushes += world.remote.tip
    assert min(kills, pushes) > SCHEDULES
    record("wiki-remote-plan", {"schedules": SCHEDULES, "kills": kills, "pushes": pushes})


def test_a_file_without_an_extension_that_both_sides_renamed_is_shown() -> None:
    plan = plan_sync(ThreeStates({"Makefile": "1"}, {"make/one": "1"}, {"Two": "1"}))
    assert plan.diverged_renames == (DivergedRename("Makefile", "make/one", "Two"),)
    assert plan.push == ()


@pytest.mark.parametrize("breaks", ["no intents", "base later"])
def test_the_law_sees_a_sync_that_forgets_what_it_pushed_or_pulled(breaks: str) -> None:
    failed = 0
    for seed in range(200):
        try:
            run_schedule(seed, breaks)
        except AssertionError:
            failed += 1
    assert failed


LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "", "e"]), max_size=8)
TEXT = LINES.map("".join)


@settings(max_examples=20_000 if SOAK else 300, deadline=None)
@given(TEXT, TEXT, TEXT)
def test_a_merge_is_the_same_from_both_sides_and_takes_a_lone_change_whole(
    base: str, one: str, other: str
) -> None:
    assert merge_texts(base, one, other) == merge_texts(base, other, one)
    assert merge_texts(base, one, base) == one
    assert merge_texts(base, one, one) == one
    merged = merge_texts(base, one, other)
    if merged is not None:
        assert mark_conflicts(base, one, other) == merged


@settings(max_examples=20_000 if SOAK else 300, deadline=None)
@given(st.integers(0, 2**32))
def test_a_clean_merge_has_every_word_of_both_sides_once(seed: int) -> None:
    random, words = Random(seed), iter(range(10_000))
    base = [f"b{it}\n" for it in range(random.randint(0, 12))]

    def edited() -> list[str]:
        lines = [*base]
        for _ in range(random.randint(0, 4)):
            lines.insert(random.randint(0, len(lines)), f"n{next(words)}\n")
        return lines

    one, other = edited(), edited()
    merged = merge_texts("".join(base), "".join(one), "".join(other))
    both = {*one, *other}
    text = mark_conflicts("".join(base), "".join(one), "".join(other))
    assert both <= {*text.splitlines(keepends=True)}
    if merged is not None:
        assert sorted(merged.splitlines(keepends=True)) == sorted(both)
