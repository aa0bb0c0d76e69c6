"""Cascades made for a test: layers of files, and callers that go through the dispatcher."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from uuid import UUID, uuid5

from pecia.app.dispatch import Dispatcher, RequestContext
from pecia.features.cascade.feature import cascade_feature
from pecia.features.cascade.ports import CascadePorts
from pecia.features.cascade.registry import CascadeOrigin, CascadeRegistry
from pecia.features.cascade.trust import TrustFile
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import EVERY_SCOPE, Caller, CredentialKind
from pecia.kernel.rate_limit import RateLimit, RateLimiter
from pecia.kernel.store.audit.spool import AuditSpool
from pecia.kernel.tool.model import TextContent, ToolResult
from pecia.kernel.tool.view import feature_view

GOLDEN = Path(__file__).parent / "cascade_golden"

LEVELS = {"company": 0, "team": 2, "personal": 3}

Layers = Mapping[str, Mapping[str, str]]
"""By layer: documents by their path without the extension."""


def caller(user: str = "ana", tenant: str = "local") -> Caller:
    nobody = UUID(int=0)
    user_id = uuid5(nobody, user)
    return Caller(nobody, CredentialKind.LOCAL, nobody, tenant, user_id, user, EVERY_SCOPE)


def write_layers(folder: Path, layers: Layers, **facts: Mapping[str, Json]) -> Path:
    """The files of the layers and a manifest; `facts` of a layer go into it."""
    listed: list[Json] = []
    for position, (name, documents) in enumerate(layers.items()):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for path, text in documents.items():
            file = folder / name / f"{path}.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        level = LEVELS.get(name, position)
        listed.append({"name": name, "level": level, "path": name, **facts.get(name, {})})
    manifest = folder / "manifest.json"
    manifest.write_text(json.dumps({"layers": listed}), encoding="utf-8")
    return manifest


@dataclass(slots=True)
class CascadeClient:
    """A cascade, called through the dispatcher."""

    cascades: CascadeRegistry
    dispatcher: Dispatcher

    async def result(self, tool: str, who: Caller | None = None, **arguments: Json) -> ToolResult:
        feature = cascade_feature(self.cascades)
        view = feature_view(feature.tools, feature.name)
        return await self.dispatcher.call(
            who or caller(), view, tool, arguments, RequestContext("test")
        )

    async def ask(self, tool: str, who: Caller | None = None, **arguments: Json) -> dict[str, Any]:
        """The structured answer."""
        found = await self.result(tool, who, **arguments)
        return cast(dict[str, Any], found.structured)

    async def shown(self, tool: str, **arguments: Json) -> Any:
        """The first block of text, which is the reference's own shape."""
        found = await self.result(tool, None, **arguments)
        text = found.content[0]
        assert isinstance(text, TextContent)
        return json.loads(text.text)


def asking(
    manifest: Path,
    spool: Path,
    *,
    ports: CascadePorts | None = None,
    trust: TrustFile | None = None,
    may_read_all: bool = False,
) -> CascadeClient:
    """The cascade of a manifest. There is no store: a source has its reader in its name."""

    async def may_read(who: Caller, source: str) -> bool:
        return may_read_all or source == f"lake-of-{who.user}"

    places = {"made": CascadeOrigin("made", manifest)}
    cascades = CascadeRegistry(places, ports or CascadePorts(), trust or TrustFile(), may_read)
    plenty = RateLimiter(RateLimit(1_000_000, 1, 1_000_000))
    return CascadeClient(cascades, Dispatcher(AuditSpool(spool), plenty, 60))


def document(head: str = "", *sections: str) -> str:
    """A document: lines of frontmatter, then sections."""
    return f"---\n{head}\n---\n\n" + "\n\n".join(sections) + "\n"
