"""Keeping sources: where their files come from, when they are crawled, and how far that is.

These tools stand in the office beside the rights: the lake's own endpoint lists what agents read.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any, Literal

from croniter import croniter
from psycopg.types.json import Jsonb
from pydantic import Field

from pecia.kernel.corpus import catalog
from pecia.kernel.errors import Forbidden, InvalidFormat, InvalidInput, Json, MissingField
from pecia.kernel.identity.caller import CredentialKind, Scope
from pecia.kernel.jobs.defer import defer
from pecia.kernel.jobs.job import Job
from pecia.kernel.store.store import Store
from pecia.kernel.store.transaction import Transaction
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool
from pecia.rooms.lake.crawl import SQL, OfSource
from pecia.rooms.lake.origin import (
    FolderOrigin,
    GitOrigin,
    Origin,
    SourceConfig,
    UploadOrigin,
    WebOrigin,
)

ROOM = "office"

TrimMode = Literal["per_file", "source_only", "open"]


class AddSource(Input):
    source_id: str = Field(min_length=1, max_length=500)
    folder: str | None = Field(default=None, max_length=4000, description="A folder's path.")
    git: str | None = Field(default=None, max_length=2000, description="A repository's URL.")
    ref: str | None = Field(default=None, max_length=500, description="With git: what to read.")
    web: str | None = Field(default=None, max_length=2000, description="Where a site begins.")
    include: list[str] = Field(default_factory=list[str], max_length=100, description="Globs.")
    exclude: list[str] = Field(default_factory=list[str], max_length=100, description="Globs.")
    most_bytes: int = Field(default=200_000_000, ge=1, le=10_000_000_000)
    schedule: str | None = Field(default=None, max_length=100, description="A cron line, in UTC.")
    watch: bool = Field(default=True, description="With folder: follow changes as they happen.")
    posix: bool = Field(default=False, description="With folder: mode and owner decide who reads.")
    hybrid: bool = Field(default=True, description="Search by meaning too.")
    trim_mode: TrimMode = "per_file"
    protocol: Literal["folder", "git", "web", "upload"] | None = Field(
        default=None, description="Follows from where the files are; upload when they are sent."
    )


class SetSource(Input):
    source_id: str = Field(min_length=1, max_length=500)
    trim_mode: TrimMode | None = None
    enabled: bool | None = None
    include: list[str] | None = Field(default=None, max_length=100)
    exclude: list[str] | None = Field(default=None, max_length=100)
    most_bytes: int | None = Field(default=None, ge=1, le=10_000_000_000)
    schedule: str | None = Field(
        default=None, max_length=100, description="A cron line, in UTC; `never` ends it."
    )
    hybrid: bool | None = None


class OneSource(Input):
    source_id: str = Field(min_length=1, max_length=500)


class SetSearch(Input):
    hybrid: bool = Field(description="Search by meaning too, in every source that allows it.")


class SearchSetOut(Output):
    hybrid: bool


class SourceOut(Output):
    source_id: str
    protocol: str
    trim_mode: str
    enabled: bool


class PassedOut(Output):
    key: str
    reason: str


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
    failed: int
    passed: int = Field(description="How many were passed over.")
    passed_first: list[PassedOut]
    problem: str


@dataclass(frozen=True, slots=True)
class Keeping:
    """The handlers. `folders` are those that a tenant's administrators may name on a server."""

    store: Store
    crawling: Job
    folders: tuple[str, ...]

    async def add_source(self, call: Call, ask: AddSource) -> SourceOut:
        """Register a source: a folder, a git repository, a site, or files sent here.
        Nobody but administrators sees its files until they are granted."""
        config = _config(ask)
        self._require_open(call, config.origin)
        async with self.store.writing(call.caller, call.trace) as tx:
            source = await catalog.add_source(
                tx,
                ask.source_id,
                protocol=config.origin.kind,
                trim_mode=ask.trim_mode,
                config=config.model_dump(mode="json"),
            )
        return _source(source)

    async def crawl_source(self, call: Call, ask: OneSource) -> CrawlOut:
        """Crawl a source now. One that is being crawled goes on as it was."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await catalog.get_source(tx, ask.source_id)
            await tx.value(SQL["begin_crawl"], source_id=ask.source_id)
            found = await _crawl(tx, ask.source_id)
            await defer(tx, self.crawling, OfSource(source_id=ask.source_id))
        return found

    async def stop_crawl(self, call: Call, ask: OneSource) -> CrawlOut:
        """Stop the crawl of a source. What was read stays; the next crawl does the rest."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await catalog.get_source(tx, ask.source_id)
            await tx.value(SQL["stop_crawl"], source_id=ask.source_id)
            return await _crawl(tx, ask.source_id)

    async def crawl_status(self, call: Call, ask: OneSource) -> CrawlOut:
        """How far the crawl of a source is: seen, added, changed, gone, read, failed and why."""
        async with self.store.reading(call.caller) as tx:
            await catalog.get_source(tx, ask.source_id)
            return await _crawl(tx, ask.source_id)

    async def set_source(self, call: Call, ask: SetSource) -> SourceOut:
        """Change how a source is trimmed, crawled or searched, or switch it on or off. What is
        left out stays. Works at once."""
        async with self.store.writing(call.caller, call.trace) as tx:
            source = await catalog.set_source(
                tx, ask.source_id, trim_mode=ask.trim_mode, enabled=ask.enabled
            )
            wanted = ask.model_dump(
                exclude={"source_id", "trim_mode", "enabled"}, exclude_none=True
            )
            if wanted:
                row = await tx.one(SQL["config"], "no such source", source_id=ask.source_id)
                config = _changed(row["config"], wanted, ask.source_id)
                await tx.run(SQL["set_config"], source_id=ask.source_id, config=Jsonb(config))
            if ask.hybrid is not None:
                await tx.value(SQL["set_hybrid"], source_id=ask.source_id, on=ask.hybrid)
        return _source(source)

    async def set_search(self, call: Call, ask: SetSearch) -> SearchSetOut:
        """Switch search by meaning off or on for all sources of your tenant. Works at once."""
        async with self.store.writing(call.caller, call.trace) as tx:
            await tx.value(SQL["set_preference"], hybrid=ask.hybrid)
        return SearchSetOut(hybrid=ask.hybrid)

    def _require_open(self, call: Call, origin: Origin) -> None:
        """A folder is the machine's: its owner may name any, others those set aside for it."""
        if not isinstance(origin, FolderOrigin) or call.caller.kind is CredentialKind.LOCAL:
            return
        place = PurePosixPath(origin.folder)
        if not any(place.is_relative_to(it) for it in self.folders):
            raise Forbidden(
                "this folder is not among those that sources may read",
                field="folder",
                hint="the operator names them in the setting lake.folders",
            )


def keeping_tools(store: Store, crawling: Job, folders: tuple[str, ...]) -> tuple[AnyTool, ...]:
    """The tools over where files come from."""
    it = Keeping(store, crawling, folders)
    admin = Scope.ADMIN
    return (
        Tool(ROOM, "add_source", admin, AddSource, SourceOut, it.add_source, read_only=False),
        Tool(ROOM, "set_source", admin, SetSource, SourceOut, it.set_source, read_only=False),
        Tool(ROOM, "set_search", admin, SetSearch, SearchSetOut, it.set_search, read_only=False),
        Tool(ROOM, "crawl_source", admin, OneSource, CrawlOut, it.crawl_source, read_only=False),
        Tool(ROOM, "stop_crawl", admin, OneSource, CrawlOut, it.stop_crawl, read_only=False),
        Tool(ROOM, "crawl_status", Scope.READ, OneSource, CrawlOut, it.crawl_status),
    )


def _config(ask: AddSource) -> SourceConfig:
    schedule = _schedule(ask.schedule)
    if ask.posix and ask.folder is None:
        raise InvalidInput('Field "posix" goes with folder', field="posix")
    return SourceConfig(
        origin=_origin(ask),
        include=tuple(ask.include) or ("**",),
        exclude=tuple(ask.exclude),
        most_bytes=ask.most_bytes,
        schedule=schedule,
        hybrid=ask.hybrid,
        posix=ask.posix,
    )


def _origin(ask: AddSource) -> Origin:
    given = [it for it in ("folder", "git", "web") if getattr(ask, it) is not None]
    if len(given) > 1:
        raise InvalidInput(
            f"a source comes from one place, not from {' and '.join(given)}", field=given[1]
        )
    kind = given[0] if given else ask.protocol or "upload"
    if ask.protocol not in (None, kind):
        raise InvalidInput(f"protocol {ask.protocol!r} with {kind!r}", field="protocol")
    if ask.ref is not None and kind != "git":
        raise InvalidInput('Field "ref" goes with git', field="ref")
    match kind, ask:
        case "folder", AddSource(folder=str(folder)):
            return FolderOrigin(folder=_absolute(folder), watch=ask.watch)
        case "git", AddSource(git=str(url)):
            return GitOrigin(url=url, ref=ask.ref or "HEAD")
        case "web", AddSource(web=str(url)):
            return WebOrigin(url=url)
        case "upload", _:
            return UploadOrigin(source_id=ask.source_id)
        case _:
            raise MissingField(f'Field "{kind}" is required', field=kind)


def _absolute(text: str) -> str:
    path = PurePosixPath(text)
    if not path.is_absolute() or ".." in path.parts or "\0" in text:
        raise InvalidFormat(
            'Field "folder" must be an absolute path', field="folder", got=text[:500]
        )
    return str(path)


def _schedule(line: str | None) -> str | None:
    if line is None or croniter.is_valid(line):
        return line
    raise InvalidFormat(
        'Field "schedule" must be a cron line, such as "0 3 * * *"', field="schedule", got=line
    )


def _changed(config: dict[str, Json], wanted: dict[str, Json], source_id: str) -> Json:
    if "origin" not in config:
        raise InvalidInput(
            f"source {source_id!r} is kept by its room: only trim_mode and enabled can be set",
            field=next(iter(wanted)),
        )
    schedule = wanted.get("schedule")
    if isinstance(schedule, str):
        wanted = {**wanted, "schedule": None if schedule == "never" else _schedule(schedule)}
    return SourceConfig.model_validate({**config, **wanted}).model_dump(mode="json")


async def _crawl(tx: Transaction, source_id: str) -> CrawlOut:
    row = await tx.one(SQL["crawl"], f"source {source_id!r} was never crawled", source_id=source_id)
    passed: dict[str, Any] = row.pop("passed") or {}
    return CrawlOut(
        **row,
        passed=passed.get("count", 0),
        passed_first=[PassedOut(**it) for it in passed.get("first", [])[:20]],
    )


def _source(source: catalog.Source) -> SourceOut:
    return SourceOut(
        source_id=source.source_id,
        protocol=source.protocol,
        trim_mode=source.trim_mode,
        enabled=source.enabled,
    )
