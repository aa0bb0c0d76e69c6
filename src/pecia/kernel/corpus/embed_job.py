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

from pecia.kernel.corpus import changes
from pecia.kernel.corpus.embed_call import call_tenants
from pecia.kernel.corpus.embed_speed import Speed
from pecia.kernel.corpus.embedder import Embedder, Vectors, embedded_text
from pecia.kernel.corpus.vectors import as_text, condition
from pecia.kernel.errors import NotFound
from pecia.kernel.jobs import Job, JobCall, NoArguments, defer_as_system
from pecia.kernel.logs import Log
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.transaction import Transaction

SQL = load_queries("pecia.kernel.corpus", "embed_job.sql")

log = Log(__name__)

ROOM, NAME = "corpus", "embed"
FULL_NAME = f"{ROOM}.{NAME}"

# Files at a time, texts a call of the model, chunks in hand: a file may have any number of them.
FILES, TEXTS, IN_HAND = 50, 32, 512
# The keyword index comes first: while it is further behind than this, embedding waits.
MOST_LAG = 50
REST_S = 0.5
# While more files than this come in a second, a page of files waits, but no longer than so many
# seconds: the processor is better spent on words. Somebody who writes by hand is not meant.
BUSY_FILES_S, PATIENCE_S = 20, 10
# With less time than this a run hands over to the next.
ENOUGH_S = 30


@dataclass(frozen=True, slots=True)
class Waiting:
    """A chunk without a vector."""

    id: int
    title: str
    headings: list[str]
    prefix: str
    text: str

    @property
    def words(self) -> str:
        above = " > ".join(it for it in self.headings if it != self.title)
        return embedded_text((self.prefix + self.text).strip(), title=self.title, headings=above)

    @property
    def text_hash(self) -> str:
        return sha256(self.words.encode()).hexdigest()[:32]


def embed_job(embedder: Embedder, schedule: str | None = "* * * * *") -> Job:
    """For a tenant, when deferred for one; on its schedule, for every tenant that is behind.

    The schedule is a net: `EmbedCaller` has it run as soon as there is something to embed.
    """
    job: Job

    async def run(call: JobCall, arguments: NoArguments) -> None:
        if call.tenant_id is None:
            async with call.tx() as tx:
                await call_tenants(tx, job, node_name(embedder.name))
        elif not await _Embedding(call, call.tenant_id, embedder).finish():
            async with call.tx() as tx:
                await defer_as_system(tx, job, NoArguments(), tenant_id=call.tenant_id)

    job = Job(ROOM, NAME, run, NoArguments, key=lambda _: "", priority=-1, schedule=schedule)
    return job


def node_name(model: str) -> str:
    """How the job is known among the nodes that follow the log."""
    return f"{changes.EMBEDDING}{model}"


class _Embedding:
    """One run for one tenant."""

    def __init__(self, call: JobCall, tenant_id: UUID, embedder: Embedder) -> None:
        self.call = call
        self.tenant_id = tenant_id
        self.embedder = embedder
        self.node = node_name(embedder.name)
        self.is_prepared = False
        self.seen_n: int | None = None
        self.seen_at = 0.0
        self.speed = Speed()

    async def finish(self) -> bool:
        """Everything that waits now. False when time ran out before the end."""
        if not await self._is_possible():
            return True
        while True:
            files, upto = await self._next()
            if not files:
                return True
            for number, page in enumerate(_pages(files)):
                await self._let_others_go_first()
                if not await self._embed_files(page):
                    return False
                told = self.speed.told(self.embedder.name)
                await self.call.progress(min(len(files), (number + 1) * FILES), len(files), told)
            async with self.call.tx() as tx:
                await changes.applied(tx, self.tenant_id, self.node, upto)

    async def _is_possible(self) -> bool:
        async with self.call.store.system() as tx:
            why = await condition(tx)
        if why:
            log.info("no vectors", reason=why)
        return not why

    async def _prepare(self) -> None:
        """Before the first text: a model takes memory, and many sources want none."""
        if not self.is_prepared:
            dims = await self.embedder.dimension()
            async with self.call.tx() as tx:
                await tx.run(SQL["index_vectors"], dims=dims)
            self.is_prepared = True

    async def _next(self) -> tuple[list[int], int]:
        """The files to look at, newest first, and the number that is reached with them."""
        async with self.call.tx() as tx:
            n = await changes.applied_by(tx, self.tenant_id, self.node)
            try:
                batch = await changes.tail(tx, self.tenant_id, n or 0, 10 * FILES)
            except NotFound:
                return [], 0
            if n is not None and not batch.trimmed:
                return [*reversed(batch.file_ids)], batch.upto
            now = await changes.clock_of(tx, self.tenant_id)
            files: list[int] = await tx.value(SQL["newest_files"], tenant_id=self.tenant_id)
            return files, now.n

    async def _let_others_go_first(self) -> None:
        """The keyword index always; whoever writes, for a while."""
        patient_until = anyio.current_time() + PATIENCE_S
        while self.call.remaining_s() >= ENOUGH_S:
            async with self.call.store.system() as tx:
                lag = await changes.lag(tx, self.tenant_id)
                is_busy = await self._files_a_second(tx) > BUSY_FILES_S
            if lag <= MOST_LAG and not (is_busy and anyio.current_time() < patient_until):
                return
            await anyio.sleep(REST_S)

    async def _files_a_second(self, tx: Transaction) -> float:
        """How many came since the last look; at the first look, none."""
        before, at = self.seen_n, self.seen_at
        files, self.seen_n = await came(tx, self.tenant_id, before or 0)
        self.seen_at = anyio.current_time()
        return 0 if before is None else files / max(self.seen_at - at, REST_S)

    async def _embed_files(self, file_ids: list[int]) -> bool:
        """All their chunks; what somebody is taking away waits until it is gone, or is not.

        False when time ran out before the end.
        """
        which: dict[str, Any] = {"tenant_id": self.tenant_id, "model": self.embedder.name}
        while self.call.remaining_s() >= ENOUGH_S:
            async with self.call.store.system() as tx:
                asked = {"file_ids": file_ids, "most": IN_HAND, **which}
                waiting = await tx.all_as(Waiting, SQL["waiting"], **asked)
            if not waiting:
                return True
            await self._prepare()
            done = 0
            for start in range(0, len(waiting), TEXTS):
                done += await self._embed(waiting[start : start + TEXTS], which)
            if done < len(waiting):
                await anyio.sleep(REST_S)
        return False

    async def _embed(self, waiting: list[Waiting], which: dict[str, Any]) -> int:
        """How many have a vector now."""
        hashes = {it.id: it.text_hash for it in waiting}
        async with self.call.tx() as tx:
            known = await tx.all(
                SQL["copy_known"], ids=[*hashes], hashes=[*hashes.values()], **which
            )
        copied = {row["chunk_id"] for row in known}
        # Equal texts are embedded once here too.
        fresh = {it.text_hash: it.words for it in waiting if it.id not in copied}
        if not fresh:
            return len(copied)
        # Outside any transaction: a model takes its time.
        rows = await self._timed([*fresh.values()])
        vectors = dict(zip(fresh, map(as_text, rows), strict=True))
        left = [it for it in waiting if it.id not in copied]
        async with self.call.tx() as tx:
            added = await tx.run(
                SQL["add_vectors"],
                ids=[it.id for it in left],
                hashes=[hashes[it.id] for it in left],
                embeddings=[vectors[hashes[it.id]] for it in left],
                dims=rows.shape[1],
                **which,
            )
        return len(copied) + added

    async def _timed(self, texts: list[str]) -> Vectors:
        began = time.perf_counter()
        rows = await self.embedder.embed(texts)
        self.speed += Speed(len(texts), time.perf_counter() - began)
        return rows


async def came(tx: Transaction, tenant_id: UUID, after: int) -> tuple[int, int]:
    """How many files changed after that commit, and the number of the last one."""
    row = await tx.one(SQL["came"], "no answer", tenant_id=tenant_id, after=after)
    return row["files"], row["n"]


def _pages(files: list[int]) -> Iterator[list[int]]:
    for start in range(0, len(files), FILES):
        yield files[start : start + FILES]
