"""Two servers, a git remote and a person's clone converge, with kills in the middle of syncs.

Real databases, repositories and processes; thousands of orders without processes are tried in
`tests/laws/test_wiki_remote.py`. Every word is written once; in the end each is in every replica
exactly once, whatever was killed.
"""

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

from pecia.app.app import App
from pecia.features.wiki.remote.reconcile import SpaceReconciler
from pecia.kernel.errors import Json
from pecia.kernel.feature import find_service
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.cluster import Cluster, DatabaseLogins
from tests.conftest import VISIT
from tests.database import fresh_database
from tests.faults.wiki_live_victim import open_here
from tests.faults.wiki_remote_victim import POINTS, no_progress
from tests.features.wiki.git_remote import GitRemote, git
from tests.soak import FIRST, SCHEDULES, SOAK, record
from tests.warm import start as warm

pytestmark = [pytest.mark.anyio, pytest.mark.fault, pytest.mark.timeout(0 if SOAK else 600)]

STEPS = 12 if SOAK else 9
PATHS = ("a.md", "b.md", "d/c.md")


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@dataclass(frozen=True, slots=True)
class Node:
    """A server of its own, with one space for each schedule."""

    app: App
    ana: Caller
    logins: DatabaseLogins
    home: Path


@dataclass(frozen=True, slots=True)
class Replica:
    """The space of one schedule on one server."""

    node: Node
    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    async def call(self, tool: str, **asked: Json) -> dict[str, Any]:
        done = await self.node.app.call(self.node.ana, tool, asked, VISIT)
        assert isinstance(done.structured, dict)
        return done.structured

    async def sync(self) -> None:
        reconciler = find_service(self.node.app.features, SpaceReconciler)
        await reconciler.sync(self.node.ana.tenant_id, f"wiki:{self.name}", no_progress)

    async def sync_until_killed(self, point: str, hit: int, seed: int) -> bool:
        """In a process of its own; whether it was killed."""
        logins = self.node.logins
        given: dict[str, Json] = {"owner": logins.owner, "app": logins.app, "system": logins.system}
        given |= {"home": str(self.node.home), "source_id": f"wiki:{self.name}", "seed": seed}
        command = warm.module("tests.faults.wiki_remote_victim", point, str(hit))
        with anyio.fail_after(120):
            done = await anyio.run_process(command, input=orjson.dumps(given), check=False)
        return b"done" not in done.stdout.splitlines()

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
            point = POINTS[(self.seed + self.kills.total()) % len(POINTS)]
            hit = self.random.choice((1, 1, 2))
            if await replica.sync_until_killed(point, hit, self.random.randrange(1 << 30)):
                self.kills[point] += 1
            else:
                self.kills["not reached"] += 1

    async def _write(self, replica: Replica) -> None:
        path = self.random.choice(PATHS)
        if self.random.random() < 0.3:
            # Another program, without our tools.
            place = replica.folder / path
            place.parent.mkdir(exist_ok=True)
            place.write_text(self._insert(place.read_text() if place.exists() else ""))
            return
        now = replica.files().get(path, "")
        asked: dict[str, Json] = {"space": replica.name, "docName": path.removesuffix(".md")}
        text = self._insert(now)
        await replica.call("wiki.write_document", **asked, markdown=text, position="replace")

    def _write_as_person(self) -> None:
        """Pull, edit, push; where git has a conflict, the person takes all words of both sides."""
        if git(self.remote.bare, "branch", "--list"):
            self._pull_as_person()
        place = self.remote.clone / self.random.choice(PATHS)
        place.parent.mkdir(exist_ok=True)
        place.write_text(self._insert(place.read_text() if place.exists() else ""))
        git(self.remote.clone, "add", "-A")
        git(self.remote.clone, "commit", "-m", f"By hand {self.words}")
        git(self.remote.clone, "push", "origin", "HEAD:main")

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
        ana = await app.authenticate(None, VISIT)
        assert isinstance(ana, Caller)
        yield Node(app, ana, logins, home)


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
    assert kills.total() > kills["not reached"]
    record("wiki-remote", {"schedules": SCHEDULES, "first": FIRST, "kills": dict(kills)})
