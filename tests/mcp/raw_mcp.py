"""Raw MCP over HTTP, for tests: every byte and header is the test's own."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

MODERN = "2026-07-28"
META = "io.modelcontextprotocol"
BOTH = "application/json, text/event-stream"

Frame = dict[str, Any]


@dataclass(slots=True)
class RawMcp:
    """A client without manners, at one server."""

    http: httpx.AsyncClient
    token: str | None = None
    version: str | None = None
    session: str | None = None
    ids: int = 0
    heard: list[Frame] = field(default_factory=list[Frame])
    """What came on a stream before the answer."""

    async def post(self, path: str, body: Any, **headers: str) -> httpx.Response:
        """A POST, with exactly these headers beside the content type, the token and the session."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        own = {"content-type": "application/json", **self._own()}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.http.post(path, content=content, headers={**own, **named})

    async def ask(
        self, path: str, method: str, params: Mapping[str, Any] | None = None, **headers: str
    ) -> Frame:
        """A request of the older era, and the answer to it."""
        self.ids += 1
        message = {"jsonrpc": "2.0", "id": self.ids, "method": method, "params": dict(params or {})}
        return self.answer(await self.post(path, message, accept=BOTH, **headers))

    async def notify(self, path: str, method: str, params: Mapping[str, Any] | None = None) -> int:
        message = {"jsonrpc": "2.0", "method": method, "params": dict(params or {})}
        return (await self.post(path, message, accept=BOTH)).status_code

    async def begin(
        self, path: str, version: str = "2025-11-25", capabilities: Frame | None = None
    ) -> Frame:
        """A handshake; what follows belongs to its session."""
        hello = {
            "protocolVersion": version,
            "capabilities": capabilities or {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
        response = await self.post(path, message, accept=BOTH)
        self.session = response.headers.get("mcp-session-id")
        self.version = version
        await self.notify(path, "notifications/initialized")
        return self.answer(response)

    async def modern(
        self,
        path: str,
        method: str,
        params: Mapping[str, Any] | None = None,
        capabilities: Frame | None = None,
        **headers: str,
    ) -> httpx.Response:
        """A request of the newer era, with all that it has to carry."""
        self.ids += 1
        message = self.enveloped(method, params, capabilities)
        return await self.post(path, message, **{**routed(message), **headers})

    def enveloped(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        capabilities: Frame | None = None,
    ) -> Frame:
        meta = {
            f"{META}/protocolVersion": MODERN,
            f"{META}/clientCapabilities": capabilities or {},
        }
        given = dict(params or {})
        return {
            "jsonrpc": "2.0",
            "id": self.ids,
            "method": method,
            "params": {**given, "_meta": {**meta, **given.get("_meta", {})}},
        }

    @asynccontextmanager
    async def stream(self, path: str, **headers: str) -> AsyncGenerator[httpx.Response]:
        """The stream of a session."""
        own = {"accept": "text/event-stream", **self._own(), **headers}
        async with self.http.stream("GET", path, headers=own) as response:
            yield response

    def answer(self, response: httpx.Response) -> Frame:
        """The answer in a response, whatever it came in."""
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            return response.json()
        found = events(response.text)
        self.heard = found[:-1]
        return found[-1]

    def _own(self) -> dict[str, str]:
        own = {
            "authorization": f"Bearer {self.token}" if self.token else None,
            "mcp-session-id": self.session,
            "mcp-protocol-version": self.version,
        }
        return {name: value for name, value in own.items() if value is not None}


def routed(message: Frame) -> dict[str, str]:
    """The headers that mirror a message of the newer era."""
    params = message["params"]
    name = params.get("name") or params.get("uri") or params.get("taskId")
    own = {"accept": BOTH, "mcp_protocol_version": MODERN, "mcp_method": message["method"]}
    return own | ({"mcp_name": name} if name else {})


def events(text: str) -> list[Frame]:
    """The frames of a stream that has ended."""
    data = [it[5:].strip() for it in text.splitlines() if it.startswith("data:")]
    return [json.loads(it) for it in data if it]
