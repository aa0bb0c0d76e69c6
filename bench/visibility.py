"""Searches with an ACL filter in the keyword index and without, by how much the caller sees.

`python -m bench.visibility 0.1 [FOLDER]` searches a tenth of a million chunks; a folder keeps what
was built for the next time, here or for `bench.search`. Each query is sent both ways in turn, once
while the index is at the database's commit and once while it lags behind by one. Figures are
milliseconds at the median: `cpu` is that of this process and of PostgreSQL, which a busy machine
leaves as it is. `VisibilityPolicy` takes its fraction from here.
"""

import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio

from bench import result
from bench.corpus_store import SQL, caller
from bench.search import (
    LOOP_OPTIONS,
    SearchBench,
    Table,
    freeze_gc,
    ground,
    home_at,
    queries,
    sizes_at,
    static,
    texts_folder,
)
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.corpus.search.search import Corpus, SearchMode, SearchRequest
from pecia.kernel.corpus.visibility import VisibilityPolicy
from pecia.kernel.identity.caller import Caller

FRACTIONS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 0.95)
POLICIES = {"with_filter": VisibilityPolicy(2.0), "without": VisibilityPolicy(1e-9)}
WARM_UP, QUERIES = 20, 80


class Took(NamedTuple):
    wall_ms: float
    cpu_ms: float


class Visibility(SearchBench):
    """The tenant of the search bench, and callers who see a fraction of it."""

    backends: Sequence[int] = ()

    async def compare(self, home: Path, texts: Path) -> dict[str, Any]:
        chunks = self.sizes.asked_files * self.sizes.chunks
        words = queries(texts, chunks)[: WARM_UP + QUERIES]
        readers, embedder = ReaderCache(home / "index"), Table(static(texts), words)
        ways = {
            name: Corpus(self.store, readers, embedder, policy=it) for name, it in POLICIES.items()
        }
        callers = {it: await self._sees(it) for it in FRACTIONS}
        found: dict[str, Any] = {"chunks": chunks, "queries": QUERIES}
        freeze_gc()
        for state in ("at_the_commit", "behind"):
            await self._catch_up(home)
            if state == "behind":
                await self._ask(SQL["tick"], tenant=self.asking)
            found[state] = {
                f"{fraction:.0%}": {
                    mode: await self._alternate(ways, who, words, mode) for mode in SearchMode
                }
                for fraction, who in callers.items()
            }
        await self._catch_up(home)
        return found

    async def _alternate(
        self, ways: Mapping[str, Corpus], who: Caller, words: Sequence[str], mode: SearchMode
    ) -> dict[str, Any]:
        times: dict[str, list[Took]] = {name: [] for name in ways}
        for at, it in enumerate(words):
            if at == WARM_UP:
                self.backends = [pid for (pid,) in await self._ask(SQL["backends"])]
            for name, corpus in ways.items():
                took = await self._took(corpus, who, SearchRequest(it, limit=10, mode=mode))
                if at >= WARM_UP:
                    times[name].append(took)
        return {name: _medians(it) for name, it in times.items()}

    async def _took(self, corpus: Corpus, who: Caller, ask: SearchRequest) -> Took:
        began, cpu = time.perf_counter(), self._cpu_s()
        await corpus.search(who, ask)
        return Took((time.perf_counter() - began) * 1000, (self._cpu_s() - cpu) * 1000)

    def _cpu_s(self) -> float:
        stats = (Path(f"/proc/{it}/schedstat").read_text("ascii") for it in self.backends)
        return time.process_time() + sum(int(it.split()[0]) for it in stats) / 1e9

    async def _catch_up(self, home: Path) -> None:
        writer = await IndexWriter.acquire(self.store, "bench", home / "index", self.asking)
        assert writer is not None
        await writer.catch_up()
        await writer.close()

    async def _sees(self, fraction: float) -> Caller:
        """One who is in the groups of that fraction of all ACL classes."""
        of = {"tenant": self.asking}
        name = f"reader-{fraction}-{time.time_ns()}"
        user = (await self._ask(SQL["add_user"], **of, name=name, role="member"))[0][0]
        most = round(fraction * self.sizes.classes)
        ((credential,),) = await self._ask(SQL["credential_of_groups"], **of, user=user, most=most)
        return caller(credential, self.asking, user)


async def run(home: Path, texts: Path, scale: float) -> dict[str, Any]:
    async with ground(home, texts, sizes_at(scale)) as made:
        bench = Visibility(made.store, made.logins, made.sizes)
        bench.asking = made.asking
        return await bench.compare(home, texts)


def _medians(times: Sequence[Took]) -> dict[str, float]:
    return {
        name: round(statistics.median(getattr(it, name) for it in times), 2)
        for name in Took._fields
    }


def main(scale: float = 0.1, kept: str | None = None) -> Path:
    with home_at(kept) as home:
        figures = anyio.run(run, home, texts_folder(), scale, backend_options=LOOP_OPTIONS)
    return result.write(f"visibility-{figures['chunks']}", figures)


if __name__ == "__main__":
    print(main(float(sys.argv[1]), *sys.argv[2:3]) if len(sys.argv) > 1 else main())
