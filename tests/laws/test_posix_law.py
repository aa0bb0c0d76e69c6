"""The law of mode bits: whoever may read a file where it lies may see it here, and nobody else.

The oracle is the kernel of the operating system: a child takes the numbers of each user and tries
to open every file. That takes root.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pecia.app.app import App
from pecia.app.composition.lake import build_source_connectors
from pecia.app.connectors import CONNECTORS
from pecia.features.lake.crawl.watcher import SourceWatcher
from pecia.features.lake.credentials import SourceCredentials
from pecia.kernel.errors import Json, NotFound
from pecia.kernel.identity.caller import Caller
from pecia.kernel.jobs.worker import run_until_idle
from pecia.kernel.store.cluster import DatabaseLogins
from tests.conftest import CONTEXT, EVERY_SCOPE, OpenHouse
from tests.soak import SOAK

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can change its uid"),
    pytest.mark.timeout(300),
]

# A number of each user, and groups. Who has none is of the others, as a stranger is.
USERS: dict[str, tuple[int, list[int]]] = {
    "ada": (51001, [52001]),
    "ben": (51002, [52002, 52003]),
    "cy": (51003, []),
    "dee": (0, []),
    "eve": (59999, [59999]),
}
KNOWN = ("ada", "ben", "cy", "dee")
OWNERS = (0, 51001, 51002, 51003)
GROUPS = (0, 52001, 52002, 52003)

ORACLE = """
import json, os, sys
asked = json.load(sys.stdin)
found = {}
for name, (uid, gids) in asked["users"].items():
    out, into = os.pipe()
    if os.fork() == 0:
        os.setgroups(gids)
        os.setgid(gids[0] if gids else 65534)
        os.setuid(uid)
        read = []
        for path in asked["paths"]:
            try:
                open(path, "rb").close()
                read.append(path)
            except OSError:
                pass
        os.write(into, json.dumps(read).encode())
        os._exit(0)
    os.close(into)
    found[name] = json.loads(b"".join(iter(lambda: os.read(out, 65536), b"")))
    os.wait()
print(json.dumps(found))
"""

modes = st.integers(0, 0o777) | st.sampled_from([0o755, 0o750, 0o700, 0o711, 0o705, 0o077])
rights = st.tuples(modes, st.sampled_from(OWNERS), st.sampled_from(GROUPS))


@dataclass(frozen=True)
class Tree:
    """The folder above the source, that of the source, one in it, one in that; and files."""

    folders: tuple[tuple[int, int, int], ...]
    files: tuple[tuple[int, tuple[int, int, int]], ...]
    changes: tuple[tuple[int, tuple[int, int, int]], ...]


trees = st.builds(
    Tree,
    st.tuples(rights, rights, rights, rights),
    st.lists(st.tuples(st.integers(0, 2), rights), min_size=1, max_size=5).map(tuple),
    st.lists(st.tuples(st.integers(0, 3), rights), max_size=2).map(tuple),
)
tried = settings(
    max_examples=300 if SOAK else 12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@dataclass
class World:
    portal: BlockingPortal
    app: App
    ana: Caller
    callers: dict[str, Caller]

    def call(self, who: Caller, tool: str, **arguments: Json) -> dict[str, Any]:
        return self.portal.call(self._call, who, tool, arguments)

    async def _call(self, who: Caller, tool: str, arguments: dict[str, Json]) -> Any:
        return (await self.app.call(who, tool, arguments, CONTEXT)).structured

    def crawl(self) -> None:
        self.call(self.ana, "crawl_source", source_id="nas")
        self.portal.call(self._work)
        assert self.call(self.ana, "crawl_status", source_id="nas")["state"] == "done"

    async def _work(self) -> None:
        await run_until_idle(self.app.store, self.app.jobs)

    def seen(self) -> dict[str, set[str]]:
        return {name: self._keys(it) for name, it in self.callers.items()}

    def _keys(self, who: Caller) -> set[str]:
        try:
            found = self.call(who, "list_files", source_id="nas")
        except NotFound:
            return set()
        return {it["key"] for it in found["files"]}


@pytest.fixture
def world(database: DatabaseLogins, tmp_path: Path, open_house: OpenHouse) -> Iterator[World]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_house(database, tmp_path / "home")) as app,
    ):
        yield portal.call(_peopled, portal, app)


async def _peopled(portal: BlockingPortal, app: App) -> World:
    ana = await app.authenticate(None, CONTEXT)
    assert isinstance(ana, Caller)
    callers: dict[str, Caller] = {}
    for name, (uid, gids) in USERS.items():
        numbers: list[Json] = [f"posixuid:nas:{uid}", *(f"posixgid:nas:{it}" for it in gids)]
        known: list[Json] = numbers if name in KNOWN else []
        await app.call(ana, "add_user", {"name": name, "known_as": known}, CONTEXT)
        asked: dict[str, Json] = {"label": "t", "user": name, "scopes": EVERY_SCOPE}
        made = await app.call(ana, "make_token", asked, CONTEXT)
        assert isinstance(made.structured, dict)
        caller = await app.authenticate(str(made.structured["token"]), CONTEXT)
        assert isinstance(caller, Caller)
        callers[name] = caller
    return World(portal, app, ana, callers)


def places(base: Path) -> list[Path]:
    return [base / "above", base / "above/root", base / "above/root/a", base / "above/root/a/b"]


def build(base: Path, tree: Tree) -> dict[str, Path]:
    base.chmod(0o755)
    folders = places(base)
    folders[-1].mkdir(parents=True)
    files: dict[str, Path] = {}
    for number, (at, given_rights) in enumerate(tree.files):
        path = folders[at + 1] / f"{number}.md"
        path.write_text(f"file {number}")
        files[str(path.relative_to(folders[1]))] = path
        put(path, given_rights)
    for folder, given_rights in zip(folders, tree.folders, strict=True):
        put(folder, given_rights)
    return files


def put(path: Path, given_rights: tuple[int, int, int]) -> None:
    mode, uid, gid = given_rights
    os.chown(path, uid, gid)
    path.chmod(mode)


def readable(files: dict[str, Path]) -> dict[str, set[str]]:
    """What the kernel lets each of them open."""
    asked = {"users": USERS, "paths": [str(it) for it in files.values()]}
    done = subprocess.run(
        [sys.executable, "-c", ORACLE],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    by_path = {str(path): key for key, path in files.items()}
    found = json.loads(done.stdout)
    return {name: {by_path[it] for it in paths} for name, paths in found.items()}


@tried
@given(trees)
def test_what_each_user_sees_is_what_the_kernel_lets_them_read(world: World, tree: Tree) -> None:
    base = Path(tempfile.mkdtemp())
    try:
        files = build(base, tree)
        world.call(
            world.ana, "add_source", source_id="nas", folder=str(base / "above/root"), posix=True
        )
        try:
            world.crawl()
            assert world.seen() == readable(files)
            for at, given_rights in tree.changes:
                put(places(base)[at], given_rights)
            world.crawl()
            assert world.seen() == readable(files)
        finally:
            world.call(world.ana, "remove_source", source_id="nas")
    finally:
        shutil.rmtree(base)


def test_rights_that_change_in_a_watched_folder_hold_without_a_crawl_by_hand(world: World) -> None:
    base = Path(tempfile.mkdtemp())
    tree = Tree(((0o755, 0, 0),) * 4, ((2, (0o644, 0, 0)), (0, (0o644, 0, 0))), ())
    try:
        files = build(base, tree)
        root = base / "above/root"
        world.call(world.ana, "add_source", source_id="nas", folder=str(root), posix=True)
        world.crawl()
        changes = [(root / "1.md", 0o600)]
        changes += [(root / "a", 0o700), (base / "above", 0o700), (base / "above", 0o755)]
        world.portal.call(_followed, world, files, changes)
    finally:
        shutil.rmtree(base)


async def _followed(world: World, files: dict[str, Path], changes: list[tuple[Path, int]]) -> None:
    app = world.app
    jobs = {it.full_name: it for it in app.jobs}
    credentials = SourceCredentials(app.store, app.keyring)
    watch = build_source_connectors(app.settings, app.store, credentials, CONNECTORS)
    watcher = SourceWatcher(app.store, jobs["lake.crawl"], jobs["lake.read"], watch)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watcher.run)
        for path, mode in changes:
            path.chmod(mode)
            wanted = await anyio.to_thread.run_sync(readable, files)
            await _until(world, lambda wanted=wanted: _sees(world, wanted))
        tasks.cancel_scope.cancel()


async def _until(world: World, holds: Callable[[], Awaitable[bool]]) -> None:
    with anyio.fail_after(40):
        while not await holds():
            await run_until_idle(world.app.store, world.app.jobs)
            await anyio.sleep(0.05)


async def _sees(world: World, wanted: dict[str, set[str]]) -> bool:
    for name, who in world.callers.items():
        asked: dict[str, Json] = {"source_id": "nas"}
        try:
            found: Any = (await world.app.call(who, "list_files", asked, CONTEXT)).structured
            keys = {it["key"] for it in found["files"]}
        except NotFound:
            keys = set[str]()
        if keys != wanted[name]:
            return False
    return True
