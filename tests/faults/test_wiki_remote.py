"""Two servers, a git remote and a person's clone converge, with kills in the middle of syncs.

Real databases, repositories and processes; thousands of orders without processes are tried in
`tests/laws/test_wiki_remote.py`. Every word is written once; in the end each is in every replica
exactly once, whatever was killed.
"""

import shutil
import subprocess
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Mapping
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

STEPS = 12
PATHS = ("a.md", "b.md", "d/c.md", "d/x.mdx", "t.txt", "crlf.txt", "d/p.png", "Makefile")
BINARY = b"\x89PNG\0\n"
FIXED = 6
"""Lines of each file that nobody changes: a file that is moved is told by them."""
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

    def files(self) -> dict[str, bytes]:
        return files_of(self.folder)


def files_of(folder: Path) -> dict[str, bytes]:
    """Hidden ones too, such as those that were left under temporary names."""
    return {
        str(it.relative_to(folder)): it.read_bytes()
        for it in sorted(folder.rglob("*"))
        if it.is_file() and not {".pecia", ".git"} & {*it.relative_to(folder).parts}
    }


def words_of(*bodies: bytes | None) -> set[str]:
    """The words in some files."""
    return {*b" ".join(it or b"" for it in bodies).decode("utf-8", "replace").split()} - OTHER_WORDS


OTHER_WORDS = {*BINARY.decode("utf-8", "replace").split()}


@dataclass
class Schedule:
    """One order of writes, syncs and kills."""

    random: Random
    seed: int
    replicas: list[Replica]
    remote: GitRemote
    words: int = 0
    names: int = 0
    deleted: set[str] = field(default_factory=set[str])
    """Words that somebody deleted on purpose."""
    left: set[str] = field(default_factory=set[str])
    """Paths from which a file was moved: a new one there would not be told from the old one."""
    kills: Counter[str] = field(default_factory=Counter[str])

    async def run(self) -> None:
        for _ in range(STEPS):
            await self._step()
        await self._settle()
        self._check()

    async def _step(self) -> None:
        what = self.random.random()
        replica = self.random.choice(self.replicas)
        if what < 0.25:
            await self._write(replica)
        elif what < 0.35:
            self._write_as_person()
        elif what < 0.47:
            await self._move(replica)
        elif what < 0.5:
            await self._delete(replica)
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
        order["word"] = f"w{self.words + 1}"
        was_killed = await replica.node.sync_until_killed(**order)
        self.words += was_killed and point == "in_swap"
        self.kills[point if was_killed else "not reached"] += 1

    async def _write(self, replica: Replica) -> None:
        documents = [it for it in replica.files() if it.endswith((".md", ".mdx"))]
        if not documents or self.random.random() < 0.5:
            self._write_as_program(replica)
            return
        path = self.random.choice(documents)
        asked: dict[str, Json] = {"space": replica.name, "docName": path.rpartition(".")[0]}
        text = self._insert(path, replica.files()[path]).decode()
        await replica.call("wiki.write_document", **asked, markdown=text, position="replace")

    def _write_as_program(self, replica: Replica) -> None:
        """Another program, without our tools."""
        self._write_file(replica.folder, self._choose(replica.files()))

    def _choose(self, files: Mapping[str, bytes]) -> str:
        return self.random.choice([*(it for it in PATHS if it not in self.left), *files])

    def _write_file(self, folder: Path, path: str) -> None:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(self._insert(path, place.read_bytes() if place.exists() else None))

    async def _move(self, replica: Replica) -> None:
        """By a tool where it is a document or a folder, else by a program; or by the person."""
        if self.random.random() < 0.3:
            self._write_as_person(is_moved=True)
            return
        files = replica.files()
        if not files:
            return
        path = self.random.choice([*files])
        folder, _, leaf = path.rpartition("/")
        space: dict[str, Json] = {"space": replica.name}
        if folder and self.random.random() < 0.5:
            self.left |= {it for it in files if it.startswith(f"{folder}/")}
            to = self._name("g")
            await replica.call("wiki.rename_folder", **space, fromFolder=folder, toFolder=to)
            return
        to = self._new_path(path)
        if leaf.endswith((".md", ".mdx")):
            names: dict[str, Json] = {"docName": path.rpartition(".")[0]}
            names["newDocName"] = to.rpartition(".")[0]
            await replica.call("wiki.rename_document", **space, **names)
        else:
            (replica.folder / to).parent.mkdir(exist_ok=True)
            (replica.folder / path).rename(replica.folder / to)

    def _new_path(self, path: str) -> str:
        self.left.add(path)
        _, dot, extension = path.rpartition("/")[2].rpartition(".")
        folder = self.random.choice(("", "", "d/", "e/"))
        return folder + self._name("m") + (dot and dot + extension)

    def _name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    async def _delete(self, replica: Replica) -> None:
        files = replica.files()
        if files:
            path = self.random.choice([*files])
            self.left.add(path)
            self.deleted |= words_of(files[path])
            (replica.folder / path).unlink()

    def _write_as_person(self, *, is_moved: bool = False) -> None:
        """Pull, edit and push; once more where somebody else's push came in between, such as that
        of a killed process, which goes on."""
        clone, words = self.remote.clone, self.words
        for _ in range(MAX_PUSHES):
            if git(self.remote.bare, "branch", "--list"):
                self._pull_as_person()
            self.words = words
            files = files_of(clone)
            if is_moved and files:
                old = self.random.choice([*files])
                (clone / (new := self._new_path(old))).parent.mkdir(exist_ok=True)
                git(clone, "mv", old, new)
            else:
                self._write_file(clone, self._choose(files))
            git(clone, "add", "-A")
            git(clone, "commit", "-m", f"By hand {self.words}")
            try:
                git(clone, "push", "origin", "HEAD:main")
            except subprocess.CalledProcessError:
                git(clone, "fetch", "origin", "main")
                git(clone, "reset", "--hard", "FETCH_HEAD")
            else:
                return
        raise AssertionError("the person's push was refused every time")

    def _pull_as_person(self) -> None:
        git(self.remote.clone, "pull", "--no-rebase", "--no-edit", "origin", "main")

    def _insert(self, path: str, body: bytes | None) -> bytes:
        end = b"\r\n" if path.startswith("crlf") else b"\n"
        lead = BINARY if path.endswith(".png") else b""
        lines = [] if body is None else body.removeprefix(lead).splitlines(keepends=True)
        for _ in range(self.random.randint(1, 2) if lines else FIXED):
            self.words += 1
            lines.insert(self.random.randint(0, len(lines)), f"w{self.words}".encode() + end)
        return lead + b"".join(lines)

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
            where["remoteVersion"] = shown["remoteVersion"]
            others = {path: body for path, body in replica.files().items() if path != it["path"]}
            here = words_of(*others.values())
            if "localBytes" in shown or "remoteBytes" in shown:
                chosen = self._choose_side(replica, shown, here)
            else:
                both = [*(shown["local"] or "").split(), *(shown["remote"] or "").split()]
                kept = [word for word in dict.fromkeys(both) if word not in here]
                text = "".join(f"{word}\n" for word in kept)
                chosen: dict[str, Json] = {"keep": "text", "markdown": text}
            await replica.call("wiki.resolve_conflict", **where, **chosen)
        return bool(listed["conflicts"])

    def _choose_side(
        self, replica: Replica, shown: Mapping[str, Any], here: set[str]
    ) -> dict[str, Json]:
        """Of two files that are no text one is kept whole: one that has no word of other files."""
        there = shown["remoteVersion"]
        sides = {
            "remote": read_blob(self.remote, there) if "remoteBytes" in shown else None,
            "local": replica.files().get(shown["path"]),
        }
        fit = [side for side, body in sides.items() if body and not words_of(body) & here]
        chosen = next(iter(fit or [side for side, body in sides.items() if body is None]))
        kept = words_of(sides[chosen])
        self.deleted |= words_of(*sides.values()) - kept - here
        return {"keep": chosen}

    def _check(self) -> None:
        clone = files_of(self.remote.clone)
        # Beside a file that two programs wrote within one swap is the earlier one's, whole.
        named = [body for path, body in clone.items() if " (recovered" in path]
        bodies = [body for body in clone.values() if body not in named]
        found = Counter(b" ".join(bodies).decode("utf-8", "replace").split())
        found.update(words_of(*named) - found.keys())
        for word in (f"w{it}" for it in range(1, self.words + 1)):
            assert found[word] == 1 or (word in self.deleted and not found[word]), word
        assert [it.files() for it in self.replicas] == [clone, clone]
        git(self.remote.clone, "diff", "--exit-code", "origin/main")
        # The person's commits are all still there: nobody forced anything.
        git(self.remote.clone, "merge-base", "--is-ancestor", "HEAD", "origin/main")


def read_blob(remote: GitRemote, content: str) -> bytes:
    command = ["git", "cat-file", "blob", content]
    return subprocess.run(command, cwd=remote.bare, capture_output=True, check=True).stdout


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
