"""Two servers, a remote and a person's clone, in memory: the steps of a sync without processes.

Each step is what one transaction, one fetch or one push of `reconcile.py` does, made of the same
pure functions; between any two steps others write, and a server may be killed.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field

from pecia.features.wiki.remote.core.plan import (
    FileRename,
    Similarity,
    SyncPlan,
    ThreeStates,
    kept_share,
    line_similarity,
    plan_sync,
)
from pecia.features.wiki.remote.core.settle import SideChange, compare, settle_file

PATHS = ("a.md", "b.md", "d/c.md", "d/p.png", "t.txt", "d/x.mdx", "crlf.txt", "Makefile")
BINARY = "\0\n"
"""How a file that is no text begins. Two changes of it are never merged."""


@dataclass
class Remote:
    """A linear branch, as fast-forward pushes make it."""

    trees: list[dict[str, str]] = field(default_factory=lambda: [{}])

    @property
    def tip(self) -> int:
        return len(self.trees) - 1

    def push(self, parent: int, tree: Mapping[str, str]) -> int | None:
        """The new tip; None if the branch moved on since."""
        if parent != self.tip:
            return None
        self.trees.append(dict(tree))
        return self.tip


@dataclass
class PushIntent:
    """Recorded before a push. `landed` is what a fetch sees of it."""

    parent: int
    tree: dict[str, str]
    changed: dict[str, str | None]
    landed: int | None = None


@dataclass
class Replica:
    """A server: files, and the rows that its transactions write."""

    files: dict[str, str] = field(default_factory=dict[str, str])
    base: dict[str, str] = field(default_factory=dict[str, str])
    conflicts: dict[str, str | None] = field(default_factory=dict[str, str | None])
    intents: list[PushIntent] = field(default_factory=list[PushIntent])
    breaks: str = ""
    """How the law is broken on purpose."""

    def sync(self, remote: Remote) -> Generator[str]:
        """One run. Between two steps anything may happen, and it may end at any of them."""
        for _ in range(4):
            tip = remote.tip
            theirs = dict(remote.trees[tip])
            yield "fetched"
            self.promote(tip)
            yield "promoted"
            states = ThreeStates(self.base, dict(self.files), theirs, self.conflicts)
            plan = plan_sync(states, _of_texts(line_similarity), _of_texts(kept_share))
            yield from self._pull(plan, theirs)
            intent = self._prepare(remote, tip, theirs)
            if intent is None:
                return
            yield "intended"
            intent.landed = remote.push(intent.parent, intent.tree)
            yield "pushed"
            if intent.landed is not None:
                self.promote(intent.landed)
                return

    def promote(self, tip: int) -> None:
        """What of our pushes the remote has is common from now on. One transaction."""
        for it in [it for it in self.intents if it.landed is not None and it.landed <= tip]:
            self.intents.remove(it)
            if self.breaks != "no intents":
                for path, content in it.changed.items():
                    self._set_base(path, content)

    def _pull(self, plan: SyncPlan, theirs: Mapping[str, str]) -> Generator[str]:
        for path in (*plan.agreed, *plan.pull):
            self._settle(path, theirs.get(path))
            yield "settled"
        for it in plan.remote_renames:
            if not self._follow_rename(it, theirs):
                self._settle(it.old, None)
                self._settle(it.new, theirs[it.new])
            yield "renamed"
        for it in plan.local_renames:
            if not self._merge_into_renamed(it, theirs):
                self._settle(it.old, theirs[it.old])
            yield "renamed"
        for it in plan.diverged_renames:
            if it.local in self.files and it.old not in self.files:
                self._set_base(it.old, None)
                self.conflicts[it.local] = None
            yield "renamed"

    def _settle(self, path: str, theirs: str | None) -> None:
        """One transaction: the file, its base and its conflict."""
        base, mine = self.base.get(path), self.files.get(path)
        if compare(base, mine, theirs) is SideChange.LOCAL:
            if self.conflicts.get(path, theirs) != theirs:
                # The remote has what both had in common again.
                del self.conflicts[path]
            return
        done = settle_file(_body(base), _body(mine), _body(theirs))
        if done.is_conflict:
            self.conflicts[path] = theirs
            return
        self._write(path, _text(done.body))
        if self.breaks != "base later":
            self._set_base(path, theirs)
        self.conflicts.pop(path, None)

    def _follow_rename(self, it: FileRename, theirs: Mapping[str, str]) -> bool:
        base, mine = self.base.get(it.old), self.files.get(it.old)
        if mine is None or base is None or it.new in self.files or it.new in self.base:
            return False
        done = settle_file(_body(base), _body(mine), _body(theirs[it.new]))
        if done.is_conflict:
            return False
        self._write(it.old, None)
        self._write(it.new, _text(done.body))
        self._set_base(it.old, None)
        self._set_base(it.new, theirs[it.new])
        self.conflicts.pop(it.old, None)
        return True

    def _merge_into_renamed(self, it: FileRename, theirs: Mapping[str, str]) -> bool:
        base, mine = self.base.get(it.old), self.files.get(it.new)
        if mine is None or base is None or it.old in self.files or it.new in self.base:
            return False
        done = settle_file(_body(base), _body(mine), _body(theirs[it.old]))
        if done.is_conflict:
            return False
        self._write(it.new, _text(done.body))
        self._set_base(it.old, theirs[it.old])
        self.conflicts.pop(it.old, None)
        return True

    def _prepare(self, remote: Remote, tip: int, theirs: Mapping[str, str]) -> PushIntent | None:
        states = ThreeStates(self.base, dict(self.files), theirs, self.conflicts)
        changed = {it: self.files.get(it) for it in plan_sync(states).push}
        if not changed:
            return None
        tree = {**theirs, **{path: text for path, text in changed.items() if text is not None}}
        for path, text in changed.items():
            if text is None:
                tree.pop(path, None)
        self.intents.append(PushIntent(tip, tree, changed))
        return self.intents[-1]

    def resolve(self, path: str, text: str | None) -> None:
        """A person's choice, one transaction."""
        self._set_base(path, self.conflicts.pop(path))
        self._write(path, text)

    def _write(self, path: str, text: str | None) -> None:
        if text is None:
            self.files.pop(path, None)
        else:
            self.files[path] = text

    def _set_base(self, path: str, text: str | None) -> None:
        if text is None:
            self.base.pop(path, None)
        else:
            self.base[path] = text


def _of_texts(measure: Similarity) -> Similarity:
    """Files that are no text have nothing in common."""
    return lambda one, other: 0.0 if BINARY in one + other else measure(one, other)


def _body(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def _text(body: bytes | None) -> str | None:
    return None if body is None else body.decode()
