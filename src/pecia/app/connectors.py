"""The connector registry: one row per kind of source. Those of plugins are added to ours."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint

from pecia.adapters.connectors.access import file_selection
from pecia.adapters.connectors.folder import FOLDER
from pecia.adapters.connectors.git import GIT
from pecia.adapters.connectors.s3 import S3
from pecia.adapters.connectors.web import WEB
from pecia.app.composition.wiki import SPACE
from pecia.app.plugins import CONNECTOR_GROUP, PluginError, load_entries, refuse_clash
from pecia.features.lake.core.source_config import AddSource
from pecia.features.lake.uploads import upload_kind
from pecia.kernel.corpus.connector_kind import ConnectorKind, ConnectorRegistry

CONNECTORS = ConnectorRegistry.of(
    (
        FOLDER,
        GIT,
        S3,
        WEB,
        upload_kind(lambda context: file_selection(context).admits),
        SPACE,
    )
)


@dataclass(frozen=True, slots=True)
class InstalledConnectors:
    """The registry with the rows of plugins, and why others are left out."""

    registry: ConnectorRegistry
    problems: tuple[str, ...] = ()


@cache
def load_connectors(disabled: tuple[str, ...]) -> InstalledConnectors:
    """Our rows, and those of installed plugins that are not disabled."""
    ours = {*AddSource.model_fields, *_options(CONNECTORS.kinds.values())}
    rows = [*CONNECTORS.kinds.values()]

    def load(entry: EntryPoint) -> ConnectorKind:
        kind = entry.load()
        if not isinstance(kind, ConnectorKind):
            raise PluginError(f"{entry.value} is no ConnectorKind")
        if kind.name != entry.name:
            raise PluginError(f"it registers {kind.name!r} under the name {entry.name!r}")
        options = {*_options([kind])}
        if shared := sorted(options & ours):
            raise refuse_clash(kind.name, f"add_source has an argument {shared[0]!r}")
        if shared := sorted(options & {*_options(rows)}):
            raise PluginError(f"another plugin has the argument {shared[0]!r} too")
        rows.append(kind)
        return kind

    _, problems = load_entries(CONNECTOR_GROUP, disabled, CONNECTORS.kinds, load)
    return InstalledConnectors(ConnectorRegistry.of(rows), tuple(problems))


def _options(kinds: Iterable[ConnectorKind]) -> Iterable[str]:
    return (it for kind in kinds if kind.options for it in kind.options.model_fields)
