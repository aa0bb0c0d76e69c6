"""Builds every feature from its registration, and decides which of their tools are public."""

from collections.abc import Sequence
from dataclasses import replace
from pkgutil import resolve_name

from pecia.app.connectors import CONNECTORS
from pecia.app.registrations import BUILT_IN_FEATURES
from pecia.kernel.corpus.keyword.lag import IndexLag
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.corpus.vectors.embedder import Embedder
from pecia.kernel.errors import InvalidEnum
from pecia.kernel.feature import Feature, FeatureContext
from pecia.kernel.identity.caller import Scope
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.store import Store
from pecia.kernel.tool.former_names import current_toolset
from pecia.kernel.tool.model import AnyTool


def build_features(
    settings: Settings,
    store: Store,
    audit_log: AuditLog,
    keyring: Keyring,
    embedder: Embedder | None = None,
    lag: IndexLag | None = None,
) -> tuple[Feature, ...]:
    """Every feature. Each may use what those before it offer."""
    corpus = Corpus(store, ReaderCache(settings.kernel.home / "index"), embedder, lag=lag)
    context = FeatureContext(settings, store, corpus, audit_log, keyring, CONNECTORS)
    for registration in BUILT_IN_FEATURES:
        if registration.build is not None:
            feature = build_feature(registration.build, context)
            context = replace(context, features=(*context.features, feature))
    return context.features


def build_feature(builder: str, context: FeatureContext) -> Feature:
    """What the builder of a registration makes."""
    return resolve_name(builder)(context)


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
