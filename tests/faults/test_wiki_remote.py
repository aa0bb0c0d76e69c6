"""Two servers, a git remote and a person's clone converge, with kills in the middle of syncs.

Real databases, repositories and processes; thousands of orders without processes are tried in
`tests/laws/test_wiki_remote.py`. Every word is written once; in the end each is in every replica
exactly once, whatever was killed.
"""

import shutil
import subprocess
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import anyio
import orjson
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from pecia.app.app import App
from pecia.features.wiki.remote.reconcile import SpaceReconciler
from pecia.kernel.errors import Json
from pecia.kernel.feature import find_service
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.cluster import Cluster, DatabaseLogins
from tests.conftest import CONTEXT
from tests.database import fresh_database
from tests.faults.wiki_live_victim import open_here
from tests.faults.wiki_remote_victim import POINTS, PULL_POINTS, PUSH_POINTS, no_progress
from tests.features.wiki.git_remote import GitRemote, git
from tests.soak import FIRST, SCHEDULES, SOAK, record
from tests.warm import start as warm

pytestmark = [pytest.mark.anyio, pytest.mark.fault, pytest.mark.timeout(0 if SOAK else 600)]

STEPS = 9
PATHS = ("a.md", "b.md", "d/c.md")
MAX_LINE_BYTES = 10_000
MAX_PUSHES = 5


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@dataclass(slots=True)
class Node:
    """A server of its own, with one space for each schedule, and a process of it to be killed."""

    app: App
    ana: Caller
    logins: DatabaseLogins
    home: Path
    victim: Process | None = None

    async def sync_until_killed(self, **order: Json) -> bool:
        """Whether it was killed. One that lived is used again: its start is most of its cost."""
        if self.victim is None:
            it = self.logins
            given: Json = {
                "owner": it.owner,
                "app": it.app,
                "system": it.system,
                "home": str(self.home),
            }
            command = warm.module("tests.faults.wiki_remote_victim")
            self.victim = await anyio.open_process(command, stderr=None)
            await self._tell(self.victim, given)
        await self._tell(self.victim, order)
        assert self.victim.stdout is not None
        said = BufferedByteReceiveStream(self.victim.stdout)
        try:
            with anyio.fail_after(120):
                while await said.receive_until(b"\n", MAX_LINE_BYTES) != b"done":
                    pass
        except anyio.IncompleteRead:
            await self.victim.aclose()
            self.victim = None
            return True
        return False

    async def _tell(self, process: Process, what: Json) -> None:
        assert process.stdin is not None
        await process.stdin.send(orjson.dumps(what) + b"\n")

    async def close(self) -> None:
        if self.victim is not None:
            self.victim.kill()
            await self.victim.aclose()


@dataclass(frozen=True, slots=True)
class Replica:
    """The space of one schedule on one server."""

    node: Node
    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    async def call(self, tool: str, **asked: Json) -> dict[str, Any]:
        done = await self.node.app.call(self.node.ana, tool, asked, CONTEXT)
        assert isinstance(done.structured, dict)
        return done.structured

    async def sync(self) -> None:
        reconciler = find_service(self.node.app.features, SpaceReconciler)
        await reconciler.sync(self.node.ana.tenant_id, f"wiki:{self.name}", no_progress)

    def files(self) -> dict[str, str]:
        return {
            str(it.relative_to(self.folder)): it.read_text()
            for it in sorted(self.folder.rglob("*.md"))
            if ".pecia" not in it.parts
        }


@dataclass
class Schedule:
    """One order of writes, syncs and kills."""

    random: Random
    seed: int
    replicas: list[Replica]
    remote: GitRemote
    words: int = 0
    kills: Counter[str] = field(default_factory=Counter[str])

    async def run(self) -> None:
        for _ in range(STEPS):
            await self._step()
        await self._settle()
        self._check()

    async def _step(self) -> None:
        what = self.random.random()
        replica = self.random.choice(self.replicas)
        if what < 0.35:
            await self._write(replica)
        elif what < 0.5:
            self._write_as_person()
        elif what < 0.65:
            await replica.sync()
        else:
            await self._kill(replica)

    async def _kill(self, replica: Replica) -> None:
        """In the middle of a sync; mostly one that has something to do at that point."""
        point = POINTS[(self.seed + self.kills.total()) % len(POINTS)]
        if self.random.random() < 0.8:
            if point in PULL_POINTS:
                self._write_as_person()
            elif point in PUSH_POINTS:
                self._write_as_program(replica)
        order: dict[str, Json] = {"source_id": f"wiki:{replica.name}", "point": point}
        order |= {"hit": self.random.choice((1, 1, 1, 2)), "seed": self.random.randrange(1 << 30)}
        was_killed = await replica.node.sync_until_killed(**order)
        self.kills[point if was_killed else "not reached"] += 1

    async def _write(self, replica: Replica) -> None:
        if self.random.random() < 0.3:
            self._write_as_program(replica)
            return
        path = self.random.choice(PATHS)
        now = replica.files().get(path, "")
        asked: dict[str, Json] = {"space": replica.name, "docName": path.removesuffix(".md")}
        text = self._insert(now)
        await replica.call("wiki.write_document", **asked, markdown=text, position="replace")

    def _write_as_program(self, replica: Replica) -> None:
        """Another program, without our tools."""
        place = replica.folder / self.random.choice(PATHS)
        place.parent.mkdir(exist_ok=True)
        place.write_text(self._insert(place.read_text() if place.exists() else ""))

    def _write_as_person(self) -> None:
        """Pull, edit and push; once more where somebody else's push came in between, such as that
        of a killed process, which goes on."""
        path, words = self.random.choice(PATHS), self.words
        for _ in range(MAX_PUSHES):
            if git(self.remote.bare, "branch", "--list"):
                self._pull_as_person()
            self.words = words
            place = self.remote.clone / path
            place.parent.mkdir(exist_ok=True)
            place.write_text(self._insert(place.read_text() if place.exists() else ""))
            git(self.remote.clone, "add", "-A")
            git(self.remote.clone, "commit", "-m", f"By hand {self.words}")
            try:
                git(self.remote.clone, "push", "origin", "HEAD:main")
            except subprocess.CalledProcessError:
                git(self.remote.clone, "fetch", "origin", "main")
                git(self.remote.clone, "reset", "--hard", "FETCH_HEAD")
            else:
                return
        raise AssertionError("the person's push was refused every time")

    def _pull_as_person(self) -> None:
        git(self.remote.clone, "pull", "--no-rebase", "--no-edit", "origin", "main")

    def _insert(self, text: str) -> str:
        lines = text.splitlines(keepends=True)
        for _ in range(self.random.randint(1, 2)):
            self.words += 1
            lines.insert(self.random.randint(0, len(lines)), f"w{self.words}\n")
        return "".join(lines)

    async def _settle(self) -> None:
        """Everybody syncs; conflicts are shown, and people take all words of both sides."""
        for _ in range(10):
            for it in self.replicas:
                await it.sync()
            is_open = False
            for it in self.replicas:
                is_open |= await self._resolve(it)
            if not is_open and self.replicas[0].files() == self.replicas[1].files():
                break
        if git(self.remote.bare, "branch", "--list"):
            self._pull_as_person()

    async def _resolve(self, replica: Replica) -> bool:
        listed = await replica.call("wiki.list_conflicts", space=replica.name)
        for it in listed["conflicts"]:
            where: dict[str, Json] = {"space": replica.name, "path": it["path"]}
            shown = await replica.call("wiki.read_conflict", **where)
            both = [*shown["local"].split(), *shown["remote"].split()]
            text = "".join(f"{word}\n" for word in dict.fromkeys(both))
            await replica.call(
                "wiki.resolve_conflict",
                **where,
                remoteVersion=shown["remoteVersion"],
                keep="text",
                markdown=text,
            )
        return bool(listed["conflicts"])

    def _check(self) -> None:
        there = {path: self.remote.read(path) for path in self.remote.files()}
        clone = {path: (self.remote.clone / path).read_text() for path in there}
        found = Counter(" ".join(there.values()).split())
        assert found == {f"w{it}": 1 for it in range(1, self.words + 1)}
        assert [it.files() for it in self.replicas] == [there, there]
        assert clone == there
        # The person's commits are all still there: nobody forced anything.
        git(self.remote.clone, "merge-base", "--is-ancestor", "HEAD", "origin/main")


@pytest.fixture(scope="module")
def two_databases(cluster: Cluster, template: str) -> Iterator[tuple[DatabaseLogins, ...]]:
    with fresh_database(cluster, template) as one, fresh_database(cluster, template) as other:
        yield one, other


@asynccontextmanager
async def open_node(logins: DatabaseLogins, home: Path) -> AsyncGenerator[Node]:
    async with open_here(logins, home) as app:
        ana = await app.authenticate(None, CONTEXT)
        assert isinstance(ana, Caller)
        node = Node(app, ana, logins, home)
        try:
            yield node
        finally:
            await node.close()


async def open_replica(node: Node, folder: Path, remote: GitRemote) -> Replica:
    it = Replica(node, folder)
    await it.call("admin.add_space", folder=str(folder))
    asked: dict[str, Json] = {"url": str(remote.bare), "branch": "main", "mode": "pull_and_push"}
    await it.call("admin.set_space_remote", name=it.name, **asked)
    return it


async def test_two_servers_a_remote_and_a_clone_converge_whatever_is_killed(
    two_databases: tuple[DatabaseLogins, ...], tmp_path: Path
) -> None:
    kills: Counter[str] = Counter()
    words = 0
    one, other = two_databases
    async with open_node(one, tmp_path / "one") as a, open_node(other, tmp_path / "two") as b:
        for seed in range(FIRST, FIRST + SCHEDULES):
            below = tmp_path / f"s{seed}"
            below.mkdir()
            remote = GitRemote.create(below)
            for name in ("here", "there"):
                (below / name / f"s{seed}").mkdir(parents=True)
            nodes = ((a, "here"), (b, "there"))
            replicas = [
                await open_replica(node, below / name / f"s{seed}", remote) for node, name in nodes
            ]
            schedule = Schedule(Random(seed), seed, replicas, remote)
            try:
                await schedule.run()
            except (AssertionError, subprocess.CalledProcessError) as error:
                raise AssertionError(f"schedule {seed}: {error}") from error
            kills += schedule.kills
            words += schedule.words
            # After each, so that a run that is ended early says how far it came.
            figures = {"schedules": seed + 1 - FIRST, "asked": SCHEDULES, "first": FIRST}
            record("wiki-remote", {**figures, "words": words, "kills": dict(kills)})
            shutil.rmtree(below)
    assert kills.total() > kills["not reached"]
