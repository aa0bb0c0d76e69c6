"""Reads what is new in open documents: one statement for all that ask at the same time.

On a busy server many ask while a statement runs; the next one answers them all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias
from uuid import UUID

import anyio

from pecia.features.wiki.live.store import SQL
from pecia.kernel.errors import Unavailable
from pecia.kernel.store.store import Store, Transaction

NewsRow: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NewsQuery:
    """What a document has after the update `seq`."""

    tenant_id: UUID
    id: UUID
    seq: int


@dataclass(slots=True, eq=False)
class NewsRequest:
    """A query that waits for its answer."""

    query: NewsQuery
    row: NewsRow | None = None
    error: Exception | None = None
    answered: anyio.Event = field(default_factory=anyio.Event)


@dataclass(slots=True)
class NewsReader:
    """Answers queries while `run` does."""

    store: Store
    _waiting: list[NewsRequest] = field(default_factory=list[NewsRequest])
    _asked: anyio.Event = field(default_factory=anyio.Event)
    _is_closed: bool = False

    async def read(self, query: NewsQuery) -> NewsRow | None:
        """None where there is no such document."""
        request = NewsRequest(query)
        if self._is_closed:
            raise _stopping_error()
        self._waiting.append(request)
        self._asked.set()
        await request.answered.wait()
        if request.error is not None:
            raise request.error
        return request.row

    async def run(self) -> NoReturn:
        """Answer until cancelled."""
        asked: list[NewsRequest] = []
        try:
            while True:
                if not self._waiting:
                    self._asked = anyio.Event()
                    await self._asked.wait()
                asked, self._waiting = self._waiting, []
                await self._answer(asked)
        finally:
            self._is_closed = True
            for it in (*asked, *self._waiting):
                it.error = _stopping_error()
                it.answered.set()

    async def _answer(self, asked: Sequence[NewsRequest]) -> None:
        try:
            async with self.store.system() as tx:
                rows = await fetch_news(tx, [it.query for it in asked])
        except Exception as error:  # noqa: BLE001 - who asked reports it; others are still answered.
            for it in asked:
                it.error = error
        else:
            for it, row in zip(asked, rows, strict=True):
                it.row = row
        for it in asked:
            it.answered.set()


def _stopping_error() -> Unavailable:
    return Unavailable("the server is stopping")


async def fetch_news(tx: Transaction, queries: Sequence[NewsQuery]) -> list[NewsRow | None]:
    """The answers, in the same order."""
    rows = await tx.fetch_all(
        SQL["live_news"],
        tenants=[it.tenant_id for it in queries],
        ids=[it.id for it in queries],
        seqs=[it.seq for it in queries],
    )
    found = {row["place"]: row for row in rows}
    return [found.get(place) for place in range(1, len(queries) + 1)]
