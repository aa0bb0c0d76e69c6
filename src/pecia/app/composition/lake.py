"""The lake's sources, opened by the connectors of their kinds with what their tenant may reach."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from ssl import SSLContext
from uuid import UUID

from anyio.to_thread import run_sync

from pecia.adapters.connectors.access import file_selection
from pecia.adapters.connectors.filesystem.scan import resolve_path
from pecia.features.lake.allowlist import load_allowlist
from pecia.features.lake.answer_model import AnswerModel, ModelChoice
from pecia.features.lake.crawl.file_reader import Extractor
from pecia.features.lake.crawl.watcher import SourceChange
from pecia.features.lake.credentials import SourceCredentials
from pecia.features.lake.downloads.delivery import DeliveryQueue, delivery_job
from pecia.features.lake.downloads.link import PATH as DOWNLOAD
from pecia.features.lake.downloads.link import DownloadLinks
from pecia.features.lake.downloads.original import OriginalFetcher
from pecia.features.lake.feature import LakeAdapters, LakeOptions, build_lake
from pecia.features.lake.model import SourceConfig
from pecia.features.lake.settings import LakeSettings
from pecia.kernel.corpus.connector import Connector, SupportsStatMany
from pecia.kernel.corpus.connector_kind import (
    ConnectorContext,
    ConnectorRegistry,
    FetchOptions,
    TenantAllowlist,
)
from pecia.kernel.errors import InvalidInput, Json
from pecia.kernel.feature import Feature, FeatureContext
from pecia.kernel.on_demand import OnDemand
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.cluster import ClusterOptions
from pecia.kernel.store.store import Store
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.confirmation import Confirmations


@dataclass(frozen=True, slots=True)
class SourceConnectors:
    """Opens, checks and watches sources of every kind."""

    settings: Settings
    store: Store
    credentials: SourceCredentials
    kinds: ConnectorRegistry
    fetch: FetchOptions

    @asynccontextmanager
    async def open(
        self, tenant_id: UUID, source_id: str, config: SourceConfig
    ) -> AsyncGenerator[Connector]:
        """The connector of a source."""
        kind = self.kinds.find(config.kind)
        context = await self._context(tenant_id, config)
        if kind.credential is not None:
            login = await self.credentials.login(tenant_id, source_id, kind)
            context = replace(context, login=login)
        async with kind.open(kind.parse_origin(config.origin), context) as connector:
            yield connector

    async def check(self, tenant_id: UUID, config: SourceConfig) -> None:
        """Refuse what no crawl could begin with, as far as can be said without the network."""
        kind = self.kinds.find(config.kind)
        context = await self._context(tenant_id, config)
        # Compiles the globs.
        file_selection(context)
        if kind.check is not None:
            await kind.check(kind.parse_origin(config.origin), context)

    def is_watched(self, config: SourceConfig) -> bool:
        return self.kinds.is_watched(config.origin)

    async def watch(
        self, tenant_id: UUID, source_id: str, config: SourceConfig
    ) -> AsyncGenerator[SourceChange]:
        """Every change of a source, and once when watching has begun."""
        kind = self.kinds.find(config.kind)
        if kind.watch is None:
            raise InvalidInput(f"a source of kind {kind.name!r} is not watched", field="source_id")
        async with self.open(tenant_id, source_id, config):
            context = await self._context(tenant_id, config)
        origin = kind.parse_origin(config.origin)
        async with aclosing(kind.watch(origin, context)) as events:
            async for keys in events:
                # What was allowed may have been taken away since the watching began.
                async with self.open(tenant_id, source_id, config) as connector:
                    # One that cannot stat some of its files is listed as a whole.
                    can_stat = isinstance(connector, SupportsStatMany)
                    yield SourceChange(keys, connector if can_stat else None)

    async def _context(self, tenant_id: UUID, config: SourceConfig) -> ConnectorContext:
        return ConnectorContext(
            tenant_id,
            config.include,
            config.exclude,
            config.most_bytes,
            await load_effective_allowlist(self.settings, self.store, tenant_id),
            self.fetch,
            self.settings,
            self.store,
        )


def build_source_connectors(
    settings: Settings, store: Store, credentials: SourceCredentials, kinds: ConnectorRegistry
) -> SourceConnectors:
    """The connectors of a server. A PEM file that is none is refused here, at its start."""
    lake = settings.part(LakeSettings)
    tls = _tls_context(lake.authorities) if lake.authorities else None
    fetch = FetchOptions(lake.authorities, tls, lake.page_timeout_s, lake.page_pause_s)
    return SourceConnectors(settings, store, credentials, kinds, fetch)


def _tls_context(authorities: Path) -> SSLContext:
    from pecia.adapters.http.transport import build_tls_context

    return build_tls_context(authorities)


async def load_effective_allowlist(
    settings: Settings, store: Store, tenant_id: UUID
) -> TenantAllowlist:
    """What a tenant was given; to that of a local install, by its settings as well."""
    own = (settings.kernel.home, ClusterOptions().system)
    closed = tuple([await run_sync(resolve_path, it) for it in own])
    reach = replace(await load_allowlist(store, tenant_id), closed=closed)
    if not reach.is_local:
        return reach
    lake = settings.part(LakeSettings)
    folders = [await run_sync(resolve_path, Path(it)) for it in lake.folders]
    return replace(
        reach, folders=(*reach.folders, *folders), hosts=(*reach.hosts, *lake.trusted_hosts)
    )


@dataclass(frozen=True, slots=True)
class AnswerModelOnDemand:
    """The chat models, whose clients are imported with the first question for one."""

    provider: OnDemand[AnswerModel]

    async def say(
        self, call: Call, choice: ModelChoice, system: str, message: str, *, timeout_s: float
    ) -> str:
        model = await self.provider.load()
        return await model.say(call, choice, system, message, timeout_s=timeout_s)


def build_lake_feature(context: FeatureContext) -> Feature:
    """The lake with its connectors, and the originals of its files for the holder of a link."""
    settings, store, keyring = context.settings, context.store, context.keyring
    credentials = SourceCredentials(store, keyring)
    sources = build_source_connectors(settings, store, credentials, context.connectors)
    links = build_download_links(settings, keyring)
    feature = build_lake(
        store,
        context.corpus,
        _lake_adapters(context, sources),
        LakeOptions(
            settings.kernel.home / "index",
            links,
            _limits(settings.kernel),
            _console_url(settings.kernel),
            AnswerModelOnDemand(
                OnDemand("pecia.app.composition.answer_model:build_answer_model", context)
            ),
        ),
    )
    deliveries = DeliveryQueue(store, delivery_job(sources.open))
    originals = OriginalFetcher(store, sources.open, links, credentials, deliveries)
    return replace(feature, services=(originals,))


def build_download_links(settings: Settings, keyring: Keyring) -> DownloadLinks | None:
    """Links to originals, None where a setting is missing; a local install signs with its keys."""
    kernel = settings.kernel
    secret_setting = kernel.download_signing_secret
    is_local = kernel.mode == "local"
    if not is_local and not (secret_setting and kernel.public_url and kernel.internal_fetch_token):
        return None

    @cache
    def secret() -> bytes:
        # With the first link: features are also built without keys, for the reference docs.
        if secret_setting:
            return secret_setting.get_secret_value().encode()
        return keyring.sign(DOWNLOAD, b"").mac

    return DownloadLinks(secret, _console_url(kernel), kernel.download_link_ttl_s)


def _console_url(kernel: KernelSettings) -> str:
    """Where people reach this server; empty if the operator of a server did not say."""
    if kernel.public_url or kernel.mode != "local":
        return (kernel.public_url or "").rstrip("/")
    return f"http://{kernel.host}:{kernel.port}"


def _limits(kernel: KernelSettings) -> dict[str, Json]:
    return {
        "calls_per_s": kernel.principal_rate_per_s,
        "calls_burst": kernel.principal_burst,
        "request_timeout_s": kernel.request_timeout_s,
        "request_bytes": kernel.body_limit_bytes,
    }


def _open_extractor(readers: int) -> AbstractAsyncContextManager[Extractor]:
    # Lazy import: workers read files, servers do not.
    from pecia.adapters.extraction.extractor import open_extractor
    from pecia.adapters.extraction.model import ExtractionLimits

    return open_extractor(ExtractionLimits(children=readers))


def _lake_adapters(context: FeatureContext, sources: SourceConnectors) -> LakeAdapters:
    readers = context.settings.part(LakeSettings).readers
    return LakeAdapters(
        sources.open,
        lambda: _open_extractor(readers),
        sources,
        sources.credentials,
        sources.check,
        Confirmations(context.store, context.keyring),
        context.connectors,
    )
