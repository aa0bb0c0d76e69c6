"""A folder regranted, an index rebuilt, a source removed, and search latency meanwhile.

`python -m bench.regrant 5000` fills one source with five thousand files of ten chunks, and another
with a fifth of that, then changes the first while two callers search: one who sees all, and one
who sees a tenth of the smaller source. Lexical only; removing vectors is in corpus_store.
The index is written by a process of its own, as in a server.
"""

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias
from uuid import UUID

import anyio
import psycopg
from anyio import to_process

from bench import result
from bench.corpus_store import SQL, caller
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import ExtractedText, put_many
from pecia.kernel.corpus.keyword.directory import IndexDirectory, load_node_name
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.corpus.search.search import Corpus, SearchMode, SearchRequest
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.cluster import ClusterOptions, DatabaseLogins, open_cluster
from pecia.kernel.store.migrate import KERNEL_SCHEMA, migrate
from pecia.kernel.store.store import Store
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text

LARGE, KEPT = "large", "kept"
CHUNKS = 10
TOGETHER = 100
# As often as words of a language are: the second half as often as the first, and so on.
WORDS = [
    f"{a}{b}{c}{d}" for a in "bdfg" for b in ("ara", "eno", "isu") for c in "klnr" for d in "aeiouy"
]
WEIGHTS = [1 / (n + 3) for n in range(len(WORDS))]
QUERIES = 100
LIMIT = 10
TABLES = ("file", "chunk", "revision", "change", "tick")

Work: TypeAlias = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class RegrantBench:
    store: Store
    logins: DatabaseLogins
    root: Path
    tenant: UUID

    async def measured(self, files: int) -> dict[str, Any]:
        began = time.perf_counter()
        for source, count in ((LARGE, files), (KEPT, files // 5)):
            await self._fill(source, count)
        reader = await self._user("reader")
        await self._grant(KEPT, "0/", reader)
        found: dict[str, Any] = {"files": files, "chunks": files * CHUNKS}
        found["fill_s"] = _since(began)
        found["build"] = await self._timed(self._keeping("rebuild"))
        asking = Searchers(
            Corpus(self.store, ReaderCache(self.root)),
            {"all": await self._caller(await self._admin()), "few": await self._caller(reader)},
        )
        await asking.searched(2)
        found["quiet"] = asking.told(await asking.searched(QUERIES))
        found["disk_mb"] = {"before": await self._disk()}
        for name, steps in self._steps(await self._user("other"), files).items():
            found[name] = {step: await asking.during(work) for step, work in steps.items()}
            found["disk_mb"][name] = await self._disk()
            print(name, found[name], found["disk_mb"][name], flush=True)
        found["after"] = asking.told(await asking.searched(QUERIES))
        return found

    def _steps(self, other: UUID, files: int) -> dict[str, dict[str, Work]]:
        """What is done, each with what the index has to do after it."""
        follow = self._keeping("catch_up")
        return {
            "regrant_in_place": {"store": partial(self._grant, LARGE, "", other), "index": follow},
            # A right in one folder of ten: the files of it leave their class.
            "regrant_a_tenth": {
                "store": partial(self._grant, LARGE, "3/", other, "writer"),
                "index": follow,
            },
            "rebuild": {"index": self._keeping("rebuild")},
            "remove": {"store": self._remove, "index": follow, "vacuum": self._vacuum},
            "rebuild_after": {"index": self._keeping("rebuild")},
            # What a removal frees the database keeps for the next: the same files again.
            "fill_again": {"store": partial(self._fill, LARGE, files), "index": follow},
        }

    async def _fill(self, source: str, files: int) -> None:
        await self._ask(
            "INSERT INTO kernel.source (tenant_id, id, protocol) VALUES (%(tenant)s, %(id)s, 'x')",
            tenant=self.tenant,
            id=source,
        )
        chance = random.Random(source)
        for start in range(0, files, TOGETHER):
            numbers = range(start, min(files, start + TOGETHER))
            async with self.store.system() as tx:
                await put_many(
                    tx,
                    [
                        (FileMetadata(source, f"{n % 10}/{n:07}.txt"), _said(chance))
                        for n in numbers
                    ],
                    tenant_id=self.tenant,
                )

    async def _grant(self, source: str, prefix: str, user: UUID, role: str = "reader") -> None:
        await self._ask(
            "INSERT INTO kernel.folder_grant (tenant_id, source_id, prefix, principal_id, role)"
            " SELECT tenant_id, %(source)s, %(prefix)s, principal_id, %(role)s"
            " FROM kernel.user_account WHERE tenant_id = %(tenant)s AND id = %(user)s",
            tenant=self.tenant,
            source=source,
            prefix=prefix,
            user=user,
            role=role,
        )

    async def _remove(self) -> None:
        await self._ask(
            "DELETE FROM kernel.source WHERE tenant_id = %(tenant)s AND id = %(id)s",
            tenant=self.tenant,
            id=LARGE,
        )

    async def _vacuum(self) -> None:
        for table in TABLES:
            await _ask(self.logins.owner, f"VACUUM (ANALYZE) kernel.{table}", {})

    async def _user(self, name: str, role: str = "member") -> UUID:
        values = {"tenant": self.tenant, "name": name, "role": role}
        return (await self._ask(SQL["add_user"], **values))[0][0]

    async def _admin(self) -> UUID:
        return await self._user("admin", "admin")

    async def _caller(self, user: UUID) -> Caller:
        made = await self._ask(
            "INSERT INTO kernel.credential (tenant_id, kind, user_id, scopes)"
            " VALUES (%(tenant)s, 'oidc', %(user)s, '{pecia.search,pecia.read}') RETURNING id",
            tenant=self.tenant,
            user=user,
        )
        return caller(made[0][0], self.tenant, user)

    async def _disk(self) -> dict[str, float]:
        rows = await self._ask(SQL["weight"])
        index = IndexDirectory.of(self.root, self.tenant).size_bytes()
        return {"store": round(rows[0][0] / 1e6, 1), "index": round(index / 1e6, 1)}

    def _keeping(self, verb: str) -> Work:
        async def work() -> None:
            await to_process.run_sync(_run_index_writer, self.logins, self.root, self.tenant, verb)

        return work

    async def _timed(self, work: Work) -> dict[str, float]:
        began = time.perf_counter()
        await work()
        return {"s": _since(began)}

    async def _ask(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        return await _ask(self.logins.system, statement, values)


@dataclass(frozen=True, slots=True)
class Searchers:
    """Callers who search."""

    corpus: Corpus
    callers: dict[str, Caller]

    async def during(self, work: Work) -> dict[str, Any]:
        """How long it takes, and searches meanwhile."""
        times: dict[str, list[SearchTiming]] = {name: [] for name in self.callers}
        took: list[float] = []

        async def do() -> None:
            began = time.perf_counter()
            await work()
            took.append(_since(began))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(do)
            while not took:
                for name, found in (await self.searched(1)).items():
                    times[name] += found
        return {"s": took[0], **self.told(times)}

    async def searched(self, count: int) -> dict[str, list["SearchTiming"]]:
        return {
            name: [await self._asked(who) for _ in range(count)]
            for name, who in self.callers.items()
        }

    def told(self, asked: dict[str, list["SearchTiming"]]) -> dict[str, Any]:
        """`partial` are answers that were short of hits and said that there are more."""
        return {
            name: {
                "searches": len(found),
                "partial": sum(it.is_partial for it in found),
                **_spread([it.took_ms for it in found]),
            }
            for name, found in asked.items()
        }

    async def _asked(self, who: Caller) -> "SearchTiming":
        query = " ".join(random.sample(WORDS, 2))
        began = time.perf_counter()
        answer = await self.corpus.search(
            who, SearchRequest(query, limit=LIMIT, mode=SearchMode.LEXICAL)
        )
        took_ms = (time.perf_counter() - began) * 1000
        return SearchTiming(took_ms, is_partial=answer.has_more and len(answer.hits) < LIMIT)


@dataclass(frozen=True, slots=True)
class SearchTiming:
    took_ms: float
    is_partial: bool


def _run_index_writer(logins: DatabaseLogins, root: Path, tenant_id: UUID, verb: str) -> None:
    """In a process of its own: the index catches up, or is rebuilt."""

    async def kept() -> None:
        store = Store(logins)
        await store.open()
        writer = await IndexWriter.acquire(store, load_node_name(root), root, tenant_id)
        assert writer is not None
        if verb == "rebuild" or await writer.catch_up() is None:
            await writer.rebuild()
        await writer.close()
        await store.close()

    anyio.run(kept)


def _said(chance: random.Random) -> ExtractedText:
    paragraphs = [
        " ".join(chance.choices(WORDS, WEIGHTS, k=chance.randint(110, 150))) for _ in range(CHUNKS)
    ]
    return ExtractedText(
        build_canonical_text([RawUnit(1, UnitKind.SECTION, "\n\n".join(paragraphs))]), language="en"
    )


def _spread(times: Sequence[float]) -> dict[str, float]:
    if not times:
        return {}
    ranked = sorted(times)
    return {
        "p50_ms": round(statistics.median(ranked), 2),
        "p95_ms": round(ranked[int(0.95 * len(ranked))], 2),
    }


def _since(began: float) -> float:
    return round(time.perf_counter() - began, 2)


async def _ask(conninfo: str, statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        found = await connection.execute(statement.encode(), values)
        return await found.fetchall() if found.description else []


async def run(home: Path, files: int) -> dict[str, Any]:
    options = ClusterOptions(system=home / "s")
    async with await open_cluster(home, report=print, options=options) as cluster:
        await migrate(cluster.logins.owner, [KERNEL_SCHEMA])
        store = Store(cluster.logins)
        await store.open()
        try:
            async with store.system() as tx:
                tenant: UUID = await tx.fetch_value(SQL["make_tenant"], name="regrant")
            regranting = RegrantBench(store, cluster.logins, home / "index", tenant)
            return await regranting.measured(files)
        finally:
            await store.close()


def main(files: int = 5000) -> Path:
    with tempfile.TemporaryDirectory(prefix="pecia-bench-") as home:
        # PostgreSQL runs as another user where we are root.
        Path(home).chmod(0o755)
        figures = anyio.run(run, Path(home), files)
    return result.write(f"regrant-{files}", figures)


if __name__ == "__main__":
    print(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5000))
