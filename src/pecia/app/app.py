"""An open Pecia: store, ledger, gate, rooms and corridor, made from settings, closed again."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
import psycopg

from pecia.adapters.embed.choose import open_embedder
from pecia.adapters.embed.settings import EmbedSettings
from pecia.app.corridor import REMOTE, Corridor, Visit
from pecia.app.fair_queue import SlotLimits
from pecia.app.gate import Gate
from pecia.app.local_owner import LocalOwner
from pecia.app.owner import require_local_tenant, without_token
from pecia.app.public import published
from pecia.app.rooms import MIGRATIONS, build_rooms, originals_of
from pecia.app.scheduler import Scheduler
from pecia.app.settings import SETTINGS
from pecia.app.trust import verifier
from pecia.kernel.compute.pool import compute_workers
from pecia.kernel.corpus.embed_call import EmbedCaller
from pecia.kernel.corpus.embed_job import embed_job, node_name
from pecia.kernel.corpus.embedder import Embedder
from pecia.kernel.corpus.house import trim
from pecia.kernel.corpus.index.lag import IndexLag
from pecia.kernel.errors import Conflict, Json, PeciaError
from pecia.kernel.identity import owner_token
from pecia.kernel.identity.caller import Caller, Operator
from pecia.kernel.identity.oidc import Fetch
from pecia.kernel.jobs import Job
from pecia.kernel.jobs.house import sweep
from pecia.kernel.limits import Limit, RateLimiter
from pecia.kernel.logs import Log
from pecia.kernel.room import Room
from pecia.kernel.secrets import key_file
from pecia.kernel.secrets.keyring import Keyring, Purpose
from pecia.kernel.settings.account import account_name, make_home
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.audit import Ledger
from pecia.kernel.store.cluster import Logins, Options, open_cluster
from pecia.kernel.store.migrate import KERNEL, Part, migrate
from pecia.kernel.store.store import PoolSize, Store
from pecia.kernel.tool.confirmation import Confirmations
from pecia.kernel.tool.guests import NO_GUESTS, GuestList
from pecia.kernel.tool.model import AnyTool, Result
from pecia.kernel.tool.view import View, combined
from pecia.rooms.lake.originals import Originals

log = Log(__name__)

DRAIN_EVERY_S = 0.5

Revive: TypeAlias = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class App:
    """Everything a door needs. Doors hold an App and nothing below it."""

    settings: Settings
    store: Store
    ledger: Ledger
    gate: Gate
    corridor: Corridor
    rooms: tuple[Room, ...]
    keyring: Keyring
    everything: View
    confirmations: Confirmations
    """What waits for a person's yes. No tool gives it."""
    originals: Originals
    """Fetches files from where they lie, for who has a link."""
    revive: Revive
    """Starts the database again, where it is ours to start."""
    lag: IndexLag
    """Tells which keyword indexes do not keep up."""
    embedder: Embedder | None = None

    @property
    def tools(self) -> tuple[AnyTool, ...]:
        return tuple(tool for room in self.rooms for tool in room.tools)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """What workers run: the rooms' jobs and the house's own."""
        kernel = self.settings.kernel
        tidy = sweep(jobs_days=kernel.retention_jobs_days, audit_days=kernel.retention_audit_days)
        embedding = (embed_job(self.embedder),) if self.embedder else ()
        forget = trim(revisions_days=kernel.retention_revisions_days)
        return (tidy, forget, *embedding, *(job for room in self.rooms for job in room.jobs))

    @property
    def tending(self) -> tuple[Callable[[], Coroutine[Any, Any, None]], ...]:
        """What a worker does beside its jobs, until it is cancelled."""
        rooms = tuple(it for room in self.rooms for it in room.tending)
        if self.embedder is None:
            return rooms
        caller = EmbedCaller(self.store, embed_job(self.embedder), node_name(self.embedder.name))
        return (*rooms, caller.run)

    async def admit(self, bearer: str | None, visit: Visit) -> Caller | Operator:
        """Who asks; a denial is written down."""
        try:
            return await self.gate.admit(bearer)
        except PeciaError as error:
            self.corridor.denied(error, visit)
            raise

    async def call(
        self,
        who: Caller | Operator,
        name: str,
        arguments: Mapping[str, Json],
        visit: Visit,
        view: View | None = None,
    ) -> Result:
        """The one way to run a tool, for every door."""
        if view is None:
            view = self.everything if self.everything.has(name) else await self.view_for(who)
        return await self.corridor.call(who, view, name, arguments, visit)

    async def guests_of(self, who: Caller | Operator) -> GuestList:
        """Tools that are not ours and that this caller may use now."""
        found = [room.guests for room in self.rooms if room.guests is not None]
        return await found[0].of(who) if found and isinstance(who, Caller) else NO_GUESTS

    async def view_for(self, who: Caller | Operator) -> View:
        """Everything of ours, and the guests of this caller."""
        return self.everything.joined((await self.guests_of(who)).tools)


def home_of(settings: KernelSettings) -> Path:
    """The folder of the data, made private at first sight."""
    make_home(settings.home)
    return settings.home


def index_root(settings: KernelSettings) -> Path:
    """The folder of this home's keyword indexes. They are made from the database, at will."""
    return home_of(settings) / "index"


@dataclass(frozen=True, slots=True)
class Database:
    """Where it is, and how to start it again if it went away."""

    logins: Logins
    revive: Revive


@asynccontextmanager
async def open_database(
    settings: KernelSettings, report: Callable[[str], None]
) -> AsyncGenerator[Database]:
    """The operator's PostgreSQL, or an embedded one that is started here."""
    if settings.database_url is not None:
        app = settings.database_url.get_secret_value()
        owner = settings.database_owner_url or settings.database_url
        system = settings.database_system_url or settings.database_url
        yield Database(
            Logins(owner.get_secret_value(), app, system.get_secret_value()), _nothing_to_revive
        )
        return
    options = Options(grace_s=settings.keeper_grace_s)
    async with await open_cluster(home_of(settings), report=report, options=options) as cluster:
        yield Database(cluster.logins, cluster.revive)


@asynccontextmanager
async def open_logins(
    settings: KernelSettings, report: Callable[[str], None]
) -> AsyncGenerator[Logins]:
    """The three logins alone, for what is over before a database can go away."""
    async with open_database(settings, report) as database:
        yield database.logins


async def _nothing_to_revive() -> None:
    """The operator's PostgreSQL has keepers of its own."""


@asynccontextmanager
async def open_app(
    settings: Settings, *, fetch: Fetch, report: Callable[[str], None], is_worker: bool = False
) -> AsyncGenerator[App]:
    """An App that is up to date and running. Leaving it closes everything, in the other order.

    On a server only a worker opens the credentials of sources; no other process has their keys.
    """
    kernel = settings.kernel
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_database(kernel, report))
        await migrate(database.logins.owner, parts())
        least, wait_s = kernel.pool_min_size, kernel.pool_timeout_s
        store = Store(
            database.logins,
            app=PoolSize(least, kernel.pool_max_size, wait_s),
            system=PoolSize(
                min(least, kernel.system_pool_max_size), kernel.system_pool_max_size, wait_s
            ),
        )
        await store.open()
        stack.push_async_callback(store.close)
        ledger = Ledger(store, home_of(kernel) / "spool")
        stack.push_async_callback(ledger.close)
        await ledger.adopt()
        embedder = await stack.enter_async_context(open_embedder(settings.part(EmbedSettings)))
        purposes = _purposes(kernel, is_worker=is_worker)
        keys = home_of(kernel) / "keys.json"
        keyring = await anyio.to_thread.run_sync(_keyring, keys, purposes)
        if is_worker:
            await require_local_tenant(store, kernel)
        app = await _compose(settings, store, ledger, fetch, keyring, embedder)
        await stack.enter_async_context(compute_workers())
        for room in app.rooms:
            if room.running is not None:
                await stack.enter_async_context(room.running())
        yield replace(app, revive=database.revive)


def parts() -> list[Part]:
    """Every part of the schema: the kernel's, then the rooms'."""
    return [KERNEL, *MIGRATIONS]


async def _compose(
    settings: Settings,
    store: Store,
    ledger: Ledger,
    fetch: Fetch,
    keyring: Keyring,
    embedder: Embedder | None,
) -> App:
    kernel = settings.kernel
    rate = max(1, round(kernel.principal_rate_per_s * 1000))
    limit = Limit(rate, 1000, kernel.principal_burst)
    owner = await without_token(store, kernel, account_name())
    lag = IndexLag(store, index_root(kernel))
    built = build_rooms(settings, store, ledger, keyring, embedder, lag)
    rooms = published(built, kernel.public_rooms)
    return App(
        settings=settings,
        store=store,
        ledger=ledger,
        gate=Gate(
            store,
            verifier(kernel, rooms, fetch),
            without_token=owner,
            owner=await _local_owner(kernel),
        ),
        corridor=Corridor(
            ledger,
            RateLimiter(limit),
            kernel.request_timeout_s,
            Scheduler(_slots(kernel), wait_s=kernel.queue_timeout_s),
            Scheduler(REMOTE, wait_s=kernel.queue_timeout_s),
        ),
        rooms=rooms,
        keyring=keyring,
        everything=combined(tool for room in rooms for tool in room.tools),
        confirmations=Confirmations(store, keyring),
        originals=originals_of(settings, store, keyring),
        revive=_nothing_to_revive,
        lag=lag,
        embedder=embedder,
    )


async def _local_owner(kernel: KernelSettings) -> LocalOwner | None:
    if kernel.mode != "local":
        return None
    return LocalOwner(await anyio.to_thread.run_sync(owner_token.ensured, home_of(kernel)))


def _slots(kernel: KernelSettings) -> SlotLimits:
    # On one's own machine there is one tenant, and nobody to keep slots free for.
    is_shared = kernel.mode == "server"
    return SlotLimits(
        running=kernel.running_max,
        tenant_running=kernel.tenant_running_max if is_shared else kernel.running_max,
        principal_running=kernel.principal_running_max,
        principal_waiting=kernel.principal_waiting_max,
    )


def _purposes(kernel: KernelSettings, *, is_worker: bool) -> tuple[Purpose, ...]:
    opens = is_worker or kernel.mode == "local"
    return tuple(it for it in Purpose if opens or it is not Purpose.SOURCE)


def _keyring(path: Path, purposes: tuple[Purpose, ...]) -> Keyring:
    """The keys of this home for these purposes, made where there are none yet."""
    if not path.exists():
        with suppress(Conflict):
            # Another process may be quicker.
            key_file.create(path, Keyring.fresh(purposes))
    keyring = key_file.load(path)
    if not keyring.purposes >= set(purposes):
        keyring = key_file.update(path, lambda it: it.completed(purposes))
    return keyring.limited_to(purposes)


async def keep_house(app: App) -> None:
    """What a serving process does beside serving, until it is cancelled."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: app.ledger.keep_draining(every_s=DRAIN_EVERY_S))
        tasks.start_soon(_listen, app)
        tasks.start_soon(app.lag.run)
        tasks.start_soon(_note_uses, app)


async def _note_uses(app: App) -> None:
    while True:
        await anyio.sleep(5)
        try:
            await app.gate.note_uses()
        except PeciaError as error:
            log.failure("note_uses", error)


async def _listen(app: App) -> None:
    """Clear what is remembered of credentials as soon as one of them changes, on any node."""
    while True:
        try:
            connection = await psycopg.AsyncConnection.connect(
                app.store.logins.system, autocommit=True
            )
            async with connection:
                await connection.execute("LISTEN pecia_identity")
                app.gate.forget()
                async for _ in connection.notifies():
                    app.gate.forget()
        except psycopg.Error as error:
            # Until the line is back, memories live one second at most.
            log.failure("listen", error)
            await _bring_back(app)


async def _bring_back(app: App) -> None:
    """A line that broke is how we learn that the database went away."""
    try:
        await app.revive()
    except PeciaError as error:
        log.failure("revive", error)
    await anyio.sleep(1)


__all__ = [
    "SETTINGS",
    "App",
    "home_of",
    "index_root",
    "keep_house",
    "open_app",
    "open_database",
    "open_logins",
    "parts",
]
