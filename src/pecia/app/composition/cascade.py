"""Builds the cascade feature with its adapters: git, the web, programs, notifications."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pecia.adapters.connectors.filesystem.change_buffer import FolderChangeBuffer
from pecia.features.cascade.feature import build_cascade_registry, cascade_feature
from pecia.features.cascade.layers.layer import LayerFile
from pecia.features.cascade.ports import CascadePorts, ForeignServer, ForeignServerContent
from pecia.features.cascade.registry import CascadeRegistry, parse_origins
from pecia.features.cascade.settings import CascadeSettings
from pecia.features.cascade.trust import TrustFile
from pecia.features.lake.settings import LakeSettings
from pecia.kernel.feature import Feature, FeatureContext
from pecia.kernel.on_demand import OnDemand
from pecia.kernel.settings.load import Settings
from pecia.kernel.store.store import Store

if TYPE_CHECKING:
    from pecia.app.composition.cascade_ports import GitRepositories, WebFiles


@dataclass(frozen=True, slots=True)
class GitOnDemand:
    """Repositories, with libgit2 imported for the first."""

    repositories: "OnDemand[GitRepositories]"

    async def files(
        self, place: Path | str, ref: str, subdir: str
    ) -> tuple[Sequence[LayerFile], Mapping[str, str]]:
        return await (await self.repositories.load()).files(place, ref, subdir)

    async def days(self, folder: Path) -> Mapping[str, str]:
        return await (await self.repositories.load()).days(folder)


@dataclass(frozen=True, slots=True)
class WebOnDemand:
    """Files of the web, with the HTTP client imported for the first."""

    files: "OnDemand[WebFiles]"

    async def __call__(self, url: str, max_bytes: int) -> bytes:
        return await (await self.files.load())(url, max_bytes)


@dataclass(frozen=True, slots=True)
class ForeignServerOnDemand:
    """Other MCP servers, with the SDK imported for the first."""

    reader: OnDemand[ForeignServer]

    async def read(self, argv: Sequence[str], folder: Path) -> ForeignServerContent:
        return await (await self.reader.load()).read(argv, folder)


def build_cascade_feature(context: FeatureContext) -> Feature:
    """The cascade feature over the cascades that the settings name."""
    return cascade_feature(build_cascades(context.settings, context.store))


def build_cascades(settings: Settings, store: Store) -> CascadeRegistry:
    """The cascades that the settings name."""
    home = settings.kernel.home
    places = parse_origins(settings.part(CascadeSettings).manifests)
    return build_cascade_registry(
        store, places, build_cascade_ports(settings), open_trust_file(home)
    )


def build_cascade_ports(settings: Settings) -> CascadePorts:
    """Every adapter that a layer may need; its hosts are those that the lake allows."""
    lake = settings.part(LakeSettings)
    copies = settings.kernel.home / "cascade-git"
    git: OnDemand[GitRepositories] = OnDemand(
        "pecia.app.composition.cascade_ports:open_repositories", copies, lake
    )
    web: OnDemand[WebFiles] = OnDemand("pecia.app.composition.cascade_ports:open_web", lake)
    if lake.trusted_hosts or lake.authorities:
        # A host or certificate that is none is refused now, not with the first layer.
        web.get()
    return CascadePorts(
        GitOnDemand(git),
        ForeignServerOnDemand(OnDemand("pecia.adapters.upstream.node_server:NodeServerReader")),
        WebOnDemand(web),
        None,
        FolderChangeBuffer,
    )


def open_trust_file(home: Path) -> TrustFile:
    """Where it is written down which manifests may start programs."""
    return TrustFile(home / "cascade-trust.json")
