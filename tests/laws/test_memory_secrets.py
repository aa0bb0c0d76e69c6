"""Under `memory.secrets = refuse` no secret that is said to a memory tool is written anywhere: not
to a table, the keyword index, the log, the audit log, the spool or a backup."""

import io
import json
import zipfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pecia.app.app import index_root
from pecia.kernel import logs
from pecia.kernel.corpus.keyword.follower import FollowerIntervals, IndexFollower
from pecia.kernel.errors import PeciaError
from pecia.kernel.store.backup.dump import back_up
from pecia.kernel.store.cluster import DatabaseLogins
from tests.features.memory.conftest import Memories, open_memories
from tests.laws.planted_secrets import Planted, texts
from tests.soak import SOAK

CASES = 2_000 if SOAK else 4
# A plain word that must be found wherever a secret must not: the search would see one.
SENTINEL, LAST = "zanzibarometer", "zanzibarograph"
QUICK = FollowerIntervals(poll_s=0.05, idle_s=0.1, maintenance_s=0.2, retry_s=0.05)


def _ignore(table: str, done: int, total: int) -> None:
    """A backup's progress."""


@dataclass(frozen=True, slots=True)
class Room:
    """Memories on a thread of their own, and what was logged."""

    memories: Memories
    portal: BlockingPortal
    home: Path
    lines: io.StringIO
    known: str

    def say(self, text: str) -> None:
        """A text to every tool that stores, and as a question."""
        trace = {"id": "t", "steps": [{"type": "thought", "content": text}]}
        calls: list[tuple[str, dict[str, Any]]] = [
            (
                "cipher_extract_and_operate_memory",
                {"interaction": [text], "memoryMetadata": {"note": text}},
            ),
            ("cipher_workspace_store", {"interaction": f"Bo is blocked: {text}"}),
            ("ask_cipher", {"message": f"Please remember: {text}"}),
            ("memory_import", {"memories": [{"text": text, "note": text}]}),
            ("memory_edit", {"id": self.known, "text": text}),
            ("cipher_store_reasoning_memory", {"trace": trace, "evaluation": {"qualityScore": 1}}),
            ("cipher_memory_search", {"query": text[:1000]}),
        ]
        self.portal.call(self._call_all, calls)

    async def _call_all(self, calls: list[tuple[str, dict[str, Any]]]) -> None:
        for tool, arguments in calls:
            try:
                await self.memories.call(self.memories.bo, tool, **arguments)
            except PeciaError:
                continue

    async def tables(self) -> str:
        """Every row of every table."""
        await self.memories.app.audit_log.drain()
        rows: list[str] = []
        async with self.memories.app.store.system() as tx:
            for table in await tx.fetch_all(
                "SELECT format('%%I.%%I', table_schema, table_name) AS name"
                " FROM information_schema.tables WHERE table_type = 'BASE TABLE'"
                " AND table_schema NOT IN ('pg_catalog', 'information_schema')"
            ):
                sql: Any = f"SELECT t::text AS row FROM {table['name']} AS t"
                rows += [it["row"] for it in await tx.fetch_all(sql)]
        return "\n".join(rows)

    async def backup(self, path: Path) -> str:
        await back_up(self.memories.app.store.logins.system, path, _ignore)
        with zipfile.ZipFile(path) as archive:
            return "\n".join(
                archive.read(it).decode("utf-8", "replace") for it in archive.namelist()
            )

    async def index(self) -> None:
        """Have the keyword index written, up to a last memory that is plain."""
        app, bo = self.memories.app, self.memories.bo
        await self.memories.remember(bo, f"The last {LAST} reads 5.")
        root = index_root(app.settings.kernel)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(IndexFollower(app.store, root, QUICK).run)
            asked = {"query": LAST, "source_id": "memory", "mode": "lexical"}
            # Each search waits for the caller's last writes.
            while not (await self.memories.call(bo, "search_content", **asked))["hits"]:
                pass
            tasks.cancel_scope.cancel()

    def files(self) -> str:
        """What stands in the home: index, spool and all others."""
        read = (it.read_bytes() for it in self.home.rglob("*") if it.is_file())
        return "\n".join(it.decode("utf-8", "replace") for it in read)


@contextmanager
def opened(database: DatabaseLogins, home: Path) -> Generator[Room]:
    flags = {"memory.secrets": "refuse"}
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_memories(database, home, **flags)) as memories,
    ):
        lines = io.StringIO()
        with logs.configure_logging(memories.app.settings.kernel, stream=lines):
            made = portal.call(memories.remember, memories.bo, f"The {SENTINEL} reads 4.")
            yield Room(memories, portal, home, lines, made["memory"][0]["id"])


def forms(secret: str) -> set[str]:
    """As it stands in JSON, in a row of PostgreSQL, in Python's own words, and plainly."""
    doubled = secret.replace("\\", "\\\\").replace('"', '""')
    return {secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], doubled}


@pytest.mark.timeout(0 if SOAK else 120)
def test_a_refused_secret_is_written_nowhere(database: DatabaseLogins, tmp_path: Path) -> None:
    secrets: set[str] = set()
    with opened(database, tmp_path / "home") as room:

        @settings(
            max_examples=CASES,
            deadline=None,
            database=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        )
        @given(st.lists(texts, min_size=3, max_size=3))
        def say(corpus: list[Planted]) -> None:
            room.say("\n".join(it.value for it in corpus))
            room.say(corpus[0].value)
            secrets.update(it.secret for it in corpus)

        say()
        room.portal.call(room.index)
        written = {
            "tables": room.portal.call(room.tables),
            "backup": room.portal.call(room.backup, tmp_path / "b.zip"),
            "log": room.lines.getvalue(),
            "home": room.files(),
        }
    assert len(secrets) > CASES
    for place in ("tables", "backup"):
        assert SENTINEL in written[place]
        assert LAST in written[place]
    leaked = [
        (place, secret)
        for place, text in written.items()
        for secret in secrets
        if any(it in text for it in forms(secret))
    ]
    assert leaked == []
