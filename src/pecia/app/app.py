"""Opens an App from settings: store, audit log, authenticator, features, dispatcher."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
import anyio.to_thread
import psycopg
from psycopg import Notify

from pecia.adapters.embedding.factory import open_embedder
from pecia.adapters.embedding.settings import EmbedSettings
from pecia.app.authentication import Authenticator
from pecia.app.connectors import load_connectors
from pecia.app.default_caller import load_default_caller, require_local_tenant
from pecia.app.dispatch import REMOTE_SLOT_LIMITS, Dispatcher, RequestContext
from pecia.app.features import apply_public_access, build_features
from pecia.app.local_owner import LocalOwner
from pecia.app.plugins import PluginSettings, load_feature_plugins, refuse_clash
from pecia.app.registrations import BUILT_IN_FEATURES
from pecia.app.repository_copies import run_copy_cleanup
from pecia.app.scheduler import Scheduler, SlotLimits
from pecia.app.settings import SETTINGS
from pecia.features.lake.downloads.original import OriginalFetcher
from pecia.kernel.compute.pool import compute_workers
from pecia.kernel.corpus.catalog.retention import trim_revisions_job
from pecia.kernel.corpus.keyword.lag import IndexLag
from pecia.kernel.corpus.vectors.embed_job import embed_job, node_name
from pecia.kernel.corpus.vectors.embed_trigger import EmbedTrigger
from pecia.kernel.corpus.vectors.embedder import Embedder
from pecia.kernel.errors import Conflict, Json, PeciaError
from pecia.kernel.feature import Feature, find_service
from pecia.kernel.identity import owner_token
from pecia.kernel.identity.caller import Caller, Operator
from pecia.kernel.jobs import Job
from pecia.kernel.jobs.cleanup import cleanup_job
from pecia.kernel.logs import Log
from pecia.kernel.rate_limit import RateLimit, RateLimiter
from pecia.kernel.secrets import key_file
from pecia.kernel.secrets.keyring import Keyring, Purpose
from pecia.kernel.settings.account import account_name, create_home
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.cluster import ClusterOptions, DatabaseLogins, open_cluster
from pecia.kernel.store.listen import listen
from pecia.kernel.store.migrate import KERNEL_SCHEMA, SchemaPart, migrate
from pecia.kernel.store.store import PoolSize, Store
from pecia.kernel.tool.confirmation import Confirmations
from pecia.kernel.tool.dynamic_tools import NO_DYNAMIC_TOOLS, DynamicToolList
from pecia.kernel.tool.model import AnyTool, ToolResult
from pecia.kernel.tool.validate import forget_tools
from pecia.kernel.tool.view import ToolView, combine_tools

if TYPE_CHECKING:
    from pecia.kernel.identity.oidc import FetchJwks, TokenVerifier

log = Log(__name__)

AUDIT_DRAIN_INTERVAL_S = 0.5

RestartDatabase: TypeAlias = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class App:
    """Everything an interface needs. Interfaces hold an App and nothing below it."""

    settings: Settings
    store: Store
    audit_log: AuditLog
    authenticator: Authenticator
    dispatcher: Dispatcher
    features: tuple[Feature, ...]
    keyring: Keyring
    full_view: ToolView
    confirmations: Confirmations
    """Actions that wait for a person's confirmation. No tool gives it."""
    original_fetcher: OriginalFetcher
    """Fetches original files from their source, for the holder of a link."""
    restart_database: RestartDatabase
    """Restarts the embedded database; does nothing for an operator's own."""
    index_lag: IndexLag
    """Says which keyword indexes lag."""
    embedder: Embedder | None = None

    @property
    def tools(self) -> tuple[AnyTool, ...]:
        return tuple(tool for feature in self.features for tool in feature.tools)

    @property
    def jobs(self) -> tuple[Job, ...]:
        """What workers run: the features' jobs and the kernel's own."""
        kernel = self.settings.kernel
        cleanup = cleanup_job(
            jobs_days=kernel.retention_jobs_days, audit_days=kernel.retention_audit_days
        )
        embedding = (embed_job(self.embedder),) if self.embedder else ()
        trim = trim_revisions_job(revisions_days=kernel.retention_revisions_days)
        return (cleanup, trim, *embedding, *(job for it in self.features for job in it.jobs))

    @property
    def background_tasks(self) -> tuple[Callable[[], Coroutine[Any, Any, None]], ...]:
        """What a worker runs beside its jobs, until cancelled."""
        tasks = (
            *(task for it in self.features for task in it.background_tasks),
            lambda: run_copy_cleanup(self.store, self.settings.kernel.home),
        )
        if self.embedder is None:
            return tasks
        trigger = EmbedTrigger(self.store, embed_job(self.embedder), node_name(self.embedder.name))
        return (*tasks, trigger.run)

    async def authenticate(self, bearer: str | None, context: RequestContext) -> Caller | Operator:
        """The caller of a token; a denial is audited."""
        try:
            return await self.authenticator.authenticate(bearer)
        except PeciaError as error:
            self.dispatcher.record_denial(error, context)
            raise

    async def call(
        self,
        who: Caller | Operator,
        name: str,
        arguments: Mapping[str, Json],
        context: RequestContext,
        view: ToolView | None = None,
    ) -> ToolResult:
        """Run a tool by name, of the view or of all that the caller has: for the command line."""
        if view is None:
            view = self.full_view if self.full_view.has(name) else await self.view_for(who)
        return await self.dispatcher.call(who, view, name, arguments, context)

    async def dynamic_tools_for(self, who: Caller | Operator) -> DynamicToolList:
        """Tools of upstream servers that this caller may use now."""
        lists = [it.dynamic_tools for it in self.features if it.dynamic_tools is not None]
        return await lists[0].of(who) if lists and isinstance(who, Caller) else NO_DYNAMIC_TOOLS

    async def view_for(self, who: Caller | Operator) -> ToolView:
        """All built-in tools, and the dynamic tools of this caller."""
        dynamic = await self.dynamic_tools_for(who)
        return self.full_view.with_dynamic_tools(dynamic.tools, dynamic.withheld)


def ensure_home(settings: KernelSettings) -> Path:
    """The data folder, created with private permissions."""
    create_home(settings.home)
    return settings.home


def index_root(settings: KernelSettings) -> Path:
    """The folder of this home's keyword indexes. They can be rebuilt from the database."""
    return ensure_home(settings) / "index"


@dataclass(frozen=True, slots=True)
class DatabaseHandle:
    """The logins of the database, and how to restart it."""

    logins: DatabaseLogins
    restart: RestartDatabase


@asynccontextmanager
async def open_database(
    settings: KernelSettings, report: Callable[[str], None]
) -> AsyncGenerator[DatabaseHandle]:
    """The operator's PostgreSQL, or the embedded one, started here."""
    if settings.database_url is not None:
        app = settings.database_url.get_secret_value()
        owner = settings.database_owner_url or settings.database_url
        system = settings.database_system_url or settings.database_url
        yield DatabaseHandle(
            DatabaseLogins(owner.get_secret_value(), app, system.get_secret_value()), _no_restart
        )
        return
    options = ClusterOptions(grace_s=settings.keeper_grace_s)
    async with await open_cluster(ensure_home(settings), report=report, options=options) as cluster:
        yield DatabaseHandle(cluster.logins, cluster.restart_if_down)


@asynccontextmanager
async def open_logins(
    settings: KernelSettings, report: Callable[[str], None]
) -> AsyncGenerator[DatabaseLogins]:
    """The three logins alone, for short commands that need no restart."""
    async with open_database(settings, report) as database:
        yield database.logins


async def _no_restart() -> None:
    """The operator runs their own PostgreSQL."""


@asynccontextmanager
async def open_app(
    settings: Settings,
    *,
    fetch: "FetchJwks",
    report: Callable[[str], None],
    is_worker: bool = False,
    shares_models: bool = False,
) -> AsyncGenerator[App]:
    """A migrated, running App. Closed in reverse order on exit.

    On a server only a worker opens the credentials of sources; no other process has their keys.
    With `shares_models`, models run in the process of this home, if there is one.
    """
    kernel = settings.kernel
    async with AsyncExitStack() as stack:
        stack.callback(forget_tools)
        database = await stack.enter_async_context(open_database(kernel, report))
        await migrate(database.logins.owner, migration_parts())
        await migrate_plugins(database.logins.owner, settings)
        min_size, wait_s = kernel.pool_min_size, kernel.pool_timeout_s
        store = Store(
            database.logins,
            app=PoolSize(min_size, kernel.pool_max_size, wait_s),
            system=PoolSize(
                min(min_size, kernel.system_pool_max_size), kernel.system_pool_max_size, wait_s
            ),
        )
        await store.open()
        stack.push_async_callback(store.close)
        audit_log = AuditLog(store, ensure_home(kernel) / "spool")
        stack.push_async_callback(audit_log.close)
        await audit_log.recover_abandoned()
        embedder = await stack.enter_async_context(
            open_embedder(settings.part(EmbedSettings), kernel.home if shares_models else None)
        )
        purposes = _purposes(kernel, is_worker=is_worker)
        keys = ensure_home(kernel) / "keys.json"
        keyring = await anyio.to_thread.run_sync(_keyring, keys, purposes)
        if is_worker:
            await require_local_tenant(store, kernel)
        app = await _compose(settings, store, audit_log, fetch, keyring, embedder)
        await stack.enter_async_context(compute_workers())
        for feature in app.features:
            if feature.lifespan is not None:
                await stack.enter_async_context(feature.lifespan())
        yield replace(app, restart_database=database.restart)


def migration_parts(settings: Settings | None = None) -> list[SchemaPart]:
    """Every part of the schema: the kernel's, the features', and those of these settings' plugins.
    Without settings: what every install has."""
    plugins = load_feature_plugins(settings.part(PluginSettings).disabled) if settings else None
    features = (*BUILT_IN_FEATURES, *(plugins.features if plugins else ()))
    return [
        KERNEL_SCHEMA,
        *(SchemaPart(it.name, it.migrations) for it in features if it.migrations),
    ]


async def migrate_plugins(owner: str, settings: Settings) -> None:
    """The migrations of plugins, each by itself, after ours; and what was wrong with plugins."""
    disabled = settings.part(PluginSettings).disabled
    plugins = load_feature_plugins(disabled)
    for problem in (*plugins.problems, *load_connectors(disabled).problems):
        log.error("plugin", problem=problem)
    for plugin in plugins.features:
        if plugin.migrations is None:
            continue
        try:
            await migrate(owner, [SchemaPart(plugin.name, plugin.migrations)])
        except (psycopg.Error, PeciaError, ImportError) as error:
            raise refuse_clash(plugin.name, f"its migration failed: {error}") from error


async def _compose(
    settings: Settings,
    store: Store,
    audit_log: AuditLog,
    fetch: "FetchJwks",
    keyring: Keyring,
    embedder: Embedder | None,
) -> App:
    kernel = settings.kernel
    rate = max(1, round(kernel.principal_rate_per_s * 1000))
    limit = RateLimit(rate, 1000, kernel.principal_burst, setting="principal_rate_per_s")
    owner = await load_default_caller(store, kernel, account_name())
    lag = IndexLag(store, index_root(kernel))
    built = build_features(settings, store, audit_log, keyring, embedder, lag)
    features = apply_public_access(built, kernel.public_toolsets)
    return App(
        settings=settings,
        store=store,
        audit_log=audit_log,
        authenticator=Authenticator(
            store,
            _build_verifier(kernel, features, fetch),
            without_token=owner,
            owner=await _local_owner(kernel),
        ),
        dispatcher=Dispatcher(
            audit_log.spool,
            RateLimiter(limit),
            kernel.request_timeout_s,
            Scheduler(_slots(kernel), wait_s=kernel.queue_timeout_s),
            Scheduler(REMOTE_SLOT_LIMITS, wait_s=kernel.queue_timeout_s),
        ),
        features=features,
        keyring=keyring,
        full_view=combine_tools(tool for feature in features for tool in feature.tools),
        confirmations=Confirmations(store, keyring),
        original_fetcher=find_service(features, OriginalFetcher),
        restart_database=_no_restart,
        index_lag=lag,
        embedder=embedder,
    )


def _build_verifier(
    kernel: KernelSettings, features: tuple[Feature, ...], fetch: "FetchJwks"
) -> "TokenVerifier | None":
    if kernel.oidc_issuer is None:
        return None
    # Lazy import: few servers have an issuer.
    from pecia.app.issuers import build_verifier

    return build_verifier(kernel, features, fetch)


async def _local_owner(kernel: KernelSettings) -> LocalOwner | None:
    if kernel.mode != "local":
        return None
    home = ensure_home(kernel)
    token = await anyio.to_thread.run_sync(owner_token.ensure, home)
    return await anyio.to_thread.run_sync(LocalOwner, token, home)


def _slots(kernel: KernelSettings) -> SlotLimits:
    # In local mode there is one tenant: no slots to reserve for others.
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
    """The keys of this home for these purposes, created where missing."""
    if not path.exists():
        with suppress(Conflict):
            # Another process may have created it first.
            key_file.create(path, Keyring.fresh(purposes))
    keyring = key_file.load(path)
    if not keyring.purposes >= set(purposes):
        keyring = key_file.update(path, lambda it: it.with_missing_keys(purposes))
    return keyring.restrict_to(purposes)


async def run_maintenance(app: App) -> None:
    """Background tasks of a serving process, until cancelled."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: app.audit_log.drain_forever(every_s=AUDIT_DRAIN_INTERVAL_S))
        tasks.start_soon(_listen_identity_changes, app)
        tasks.start_soon(app.index_lag.run)
        tasks.start_soon(_flush_last_used, app)


async def _flush_last_used(app: App) -> None:
    while True:
        await anyio.sleep(5)
        try:
            await app.authenticator.flush_last_used()
        except PeciaError as error:
            log.failure("flush_last_used", error)


async def _listen_identity_changes(app: App) -> None:
    """Invalidate the credential cache when a credential changes, on any node.

    While disconnected, cache entries live one second at most.
    """

    async def invalidate(_: Notify | None) -> None:
        app.authenticator.invalidate_cache()

    async def restart_database() -> None:
        # A broken connection means that the embedded database may be down.
        try:
            await app.restart_database()
        except PeciaError as error:
            log.failure("restart_database", error)

    await listen(
        app.store,
        ["pecia_identity"],
        invalidate,
        "identity.listen",
        before_reconnect=restart_database,
    )


__all__ = [
    "SETTINGS",
    "App",
    "ensure_home",
    "index_root",
    "migration_parts",
    "open_app",
    "open_database",
    "open_logins",
    "run_maintenance",
]
