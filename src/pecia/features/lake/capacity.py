"""`GET /capacity`: recent search latency and CPU, index size, queue length.

Search figures are of this process: a member sees their own, an administrator those of the whole
tenant. Every count covers only what the caller may see. The cost per search is two clock reads.
"""

import time
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from uuid import UUID

import orjson
from anyio.to_thread import run_sync

from pecia.features.lake.model import MAX_PART_BYTES
from pecia.kernel.corpus.keyword.directory import IndexDirectory
from pecia.kernel.corpus.search.hydrate import MAX_WINDOW_CHUNKS
from pecia.kernel.corpus.search.search import Corpus, SearchMode
from pecia.kernel.corpus.vectors.embed_job import FULL_NAME as EMBEDDING
from pecia.kernel.corpus.vectors.throughput import EmbedThroughput, parse_messages
from pecia.kernel.errors import Json
from pecia.kernel.feature import FeaturePage, FeatureRequest, FeatureRoute
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.jobs.status import list_jobs
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction

SQL = load_queries("pecia.features.lake", "capacity.sql")

PATH = "/capacity"
MAX_SAMPLES = 1_000
"""Samples per mode; older ones are dropped."""
MAX_USERS = 1_000
"""Users whose own figures are kept, LRU."""
MAX_SAMPLES_PER_USER = 100
MAX_EMBED_RUNS = 100
"""Runs of the embedding job that throughput is computed from."""


class _RecentSearches:
    def __init__(self, limit: int = MAX_SAMPLES) -> None:
        self.served = 0
        self.latency_ms = deque[float](maxlen=limit)
        self.cpu_ms = deque[float](maxlen=limit)

    def record(self, latency_ms: float, cpu_ms: float | None) -> None:
        self.served += 1
        self.latency_ms.append(latency_ms)
        if cpu_ms is not None:
            self.cpu_ms.append(cpu_ms)


@dataclass(frozen=True, slots=True)
class SearchUser:
    """The user of a tenant who searches."""

    tenant_id: UUID
    person_id: UUID

    @classmethod
    def of(cls, caller: Caller) -> "SearchUser":
        return cls(caller.tenant_id, caller.user_id or caller.credential_id)


@dataclass(slots=True, eq=False)
class _RunningSearch:
    is_alone: bool


class SearchMetrics:
    """Search latency and CPU by tenant, by user and by mode, in this process."""

    def __init__(self) -> None:
        self._lately: dict[tuple[UUID, SearchMode], _RecentSearches] = {}
        self._own: dict[tuple[SearchUser, SearchMode], _RecentSearches] = {}
        self._running: set[_RunningSearch] = set()

    @contextmanager
    def measure(self, user: SearchUser, mode: SearchMode) -> Generator[None]:
        """Measure one successful search. CPU is recorded only if no other search ran meanwhile."""
        mine = _RunningSearch(is_alone=not self._running)
        for other in self._running:
            other.is_alone = False
        self._running.add(mine)
        began, cpu = time.perf_counter(), time.process_time()
        try:
            yield
            latency_ms = (time.perf_counter() - began) * 1000
            cpu_ms = (time.process_time() - cpu) * 1000 if mine.is_alone else None
            self._lately.setdefault((user.tenant_id, mode), _RecentSearches()).record(
                latency_ms, cpu_ms
            )
            self._user_samples(user, mode).record(latency_ms, cpu_ms)
        finally:
            self._running.discard(mine)

    def report_tenant(self, tenant_id: UUID) -> dict[str, Json]:
        return {
            mode.value: _report(self._lately.get((tenant_id, mode), _RecentSearches()))
            for mode in SearchMode
        }

    def report_user(self, user: SearchUser) -> dict[str, Json]:
        return {
            mode.value: _report(self._own.get((user, mode), _RecentSearches()))
            for mode in SearchMode
        }

    def _user_samples(self, user: SearchUser, mode: SearchMode) -> _RecentSearches:
        """The samples of one user, moved to the end (LRU)."""
        own = self._own.pop((user, mode), None) or _RecentSearches(MAX_SAMPLES_PER_USER)
        self._own[user, mode] = own
        if len(self._own) > MAX_USERS * len(SearchMode):
            del self._own[next(iter(self._own))]
        return own


@dataclass(frozen=True, slots=True)
class CapacityPage:
    """The page. `limits` are those of the server, beside the lake's own."""

    corpus: Corpus
    metrics: SearchMetrics
    index_root: Path
    limits: Mapping[str, Json]

    async def serve(self, ask: FeatureRequest) -> FeaturePage:
        async with self.corpus.store.reading(ask.caller) as tx:
            index = await self._index(tx, ask.caller)
            queue: dict[str, Json] = await tx.fetch_one(SQL["queue"], "no queue")
            runs = await list_jobs(tx, name=EMBEDDING, limit=MAX_EMBED_RUNS)
            quotas = await tx.fetch_all(SQL["quotas"]) if _is_admin(ask.caller) else None
        found: dict[str, Json] = {
            "search": self._search(ask.caller),
            "index": index,
            "queue": queue,
            "quotas": [*quotas] if quotas is not None else None,
            "embedder": await self._embedder(ask.caller, [it.message for it in runs]),
            "limits": {
                "search_hits": 100,
                "window_chunks": MAX_WINDOW_CHUNKS,
                "text_part_bytes": MAX_PART_BYTES,
                **self.limits,
            },
        }
        return FeaturePage(orjson.dumps(found), "application/json")

    def _search(self, caller: Caller) -> dict[str, Json]:
        if _is_admin(caller):
            return self.metrics.report_tenant(caller.tenant_id)
        return self.metrics.report_user(SearchUser.of(caller))

    async def _index(self, tx: Transaction, caller: Caller) -> dict[str, Json]:
        """Bytes and lag cover all files, and are for administrators only."""
        size: dict[str, Json] = await tx.fetch_one(SQL["visible_size"], "no classes")
        has_vectors = await tx.fetch_value(SQL["has_vectors"])
        vectors = await tx.fetch_value(SQL["visible_vectors"]) if has_vectors else 0
        found: dict[str, Json] = {**size, "vectors": vectors, "bytes": None, "lag": None}
        if _is_admin(caller):
            now = await tx.fetch_value(SQL["clock"])
            reached = await run_sync(self.corpus.reader_cache.last_commit, caller.tenant_id)
            folder = IndexDirectory.of(self.index_root, caller.tenant_id).folder
            found |= {"bytes": await run_sync(_bytes, folder), "lag": max(0, (now or 0) - reached)}
        return found

    async def _embedder(self, caller: Caller, messages: Sequence[str | None]) -> Json:
        it = self.corpus.embedder
        if it is None:
            return None
        return {
            "name": it.name,
            "dimension": await it.dimension(),
            "language": it.language,
            "throughput": _throughput(
                parse_messages(messages, it.name), is_shown=_is_admin(caller)
            ),
        }


def capacity_route(it: CapacityPage) -> FeatureRoute:
    return FeatureRoute("GET", PATH, "lake.capacity", it.serve)


def _is_admin(caller: Caller) -> bool:
    return caller.is_admin and Scope.ADMIN in caller.scopes


def _throughput(speed: EmbedThroughput, *, is_shown: bool) -> Json:
    """Throughput of the embedding job, in any process; null with the reason if unknown."""
    rate = speed.texts_per_s if is_shown else None
    if rate is not None:
        return {"texts_per_s": round(rate, 3), "texts": speed.texts, "reason": None}
    reason = "nothing was embedded yet" if is_shown else "only administrators see it"
    return {"texts_per_s": None, "texts": None, "reason": reason}


def _report(lately: _RecentSearches) -> Json:
    return {
        "served": lately.served,
        "latency_ms": _percentiles(lately.latency_ms),
        "cpu_ms": _percentiles(lately.cpu_ms),
    }


def _percentiles(values: deque[float]) -> Json:
    """p50 and p95; None where nothing was measured."""
    if not values:
        return None
    if len(values) == 1:
        return {"p50": round(values[0], 3), "p95": round(values[0], 3)}
    cuts = quantiles(values, n=20, method="inclusive")
    return {"p50": round(cuts[9], 3), "p95": round(cuts[18], 3)}


def _bytes(folder: Path) -> int:
    """Files may disappear meanwhile: indexes are written all the time."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
    return total
