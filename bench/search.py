"""Search as the tools call it, in process: both modes, by callers who see all or little.

`python -m bench.search 0.1 [FOLDER]` searches a tenth of a million chunks; a folder keeps what was
built for the next time. The words are those of the keyword bench (`PECIA_BENCH_TEXTS`). The vectors
are cheap static ones, and the embedder is a table, so its 3 ms a query are not in these figures.
What is measured is a warm server: a thousand other queries come first, by a caller who sees all,
and a hundred of them by every other caller. The first hundred, right after the start, are a figure
of their own.

A shared machine was seen to take half as long again for a minute. So every caller runs five rounds,
in turn, of a hundred new queries; the figures are of all of them, with each round's median beside.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Generator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import anyio
import numpy as np
from psycopg import AsyncConnection

from bench import result
from bench.corpus_store import DIMS, MODEL, SHARES, SQL, Bench, Sizes, caller
from bench.keyword import asked, documents
from bench.static_vectors import StaticVectors
from pecia.interfaces.http.server import LOOP_OPTIONS, freeze_gc
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.corpus.search.search import Corpus, SearchMode, SearchRequest
from pecia.kernel.corpus.vectors.embedder import Vectors
from pecia.kernel.identity.caller import Caller
from pecia.kernel.store.cluster import ClusterOptions, open_cluster
from pecia.kernel.store.migrate import KERNEL_SCHEMA, migrate
from pecia.kernel.store.store import Store

QUERIES = 100
ROUNDS = 5
# Warm-up queries.
OTHERS = 1000
# Callers who search while files are written.
BUSY = ("50%", "10%")


class Table:
    """An embedder that knows a vector for every query beforehand."""

    name, language = MODEL, ""

    def __init__(self, made: StaticVectors, queries: Sequence[str]) -> None:
        self._vectors = dict(zip(queries, made.of(queries), strict=True))

    async def dimension(self) -> int:
        return DIMS

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.array([self._vectors[it] for it in texts])


@asynccontextmanager
async def ground(home: Path, texts: Path, sizes: Sizes) -> AsyncGenerator["SearchBench"]:
    """A home with all that is searched. One that was built before is taken as it is."""
    options = ClusterOptions(system=home / "s")
    async with await open_cluster(home, report=print, options=options) as cluster:
        await migrate(cluster.logins.owner, [KERNEL_SCHEMA])
        store = Store(cluster.logins)
        await store.open()
        try:
            made = SearchBench(store, cluster.logins, sizes)
            await made.build(home, texts)
            yield made
        finally:
            await store.close()


async def run(home: Path, texts: Path, sizes: Sizes) -> dict[str, Any]:
    async with ground(home, texts, sizes) as made:
        return await made.measured(home, texts)


class SearchBench(Bench):
    """One tenant of the corpus bench, with words of its own and a keyword index."""

    callers: dict[str, Caller]

    async def build(self, home: Path, texts: Path) -> None:
        known = home / "ground.json"
        if not known.exists():
            await self._build(home, texts)
            known.write_text(json.dumps([str(self.asking), await self._make_callers()]))
        tenant, callers = json.loads(known.read_text())
        self.asking = UUID(tenant)
        self.callers = {
            name: caller(UUID(credential), self.asking, UUID(user))
            for name, (credential, user) in callers.items()
        }
        if await self._ask(SQL["remove_written"], tenant=self.asking):
            # An earlier run wrote more than the figures are said to be of.
            await self._vacuum()
            await self._index(home / "index")

    async def _build(self, home: Path, texts: Path) -> None:
        chunks = self.sizes.asked_files * self.sizes.chunks
        await self._ask(SQL["drop_index"])
        self.asking = await self._large_tenant("asked", self.sizes.asked_files, self.sizes.classes)
        await self._give_words(texts)
        await self._give_vectors(texts, chunks)
        await self._build_vector_index()
        await self._vacuum()
        await self._index(home / "index")

    async def measured(self, home: Path, texts: Path) -> dict[str, Any]:
        chunks = self.sizes.asked_files * self.sizes.chunks
        words, others = queries(texts, chunks), other_queries(texts, chunks)
        corpus = Corpus(
            self.store, ReaderCache(home / "index"), Table(static(texts), [*words, *others])
        )
        found: dict[str, Any] = {"chunks": chunks, "queries": len(words), "before": len(others)}
        freeze_gc()
        for name, who in self.callers.items():
            first = await _times(corpus, who, others[:QUERIES], SearchMode.HYBRID)
            found.setdefault("hybrid_right_after_the_start", told([first]))
            if name == "100%":
                await _times(corpus, who, others, SearchMode.HYBRID)
        found["yardstick"] = await self._yardstick()
        found |= await self._in_turn(corpus, words, self.callers)
        with writing(home, self.asking) as rate:
            busy = await self._in_turn(corpus, words, BUSY)
        found |= {f"{name}, while files are written": it for name, it in busy.items()}
        found["files_written_per_s"] = rate.pop()
        return found

    async def _in_turn(
        self, corpus: Corpus, words: Sequence[str], names: Iterable[str]
    ) -> dict[str, Any]:
        times = Times()
        for part in rounds(words):
            for name in names:
                for mode in SearchMode:
                    took = await _times(corpus, self.callers[name], part, mode)
                    times.add(name, mode, took)
        return times.told()

    async def _yardstick(self) -> dict[str, float]:
        """What the least costs on this machine at this time: it was seen to double in an hour."""
        who = self.callers["100%"]
        empty: list[float] = []
        asked: list[float] = []
        for _ in range(200):
            began = time.perf_counter()
            async with self.store.reading(who) as tx:
                opened = time.perf_counter()
                await tx.fetch_value("SELECT 1")
                asked.append((time.perf_counter() - opened) * 1000)
            empty.append((time.perf_counter() - began) * 1000)
        return {
            "select_1_ms": round(statistics.median(asked), 3),
            "reading_of_it_ms": round(statistics.median(empty), 3),
        }

    async def _build_vector_index(self) -> None:
        """In memory, as far as there is some: a million take hours otherwise."""
        async with await AsyncConnection.connect(self.logins.system, autocommit=True) as connection:
            await connection.execute("SET maintenance_work_mem = '3GB'")
            await connection.execute(SQL["build_index"])

    async def _make_callers(self) -> dict[str, tuple[str, str]]:
        made: dict[str, tuple[str, str]] = {}
        for share, name in SHARES.items():
            who = await self._who(share)
            made[name] = (str(who.credential_id), str(who.user_id))
        return made

    async def _give_words(self, texts: Path) -> None:
        """Every chunk the text of a real one."""
        rows = await self._ask(SQL["chunk_ids"], tenant=self.asking, most=10**9)
        pairs = zip((id_ for id_, _, _ in rows), _bodies(texts), strict=False)
        async with await AsyncConnection.connect(self.logins.system) as connection:
            while batch := list(islice(pairs, 5000)):
                ids, words = zip(*batch, strict=True)
                values = {"tenant": self.asking, "ids": [*ids], "bodies": [*words]}
                await connection.execute(SQL["take_bodies"], values)

    async def _give_vectors(self, texts: Path, chunks: int) -> None:
        rows = await self._ask(SQL["chunk_ids"], tenant=self.asking, most=chunks)
        bodies = islice(_bodies(texts), len(rows))
        await self._copy_vectors(self.asking, rows, static(texts).each(bodies))

    async def _index(self, root: Path) -> None:
        await self._ask(SQL["tick"], tenant=self.asking)
        writer = await IndexWriter.acquire(self.store, "bench", root, self.asking)
        assert writer is not None
        await writer.rebuild()
        await writer.close()

    async def _who(self, share: str) -> Caller:
        name = f"reader-{share}"
        of = {"tenant": self.asking}
        user = (await self._ask(SQL["add_user"], **of, name=name, role="member"))[0][0]
        ((credential,),) = await self._ask(SQL["credential"], **of, user=user, share=share)
        return caller(credential, self.asking, user)


async def _times(
    corpus: Corpus, who: Caller, words: Sequence[str], mode: SearchMode
) -> list[float]:
    times: list[float] = []
    for it in words:
        began = time.perf_counter()
        await corpus.search(who, SearchRequest(it, limit=10, mode=mode))
        times.append((time.perf_counter() - began) * 1000)
    return times


class Times:
    """Latencies by caller and mode, a list for every round."""

    def __init__(self) -> None:
        self._held: dict[str, dict[str, list[list[float]]]] = {}

    def add(self, name: str, mode: str, times: list[float]) -> None:
        self._held.setdefault(name, {}).setdefault(mode, []).append(times)

    def told(self) -> dict[str, dict[str, Any]]:
        return {
            name: {mode: told(it) for mode, it in modes.items()}
            for name, modes in self._held.items()
        }


def told(times: Sequence[Sequence[float]]) -> dict[str, Any]:
    ranked = sorted(it for some in times for it in some)
    return {
        "p50_ms": round(statistics.median(ranked), 2),
        "p95_ms": round(ranked[int(0.95 * len(ranked))], 2),
        "p50_ms_each_time": [round(statistics.median(it), 2) for it in times],
    }


def rounds(words: Sequence[str]) -> list[Sequence[str]]:
    return [words[at : at + QUERIES] for at in range(0, len(words), QUERIES)]


def static(texts: Path) -> StaticVectors:
    return StaticVectors(_bodies(texts))


def _bodies(texts: Path) -> Iterator[str]:
    return (body.replace("\0", " ") for _, chunks in documents(texts) for body in chunks)


def queries(texts: Path, chunks: int) -> list[str]:
    return [" ".join(it.words) for it in asked(texts, chunks, ROUNDS * QUERIES)]


def other_queries(texts: Path, chunks: int) -> list[str]:
    found = asked(texts, chunks, ROUNDS * QUERIES + OTHERS)
    return [" ".join(it.words) for it in found[ROUNDS * QUERIES :]]


@contextmanager
def writing(home: Path, tenant: UUID) -> Generator[list[float]]:
    """Files are written and indexed beside the block; then the list holds how many a second."""
    command = [sys.executable, "-m", "bench.serving.writer", str(home), str(tenant)]
    rate: list[float] = []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        yield rate
        rate.append(float(process.communicate("")[0]))


def main(scale: float = 0.1, kept: str | None = None) -> Path:
    with home_at(kept) as home:
        figures = anyio.run(
            run, home, texts_folder(), sizes_at(scale), backend_options=LOOP_OPTIONS
        )
    return result.write(f"search-{figures['chunks']}", figures)


def texts_folder() -> Path:
    return Path(os.environ["PECIA_BENCH_TEXTS"])


def sizes_at(scale: float) -> Sizes:
    return replace(Sizes(), asked_files=int(100_000 * scale))


@contextmanager
def home_at(kept: str | None) -> Generator[Path]:
    """A folder for the time of the bench, or one that is kept for the next."""
    with tempfile.TemporaryDirectory(prefix="pecia-bench-") as fresh:
        home = Path(kept or fresh)
        home.mkdir(exist_ok=True)
        # PostgreSQL runs as another user where we are root.
        home.chmod(0o755)
        yield home


if __name__ == "__main__":
    print(main(float(sys.argv[1]), *sys.argv[2:3]) if len(sys.argv) > 1 else main())
