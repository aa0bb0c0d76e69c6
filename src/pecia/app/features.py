"""Builds every feature from its registration, and decides which of their tools are public."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pkgutil import resolve_name

from pecia.adapters.embedding.factory import open_lexicon
from pecia.adapters.embedding.settings import EmbedSettings
from pecia.app.connectors import load_connectors
from pecia.app.features_on_demand import build_deferred
from pecia.app.plugin_features import require_distinct, require_free, require_own_names
from pecia.app.plugins import PluginSettings, describe_problem, load_feature_plugins
from pecia.app.registrations import CONTENT_FEATURES, OVERSIGHT_FEATURES
from pecia.kernel.corpus.keyword.lag import IndexLag
from pecia.kernel.corpus.keyword.reader_cache import ReaderCache
from pecia.kernel.corpus.search.search import Corpus
from pecia.kernel.corpus.vectors.embedder import Embedder
from pecia.kernel.errors import InvalidEnum
from pecia.kernel.feature import Feature, FeatureContext
from pecia.kernel.identity.caller import Scope
from pecia.kernel.logs import Log
from pecia.kernel.registration import FeatureRegistration
from pecia.kernel.secrets.keyring import Keyring
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.audit.log import AuditLog
from pecia.kernel.store.store import Store
from pecia.kernel.tool.former_names import current_toolset
from pecia.kernel.tool.model import AnyTool, DeferredTool, ForeignTool

_log = Log(__name__)


def import_features() -> None:
    """Import the modules of every built-in feature, before a process forks."""
    for registration in (*CONTENT_FEATURES, *OVERSIGHT_FEATURES):
        if registration.build is not None and not registration.is_deferred:
            resolve_name(registration.build)


def build_features(
    settings: Settings,
    store: Store,
    audit_log: AuditLog,
    keyring: Keyring,
    embedder: Embedder | None = None,
    lag: IndexLag | None = None,
) -> tuple[Feature, ...]:
    """Every feature, ours and those of plugins. Each may use what those before it offer."""
    disabled = settings.part(PluginSettings).disabled
    corpus = Corpus(
        store,
        ReaderCache(settings.kernel.home / "index"),
        embedder,
        lag=lag,
        translator=open_lexicon(settings.part(EmbedSettings)),
    )
    connectors = load_connectors(disabled).registry
    context = FeatureContext(settings, store, corpus, audit_log, keyring, connectors)
    context = _add_features(context, CONTENT_FEATURES)
    content = context.features
    plugins = _build_plugins(context, load_feature_plugins(disabled).features)
    context = replace(context, features=(*content, *plugins))
    context = _add_features(context, OVERSIGHT_FEATURES)
    built_in = [it for it in context.features if it not in plugins]
    for plugin in plugins:
        require_free(plugin, built_in)
    return context.features


def _add_features(
    context: FeatureContext, registrations: Iterable[FeatureRegistration]
) -> FeatureContext:
    for registration in registrations:
        if registration.build is not None:
            build = build_deferred if registration.is_deferred else _build_now
            feature = build(registration, context)
            context = replace(context, features=(*context.features, feature))
    return context


def _build_now(registration: FeatureRegistration, context: FeatureContext) -> Feature:
    assert registration.build is not None
    return resolve_name(registration.build)(context)


def _build_plugins(
    context: FeatureContext, registrations: Iterable[FeatureRegistration]
) -> tuple[Feature, ...]:
    """The features of plugins. One that cannot be built, or is not as it should be, is left out."""
    built: list[Feature] = []
    for registration in registrations:
        try:
            for feature in _add_features(context, [registration]).features[len(context.features) :]:
                require_own_names(feature, registration.name)
                require_distinct(feature, built)
                built.append(feature)
        # Code of others: whatever it raises is its own, and it does not end the server.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            _log.error("plugin", problem=describe_problem(registration.name, error))
    return tuple(built)


def apply_public_access(features: tuple[Feature, ...], names: Sequence[str]) -> tuple[Feature, ...]:
    """The features, private except those named. An unknown name is an error."""
    known = sorted(feature.name for feature in features)
    names = [current_toolset(it) for it in names]
    for name in names:
        if name not in known:
            raise InvalidEnum(
                f"public_toolsets: there is no toolset {name!r}",
                field="public_toolsets",
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
        tools=tuple(_set_public(it, it.public or _only_reads(it)) for it in feature.tools),
        resources=tuple(replace(it, public=True) for it in feature.resources),
        prompts=tuple(replace(it, public=True) for it in feature.prompts),
    )


def _make_private(feature: Feature) -> Feature:
    return replace(
        feature,
        tools=tuple(_set_public(it, False) for it in feature.tools),
        resources=tuple(replace(it, public=False) for it in feature.resources),
        prompts=tuple(replace(it, public=False) for it in feature.prompts),
    )


def _set_public(tool: AnyTool, is_public: bool) -> AnyTool:
    """The lean form is as public as the tool."""
    if isinstance(tool, ForeignTool) or tool.lean is None:
        return replace(tool, public=is_public)
    if isinstance(tool, DeferredTool):
        return replace(tool, public=is_public, lean=replace(tool.lean, public=is_public))
    return replace(tool, public=is_public, lean=replace(tool.lean, public=is_public))


def _only_reads(tool: AnyTool) -> bool:
    return tool.read_only and tool.scope in (Scope.SEARCH, Scope.READ)
