"""The corpus in the store: putting files, regranting a folder, removing a source, the nearest.

Sizes are a parameter: `python -m bench.corpus_store 0.01` runs a hundredth of it all. Vectors
are random points around some centres, not a model's: they cost what real ones cost to find.
"""

import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import numpy as np
import psutil
import psycopg
from psycopg import AsyncConnection

from bench import result
from pecia.kernel.corpus.catalog.catalog import FileMetadata
from pecia.kernel.corpus.catalog.texts import ExtractedText, put, put_many
from pecia.kernel.corpus.vectors import knn as vectors
from pecia.kernel.corpus.vectors.embedder import Vectors
from pecia.kernel.identity.caller import EVERY_SCOPE, Caller, CredentialKind
from pecia.kernel.store.cluster import ClusterOptions, DatabaseLogins, open_cluster
from pecia.kernel.store.migrate import KERNEL_SCHEMA, migrate
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store
from pecia.kernel.text.canonical import RawUnit, UnitKind, build_canonical_text

SQL = load_queries("bench", "corpus_store.sql")
DIMS, MODEL, K = 384, "static", 60
SHARES = {"1": "100%", "0.5": "50%", "0.1": "10%", "0.01": "1%", "0": "one file"}
WORDS = (
    "the",
    "of",
    "water",
    "steel",
    "flow",
    "pressure",
    "layer",
    "heat",
    "report",
    "method",
    "surface",
    "index",
    "value",
)
CHUNK = " ".join(WORDS * 9)[:780]


@dataclass(frozen=True, slots=True)
class Sizes:
    """A large tenant is `files` times `chunks`; the one that is asked has a vector for each."""

    put_files: int = 3000
    asked_files: int = 10_000
    large_files: int = 100_000
    chunks: int = 10
    classes: int = 1000
    vectors: int = 100_000
    queries: int = 100

    def scaled(self, by: float) -> "Sizes":
        return Sizes(
            **{k: max(20, int(it * by)) for k, it in asdict(self).items()} | {"chunks": 10}
        )


async def run(home: Path, sizes: Sizes) -> dict[str, Any]:
    async with await open_cluster(
        home, report=print, options=ClusterOptions(system=home / "s")
    ) as cluster:
        await migrate(cluster.logins.owner, [KERNEL_SCHEMA])
        store = Store(cluster.logins)
        await store.open()
        try:
            bench = Bench(store, cluster.logins, sizes)
            figures: dict[str, Any] = {"sizes": asdict(sizes), "k": K}
            for part in (bench.put, bench.fill, bench.nearest, bench.large):
                figures[part.__name__] = await part()
                print(part.__name__, figures[part.__name__], flush=True)
            return figures
        finally:
            await store.close()


class Bench:
    """The parts, in the order of their names in `run`: each stands on the one before."""

    asking: UUID
    changing: UUID
    every: "Every"

    def __init__(self, store: Store, logins: DatabaseLogins, sizes: Sizes) -> None:
        self.store = store
        self.logins = logins
        self.sizes = sizes
        self.asked: list[tuple[str, Caller]] = []
        self.queries: list[Vectors] = []

    async def put(self) -> dict[str, Any]:
        """Files a second, by one writer: one a transaction, and twenty."""
        tenant = await self._tenant("put")
        files = [(FileMetadata("s1", f"{n}.md"), article(n)) for n in range(self.sizes.put_files)]
        third = len(files) // 3
        found: dict[str, Any] = {"one_a_commit": await self._put(tenant, files[:third], 1)}
        found["twenty_a_commit"] = await self._put(tenant, files[third:], 20)
        found["unchanged"] = await self._put(tenant, files[third:], 20)
        rows = await self._ask("SELECT count(*) FROM kernel.chunk")
        return {**found, "chunks_a_file": round(rows[0][0] / len(files), 1), "target_per_s": 200}

    async def _put(
        self, tenant: UUID, files: Sequence[tuple[FileMetadata, ExtractedText]], together: int
    ) -> dict[str, float]:
        async with self.store.system() as tx:
            work = Work(await tx.fetch_value("SELECT pg_backend_pid()"))
        for start in range(0, len(files), together):
            async with self.store.system() as tx:
                if together == 1:
                    await put(tx, *files[start], tenant_id=tenant)
                else:
                    await put_many(tx, files[start : start + together], tenant_id=tenant)
        return work.each(len(files))

    async def fill(self) -> dict[str, Any]:
        """Two large tenants: one to be asked, one to be changed while the other is."""
        began = time.perf_counter()
        await self._ask(SQL["drop_index"])
        self.asking = await self._large_tenant("asked", self.sizes.asked_files, self.sizes.classes)
        vectors = self.sizes.asked_files * self.sizes.chunks
        self.every = await self._add_vectors(self.asking, vectors)
        self.changing = await self._large_tenant("large", self.sizes.large_files, 1)
        await self._add_vectors(self.changing, self.sizes.vectors)
        filled = time.perf_counter()
        await self._ask(SQL["build_index"])
        indexed = time.perf_counter()
        await self._vacuum()
        return {"fill_s": round(filled - began, 1), "index_s": round(indexed - filled, 1)}

    async def nearest(self) -> dict[str, Any]:
        """How long the nearest take, and whether they are those of brute force."""
        tenant, every = self.asking, self.every
        chance = np.random.default_rng(2)
        self.queries = [*points(chance, self.sizes.queries)]
        user = (await self._ask(SQL["add_user"], tenant=tenant, name="reader", role="member"))[0][0]
        found: dict[str, Any] = {}
        for share, name in SHARES.items():
            asked = {"tenant": tenant, "user": user, "share": share}
            ((credential,),) = await self._ask(SQL["credential"], **asked)
            who = caller(credential, tenant, user)
            self.asked.append((name, who))
            found[name] = await self._nearest(who, every, await self._classes(tenant, credential))
        return found

    async def _nearest(self, who: Caller, every: "Every", classes: set[int]) -> dict[str, Any]:
        mine = np.isin(every.classes, [*classes])
        async with self.store.reading(who) as tx:
            work = Work(await tx.fetch_value("SELECT pg_backend_pid()"))
        asked = [await self._ask_nearest(who, query) for query in self.queries]
        times = [took_ms for _, took_ms in asked]
        cpu_ms = work.each(len(self.queries))["cpu_ms"]
        async with self.store.reading(who) as tx:
            share = await vectors.load_visible_set(tx, vectors.NO_FILTER)
        same = [
            shared(near, every.vectors[mine] @ query)
            for (near, _), query in zip(asked, self.queries, strict=True)
        ]
        way = "index" if vectors.choose_ef_search(share, K) else "exact"
        found = {"way": way, "visible": int(mine.sum()), **timing(times), "cpu_ms": cpu_ms}
        return {**found, "recall": mean(same)}

    async def _ask_nearest(
        self, who: Caller, query: "vectors.QueryVector"
    ) -> tuple[list[tuple[int, float]], float]:
        async with self.store.reading(who) as tx:
            began = time.perf_counter()
            near = await vectors.find_nearest(tx, query, MODEL, K)
            return near, (time.perf_counter() - began) * 1000

    async def large(self) -> dict[str, Any]:
        """A folder regranted, then the source removed, while others search."""
        tenant = self.changing
        user = (await self._ask(SQL["add_user"], tenant=tenant, name="reader", role="member"))[0][0]
        of = {"tenant": tenant, "user": user}
        found: dict[str, Any] = {"chunks": self.sizes.large_files * self.sizes.chunks}
        found["vectors"] = self.sizes.vectors
        found["regrant_in_place"] = await self._watched("grant_folder", prefix="f/", **of)
        await self._ask("DELETE FROM kernel.folder_grant")
        # Now half of the files of one class lie elsewhere: a grant there splits the class.
        await self._ask(SQL["rename_half"], tenant=tenant)
        found["regrant_half"] = await self._watched("grant_folder", prefix="g/", **of)
        found["disk_before_mb"] = await self._weight_mb()
        found["remove"] = await self._watched("remove_source", tenant=tenant)
        began = time.perf_counter()
        await self._vacuum()
        found["vacuum_s"] = round(time.perf_counter() - began, 1)
        found["disk_after_mb"] = await self._weight_mb()
        return found

    async def _watched(self, statement: str, **values: Any) -> dict[str, Any]:
        """How long a statement takes, and what searches take meanwhile, if half is seen."""
        times: list[float] = []
        took: list[float] = []

        async def do() -> None:
            began = time.perf_counter()
            await self._ask(SQL[statement], **values)
            took.append(round(time.perf_counter() - began, 2))

        who = dict(self.asked)["50%"]
        async with anyio.create_task_group() as group:
            group.start_soon(do)
            while not took:
                times.append((await self._ask_nearest(who, random.choice(self.queries)))[1])
        return {"s": took[0], "searches": len(times), **timing(times)}

    async def _tenant(self, name: str) -> UUID:
        tenant = (await self._ask(SQL["make_tenant"], name=name))[0][0]
        await self._ask(SQL["add_source"], tenant=tenant)
        return tenant

    async def _large_tenant(self, name: str, files: int, classes: int) -> UUID:
        """Made at once, past the triggers that place one file at a time."""
        tenant = await self._tenant(name)
        chunks = self.sizes.chunks
        values = {"tenant": tenant, "files": files, "classes": classes, "chunks": chunks}
        await self._as_owner("ALTER TABLE kernel.file DISABLE TRIGGER placed")
        for step in ("principals", "classes", "files", "revisions", "chunks"):
            await self._ask(SQL[f"add_{step}"], **values, text=CHUNK)
        await self._ask(SQL["point_to_revisions"], **values)
        await self._as_owner("ALTER TABLE kernel.file ENABLE TRIGGER placed")
        return tenant

    async def _add_vectors(self, tenant: UUID, most: int) -> "Every":
        rows = await self._ask(SQL["chunk_ids"], tenant=tenant, most=most)
        found = points(np.random.default_rng(1), len(rows))
        await self._copy_vectors(tenant, rows, found)
        return Every(found, np.array([acl_id for _, _, acl_id in rows]))

    async def _copy_vectors(
        self, tenant: UUID, rows: Sequence[tuple[Any, ...]], found: Iterable[Vectors]
    ) -> None:
        async with await AsyncConnection.connect(self.logins.owner) as connection:
            # COPY knows no policies, and without it this takes an hour.
            await connection.execute("ALTER TABLE kernel.vector NO FORCE ROW LEVEL SECURITY")
            async with connection.cursor() as cursor, cursor.copy(SQL["copy_vectors"]) as copy:
                for (id_, file_id, _), vector in zip(rows, found, strict=True):
                    row = (tenant, id_, file_id, MODEL, id_.to_bytes(16, "big"), DIMS)
                    await copy.write_row((*row, vectors.vector_literal(vector)))
            await connection.execute("ALTER TABLE kernel.vector FORCE ROW LEVEL SECURITY")

    async def _classes(self, tenant: UUID, credential: UUID) -> set[int]:
        ((held,),) = await self._ask(SQL["held"], id=credential)
        rows = await self._ask(SQL["visible_classes"], tenant=tenant, held=held)
        return {it for (it,) in rows}

    async def _weight_mb(self) -> float:
        return round((await self._ask(SQL["weight"]))[0][0] / 1e6, 1)

    async def _vacuum(self) -> None:
        for table in ("file", "chunk", "revision", "change", "tick", "acl"):
            await self._as_owner(f"VACUUM (ANALYZE) kernel.{table}")
        await self._ask("VACUUM (ANALYZE) kernel.vector")

    async def _ask(self, statement: str, **values: Any) -> list[tuple[Any, ...]]:
        return await _ask(self.logins.system, statement, values)

    async def _as_owner(self, statement: str) -> None:
        await _ask(self.logins.owner, statement, {})


class Work:
    """What is spent from here on: time, and the CPU of this process and of one backend.

    Others may be at work on the machine; they make time longer, and leave CPU as it is.
    """

    def __init__(self, backend: int) -> None:
        self.backend = psutil.Process(backend)
        self.began = time.perf_counter()
        self.cpu = self._cpu()

    def each(self, count: int) -> dict[str, float]:
        """Of so many steps."""
        took, cpu = time.perf_counter() - self.began, self._cpu() - self.cpu
        return {"per_s": round(count / took, 1), "cpu_ms": round(1000 * cpu / count, 2)}

    def _cpu(self) -> float:
        spent = self.backend.cpu_times()
        return spent.user + spent.system + time.process_time()


@dataclass(frozen=True, slots=True)
class Every:
    """Every vector of a tenant, and the class of each."""

    vectors: Any
    classes: Any


def points(chance: np.random.Generator, count: int) -> Any:
    """Points of length one around two hundred centres, which are the same for everybody."""
    centres = np.random.default_rng(0).normal(size=(200, DIMS))
    found = centres[chance.integers(0, 200, count)] + 1.2 * chance.normal(size=(count, DIMS))
    near = found / np.linalg.norm(found, axis=1, keepdims=True)
    return near.astype(np.float16).astype(np.float32)


def article(number: int) -> ExtractedText:
    chance = random.Random(number)
    paragraphs = [" ".join(chance.choices(WORDS, k=90)).capitalize() + "." for _ in range(7)]
    body = f"# Report {number}\n\n" + "\n\n".join(paragraphs)
    return ExtractedText(
        build_canonical_text([RawUnit(1, UnitKind.SECTION, body)]), title=f"Report {number}"
    )


def shared(near: Sequence[tuple[int, float]], cosines: Any) -> float:
    """How many of the best were found. Equally near ones may change places."""
    best = np.sort(cosines)[::-1][:K]
    return sum(it >= best[-1] - 1e-3 for _, it in near) / max(1, len(best))


def caller(credential: UUID, tenant: UUID, user: UUID) -> Caller:
    return Caller(credential, CredentialKind.OIDC, tenant, "t", user, "reader", EVERY_SCOPE)


def timing(times: Sequence[float]) -> dict[str, float]:
    ranked = sorted(times)
    return {
        "p50_ms": round(statistics.median(ranked), 2),
        "p95_ms": round(ranked[int(0.95 * len(ranked))], 2),
    }


def mean(values: Sequence[float]) -> float:
    return round(min(1.0, statistics.fmean(values)), 4)


async def _ask(conninfo: str, statement: str, values: dict[str, Any]) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        found = await connection.execute(statement.encode(), values)
        return await found.fetchall() if found.description else []


def main(scale: float = 1.0) -> Path:
    sizes = Sizes() if scale == 1.0 else Sizes().scaled(scale)
    with tempfile.TemporaryDirectory() as folder:
        # PostgreSQL, run by any user, must be able to enter it.
        Path(folder).chmod(0o711)
        return result.write("corpus-store", anyio.run(run, Path(folder), sizes))


if __name__ == "__main__":
    print(main(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0))
