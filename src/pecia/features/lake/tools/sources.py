"""Tools over sources: where their files come from, when they are crawled, and crawl progress.

Listed with the admin tools: the lake's own endpoint lists what agents read.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, TypeAlias
from uuid import UUID

import anyio
from psycopg.types.json import Jsonb
from pydantic import Field, create_model

from pecia.features.lake.core.source_config import (
    AddSource,
    SetSource,
    build_add_input,
    build_config,
    managed_source_error,
    require_settable_trim,
    update_config,
)
from pecia.features.lake.crawl.crawler import SQL, CrawlArguments, make_prompt
from pecia.features.lake.crawl.progress import SQL as UNDERWAY_SQL
from pecia.features.lake.credentials import SQL as CREDENTIAL_SQL
from pecia.features.lake.credentials import SourceCredentials
from pecia.features.lake.model import SourceConfig, SourceId, parse_config
from pecia.features.lake.source_status import (
    READ,
    STATUS_DESCRIPTION,
    load_source_statuses,
    measure_index_lag,
    worker_warning,
)
from pecia.features.lake.source_status import SQL as CENSUS_SQL
from pecia.kernel.corpus.catalog import catalog
from pecia.kernel.corpus.connector_kind import ConnectorKind, ConnectorRegistry, LocalOrigin
from pecia.kernel.errors import Collision, Forbidden, NotFound
from pecia.kernel.identity.caller import CredentialKind, Scope
from pecia.kernel.jobs.defer import defer
from pecia.kernel.jobs.job import Job
from pecia.kernel.store.queries import load_queries
from pecia.kernel.store.store import Store, Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.confirmation import ConfirmableAction, Confirmations, escape_unprintable
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

SOURCES_SQL = load_queries("pecia.features.lake.tools", "sources.sql")
FEATURE = "admin"
REMOVE_RETRY_TIMEOUT_S = 10.0
RETRY_INTERVAL_S = 0.2

RequireOrigin: TypeAlias = Callable[[UUID, SourceConfig], Awaitable[None]]
"""Refuses a configuration that no crawl could begin with, or a path the tenant may not open."""


class SourceTarget(Input):
    source_id: SourceId


class SetCredential(Input):
    source_id: SourceId
    value: str


def build_credential_input(kinds: Sequence[ConnectorKind]) -> type[SetCredential]:
    """The input of `set_credential`, with the format of every kind."""
    shapes = [f"{it.name}: {it.credential.shape}" for it in kinds if it.credential]
    value: Any = (
        str,
        Field(
            min_length=1,
            max_length=10_000,
            description=f"{'; '.join(shapes)}.",
            json_schema_extra={"secret": True},
        ),
    )
    return create_model("SetCredential", __base__=SetCredential, value=value)


class CredentialOut(Output):
    source_id: str
    protocol: str


class SetSearch(Input):
    hybrid: bool = Field(description="Semantic search too, in every source that allows it.")


class SearchSetOut(Output):
    hybrid: bool


class SourceConfigOut(Output):
    source_id: str
    protocol: str
    trim_mode: str
    enabled: bool
    note: str = Field(default="", description="What to know of it, if anything.")


class RemovedSourceOut(Output):
    source_id: str
    protocol: str
    removed: bool = True


class SkippedFileOut(Output):
    key: str
    reason: str


class IngestProgressOut(Output):
    key: str
    pages_read: int = Field(description="As many as `pages`: the text is being stored.")
    pages: int
    reported_at: datetime = Field(description="When the worker last said so.")


class CrawlOut(Output):
    source_id: str
    state: str = Field(description="waiting, listing, reading, done, stopped or failed.")
    started_at: datetime
    listed_at: datetime | None
    ended_at: datetime | None
    seen: int
    added: int
    changed: int
    gone: int
    read: int
    failed: int = Field(
        description="Of those that this crawl read. An unchanged file is not read again: "
        "`unread` counts it."
    )
    files: int = Field(description="Files of the source, now.")
    indexed: int = Field(description="Those of them with indexed text, now.")
    unread: int = Field(
        description="Files of the source that could not be read, by this crawl or one before; "
        "`list_unread` names them."
    )
    index_lag: int = Field(
        description="Commits that keyword search does not find yet; 0 when it finds all that was "
        "crawled."
    )
    condition: str = Field(description=STATUS_DESCRIPTION)
    note: str = Field(description="What to check, if anything.")
    passed: int = Field(description="How many were skipped.")
    passed_first: list[SkippedFileOut]
    problem: str
    underway: list[IngestProgressOut] = Field(
        description="Long files that are being read just now."
    )


@dataclass(frozen=True, slots=True)
class SourceTools:
    """The handlers."""

    store: Store
    crawl_job: Job
    credentials: SourceCredentials
    require_origin: RequireOrigin
    confirmations: Confirmations
    kinds: ConnectorRegistry

    async def add_source(self, call: Call, ask: AddSource) -> SourceConfigOut:
        """Register a source of files; `protocol` lists the kinds. Nobody but administrators sees
        its files until they are granted. Before a folder of this machine is read, a person is
        asked; where you cannot ask yours, the answer says how they confirm it."""
        config = self._confine(build_config(ask, self.kinds.addable), call)
        await self.require_origin(call.caller.tenant_id, config)
        await self._require_confirmation(call, ask.source_id, config)
        async with self.store.writing(call.caller, call.trace) as tx:
            source = await catalog.add_source(
                tx,
                ask.source_id,
                protocol=config.kind,
                trim_mode=ask.trim_mode,
                config=config.model_dump(mode="json"),
            )
            note = await self._describe_overlap(tx, ask.source_id, config)
        return _format_source(source, note)

    async def crawl_source(self, call: Call, ask: SourceTarget) -> CrawlOut:
        """Crawl a source now. A running crawl continues."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await catalog.get_enabled_source(tx, ask.source_id)
            await tx.fetch_value(SQL["begin_crawl"], source_id=ask.source_id)
            found = await _load_crawl(tx, ask.source_id)
            await defer(tx, make_prompt(self.crawl_job), CrawlArguments(source_id=ask.source_id))
        return found

    async def stop_crawl(self, call: Call, ask: SourceTarget) -> CrawlOut:
        """Stop the crawl of a source. What was read stays; the next crawl continues."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await catalog.get_source(tx, ask.source_id)
            await tx.fetch_value(SQL["stop_crawl"], source_id=ask.source_id)
            return await _load_crawl(tx, ask.source_id)

    async def crawl_status(self, call: Call, ask: SourceTarget) -> CrawlOut:
        """Progress of a crawl: seen, added, changed, gone, read, failed and why."""
        async with self.store.reading(call.caller) as tx:
            await catalog.get_source(tx, ask.source_id)
            return await _load_crawl(tx, ask.source_id)

    async def set_source(self, call: Call, ask: SetSource) -> SourceConfigOut:
        """Change how a source is trimmed, crawled or searched, or switch it on or off. Fields
        left out stay. Works at once."""
        await self._require_still_allowed(call, ask)
        async with self.store.writing(call.caller, call.trace) as tx:
            source = await catalog.update_source(
                tx, ask.source_id, trim_mode=ask.trim_mode, enabled=ask.enabled
            )
            wanted = ask.model_dump(
                exclude={"source_id", "trim_mode", "enabled"}, exclude_none=True
            )
            row = await _load_config_row(tx, ask.source_id)
            require_settable_trim(ask, row["config"])
            if wanted:
                config = update_config(row["config"], wanted, ask.source_id)
                plain = Jsonb(config.model_dump(mode="json"))
                await tx.execute(SQL["set_config"], source_id=ask.source_id, config=plain)
            if ask.hybrid is not None:
                await tx.fetch_value(SQL["set_hybrid"], source_id=ask.source_id, on=ask.hybrid)
        return _format_source(source)

    async def remove_source(self, call: Call, ask: SourceTarget) -> RemovedSourceOut:
        """Remove a source and the index of its files. A running crawl is stopped first. The
        originals are not touched."""
        async with self.store.reading(call.caller) as tx:
            source = await catalog.get_source(tx, ask.source_id)
            governs = await tx.fetch_value(SOURCES_SQL["governs"], source_id=ask.source_id)
        if governs:
            await self._stop_crawl_now(call.caller.tenant_id, ask.source_id)
        give_up = anyio.current_time() + min(REMOVE_RETRY_TIMEOUT_S, call.remaining_s() / 2)
        while True:
            try:
                async with self.store.writing(call.caller, call.trace) as tx:
                    await catalog.remove_source(tx, ask.source_id)
            except Collision:
                # A worker that was storing a batch as the crawl was stopped. It stores no other.
                if anyio.current_time() > give_up:
                    raise
                await anyio.sleep(RETRY_INTERVAL_S)
            else:
                return RemovedSourceOut(source_id=source.source_id, protocol=source.protocol)

    async def _stop_crawl_now(self, tenant_id: UUID, source_id: str) -> None:
        place = {"tenant_id": tenant_id, "source_id": source_id}
        async with self.store.system() as tx:
            await tx.execute(SQL["halt_crawl"], **place)
        async with self.store.system() as tx:
            await tx.execute(SQL["drop_todo"], **place)

    async def set_credential(self, call: Call, ask: SetCredential) -> CredentialOut:
        """Store the credential of a source. Encrypted; nobody can read it back."""
        async with self.store.writing(call.caller, call.trace) as tx:
            row = await _load_config_row(tx, ask.source_id)
            config = parse_config(row["config"])
            if config is None:
                raise managed_source_error(ask.source_id)
            self.kinds.find(config.kind).parse_login(ask.value)
            await self.credentials.seal(tx, call.caller.tenant_id, ask.source_id, ask.value)
        return CredentialOut(source_id=ask.source_id, protocol=config.kind)

    async def remove_credential(self, call: Call, ask: SourceTarget) -> CredentialOut:
        """Delete the credential of a source."""
        async with self.store.writing(call.caller, call.trace) as tx:
            source = await catalog.get_source(tx, ask.source_id)
            if not await tx.fetch_value(CREDENTIAL_SQL["drop_credential"], source_id=ask.source_id):
                raise NotFound(
                    f"source {ask.source_id!r} has no credential",
                    source_id=ask.source_id,
                    hint=f"Store one: pecia source credential {ask.source_id} < key.txt",
                )
        return CredentialOut(source_id=ask.source_id, protocol=source.protocol)

    async def set_search(self, call: Call, ask: SetSearch) -> SearchSetOut:
        """Switch semantic search off or on for all sources of your tenant. Takes effect at once."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await tx.fetch_value(SQL["set_preference"], hybrid=ask.hybrid)
        return SearchSetOut(hybrid=ask.hybrid)

    async def _require_still_allowed(self, call: Call, ask: SetSource) -> None:
        """A folder or host may have been taken from the tenant. The source can then only be
        switched off."""
        async with self.store.reading(call.caller) as tx:
            row = await tx.fetch_optional(SQL["config"], source_id=ask.source_id)
        if row is None or "origin" not in row["config"] or ask.enabled is False:
            return
        wanted = ask.model_dump(exclude={"source_id", "trim_mode", "enabled"}, exclude_none=True)
        config = update_config(row["config"], wanted, ask.source_id)
        await self.require_origin(call.caller.tenant_id, config)

    async def _require_confirmation(self, call: Call, source_id: str, config: SourceConfig) -> None:
        """Agents act in the name of a local install's owner, so the owner confirms in person before
        a folder of the machine is read. On a server the operator has set which are allowed."""
        path = self._local_path(config)
        if path is not None and call.caller.kind is CredentialKind.LOCAL:
            question = (
                f"Read this folder, as the source {source_id}?\n\n{escape_unprintable(str(path))}"
            )
            await self.confirmations.require(
                call, ConfirmableAction("folder", question, config.origin)
            )

    async def _describe_overlap(self, tx: Transaction, source_id: str, config: SourceConfig) -> str:
        path = self._local_path(config)
        return await catalog.describe_overlap(tx, source_id, str(path)) if path else ""

    def _local_path(self, config: SourceConfig) -> PurePosixPath | None:
        """The folder of this machine that the source reads, if it reads one."""
        origin = self.kinds.find(config.kind).parse_origin(config.origin)
        return origin.local_path if isinstance(origin, LocalOrigin) else None

    def _confine(self, config: SourceConfig, call: Call) -> SourceConfig:
        """Confined if the caller is not the owner of the machine: only allowed folders are read."""
        kind = self.kinds.find(config.kind)
        origin = kind.parse_origin(config.origin)
        if call.caller.kind is CredentialKind.LOCAL or not isinstance(origin, LocalOrigin):
            return config
        confined = kind.to_stored(origin.model_copy(update={"confined": True}))
        return config.model_copy(update={"origin": confined})


def source_tools(
    store: Store,
    crawling: Job,
    credentials: SourceCredentials,
    require_origin: RequireOrigin,
    confirmations: Confirmations,
    kinds: ConnectorRegistry,
) -> tuple[AnyTool, ...]:
    """The tools over sources."""
    handlers = SourceTools(store, crawling, credentials, require_origin, confirmations, kinds)
    return _source_tools(handlers, kinds.addable)


def _source_tools(it: SourceTools, addable: Sequence[ConnectorKind]) -> tuple[AnyTool, ...]:
    admin = Scope.ADMIN
    return (
        Tool(
            FEATURE,
            "set_credential",
            admin,
            build_credential_input(addable),
            CredentialOut,
            it.set_credential,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            FEATURE,
            "remove_credential",
            admin,
            SourceTarget,
            CredentialOut,
            it.remove_credential,
            read_only=False,
            destructive=True,
        ),
        Tool(
            FEATURE,
            "remove_source",
            admin,
            SourceTarget,
            RemovedSourceOut,
            it.remove_source,
            read_only=False,
            destructive=True,
        ),
        Tool(
            FEATURE,
            "add_source",
            admin,
            build_add_input(addable),
            SourceConfigOut,
            it.add_source,
            read_only=False,
        ),
        Tool(
            FEATURE, "set_source", admin, SetSource, SourceConfigOut, it.set_source, read_only=False
        ),
        Tool(FEATURE, "set_search", admin, SetSearch, SearchSetOut, it.set_search, read_only=False),
        Tool(
            FEATURE, "crawl_source", admin, SourceTarget, CrawlOut, it.crawl_source, read_only=False
        ),
        Tool(FEATURE, "stop_crawl", admin, SourceTarget, CrawlOut, it.stop_crawl, read_only=False),
        Tool(FEATURE, "crawl_status", Scope.READ, SourceTarget, CrawlOut, it.crawl_status),
    )


async def _load_config_row(tx: Transaction, source_id: str) -> dict[str, Any]:
    row = await tx.fetch_optional(SQL["config"], source_id=source_id)
    if row is None:
        raise catalog.no_source(source_id)
    return row


async def _load_crawl(tx: Transaction, source_id: str) -> CrawlOut:
    row = await tx.fetch_optional(SQL["crawl"], source_id=source_id)
    if row is None and not await tx.fetch_value(SOURCES_SQL["owns"], source_id=source_id):
        raise Forbidden(
            f"the crawl status of source {source_id!r} is for its owners and administrators",
            source_id=source_id,
        )
    if row is None:
        raise NotFound(
            f"source {source_id!r} was never crawled",
            source_id=source_id,
            hint=f"Crawl it: pecia source crawl {source_id}",
        )
    passed: dict[str, Any] = row.pop("passed") or {}
    reads = row["state"] in ("listing", "reading")
    underway = await tx.fetch_all(UNDERWAY_SQL["underway"], source_id=source_id) if reads else []
    how = (await load_source_statuses(tx, [source_id]))[source_id]
    counted = await tx.fetch_all(CENSUS_SQL["census"], source_id=source_id)
    notes = [how.note, await worker_warning(tx)]
    return CrawlOut(
        **row,
        files=sum(it["files"] for it in counted),
        indexed=sum(it["files"] for it in counted if it["status"] in READ),
        unread=how.unread,
        index_lag=await measure_index_lag(tx, source_id),
        condition=how.condition,
        note="; ".join(it for it in notes if it),
        passed=passed.get("count", 0),
        passed_first=[
            SkippedFileOut(key=it["key"], reason=it["reason"])
            for it in passed.get("first", [])[:20]
        ],
        underway=[IngestProgressOut(**it) for it in underway],
    )


def _format_source(source: catalog.Source, note: str = "") -> SourceConfigOut:
    return SourceConfigOut(
        source_id=source.source_id,
        protocol=source.protocol,
        trim_mode=source.trim_mode,
        enabled=source.enabled,
        note=note,
    )
