"""One connection to one upstream MCP server. Its answers are passed on, and never trusted."""

import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, cast

import anyio
import httpx2
import mcp_types as types
import orjson
from mcp.client._transport import TransportStreams
from mcp.client.client import Client
from mcp.client.session import IncomingMessage, MessageHandlerFnT
from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import BaseModel, ConfigDict, ValidationError

from pecia import __version__
from pecia.adapters.upstream.stdio import ClosedReason, StderrTail, StdioProgram, open_stdio
from pecia.adapters.upstream.streamable_http import HttpTransportOptions, McpHttpEndpoint, open_http
from pecia.kernel.errors import Json, PeciaError, UpstreamError
from pecia.kernel.logs import Log

OnListChanged: TypeAlias = Callable[[str], None]

MAX_PAGES = 100
MAX_MESSAGE_CHARS = 10_000
MAX_ERROR_DATA_BYTES = 100_000
CLIENT_INFO = types.Implementation(name="pecia", version=__version__)
EXPECTED_ERRORS = (OSError, MCPError, httpx2.HTTPError, ValidationError, ValueError)

# How servers of the older protocol say that they restarted since the handshake.
_NO_SESSION = re.compile(
    r"session (is )?(not found|terminated|expired|unknown)|(no valid|invalid|unknown) session", re.I
)

_log = Log(__name__)


class McpProgress(Protocol):
    """Receives the progress of a call."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None: ...


class McpServerEndpoint(Protocol):
    """Where a server is. Exactly one of `argv` and `url` is set."""

    @property
    def argv(self) -> tuple[str, ...]: ...
    @property
    def folder(self) -> str | None: ...
    @property
    def env(self) -> Mapping[str, str]: ...
    @property
    def url(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def is_sse(self) -> bool: ...


class RawAnswer(BaseModel):
    """An answer with all its fields, unknown ones too."""

    model_config = ConfigDict(extra="allow")


class ConnectionLost(UpstreamError):
    """The connection is closed. Whether the last request arrived is unknown."""


class RequestRefused(UpstreamError):
    """The server answered with an error: it may still answer the next request."""


@dataclass(frozen=True, slots=True)
class McpConnectionFactory:
    """Opens connections."""

    web: HttpTransportOptions
    max_line_bytes: int = 10_000_000
    max_items: int = 2_000
    max_list_bytes: int = 20_000_000

    @asynccontextmanager
    async def open(
        self, endpoint: McpServerEndpoint, on_list_changed: OnListChanged
    ) -> AsyncGenerator["McpConnection"]:
        """A connection, from handshake to close. The callback gets the list that changed."""
        words, over, reason = StderrTail(), anyio.Event(), ClosedReason()
        client = Client(
            self._streams(endpoint, words, over, reason),
            client_info=CLIENT_INFO,
            cache=None,
            message_handler=_handler(on_list_changed),
        )
        try:
            async with client, anyio.create_task_group() as tasks:
                tasks.start_soon(_subscribe, client, on_list_changed)
                yield McpConnection(client, over, reason, self.max_items, self.max_list_bytes)
                tasks.cancel_scope.cancel()
        except Exception as error:  # noqa: BLE001 - any failure of the server becomes one error.
            raise _translate_error(error, words) from None

    def _streams(
        self,
        endpoint: McpServerEndpoint,
        words: StderrTail,
        over: anyio.Event,
        reason: ClosedReason,
    ) -> AbstractAsyncContextManager[TransportStreams]:
        if endpoint.argv:
            program = StdioProgram(endpoint.argv, endpoint.folder, endpoint.env)
            return open_stdio(program, words, over, reason, line_bytes=self.max_line_bytes)
        return open_http(McpHttpEndpoint(endpoint.url, endpoint.headers, endpoint.is_sse), self.web)


@dataclass(frozen=True, slots=True)
class McpConnection:
    """An open connection."""

    client: Client
    over: anyio.Event = field(repr=False)
    """Set when the connection is lost."""
    reason: ClosedReason = field(default_factory=ClosedReason)
    max_items: int = 2_000
    max_list_bytes: int = 20_000_000

    @property
    def about(self) -> dict[str, Any]:
        """The server's name, version, protocol revision and capabilities."""
        info = self.client.server_info
        return {
            "name": info.name if info else "",
            "version": info.version if info else "",
            "revision": self.client.protocol_version,
            "can": _plain(self.client.server_capabilities),
        }

    async def tools(self) -> list[dict[str, Any]]:
        """Every tool it lists, up to the limit."""
        return await self._list_all("tools", self.client.list_tools)

    async def call(
        self, tool: str, arguments: Mapping[str, Any], progress: McpProgress | None = None
    ) -> dict[str, Any]:
        """The tool's result. Cancelling sends a cancellation to the server."""
        request = types.CallToolRequest(
            params=types.CallToolRequestParams(name=tool, arguments=dict(arguments))
        )
        # Not by `call_tool`, which would run the server's own schema over its own answer; and not
        # as a model of the SDK's, which drops the fields that it does not know.
        return await self._request(
            lambda: self.client.session.send_request(request, RawAnswer, progress_callback=progress)
        )

    async def _list_all(
        self, what: str, listing: Callable[..., Awaitable[BaseModel]]
    ) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        cursor: str | None = None
        left = self.max_list_bytes
        for _ in range(MAX_PAGES):
            page = await self._request(lambda at=cursor: listing(cursor=at))
            left -= len(orjson.dumps(page))
            if left < 0:
                raise RequestRefused(
                    f"its list of {what} has more than {self.max_list_bytes} bytes"
                )
            found += page.get(what, [])
            cursor = page.get("nextCursor")
            if cursor is None or len(found) >= self.max_items:
                break
        return found[: self.max_items]

    async def _request(self, ask: Callable[[], Awaitable[BaseModel]]) -> dict[str, Any]:
        try:
            answer = await ask()
            if isinstance(answer, RawAnswer):
                return dict(answer.model_extra or {})
            return _plain(answer)
        except MCPError as error:
            is_closed = error.code == types.CONNECTION_CLOSED or self.over.is_set()
            if is_closed or _NO_SESSION.search(error.message):
                raise self._lost_error() from None
            raise RequestRefused(error.message[:500], upstream_error=_error_fields(error)) from None
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise self._lost_error() from None
        except (ValidationError, RuntimeError) as error:
            what = type(error).__name__
            raise RequestRefused(f"its answer is not valid MCP ({what})") from None

    def _lost_error(self) -> ConnectionLost:
        self.over.set()
        return ConnectionLost(self.reason.message)


def _error_fields(error: MCPError) -> dict[str, Json]:
    """The error as the server sent it, unless its data is larger than an error should be."""
    said: dict[str, Json] = {"code": error.code, "message": error.message[:MAX_MESSAGE_CHARS]}
    data = cast(Json, error.data)
    if data is None:
        return said
    size = len(json.dumps(data))
    return {**said, "data": data} if size <= MAX_ERROR_DATA_BYTES else {**said, "data_bytes": size}


def _handler(on_list_changed: OnListChanged) -> MessageHandlerFnT:
    async def handle_message(message: IncomingMessage) -> None:
        match message:
            case types.ToolListChangedNotification():
                on_list_changed("tools")
            case types.PromptListChangedNotification():
                on_list_changed("prompts")
            case types.ResourceListChangedNotification():
                on_list_changed("resources")
            case _:
                pass

    return handle_message


async def _subscribe(client: Client, on_list_changed: OnListChanged) -> None:
    """Servers of the newer protocol notify only subscribers."""
    tools = client.server_capabilities.tools
    if client.protocol_version not in MODERN_PROTOCOL_VERSIONS or not (
        tools and tools.list_changed
    ):
        return
    # A server without notifications is read again only when we reconnect.
    with suppress(MCPError, ListenNotSupportedError, SubscriptionLost, TimeoutError):
        async with client.listen(tools_list_changed=True) as events:
            async for _ in events:
                on_list_changed("tools")


def _plain(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _translate_error(error: BaseException, words: StderrTail) -> PeciaError:
    cause = _first(error)
    if isinstance(cause, PeciaError):
        return cause
    if not isinstance(cause, EXPECTED_ERRORS):
        _log.failure("upstream.connection", cause)
    said = cause.message if isinstance(cause, MCPError) else str(cause) or type(cause).__name__
    last = str(words)
    return UpstreamError(f"{said[:500]}; its last output: {last[-500:]}" if last else said[:500])


def _first(error: BaseException) -> BaseException:
    if not isinstance(error, BaseExceptionGroup):
        return error
    return _first(cast(BaseExceptionGroup[BaseException], error).exceptions[0])
