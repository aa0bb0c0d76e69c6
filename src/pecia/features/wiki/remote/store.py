"""Remotes in the store: what a sync reads and writes, as the system."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from pecia.features.wiki.remote.port import RemoteAddress, RemoteChange
from pecia.kernel.errors import Conflict
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Transaction

SQL = load_queries("pecia.features.wiki.remote")


class SyncTakenOver(Conflict):
    """Another sync of the space began: this one stops, and loses nothing."""


@dataclass(frozen=True, slots=True)
class RemoteRun:
    """One sync, and the settings it began with."""

    tenant_id: UUID
    source_id: str
    run: int
    url: str
    branch: str | None
    subfolder: str
    mode: str
    authors: tuple[str, ...]
    confined: bool
    allow_deletions: bool
    tip: str | None
    folder: str
    is_folder_confined: bool

    @property
    def address(self) -> RemoteAddress:
        return RemoteAddress(
            self.tenant_id,
            self.source_id,
            self.url,
            self.branch,
            confined=self.confined,
            pushes=self.pushes,
        )

    @property
    def pushes(self) -> bool:
        return self.mode == "pull_and_push"

    def sql_params(self) -> dict[str, Any]:
        return {"tenant_id": self.tenant_id, "source_id": self.source_id}


@dataclass(frozen=True, slots=True)
class HeldConflict:
    """A conflict that nobody has resolved, and what the remote had then."""

    remote_id: str | None
    renamed_to: str | None


@dataclass(frozen=True, slots=True)
class NewConflict:
    base: bytes | None
    remote: bytes | None
    remote_id: str | None
    renamed_to: str | None = None


async def begin_run(tx: Transaction, tenant_id: UUID, source_id: str) -> RemoteRun | None:
    """A new run; None where the space has no remote, or is switched off."""
    row = await tx.fetch_optional(SQL["begin_run"], tenant_id=tenant_id, source_id=source_id)
    if row is None:
        return None
    row["authors"] = tuple(row["authors"])
    return RemoteRun(tenant_id, source_id, **row)


@dataclass(frozen=True, slots=True)
class RemoteRows:
    """The rows of one run, in a system transaction."""

    tx: Transaction
    run: RemoteRun

    async def hold(self) -> None:
        """Require that no later run began, until the transaction ends."""
        held = {**self.run.sql_params(), "run": self.run.run}
        if await self.tx.fetch_optional(SQL["hold_run"], **held) is None:
            raise SyncTakenOver("another sync of this space began, or its remote was changed")

    async def load_bases(self, keys: Sequence[str] | None = None) -> dict[str, str]:
        asked = {**self.run.sql_params(), "keys": None if keys is None else [*keys]}
        return {it["key"]: it["base_id"] for it in await self.tx.fetch_all(SQL["bases"], **asked)}

    async def load_base_times(self, keys: Sequence[str]) -> dict[str, datetime]:
        rows = await self.tx.fetch_all(SQL["base_times"], **self.run.sql_params(), keys=[*keys])
        return {it["key"]: it["at"] for it in rows}

    async def set_bases(self, bases: Mapping[str, str | None]) -> None:
        """What both sides have in common now; None is no file."""
        there = {key: it for key, it in bases.items() if it is not None}
        gone = [key for key, it in bases.items() if it is None]
        asked = self.run.sql_params()
        if there:
            ids = [*there.values()]
            await self.tx.execute(SQL["put_bases"], **asked, keys=[*there], ids=ids)
        if gone:
            await self.tx.execute(SQL["drop_bases"], **asked, keys=gone)

    async def load_held(self) -> dict[str, HeldConflict]:
        rows = await self.tx.fetch_all(SQL["held"], **self.run.sql_params())
        return {it["key"]: HeldConflict(it["remote_id"], it["renamed_to"]) for it in rows}

    async def put_conflict(
        self, key: str, found: NewConflict, tip: str, change: RemoteChange | None
    ) -> None:
        await self.tx.execute(
            SQL["put_conflict"],
            **self.run.sql_params(),
            key=key,
            base=found.base,
            remote=found.remote,
            remote_id=found.remote_id,
            renamed_to=found.renamed_to,
            commit_id=change.oid if change else tip,
            author=change.author_name if change else "",
            subject=change.subject[:500] if change else "",
        )

    async def drop_conflicts(self, keys: Sequence[str]) -> None:
        if keys:
            asked = {**self.run.sql_params(), "keys": [*keys]}
            await self.tx.execute(SQL["drop_conflicts"], **asked)

    async def load_pushes(self) -> list[tuple[str, str | None]]:
        """Pushes that were begun: the commit, and the one that it follows."""
        rows = await self.tx.fetch_all(SQL["pushes"], **self.run.sql_params())
        return [(it["commit_id"], it["parent_id"]) for it in rows]

    async def add_push(self, commit: str, parent: str | None) -> None:
        pushed = {**self.run.sql_params(), "commit_id": commit, "parent_id": parent}
        await self.tx.execute(SQL["put_push"], **pushed)

    async def drop_push(self, commit: str) -> None:
        await self.tx.execute(SQL["drop_push"], **self.run.sql_params(), commit_id=commit)

    async def load_users(self) -> dict[str, str]:
        rows = await self.tx.fetch_all(SQL["users"], tenant_id=self.run.tenant_id)
        return {str(it["id"]): str(it["name"]) for it in rows}

    async def end(
        self, tip: str | None, skipped: Mapping[str, str], pulled: int, pushed: int
    ) -> None:
        done = {**self.run.sql_params(), "run": self.run.run, "tip": tip}
        counts = {"pulled": pulled, "pushed": pushed, "skipped": Jsonb(dict(skipped))}
        await self.tx.execute(SQL["end_run"], **done, **counts)
        await self.tx.execute(SQL["forget_pushes"], **self.run.sql_params())

    async def fail(self, problem: str) -> None:
        failed = {**self.run.sql_params(), "run": self.run.run, "problem": problem}
        await self.tx.execute(SQL["fail_run"], **failed)
