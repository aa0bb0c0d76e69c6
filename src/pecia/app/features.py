"""Builds the features, one line each, and hands in the adapters they need."""

from collections.abc import Sequence
from dataclasses import replace

from pecia.adapters.extraction.extractor import open_extractor
from pecia.adapters.extraction.model import ExtractionLimits
from pecia.adapters.git.model import CommitDraft, GitSignature
from pecia.adapters.git.repository import HistoryRepository
from pecia.app.composition.cascade import build_cascades
from pecia.app.composition.ckf import build_ckf
from pecia.app.composition.hub import build_hub
from pecia.app.composition.lake import build_source_connectors
from pecia.app.composition.memory import build_memory
from pecia.app.composition.wiki import SpaceFolderCheck, build_space_roots
from pecia.app.connectors import CONNECTORS
from pecia.features.admin.feature import build_admin
from pecia.features.cascade.feature import cascade_feature
from pecia.features.lake.credentials import SourceCredentials
from pecia.features.lake.downloads.delivery import DeliveryQueue, delivery_job
from pecia.features.lake.downloads.link import PATH as DOWNLOAD
from pecia.features.lake.downloads.link import DownloadLinks
from pecia.features.lake.downloads.original import OriginalFetcher
from pecia.features.lake.feature import LakeAdapters, LakeOptions, build_lake
from pecia.features.lake.settings import LakeSettings
from pecia.features.wiki.feature import wiki_feature
from pecia.features.wiki.history.port import bind_version_store
from pecia.features.wiki.settings import WikiSettings
from pecia.kernel.corpus.keyword.lag import IndexLag
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.corpus.vectors.embedder import Embedder
from pecia.kernel.errors import InvalidEnum, Json
from pecia.kernel.feature import Feature
from pecia.kernel.identity.caller import Scope
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.migrate import SchemaPart
from pecia.kernel.store.store import Store
from pecia.kernel.tool.confirmation import Confirmations
from pecia.kernel.tool.former_names import current_toolset
from pecia.kernel.tool.model import AnyTool


def apply_public_access(features: tuple[Feature, ...], names: Sequence[str]) -> tuple[Feature, ...]:
    """The features, private except those named. An unknown name is an error."""
    known = sorted(feature.name for feature in features)
    names = [current_toolset(it) for it in names]
    for name in names:
        if name not in known:
            raise InvalidEnum(
                f"public_rooms: there is no toolset {name!r}",
                field="public_rooms",
                got=name,
                allowed=[*known],
            )
    return tuple(
        _make_public(feature) if feature.name in names else _make_private(feature)
        for feature in features
    )


def _make_public(feature: Feature) -> Feature:
    """Read-only tools become public, beside those that the feature itself marks public."""
    return replace(
        feature,
        tools=tuple(replace(it, public=it.public or _only_reads(it)) for it in feature.tools),
        resources=tuple(replace(it, public=True) for it in feature.resources),
        prompts=tuple(replace(it, public=True) for it in feature.prompts),
    )


def _make_private(feature: Feature) -> Feature:
    return replace(
        feature,
        tools=tuple(replace(it, public=False) for it in feature.tools),
        resources=tuple(replace(it, public=False) for it in feature.resources),
        prompts=tuple(replace(it, public=False) for it in feature.prompts),
    )


def _only_reads(tool: AnyTool) -> bool:
    return tool.read_only and tool.scope in (Scope.SEARCH, Scope.READ)


MIGRATIONS: tuple[SchemaPart, ...] = (
    SchemaPart("ckf", "pecia.features.ckf.schema"),
    SchemaPart("hub", "pecia.features.hub.schema"),
    SchemaPart("lake", "pecia.features.lake.schema"),
    SchemaPart("memory", "pecia.features.memory.schema"),
    SchemaPart("wiki", "pecia.features.wiki.schema"),
)


def build_features(
    settings: Settings,
    store: Store,
    audit_log: AuditLog,
    keyring: Keyring,
    embedder: Embedder | None = None,
    lag: IndexLag | None = None,
) -> tuple[Feature, ...]:
    """Every feature, in the order of the design."""
    corpus = Corpus(store, ReaderCache(settings.kernel.home / "index"), embedder, lag=lag)
    roots = build_space_roots(store)
    cascades = build_cascades(settings, store)
    others = (
        build_lake(
            store,
            corpus,
            _lake_adapters(settings, store, keyring),
            _lake_options(settings, keyring),
        ),
        build_ckf(settings, store, corpus, cascades),
        cascade_feature(cascades),
        wiki_feature(
            corpus,
            settings.part(WikiSettings),
            bind_version_store(HistoryRepository.open, CommitDraft, GitSignature),
            roots,
        ),
        build_memory(settings, corpus),
    )
    purgers = tuple(feature.purge for feature in others if feature.purge)
    spaces = SpaceFolderCheck(roots)
    admin = build_admin(store, audit_log, keyring, purgers, spaces, CONNECTORS)
    features = (admin, *others)
    return (*features, build_hub(settings, store, keyring, features))


def build_download_links(settings: Settings, keyring: Keyring) -> DownloadLinks | None:
    """Links to originals, None where a setting is missing; a local install signs with its keys."""
    kernel = settings.kernel
    secret_setting = kernel.download_signing_secret
    is_local = kernel.mode == "local"
    if not is_local and not (secret_setting and kernel.public_url and kernel.internal_fetch_token):
        return None

    def secret() -> bytes:
        # Read when a link is made: features are also built without keys, for the reference docs.
        if secret_setting:
            return secret_setting.get_secret_value().encode()
        return keyring.sign(DOWNLOAD, b"").mac

    public_url = kernel.public_url or f"http://{kernel.host}:{kernel.port}"
    return DownloadLinks(secret, public_url, kernel.download_link_ttl_s)


def build_original_fetcher(settings: Settings, store: Store, keyring: Keyring) -> OriginalFetcher:
    """Fetches original files for the holder of a link."""
    credentials = SourceCredentials(store, keyring)
    connect = build_source_connectors(settings, store, credentials, CONNECTORS).open
    deliveries = DeliveryQueue(store, delivery_job(connect))
    links = build_download_links(settings, keyring)
    return OriginalFetcher(store, connect, links, credentials, deliveries)


def _lake_options(settings: Settings, keyring: Keyring) -> LakeOptions:
    kernel = settings.kernel
    limits: dict[str, Json] = {
        "calls_per_s": kernel.principal_rate_per_s,
        "calls_burst": kernel.principal_burst,
        "request_timeout_s": kernel.request_timeout_s,
        "request_bytes": kernel.body_limit_bytes,
    }
    return LakeOptions(kernel.home / "index", build_download_links(settings, keyring), limits)


def _lake_adapters(settings: Settings, store: Store, keyring: Keyring) -> LakeAdapters:
    limits = ExtractionLimits(children=settings.part(LakeSettings).readers)
    credentials = SourceCredentials(store, keyring)
    sources = build_source_connectors(settings, store, credentials, CONNECTORS)
    return LakeAdapters(
        sources.open,
        lambda: open_extractor(limits),
        sources,
        credentials,
        sources.check,
        Confirmations(store, keyring),
        CONNECTORS,
    )
