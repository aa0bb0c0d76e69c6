"""A server as a company has one, as processes: a database, API processes, workers, and a folder."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import anyio
import orjson
import psutil
import psycopg
from anyio.to_thread import run_sync

from pecia.app.app import migration_parts
from pecia.app.operator.allowlist import AllowlistChange, allow
from pecia.app.operator.session import OperatorSession
from pecia.app.operator.tenants import add_tenant
from pecia.interfaces.cli.server.client import ServerClient
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.errors import PeciaError
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.cluster import Cluster, ClusterOptions, DatabaseLogins, open_cluster
from pecia.kernel.store.migrate import migrate
from pecia.kernel.store.store import Store
from tests.conftest import house_flags
from tests.database import scratch
from tests.soak import SOAK
from tests.warm import start as warm

WORDS = ("heron", "otter", "lantern", "harbour", "meadow", "willow")
# In a long run nothing is proved by haste: whoever else uses the machine may make it slow.
PATIENCE_S = 900 if SOAK else 90

FILES = """
SELECT f.key, f.size_bytes, f.modified_at::text, f.etag, f.content_type, f.status, f.reason,
       f.title, f.language, f.chunk_count, r.text,
       (SELECT jsonb_agg(to_jsonb(c) - '{tenant_id,id,file_id}'::text[] ORDER BY c.seq)::text
          FROM kernel.chunk c WHERE c.tenant_id = f.tenant_id AND c.file_id = f.id)
  FROM kernel.file f
  LEFT JOIN kernel.revision r ON r.tenant_id = f.tenant_id AND r.id = f.revision_id
 WHERE f.source_id = %s ORDER BY f.key
"""
CHUNKS = "SELECT c.id, c.file_id FROM kernel.chunk c WHERE c.tenant_id = %s"


@dataclass
class CrawlCluster:
    """Everything on one machine, in one folder. `docs` and `calm` are sources over one folder."""

    root: Path
    cluster: Cluster
    token: str
    tenant_id: UUID
    apis: dict[str, "Api"] = field(default_factory=dict[str, "Api"])
    workers: list["subprocess.Popen[str]"] = field(default_factory=list["subprocess.Popen[str]"])

    @property
    def folder(self) -> Path:
        return self.root / "docs"

    def postmaster(self) -> int:
        """The process of the database."""
        return int((self.cluster.root / "data" / "postmaster.pid").read_text().split("\n")[0])

    async def start_api(self, name: str = "one") -> "Api":
        """An API process with a home of its own, once it serves."""
        self.apis[name] = await run_sync(self._started, name)
        return self.apis[name]

    def start_worker(
        self, point: str = "", whom: int = 0, *, tells: bool = False
    ) -> "subprocess.Popen[str]":
        """A worker with a home of its own; with a point, one that will kill."""
        logins = self.cluster.logins
        order: dict[str, Any] = {
            "owner": logins.owner,
            "app": logins.app,
            "system": logins.system,
            "home": str(self.root / f"worker-{len(self.workers)}"),
            "flags": {},
            "point": point,
            "hit": 1,
            "whom": whom,
            "tells": tells,
        }
        worker = subprocess.Popen(
            warm.module("tests.faults.crawl_victim"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert worker.stdin is not None
        worker.stdin.write(orjson.dumps(order).decode())
        worker.stdin.close()
        self.workers.append(worker)
        return worker

    def end_workers(self) -> None:
        for worker in self.workers:
            worker.kill()
            worker.wait()
            if worker.stdout:
                worker.stdout.close()
        self.workers.clear()

    def change(self, dice: random.Random, most: int) -> None:
        """Some files come, some change, some go: at least one, where there are any."""
        if there := sorted(it for it in self.folder.rglob("*.md")):
            dice.choice(there).unlink()
        for number in range(most):
            path = self.folder / f"{number % 5}" / f"{number}.md"
            lot = dice.random()
            if lot < 0.15:
                path.unlink(missing_ok=True)
            elif lot < 0.5:
                path.parent.mkdir(parents=True, exist_ok=True)
                body = " ".join(dice.choices(WORDS, k=dice.randint(3, 60)))
                path.write_text(f"# {number} {dice.random()}\n\n{body}\n")

    def stored(self, source: str) -> list[tuple[Any, ...]]:
        """Every file of a source, with its text and its chunks, as the store has it."""
        with psycopg.connect(self.cluster.logins.system) as connection:
            return connection.execute(FILES, (source,)).fetchall()

    def chunks(self) -> set[tuple[int, int]]:
        with psycopg.connect(self.cluster.logins.system) as connection:
            return {(it[0], it[1]) for it in connection.execute(CHUNKS, (self.tenant_id,))}

    def indexed(self, name: str = "one") -> set[tuple[int, int]]:
        """What the keyword index of an API process holds."""
        readers = ReaderCache(self.apis[name].home / "index")
        return {(it.id, it.group) for it in readers.get_reader(self.tenant_id).iter_chunks()}

    def _started(self, name: str) -> "Api":
        home = self.root / f"api-{name}"
        config = self.root / f"{name}.yaml"
        flags = house_flags(self.cluster.logins, home)
        config.write_text("".join(f"{key}: {json.dumps(it)}\n" for key, it in flags.items()))
        process = subprocess.Popen(
            [sys.executable, "-m", "pecia", "serve", "--config", config, "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={"PATH": os.environ["PATH"], "HOME": str(self.root), "PECIA_HOME": str(home)},
        )
        assert process.stdout is not None
        said = ""
        while not said.rstrip().endswith("}"):
            line = process.stdout.readline()
            assert line, "the server ended before it served"
            said += line
        return Api(process, home, ServerClient(json.loads(said)["url"], self.token))


@dataclass(frozen=True, slots=True)
class Api:
    """One API process."""

    process: "subprocess.Popen[str]"
    home: Path
    server: ServerClient

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """What a tool answers; who is not there for the moment is asked again."""
        give_up = anyio.current_time() + PATIENCE_S
        while True:
            try:
                found = await run_sync(self.server.call, f"/api/v1/{tool}", arguments)
            except PeciaError as error:
                if not error.code.retryable or anyio.current_time() > give_up:
                    raise
                await anyio.sleep(0.1)
            else:
                assert isinstance(found, dict)
                return found

    def kill(self) -> None:
        """With what it started: its child dies with it."""
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.process.pid).children(recursive=True):
                child.kill()
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()


async def until(found: Callable[[], bool], what: str) -> None:
    """Wait for something that is bound to come."""
    give_up = anyio.current_time() + PATIENCE_S
    while True:
        if await run_sync(found):
            return
        assert anyio.current_time() < give_up, what
        await anyio.sleep(0.05)


async def crawled(api: Api, source: str) -> dict[str, Any]:
    """How a crawl ended that somebody asked for."""
    give_up = anyio.current_time() + PATIENCE_S
    while True:
        found = await api.call("admin/crawl_status", source_id=source)
        if found["state"] not in ("waiting", "listing", "reading"):
            return found
        assert anyio.current_time() < give_up, found
        await anyio.sleep(0.05)


@asynccontextmanager
async def open_ground() -> AsyncGenerator[CrawlCluster]:
    """A database of its own with one tenant, and nobody at work yet. All gone afterwards."""
    root = scratch() / f"pecia-crawl-{uuid4().hex[:12]}"
    root.mkdir(mode=0o755)
    options = ClusterOptions(grace_s=0.5, system=root / "system")
    cluster = await open_cluster(root / "db", report=lambda _: None, options=options)
    try:
        token, tenant_id = await _tenant(cluster.logins, root)
        ground = CrawlCluster(root, cluster, token, tenant_id)
        ground.folder.mkdir()
        try:
            yield ground
        finally:
            ground.end_workers()
            for api in ground.apis.values():
                api.kill()
    finally:
        await cluster.stop()
        shutil.rmtree(root, ignore_errors=True)


async def _tenant(logins: DatabaseLogins, root: Path) -> tuple[str, UUID]:
    await migrate(logins.owner, migration_parts())
    store = Store(logins)
    await store.open()
    audit_log = AuditLog(store, root / "spool")
    try:
        operating = OperatorSession(store, audit_log, "test")
        made = await add_tenant(operating, "north", admin="ana", quotas={})
        await allow(operating, "north", AllowlistChange(folders=[str(root / "docs")]))
        async with store.system() as tx:
            tenant_id = await tx.fetch_value("SELECT id FROM kernel.tenant WHERE name = 'north'")
        return made.token, tenant_id
    finally:
        await audit_log.close()
        await store.close()
