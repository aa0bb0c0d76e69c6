"""The job that gives chunks their vectors, behind the keyword index and never in its way.

It follows the change log like an index does, as a node of its own, and so knows after a crash where
to go on. What was embedded before in the same tenant is copied. It runs in workers alone.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from uuid import UUID

import anyio

from pecia.kernel.corpus import changelog
from pecia.kernel.corpus.vectors.embed_trigger import defer_lagging_tenants
from pecia.kernel.corpus.vectors.embedder import Embedder, Vectors, build_embedding_text
from pecia.kernel.corpus.vectors.knn import find_unavailable_reason, vector_literal
from pecia.kernel.corpus.vectors.throughput import EmbedThroughput
from pecia.kernel.errors import NotFound
from pecia.kernel.jobs import Job, JobCall, NoArguments, defer_as_system
from pecia.kernel.logs import Log
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction
from pecia.kernel.text.chunks.title import drop_title_heading, drop_title_line

SQL = load_queries("pecia.kernel.corpus.vectors", "embed_job.sql")

log = Log(__name__)

FEATURE, NAME = "corpus", "embed"
FULL_NAME = f"{FEATURE}.{NAME}"

# Files at a time, texts a call of the model, chunks in hand: a file may have any number of them.
FILES_PER_PAGE, TEXTS_PER_CALL, MAX_CHUNKS_IN_MEMORY = 50, 32, 512
# The keyword index has priority: while its lag is above this, embedding waits.
MAX_INDEX_LAG = 50
POLL_INTERVAL_S = 0.5
# While more files than this come in a second, a page of files waits, up to MAX_YIELD_S: indexing
# has priority. One person who edits by hand stays below it.
BUSY_FILES_PER_S, MAX_YIELD_S = 20, 10
# With less time than this left, a run hands over to the next.
MIN_REMAINING_S = 30


@dataclass(frozen=True, slots=True)
class UnembeddedChunk:
    """A chunk without a vector."""

    id: int
    title: str
    headings: list[str]
    prefix: str
    text: str

    @property
    def embedding_text(self) -> str:
        above = " > ".join(drop_title_heading(self.headings, self.title))
        body = self.prefix + drop_title_line(self.text, self.title)
        return build_embedding_text(body.strip(), title=self.title, headings=above)

    @property
    def text_hash(self) -> str:
        return sha256(self.embedding_text.encode()).hexdigest()[:32]


def embed_job(embedder: Embedder, schedule: str | None = "* * * * *") -> Job:
    """For a tenant, when deferred for one; on its schedule, for every tenant that is behind.

    The schedule is a net: `EmbedTrigger` has it run as soon as there is something to embed.
    """
    job: Job

    async def run(call: JobCall, arguments: NoArguments) -> None:
        if call.tenant_id is None:
            async with call.tx() as tx:
                await defer_lagging_tenants(tx, job, node_name(embedder.name))
        elif not await _EmbedRun(call, call.tenant_id, embedder).run():
            async with call.tx() as tx:
                await defer_as_system(tx, job, NoArguments(), tenant_id=call.tenant_id)

    job = Job(FEATURE, NAME, run, NoArguments, key=lambda _: "", priority=-1, schedule=schedule)
    return job


def node_name(model: str) -> str:
    """The job's node name in the change log."""
    return f"{changelog.EMBEDDING_NODE_PREFIX}{model}"


class _EmbedRun:
    """One run for one tenant."""

    def __init__(self, call: JobCall, tenant_id: UUID, embedder: Embedder) -> None:
        self.call = call
        self.tenant_id = tenant_id
        self.embedder = embedder
        self.node = node_name(embedder.name)
        self.is_prepared = False
        self.seen_n: int | None = None
        self.seen_at = 0.0
        self.throughput = EmbedThroughput()

    async def run(self) -> bool:
        """Embed everything pending. False when time ran out."""
        if not await self._is_possible():
            return True
        while True:
            files, upto = await self._next()
            if not files:
                return True
            for number, page in enumerate(_pages(files)):
                await self._yield_to_indexing()
                if not await self._embed_files(page):
                    return False
                message = self.throughput.as_message(self.embedder.name)
                await self.call.progress(
                    min(len(files), (number + 1) * FILES_PER_PAGE), len(files), message
                )
            async with self.call.tx() as tx:
                await changelog.record_applied(tx, self.tenant_id, self.node, upto)

    async def _is_possible(self) -> bool:
        async with self.call.store.system() as tx:
            why = await find_unavailable_reason(tx)
        if why:
            log.info("no vectors", reason=why)
        return not why

    async def _prepare(self) -> None:
        """Load the model lazily: it takes memory, and many sources are not embedded."""
        if not self.is_prepared:
            dims = await self.embedder.dimension()
            async with self.call.tx() as tx:
                await tx.execute(SQL["index_vectors"], dims=dims)
            self.is_prepared = True

    async def _next(self) -> tuple[list[int], int]:
        """The next files, newest first, and the log position reached with them."""
        async with self.call.tx() as tx:
            n = await changelog.load_applied(tx, self.tenant_id, self.node)
            try:
                batch = await changelog.tail(tx, self.tenant_id, n or 0, 10 * FILES_PER_PAGE)
            except NotFound:
                return [], 0
            if n is not None and not batch.trimmed:
                return [*reversed(batch.file_ids)], batch.upto
            now = await changelog.load_position(tx, self.tenant_id)
            files: list[int] = await tx.fetch_value(SQL["newest_files"], tenant_id=self.tenant_id)
            return files, now.n

    async def _yield_to_indexing(self) -> None:
        """Wait while the keyword index lags; for bulk writes, up to MAX_YIELD_S."""
        yield_until = anyio.current_time() + MAX_YIELD_S
        while self.call.remaining_s() >= MIN_REMAINING_S:
            async with self.call.store.system() as tx:
                lag = await changelog.measure_lag(tx, self.tenant_id)
                is_busy = await self._files_per_second(tx) > BUSY_FILES_PER_S
            if lag <= MAX_INDEX_LAG and not (is_busy and anyio.current_time() < yield_until):
                return
            await anyio.sleep(POLL_INTERVAL_S)

    async def _files_per_second(self, tx: Transaction) -> float:
        """The rate of changes since the last call; 0 at the first."""
        before, at = self.seen_n, self.seen_at
        files, self.seen_n = await count_changed_files(tx, self.tenant_id, before or 0)
        self.seen_at = anyio.current_time()
        return 0 if before is None else files / max(self.seen_at - at, POLL_INTERVAL_S)

    async def _embed_files(self, file_ids: list[int]) -> bool:
        """Embed all their chunks; those locked by a deletion are retried.

        False when time ran out.
        """
        which: dict[str, Any] = {"tenant_id": self.tenant_id, "model": self.embedder.name}
        while self.call.remaining_s() >= MIN_REMAINING_S:
            async with self.call.store.system() as tx:
                parameters = {"file_ids": file_ids, "most": MAX_CHUNKS_IN_MEMORY, **which}
                waiting = await tx.fetch_all_as(UnembeddedChunk, SQL["waiting"], **parameters)
            if not waiting:
                return True
            await self._prepare()
            done = 0
            for start in range(0, len(waiting), TEXTS_PER_CALL):
                if self.call.remaining_s() < MIN_REMAINING_S:
                    return False
                done += await self._embed(waiting[start : start + TEXTS_PER_CALL], which)
            if done < len(waiting):
                await anyio.sleep(POLL_INTERVAL_S)
        return False

    async def _embed(self, waiting: list[UnembeddedChunk], which: dict[str, Any]) -> int:
        """Returns how many have a vector now."""
        hashes = {it.id: it.text_hash for it in waiting}
        async with self.call.tx() as tx:
            known = await tx.fetch_all(
                SQL["copy_known"], ids=[*hashes], hashes=[*hashes.values()], **which
            )
        copied = {row["chunk_id"] for row in known}
        # Equal texts are embedded once here too.
        fresh = {it.text_hash: it.embedding_text for it in waiting if it.id not in copied}
        if not fresh:
            return len(copied)
        # Outside any transaction: a model takes its time.
        rows = await self._embed_timed([*fresh.values()])
        vectors = dict(zip(fresh, map(vector_literal, rows), strict=True))
        left = [it for it in waiting if it.id not in copied]
        async with self.call.tx() as tx:
            added = await tx.execute(
                SQL["add_vectors"],
                ids=[it.id for it in left],
                hashes=[hashes[it.id] for it in left],
                embeddings=[vectors[hashes[it.id]] for it in left],
                dims=rows.shape[1],
                **which,
            )
        return len(copied) + added

    async def _embed_timed(self, texts: list[str]) -> Vectors:
        began = time.perf_counter()
        rows = await self.embedder.embed(texts)
        self.throughput += EmbedThroughput(len(texts), time.perf_counter() - began)
        return rows


async def count_changed_files(tx: Transaction, tenant_id: UUID, after: int) -> tuple[int, int]:
    """How many files changed after that commit, and the number of the last one."""
    row = await tx.fetch_one(SQL["came"], "no answer", tenant_id=tenant_id, after=after)
    return row["files"], row["n"]


def _pages(files: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(files), FILES_PER_PAGE):
        yield files[start : start + FILES_PER_PAGE]
