"""A wiki write is on disk, in the store and in history, or in none of them, wherever it fails.

Each kind of write runs once undisturbed: that is how all three look before and after it. Then it
runs in a process that is killed, gets a full disk or loses its database at each named point.
"""

import re
import subprocess
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest
from psycopg.types.json import Jsonb

from pecia.adapters.git.repository import HistoryRepository
from pecia.app.app import App
from pecia.features.wiki.live.core.crdt import LiveText
from pecia.features.wiki.live.flush import LiveFlusher
from pecia.features.wiki.live.news import NewsQuery, fetch_news
from pecia.features.wiki.live.store import SQL as LIVE
from pecia.features.wiki.space_recovery import SpaceRecovery
from pecia.features.wiki.store import SpaceLocation
from pecia.kernel.errors import Json, Unavailable
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT
from tests.faults.wiki_live_victim import open_here
from tests.faults.wiki_write_victim import (
    AFTER_COMMIT,
    BEFORE_COMMIT,
    HISTORY_LOCK,
    hold_history_lock,
)
from tests.soak import SOAK
from tests.warm import start as warm

pytestmark = [pytest.mark.anyio, pytest.mark.fault, pytest.mark.timeout(0 if SOAK else 300)]

FILES = {
    "d/one.md": "# One\n\n[b](../b.md)\n",
    "b.md": "see [one](d/one.md)\n",
    "e/c.md": "also [[d/one]]\n",
}
STORED = """
SELECT f.key, r.text FROM kernel.file f
  JOIN kernel.revision r ON r.tenant_id = f.tenant_id AND r.id = f.revision_id
 WHERE f.source_id = %(source_id)s
"""


@dataclass(frozen=True, slots=True)
class State:
    """A space in its three places: files, texts in the store, versions (newest first)."""

    files: Mapping[str, str]
    stored: Mapping[str, str]
    history: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class World:
    """A Pecia and its spaces, each with the same documents."""

    app: App
    ana: Caller
    below: Path

    async def add_space(self, name: str) -> "SpaceOf":
        folder = self.below / name
        for path, text in FILES.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        await self.app.call(self.ana, "add_space", {"folder": str(folder)}, CONTEXT)
        space = SpaceOf(self, folder)
        # Every document has a version.
        await space.call("wiki.save_version", message="begin")
        return space


@dataclass(frozen=True, slots=True)
class SpaceOf:
    world: World
    folder: Path

    async def call(self, tool: str, **arguments: Json) -> dict[str, Any]:
        asked = {"space": self.folder.name, **arguments}
        done = await self.world.app.call(self.world.ana, tool, asked, CONTEXT)
        assert isinstance(done.structured, dict)
        return done.structured

    async def type_live(self, path: str, typed: str) -> None:
        """Somebody has the document open, and typed at its end; that is stored, and no more."""
        app = self.world.app
        place = SpaceLocation(self.world.ana.tenant_id, f"wiki:{self.folder.name}", self.folder, "")
        flusher = LiveFlusher(SpaceRecovery(app.store, HistoryRepository.open))
        id_ = await flusher.make_live(place, path, 1_000_000)
        asked = {"tenant_id": place.tenant_id, "id": id_}
        async with app.store.system() as tx:
            [row] = await fetch_news(tx, [NewsQuery(place.tenant_id, id_, -1)])
            assert row is not None
            text = LiveText(row["base"], house_id=77)
            change = text.rewrite(f"{text}{typed}\n")
            given = {"changes": [change], "writers": ["principal-1"], "owners": Jsonb({})}
            await tx.execute(LIVE["add_changes"], **asked, **given)

    async def state(self) -> State:
        """As it is now: nothing is recovered by looking at it."""
        async with self.world.app.store.system() as tx:
            rows = await tx.fetch_all(STORED, source_id=f"wiki:{self.folder.name}")
        files = {
            str(it.relative_to(self.folder)): it.read_text(encoding="utf-8")
            for it in self.folder.rglob("*")
            if it.is_file() and ".pecia" not in it.parts
        }
        return State(files, {row["key"]: row["text"] for row in rows}, self.versions())

    async def recovered(self) -> State:
        """After the next call, whatever it is."""
        await self.call("wiki.list_documents")
        assert not (self.folder / ".pecia/write-journal.json").exists()
        return await self.state()

    def versions(self) -> tuple[str, ...]:
        """Asked of git itself, with the permanent references."""
        git = ["git", f"--git-dir={self.folder}/.pecia/history"]
        log = ["log", "--format=%s %an", "main"]
        named = ["for-each-ref", "--format=checkpoint", "refs/checkpoints/"]
        said = [subprocess.run([*git, *it], capture_output=True, check=True) for it in (log, named)]
        # The subject of a rollback names a commit, which differs from space to space.
        lines = [line for it in said for line in it.stdout.decode().splitlines()]
        return tuple(re.sub(r"\b[0-9a-f]{7}\b", "SHA", it) for it in lines)


Prepare = Callable[[SpaceOf], Awaitable[dict[str, Json]]]


async def _nothing(_: SpaceOf) -> dict[str, Json]:
    return {}


async def _older(space: SpaceOf) -> dict[str, Json]:
    """A version to go back to."""
    await space.call("wiki.write_document", docName="b", markdown="later\n", position="append")
    rows = (await space.call("wiki.get_history", docName="b"))["entries"]
    return {"commitSha": rows[-1]["sha"]}


async def _by_hand(space: SpaceOf) -> dict[str, Json]:
    """An edit that is not in history: it gets a version before ours."""
    (space.folder / "b.md").write_text("see by hand\n", encoding="utf-8")
    return {}


async def _live(space: SpaceOf) -> dict[str, Json]:
    """Somebody has it open; what was typed is in the file."""
    await space.type_live("d/one.md", "typed")
    await space.call("wiki.list_documents")
    return {}


async def _typed(space: SpaceOf) -> dict[str, Json]:
    """What was typed is stored, and not in the file yet."""
    await space.type_live("d/one.md", "typed")
    return {}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of write, and the points on disk that it passes before COMMIT and after."""

    tool: str
    arguments: Mapping[str, Json]
    on_disk: tuple[tuple[str, int], ...] = ()
    prepare: Prepare = _nothing
    flushed: tuple[tuple[str, int], ...] = ()

    @property
    def points(self) -> list[tuple[str, int]]:
        first = [(it, 1) for it in BEFORE_COMMIT]
        return [*first, *self.on_disk, *((it, 1) for it in AFTER_COMMIT), *self.flushed]

    def is_committed(self, point: tuple[str, int]) -> bool:
        return point[0] in AFTER_COMMIT or point in self.flushed


def _files(count: int) -> tuple[tuple[str, int], ...]:
    return (("after_move", 1), *(("after_write", it + 1) for it in range(count)))


WRITTEN = (("after_write", 1),)
EDIT: dict[str, Json] = {"docName": "b", "find": "see", "replace": "look at"}
RENAME: dict[str, Json] = {"docName": "d/one", "newDocName": "n/m/two"}
SWAPPED = (("after_swap", 1),)
KINDS: Mapping[str, Kind] = {
    "create": Kind(
        "wiki.write_document",
        {"docName": "n/new", "markdown": "# New\n", "position": "replace"},
        WRITTEN,
    ),
    "update": Kind("wiki.edit_document", EDIT, WRITTEN),
    "update_after_hand": Kind("wiki.edit_document", EDIT, WRITTEN, _by_hand),
    "delete": Kind("wiki.delete_document", {"docName": "b"}, (("after_remove", 1),)),
    "rename": Kind("wiki.rename_document", RENAME, _files(3)),
    "rename_folder": Kind("wiki.rename_folder", {"fromFolder": "d", "toFolder": "m/n"}, _files(3)),
    "rollback": Kind("wiki.rollback_to_version", {"docName": "b"}, WRITTEN, _older),
    "checkpoint": Kind("wiki.save_version", {"message": "kept"}),
    "live_update": Kind(
        "wiki.edit_document",
        {"docName": "d/one", "find": "typed", "replace": "edited"},
        prepare=_live,
        flushed=SWAPPED,
    ),
    "live_delete": Kind(
        "wiki.delete_document", {"docName": "d/one"}, (("after_remove", 1),), _live
    ),
    "live_rename": Kind("wiki.rename_document", RENAME, _files(2), _live, SWAPPED),
}


@dataclass(frozen=True, slots=True)
class Trial:
    """A space in which a write is to fail at a point."""

    folder: Path
    point: tuple[str, int]
    arguments: dict[str, Json]


async def lay_out(
    world: World, name: str, kind: Kind, points: Sequence[tuple[str, int]]
) -> tuple[State, State, list[Trial]]:
    """The states before and after the undisturbed write, and a space for each point."""
    twin = await world.add_space(f"{name}-twin")
    more = await kind.prepare(twin)
    before = await (twin.state() if kind.prepare is _typed else twin.recovered())
    await twin.call(kind.tool, **{**kind.arguments, **more})
    after = await twin.recovered()
    assert before != after
    trials: list[Trial] = []
    for number, point in enumerate(points):
        space = await world.add_space(f"{name}-{number}")
        more = await kind.prepare(space)
        assert kind.prepare is _typed or await space.recovered() == before
        asked: dict[str, Json] = {"space": space.folder.name, **kind.arguments, **more}
        trials.append(Trial(space.folder, point, asked))
    return before, after, trials


@asynccontextmanager
async def open_world(logins: DatabaseLogins, below: Path) -> AsyncGenerator[World]:
    async with open_here(logins, below / "home") as app:
        ana = await app.authenticate(None, CONTEXT)
        assert isinstance(ana, Caller)
        yield World(app, ana, below)


async def fail_at(
    trial: Trial, fault: str, tool: str, logins: DatabaseLogins, below: Path
) -> list[str]:
    """What the process said after it failed; nothing where it was killed."""
    given: dict[str, Json] = {"owner": logins.owner, "app": logins.app, "system": logins.system}
    given |= {"home": str(below / "home"), "tool": tool, "arguments": trial.arguments}
    command = warm.module("tests.faults.wiki_write_victim", *trial.point, fault)
    with anyio.fail_after(60):
        done = await anyio.run_process(command, input=orjson.dumps(given), check=False)
    hit, *said = done.stdout.decode().splitlines()
    assert hit == f"hit {trial.point[0]}", done
    return said


@pytest.mark.parametrize("name", KINDS)
async def test_a_write_that_is_killed_is_whole_or_not_there(
    name: str, database: DatabaseLogins, tmp_path: Path
) -> None:
    kind, counted = KINDS[name], Counter[str]()
    async with open_world(database, tmp_path) as world:
        before, after, trials = await lay_out(world, name, kind, kind.points)
    for trial in trials:
        assert await fail_at(trial, "kill", kind.tool, database, tmp_path) == []
    async with open_world(database, tmp_path) as world:
        for trial in trials:
            space, where = SpaceOf(world, trial.folder), (name, *trial.point)
            is_committed = kind.is_committed(trial.point)
            found = await space.state()
            if not is_committed:
                # Nobody sees a version of a write that was not committed, not even before recovery.
                assert (found.stored, found.history) == (before.stored, before.history), where
            assert await space.recovered() == (after if is_committed else before), where
            counted["all" if is_committed else "none"] += 1
    assert counted["none"] == len(BEFORE_COMMIT) + len(kind.on_disk)
    assert counted["all"] == len(AFTER_COMMIT) + len(kind.flushed)


async def test_a_flush_that_is_killed_is_completed(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    """What was typed is stored: each time it ends in the file, the store and one version."""
    kind = Kind("wiki.read_document", {"path": "d/one.md"}, SWAPPED, _typed)
    async with open_world(database, tmp_path) as world:
        _, after, trials = await lay_out(world, "flush", kind, kind.points)
    for trial in trials:
        assert await fail_at(trial, "kill", kind.tool, database, tmp_path) == []
    async with open_world(database, tmp_path) as world:
        for trial in trials:
            assert await SpaceOf(world, trial.folder).recovered() == after, trial.point


FAULTS = (
    *(("full", it, "refused STORAGE_FULL") for it in ("after_prepare", "after_journal", "disk")),
    *(("full", it, "done") for it in ("before_advance", "before_delete")),
    *(("lost", it, "refused") for it in ("before_commit", "after_commit")),
    ("locked", "before_advance", "done"),
)


@pytest.mark.parametrize("name", ["create", "update", "delete", "rename", "live_update"])
async def test_a_write_that_meets_an_error_is_whole_or_not_there(
    name: str, database: DatabaseLogins, tmp_path: Path
) -> None:
    kind = KINDS[name]
    last = kind.on_disk[-1] if kind.on_disk else ("after_journal", 1)
    points = [last if it == "disk" else (it, 1) for _, it, _ in FAULTS]
    async with open_world(database, tmp_path) as world:
        before, after, trials = await lay_out(world, name, kind, points)
    for trial, (fault, _, expected) in zip(trials, FAULTS, strict=True):
        said = await fail_at(trial, fault, kind.tool, database, tmp_path)
        assert len(said) == 1, trial
        assert said[0].startswith(expected), trial
    async with open_world(database, tmp_path) as world:
        for trial, (fault, _, expected) in zip(trials, FAULTS, strict=True):
            space, where = SpaceOf(world, trial.folder), (name, fault, *trial.point)
            if fault == "full" and expected != "done":
                assert await space.state() == before, where
            if fault == "locked":
                await _require_locked(space, before if kind.flushed else after)
            is_committed = kind.is_committed(trial.point)
            assert await space.recovered() == (after if is_committed else before), where


async def _require_locked(space: SpaceOf, now: State) -> None:
    """Readers go on, nobody writes, and the lock of another program stays until it is released."""
    lock = space.folder / HISTORY_LOCK
    await space.call("wiki.list_documents")
    # The file of a live document is flushed with its version, so it waits.
    assert (await space.state()).files == now.files
    with pytest.raises(Unavailable):
        await space.call("wiki.write_document", docName="x", markdown="x\n", position="append")
    assert not (space.folder / "x.md").exists()
    lock.unlink()


@pytest.mark.parametrize("name", ["create", "update", "delete", "rename", "checkpoint"])
async def test_a_write_is_refused_while_another_program_has_the_history_locked(
    name: str, database: DatabaseLogins, tmp_path: Path
) -> None:
    kind = KINDS[name]
    async with open_world(database, tmp_path) as world:
        before, after, [trial] = await lay_out(world, name, kind, [("", 1)])
        space = SpaceOf(world, trial.folder)
        lock = hold_history_lock(space.folder)
        with pytest.raises(Unavailable):
            await space.call(kind.tool, **trial.arguments)
        assert lock.exists()
        assert await space.recovered() == before
        lock.unlink()
        await space.call(kind.tool, **trial.arguments)
        assert await space.recovered() == after


@pytest.mark.parametrize(
    ("name", "path"), [("create", "n/new.md"), ("update", "b.md"), ("delete", "b.md")]
)
async def test_a_hand_edit_survives_the_recovery_of_a_write(
    name: str, path: str, database: DatabaseLogins, tmp_path: Path
) -> None:
    kind = KINDS[name]
    points = [*kind.on_disk, ("after_commit", 1)]
    async with open_world(database, tmp_path) as world:
        _, _, trials = await lay_out(world, name, kind, points)
    for trial in trials:
        await fail_at(trial, "kill", kind.tool, database, tmp_path)
    async with open_world(database, tmp_path) as world:
        for trial in trials:
            space, hand = SpaceOf(world, trial.folder), "written by hand\n"
            (space.folder / path).parent.mkdir(exist_ok=True)
            (space.folder / path).write_text(hand, encoding="utf-8")
            now = await space.recovered()
            assert now.files[path] == hand, trial.point
            assert hand.strip() in now.stored[path], trial.point
            assert now.history[0].startswith("recover: write"), trial.point
