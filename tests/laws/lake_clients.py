"""Clients of the lake that hold a token: through the dispatcher, over HTTP and over MCP.

Each gives what was said as data, an answer or an error, so that one law judges them all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Protocol, TypeAlias, cast
from uuid import UUID

import httpx
import numpy as np

from pecia.app.app import App, index_root
from pecia.app.dispatch import RequestContext
from pecia.app.features import build_features
from pecia.kernel.corpus.keyword.directory import load_node_name
from pecia.kernel.corpus.keyword.writer import IndexWriter
from pecia.kernel.corpus.vectors.embedder import Vectors
from pecia.kernel.errors import PeciaError
from pecia.kernel.store.store import Store
from pecia.kernel.tool.view import combine_tools
from tests.mcp.raw_mcp import RawMcp

CONTEXT = RequestContext("law")
LAKE = "/mcp/lake"
MODEL = "law"
DIMENSION = 4

Said: TypeAlias = dict[str, Any]
"""`{"ok": …}` or `{"error": …}`."""


class LakeClient(Protocol):
    """One way to the tools."""

    async def ask(self, bearer: str, tool: str, /, **arguments: Any) -> Said: ...


@dataclass(frozen=True, slots=True)
class Inside:
    """The dispatcher, called directly."""

    app: App

    async def ask(self, bearer: str, tool: str, /, **arguments: Any) -> Said:
        try:
            who = await self.app.authenticate(bearer, CONTEXT)
            found = await self.app.call(who, tool, arguments, CONTEXT)
        except PeciaError as error:
            return {"error": error.payload()}
        return {"ok": found.structured}


@dataclass(frozen=True, slots=True)
class Http:
    """The API, on a socket. What is no tool is asked for here too."""

    client: httpx.AsyncClient

    async def ask(self, bearer: str, tool: str, /, **arguments: Any) -> Said:
        headers = {"authorization": f"Bearer {bearer}"}
        answer = await self.client.post(f"/api/v1/lake/{tool}", json=arguments, headers=headers)
        return _said(answer)

    async def capacity(self, bearer: str) -> Said:
        headers = {"authorization": f"Bearer {bearer}"}
        return _said(await self.client.get("/capacity", headers=headers))

    async def download(self, url: str) -> httpx.Response:
        """Opens a link as whoever holds it would: without a token."""
        return await self.client.get(httpx.URL(url).raw_path.decode())


@dataclass(frozen=True, slots=True)
class Mcp:
    """The lake's endpoint, in the older era."""

    client: httpx.AsyncClient

    async def ask(self, bearer: str, tool: str, /, **arguments: Any) -> Said:
        said = await self._rpc(bearer, "tools/call", {"name": tool, "arguments": arguments})
        if "error" in said:
            return said
        given: dict[str, Any] = said["ok"]["structuredContent"]
        return {"error": given["error"]} if said["ok"].get("isError") else {"ok": given}

    async def resources(self, bearer: str) -> Said:
        """Every resource, page by page."""
        found: list[dict[str, Any]] = []
        cursor: dict[str, Any] = {}
        while True:
            said = await self._rpc(bearer, "resources/list", cursor)
            if "error" in said:
                return said
            found += said["ok"]["resources"]
            if "nextCursor" not in said["ok"]:
                return {"ok": found}
            cursor = {"cursor": said["ok"]["nextCursor"]}

    async def read(self, bearer: str, uri: str) -> Said:
        said = await self._rpc(bearer, "resources/read", {"uri": uri})
        return said if "error" in said else {"ok": said["ok"]["contents"][0]["text"]}

    async def subscribe(self, bearer: str, uri: str) -> Said:
        return await self._rpc(bearer, "resources/subscribe", {"uri": uri}, "/mcp")

    async def complete(self, bearer: str, name: str, value: str, **known: str) -> Said:
        asked: dict[str, Any] = {
            "ref": {"type": "ref/resource", "uri": "pecia://file/{source}/{key}"},
            "argument": {"name": name, "value": value},
            "context": {"arguments": known},
        }
        said = await self._rpc(bearer, "completion/complete", asked)
        return said if "error" in said else {"ok": said["ok"]["completion"]}

    async def _rpc(
        self, bearer: str, method: str, params: dict[str, Any], path: str = LAKE
    ) -> Said:
        talk = RawMcp(self.client, bearer)
        answer = await talk.ask(path, method, params)
        if "error" not in answer:
            return {"ok": answer["result"]}
        error = answer["error"]
        # What came before the endpoint refused in the shape of HTTP, and has no data.
        return {"error": {"message": error["message"], **error.get("data", error)}}


class Hashing:
    """An embedder whose vectors are cheap, equal for equal texts, and mean nothing."""

    name = MODEL
    language = ""

    async def dimension(self) -> int:
        return DIMENSION

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.array([vector(it) for it in texts], dtype=np.float32)


def vector(text: str) -> list[float]:
    digest = blake2b(text.encode(), digest_size=DIMENSION).digest()
    length = sum((it + 1) ** 2 for it in digest) ** 0.5
    return [(it + 1) / length for it in digest]


def with_hashing(app: App) -> App:
    """The same App with that embedder."""
    embedder = Hashing()
    features = build_features(app.settings, app.store, app.audit_log, app.keyring, embedder)
    tools = combine_tools(tool for feature in features for tool in feature.tools)
    return replace(app, features=features, full_view=tools, embedder=embedder)


async def embed(store: Store, tenant_id: str, texts: Sequence[str]) -> None:
    """Give the chunks of these texts their vectors."""
    async with store.system() as tx:
        await tx.execute(
            "INSERT INTO kernel.vector SELECT tenant_id, id, file_id, %(model)s, text_hash,"
            " %(dims)s, embedding::public.halfvec FROM kernel.chunk"
            " JOIN unnest(%(texts)s::text[], %(vectors)s::text[]) AS a (said, embedding)"
            " ON text = said WHERE tenant_id = %(tenant_id)s ON CONFLICT DO NOTHING",
            model=MODEL,
            dims=DIMENSION,
            texts=[*texts],
            vectors=[str(vector(it)) for it in texts],
            tenant_id=tenant_id,
        )


async def index(app: App, tenant_ids: Sequence[str]) -> None:
    """Bring the keyword indexes of these tenants up to their logs."""
    root = index_root(app.settings.kernel)
    for tenant_id in tenant_ids:
        keeper = await IndexWriter.acquire(app.store, load_node_name(root), root, UUID(tenant_id))
        assert keeper is not None
        while await keeper.catch_up() is None and (await keeper.load_position()).epoch:
            await keeper.rebuild()
        await keeper.close()


def _said(answer: httpx.Response) -> Said:
    found = cast(dict[str, Any], answer.json())
    return {"ok": found} if answer.is_success else {"error": found["error"]}
